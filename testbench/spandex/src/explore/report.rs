//! What an exploration has found, as text.

use super::System;
use std::collections::BTreeMap;
use weft_explore::form::Form;
use weft_explore::report::verdict;
use weft_explore::search::{Explored, Violation};
use weft_rtl::ir::ProbeKind;

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
pub(super) fn message(place: &str, form: &Form, message: &[u64]) -> String {
    let channel = place.rsplit('.').next().unwrap_or(place);
    let names = OPS.iter().find(|(name, _)| channel.starts_with(name)).map(|(_, ops)| *ops);
    let Some(name) = names.and_then(|names| names.get(form.get(message, "op") as usize)) else {
        return form.text(message);
    };
    let mut rest = message.to_vec();
    form.set(&mut rest, "op", &[0]);
    format!("{name} {}", form.text(&rest)).trim_end().to_string()
}

/// Observers of all blocks: kind and sum.
pub fn seen(system: &System) -> BTreeMap<String, (ProbeKind, u64)> {
    weft_explore::report::seen(&system.net.blocks)
}

/// The head of a table of explorations.
pub const HEAD: &str = "| system | operations | states | transitions | depth | rows and races reached | verdict |\n| --- | --- | ---: | ---: | ---: | --- | --- |";

/// A number with its digits in groups of three.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let places = digits.len();
    let spaced = digits.chars().enumerate().flat_map(|(at, digit)| {
        let gap = (at > 0 && (places - at).is_multiple_of(3)).then_some(' ');
        gap.into_iter().chain(Some(digit))
    });
    spaced.collect()
}

/// A line of that table.
pub fn row(name: &str, system: &System, found: &Explored) -> String {
    let seen = seen(system);
    let covers = seen.values().filter(|(kind, _)| *kind == ProbeKind::Cover);
    let (all, hit) = covers.fold((0, 0), |(all, hit), (_, count)| (all + 1, hit + u64::from(*count > 0)));
    let c = system.config();
    let budgets: Vec<String> = (0..c.devices.len()).map(|d| c.budget(d).to_string()).collect();
    format!(
        "| {name} | {} | {} | {} | {} | {hit} of {all} | {} |",
        budgets.join(" + "),
        grouped(found.states),
        grouped(found.transitions),
        found.depth,
        verdict(found)
    )
}

/// More of one exploration: ends, and the states of each block.
pub fn blocks(system: &System, found: &Explored) -> String {
    let mut out = format!(
        "finished {}, logs {}\n\n{:<14} {:>9} {:>9}\n",
        found.finished,
        system.net.worlds(),
        "block",
        "states",
        "steps"
    );
    for block in &system.net.blocks {
        out += &format!("{:<14} {:>9} {:>9}\n", block.name, block.states(), block.steps());
    }
    out
}

/// The way to a violation: every message that moves, then what the cores did and what is wrong.
pub fn counterexample(system: &mut System, violation: &Violation) -> String {
    let values = "values are device + 1 and operation + 1, 80 is the initial value";
    weft_explore::report::counterexample(system, violation, values)
}
