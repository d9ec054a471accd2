//! The scoreboard of data values (issue "Checks while running"; cu-and-consistency.md section 1.3, rec.md section 7).
//!
//! A load, or the old value of an atomic, must show for each word
//!
//! - the last value written before the kernel boundary, if nobody has written the word in this kernel;
//! - the last value that its own compute unit wrote before it in this kernel (a wave's own program order, and the order in which an L1 takes the accesses of all its
//!   waves, on which barriers rely), if it did;
//! - or any value that another compute unit writes in this kernel, since that is a race; then also the value before the kernel, unless its own unit has overwritten it.
//!
//! What a release has made visible narrows that: once a compute unit has acquired after the release of another one's write, both of scopes that include
//! each other, it finds that write or a later one (`values/sync.rs`).
//!
//! Bytes are told apart: a word is compared as a whole unless writes of the kernel covered different bytes of it. At a kernel boundary the old values of
//! all atomics on a word must form a chain, and a word whose last writer is not certain keeps all its possible values until a load shows which it is.
//!
//! A load may see an atomic whose own answer is still on its way. What cannot be explained while atomics on its line are open waits for their answers, so
//! atomics are announced ([`Values::amo_taken`]) when the L1 takes them.

mod amo;
mod boundary;
mod page;
mod report;
mod rule;
mod sync;

#[cfg(test)]
mod tests;

pub use amo::amo_result;
pub use report::Violation;

use crate::cu::{LineAccess, Who};
use amo::Step;
use page::{LIMB_MASKS, Map, PAGE, Page, Write, word_mask};
use report::{Read, Writer};
use rule::{Old, Writes};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use sync::{Span, Syncs};

/// Most violations kept; later ones are only counted.
const KEPT: usize = 16;

/// How much was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueCounts {
    /// Line accesses of loads.
    pub loads: u64,
    /// Line accesses of stores.
    pub stores: u64,
    /// Words of atomics.
    pub atomics: u64,
    /// Loaded words that were compared with more than one value.
    pub races: u64,
    /// Violations.
    pub violations: u64,
}

/// The scoreboard.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Values {
    line: u64,
    /// Shared with clones until written, so that snapshots are cheap.
    pages: Vec<Arc<Page>>,
    index: Map<u64, u32>,
    last: (u64, u32),
    /// Pages written in this kernel.
    dirty: Vec<u32>,
    /// Words of several possible values before this kernel, by word number: byte address / 4.
    open: Map<u64, Old>,
    writers: Vec<Writer>,
    writer_numbers: Map<Writer, u32>,
    /// Atomics taken and not answered, by line.
    flying: Map<u64, u32>,
    /// Unexplained reads that wait for these, by line.
    doubts: Map<u64, Vec<Read>>,
    /// By byte address and size.
    chains: Map<(u64, u32), Vec<Step>>,
    syncs: Syncs,
    /// Cycle of the last boundary.
    since: u64,
    counts: ValueCounts,
    violations: Vec<Violation>,
}

impl Values {
    /// A scoreboard over a memory of zeros; `line` is the line size in bytes, 64 or 128, `gpms` the number of nodes of a GPU.
    pub fn new(line: u32, gpms: u32) -> Values {
        Values {
            line: u64::from(line),
            pages: Vec::new(),
            index: Map::default(),
            last: (u64::MAX, 0),
            dirty: Vec::new(),
            open: Map::default(),
            writers: Vec::new(),
            writer_numbers: Map::default(),
            flying: Map::default(),
            doubts: Map::default(),
            chains: Map::default(),
            syncs: Syncs::new(gpms),
            since: 0,
            counts: ValueCounts::default(),
            violations: Vec::new(),
        }
    }

    /// What was checked so far.
    pub fn counts(&self) -> ValueCounts {
        self.counts
    }

    /// The first violations, at most 16.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    fn violated(&mut self, violation: Violation) {
        self.counts.violations += 1;
        if self.violations.len() < KEPT {
            self.violations.push(violation);
        }
    }

    fn page_of(&mut self, addr: u64) -> usize {
        let number = addr / PAGE;
        if self.last.0 != number {
            let next = self.pages.len() as u32;
            let at = *self.index.entry(number).or_insert(next);
            if at == next {
                self.pages.push(Arc::new(Page::new(number)));
            }
            self.last = (number, at);
        }
        self.last.1 as usize
    }

    fn page_mut(&mut self, page: usize) -> &mut Page {
        Arc::make_mut(&mut self.pages[page])
    }

    fn writer(&mut self, who: &Who) -> u32 {
        let writer = Writer::of(who);
        if self.writers.last() == Some(&writer) {
            return self.writers.len() as u32 - 1;
        }
        let next = self.writers.len() as u32;
        let number = *self.writer_numbers.entry(writer).or_insert(next);
        if number == next {
            self.writers.push(writer);
        }
        number
    }

    /// The host replaces memory at physical byte address `addr`; no kernel runs.
    pub fn host_write(&mut self, addr: u64, bytes: &[u8]) {
        for (i, byte) in bytes.iter().enumerate() {
            let at = addr + i as u64;
            let page = self.page_of(at);
            let (word, shift) = (((at % PAGE) / 4) as usize, 8 * (at % 4));
            if self.pages[page].special(word, 1) != 0
                && let Some(old) = self.open.remove(&(at / 4))
            {
                self.page_mut(page).set_special(word, false);
                // A word of which the host writes only a part keeps one of the possible values of the rest; the byte-wise form says so.
                let write = Write {
                    by: 0,
                    bytes: 1 << (at % 4),
                    amo: false,
                    value: u32::from(*byte) << shift,
                    at: 0,
                };
                self.keep(
                    page,
                    word,
                    Writes { list: &[write], uniform: true, cu_of: &|_| 0, syncs: &self.syncs }.last(&old),
                );
                continue;
            }
            let old = self.pages[page].old(word);
            self.page_mut(page).set_old(word, old & !(0xff << shift) | u32::from(*byte) << shift);
        }
    }

    /// The L1 of a compute unit has taken a load, which is now answered.
    pub fn load(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], issued: u64, done: u64) {
        self.counts.loads += 1;
        let addr = line * self.line;
        let page = self.page_of(addr);
        let first = ((addr % PAGE) / 8) as usize;
        let limbs = (self.line / 8) as usize;
        let of = &self.pages[page];
        let mut differ = 0;
        for (i, old) in of.old[first..first + limbs].iter().enumerate() {
            differ |= (old ^ data[i]) & LIMB_MASKS[usize::from((mask >> (8 * i)) as u8)];
        }
        let special = of.special(2 * first, 2 * limbs);
        if special == 0 && differ == 0 {
            return;
        }
        for word in 0..2 * limbs {
            let bytes = (mask >> (4 * word)) as u8 & 0xf;
            if bytes != 0 {
                let value = (data[word / 2] >> (32 * (word % 2))) as u32;
                let word = addr / 4 + word as u64;
                self.read(Read { who: Writer::of(who), word, bytes, value, issued, done, amo: false });
            }
        }
    }

    /// A word read by a load or atomic.
    fn read(&mut self, read: Read) {
        let page = self.page_of(4 * read.word);
        if self.explained(page, &read) {
            return;
        }
        let line = 4 * read.word / self.line;
        if self.flying.contains_key(&line) {
            self.doubts.entry(line).or_default().push(read);
        } else {
            self.unexplained(&read);
        }
    }

    fn old_of(&self, page: usize, word: u64) -> Old {
        let known = || Old::Known(self.pages[page].old((word % (PAGE / 4)) as usize));
        self.open.get(&word).cloned().unwrap_or_else(known)
    }

    fn explained(&mut self, page: usize, read: &Read) -> bool {
        let in_page = (read.word % (PAGE / 4)) as usize;
        let of = &self.pages[page];
        if of.special(in_page, 1) == 0 {
            return (of.old(in_page) ^ read.value) & word_mask(read.bytes) == 0;
        }
        self.counts.races += 1;
        let old = self.old_of(page, read.word);
        let allowed =
            self.with_writes(page, read.word, |w| w.allowed(&old, read.bytes, read.value, &read.look()));
        let unwritten =
            self.pages[page].once(in_page).is_none() && self.pages[page].history(in_page).is_none();
        // An atomic that has no answer yet may have put there what this one has found.
        let open = self.flying.get(&(4 * read.word / self.line)).is_some_and(|n| *n > u32::from(read.amo));
        if allowed && unwritten && !open && self.open.remove(&read.word).is_some() {
            self.keep(page, in_page, old.seen(read.bytes, read.value));
        }
        allowed
    }

    /// Calls `f` with the writes of this kernel to a word.
    fn with_writes<R>(&self, page: usize, word: u64, f: impl FnOnce(&Writes) -> R) -> R {
        let in_page = (word % (PAGE / 4)) as usize;
        let once = self.pages[page].once(in_page);
        let (cu_of, syncs) = (|by: u32| self.writers[by as usize].unit(), &self.syncs);
        let writes = match (&once, self.pages[page].history(in_page)) {
            (Some(write), _) => {
                Writes { list: std::slice::from_ref(write), uniform: true, cu_of: &cu_of, syncs }
            }
            (None, Some(h)) => Writes { list: &h.writes, uniform: h.uniform, cu_of: &cu_of, syncs },
            (None, None) => Writes { list: &[], uniform: true, cu_of: &cu_of, syncs },
        };
        f(&writes)
    }

    /// Sets the value before the next kernel.
    fn keep(&mut self, page: usize, in_page: usize, old: Old) {
        if let Old::Known(value) = old {
            self.page_mut(page).set_old(in_page, value);
            self.page_mut(page).set_special(in_page, false);
        } else {
            self.page_mut(page).set_special(in_page, true);
            self.open.insert(self.pages[page].number * (PAGE / 4) + in_page as u64, old);
        }
    }

    fn unexplained(&mut self, read: &Read) {
        let page = self.page_of(4 * read.word);
        let old = self.old_of(page, read.word);
        let (before, list) = self.with_writes(page, read.word, |w| w.candidates(read.bytes, &read.look()));
        let violation = report::unexplained(read, before.then_some((&old, self.since)), &list, &self.writers);
        self.violated(violation);
    }

    /// The L1 of a compute unit has taken a store.
    pub fn store(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], now: u64) {
        self.counts.stores += 1;
        let by = self.writer(who);
        let addr = line * self.line;
        for word in 0..(self.line / 4) as usize {
            let bytes = (mask >> (4 * word)) as u8 & 0xf;
            if bytes != 0 {
                let value = (data[word / 2] >> (32 * (word % 2))) as u32 & word_mask(bytes);
                self.write(addr / 4 + word as u64, Write { by, bytes, amo: false, value, at: now });
            }
        }
    }

    fn write(&mut self, word: u64, write: Write) {
        let page = self.page_of(4 * word);
        if self.pages[page].is_clean() {
            self.dirty.push(page as u32);
        }
        self.page_mut(page).write((word % (PAGE / 4)) as usize, write);
    }

    /// A release or acquire of a compute unit is complete: taken in the first cycle of `span`, completed in the second.
    pub fn synchronised(&mut self, gpu: u32, cu: u32, acquire: bool, scope: u8, span: (u64, u64)) {
        let (unit, span) = (report::unit(gpu, cu), Span { scope, start: span.0, end: span.1 });
        match (scope, acquire) {
            (0, _) => {}
            (_, true) => self.syncs.acquire(unit, span),
            (_, false) => self.syncs.release(unit, span),
        }
    }

    /// The L1 of a compute unit has taken an atomic on a line.
    pub fn amo_taken(&mut self, line: u64) {
        *self.flying.entry(line).or_default() += 1;
    }

    /// An atomic is answered with the old values at its bytes. A mask of one aligned 8-byte word is one word; any other one is a set of 4-byte words.
    pub fn amo(&mut self, who: &Who, access: &LineAccess, old: &[u64; 16], issued: u64, done: u64) {
        let first = access.mask.trailing_zeros();
        let wide = access.mask == 0xff << (first % 128) && first.is_multiple_of(8);
        let size = if wide { 8 } else { 4 };
        for offset in (0..self.line as u32).step_by(size as usize) {
            if access.mask >> offset & 1 == 1 {
                self.amo_word(who, access, offset, size, old, issued, done);
            }
        }
        let line = access.line;
        if let Some(count) = self.flying.get_mut(&line) {
            *count -= 1;
            if *count == 0 {
                self.flying.remove(&line);
            }
        }
        self.reconsider(line);
    }

    fn amo_word(
        &mut self,
        who: &Who,
        a: &LineAccess,
        offset: u32,
        size: u32,
        old: &[u64; 16],
        issued: u64,
        done: u64,
    ) {
        self.counts.atomics += 1;
        let (limb, shift) = ((offset / 8) as usize, 8 * (offset % 8));
        let (found, operand) = (old[limb] >> shift, a.data[limb] >> shift);
        let result = amo_result(a.amo, a.sgn, found, operand, a.cmp, size);
        let addr = a.line * self.line + u64::from(offset);
        let by = self.writer(who);
        for half in 0..u64::from(size / 4) {
            let value = (found >> (32 * half)) as u32;
            let word = addr / 4 + half;
            // Its own result, of the cycle in which it was taken, must not count as written before it.
            self.read(Read {
                who: Writer::of(who),
                word,
                bytes: 0xf,
                value,
                issued: issued.saturating_sub(1),
                done,
                amo: true,
            });
            let value = (result >> (32 * half)) as u32;
            self.write(word, Write { by, bytes: 0xf, amo: true, value, at: issued });
        }
        let keep = if size == 8 { u64::MAX } else { 0xffff_ffff };
        self.chains.entry((addr, size)).or_default().push((found & keep, result));
    }

    /// Looks again at what could not be explained, with one more atomic known; without open atomics on the line what is left is wrong.
    fn reconsider(&mut self, line: u64) {
        let Some(doubts) = self.doubts.remove(&line) else { return };
        let mut left = Vec::new();
        for read in doubts {
            let page = self.page_of(4 * read.word);
            if !self.explained(page, &read) {
                left.push(read);
            }
        }
        if self.flying.contains_key(&line) {
            if !left.is_empty() {
                self.doubts.insert(line, left);
            }
        } else {
            left.iter().for_each(|read| self.unexplained(read));
        }
    }
}
