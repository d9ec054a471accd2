//! Rows, races and counters of a switch (mgcc.md section 13).

use super::link::Carried;
use super::table::{LinkEvent, LinkSpec, LinkState, table};
use crate::bytes::BYTES_BITS;
use crate::msg::TsmOp;
use weft_rtl::prelude::*;

/// A hop of all GPUs, as the observers see it; one entry per GPU.
pub(crate) struct Seen {
    pub link: LinkSpec,
    pub carried: Carried,
    /// A message may begin.
    pub wants: Vec<Bool>,
    /// A message is there and may not begin: without a credit, or without room behind the link.
    pub blocked: Vec<Bool>,
    pub sizes: Vec<Bits>,
}

impl Seen {
    /// What happens to the message of GPU `g`, with the state it is in.
    fn events(&self, g: usize) -> [(LinkState, LinkEvent, Bool); 7] {
        use LinkEvent::*;
        use LinkState::*;
        let Carried { flying, begins, done } = &self.carried;
        let (flying, begins, done) = (flying[g], begins[g], done[g]);
        let blocked = self.blocked[g] & !flying;
        let none = bool_lit(false);
        let first = self.link.first;
        [
            (Free, Whole, begins & done),
            (Free, Begin, begins & !done),
            (Flying, Carry, flying & !done),
            (Flying, End, flying & done),
            (Free, NoCredit, if first { blocked } else { none }),
            (Free, Held, if first { none } else { blocked }),
            (Free, Crowded, self.wants[g] & !flying & !begins),
        ]
    }

    fn sum(&self, which: impl Fn(usize) -> Bool) -> Bits {
        let width = BYTES_BITS + bits_for(self.sizes.len() as u64 + 1);
        let part = |g: usize| mux(which(g), self.sizes[g].zext(width), lit(0, width));
        (1..self.sizes.len()).fold(part(0), |sum, g| sum + part(g))
    }
}

/// Declares all observers; `sent`: operations of the requests on the bank links, `given`: of the responses.
pub(super) fn observe(links: &[Seen; 4], sent: &[Enum<TsmOp>], given: &[Enum<TsmOp>]) {
    rows(&table(), links);
    races(links);
    links.iter().for_each(traffic);
    let classes: &[(&str, TsmOp)] =
        &[("read", TsmOp::Rd), ("write", TsmOp::Wr), ("atomic", TsmOp::Amo), ("evict", TsmOp::Evict)];
    by_class("req", &links[0], sent, classes, "over the bank links");
    by_class("rsp", &links[3], given, &classes[..3], "over the bank links");
}

/// Bytes and waits of the links of a hop.
pub(crate) fn traffic(seen: &Seen) {
    let name = seen.link.word;
    let bytes = seen.sum(|g| seen.carried.begins[g]);
    let any = any_of(&seen.carried.begins);
    count_amount(&format!("{name}_bytes"), any, bytes, "bytes that began on these links");
    let waiting: Vec<Bool> = (0..seen.wants.len()).map(|g| seen.wants[g] & !seen.carried.begins[g]).collect();
    let crowded = pack_bools(&waiting);
    let text = "messages, summed over cycles, that wait while these links carry others";
    count_amount(&format!("{name}_waits"), crowded.any(), crowded.popcount(), text);
    let blocked = pack_bools(&seen.blocked);
    let text = "messages, summed over cycles, that wait for a credit or for the receiver";
    count_amount(&format!("{name}_blocked"), blocked.any(), blocked.popcount(), text);
}

/// Covers the rows of a switch's table; its links are those seen.
pub(crate) fn rows(table: &Table, links: &[Seen]) {
    for (code, seen) in (0..).zip(links) {
        let gpus = 0..seen.wants.len();
        let fired: Vec<_> = gpus.map(|g| seen.events(g)).collect();
        for e in 0..fired[0].len() {
            let (state, event, _) = fired[0][e];
            let now = any_of(&fired.iter().map(|of| of[e].2).collect::<Vec<_>>());
            let when = [vec![code], vec![state.encoding()], vec![event.encoding()]];
            match table.rows.iter().find(|row| row.when == when) {
                Some(row) => cover(&row.id, now, &row.text),
                None => assert_always(
                    &format!(
                        "{}_{}_{}_listed",
                        table.name,
                        seen.link.word,
                        format!("{event:?}").to_lowercase()
                    ),
                    !now,
                    "every event that occurs at a link has a row in the table",
                ),
            }
        }
    }
}

fn races(links: &[Seen; 4]) {
    for seen in links.iter().filter(|seen| seen.link.shared && seen.wants.len() > 1) {
        let (carried, name) = (&seen.carried, seen.link.word);
        let begins = pack_bools(&carried.begins);
        cover(
            &format!("mgcc.race.switch_{name}_two_begin"),
            begins.popcount().gt(1),
            "messages of two GPUs begin in one cycle",
        );
        let ends: Vec<Bool> = carried.flying.iter().zip(&carried.done).map(|(f, d)| *f & *d).collect();
        cover(
            &format!("mgcc.race.switch_{name}_end_and_begin"),
            any_of(&ends) & begins.any(),
            "a message begins in the cycle in which another one ends",
        );
    }
}

/// Messages, and bytes by class, that have passed the links of a hop; `place` says which.
pub(crate) fn by_class(
    direction: &str,
    seen: &Seen,
    ops: &[Enum<TsmOp>],
    classes: &[(&str, TsmOp)],
    place: &str,
) {
    for (name, op) in classes {
        let of = |g: usize| seen.carried.done[g] & ops[g].is(*op);
        let any = any_of(&(0..ops.len()).map(of).collect::<Vec<_>>());
        let text = format!("bytes of messages of this class {place}");
        count_amount(&format!("{direction}_bytes_{name}"), any, seen.sum(of), &text);
    }
    let done = pack_bools(&seen.carried.done);
    count_amount(&format!("{direction}_msgs"), done.any(), done.popcount(), &format!("messages {place}"));
}
