//! Short fingerprints: of a design, so that a saved state is not loaded into other hardware, and of bytes, so that damage is seen.

use crate::design::Design;
use std::fmt::{self, Write};

/// A 64-bit FNV-1a hash in the making. It finds mistakes, not malice; its value is the same on every machine and in every version of the compiler.
#[derive(Clone, Debug)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The hash of everything added.
    pub fn value(&self) -> u64 {
        self.0
    }

    /// The hash of these bytes alone.
    pub fn of(bytes: &[u8]) -> u64 {
        let mut digest = Digest::default();
        digest.add(bytes);
        digest.value()
    }
}

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}

impl Design {
    /// A fingerprint of everything on which the meaning of a saved state depends: instances, registers, memories, observers and the logic between
    /// them, and where the state lies.
    pub fn fingerprint(&self) -> u64 {
        let mut digest = Digest::default();
        // A digest takes whatever is written to it.
        let _ = self.describe(&mut digest);
        digest.value()
    }

    fn describe(&self, out: &mut Digest) -> fmt::Result {
        write!(out, "{} {:?}", self.name, self.options)?;
        for unit in &self.units {
            write!(out, ";{} {}", unit.path, unit.ty)?;
        }
        for ty in &self.types {
            write!(out, ";{} {:?} {:?}", ty.module.name, ty.netlist.nodes, ty.layout)?;
            for reg in &ty.netlist.regs {
                write!(out, ";{} {} {:?}", reg.path, reg.width, reg.next)?;
            }
            for mem in &ty.netlist.mems {
                write!(out, ";{} {} {} {}", mem.path, mem.rows, mem.lanes, mem.lane_width)?;
            }
            for probe in &ty.netlist.probes {
                write!(out, ";{} {}", probe.scope, probe.name)?;
            }
        }
        Ok(())
    }
}
