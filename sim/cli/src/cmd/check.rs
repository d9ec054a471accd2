//! `weft check`: a recorded execution, judged by the axioms of its memory model.

use crate::failure::{Failure, Outcome, say};
use crate::output;
use anyhow::anyhow;
use serde_json::json;
use std::path::PathBuf;
use weft_judge::{JudgeError, Model, Report, Violation, judge};
use weft_recording::{Head, Reader};

/// Arguments of `weft check`.
#[derive(clap::Args)]
pub struct Args {
    /// A file that `weft run --record` has written.
    recording: PathBuf,
    /// Judges by another model than the one that the run was made under: sc, drf0, drf1, drfrlx, also with +scopes.
    #[arg(long, value_name = "MODEL")]
    model: Option<weft_litmus::model::Model>,
    /// A race of the program is a failure, too (status 1); without this it is told, and no failure.
    #[arg(long)]
    race_free: bool,
    /// Writes all results to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Cycles of a waveform before and behind what a violation names.
const MARGIN: u64 = 200;

/// Runs the verb.
///
/// # Errors
/// A recording that cannot be read; a violation of an axiom; with `--race-free` a race.
pub fn run(args: &Args) -> Outcome {
    let json = args.json.as_deref().map(|path| output::begin("--json", path)).transpose()?;
    let mut reader = Reader::open(&args.recording).map_err(Failure::input)?;
    let head = reader.head().clone();
    let model = model(args, &head)?;
    let report = judge(&mut reader, model).map_err(|e: JudgeError| Failure::input(e))?;
    if let Some(file) = json {
        let value = json!({
            "schema": "weft-check 1",
            "fabric": head.fabric,
            "workload": head.workload,
            "command": head.command,
            "model": name(model),
            "data_coherent": model.data_coherent,
            "report": report,
            "replay": report.violations.iter().map(|v| replay(&head, v)).collect::<Vec<_>>(),
        });
        output::json(&value, file).map_err(Failure::Check)?;
    }
    print(&head, model, &report)?;
    verdict(args, &report)
}

fn model(args: &Args, head: &Head) -> Result<Model, Failure> {
    let own = Model::of(head).ok_or_else(|| {
        let (file, model) = (args.recording.display(), &head.model);
        Failure::input(anyhow!(
            "the recording {file} is of model {model:?}, which this program does not know"
        ))
    })?;
    match args.model {
        None => Ok(own),
        Some(weft_litmus::model::Model::Drf(drf)) => {
            Ok(Model { level: drf.level, scopes: drf.scopes, data_coherent: own.data_coherent })
        }
        Some(other) => Err(Failure::input(anyhow!(
            "--model {other} is the model of a language: give sc, drf0, drf1 or drfrlx, also with +scopes"
        ))),
    }
}

fn name(model: Model) -> String {
    format!("{}{}", model.level.name(), if model.scopes { "+scopes" } else { "" })
}

/// The command that shows a violation as a waveform.
fn replay(head: &Head, violation: &Violation) -> String {
    let (from, to) = violation.window();
    let word = |word: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+".contains(c);
        if word.chars().all(plain) { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    let words: Vec<String> = head.command.iter().map(word).collect();
    let (from, to) = (from.saturating_sub(MARGIN), to.saturating_add(MARGIN));
    format!("weft {} --waves vcd_out/check.fst --from {from} --to {to}", words.join(" "))
}

fn print(head: &Head, model: Model, report: &Report) -> Outcome {
    let c = &report.counts;
    let coherent = if model.data_coherent { "" } else { ", data not coherent within a kernel" };
    say(format!("{} on {}, judged under {}{coherent}", head.workload, head.fabric, name(model)))?;
    if let Some(failure) = &report.failure {
        let first = failure.lines().next().unwrap_or_default();
        say(format!("  the run did not end, and is judged up to there: {first}"))?;
    }
    let rows = [
        ("kernels", c.kernels),
        ("operations", c.operations),
        ("accesses to what is written", c.events),
        ("reads of what is not", c.constant),
    ];
    for (what, count) in rows {
        say(format!("  {what:<34} {count}"))?;
    }
    let left_out = [
        ("reads that several writes explain", c.ambiguous),
        ("places with more orders than tried", c.undecided),
        ("places with scopes apart", c.mixed_scopes),
        ("accesses open at the end", c.open),
        ("kernels with too many fences", c.fences),
        ("relaxed atomics in circles", c.circles),
        ("kernels without non-ordering races", c.non_ordering),
    ];
    for (what, count) in left_out.iter().filter(|(_, count)| *count > 0) {
        say(format!("  not judged: {what:<34} {count}"))?;
    }
    for violation in &report.violations {
        say(format!("violation of {violation}"))?;
        say(format!("    shown by {}", replay(head, violation)))?;
    }
    for race in &report.races {
        say(race)?;
    }
    Ok(())
}

fn list<'a>(counts: impl IntoIterator<Item = (&'a &'static str, &'a u64)>) -> String {
    counts.into_iter().map(|(what, count)| format!("{count} of {what}")).collect::<Vec<_>>().join(", ")
}

fn verdict(args: &Args, report: &Report) -> Outcome {
    match (report.racy(), report.raced.is_empty()) {
        (true, _) => say(format!(
            "races: {}: the program is not legal under this model, and may have results that no order of its accesses explains; the axioms are the hardware's to keep all the same",
            list(&report.raced)
        ))?,
        (false, false) => say(format!("races: {}, which the model accepts", list(&report.raced)))?,
        (false, true) => say("races: none in this execution")?,
    }
    if !report.violated.is_empty() {
        return Err(Failure::check(anyhow!(
            "the hardware has violated its memory model: {}",
            list(&report.violated)
        )));
    }
    say("violations: none")?;
    if args.race_free && report.racy() {
        return Err(Failure::check(anyhow!("the program has races: {}", list(&report.raced))));
    }
    Ok(())
}
