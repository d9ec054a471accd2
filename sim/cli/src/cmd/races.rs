//! `weft races`: whether small programs are legal under a memory model, by enumeration of their sequentially consistent executions.

use crate::cmd::litmus::source::{self, Item, Unread};
use crate::failure::{Failure, Outcome, say};
use anyhow::anyhow;
use std::collections::BTreeSet;
use weft_litmus::model::Model;
use weft_litmus::model::drf::{Drf, Level};
use weft_litmus::paths::Bounds;
use weft_litmus::race::{Found, Hrf, races};
use weft_litmus::test::{Instr, Test};

/// Arguments of `weft races`.
#[derive(clap::Args)]
pub struct Args {
    /// A test of Weft's library by name, `*.P` all whose names end so, `all` of them, a file or a folder of files, as of `weft litmus`.
    tests: String,
    /// Model: drf0, drf1 or drfrlx, also with +scopes; without it all three, and those of which a test states its races.
    #[arg(long, value_name = "MODEL")]
    model: Option<Model>,
    /// Synchronisation through several scopes in a row makes no order (HRF-direct).
    #[arg(long)]
    direct: bool,
}

/// Most threads and accesses of a test that is enumerated.
const THREADS: usize = 4;
const EVENTS: usize = 12;

/// Runs the verb.
///
/// # Errors
/// Wrong input, or a test that is too large; races other than a test states.
pub fn run(args: &Args) -> Outcome {
    let source::Items { tests: items, mut unread, folder } = source::items(&args.tests)?;
    for file in &unread {
        say(format!("not read: {}", file.words()))?;
    }
    let hrf = if args.direct { Hrf::Direct } else { Hrf::Indirect };
    let (mut judged, mut unjudged, mut large, mut wrong) = (0, 0, 0, Vec::new());
    for item in &items {
        if let Some(why) = too_large(&item.test) {
            if items.len() == 1 {
                return Err(Failure::input(anyhow!(
                    "{} has {why}, and only programs of at most {THREADS} threads and {EVENTS} accesses are enumerated: shorten it",
                    item.test.name
                )));
            }
            say(format!("{:<28} left out: it has {why}", item.test.name))?;
            large += 1;
            continue;
        }
        for model in models(args, item)? {
            let found = match races(&item.test, model, hrf, Bounds::default()) {
                Err(e) if folder => {
                    let file = Unread { file: item.source().into(), line: None, reason: e.to_string() };
                    say(format!("not judged: {}", file.words()))?;
                    unread.push(file);
                    unjudged += 1;
                    break;
                }
                found => found.map_err(Failure::input)?,
            };
            wrong.extend(print(&item.test, model, &found)?);
            judged += 1;
        }
    }
    let left = if large > 0 { format!(", {large} left out") } else { String::new() };
    match wrong.first() {
        Some(first) => {
            Err(Failure::check(anyhow!("{} of {judged} verdicts are not those stated; {first}", wrong.len())))
        }
        None => {
            let count = items.len() - unjudged;
            if count > 0 {
                say(format!(
                    "{count} tests, {judged} verdicts{left}: every race stated is found, and no other"
                ))?;
            }
            Unread::failure(&unread, count).map_or(Ok(()), Err)
        }
    }
}

/// What makes a test too large.
fn too_large(test: &Test) -> Option<String> {
    let access = |i: &&Instr| !matches!(i, Instr::Set { .. } | Instr::Branch { .. });
    let events: usize = test.threads.iter().map(|t| t.code.iter().filter(access).count()).sum();
    if test.threads.len() > THREADS {
        return Some(format!("{} threads", test.threads.len()));
    }
    (events > EVENTS).then(|| format!("{events} accesses"))
}

fn models(args: &Args, item: &Item) -> Result<Vec<Drf>, Failure> {
    let own = |model: Model| match model {
        Model::Drf(drf) if drf.level != Level::Sc => Ok(drf),
        other => Err(Failure::input(anyhow!("races are those of drf0, drf1 and drfrlx, not of {other}"))),
    };
    if let Some(model) = args.model {
        return Ok(vec![own(model)?]);
    }
    let mut all: Vec<Drf> = Vec::new();
    for (name, _) in &item.test.races {
        let model =
            name.parse::<Model>().map_err(|e| Failure::input(anyhow!("{}: race {e}", item.source())))?;
        all.push(own(model)?);
    }
    if all.is_empty() {
        all = [Level::Drf0, Level::Drf1, Level::DrfRlx].map(Drf::flat).to_vec();
    }
    all.dedup();
    Ok(all)
}

/// Prints a verdict; gives what differs from what the test states.
fn print(test: &Test, model: Drf, found: &BTreeSet<Found>) -> Result<Option<String>, Failure> {
    let kinds: BTreeSet<&str> = found.iter().filter(|f| f.race.illegal()).map(|f| f.race.name()).collect();
    let stated: BTreeSet<&str> = test
        .races
        .iter()
        .filter(|(name, _)| *name == model.to_string())
        .map(|(_, race)| race.as_str())
        .collect();
    let words = |kinds: &BTreeSet<&str>| match kinds.is_empty() {
        true => "none".to_string(),
        false => kinds.iter().copied().collect::<Vec<_>>().join(", "),
    };
    let differs = !stated.is_empty() && stated != kinds && !(kinds.is_empty() && stated.contains("none"));
    let stated = words(&stated);
    let note = if differs { format!(" (stated: {stated})") } else { String::new() };
    let verdict = if kinds.is_empty() { "legal" } else { "illegal" };
    say(format!("{:<28} {:<12} {verdict}{note}", test.name, model.to_string()))?;
    for f in found {
        let side = |(thread, instr): (usize, usize)| format!("T{thread} {}", test.instruction(thread, instr));
        say(format!("    {:<14} {}  |  {}", f.race.name(), side(f.first), side(f.second)))?;
    }
    Ok(differs.then(|| format!("{} under {model}: {}, and {stated} is stated", test.name, words(&kinds))))
}
