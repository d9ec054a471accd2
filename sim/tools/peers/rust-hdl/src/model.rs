//! The directory as plain data, and random requests for it.

use crate::directory::{SET, SHARERS, TAG, WAYS};

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Set.
    pub set: usize,
    /// Tag.
    pub tag: u32,
    /// One-hot requester.
    pub requester: u8,
    /// A store, or else a load.
    pub store: bool,
}

/// What the directory decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The range had an entry.
    pub hit: bool,
    /// A valid entry was replaced.
    pub evict: bool,
    /// Sharers that lose their copy.
    pub invalidate: u8,
}

/// Entries, as tag and sharers, and one FIFO pointer for each set.
pub struct Model {
    sets: Vec<([Option<(u32, u8)>; WAYS], usize)>,
}

impl Default for Model {
    fn default() -> Self {
        Self { sets: vec![([None; WAYS], 0); 1 << SET] }
    }
}

impl Model {
    /// Applies a request.
    pub fn decide(&mut self, request: &Request) -> Decision {
        let (ways, next) = &mut self.sets[request.set];
        if let Some((_, sharers)) = ways.iter_mut().flatten().find(|(tag, _)| *tag == request.tag) {
            let before = *sharers;
            *sharers = if request.store { request.requester } else { before | request.requester };
            let invalidate = if request.store { before & !request.requester } else { 0 };
            return Decision { hit: true, evict: false, invalidate };
        }
        let old = ways[*next].replace((request.tag, request.requester));
        *next = (*next + 1) % WAYS;
        Decision { hit: false, evict: old.is_some(), invalidate: old.map_or(0, |(_, sharers)| sharers) }
    }
}

/// A small random generator (xorshift), the same on every machine.
pub struct Random(pub u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

impl Request {
    /// Any set; twelve tags, so that sets overflow and hits are frequent.
    pub fn random(random: &mut Random) -> Self {
        Self {
            set: random.below(1 << SET) as usize,
            tag: (random.below(12) as u32 * 0x1_5555) & ((1 << TAG) - 1),
            requester: 1 << random.below(SHARERS as u64),
            store: random.below(4) == 0,
        }
    }
}
