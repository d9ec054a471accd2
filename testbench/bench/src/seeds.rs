//! How much of a test's random work is done: what it takes to see everything, or all of it.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a test does of its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// A third of the seeds of every kind, and more of them as long as something has not been seen: the
    /// default suite.
    Needed,
    /// All seeds: tests called `long_...`.
    All,
}

/// Kinds of work, each with its seeds.
pub type Kinds<K> = Vec<(K, Range<u64>)>;

/// Runs trials; the wanted names that all of them have missed. A trial tells what it has missed.
///
/// # Panics
/// When there are no seeds.
pub fn unseen<K>(
    work: Work,
    kinds: &[(K, Range<u64>)],
    wanted: impl Fn(&str) -> bool,
    mut trial: impl FnMut(&K, u64) -> BTreeSet<String>,
) -> BTreeSet<String> {
    let third = |seeds: &Range<u64>| seeds.start + (seeds.end - seeds.start).div_ceil(3);
    let first = kinds.iter().flat_map(|(kind, seeds)| (seeds.start..third(seeds)).map(move |s| (kind, s)));
    let rest = kinds.iter().flat_map(|(kind, seeds)| (third(seeds)..seeds.end).map(move |s| (kind, s)));
    let trials = first.map(|t| (t, true)).chain(rest.map(|t| (t, work == Work::All)));
    let mut missed: Option<BTreeSet<String>> = None;
    for ((kind, seed), always) in trials {
        if !always && missed.as_ref().is_some_and(BTreeSet::is_empty) {
            break;
        }
        let mut now = trial(kind, seed);
        now.retain(|name| wanted(name) && missed.as_ref().is_none_or(|before| before.contains(name)));
        missed = Some(now);
    }
    missed.expect("a test has seeds")
}

/// Names that each of several trials has missed, in order.
pub fn missed_by_all(trials: impl IntoIterator<Item = Vec<String>>) -> Vec<String> {
    let both = |mut before: Vec<String>, now: Vec<String>| {
        before.retain(|name| now.contains(name));
        before
    };
    trials.into_iter().reduce(both).unwrap_or_default()
}

/// The faults that no seed shows by a panic. Where a fault is shown, sound hardware passes with the same seed.
///
/// # Panics
/// When sound hardware fails.
pub fn missed_faults<F: Copy + Debug>(
    seeds: Range<u64>,
    sound: F,
    faults: impl IntoIterator<Item = F>,
    trial: impl Fn(F, u64),
) -> Vec<F> {
    let fails = |fault: F, seed: u64| catch_unwind(AssertUnwindSafe(|| trial(fault, seed))).is_err();
    let (mut missed, mut shown) = (Vec::new(), BTreeSet::new());
    for fault in faults {
        match seeds.clone().find(|seed| fails(fault, *seed)) {
            Some(seed) => drop(shown.insert(seed)),
            None => missed.push(fault),
        }
    }
    for seed in shown {
        assert!(!fails(sound, seed), "what seed {seed} shows is no fault: {sound:?} shows it, too");
    }
    missed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    /// Seeds that were run, and what is left of `rare`, which only seed `shows` of kind 1 hits.
    fn run(work: Work, shows: u64) -> (Vec<(u32, u64)>, BTreeSet<String>) {
        let mut ran = Vec::new();
        let left = unseen(
            work,
            &[(0, 0..6), (1, 10..13)],
            |name| name != "never",
            |kind, seed| {
                ran.push((*kind, seed));
                if seed == shows { all(&["never"]) } else { all(&["rare", "never"]) }
            },
        );
        (ran, left)
    }

    #[test]
    fn a_third_is_run_and_the_rest_if_need_be() {
        assert_eq!(run(Work::Needed, 10), (vec![(0, 0), (0, 1), (1, 10)], all(&[])));
        assert_eq!(run(Work::Needed, 3), (vec![(0, 0), (0, 1), (1, 10), (0, 2), (0, 3)], all(&[])));
        let (ran, left) = run(Work::Needed, 99);
        assert_eq!((ran.len(), left), (9, all(&["rare"])));
        assert_eq!(run(Work::All, 10).0.len(), 9);
    }

    #[test]
    fn what_one_trial_has_seen_is_not_missed() {
        let names = |list: &[&str]| list.iter().map(|name| name.to_string()).collect::<Vec<String>>();
        let lists = [names(&["a", "b", "c"]), names(&["c", "a"]), names(&["c", "d", "a"])];
        assert_eq!(missed_by_all(lists), ["a", "c"]);
    }

    #[test]
    fn a_fault_counts_only_where_sound_hardware_passes() {
        let trial = |fault: u64, seed: u64| assert!(fault == 0 || seed < fault);
        assert_eq!(missed_faults(1..5, 0, [2, 3, 9], trial), [9]);
        let always = catch_unwind(|| missed_faults(1..5, 0, [2], |_, _| panic!("broken")));
        assert!(always.is_err());
    }
}
