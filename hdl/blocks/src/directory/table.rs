//! Transition tables of the directories (rec.md section 4, hmg.md section 4).
//!
//! The state is what the lookup finds of a slot, and what the operation leaves of it: without a sharer an entry is freed at once.

use super::operations::*;
use super::params::DirKind;
use weft_rtl::prelude::*;

/// The table of a kind.
pub type DirTable = Transitions<(Event, Found), Found, DirAct>;

/// The table of a kind, with sharer downgrade or without; row names are ledger identifiers.
///
/// # Panics
/// Of a kind whose slice has tables of its own, as that of [`super::protocols::gpu_vi`].
pub fn table(kind: DirKind, downgrade: bool) -> DirTable {
    assert!(!kind.operations.is_empty(), "{kind:?} has tables of its own");
    let (miss, hit) = if kind.ranges() { ("base_miss", "hit_slot_set") } else { ("miss", "hit") };
    let mut table = DirTable::new(kind.table, format!("{}.", kind.name), &["op", "found"]);
    let mut add = |event: Event, found: Found, name: &str, actions: Actions| {
        let id = format!("{}.{name}", event.label());
        table.row(Some(&id), (&[event], &[found]), next(kind, found, actions), actions, words(actions));
    };
    let leaves = downgrade.then_some((Event::Downgrade, ASK, ASK, DROP));
    for (event, on_miss, on_empty, on_set) in kind.operations.iter().copied().chain(leaves) {
        add(event, Found::Miss, miss, on_miss);
        if kind.ranges() {
            add(event, Found::SlotEmpty, "hit_slot_empty", on_empty);
        }
        add(event, Found::SlotSet, hit, on_set);
    }
    if !kind.ranges() {
        table.never((&[], &[Found::SlotEmpty]), "an entry of one slot is freed with its last sharer");
    }
    if !kind.two_level() {
        table
            .never((&[Event::RecvWrite, Event::RecvEvict], &[]), "a directory of one level receives no Invs");
    }
    if !downgrade {
        table.never((&[Event::Downgrade], &[]), "no bank sends downgrades");
    }
    table
}

/// What is left of the slot: nothing where it stays as it was.
fn next(kind: DirKind, found: Found, actions: Actions) -> &'static [Found] {
    let does = |action| actions.contains(&action);
    let cleared: &[Found] = if kind.ranges() { &[Found::Miss, Found::SlotEmpty] } else { &[Found::Miss] };
    match found {
        Found::SlotSet if does(DirAct::Clear) => cleared,
        Found::SlotSet if does(DirAct::DropRequester) && kind.ranges() => {
            &[Found::SlotSet, Found::Miss, Found::SlotEmpty]
        }
        Found::SlotSet if does(DirAct::DropRequester) || does(DirAct::KeepRequester) => {
            &[Found::SlotSet, Found::Miss]
        }
        Found::Miss | Found::SlotEmpty if does(DirAct::OnlyRequester) => &[Found::SlotSet],
        _ => &[],
    }
}

/// Everything that moves a slot. Another base may take its entry's way, and the entry that one slot has allocated has others too.
pub fn machine(kind: DirKind, downgrade: bool) -> Machine<Found> {
    let moves = Machine::new("slot of an entry", Found::Miss)
        .with(&table(kind, downgrade))
        .also(&[Found::SlotEmpty, Found::SlotSet], Found::Miss);
    if kind.ranges() { moves.also(&[Found::Miss], Found::SlotEmpty) } else { moves }
}

fn words(actions: &[DirAct]) -> &'static str {
    use DirAct::*;
    match actions {
        [] => "nothing changes",
        [Allocate, ..] => "allocate an entry whose slot holds the requester",
        [OnlyRequester, Touch] => "the slot gets its first sharer",
        [AddRequester, ..] => "the requester joins the sharers",
        [OnlyRequester, ..] => "the other sharers are invalidated, the requester stays the only one",
        [ReportEmpty] => "nothing changes; the answer says that nothing is recorded",
        [DropRequester, ..] => {
            "the requester is no sharer any more; without a sharer left V->I, and the answer says that nothing is recorded"
        }
        [Clear, InvAll, Forward] => {
            "the Inv goes on to all sharers, with its cause, and the slot is cleared; without a slot left V->I"
        }
        [Clear, InvAll] => "all sharers are invalidated and the slot is cleared; without a slot left V->I",
        [Clear, ..] => "the other sharers are invalidated and the slot is cleared; without a slot left V->I",
        _ => "the other sharers are invalidated, the requester keeps its other lines; V->I if it was none",
    }
}
