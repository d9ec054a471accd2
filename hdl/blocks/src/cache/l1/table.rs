//! The L1's transition table, as data.
//!
//! | state of the line | meaning |
//! | --- | --- |
//! | I | no copy, no miss that a load may join |
//! | V | valid copy |
//! | P | a read is under way; loads of the line join it, its answer is installed |
//!
//! A poisoned miss (PX) counts as I: it answers the loads that have joined it, nothing more, and a later load reads anew. The L2 bank must
//! make such a load wait (rec.md 6.1), because its network may reorder; the L1 need not, because its requests of one line arrive in order.

use weft_rtl::prelude::*;

/// What a request asks of the L1, decoded when it enters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum L1Event {
    /// Load.
    Load,
    /// Load of a line that may not be kept here (`bypass_remote`).
    LoadBypass,
    /// Store.
    Store,
    /// Atomic.
    Atomic,
    /// Acquire beyond the CU, kernel begin.
    Acquire,
    /// Release beyond the CU, kernel end.
    Release,
    /// Nothing to do: acquire or release of CU scope.
    Local,
    /// Load of a scope beyond the CU (`scoped`).
    LoadForced,
}

/// State of the addressed line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum L1State {
    /// No copy.
    I,
    /// Valid copy.
    V,
    /// Miss under way, not poisoned.
    P,
}

fn row(id: &str, events: &[L1Event], states: &[L1State], actions: &[&'static str], text: &str) -> Row {
    let events = events.iter().map(|e| e.encoding()).collect();
    let states = states.iter().map(|s| s.encoding()).collect();
    Row { id: id.into(), when: vec![events, states], actions: actions.to_vec(), text: text.into() }
}

/// The forced misses of hmg.md 5.1: the read goes on and is never answered from what was read before. The copy, or the older miss as a source of one, goes,
/// so that no later load sees less than this one.
fn forced() -> Vec<Row> {
    use L1State::*;
    let of = |id: &str, state: L1State, actions: &[&'static str], text: &str| {
        row(id, &[L1Event::LoadForced], &[state], actions, text)
    };
    vec![
        of("l1.I.load_forced", I, &["alloc", "open", "read"], "Open a miss: read the line from the L2."),
        of(
            "l1.V.load_forced",
            V,
            &["drop", "alloc", "open", "read"],
            "Drop the copy and open a miss, which later loads without a scope may join.",
        ),
        of(
            "l1.P.load_forced",
            P,
            &["poison", "alloc", "open", "read"],
            "The older miss answers its loads, P -> PX; open another, which later loads without a scope may join.",
        ),
    ]
}

/// The table of requests (cu-and-consistency.md 1.1 and 1.3, rec.md 7 and 9); that of a `scoped` cache has rows for loads of a scope beyond the CU.
pub fn requests(scoped: bool) -> Table {
    use L1Event::*;
    use L1State::*;
    let any = &[I, V, P];
    let mut rows = vec![
        row(
            "l1.I.load",
            &[Load],
            &[I],
            &["alloc", "open", "read"],
            "Open a miss: read the line from the L2.",
        ),
        row("l1.V.load", &[Load], &[V], &["hit"], "Answer from the copy."),
        row("l1.P.load", &[Load], &[P], &["merge"], "Join the open miss."),
        row("l1.any.load_bypass", &[LoadBypass], any, &["alloc", "read"], "Read without keeping a copy."),
        row("l1.I.store", &[Store], &[I], &["write"], "Write through; nothing is allocated."),
        row("l1.V.store", &[Store], &[V], &["write", "update"], "Write through and update the copy."),
        row(
            "l1.P.store",
            &[Store],
            &[P],
            &["write", "poison"],
            "Write through; the read under way may return what was before the store: P -> PX.",
        ),
        row("l1.I.atomic", &[Atomic], &[I], &["alloc", "atomic"], "Performed below."),
        row("l1.V.atomic", &[Atomic], &[V], &["alloc", "atomic", "drop"], "Drop the copy; performed below."),
        row("l1.P.atomic", &[Atomic], &[P], &["alloc", "atomic", "poison"], "P -> PX; performed below."),
        row(
            "l1.any.acquire",
            &[Acquire],
            any,
            &["flash", "ack"],
            "Drop every copy, poison every open miss, answer.",
        ),
        row(
            "l1.any.release",
            &[Release],
            any,
            &["release"],
            "Answer when the L2 has answered every store and atomic accepted before.",
        ),
        row("l1.any.local", &[Local], any, &["ack"], "CU scope: the CU's own L1 is always up to date."),
    ];
    let mut names = vec!["load", "load_bypass", "store", "atomic", "acquire", "release", "local"];
    if scoped {
        rows.extend(forced());
        names.push("load_forced");
    }
    let events = L1Event::enum_type().variants.clone();
    let events = names.into_iter().zip(events).map(|(n, (_, code))| (n, code)).collect();
    let states = vec![("I", I.encoding()), ("V", V.encoding()), ("P", P.encoding())];
    Table {
        name: "l1_requests",
        columns: vec![Column { name: "event", values: events }, Column { name: "state", values: states }],
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_exactly_one_row() {
        for (scoped, events) in [(false, 7), (true, 8)] {
            let table = requests(scoped);
            assert_eq!(table.overlaps(), []);
            assert_eq!(table.columns[0].values.len(), events);
            for event in 0..8 {
                for state in 0..3 {
                    let fits = |r: &&Row| r.when[0].contains(&event) && r.when[1].contains(&state);
                    let found = table.rows.iter().filter(fits).count();
                    // A bypassing load finds no copy and no open miss: nothing of its line is ever kept.
                    assert_eq!(found, usize::from(event < events as u64), "event {event}, state {state}");
                }
            }
        }
    }
}
