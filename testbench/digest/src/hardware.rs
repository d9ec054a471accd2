//! What a module is, in three digests.

use std::fmt::Write;
use std::sync::Arc;
use weft_engine::digest::Digest;
use weft_rtl::area::area;
use weft_rtl::ir::{LeafType, Module, SigKind};
use weft_rtl::verilog::emit;

/// Digests of a module with everything below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hardware {
    /// Of the Verilog, all files with their names.
    pub verilog: u64,
    /// Of the storage by field and by memory.
    pub storage: u64,
    /// Of the ports: direction, name, width, names of encodings.
    pub interface: u64,
    /// Storage bits.
    pub bits: u64,
}

impl Hardware {
    /// The digests of a module.
    pub fn of(module: &Arc<Module>) -> Hardware {
        Hardware {
            verilog: verilog(module),
            storage: storage(module),
            interface: interface(module),
            bits: area(module).total_bits,
        }
    }
}

/// Digest of a module's storage by field and by memory.
pub fn storage(module: &Arc<Module>) -> u64 {
    let found = area(module);
    let mut digest = Digest::default();
    // A digest takes whatever is written to it.
    let _ = write!(digest, "{:?} {:?}", found.fields, found.memories);
    digest.value()
}

/// Digest of a module's Verilog, all files with their names.
pub fn verilog(module: &Arc<Module>) -> u64 {
    let mut digest = Digest::default();
    for file in emit(module) {
        let _ = write!(digest, "{}\n{}\n", file.name, file.text);
    }
    digest.value()
}

fn interface(module: &Module) -> u64 {
    let mut digest = Digest::default();
    for (_, port) in module.ports() {
        let direction = if port.kind == SigKind::Input { "input" } else { "output" };
        let _ = write!(digest, "{direction} {} {}", port.name, port.width);
        if let LeafType::Enum(of) = &port.ty {
            let _ = write!(digest, " {} {:?}", of.name, of.variants);
        }
        let _ = writeln!(digest);
    }
    digest.value()
}
