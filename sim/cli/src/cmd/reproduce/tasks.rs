//! The runs of figures shared by tasks on several machines: one list over all sweeps, in the order of the figures.

use super::Args;
use crate::cluster::{self, Place, Work};
use crate::failure::{Failure, Outcome, say};
use crate::reproduce::published::Figure;
use crate::sweep::board::Board;
use crate::sweep::execute::execute;
use crate::sweep::plan::{Plan, Run};
use anyhow::anyhow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Shows `each` the sweeps of these figures, one at a time, with the numbers of the runs that the figures need and the file of their results.
fn sweeps(
    args: &Args,
    figures: &[&Figure],
    each: &mut dyn FnMut(&Plan, &[usize], &Path) -> Outcome,
) -> Outcome {
    let mut seen: Vec<&String> = Vec::new();
    for name in figures.iter().filter_map(|figure| figure.sweep.as_ref()) {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let plan = Plan::new(args.sweep(name)?).map_err(Failure::Input)?;
        let same = figures.iter().filter(|figure| figure.sweep.as_ref() == Some(name)).copied();
        let numbers = args.needed(&plan, same)?;
        let path = args.out.join("runs").join(format!("{}.csv", plan.sweep.name));
        each(&plan, &Vec::from_iter(numbers), &path)?;
    }
    Ok(())
}

/// Where the number of the job is kept: one for the folder, whose figures share sweeps.
pub(super) fn note(args: &Args) -> PathBuf {
    args.out.join("runs").join("job")
}

/// Submits all runs that are missing as one job array.
///
/// # Errors
/// As [`Work::submit`].
pub(super) fn submit(args: &Args, figures: &[&Figure]) -> Outcome {
    let mut options =
        vec![cluster::own()?, "reproduce".into(), format!("--out={}", cluster::word(&args.out)?)];
    options.push(format!("--tier={}", args.tier.name()));
    if let Some(records) = args.record.as_ref().filter(|_| args.missing) {
        options.extend([format!("--record={}", cluster::word(records)?), "--missing".into()]);
    }
    options.extend(args.only.iter().map(|only| format!("--only={only}")));
    let name = match &args.figure {
        Some(figure) => format!("{}-{figure}", args.system),
        None => args.system.clone(),
    };
    let file = |ending: &str| args.out.join("runs").join(format!("{name}.{ending}"));
    let words = [Some(args.system.clone()), args.figure.clone()].into_iter().flatten().collect();
    let place = Place { script: file("sbatch"), logs: file("logs"), note: note(args), options, words };
    let jobs = args.jobs.map_or(1, usize::from);
    let mut work = Work::new(&args.cluster, args.restart, jobs, args.dry_run)?;
    sweeps(args, figures, &mut |plan, numbers, path| {
        work.add(plan, numbers, &args.known(plan)?.numbers, path)
    })?;
    work.submit(&place, args.dry_run)
}

/// Makes the runs of one task.
///
/// # Errors
/// Results that cannot be written; at the end, runs that have failed or gave a wrong result.
pub(super) fn share(args: &Args, figures: &[&Figure]) -> Outcome {
    let Some(shard) = args.cluster.shard else { return Ok(()) };
    let (mut place, mut all, mut failed) = (0, 0, 0);
    sweeps(args, figures, &mut |plan, numbers, path| {
        let own = |(at, _): &(usize, &usize)| shard.takes(place + at);
        let own: BTreeSet<usize> =
            numbers.iter().enumerate().filter(own).map(|(_, number)| *number).collect();
        place += numbers.len();
        let known = args.known(plan)?.numbers;
        let own: BTreeSet<usize> = own.difference(&known).copied().collect();
        if own.is_empty() {
            return Ok(());
        }
        let mut left: BTreeMap<String, usize> = BTreeMap::new();
        own.iter()
            .for_each(|run| *left.entry(plan.sweep.workload(&plan.runs[*run].labels)).or_default() += 1);
        let (jobs, (mut results, _)) = (args.jobs(), args.cluster.open(path, plan, false, &note(args))?);
        let board = Board::new(left, jobs);
        let wanted = |run: &Run| own.contains(&run.number);
        let made = execute(plan, &mut results, jobs, &wanted, &board, &|_| Ok(()));
        board.finish();
        made.map_err(Failure::check)?;
        results.sort().map_err(Failure::check)?;
        let status = plan.column("status");
        all += own.len();
        failed += results.rows().iter().flatten().filter(|cells| cells[status] != "ok").count();
        say(format!("results: {}", results.path().display()))
    })?;
    match failed {
        0 => Ok(()),
        _ => Err(Failure::check(anyhow!(
            "{failed} of {all} runs failed or gave a wrong result; see status and error in {}",
            args.out.join("runs").display()
        ))),
    }
}
