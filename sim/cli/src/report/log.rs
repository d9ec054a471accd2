//! What the page shows of an event log: links over time, causes of invalidations, lives of lines.

use super::{Limits, protocol};
use crate::cmd::why;
use anyhow::Error;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use weft_events::hops::{Hops, channel_of};
use weft_events::life::{self, Kind, Moment};
use weft_events::{Log, What};

/// Points of a link's line in the picture.
const POINTS: u64 = 400;

/// Cycles before and after a moment whose transfers are kept.
const AROUND: (u64, u64) = (6, 22);

/// Transfers kept for one line.
const TRANSFERS: usize = 12_000;

/// Kinds of messages that take copies away.
const CAUSES: usize = 24;

/// What is written in front of the page's data of one log.
pub fn data(file: &str, log: &Log, limits: &Limits) -> Result<Value, Error> {
    let (h, hops) = (&log.header, Hops::new(log));
    let messages = log.events.iter().filter(|e| matches!(e.what, What::Message { .. })).count();
    let (lines, cut) = lines(log, &hops, limits)?;
    let mut words = Words::default();
    let shown: Vec<Value> = lines.iter().map(|line| of_line(log, &hops, *line, limits, &mut words)).collect();
    let actors: Vec<&str> = h.actors.iter().map(|a| a.name.as_str()).collect();
    let models: Vec<bool> = h.actors.iter().map(|a| a.block.is_none()).collect();
    let channels: Vec<[u32; 2]> = h.channels.iter().map(|c| [c.from, c.to]).collect();
    let (links, interval) = links(log);
    let (causes, causes_cut) = causes(log, &hops);
    Ok(json!({
        "file": file, "fabric": h.fabric, "workload": h.workload, "protocol": protocol(&h.config), "config": h.config,
        "seed": h.seed, "setup": h.setup, "told": super::setup::told(&h.setup),
        "from": h.from, "end": log.end.min(h.to), "scope": h.scope, "interval": interval, "steps": log.steps,
        "messages": messages, "rows": log.events.len() - messages, "notes": [], "actors": actors, "models": models, "channels": channels,
        "links": links, "causes": causes, "causes_cut": causes_cut, "lines": shown, "words": words.list, "cut": cut,
    }))
}

/// Texts that occur often, each once.
#[derive(Default)]
struct Words {
    list: Vec<String>,
    numbers: BTreeMap<String, usize>,
}

impl Words {
    fn number(&mut self, word: String) -> usize {
        *self.numbers.entry(word).or_insert_with_key(|word| {
            self.list.push(word.clone());
            self.list.len() - 1
        })
    }
}

/// Senders with their bytes, in intervals of so many cycles; those with the most bytes come first.
fn links(log: &Log) -> (Vec<Value>, u64) {
    let h = &log.header;
    let span = log.end.min(h.to).saturating_sub(h.from);
    let interval = h.interval * span.div_ceil(h.interval * POINTS).max(1);
    let mut bytes: BTreeMap<u32, BTreeMap<u64, u64>> = BTreeMap::new();
    for sent in &log.sent {
        let of = bytes.entry(h.meters[sent.meter as usize].actor).or_default();
        *of.entry(sent.start / interval * interval).or_insert(0) += sent.bytes;
    }
    let mut all: Vec<(u32, BTreeMap<u64, u64>)> = bytes.into_iter().collect();
    all.sort_by_key(|(actor, points)| (u64::MAX - points.values().sum::<u64>(), *actor));
    let link = |(actor, points): (u32, BTreeMap<u64, u64>)| {
        let per_cycle = h.meters.iter().find(|m| m.actor == actor).and_then(|m| m.per_cycle);
        json!({"name": log.name(actor), "per_cycle": per_cycle, "points": points.into_iter().collect::<Vec<_>>()})
    };
    (all.into_iter().map(link).collect(), interval)
}

/// Decisions to take copies or ownership away, by message, cause and row, and a sentence if not all of these are shown.
fn causes(log: &Log, hops: &Hops) -> (Vec<Value>, Option<String>) {
    let mut found: BTreeMap<String, (u64, BTreeSet<u64>)> = BTreeMap::new();
    let lines: BTreeSet<u64> = taken(log, hops).into_keys().collect();
    for (line, moments) in life::of_lines(log, hops, &lines) {
        for (number, moment) in moments.iter().enumerate().filter(|(_, moment)| moment.takes_away()) {
            // No further back than the row: a log has millions of moments.
            let because = |n: &usize| life::because(log, &moments, *n);
            let mut way = std::iter::successors(because(&number), because).peekable();
            // What carries a decision on is not counted again.
            if way.peek().is_some_and(|n| moments[*n].takes_away()) {
                continue;
            }
            let reason = moment.details.split(", ").find_map(|field| field.strip_prefix("cause "));
            let reason = reason.map_or(String::new(), |reason| format!(" for {reason}"));
            let row = way.find(|n| moments[*n].kind == Kind::Row);
            let row = row.map_or(String::new(), |n| format!(", row {}", moments[n].what));
            let name = format!("{}{reason} from {}{row}", moment.what, kind(log.name(moment.from)));
            let of = found.entry(name).or_default();
            of.0 += 1;
            of.1.insert(line);
        }
    }
    let mut all: Vec<(String, u64, usize)> = found.into_iter().map(|(w, (n, l))| (w, n, l.len())).collect();
    all.sort_by_key(|(what, messages, _)| (u64::MAX - messages, what.clone()));
    let rest: u64 = all.iter().skip(CAUSES).map(|(_, messages, _)| messages).sum();
    let cut = (all.len() > CAUSES)
        .then(|| format!("{} kinds more, with {rest} messages together, are not shown.", all.len() - CAUSES));
    let cause = |(what, messages, lines)| json!({"what": what, "messages": messages, "lines": lines});
    (all.into_iter().take(CAUSES).map(cause).collect(), cut)
}

/// Lines of which copies were taken away, and how often.
fn taken(log: &Log, hops: &Hops) -> BTreeMap<u64, u64> {
    let mut taken: BTreeMap<u64, u64> = BTreeMap::new();
    for (number, event) in log.events.iter().enumerate() {
        if let (What::Message { channel, limbs, .. }, Some(line), None) =
            (&event.what, hops.line[number], hops.before[number])
            && life::takes_away(&log.header.operation(*channel, log.fields(limbs)))
        {
            *taken.entry(line).or_insert(0) += 1;
        }
    }
    taken
}

/// The kind of a block by its name: `gpu0.dir1` is a `dir`.
fn kind(name: &str) -> &str {
    let last = name.rsplit('.').next().unwrap_or(name);
    last.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_')
}

/// Lines whose life is shown: those asked for, then those that were taken away most often, and a sentence that says so.
fn lines(log: &Log, hops: &Hops, limits: &Limits) -> Result<(Vec<u64>, String), Error> {
    let bytes = u64::from(log.header.line);
    let mut out = Vec::new();
    for address in &limits.wanted {
        let line = why::address(&log.header, address)? / bytes;
        if !out.contains(&line) {
            out.push(line);
        }
    }
    let taken = taken(log, hops);
    let all = life::busiest(hops);
    let mut ranked: Vec<(u64, u64, usize)> =
        all.iter().map(|(line, events)| (*line, taken.get(line).copied().unwrap_or(0), *events)).collect();
    ranked.sort_by_key(|(line, taken, events)| (u64::MAX - taken, usize::MAX - events, *line));
    let asked = out.len();
    let most = ranked.into_iter().map(|(line, ..)| line).filter(|line| !out[..asked].contains(line));
    let most: Vec<u64> = most.take(limits.lines).collect();
    out.extend(most);
    let cut = format!(
        "The page holds {} of {} lines: {}those from which copies were taken most often, then those of most events; weft report --line ADDRESS adds others, weft why shows any.",
        out.len(),
        all.len(),
        if asked > 0 { "those asked for, " } else { "" }
    );
    Ok((out, cut))
}

fn of_line(log: &Log, hops: &Hops, line: u64, limits: &Limits, words: &mut Words) -> Value {
    let all = life::of_line(log, hops, line);
    let until = all.partition_point(|moment| moment.cycle <= limits.at);
    let later = all.len() - until;
    let all = &all[..until];
    // The newest, and what has led to those of them that took copies away.
    let newest = until.saturating_sub(limits.moments)..until;
    let taking = newest.clone().filter(|n| all[*n].takes_away());
    let shown: BTreeSet<usize> =
        newest.clone().chain(taking.flat_map(|n| life::chain(log, all, n))).collect();
    let shown: Vec<usize> = shown.into_iter().collect();
    let moments: Vec<Moment> = shown.iter().map(|n| all[*n].clone()).collect();
    let reason = |n: &usize| shown.binary_search(&life::because(log, all, *n)?).ok();
    let reasons: Vec<Option<usize>> = shown.iter().map(reason).collect();
    // Where copies are taken away in the end: no further such message is the consequence.
    let carried: BTreeSet<usize> =
        (0..moments.len()).filter(|n| moments[*n].takes_away()).filter_map(|n| reasons[n]).collect();
    let takes: Vec<usize> =
        (0..moments.len()).filter(|n| moments[*n].takes_away() && !carried.contains(n)).collect();
    let (activity, activity_end) = activity(log, hops, line, &moments, words);
    json!({
        "address": format!("{:#x}", log.header.address(line)), "contents": log.header.contents(line),
        "events": hops.line.iter().filter(|of| **of == Some(line)).count(), "left_out": until - shown.len(), "moments": moments, "reasons": reasons, "takes": takes, "users": users(log, all),
        "activity": activity, "activity_end": activity_end, "later": later,
    })
}

/// Who has asked for a line: the models outside, with what they asked, how often, first and last.
fn users(log: &Log, moments: &[Moment]) -> Vec<Value> {
    let model = |actor: u32| log.header.actors[actor as usize].block.is_none();
    let mut asked: BTreeMap<u32, Vec<&Moment>> = BTreeMap::new();
    for moment in moments {
        // What a memory outside answers is no access of it, nor is what comes to a model.
        let own = moment.kind == Kind::Message && model(moment.from) && moment.asked.is_none();
        if own && log.name(moment.from).rsplit('_').next().is_some_and(|name| !name.starts_with("mem")) {
            asked.entry(moment.from).or_default().push(moment);
        }
    }
    let user = |(actor, of): (u32, Vec<&Moment>)| {
        let mut ops: BTreeMap<&str, usize> = BTreeMap::new();
        of.iter().for_each(|moment| *ops.entry(&moment.what).or_insert(0) += 1);
        let (first, last) = (of.first()?, of.last()?);
        Some(json!({"actor": actor, "ops": ops, "first": first.cycle, "last": last.cycle, "by": last.what}))
    };
    asked.into_iter().filter_map(user).collect()
}

/// Transfers on the channels of the line's blocks around its moments: cycle, channel, word, whether it is of this line; and the cycle from which there were too many.
fn activity(
    log: &Log,
    hops: &Hops,
    line: u64,
    moments: &[Moment],
    words: &mut Words,
) -> (Vec<Value>, Option<u64>) {
    let mut near: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
    for moment in moments.iter().filter(|moment| moment.kind != Kind::Row || moments.len() < 100) {
        for actor in std::iter::once(moment.from).chain(moment.to) {
            near.entry(actor).or_default().insert(moment.cycle);
        }
    }
    let is_near = |actor: u32, cycle: u64| {
        let first = cycle.saturating_sub(AROUND.1);
        near.get(&actor).is_some_and(|cycles| cycles.range(first..=cycle + AROUND.0).next().is_some())
    };
    let mut out = Vec::new();
    for (number, event) in log.events.iter().enumerate() {
        let Some(channel) = channel_of(log, number as u32) else { continue };
        let (c, mine) = (&log.header.channels[channel as usize], hops.is_about(number as u32, line));
        if out.len() >= TRANSFERS {
            return (out, Some(event.cycle));
        }
        if let What::Message { limbs, .. } = &event.what
            && (is_near(c.from, event.cycle) || is_near(c.to, event.cycle))
        {
            let word = words.number(log.header.operation(channel, log.fields(limbs)));
            out.push(json!([event.cycle, channel, word, u8::from(mine)]));
        }
    }
    (out, None)
}
