//! The bank's ports, registers and tags by name.

use super::Bench;
use std::collections::BTreeMap;
use weft_rtl::bv::Bv;

impl Bench {
    pub(super) fn set(&mut self, name: &str, value: u64) {
        let port = self.sim.input(name).unwrap_or_else(|| panic!("no input {name}"));
        self.sim.set(port, value);
    }

    pub(super) fn get(&mut self, name: &str) -> u64 {
        let port = self.sim.output(name).unwrap_or_else(|| panic!("no output {name}"));
        self.sim.get(port)
    }

    pub(super) fn set_bytes(&mut self, name: &str, bytes: &[u8]) {
        let word = |chunk: &[u8]| u64::from_le_bytes(chunk.try_into().expect("whole words"));
        let limbs: Vec<u64> = bytes.chunks(8).map(word).collect();
        let port = self.sim.input(name).unwrap_or_else(|| panic!("no input {name}"));
        self.sim.set_bv(port, &Bv::from_limbs(&limbs, 8 * bytes.len() as u32));
    }

    pub(super) fn get_bytes(&mut self, name: &str) -> Vec<u8> {
        let port = self.sim.output(name).unwrap_or_else(|| panic!("no output {name}"));
        self.sim.get_bv(port).limbs().iter().flat_map(|limb| limb.to_le_bytes()).collect()
    }

    pub(super) fn set_mask(&mut self, name: &str, mask: &[bool]) {
        let mut bits = Bv::zero(mask.len() as u32);
        for (i, on) in mask.iter().enumerate() {
            bits.set_bit(i as u32, *on);
        }
        let port = self.sim.input(name).unwrap_or_else(|| panic!("no input {name}"));
        self.sim.set_bv(port, &bits);
    }

    /// How many bits of a mask are set.
    pub(super) fn get_count(&mut self, name: &str) -> u32 {
        let port = self.sim.output(name).unwrap_or_else(|| panic!("no output {name}"));
        self.sim.get_bv(port).limbs().iter().map(|limb| limb.count_ones()).sum()
    }

    pub(super) fn peek(&self, name: &str) -> u64 {
        self.sim.peek(name).unwrap_or_else(|| panic!("no register {name}")).low_u64()
    }

    /// Line and state of a way, if it is not I.
    pub(super) fn way(&self, set: u32, way: u32) -> Option<(u64, u64)> {
        let bits = self.p.tag_bits();
        let cell = self.sim.peek_mem("tags", set, way).expect("a cell");
        let (tag, state) = (cell.slice(0, bits).low_u64(), cell.slice(bits, 3).low_u64());
        (state != 0).then(|| (self.p.line_number(tag, u64::from(set), self.number), state))
    }

    /// The lines of a set: way and state.
    pub(super) fn tags(&self, set: u32) -> BTreeMap<u64, (u32, u64)> {
        let mut lines = BTreeMap::new();
        for way in 0..self.p.ways {
            if let Some((line, state)) = self.way(set, way) {
                assert!(lines.insert(line, (way, state)).is_none(), "line {line:x} is in two ways");
            }
        }
        lines
    }

    pub(super) fn array_bytes(&self, set: u32, way: u32) -> Vec<u8> {
        let cell = self.sim.peek_mem("data", set, way).expect("a cell");
        cell.limbs().iter().flat_map(|limb| limb.to_le_bytes()).collect()
    }

    /// The places of the write-back buffer in use: line and state.
    pub(super) fn buffer(&self) -> BTreeMap<u64, u64> {
        let used = self.peek("writeback_used");
        let bits = self.p.sys.line_bits();
        let place = |at: u32| {
            let cell = self.sim.peek_mem("writebacks", at, 0).expect("a cell");
            (cell.slice(0, bits).low_u64(), self.peek(COPIES[at as usize]))
        };
        (0..8).filter(|at| used >> at & 1 == 1).map(place).collect()
    }
}

const COPIES: [&str; 8] = [
    "writeback_copy0",
    "writeback_copy1",
    "writeback_copy2",
    "writeback_copy3",
    "writeback_copy4",
    "writeback_copy5",
    "writeback_copy6",
    "writeback_copy7",
];
