//! What memory holds, with the newer bytes of caches.

use super::{Newer, Surroundings};
use std::collections::BTreeMap;
use weft_engine::Sim;

/// Memory while no compute unit has anything under way; lines of 64 bytes.
pub(crate) struct Held<'a> {
    around: &'a dyn Surroundings,
    newer: BTreeMap<u64, Newer<'a>>,
}

impl<'a> Held<'a> {
    /// As it is now.
    pub fn new(sim: &'a Sim, around: &'a dyn Surroundings) -> Held<'a> {
        let newer = around.newer(sim).into_iter().map(|newer| (newer.line, newer)).collect();
        Held { around, newer }
    }

    /// A line by its number.
    pub fn line(&self, line: u64) -> [u8; 64] {
        let mut bytes = [0; 64];
        self.around.read(line * 64, &mut bytes);
        if let Some(newer) = self.newer.get(&line) {
            let dirty = bytes.iter_mut().enumerate().filter(|(at, _)| newer.mask >> at & 1 == 1);
            dirty.for_each(|(at, byte)| *byte = newer.data[at / 8].to_le_bytes()[at % 8]);
        }
        bytes
    }
}
