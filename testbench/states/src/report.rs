//! Both protocols under several sets of options, as tables.

use crate::chi::chi;
use crate::fault::Fault;
use crate::space::{Config, Model, Opred};
use crate::spandex::spandex;
use crate::table::Protocol;
use crate::trace;
use std::fmt::Write;
use weft_explore::search::{self, Explored, Limits, Progress};

/// A set of options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionSet {
    /// Word.
    pub name: &'static str,
    /// First try of a write-through sent on to the owner.
    pub wtfwd: bool,
    /// Direct requests.
    pub opred: Opred,
    /// States of the CHI-like protocol over states of Spandex as published (Fig. 6.1).
    pub published: &'static str,
}

/// The published sets, each one with what the one before it has; then prediction that names the owner only, and prediction without forwarded write-throughs.
pub const SETS: &[OptionSet] = &[
    OptionSet { name: "base", wtfwd: false, opred: Opred::Off, published: "slightly < 1" },
    OptionSet { name: "wtfwd", wtfwd: true, opred: Opred::Off, published: "1.1" },
    OptionSet { name: "opred", wtfwd: true, opred: Opred::Any, published: "2.1" },
    OptionSet { name: "opred-owner", wtfwd: true, opred: Opred::Owner, published: "2.1" },
    OptionSet { name: "opred-alone", wtfwd: false, opred: Opred::Any, published: "-" },
];

/// One exploration.
pub struct Run {
    /// Protocol.
    pub protocol: &'static str,
    /// Options.
    pub set: OptionSet,
    /// What was found.
    pub found: Explored,
    /// The shortest way to what went wrong.
    pub trace: Option<String>,
    /// Each row of the protocol's tables with how often it was carried out.
    pub rows: Vec<(String, u64)>,
}

/// Both protocols, in the order of the tables.
pub fn protocols() -> [Protocol; 2] {
    [chi(), spandex()]
}

/// Explores a protocol under a set of options; a fault may be planted.
pub fn explore(
    mut protocol: Protocol,
    set: OptionSet,
    config: Config,
    fault: Option<Fault>,
    states: usize,
    told: &mut dyn FnMut(Progress),
) -> Run {
    if let Some(fault) = fault {
        fault.plant(&mut protocol);
    }
    let name = protocol.name;
    let config = Config { wtfwd: set.wtfwd, opred: set.opred, ..config };
    let mut model = Model::new(protocol, config);
    let found = search::explore(&mut model, Limits { live: true, states, ..Limits::default() }, told);
    let uses = model.machine.uses.clone();
    let tables = [("device", &model.machine.protocol.device), ("LLC", &model.machine.protocol.llc)];
    let rows =
        tables.iter().flat_map(|(side, rows)| rows.iter().map(move |row| format!("{side} | {}", row.text())));
    let rows = rows.zip(uses).collect();
    let trace = found.violation.as_ref().map(|violation| trace::text(&mut model, violation));
    Run { protocol: name, set, found, trace, rows }
}

/// States of a run over the states of the same protocol without options.
fn growth(runs: &[Run], run: &Run) -> Option<f64> {
    let base = runs.iter().find(|base| base.protocol == run.protocol && base.set.name == "base")?;
    Some(run.found.states as f64 / base.found.states as f64)
}

/// States of the CHI-like protocol over states of Spandex.
fn ratio(runs: &[Run], name: &str) -> Option<f64> {
    let states = |protocol: &str| {
        let run = runs.iter().find(|run| run.protocol == protocol && run.set.name == name)?;
        Some(run.found.states as f64)
    };
    Some(states("CHI-like")? / states("Spandex")?)
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.2}"))
}

/// Deadlocks of a run: none, or what a search that was ended before can say.
fn deadlocks(run: &Run) -> &'static str {
    match (&run.found.violation, run.found.complete) {
        (Some(_), _) => "violation",
        (None, true) => "0",
        (None, false) => "limit",
    }
}

/// What was found, one line per protocol and set of options.
pub fn table(runs: &[Run]) -> String {
    let mut out = format!(
        "{:<10} {:<12} {:>10} {:>12} {:>6} {:>10} {:>7}\n",
        "protocol", "options", "states", "transitions", "depth", "deadlocks", "growth"
    );
    for run in runs {
        let found = &run.found;
        let (set, growth) = (run.set.name, number(growth(runs, run)));
        let _ = writeln!(
            out,
            "{:<10} {set:<12} {:>10} {:>12} {:>6} {:>10} {growth:>7}",
            run.protocol,
            found.states,
            found.transitions,
            found.depth,
            deadlocks(run)
        );
    }
    out
}

/// The ratios of the two protocols beside the published ones.
pub fn ratios(runs: &[Run]) -> String {
    let mut out = format!("{:<22} {:>8}  {}\n", "CHI-like / Spandex", "measured", "published");
    for set in SETS.iter().filter(|set| runs.iter().any(|run| run.set == **set)) {
        let _ = writeln!(out, "{:<22} {:>8}  {}", set.name, number(ratio(runs, set.name)), set.published);
    }
    out
}

/// Rows of the tables that no run carried out.
pub fn unused(runs: &[Run]) -> Vec<String> {
    let mut out = Vec::new();
    for protocol in protocols() {
        let mine: Vec<&Run> = runs.iter().filter(|run| run.protocol == protocol.name).collect();
        let Some(first) = mine.first() else { continue };
        for (i, (text, _)) in first.rows.iter().enumerate() {
            if mine.iter().all(|run| run.rows[i].1 == 0) {
                out.push(format!("{} | {text}", protocol.name));
            }
        }
    }
    out
}

/// The columns of [`records`].
pub const COLUMNS: [&str; 14] = [
    "protocol",
    "options",
    "devices",
    "symmetry",
    "values",
    "evict",
    "states",
    "transitions",
    "depth",
    "at_rest",
    "deadlocks",
    "growth",
    "chi_over_spandex",
    "published",
];

/// The runs as records of a CSV file.
pub fn records(runs: &[Run], config: Config) -> Vec<[String; 14]> {
    let record = |run: &Run| {
        let found = &run.found;
        [
            run.protocol.to_string(),
            run.set.name.to_string(),
            config.devices.to_string(),
            config.symmetry.to_string(),
            config.values.to_string(),
            config.evict.to_string(),
            found.states.to_string(),
            found.transitions.to_string(),
            found.depth.to_string(),
            found.finished.to_string(),
            deadlocks(run).to_string(),
            number(growth(runs, run)),
            number(ratio(runs, run.set.name)),
            run.set.published.to_string(),
        ]
    };
    runs.iter().map(record).collect()
}
