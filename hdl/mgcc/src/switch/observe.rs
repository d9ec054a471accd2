//! Rows, races and counters of a switch (mgcc.md section 13).

use super::link::Carried;
use super::table::{LinkEvent, LinkSpec, LinkTable, TsmLink, machine, table};
use crate::bytes::BYTES_BITS;
use crate::msg::TsmOp;
use weft_rtl::prelude::*;
use weft_rtl::transitions::{Happens, follows, rows_of_entries};

/// A hop of all GPUs, as the observers see it; one entry per GPU.
pub(crate) struct Seen<L> {
    pub link: LinkSpec<L>,
    pub carried: Carried,
    /// A message may begin.
    pub wants: Vec<Bool>,
    /// A message is there and may not begin: without a credit, or without room behind the link.
    pub blocked: Vec<Bool>,
    pub sizes: Vec<Bits>,
}

impl<L: HwEnum> Seen<L> {
    /// What happens to the GPUs' messages.
    fn events(&self) -> [Happens<LinkEvent>; 7] {
        use LinkEvent::*;
        let Carried { flying, begins, done, .. } = &self.carried;
        let [flying, begins, done] = [flying, begins, done].map(|of| pack_bools(of));
        let blocked = pack_bools(&self.blocked) & !flying;
        let none = lit_bv(Bv::zero(flying.width()));
        let first = self.link.first;
        [
            Happens::new(Whole, begins & done),
            Happens::new(Begin, begins & !done),
            Happens::new(Carry, flying & !done),
            Happens::new(End, flying & done),
            Happens::new(NoCredit, if first { blocked } else { none }),
            Happens::new(Held, if first { none } else { blocked }),
            Happens::new(Crowded, pack_bools(&self.wants) & !flying & !begins),
        ]
    }

    fn sum(&self, which: impl Fn(usize) -> Bool) -> Bits {
        let width = BYTES_BITS + bits_for(self.sizes.len() as u64 + 1);
        let part = |g: usize| mux(which(g), self.sizes[g].zext(width), lit(0, width));
        (1..self.sizes.len()).fold(part(0), |sum, g| sum + part(g))
    }
}

/// Declares all observers; `sent`: operations of the requests on the bank links, `given`: of the responses.
pub(super) fn observe(links: &[Seen<TsmLink>; 4], sent: &[Enum<TsmOp>], given: &[Enum<TsmOp>]) {
    rows(&table(), links);
    machine().check(&[]);
    races(links);
    links.iter().for_each(traffic);
    let classes: &[(&str, TsmOp)] =
        &[("read", TsmOp::Rd), ("write", TsmOp::Wr), ("atomic", TsmOp::Amo), ("evict", TsmOp::Evict)];
    by_class("req", &links[0], sent, classes, "over the bank links");
    by_class("rsp", &links[3], given, &classes[..3], "over the bank links");
}

/// Bytes and waits of the links of a hop.
pub(crate) fn traffic<L: HwEnum>(seen: &Seen<L>) {
    let name = seen.link.word();
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

/// Counts the rows of a switch's table that messages take; its links are those seen.
pub(crate) fn rows<L: HwEnum>(table: &LinkTable<L>, links: &[Seen<L>]) {
    table.check();
    for seen in links {
        let code = seen.link.link.encoding();
        let rows: Vec<_> = table.rows().iter().filter(|row| row.when[0].contains(&code)).collect();
        let name = format!("{}_{}", table.name(), seen.link.word());
        let flying = pack_bools(&seen.carried.flying);
        let after = rows_of_entries(&name, &rows, &[flying], &seen.events());
        follows(&name, pack_bools(&seen.carried.stays), after[0]);
    }
}

fn races(links: &[Seen<TsmLink>; 4]) {
    for seen in links.iter().filter(|seen| seen.link.shared && seen.wants.len() > 1) {
        let (carried, name) = (&seen.carried, seen.link.word());
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
pub(crate) fn by_class<L: HwEnum>(
    direction: &str,
    seen: &Seen<L>,
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
