//! The bank's ports by name.

use super::Bench;
use std::collections::BTreeMap;
use weft_rtl::bv::Bv;
use weft_rtl::ir::Module;

/// Data of a line.
pub type Bytes = [u8; 64];
/// One bit per byte.
pub type Mask = u64;

/// Widths of the ports.
pub struct Ports {
    widths: BTreeMap<String, u32>,
}

impl Ports {
    /// The ports of a block.
    pub fn new(module: &Module) -> Ports {
        let ports = module.inputs().chain(module.outputs());
        Ports { widths: ports.map(|(_, s)| (s.name.clone(), s.width)).collect() }
    }
}

/// Bytes as a value.
pub fn to_bv(bytes: &Bytes) -> Bv {
    let limbs: Vec<u64> =
        bytes.chunks(8).map(|c| u64::from_le_bytes(c.try_into().expect("whole words"))).collect();
    Bv::from_limbs(&limbs, 512)
}

/// A value as bytes.
pub fn to_bytes(bits: &Bv) -> Bytes {
    let all: Vec<u8> = bits.limbs().iter().flat_map(|l| l.to_le_bytes()).collect();
    all[..64].try_into().expect("a line")
}

impl Bench {
    pub(super) fn set(&mut self, name: &str, value: u64) {
        let port = self.sim.input(name).unwrap_or_else(|| panic!("no input {name}"));
        let width = self.ports.widths[name];
        assert!(width >= 64 || value >> width == 0, "{value:x} does not fit {name}");
        self.sim.set(port, value);
    }

    pub(super) fn get(&mut self, name: &str) -> u64 {
        let port = self.sim.output(name).unwrap_or_else(|| panic!("no output {name}"));
        self.sim.get(port)
    }

    pub(super) fn set_line(&mut self, name: &str, bytes: &Bytes) {
        let port = self.sim.input(name).unwrap_or_else(|| panic!("no input {name}"));
        self.sim.set_bv(port, &to_bv(bytes));
    }

    pub(super) fn get_line(&mut self, name: &str) -> Bytes {
        let port = self.sim.output(name).unwrap_or_else(|| panic!("no output {name}"));
        to_bytes(&self.sim.get_bv(port))
    }
}
