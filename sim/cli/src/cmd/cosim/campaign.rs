//! `weft cosim all`: every block at several parameter sets with every simulator, as a table.

use super::Args;
use crate::failure::{Failure, Outcome, say};
use std::time::{Duration, Instant};
use weft_tools::campaign::{CampaignError, Job, Passed, compare_one, jobs};

/// Runs the comparisons that have not passed before; a disagreement does not end the campaign.
///
/// # Errors
/// Options of a single block; a disagreement; a comparison that could not be made; comparisons left when the budget is used up.
pub fn run(args: &Args) -> Outcome {
    refuse_single(args)?;
    let start = Instant::now();
    let budget = args.budget.map(Duration::from_secs);
    let mut passed = args.passed.as_deref().map(Passed::load).transpose().map_err(Failure::input)?;
    let all = jobs(args.with.map(super::Other::of_campaign), args.cycles, args.seed);
    say(format!(
        "{:<22} {:<11} {:>9} {:>8}  {:<9} parameters",
        "block", "with", "cycles", "seconds", "result"
    ))?;
    let (mut done, mut failed) = (0, 0);
    for job in &all {
        if passed.as_ref().is_some_and(|p| p.has(job)) {
            row(job, "-", "earlier")?;
            done += 1;
            continue;
        }
        if budget.is_some_and(|b| start.elapsed() >= b) {
            continue;
        }
        let folder = weft_output::Scratch::new().map_err(Failure::check)?;
        let outcome = compare_one(job, folder.path()).map_err(sort)?;
        let seconds = format!("{:.1}", outcome.seconds);
        match outcome.disagreement {
            None => {
                row(job, &seconds, "agree")?;
                if let Some(passed) = &mut passed {
                    passed.note(job, outcome.seconds).map_err(sort)?;
                }
            }
            Some(why) => {
                row(job, &seconds, "DISAGREE")?;
                say(format!("  {why}"))?;
                failed += 1;
            }
        }
        done += 1;
    }
    say(format!(
        "{} of {} comparisons agree, {failed} disagree, {} are left",
        done - failed,
        all.len(),
        all.len() - done
    ))?;
    match (failed, all.len() - done) {
        (0, 0) => Ok(()),
        (0, left) => Err(Failure::check(anyhow::anyhow!(
            "the budget was used up with {left} comparisons left; the same command with --passed FILE goes on with them"
        ))),
        (failed, _) => Err(Failure::check(anyhow::anyhow!(
            "{failed} comparisons disagree; the table names the first difference of each and the command that replays it"
        ))),
    }
}

fn row(job: &Job, seconds: &str, result: &str) -> Outcome {
    let Job { block, params, with, cycles, .. } = job;
    let params = if params.is_empty() { "defaults" } else { params };
    say(format!("{block:<22} {:<11} {cycles:>9} {seconds:>8}  {result:<9} {params}", with.name()))
}

/// Options that mean one block.
fn refuse_single(args: &Args) -> Outcome {
    let given = [
        (!args.block.params.is_empty(), "--param"),
        (args.strict, "--strict"),
        (args.keep.is_some(), "--keep"),
        (args.traffic != super::Ports::Both, "--traffic"),
    ];
    match given.iter().find(|(given, _)| *given) {
        None => Ok(()),
        Some((_, option)) => Err(Failure::input(anyhow::anyhow!(
            "{option} belongs to one block, not to `weft cosim all`; name a block of `weft list blocks`"
        ))),
    }
}

fn sort(error: CampaignError) -> Failure {
    match error {
        CampaignError::File { .. } | CampaignError::Note { .. } => Failure::input(error),
        _ => Failure::check(error),
    }
}
