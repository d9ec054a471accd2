//! `weft stress`: random programs on random hardware.

use crate::failure::{Failure, Outcome, quietly, say};
use crate::output;
use crate::signals::{self, Graceful};
use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;
use weft_fabric::config::FabricConfig;
use weft_stress::campaign::{Campaign, Failing, Made, Plan, TOGETHER};
use weft_stress::record::{Record, Subject};
use weft_workload::trace::text;

/// What is drawn, and the exit status.
const MEANING: &str = "\
A round is a program on the fabric: loads, stores, atomics and fences of all sizes, classes and scopes that the fabric's \
model knows, on few lines or many, with false sharing, barriers, pauses and copies of the host. Groups of 8 rounds share \
hardware, whose parameters are drawn, too: small queues and tables, odd sizes, latencies. Every round runs with all \
checks, its memory is compared at its end, and its execution is judged by the axioms of the fabric's model. A failing \
round is made small and written as a trace that `weft run` runs again, with a \
recording for `weft check` where only an axiom is broken.\n\n\
An operation is a load, store or atomic of one lane of a wave.\n\n\
Exit status: 0 if nothing failed; 1 if a round failed; 2 if the command is wrong.";

/// Arguments of `weft stress`.
#[derive(clap::Args)]
#[command(after_help = MEANING)]
pub struct Args {
    /// A built-in fabric, or a TOML file.
    fabric: String,
    /// Key of the fabric's configuration, which is then not drawn; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Operations after which no group of rounds is begun, those of the record among them; 1e6 is a million.
    #[arg(long, value_name = "N", default_value = "1e6", value_parser = whole)]
    operations: u64,
    /// Seconds after which none is begun.
    #[arg(long, value_name = "SECONDS")]
    budget: Option<u64>,
    /// Seed of everything drawn.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Groups at a time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: u32,
    /// The hardware stays as it is configured.
    #[arg(long)]
    fixed: bool,
    /// Executions are not judged by axioms: the checks of the runs and memory at their ends only.
    #[arg(long)]
    unjudged: bool,
    /// Table of what campaigns have checked: this one goes on where it ends, and is added to it.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Only this round, by its number.
    #[arg(long, value_name = "ROUND", conflicts_with_all = ["operations", "budget", "record", "jobs"])]
    round: Option<u64>,
    /// Runs that making a failing round small may take; 0 leaves it as it is.
    #[arg(long, value_name = "RUNS", default_value_t = 400)]
    reduce: u32,
    /// Folder for the trace of a failing round.
    #[arg(long, value_name = "FOLDER", default_value = "vcd_out")]
    out: PathBuf,
    /// Writes the result to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A whole number from 1, also as 1e9.
pub(crate) fn whole(text: &str) -> Result<u64, String> {
    let (digits, zeros) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let power = zeros.parse().ok().and_then(|zeros| 10_u64.checked_pow(zeros));
    let number = digits.parse::<u64>().ok().zip(power).and_then(|(digits, power)| digits.checked_mul(power));
    number.filter(|n| *n > 0).ok_or_else(|| "a whole number from 1 is expected, such as 50000 or 1e9".into())
}

/// Runs the verb.
///
/// # Errors
/// Wrong input; a round that fails.
pub fn run(args: &Args) -> Outcome {
    let json = args.json.as_deref().map(|path| output::begin("--json", path)).transpose()?;
    let mut config = FabricConfig::load(&args.fabric).map_err(Failure::input)?;
    args.set.iter().try_for_each(|set| config.set(set)).map_err(Failure::input)?;
    let mut record = match &args.record {
        Some(path) => Record::read(path).map_err(Failure::input)?,
        None => Record::default(),
    };
    let _graceful = Graceful::new();
    let campaign = Campaign::new(&config, &args.set, plan(args), signals::flag());
    let subject = subject(args, &campaign)?;
    let campaign = match record.of(&subject) {
        Some(row) => campaign.after(row.groups, row.operations),
        None => campaign,
    };
    let made = quietly(|| watched(args, &campaign))?;
    if let Some(path) = args.record.as_deref().filter(|_| made.groups > 0) {
        // A failing group is made again, once it is mended.
        let groups = made.groups - u64::from(made.failing.is_some());
        record.add(&subject, groups, made.counts);
        record.write(path).map_err(Failure::check)?;
    }
    for why in &made.refused {
        say(format!("not built: {why}"))?;
    }
    let shown = made.failing.as_ref().map(|failing| show(args, failing)).transpose()?;
    if let Some(file) = json {
        let failing = made.failing.as_ref().zip(shown.as_ref()).map(|(failing, command)| {
            json!({
                "round": failing.round,
                "kind": failing.small.1.kind,
                "text": failing.small.1.text,
                "operations": failing.small.0.program.operations(),
                "command": command,
            })
        });
        let value = json!({
            "schema": "weft-stress 1",
            "subject": subject,
            "groups": made.groups,
            "counts": made.counts,
            "refused": made.refused,
            "failing": failing,
        });
        output::json(&value, file).map_err(Failure::Check)?;
    }
    conclude(args, &record, &subject, &made)
}

fn plan(args: &Args) -> Plan {
    let one = args.round.is_some();
    Plan {
        seed: args.seed,
        operations: if one { 1 } else { args.operations },
        budget: args.budget.map(Duration::from_secs),
        jobs: args.jobs as usize,
        made: args.round.map_or(0, |round| round / TOGETHER),
        only: args.round,
        fixed: args.fixed,
        judged: !args.unjudged,
        reduce: args.reduce,
    }
}

fn subject(args: &Args, campaign: &Campaign) -> Result<Subject, Failure> {
    let hardware = campaign.hardware(&[]).map_err(Failure::input)?.fingerprint();
    let fixed = args.fixed.then(|| "fixed".to_string());
    let keys = args.set.iter().cloned().chain(fixed).collect::<Vec<_>>().join(" ");
    Ok(Subject { fabric: args.fabric.clone(), keys, seed: args.seed, hardware: format!("{hardware:016x}") })
}

fn watched(args: &Args, campaign: &Campaign) -> Result<Made, Failure> {
    let bar = ProgressBar::new(args.operations);
    if let Ok(style) =
        ProgressStyle::with_template("{spinner} {elapsed} {human_pos} of {human_len} operations, {eta} left")
    {
        bar.set_style(style);
    }
    let made = campaign.run(&|operations| bar.set_position(operations)).map_err(Failure::input);
    bar.finish_and_clear();
    made
}

/// Tells of a failing round; the commands that show it again.
fn show(args: &Args, failing: &Failing) -> Result<String, Failure> {
    let Failing { round, fault, operations, small: (case, left), runs } = failing;
    say(format!("round {round} failed: {fault}", fault = fault.text))?;
    let name = format!("stress-{}-{}-{round}.wtrace", stem(&args.fabric), args.seed);
    let path = args.out.join(&name);
    let text = text::write(&case.program.trace());
    output::folder(&args.out, &[(name, text)]).map_err(|cause| {
        Failure::check(anyhow!("round {round} failed, and {} cannot be written: {cause}", path.display()))
    })?;
    let of = case.program.operations();
    say(format!(
        "of its {operations} operations {of} are left after {runs} runs, which show: {}",
        left.text
    ))?;
    let sets = args.set.iter().chain(&case.keys).map(|key| format!(" --set {key}")).collect::<String>();
    let at = if path.components().count() == 1 {
        format!("./{}", path.display())
    } else {
        path.display().to_string()
    };
    let run = format!("weft run {} --workload {at} --set cta_schedule=contiguous{sets}", args.fabric);
    if !left.judged {
        say(format!("    {run}"))?;
        return Ok(run);
    }
    let recorded = Path::new(&at).with_extension("weftrec");
    let run = format!("{run} --record {}", recorded.display());
    let check = format!("weft check {}", recorded.display());
    say(format!("    {run}"))?;
    say(format!("    {check}"))?;
    Ok(format!("{run} && {check}"))
}

fn stem(fabric: &str) -> String {
    Path::new(fabric).file_stem().map_or(fabric.into(), |stem| stem.to_string_lossy().into_owned())
}

/// The last sentence, and the status.
fn conclude(args: &Args, record: &Record, subject: &Subject, made: &Made) -> Outcome {
    let counts = made.counts;
    let done = format!(
        "{}: {} rounds, {} operations, {} accesses judged, {} cycles",
        subject.fabric, counts.rounds, counts.operations, counts.judged, counts.cycles
    );
    let all = record.of(subject).map(|row| format!("; {} operations in all", row.operations));
    let done = done + &all.unwrap_or_default();
    if let Some(failing) = &made.failing {
        let kind = &failing.small.1.kind;
        return Err(Failure::check(anyhow!(
            "{done}; round {} failed ({kind}): weft stress {}{} --seed {}{} --round {}",
            failing.round,
            args.fabric,
            args.set.iter().map(|set| format!(" --set {set}")).collect::<String>(),
            args.seed,
            if args.fixed { " --fixed" } else { "" },
            failing.round
        )));
    }
    if let Some(signal) = signals::asked() {
        return Err(Failure::signal(signal, &done));
    }
    say(format!("{done}: nothing failed"))
}
