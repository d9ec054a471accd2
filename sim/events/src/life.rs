//! What became of one line: who read and wrote it, what was sent for it, which rows its blocks took, in order.

use crate::hops::{Hops, channel_of};
use crate::read::{Log, What};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What a moment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A message from its first sender to its last receiver.
    Message,
    /// A row of a transition table.
    Row,
    /// A race.
    Race,
}

/// A moment in the life of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// When it began.
    pub cycle: u64,
    /// What it is.
    pub kind: Kind,
    /// Number of the actor that sends, or whose row it is.
    pub from: u32,
    /// Number of the actor that receives.
    pub to: Option<u32>,
    /// What the message asks or answers, or the identifier of the row.
    pub what: String,
    /// The other fields, or what the row means.
    pub details: String,
    /// Cycle of arrival, and the actors on the way.
    pub arrives: u64,
    /// Actors between sender and receiver.
    pub via: Vec<u32>,
    /// For a request the cycle in which its answer came.
    pub answered: Option<u64>,
    /// For an answer the cycle in which it was asked for.
    pub asked: Option<u64>,
}

/// All moments of a line in order.
pub fn of_line(log: &Log, hops: &Hops, line: u64) -> Vec<Moment> {
    let mine = (0..log.events.len() as u32).filter(|event| hops.is_about(*event, line));
    mine.filter_map(|event| moment(log, hops, event)).collect()
}

/// All moments of each of some lines, with one look at the log; a message about a group of lines is a moment of the line that it names.
pub fn of_lines(log: &Log, hops: &Hops, lines: &BTreeSet<u64>) -> BTreeMap<u64, Vec<Moment>> {
    let mut out: BTreeMap<u64, Vec<Moment>> = BTreeMap::new();
    for event in 0..log.events.len() as u32 {
        if let Some(line) = hops.line[event as usize].filter(|line| lines.contains(line)) {
            out.entry(line).or_default().extend(moment(log, hops, event));
        }
    }
    out
}

/// The moment that an event begins; none for a message that carries another one on.
pub fn moment(log: &Log, hops: &Hops, event: u32) -> Option<Moment> {
    let at = event as usize;
    match &log.events[at].what {
        What::Row { actor, row, cycles, .. } => {
            let info = log.row(*actor, *row);
            let kind = if info.id.contains(".race.") { Kind::Race } else { Kind::Row };
            Some(Moment {
                cycle: log.events[at].cycle,
                kind,
                from: *actor,
                to: None,
                what: info.id.clone(),
                details: match cycles {
                    1 => info.text.clone(),
                    _ => format!("{} (held on for {cycles} cycles until then)", info.text),
                },
                arrives: log.events[at].cycle,
                via: Vec::new(),
                answered: None,
                asked: None,
            })
        }
        What::Message { .. } if hops.before[at].is_some() => None,
        What::Message { channel, limbs, .. } => {
            let (header, last) = (&log.header, hops.last(event));
            let receiver = |event: u32| channel_of(log, event).map(|c| header.channels[c as usize].to);
            let (mut via, mut next) = (Vec::new(), event);
            while let Some(after) = hops.after[next as usize] {
                via.extend(receiver(next));
                next = after;
            }
            let cycle = |event: u32| log.events[event as usize].cycle;
            Some(Moment {
                cycle: cycle(event),
                kind: Kind::Message,
                from: header.channels[*channel as usize].from,
                to: receiver(last),
                what: header.operation(*channel, log.fields(limbs)),
                details: header.details(*channel, log.fields(limbs)),
                arrives: cycle(last),
                via,
                answered: hops.answer[at].map(cycle),
                asked: hops.request[last as usize].map(cycle),
            })
        }
    }
}

/// Moments before another one among which its reason is looked for.
const REASONS: usize = 400;

/// Cycles that a message may be in a block before a row looks at it, when another one comes in the row's own cycle.
const STAGES: u64 = 8;

/// The moment of which another one is the consequence: of a message the last row that its sender has taken, or the last message that has come to it, whichever was
/// later; of a row the last message that has come to its block. If a message of the same bytes of the line has come to the sender, then the row that was taken for
/// that one: others of the line may have come in between. None of what a model outside asks for, and where the log does not show it.
pub fn because(log: &Log, moments: &[Moment], number: usize) -> Option<usize> {
    let of = &moments[number];
    if log.header.actors[of.from as usize].block.is_none() && of.asked.is_none() {
        return None;
    }
    same_bytes(moments, number).or_else(|| latest(moments, number))
}

/// The row that the sender of a message has taken for a message of the same bytes, if that has come to it and such a row is there.
fn same_bytes(moments: &[Moment], number: usize) -> Option<usize> {
    let of = &moments[number];
    // An answer has more reasons than its request.
    let mask = of.mask().filter(|_| of.kind == Kind::Message && of.asked.is_none())?;
    let first = number.saturating_sub(REASONS);
    let source = (first..number).rev().find(|other| {
        let came = &moments[*other];
        came.to == Some(of.from) && came.arrives < of.cycle && came.mask() == Some(mask)
    })?;
    (source + 1..number).find(|other| {
        let row = &moments[*other];
        let earlier = row.kind == Kind::Row && row.from == of.from && row.cycle < of.cycle;
        earlier && latest(moments, *other) == Some(source)
    })
}

/// The last row or message that may be the reason of a moment.
fn latest(moments: &[Moment], number: usize) -> Option<usize> {
    let of = &moments[number];
    // What a block sends comes from registers: its reason is of an earlier cycle.
    let when = |moment: &Moment| {
        let row = moment.kind == Kind::Row && moment.from == of.from && of.kind == Kind::Message;
        let came = moment.kind == Kind::Message && moment.to == Some(of.from);
        ((row || came) && moment.arrives < of.cycle).then_some((moment.arrives, row))
    };
    let first = number.saturating_sub(REASONS);
    let reasons = (first..number).filter_map(|other| Some((when(&moments[other])?, other)));
    let earlier = reasons.max();
    // A row may look at what comes in its own cycle; a block with a stage in front of its table has had the message shortly before.
    let recent = earlier.is_some_and(|((arrives, _), _)| arrives.saturating_add(STAGES) >= of.cycle);
    let same = |moment: &Moment| moment.to == Some(of.from) && moment.arrives == of.cycle;
    let now = moments[first..].iter().take_while(|moment| moment.cycle <= of.cycle);
    let now = now.enumerate().filter(|(_, moment)| of.kind == Kind::Row && !recent && same(moment)).last();
    now.map(|(at, _)| first + at).or(earlier.map(|(_, other)| other))
}

/// A moment and what it is the consequence of, back to who asked, the newest first.
pub fn chain(log: &Log, moments: &[Moment], number: usize) -> Vec<usize> {
    std::iter::successors(Some(number), |number| because(log, moments, *number)).collect()
}

impl Moment {
    /// Which bytes of the line a message is about, as it says so.
    fn mask(&self) -> Option<&str> {
        self.details.split(", ").find_map(|field| field.strip_prefix("mask "))
    }

    /// A message that takes copies or ownership away.
    pub fn takes_away(&self) -> bool {
        self.kind == Kind::Message && takes_away(&self.what)
    }
}

/// Whether a message takes copies or ownership away, by its operation.
pub fn takes_away(what: &str) -> bool {
    let what = what.to_uppercase();
    ["INV", "RVK", "REVOKE", "RECALL", "SELFLUSH", "LOCKFLUSH", "SEL_FLUSH", "LOCK_FLUSH"]
        .iter()
        .any(|word| what.contains(word))
        && !["ACK", "RSP", "DONE"].iter().any(|word| what.contains(word))
}

/// Lines by how much befell them: their number, and of how many events.
pub fn busiest(hops: &Hops) -> Vec<(u64, usize)> {
    let mut counts = BTreeMap::new();
    hops.line.iter().flatten().for_each(|line| *counts.entry(*line).or_insert(0) += 1);
    let mut lines: Vec<(u64, usize)> = counts.into_iter().collect();
    lines.sort_by_key(|(line, events)| (usize::MAX - events, *line));
    lines
}
