//! Which values a word may have: the rule, apart from where writes are kept.

use super::page::{Write, word_mask};
use super::sync::Syncs;
use serde::{Deserialize, Serialize};

/// Value of a word before the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Old {
    /// Known.
    Known(u32),
    /// Several waves wrote the word without order: one of these.
    Words(Vec<u32>),
    /// The same, byte by byte, because the writes covered different bytes.
    Bytes([Vec<u8>; 4]),
}

impl Old {
    /// The bytes `part` of `value` are possible.
    pub fn allows(&self, part: u8, value: u32) -> bool {
        let mask = word_mask(part);
        match self {
            Old::Known(old) => (old ^ value) & mask == 0,
            Old::Words(words) => words.iter().any(|w| (w ^ value) & mask == 0),
            Old::Bytes(bytes) => {
                (0..4).filter(|b| part >> b & 1 == 1).all(|b| bytes[b].contains(&((value >> (8 * b)) as u8)))
            }
        }
    }

    /// What is left after a load has seen the bytes `part` of `value`, which are possible.
    pub fn seen(&self, part: u8, value: u32) -> Old {
        let mask = word_mask(part);
        match self {
            Old::Known(old) => Old::Known(*old),
            Old::Words(words) => {
                Old::of_words(words.iter().copied().filter(|w| (w ^ value) & mask == 0).collect())
            }
            Old::Bytes(bytes) => {
                let keep = |b: usize| {
                    let byte = (value >> (8 * b)) as u8;
                    if part >> b & 1 == 1 { vec![byte] } else { bytes[b].clone() }
                };
                Old::of_bytes([keep(0), keep(1), keep(2), keep(3)])
            }
        }
    }

    /// One of these words.
    pub fn of_words(mut words: Vec<u32>) -> Old {
        words.sort_unstable();
        words.dedup();
        if words.len() == 1 { Old::Known(words[0]) } else { Old::Words(words) }
    }

    fn of_bytes(mut bytes: [Vec<u8>; 4]) -> Old {
        for byte in &mut bytes {
            byte.sort_unstable();
            byte.dedup();
        }
        if bytes.iter().all(|b| b.len() == 1) {
            return Old::Known(u32::from_le_bytes([bytes[0][0], bytes[1][0], bytes[2][0], bytes[3][0]]));
        }
        Old::Bytes(bytes)
    }

    fn byte(&self, b: usize) -> Vec<u8> {
        match self {
            Old::Known(word) => vec![(word >> (8 * b)) as u8],
            Old::Words(words) => words.iter().map(|w| (w >> (8 * b)) as u8).collect(),
            Old::Bytes(bytes) => bytes[b].clone(),
        }
    }

    /// Every possible word with the bytes of a write put in.
    fn with(&self, write: &Write) -> Old {
        let mask = word_mask(write.bytes);
        let put = |word: &u32| word & !mask | write.value & mask;
        match self {
            Old::Known(word) => Old::Known(put(word)),
            Old::Words(words) => Old::of_words(words.iter().map(put).collect()),
            Old::Bytes(_) => {
                let byte = |b: usize| {
                    if write.bytes >> b & 1 == 1 {
                        vec![(write.value >> (8 * b)) as u8]
                    } else {
                        self.byte(b)
                    }
                };
                Old::of_bytes([byte(0), byte(1), byte(2), byte(3)])
            }
        }
    }
}

/// Who looks at a word, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Look {
    /// Compute unit: its L1 takes the accesses of all its waves in order.
    pub cu: u32,
    /// Cycle in which the L1 took the access.
    pub issued: u64,
    /// Cycle of the answer.
    pub done: u64,
}

/// Writes that are asked whether they make an older one invisible.
const ASKED: usize = 64;

/// The writes to a word in a kernel, in the order in which they became known.
pub(super) struct Writes<'a> {
    /// The writes.
    pub list: &'a [Write],
    /// All cover the same bytes.
    pub uniform: bool,
    /// Compute unit of each writer.
    pub cu_of: &'a dyn Fn(u32) -> u32,
    /// What releases have made visible.
    pub syncs: &'a Syncs,
}

impl Writes<'_> {
    /// The last write of the looker's compute unit before the look that covers some byte of `part`.
    fn own_last(&self, part: u8, look: &Look) -> Option<(u64, usize)> {
        let own = |w: &Write| w.bytes & part != 0 && w.at <= look.issued && (self.cu_of)(w.by) == look.cu;
        let places = self.list.iter().enumerate().filter(|(_, w)| own(w));
        places.map(|(i, w)| (w.at, i)).max()
    }

    /// The look must find this write or a later one.
    fn seen(&self, part: u8, write: &Write, look: &Look) -> bool {
        write.bytes & part == part && self.syncs.seen((self.cu_of)(write.by), write, look.cu, look.issued)
    }

    /// A write is older than another one that the look must find. Only the writes that became known last are asked.
    fn passed(&self, part: u8, write: &Write, look: &Look) -> bool {
        let unit = (self.cu_of)(write.by);
        let newer = |w: &&Write| w.at > write.at && self.seen(part, w, look);
        let last = &self.list[self.list.len().saturating_sub(ASKED)..];
        last.iter().filter(newer).any(|w| self.syncs.before((unit, write), ((self.cu_of)(w.by), w)))
    }

    /// Bytes `part`, which every write covers whole or not at all, may have this value.
    fn part_allowed(&self, old: &Old, part: u8, value: u32, look: &Look) -> bool {
        let mask = word_mask(part);
        let mut own_last = None;
        let mut own = || *own_last.get_or_insert_with(|| self.own_last(part, look));
        for (i, w) in self.list.iter().enumerate().rev() {
            if w.bytes & part != part || (w.value ^ value) & mask != 0 || w.at > look.done {
                continue;
            }
            let unordered = (self.cu_of)(w.by) != look.cu || w.at > look.issued;
            if (unordered || own() == Some((w.at, i))) && !self.passed(part, w, look) {
                return true;
            }
        }
        old.allows(part, value) && own().is_none() && !self.list.iter().any(|w| self.seen(part, w, look))
    }

    /// Bytes `bytes` of `value` may be seen by the look.
    pub fn allowed(&self, old: &Old, bytes: u8, value: u32, look: &Look) -> bool {
        if !self.uniform {
            return (0..4)
                .filter(|b| bytes >> b & 1 == 1)
                .all(|b| self.part_allowed(old, 1 << b, value, look));
        }
        let written = self.list.first().map_or(0, |w| w.bytes);
        let (inside, outside) = (bytes & written, bytes & !written);
        (outside == 0 || old.allows(outside, value))
            && (inside == 0 || self.part_allowed(old, inside, value, look))
    }

    /// The writes that a look may see, for the report.
    pub fn candidates(&self, bytes: u8, look: &Look) -> (bool, Vec<Write>) {
        let own = self.own_last(bytes, look);
        let seen = |(i, w): &(usize, &Write)| {
            let unordered = (self.cu_of)(w.by) != look.cu || w.at > look.issued;
            w.bytes & bytes != 0
                && w.at <= look.done
                && (unordered || own == Some((w.at, *i)))
                && !self.passed(bytes, w, look)
        };
        let list = self.list.iter().enumerate().filter(seen).map(|(_, w)| *w).collect();
        (own.is_none() && !self.list.iter().any(|w| self.seen(bytes, w, look)), list)
    }

    /// Value after the kernel. Writes of one compute unit are ordered; of several ones, any unit's last may be the last of all.
    pub fn last(&self, old: &Old) -> Old {
        let mut order: Vec<(u32, u64, usize)> =
            self.list.iter().enumerate().map(|(i, w)| ((self.cu_of)(w.by), w.at, i)).collect();
        order.sort_unstable();
        let writes = || order.iter().map(|(cu, _, i)| (*cu, &self.list[*i]));
        if order.first().map(|o| o.0) == order.last().map(|o| o.0) {
            return writes().fold(old.clone(), |value, (_, w)| value.with(w));
        }
        if self.uniform {
            let mut words = Vec::new();
            for chunk in order.chunk_by(|a, b| a.0 == b.0) {
                let write = &self.list[chunk[chunk.len() - 1].2];
                match old.with(write) {
                    Old::Known(word) => words.push(word),
                    Old::Words(more) => words.extend(more),
                    Old::Bytes(_) => return self.last_bytes(old, &order),
                }
            }
            return Old::of_words(words);
        }
        self.last_bytes(old, &order)
    }

    fn last_bytes(&self, old: &Old, order: &[(u32, u64, usize)]) -> Old {
        let byte = |b: usize| {
            let mut values = Vec::new();
            for chunk in order.chunk_by(|a, b| a.0 == b.0) {
                let writes = chunk.iter().rev().map(|(_, _, i)| &self.list[*i]);
                let last = writes.into_iter().find(|w| w.bytes >> b & 1 == 1);
                values.extend(last.map(|w| (w.value >> (8 * b)) as u8));
            }
            if values.is_empty() { old.byte(b) } else { values }
        };
        Old::of_bytes([byte(0), byte(1), byte(2), byte(3)])
    }
}
