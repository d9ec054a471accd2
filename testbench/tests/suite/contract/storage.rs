//! Rules of storage: what it holds after a reset, and what its bits are called.

use super::*;
use weft_rtl::area::area;
use weft_rtl::ir::{MemKind, SigKind};

/// Goes through the modules of every block, each at every set of parameters.
fn every_module(rule: impl Fn(&Module, &mut Vec<String>)) {
    every_block(|info, found| {
        for context in contexts(info) {
            let mut modules = BTreeMap::new();
            hierarchy(&context.module, &mut modules);
            modules.values().for_each(|module| rule(module, found));
        }
    });
}

#[test]
fn every_register_has_a_reset_value() {
    every_module(|module, found| {
        let ports = || module.mems.iter().flat_map(|m| &m.read_ports);
        for (i, signal) in module.signals.iter().enumerate() {
            let SigKind::Reg { reset, .. } = &signal.kind else { continue };
            let good = match reset {
                Some(value) => value.width() == signal.width,
                None => ports().any(|p| p.addr_q.index() == i),
            };
            if !good {
                found.push(format!("{}.{} is not reset", module.name, signal.name));
            }
        }
    });
}

#[test]
fn every_memory_is_written_and_read() {
    every_module(|module, found| {
        for mem in &module.mems {
            if mem.write_ports.is_empty() || (mem.kind == MemKind::Sram && mem.read_ports.is_empty()) {
                found.push(format!("{}.{} lacks a port", module.name, mem.name));
            }
        }
    });
}

#[test]
fn every_bit_of_storage_has_a_field() {
    every_module(|module, found| {
        let mut check = |name: &str, width: u32, fields: &[(String, u32)]| {
            let sum: u32 = fields.iter().map(|f| f.1).sum();
            if sum != width || fields.iter().any(|f| f.0.is_empty() || f.1 == 0) {
                found.push(format!("{}.{name} has {width} bits, its fields {fields:?}", module.name));
            }
        };
        for signal in &module.signals {
            if let SigKind::Reg { reset: Some(_), fields } = &signal.kind {
                check(&signal.name, signal.width, fields);
            }
        }
        module.mems.iter().for_each(|mem| check(&mem.name, mem.lane_width(), &mem.fields));
    });
}

#[test]
fn the_area_is_what_the_flat_hardware_holds() {
    every_block(|info, found| {
        for Context { given, module, .. } in contexts(info) {
            let Ok(flat) = flatten(&module) else { continue };
            let registers: u64 = flat.regs.iter().map(|r| u64::from(r.width)).sum();
            let bits = |m: &weft_rtl::netlist::NetMem| u64::from(m.rows) * u64::from(m.lanes * m.lane_width);
            let memories: u64 = flat.mems.iter().map(bits).sum();
            let told = area(&module);
            if [told.register_bits, told.memory_bits, told.total_bits]
                != [registers, memories, registers + memories]
            {
                found.push(format!("{given:?}: {registers} and {memories} bits, told {}", told.total_bits));
            }
        }
    });
}
