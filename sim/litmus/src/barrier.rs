//! Barriers: which arrivals meet, in one candidate execution.
//!
//! Threads that share an L1 meet at barriers of one site and one number. Without a count, a thread waits for
//! all whose code has that barrier, and the arrivals of one thread that goes there several times meet the
//! others' in turn. With a count it waits until so many have come; who comes later goes past, behind those.

use crate::paths::{Event, Meeting};
use crate::relation::Rel;
use crate::test::{Expr, Instr, Place, Test};
use std::collections::BTreeMap;

/// Site and number of a barrier, and where its threads run.
type Key = (Place, u32, i64);

/// Every way in which the barriers of these events can meet, as a relation from an arrival to those who wait
/// for it; none if somebody waits for ever.
pub fn meetings(test: &Test, events: &[Event]) -> Vec<Rel> {
    let mut at: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (n, event) in events.iter().enumerate() {
        if let (Some(thread), Some(meets)) = (event.thread, event.meets) {
            let place = test.threads[thread].place;
            at.entry((place, meets.site, meets.number)).or_default().push(n);
        }
    }
    let mut ways = vec![Rel::empty(events.len())];
    for (key, arrivals) in &at {
        let groups = match least(events, arrivals) {
            Some(least) => counted(arrivals, least),
            None => in_turn(test, events, key, arrivals).into_iter().collect(),
        };
        let counts = least(events, arrivals).is_some();
        let add = |way: &Rel, groups: &[Vec<usize>]| {
            let mut way = way.clone();
            for group in groups {
                meet(&mut way, events, group, if counts { arrivals } else { group });
            }
            way
        };
        ways = ways.iter().flat_map(|way| groups.iter().map(move |groups| add(way, groups))).collect();
    }
    ways
}

fn meeting(event: &Event) -> Option<Meeting> {
    event.meets
}

/// The most that one of them waits for, if they count.
fn least(events: &[Event], arrivals: &[usize]) -> Option<usize> {
    let counts = arrivals.iter().filter_map(|n| meeting(&events[*n])?.least);
    counts.max().map(|least| usize::try_from(least).unwrap_or(0))
}

/// Who waits, and who comes later, is behind the arrival of every member of the group.
fn meet(way: &mut Rel, events: &[Event], group: &[usize], behind: &[usize]) {
    for a in group {
        for b in behind {
            if a != b && meeting(&events[*b]).is_some_and(|m| m.waits) {
                way.add(*a, *b);
            }
        }
    }
}

/// Groups of so many arrivals, as one group each; none if there are fewer.
fn counted(arrivals: &[usize], least: usize) -> Vec<Vec<Vec<usize>>> {
    let mut chosen: Vec<Vec<usize>> = vec![Vec::new()];
    for n in arrivals {
        let longer: Vec<Vec<usize>> =
            chosen.iter().filter(|c| c.len() < least).map(|c| [&c[..], &[*n]].concat()).collect();
        chosen.extend(longer);
    }
    chosen.into_iter().filter(|c| c.len() == least).map(|c| vec![c]).collect()
}

/// The first arrivals of all threads, their second ones, ...; nothing if one of them comes less often than
/// another.
fn in_turn(test: &Test, events: &[Event], key: &Key, arrivals: &[usize]) -> Option<Vec<Vec<usize>>> {
    let here = (0..test.threads.len()).filter(|t| test.threads[*t].place == key.0);
    let mut each: Vec<Vec<usize>> = Vec::new();
    for thread in here {
        let own: Vec<usize> =
            arrivals.iter().copied().filter(|n| events[*n].thread == Some(thread)).collect();
        if !own.is_empty() || expects(test, thread, key) {
            each.push(own);
        }
    }
    let turns = each.first().map_or(0, Vec::len);
    if each.iter().any(|own| own.len() != turns) {
        return None;
    }
    Some((0..turns).map(|turn| each.iter().map(|own| own[turn]).collect()).collect())
}

/// Whether a thread's code has this barrier; one whose number is computed is known only where it is reached.
fn expects(test: &Test, thread: usize, key: &Key) -> bool {
    test.threads[thread].code.iter().any(|instr| match instr {
        Instr::Barrier(b) => b.site == key.1 && b.number == Expr::Const(key.2),
        _ => false,
    })
}
