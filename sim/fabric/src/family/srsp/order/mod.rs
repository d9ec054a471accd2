//! The check of happens-before: heterogeneous-race-freedom with remote promotion (srsp.md section 7, "Guarantees").
//!
//! All accesses of an L1 count as one thread, in the order in which it takes them: more than the memory model promises to waves, and what the hardware gives. A release publishes what
//! its L1 knew when it was taken; an acquire that finds what a release has left, or a read-modify-write behind it, learns that, if the scopes allow: both in one L1, both at GPU
//! scope or wider, one of them remote, or any two in hardware without scopes ([`Heeds`]). A kernel's end and the next one's beginning order everything.
//!
//! - A plain load gets a byte that no known write has overwritten.
//! - A synchronising access finds a value that an access of the variable can have left last, of those that reach it.
//! - At a kernel's end, when all is at rest, memory with what the L2 holds newer has in each byte what some last write has left.
//!
//! Races are not reported: between unordered accesses every order is right. Relaxed loads may be old and are not judged.

mod clock;
mod page;
mod staged;
mod variable;
mod word;

#[cfg(test)]
mod tests;

use crate::check::CheckError;
use crate::check::values::amo_result;
use crate::cu::{CuObserver, Issuer, LineAccess, LineReply};
use crate::family::held::Held;
use crate::family::{FamilyCheck, Surroundings};
use clock::Clock;
use page::{PAGE, Page};
use serde::{Deserialize, Serialize};
use staged::Staged;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use variable::{Answered, Leaves, Party, Reach, Taken, Variable};
use weft_blocks::msg::{AmoOp, CuOp};
use weft_engine::Sim;
use word::{Seen, Word};

/// Its name in sentences.
const NAME: &str = "happens-before";
/// Bytes of a line.
const LINE: u64 = 64;

/// An access that its L1 has taken and not answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    access: LineAccess,
    /// Bytes still to come.
    left: u128,
    clock: Clock,
    /// Variables of a synchronising access, each with the number it has there.
    numbers: Vec<(Place, u64)>,
}

/// Byte address and bytes of a variable.
type Place = (u64, u8);

/// How much was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counts {
    loads: u64,
    stores: u64,
    synchronising: u64,
    learned: u64,
    unjudged: u64,
    kernels: u64,
    lines: u64,
}

/// What changes, as it is saved.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    /// Shared with clones until written, so that snapshots are cheap.
    pages: BTreeMap<u64, Arc<Page>>,
    /// Pages with words written in this kernel.
    written: BTreeSet<u64>,
    clocks: Vec<Clock>,
    /// Where releases and acquires are messages of their own.
    staged: Option<Staged>,
    /// By L1 and transaction number.
    open: BTreeMap<(u32, u16), Open>,
    /// By byte address.
    variables: BTreeMap<u64, Variable>,
    number: u64,
    counts: Counts,
    /// The first violation.
    wrong: Option<String>,
}

/// What of an access's order the hardware heeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heeds {
    /// Scopes, remote operations and semantics.
    Scopes,
    /// Semantics: what orders, orders everything.
    Semantics,
    /// Nothing: every atomic orders everything.
    Nothing,
}

/// The check.
#[derive(Clone)]
pub struct Order {
    heeds: Heeds,
    /// L1s of a node.
    each: u32,
    /// Each word of 4 bytes of a synchronising access is a variable; otherwise the access has one, of 4 or 8 bytes.
    words: bool,
    s: State,
}

impl Order {
    /// The check of a GPU with so many L1s.
    pub fn new(cus: u32, heeds: Heeds) -> Order {
        let clocks = vec![Clock::new(cus as usize); cus as usize];
        Order { heeds, each: cus, words: false, s: State { clocks, ..State::default() } }
    }

    /// The same where a synchronising access may be of several words of 4 bytes, each by itself.
    pub fn of_words(self) -> Order {
        Order { words: true, ..self }
    }

    /// The same where compute units send releases and acquires as messages of their own, to the L1 and to the stash; the last of the L1s, so many, are stashes.
    pub fn of_stashes(self, stashes: u32) -> Order {
        let staged = Some(Staged::new(self.s.clocks.len(), stashes));
        Order { s: State { staged, ..self.s }, ..self }
    }

    /// The same of so many nodes, each with an equal share of the L1s.
    pub fn of_nodes(self, nodes: u32) -> Order {
        Order { each: self.each / nodes, ..self }
    }

    /// The first violation, as a sentence.
    pub fn wrong(&self) -> Option<&str> {
        self.s.wrong.as_deref()
    }

    fn fail(&mut self, text: impl FnOnce() -> String) {
        if self.s.wrong.is_none() {
            self.s.wrong = Some(text());
        }
    }

    fn page(&mut self, number: u64) -> &mut Page {
        Arc::make_mut(self.s.pages.entry(number).or_insert_with(|| Arc::new(Page::new())))
    }

    fn party(&self, unit: u32, access: &LineAccess) -> Party {
        let reach = match (self.heeds == Heeds::Scopes, access.remote, access.scope) {
            (false, ..) | (_, true, _) => Reach::All,
            (_, _, 0) => Reach::Own,
            _ => Reach::Wide,
        };
        Party { unit, reach }
    }

    fn acquires(&self, access: &LineAccess) -> bool {
        self.heeds == Heeds::Nothing || access.sem & 1 == 1 || self.s.staged.is_some()
    }

    /// It orders something, or changes its word at once.
    fn synchronises(&self, access: &LineAccess) -> bool {
        match access.op {
            CuOp::Amo => true,
            CuOp::St => access.sync || access.class != 0,
            CuOp::Ld => {
                (access.sync || access.class != 0) && (self.heeds == Heeds::Nothing || access.sem != 0)
            }
            _ => false,
        }
    }

    /// The L1 takes a plain store.
    fn store(&mut self, unit: u32, access: &LineAccess) {
        self.s.counts.stores += 1;
        let clock = &mut self.s.clocks[unit as usize];
        let number = clock.tick(unit);
        let clock = clock.clone();
        let words = access.line % PAGE * LINE / 4;
        self.s.written.insert(access.line / PAGE);
        for word in (0..LINE / 4).filter(|word| access.mask >> (4 * word) & 0xf != 0) {
            let value = (access.data[(word / 2) as usize] >> (32 * (word % 2))) as u32;
            let mask = (access.mask >> (4 * word) & 0xf) as u8;
            let page = self.page(access.line / PAGE);
            page.words.entry((words + word) as u16).or_default().write(unit, number, &clock, mask, value);
            let addr = access.line * LINE + 4 * word;
            for at in [addr, addr & !7] {
                self.s.variables.get_mut(&at).into_iter().for_each(Variable::spoil);
            }
        }
    }

    /// The variables of a synchronising access.
    fn places(&self, access: &LineAccess) -> Vec<Place> {
        if !self.words {
            return vec![place(access)];
        }
        let words = (0..LINE / 4).filter(|word| access.mask >> (4 * word) & 0xf != 0);
        words.map(|word| (access.line * LINE + 4 * word, 4)).collect()
    }

    /// The L1 takes a synchronising access of a variable; its number.
    fn synchronise(&mut self, now: u64, unit: u32, access: &LineAccess, (addr, bytes): Place) -> u64 {
        self.s.counts.synchronising += 1;
        self.s.number += 1;
        let number = self.s.number;
        let by = self.party(unit, access);
        let publishes = self.heeds == Heeds::Nothing || access.sem & 2 == 2 || self.s.staged.is_some();
        let knows = || match &self.s.staged {
            Some(staged) => staged.published(unit),
            None => self.s.clocks[unit as usize].clone(),
        };
        let publishes = (publishes && access.op != CuOp::Ld).then(knows);
        let page = self.page(addr / (PAGE * LINE));
        let limb = page.base[(addr % (PAGE * LINE) / 8) as usize];
        let known = page.words.contains_key(&((addr % (PAGE * LINE) / 4) as u16));
        let fresh = || {
            let mut variable = Variable::new(bytes, word_of(limb, addr, bytes));
            if known {
                variable.spoil();
            }
            variable
        };
        let operand = word_of(access.data[(addr % LINE / 8) as usize], addr, bytes);
        let leaves = match (access.op, access.amo) {
            (CuOp::Ld, _) => Leaves::Nothing,
            (CuOp::St, _) | (_, AmoOp::Exch | AmoOp::Cas) => Leaves::Value(operand),
            _ => Leaves::Unknown,
        };
        let variable = self.s.variables.entry(addr).or_insert_with(fresh);
        if variable.bytes != bytes {
            variable.spoil();
        }
        variable.take(Taken { number, by, now, leaves, publishes });
        number
    }

    /// A synchronising access of a variable is answered.
    fn synchronised(
        &mut self,
        now: u64,
        unit: u32,
        access: &LineAccess,
        ((addr, bytes), number): (Place, u64),
        reply: &LineReply,
    ) {
        let limb = (addr % LINE / 8) as usize;
        let found = (access.op != CuOp::St).then(|| word_of(reply.data[limb], addr, bytes));
        let operand = word_of(access.data[limb], addr, bytes);
        let left = match (access.op, found) {
            (CuOp::St, _) => Some(operand),
            (CuOp::Amo, Some(old)) => {
                let misses = access.amo == AmoOp::Cas && old != masked(access.cmp, bytes);
                let size = u32::from(bytes);
                let new = amo_result(access.amo, access.sgn, old, operand, access.cmp, size);
                (!misses).then_some(new)
            }
            _ => None,
        };
        let acquires = self.acquires(access);
        let Some(variable) = self.s.variables.get_mut(&addr) else { return };
        match variable.answer(Answered { number, now, found, left }, acquires) {
            Ok(Some(learned)) => {
                self.s.counts.learned += 1;
                match &mut self.s.staged {
                    Some(staged) => staged.find(unit, &learned),
                    None => self.s.clocks[unit as usize].join(&learned),
                }
            }
            Ok(None) => {}
            Err(_) => self.fail(|| {
                format!(
                    "cu {unit} finds {:#x} in the variable at {addr:#x} in cycle {now}, which no access that reaches it can have left there",
                    found.unwrap_or(0)
                )
            }),
        }
    }

    /// Bytes of a plain load are answered.
    fn loaded(&mut self, now: u64, unit: u32, open: &Open, reply: &LineReply) {
        self.s.counts.loads += 1;
        let line = open.access.line;
        let empty = Word::default();
        let none = Page::new();
        let page = self.s.pages.get(&(line / PAGE)).map_or(&none, |page| page);
        let mut wrong = None;
        let mut unjudged = 0;
        let mask = open.access.mask & reply.mask;
        for byte in (0..LINE).filter(|byte| mask >> byte & 1 == 1) {
            let at = line % PAGE * LINE + byte;
            let addr = line * LINE + byte;
            let found = reply.data[(byte / 8) as usize].to_le_bytes()[(byte % 8) as usize];
            let word = page.words.get(&((at / 4) as u16)).unwrap_or(&empty);
            let synchronises = [addr & !3, addr & !7].iter().any(|at| self.s.variables.contains_key(at));
            match word.read((at % 4) as u32, &open.clock, page.byte(at), found) {
                _ if synchronises => {}
                Seen::Right => {}
                Seen::Unknown => unjudged += 1,
                Seen::Wrong => {
                    let expected = word.expected((at % 4) as u32, &open.clock, page.byte(at));
                    wrong.get_or_insert((addr, found, expected));
                }
            }
        }
        self.s.counts.unjudged += unjudged;
        if let Some((addr, found, (value, by))) = wrong {
            let by = by.map_or("before the kernel".into(), |by| format!("by cu {by}"));
            self.fail(|| {
                format!("cu {unit} reads {found:#04x} in byte {addr:#x} in cycle {now}, which is overwritten for it: {value:#04x} was written {by}")
            });
        }
    }

    /// All is at rest: memory becomes what the next kernel finds.
    fn rest(&mut self, held: &Held) {
        let units = self.s.clocks.len();
        let mut all = Clock::new(units);
        self.s.clocks.iter().for_each(|clock| all.join(clock));
        let shared = self.rest_variables(held);
        for number in std::mem::take(&mut self.s.written) {
            self.rest_page(number, &all, &shared, held);
        }
        for line in shared.iter().map(|addr| addr / LINE).collect::<BTreeSet<u64>>() {
            let bytes = held.line(line);
            let page = self.page(line / PAGE);
            let first = (line % PAGE * LINE / 8) as usize;
            for (limb, eight) in page.base[first..].iter_mut().zip(bytes.chunks_exact(8)) {
                *limb = eight.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            }
        }
        self.s.clocks = vec![Clock::new(units); units];
        self.s.staged.iter_mut().for_each(Staged::restart);
        self.s.counts.kernels += 1;
    }

    /// Compares the variables with memory and forgets them; addresses of their words of 4 bytes.
    fn rest_variables(&mut self, held: &Held) -> BTreeSet<u64> {
        let mut shared = BTreeSet::new();
        for (addr, variable) in std::mem::take(&mut self.s.variables) {
            shared.extend((0..u64::from(variable.bytes) / 4).map(|i| addr + 4 * i));
            let value = word_in(&held.line(addr / LINE), addr % LINE, variable.bytes);
            if !variable.may_hold(value) {
                self.fail(|| {
                    format!("memory holds {value:#x} in the variable at {addr:#x} at a kernel's end, which no last access has left")
                });
            }
        }
        shared
    }

    /// Compares the words of a page that were written with memory, and takes them over.
    fn rest_page(&mut self, number: u64, all: &Clock, shared: &BTreeSet<u64>, held: &Held) {
        let page = self.page(number);
        let words = std::mem::take(&mut page.words);
        let mut wrong = None;
        let mut line = (u64::MAX, [0; 64]);
        let mut compared = 0;
        for (word, log) in words {
            let at = u64::from(word) * 4;
            let addr = number * PAGE * LINE + at;
            if line.0 != addr / LINE {
                line = (addr / LINE, held.line(addr / LINE));
                compared += 1;
            }
            for byte in 0..4u64 {
                let found = line.1[((addr + byte) % LINE) as usize];
                let base = page.byte(at + byte);
                let bad = log.read(byte as u32, all, base, found) == Seen::Wrong;
                if bad && !shared.contains(&addr) {
                    let (value, _) = log.expected(byte as u32, all, base);
                    wrong.get_or_insert((addr + byte, found, value));
                }
            }
            let limb = &mut page.base[(at / 8) as usize];
            let shift = 8 * (at % 8);
            *limb = *limb & !(0xffff_ffff << shift) | word_in(&line.1, addr % LINE, 4) << shift;
        }
        self.s.counts.lines += compared;
        if let Some((addr, found, value)) = wrong {
            self.fail(|| {
                format!("memory holds {found:#04x} in byte {addr:#x} at a kernel's end, where the last write has left {value:#04x}")
            });
        }
    }

    fn result(&self) -> Result<(), CheckError> {
        match &self.s.wrong {
            Some(text) => Err(CheckError::Family { check: NAME, text: text.clone(), late: false }),
            None => Ok(()),
        }
    }
}

/// Byte address and bytes of a synchronising access.
fn place(access: &LineAccess) -> (u64, u8) {
    let first = access.mask.trailing_zeros().min(63);
    let bytes = if access.mask >> first & 0xff == 0xff && first.is_multiple_of(8) { 8 } else { 4 };
    (access.line * LINE + u64::from(first), bytes)
}

fn masked(value: u64, bytes: u8) -> u64 {
    if bytes == 8 { value } else { value & 0xffff_ffff }
}

/// The word at a byte address, in its limb.
fn word_of(limb: u64, addr: u64, bytes: u8) -> u64 {
    masked(limb >> (8 * (addr % 8)), bytes)
}

fn word_in(line: &[u8; 64], at: u64, bytes: u8) -> u64 {
    let range = at as usize..at as usize + usize::from(bytes);
    line[range].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

impl CuObserver for Order {}

impl FamilyCheck for Order {
    fn request(&mut self, now: u64, node: u32, cu: u32, access: &LineAccess, _: Option<&Issuer>) {
        let cu = node * self.each + cu;
        if let Some(staged) = &mut self.s.staged {
            let knows = &mut self.s.clocks[cu as usize];
            let learned = staged.take(cu, access.op, access.id, knows);
            learned.iter().for_each(|learned| knows.join(learned));
        }
        let places = if self.synchronises(access) { self.places(access) } else { vec![] };
        let number = |place: Place| (place, self.synchronise(now, cu, access, place));
        let numbers: Vec<(Place, u64)> = places.into_iter().map(number).collect();
        if numbers.is_empty() && access.op == CuOp::St {
            self.store(cu, access);
        }
        let waits = !numbers.is_empty() || access.op == CuOp::Ld;
        if waits && access.mask != 0 {
            let clock = self.s.clocks[cu as usize].clone();
            let open = Open { access: access.clone(), left: access.mask, clock, numbers };
            self.s.open.insert((cu, access.id), open);
        }
    }

    fn answer(&mut self, now: u64, node: u32, cu: u32, reply: &LineReply, _: Option<u64>) {
        let cu = node * self.each + cu;
        self.s.staged.iter_mut().for_each(|staged| staged.answer(cu, reply.id));
        let Some(mut open) = self.s.open.remove(&(cu, reply.id)) else { return };
        if open.numbers.is_empty() {
            if open.access.class == 0 {
                self.loaded(now, cu, &open, reply);
            }
            open.left &= !reply.mask;
        } else {
            // Words of one access may be answered one after the other.
            let is_here = |(addr, _): Place| reply.mask >> (addr % LINE) & 1 == 1;
            let whole = open.numbers.len() == 1 || reply.mask == 0;
            let here = open.numbers.extract_if(.., |(place, _)| whole || is_here(*place));
            let here: Vec<(Place, u64)> = here.collect();
            here.iter().for_each(|of| self.synchronised(now, cu, &open.access, *of, reply));
            open.left = if open.numbers.is_empty() { 0 } else { open.left & !reply.mask };
        }
        if open.left != 0 {
            self.s.open.insert((cu, reply.id), open);
        }
    }

    fn host_write(&mut self, addr: u64, bytes: &[u8]) {
        for (at, byte) in (addr..).zip(bytes) {
            let page = self.page(at / LINE / PAGE);
            let limb = &mut page.base[(at % (PAGE * LINE) / 8) as usize];
            let shift = 8 * (at % 8);
            *limb = *limb & !(0xff << shift) | u64::from(*byte) << shift;
        }
    }

    fn judge(&mut self) -> Result<(), CheckError> {
        self.result()
    }

    fn boundary(&mut self, sim: &Sim, around: &dyn Surroundings) -> Result<(), CheckError> {
        self.rest(&Held::new(sim, around));
        self.result()
    }

    fn end(&mut self, sim: &Sim, around: &dyn Surroundings) -> Result<(), CheckError> {
        self.rest(&Held::new(sim, around));
        self.result()
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let counts = &self.s.counts;
        vec![
            ("loads", counts.loads),
            ("stores", counts.stores),
            ("synchronising", counts.synchronising),
            ("learned", counts.learned),
            ("unjudged", counts.unjudged),
            ("kernels", counts.kernels),
            ("lines", counts.lines),
        ]
    }

    fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.s).expect("plain data is always encoded")
    }

    fn resume(&mut self, bytes: &[u8]) -> bool {
        let Ok(state) = postcard::from_bytes::<State>(bytes) else { return false };
        let same = state.clocks.len() == self.s.clocks.len();
        if same {
            self.s = state;
        }
        same
    }

    fn boxed(&self) -> Box<dyn FamilyCheck> {
        Box::new(self.clone())
    }
}
