//! The bytes behind all DRAM channels, by physical address; pages that were never written are zero and take no space.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const PAGE: usize = 4096;

/// A sparse memory, zero at first. A clone shares all pages until one of the two writes to them, so snapshots are cheap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    pages: BTreeMap<u64, Arc<Vec<u8>>>,
}

impl Memory {
    /// An empty memory.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Bytes of all pages that were ever written.
    pub fn resident_bytes(&self) -> u64 {
        (self.pages.len() * PAGE) as u64
    }

    /// Fills `bytes` from physical address `addr` on.
    pub fn read(&self, addr: u64, bytes: &mut [u8]) {
        for_pieces(addr, bytes.len(), |page, offset, range| match self.pages.get(&page) {
            Some(from) => bytes[range.clone()].copy_from_slice(&from[offset..offset + range.len()]),
            None => bytes[range].fill(0),
        });
    }

    /// The `count` bytes from physical address `addr` on.
    pub fn read_vec(&self, addr: u64, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.read(addr, &mut bytes);
        bytes
    }

    /// Bytes that differ from those of an older state of which this one is a clone, in runs, each with its
    /// physical address.
    pub fn changes(&self, old: &Memory) -> Vec<(u64, Vec<u8>)> {
        let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
        for (number, page) in &self.pages {
            let before = old.pages.get(number);
            if before.is_some_and(|before| Arc::ptr_eq(before, page)) {
                continue;
            }
            for (offset, byte) in page.iter().enumerate() {
                if *byte == before.map_or(0, |before| before[offset]) {
                    continue;
                }
                let at = number * PAGE as u64 + offset as u64;
                match runs.last_mut().filter(|(first, bytes)| first + bytes.len() as u64 == at) {
                    Some((_, bytes)) => bytes.push(*byte),
                    None => runs.push((at, vec![*byte])),
                }
            }
        }
        runs
    }

    /// Replaces the bytes from physical address `addr` on.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) {
        for_pieces(addr, bytes.len(), |page, offset, range| {
            let to = self.pages.entry(page).or_insert_with(|| Arc::new(vec![0; PAGE]));
            Arc::make_mut(to)[offset..offset + range.len()].copy_from_slice(&bytes[range]);
        });
    }

    /// Reads little-endian 64-bit limbs, as a line's data stands on a port.
    pub fn read_limbs(&self, addr: u64, limbs: &mut [u64]) {
        let mut bytes = [0; 256];
        let bytes = &mut bytes[..8 * limbs.len()];
        self.read(addr, bytes);
        for (limb, eight) in limbs.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *limb = u64::from_le_bytes(*eight);
        }
    }

    /// Writes little-endian 64-bit limbs.
    pub fn write_limbs(&mut self, addr: u64, limbs: &[u64]) {
        let mut bytes = [0; 256];
        let bytes = &mut bytes[..8 * limbs.len()];
        for (limb, eight) in limbs.iter().zip(bytes.as_chunks_mut::<8>().0) {
            *eight = limb.to_le_bytes();
        }
        self.write(addr, bytes);
    }
}

/// Memory by lines, as channels see it.
pub trait Lines {
    /// See [`Memory::read_limbs`].
    fn read_limbs(&mut self, addr: u64, limbs: &mut [u64]);
    /// See [`Memory::write_limbs`].
    fn write_limbs(&mut self, addr: u64, limbs: &[u64]);
}

impl Lines for Memory {
    fn read_limbs(&mut self, addr: u64, limbs: &mut [u64]) {
        Memory::read_limbs(self, addr, limbs);
    }

    fn write_limbs(&mut self, addr: u64, limbs: &[u64]) {
        Memory::write_limbs(self, addr, limbs);
    }
}

/// A memory that several channels access, each the lines that are its own.
#[derive(Clone, Default)]
pub struct SharedMemory(Arc<Mutex<Memory>>);

impl SharedMemory {
    /// A memory with these contents.
    pub fn new(memory: Memory) -> SharedMemory {
        SharedMemory(Arc::new(Mutex::new(memory)))
    }

    /// The same memory.
    pub fn alias(&self) -> SharedMemory {
        self.clone()
    }

    /// Another memory with these contents.
    pub fn copy(&self) -> SharedMemory {
        SharedMemory::new(self.lock().clone())
    }

    /// The memory, until what is returned is dropped.
    pub fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines for SharedMemory {
    fn read_limbs(&mut self, addr: u64, limbs: &mut [u64]) {
        self.lock().read_limbs(addr, limbs);
    }

    fn write_limbs(&mut self, addr: u64, limbs: &[u64]) {
        self.lock().write_limbs(addr, limbs);
    }
}

/// Cuts `len` bytes at `addr` at page boundaries: calls `f` with page, offset in it, and the range of the whole.
fn for_pieces(addr: u64, len: usize, mut f: impl FnMut(u64, usize, std::ops::Range<usize>)) {
    let mut done = 0;
    while done < len {
        let at = addr + done as u64;
        let offset = (at % PAGE as u64) as usize;
        let piece = (PAGE - offset).min(len - done);
        f(at / PAGE as u64, offset, done..done + piece);
        done += piece;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_a_flat_array(writes in prop::collection::vec((0u64..20_000, prop::collection::vec(any::<u8>(), 0..9000)), 1..12)) {
            let base = (7u64 << 32) - 10_000;
            let (mut memory, mut flat) = (Memory::new(), vec![0u8; 30_000]);
            for (at, bytes) in &writes {
                memory.write(base + at, bytes);
                flat[*at as usize..][..bytes.len()].copy_from_slice(bytes);
            }
            prop_assert_eq!(memory.read_vec(base, flat.len()), flat);
        }
    }

    #[test]
    fn changes_make_an_older_state_the_newer_one() {
        let mut old = Memory::new();
        old.write(4000, &[1; 200]);
        let mut new = old.clone();
        new.write(4090, &[2, 1, 1, 3, 1, 1, 4, 5]);
        new.write(1 << 20, &[0, 9]);
        let changes = new.changes(&old);
        assert_eq!(changes, [(4090, vec![2]), (4093, vec![3]), (4096, vec![4, 5]), ((1 << 20) + 1, vec![9])]);
        changes.iter().for_each(|(at, bytes)| old.write(*at, bytes));
        assert_eq!(old.changes(&new), []);
    }

    #[test]
    fn a_clone_keeps_what_was() {
        let mut memory = Memory::new();
        memory.write(100, &[1, 2]);
        let kept = memory.clone();
        memory.write(101, &[3]);
        assert_eq!((kept.read_vec(100, 2), memory.read_vec(100, 2)), (vec![1, 2], vec![1, 3]));
    }

    #[test]
    fn limbs_are_little_endian_and_untouched_pages_are_zero() {
        let mut memory = Memory::new();
        memory.write_limbs(4090, &[0x0807_0605_0403_0201, 9]);
        assert_eq!(memory.read_vec(4089, 10), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(memory.resident_bytes(), 8192);
        let mut limbs = [1; 2];
        memory.read_limbs(1 << 40, &mut limbs);
        assert_eq!(limbs, [0, 0]);
    }
}
