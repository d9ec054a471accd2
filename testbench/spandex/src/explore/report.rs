//! What an exploration has found, as text.

use super::reasons::why;
use super::{System, stash};
use weft_explore::form::Form;
use weft_explore::report;
use weft_explore::search::{Explored, Violation};

/// Operations by their numbers, of the channels whose names begin so.
const OPS: &[(&str, &[&str])] = &[
    ("cu_req", &["load", "store", "atomic", "release", "acquire", "kernel begins", "kernel ends"]),
    ("req", &["ReqV", "ReqS", "ReqWT", "ReqO", "ReqWT+data", "ReqO+data"]),
    ("fwd", &["fwd ReqV", "fwd ReqS", "fwd ReqO", "fwd ReqO+data", "fwd ReqWT", "RvkO", "Inv"]),
    (
        "rsp",
        &[
            "RspV",
            "RspS",
            "RspO",
            "RspO+data",
            "RspWT",
            "RspWT+data",
            "RspWB",
            "RspRvkO",
            "Ack",
            "NackV",
            "NackWT",
        ],
    ),
];

/// A message in words; the place is a channel `BLOCK.CHANNEL`.
pub fn message(place: &str, form: &Form, message: &[u64]) -> String {
    let channel = place.rsplit('.').next().unwrap_or(place);
    if let Some(text) = stash::text(form, message) {
        return text;
    }
    let names = OPS.iter().find(|(name, _)| channel.starts_with(name)).map(|(_, ops)| *ops);
    let Some(name) = names.and_then(|names| names.get(form.get(message, "op") as usize)) else {
        return form.text(message);
    };
    let mut rest = message.to_vec();
    form.set(&mut rest, "op", &[0]);
    format!("{name} {}", form.text(&rest)).trim_end().to_string()
}

/// The result as a table; with `unreached` also the rows and races that were not reached.
pub fn table(system: &System, found: &Explored, unreached: bool) -> String {
    let net = &system.net;
    let reason = |name: &str| why(system.config(), name, found.complete);
    report::table(net, found) + &report::coverage(&net.blocks, unreached.then_some(&reason))
}

/// The way to a violation: every message that moves, then what the cores did and what is wrong.
pub fn counterexample(system: &mut System, violation: &Violation) -> String {
    let values = "values are device + 1 and operation + 1, 80 is the initial value";
    report::counterexample(system, violation, values)
}
