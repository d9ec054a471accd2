//! Why a row or race was not reached: what the configuration lacks for it, told by the words of its name.

use super::ops::{Access, Scope};
use super::{Config, Op};
use weft_fabric::family::srsp::Gpu;
use weft_srsp::params::Impl;

/// Words of which one stands in the name, lowest case, and why that is not reached.
type Reason = (&'static [&'static str], &'static str);

const NO_KERNEL: Reason = (&["kbegin", "kend"], "no kernel begins or ends");
const NO_FENCE: Reason = (&["op.fence"], "no fence without an access");
const NO_TOKEN: Reason = (&["token"], "with broadcast_order=token alone");
const NO_SYNC: Reason =
    (&["atomic", "atm", "amo", "lr_", "reg", "revoke"], "no access that synchronises in --ops");
const NO_REMOTE: Reason = (
    &["rem", "probe", "sel", "pack", "pa_", "lock", "cast", "inv_", "promoted"],
    "no remote access in --ops",
);
const ONE_REMOTE: Reason = (
    &["remotes", "two_remotes", "second_lock", "other.rem", "full.rem"],
    "remote accesses of one wave alone in --ops",
);
const NO_SYS: Reason = (&["sys"], "no access of system scope in --ops");
const NO_CMP: Reason = (&["cmp"], "no such access of component scope in --ops");
const NO_CAS: Reason = (&["fail", "cas"], "no cas in --ops");
const NO_STORE: Reason = (&[".st.", "store", "wb", "dirty", ".pd.", "l2.w."], "no ST in --ops");
const NO_LOAD: Reason = (&[".ld.", "load", "rdu"], "no LD in --ops");
const FEW_LINES: Reason = (
    &[
        "evict",
        "victim",
        "overflow",
        "around",
        "recall",
        "unreg",
        ".fetch",
        ".take",
        ".register",
        ".pop",
        "frame",
    ],
    "all lines have a place: nothing is displaced",
);
const FEW_WAVES: Reason = (
    &["join", "stays", "held", "gate", "two_clients", "again", "in_fence"],
    "more waves of a CU would lead there",
);
const FEW_PLACES: Reason = (
    &["full", "many", "several", "wait", "stall", "holds", "blocked", "back_to_back", "no_entry", "yields"],
    "more has to be under way than this budget, or these sizes, allow",
);

/// Lines that have a place in an L1.
const PLACES: usize = 2;

/// Why it was not reached in an exploration that was complete, or not.
pub(super) fn why(config: &Config, name: &str, complete: bool) -> &'static str {
    let name = name.to_lowercase();
    let used = |is: fn(&Op) -> bool| config.alphabets.iter().flatten().any(is);
    let of_scope = |scope: Scope| config.alphabets.iter().flatten().any(|op| op.scope() == Some(scope));
    let waves = config.cus() * config.waves;
    let askers = (0..waves).filter(|wave| config.alphabet(*wave).iter().any(|op| op.is_remote())).count();
    let token = matches!(&config.gpu, Gpu::Scoped(p) if p.l1.system == Impl::BrspToken);
    let lacks = [
        (NO_KERNEL, false),
        (NO_FENCE, false),
        (NO_TOKEN, token),
        (NO_SYNC, used(|op| op.synchronises())),
        (NO_REMOTE, used(|op| op.is_remote())),
        (ONE_REMOTE, askers > 1),
        (NO_SYS, of_scope(Scope::Sys)),
        (NO_CMP, of_scope(Scope::Cmp)),
        (NO_CAS, used(|op| matches!(op, Op::Sync(Access::Cas, ..)))),
        (NO_STORE, used(|op| matches!(op, Op::Store(_)))),
        (NO_LOAD, used(|op| matches!(op, Op::Load(_)))),
        (FEW_LINES, config.lines > PLACES),
        (FEW_WAVES, config.waves > 1),
        (FEW_PLACES, false),
    ];
    let mut lacking = lacks.into_iter().filter(|(_, there)| !there).map(|(reason, _)| reason);
    let found = lacking.find(|(words, _)| words.iter().any(|word| name.contains(word)));
    let none =
        if complete { "no order of these operations leads there" } else { "not every state was visited" };
    found.map_or(none, |(_, text)| text)
}
