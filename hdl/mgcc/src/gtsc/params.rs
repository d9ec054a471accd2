//! Parameters of the blocks of G-TSC.

use crate::choice::{GtscFault, Inject};
use crate::l1::L1Params;
use crate::l2::{L2Params, sizes};
use crate::params::{tsm_from, tsm_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};

fn fault(set: &ParamSet) -> Result<Inject, BlockError> {
    let text = set.text("inject");
    let found = GtscFault::WORDS.iter().find(|w| w.1 == text);
    found.map(|w| w.0).ok_or_else(|| set.illegal("inject", "it is not known"))
}

fn inject_info(about: &'static str) -> ParamInfo {
    let legal = "none, renew_changed, lease_not_kept, evict_untimed, unlocked";
    ParamInfo { name: "inject", default: "none".into(), legal, about }
}

/// Parameters of `gtsc-l1`.
pub(super) fn l1_infos() -> Vec<ParamInfo> {
    let info = |name, default: &str, legal, about| ParamInfo { name, default: default.into(), legal, about };
    let mut list = vec![
        info("size", "16K", "64 * ways * 2^k, k in 1..12", "bytes of data"),
        info("ways", "4", "2, 4, 8, 16", "ways of a set"),
        info("latency", "60", "3..256", "cycles from taking a load to its answer on a hit"),
        info("pool", "16", "1..64", "requests that wait for a line under way"),
        info("self_inc", "100", "0, 2..65535", "hits per step of the clock, 0: off"),
        info("repl_ts", "0", "0, 1", "1: expired blocks are replaced first; they could have been renewed"),
        info("observe", "0", "0, 1", "1: the port cu_time tells the time of each answer"),
        inject_info("a fault (simulation only); an L1 knows unlocked"),
    ];
    list.extend(tsm_params());
    list
}

/// Reads the parameters of `gtsc-l1`.
///
/// # Errors
/// A value that is no number, not known or illegal.
pub(super) fn l1_from(set: &ParamSet) -> Result<L1Params, BlockError> {
    let number = |key, lo, hi| set.within(key, lo, hi).map(|v| v as u32);
    let flag = |key| set.within(key, 0, 1).map(|v| v == 1);
    let params = L1Params {
        size: number("size", 256, 1 << 22)?,
        ways: number("ways", 2, 16)?,
        latency: number("latency", 3, 256)?,
        pool: number("pool", 1, 64)?,
        self_inc: number("self_inc", 0, 65535)?,
        repl_ts: flag("repl_ts")?,
        observe: flag("observe")?,
        inject: fault(set)?,
        ..L1Params::gtsc_published(tsm_from(set)?)
    };
    params.validate()?;
    Ok(params)
}

/// Parameters of `gtsc-l2`.
pub(super) fn l2_infos() -> Vec<ParamInfo> {
    let mut list = sizes();
    list.push(inject_info("a fault (simulation only); a bank knows all but unlocked"));
    list.extend(tsm_params());
    list
}

/// Reads the parameters of `gtsc-l2`.
///
/// # Errors
/// A value that is no number, not known or illegal.
pub(super) fn l2_from(set: &ParamSet) -> Result<L2Params, BlockError> {
    let inject = fault(set)?;
    L2Params::common(set, L2Params { inject, ..L2Params::gtsc_published(tsm_from(set)?) })
}
