//! The parameters of a fabric's messages on the command line.

use crate::msg::Sys;
use crate::registry::{BlockError, ParamInfo, ParamSet};

/// The parameters that fix message widths, with the published values as defaults.
pub fn sys_params() -> Vec<ParamInfo> {
    let info =
        |name, default: u64, legal, about| ParamInfo { name, default: default.to_string(), legal, about };
    vec![
        info("gpus", 4, "2..16", "GPUs in the system"),
        info("addr_bits", 48, "32..64", "bits of a byte address"),
        info("line", 64, "64 or 128", "bytes per cache line"),
        info("banks", 16, "power of two, 1..64", "L2 banks per GPU"),
        info("l1s", 64, "1..256", "L1 caches per GPU"),
        info("l2_mshrs", 64, "2..256", "miss registers per L2 bank"),
        info("l1_mshrs", 32, "1..256", "miss registers per L1"),
        info(
            "il",
            4096,
            "power of two, at least a line",
            "bytes of address space per bank before the next bank follows",
        ),
        info("home_shift", 32, "12..60, log2(il * banks) and more", "log2 of the bytes of DRAM per GPU"),
    ]
}

/// The parameters of [`sys_params`] and `gpms`, for blocks of systems whose nodes may be GPMs.
pub fn module_sys_params() -> Vec<ParamInfo> {
    let mut list = sys_params();
    list[0].legal = "1..16, 2..64 nodes in all";
    let about = "GPU modules of a GPU, each a node of its own";
    list.insert(1, ParamInfo { name: "gpms", default: "1".into(), legal: "1..8, 2..64 nodes in all", about });
    list
}

/// Reads the parameters of [`sys_params`].
///
/// # Errors
/// A value outside its range, or values that do not fit each other.
pub fn sys_from(p: &ParamSet) -> Result<Sys, BlockError> {
    let gpus = p.within("gpus", 2, 16)? as u32;
    sized(p, gpus, 1)
}

/// Reads the parameters of [`module_sys_params`].
///
/// # Errors
/// A value outside its range, or values that do not fit each other.
pub fn module_sys_from(p: &ParamSet) -> Result<Sys, BlockError> {
    let (gpus, gpms) = (p.within("gpus", 1, 16)? as u32, p.within("gpms", 1, 8)? as u32);
    if !(2..=64).contains(&(gpus * gpms)) {
        let problem = format!("{gpus} GPUs of {gpms} GPMs make {} nodes, not 2..64", gpus * gpms);
        return Err(p.illegal("gpms", &problem));
    }
    sized(p, gpus, gpms)
}

fn sized(p: &ParamSet, gpus: u32, gpms: u32) -> Result<Sys, BlockError> {
    let number = |key, lo, hi| p.within(key, lo, hi).map(|v| v as u32);
    let sys = Sys {
        gpus,
        gpms,
        addr_bits: number("addr_bits", 32, 64)?,
        line: number("line", 64, 128)?,
        banks: number("banks", 1, 64)?,
        l1s: number("l1s", 1, 256)?,
        l2_mshrs: number("l2_mshrs", 2, 256)?,
        l1_mshrs: number("l1_mshrs", 1, 256)?,
        il: number("il", 64, 1 << 30)?,
        home_shift: number("home_shift", 12, 60)?,
        owners: false,
    };
    for (key, value) in [("line", sys.line), ("banks", sys.banks), ("il", sys.il)] {
        if !value.is_power_of_two() {
            return Err(p.illegal(key, "it is no power of two"));
        }
    }
    if sys.il < sys.line {
        return Err(p.illegal("il", "it is smaller than a line"));
    }
    let (least, most) =
        (sys.il.trailing_zeros() + sys.banks.trailing_zeros(), sys.addr_bits - sys.node_bits());
    if sys.home_shift > most {
        let problem = format!("the GPU number above it lies outside the address; it is at most {most} here");
        return Err(p.illegal("home_shift", &problem));
    }
    if sys.home_shift < least {
        let problem = format!("a GPU's memory does not reach all its banks; it is at least {least} here");
        return Err(p.illegal("home_shift", &problem));
    }
    Ok(sys)
}

/// The part of a module's name that tells message widths apart.
pub fn sys_tag(sys: &Sys) -> String {
    let owners = if sys.owners { "_o" } else { "" };
    format!("n{}_a{}_l{}_b{}_m{}{owners}", sys.nodes(), sys.addr_bits, sys.line, sys.banks, sys.l2_mshrs)
}
