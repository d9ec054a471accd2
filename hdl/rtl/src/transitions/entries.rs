//! Observers of tables whose state is that of one of many entries, kept as planes: bit b of every entry's encoding in vector b.

use super::*;
use crate::bv::Bv;
use crate::signal::{assert_always, cover};
use crate::value::*;

/// An event, and the entries to which it happens: one bit each.
pub struct Happens<E> {
    /// The event.
    pub event: E,
    /// Entries to which it happens.
    pub to: Bits,
    /// Entries whose state changes for it in this cycle, where that may be later.
    pub moves: Bits,
}

impl<E> Happens<E> {
    /// An event that moves its entries at once.
    pub fn new(event: E, to: Bits) -> Happens<E> {
        Happens { event, to, moves: to }
    }
}

/// Counts the rows that entries take; the last two columns are state and event. `state`: bit b of every entry's encoding in vector b. Gives the states to
/// which the rows lead; an event without a row for an entry's state fails an assertion, whose name begins with `name`.
pub fn rows_of_entries<E: HwEnum, A>(
    name: &str,
    rows: &[&Row<A>],
    state: &[Bits],
    events: &[Happens<E>],
) -> Vec<Bits> {
    let none = lit_bv(Bv::zero(state[0].width()));
    let is = |code: &u64| {
        let bits = state.iter().enumerate().map(|(b, bits)| if code >> b & 1 == 1 { *bits } else { !*bits });
        bits.reduce(|all, one| all & one).unwrap_or(none)
    };
    let mut after = state.to_vec();
    for Happens { event, to, moves } in events {
        let mut listed = none;
        for row in rows {
            let [.., states, events] = &row.when[..] else { continue };
            if !events.contains(&event.encoding()) {
                continue;
            }
            let here = states.iter().map(is).fold(none, |any, one| any | one);
            cover(&row.id, (*to & here).any(), &row.why);
            listed = listed | here;
            if let [next] = row.next[..] {
                for (b, bits) in after.iter_mut().enumerate() {
                    let moved = *moves & here;
                    *bits = if next >> b & 1 == 1 { *bits | moved } else { *bits & !moved };
                }
            }
        }
        let event = event.label().replace(' ', "_").to_lowercase();
        assert_always(
            &format!("{name}_{event}_listed"),
            (*to & !listed).none(),
            "every pair of state and event that occurs has a row in the table",
        );
    }
    after
}

/// Asserts that the states that a cycle leaves are those to which the rows lead.
pub fn follows(name: &str, state: Bits, expected: Bits) {
    let text = "the states that follow are those to which the rows lead";
    assert_always(&format!("{name}_next"), state.eq(expected), text);
}
