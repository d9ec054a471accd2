//! The bank's ports, registers and tags by name.

use super::{BANK, Bench};
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
        let limbs: Vec<u64> =
            bytes.chunks(8).map(|c| u64::from_le_bytes(c.try_into().expect("whole words"))).collect();
        let port = self.sim.input(name).unwrap_or_else(|| panic!("no input {name}"));
        self.sim.set_bv(port, &Bv::from_limbs(&limbs, 8 * bytes.len() as u32));
    }

    pub(super) fn get_bytes(&mut self, name: &str) -> Vec<u8> {
        let port = self.sim.output(name).unwrap_or_else(|| panic!("no output {name}"));
        self.sim.get_bv(port).limbs().iter().flat_map(|l| l.to_le_bytes()).collect()
    }

    pub(super) fn get_mask(&mut self, name: &str) -> Vec<bool> {
        let port = self.sim.output(name).unwrap_or_else(|| panic!("no output {name}"));
        let bits = self.sim.get_bv(port);
        (0..self.p.sys.line).map(|i| bits.bit(i)).collect()
    }

    pub(super) fn set_mask(&mut self, name: &str, mask: &[bool]) {
        let mut bits = Bv::zero(mask.len() as u32);
        for (i, on) in mask.iter().enumerate() {
            bits.set_bit(i as u32, *on);
        }
        let port = self.sim.input(name).unwrap_or_else(|| panic!("no input {name}"));
        self.sim.set_bv(port, &bits);
    }

    pub(super) fn peek(&self, name: &str) -> u64 {
        self.sim.peek(name).unwrap_or_else(|| panic!("no register {name}")).low_u64()
    }

    /// The bank's tags: line to state.
    pub(super) fn tags(&self) -> BTreeMap<u64, u64> {
        let mut lines = BTreeMap::new();
        for (line, state) in self.tags_by_set().into_values().flatten() {
            assert!(lines.insert(line, state).is_none(), "line {line:x} is in two ways");
        }
        lines
    }

    /// The bank's tags by set.
    pub(super) fn tags_by_set(&self) -> BTreeMap<u32, BTreeMap<u64, u64>> {
        let (tag_bits, bulk) = (self.p.tag_bits(), self.p.bulk());
        let mut sets = BTreeMap::<u32, BTreeMap<u64, u64>>::new();
        for set in 0..self.p.sets {
            for way in 0..self.p.ways {
                let lane = set % bulk * self.p.ways + way;
                let cell = self.sim.peek_mem("tags", set / bulk, lane).expect("a cell");
                let (tag, state) = (cell.slice(0, tag_bits).low_u64(), cell.slice(tag_bits, 2).low_u64());
                if state != 0 {
                    let line = self.p.line_number(tag, u64::from(set), BANK);
                    let other = sets.entry(set).or_default().insert(line, state);
                    assert!(other.is_none(), "line {line:x} is in two ways");
                }
            }
        }
        sets
    }
}
