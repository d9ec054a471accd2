//! All interleavings of tiny systems on the RTL (spandex.md sections 2 to 8, and 13).

use weft_explore::net::Timing;
use weft_explore::report::seen;
use weft_explore::search::{Explored, Limits, explore};
use weft_spandex_bench::explore::mixes::{Mix, mixes, pair};
use weft_spandex_bench::explore::{Config, Kind, System, build, report};

fn run(config: &Config) -> (System, Explored) {
    let mut system = build(config).expect("legal parameters");
    let limits = Limits { states: 100_000_000, live: true, ..Limits::default() };
    let found = explore(&mut system, limits, &mut |_| {});
    (system, found)
}

/// Everything is visited without a violation.
fn holds(name: &str, config: &Config) -> System {
    let (mut system, found) = run(config);
    if let Some(violation) = &found.violation {
        panic!("{name}: {}", report::counterexample(&mut system, violation));
    }
    assert!(found.complete && found.finished > 0, "{name}");
    println!("{name}: {}", report::table(&system, &found, false));
    system
}

/// The short or long explorations whose names end so.
fn all(short: bool, wanted: impl Fn(&Mix) -> bool) {
    let some: Vec<Mix> = mixes().into_iter().filter(|mix| mix.short == short && wanted(mix)).collect();
    assert!(!some.is_empty());
    some.iter().for_each(|mix| _ = holds(&mix.name, &mix.config));
}

/// Nothing is special.
fn plain(mix: &Mix, devices: usize) -> bool {
    !mix.name.contains(':') && mix.config.devices.len() == devices
}

fn special(mix: &Mix, what: &str) -> bool {
    mix.name.split_once(':').is_some_and(|(_, rest)| rest.contains(what))
}

#[test]
fn all_pairs_of_kinds() {
    all(true, |mix| plain(mix, 2));
}

#[test]
fn three_kinds_together() {
    all(true, |mix| plain(mix, 3));
}

/// A writer is complete only when its word is nowhere else, also where the line is on its way from one device to another.
#[test]
fn a_line_on_its_way_between_two_devices_is_written() {
    all(true, |mix| special(mix, "chain"));
}

/// The two answers to a forwarded ReqS bring the same words: to the sharer and to the bank.
#[test]
fn an_owner_shares_a_word_that_it_changes_again() {
    all(true, |mix| special(mix, "shared-late"));
}

#[test]
fn flag_and_data_in_one_line() {
    all(true, |mix| special(mix, "synchronised"));
}

/// What is of CU scope is done in the L1, beside what is not.
#[test]
fn atomics_of_a_cu() {
    all(true, |mix| special(mix, "scoped"));
}

/// Atomics of a core join the request of their word, before and after another device asks for it.
#[test]
fn atomics_join_the_request_of_their_word() {
    let joining: Vec<Mix> = mixes().into_iter().filter(|mix| mix.short && special(mix, "joining")).collect();
    assert!(!joining.is_empty());
    for mix in joining {
        let seen = seen(&holds(&mix.name, &mix.config).net.blocks);
        let covers = ["denovo_l1.Rmw.coming", "denovo_l1.done.joined", "race.denovo_forward_behind_joined"];
        for cover in covers.into_iter().chain(["race.denovo_joined_late"]) {
            let hits = seen.get(&format!("spandex.{cover}")).map_or(0, |(_, hits)| *hits);
            assert!(hits > 0, "{}: {cover} is never reached", mix.name);
        }
    }
}

#[test]
fn lines_leave_the_l1() {
    all(true, |mix| special(mix, "evicting") && !special(mix, "scoped"));
}

#[test]
fn lines_leave_the_bank() {
    all(true, |mix| special(mix, "replacing"));
}

/// A Flex device may ask for words or the line, by every request.
#[test]
fn every_request_by_hint() {
    all(true, |mix| special(mix, "hints"));
}

/// Requests go to a device that owns the words, that owned them, or that never did.
#[test]
fn owners_are_guessed() {
    all(true, |mix| special(mix, "guessing") && !special(mix, "evicting"));
}

/// Blocks may also stop in the middle of their work.
#[test]
fn blocks_clocked_at_any_moment() {
    let config = Config { timing: Timing::Free, ..pair([Kind::Mesi, Kind::Gpu], [1, 1]) };
    holds("mesi+gpu, any moment", &config);
}

/// A stash holds a line in two places, and maps them anew.
#[test]
fn stashes_map_lines() {
    all(true, |mix| special(mix, "mapping") || special(mix, "aliases"));
}

#[test]
fn long_stashes_map_lines() {
    all(false, |mix| special(mix, "mapping") || special(mix, "aliases"));
}

#[test]
fn long_all_pairs_of_kinds() {
    all(false, |mix| plain(mix, 2));
}

#[test]
fn long_all_threes_of_kinds() {
    all(false, |mix| plain(mix, 3));
}

#[test]
fn long_every_request_by_hint() {
    all(false, |mix| special(mix, "hints"));
}

#[test]
fn long_owners_are_guessed() {
    all(false, |mix| special(mix, "guessing") && !special(mix, "evicting"));
}

#[test]
fn long_flag_and_data_in_one_line() {
    all(false, |mix| special(mix, "synchronised"));
}

#[test]
fn long_atomics_of_a_cu() {
    all(false, |mix| special(mix, "scoped"));
}

#[test]
fn long_atomics_join_the_request_of_their_word() {
    all(false, |mix| special(mix, "joining"));
}

#[test]
fn long_overlapping_operations() {
    all(false, |mix| special(mix, "overlapping") && !special(mix, "scoped"));
}

#[test]
fn long_lines_leave_the_l1() {
    all(false, |mix| special(mix, "evicting") && !special(mix, "scoped"));
}

#[test]
fn long_lines_leave_the_bank() {
    all(false, |mix| special(mix, "replacing"));
}

#[test]
fn long_policies_of_the_bank() {
    all(false, |mix| special(mix, "opt") || special(mix, "rvko"));
}
