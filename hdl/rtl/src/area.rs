//! Storage bits by field, summed over what the hardware declares: no formula beside it.
//!
//! Every register and memory lane names the storage fields its bits belong to; an [`Area`] adds them up over all instances
//! of a module. Change the hardware and the figures change.

use crate::ir::{MemKind, Module, SigKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Field under which an SRAM's address registers are counted.
pub const PIPELINE: &str = "pipeline";

/// In what kind of storage bits lie.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// Synchronous-read memory.
    Sram,
    /// Register file.
    RegisterFile,
    /// Single registers.
    Registers,
}

/// Bits of one field in one kind of storage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FieldArea {
    /// Field name.
    pub field: String,
    /// Where the bits lie.
    pub storage: Storage,
    /// Bits in one entry (memories: in one lane of one row; registers: in all of them together).
    pub bits_per_entry: u64,
    /// Entries: rows x lanes, summed over the instances; 1 for registers.
    pub entries: u64,
    /// All bits.
    pub bits: u64,
}

/// A memory, with the number of times it is there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemoryArea {
    /// Module that declares it.
    pub module: String,
    /// Its name there.
    pub name: String,
    /// SRAM or register file.
    pub storage: Storage,
    /// Rows of one copy.
    pub rows: u64,
    /// Lanes in a row.
    pub lanes: u64,
    /// Bits in a lane.
    pub lane_bits: u64,
    /// Storage fields of a lane with their bits.
    pub fields: Vec<(String, u64)>,
    /// Ports that read a row per cycle.
    pub read_ports: u64,
    /// Ports that write a row, or lanes of it, per cycle.
    pub write_ports: u64,
    /// Copies in the design.
    pub instances: u64,
    /// Bits of all copies.
    pub bits: u64,
}

/// Storage of a module with everything below it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Area {
    /// Name of the module.
    pub block: String,
    /// Its parameters.
    pub params: BTreeMap<String, String>,
    /// Bits by field: memories first, in order of declaration.
    pub fields: Vec<FieldArea>,
    /// Bits of all fields.
    pub total_bits: u64,
    /// Bits in memories (SRAMs and register files).
    pub memory_bits: u64,
    /// Bits in single registers.
    pub register_bits: u64,
    /// The memories, in order of declaration, parts before what contains them.
    pub memories: Vec<MemoryArea>,
}

/// Adds up the storage of a module and of everything it instantiates.
pub fn area(top: &Arc<Module>) -> Area {
    let mut sum = Sum::default();
    sum.add(top, 1);
    let mut fields = sum.memory_fields;
    fields.sort_by_key(|f| f.storage);
    let registers = sum.register_fields.into_iter().map(|(field, bits)| FieldArea {
        field,
        storage: Storage::Registers,
        bits_per_entry: bits,
        entries: 1,
        bits,
    });
    fields.extend(registers);
    let register_bits = fields.iter().filter(|f| f.storage == Storage::Registers).map(|f| f.bits).sum();
    let total_bits: u64 = fields.iter().map(|f| f.bits).sum();
    Area {
        block: top.name.clone(),
        params: top.params.iter().cloned().collect(),
        fields,
        total_bits,
        memory_bits: total_bits - register_bits,
        register_bits,
        memories: sum.memories,
    }
}

impl Area {
    /// The directories in the design: memories whose entries track sharers.
    pub fn directories(&self) -> impl Iterator<Item = &MemoryArea> {
        self.memories.iter().filter(|m| m.fields.iter().any(|(name, _)| name == "sharers"))
    }
}

impl MemoryArea {
    /// Entries: rows x lanes of all copies.
    pub fn entries(&self) -> u64 {
        self.rows * self.lanes * self.instances
    }
}

#[derive(Default)]
struct Sum {
    memory_fields: Vec<FieldArea>,
    register_fields: BTreeMap<String, u64>,
    memories: Vec<MemoryArea>,
}

impl Sum {
    fn add(&mut self, module: &Arc<Module>, copies: u64) {
        let mut parts: Vec<(&Arc<Module>, u64)> = Vec::new();
        for inst in &module.instances {
            match parts.iter_mut().find(|(m, _)| Arc::ptr_eq(m, &inst.module)) {
                Some((_, n)) => *n += copies,
                None => parts.push((&inst.module, copies)),
            }
        }
        for (part, count) in parts {
            self.add(part, count);
        }
        for signal in &module.signals {
            let SigKind::Reg { fields, .. } = &signal.kind else { continue };
            let pipeline = [(PIPELINE.to_string(), signal.width)];
            let counted = if fields.is_empty() { &pipeline[..] } else { &fields[..] };
            for (field, bits) in counted {
                *self.register_fields.entry(field.clone()).or_default() += u64::from(*bits) * copies;
            }
        }
        self.add_memories(module, copies);
    }

    fn add_memories(&mut self, module: &Module, copies: u64) {
        for mem in &module.mems {
            let storage = match mem.kind {
                MemKind::Sram => Storage::Sram,
                MemKind::RegFile => Storage::RegisterFile,
            };
            let entries = u64::from(mem.rows) * u64::from(mem.lanes) * copies;
            for (field, bits) in &mem.fields {
                let bits_per_entry = u64::from(*bits);
                let same = |f: &&mut FieldArea| {
                    f.field == *field && f.storage == storage && f.bits_per_entry == bits_per_entry
                };
                match self.memory_fields.iter_mut().find(same) {
                    Some(f) => {
                        f.entries += entries;
                        f.bits += entries * bits_per_entry;
                    }
                    None => self.memory_fields.push(FieldArea {
                        field: field.clone(),
                        storage,
                        bits_per_entry,
                        entries,
                        bits: entries * bits_per_entry,
                    }),
                }
            }
            let known = self.memories.iter_mut().find(|m| m.module == module.name && m.name == mem.name);
            let bits = entries * u64::from(mem.lane_width());
            match known {
                Some(m) => {
                    m.instances += copies;
                    m.bits += bits;
                }
                None => self.memories.push(MemoryArea {
                    module: module.name.clone(),
                    name: mem.name.clone(),
                    storage,
                    rows: u64::from(mem.rows),
                    lanes: u64::from(mem.lanes),
                    lane_bits: u64::from(mem.lane_width()),
                    fields: mem.fields.iter().map(|(name, bits)| (name.clone(), u64::from(*bits))).collect(),
                    read_ports: mem.read_ports.len() as u64,
                    write_ports: mem.write_ports.len() as u64,
                    instances: copies,
                    bits,
                }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    fn table(rows: u32) -> Arc<Module> {
        Module::build(&format!("table_r{rows}"), ModuleKind::Block, || {
            param("rows", rows);
            let at = input::<Bits>("at", bits_for(u64::from(rows)));
            let ram = sram::<Bits>("ram", rows, 4, 10).fields(&[("tag", 7), ("valid", 3)]);
            let queue = regfile::<Bits>("queue", 2, 5);
            let port = ram.read_port("rd");
            port.present(at);
            ram.row_writer("ram").write(at, &[lit(0, 10); 4]);
            queue.lane_writer("queue").write(lit(0, 1), &lit(0, 5));
            let seen = output_reg::<Bits>("seen", 10);
            seen.set(port.lane(3) ^ queue.entry(1).resize(10));
            let copy = output_reg::<Bits>("copy", 5).field("data");
            copy.set(queue.entry(0));
        })
        .unwrap()
    }

    #[test]
    fn fields_are_summed_over_instances() {
        let part = table(8);
        let top = Module::build("pair", ModuleKind::Fabric, || {
            for i in 0..2 {
                let at = input::<Bits>(&format!("at{i}"), 3);
                let inst = instance(&format!("table{i}"), &part);
                inst.drive_bits("at", at);
                output::<Bits>(&format!("seen{i}"), 10).set(inst.out_bits("seen"));
                output::<Bits>(&format!("copy{i}"), 5).set(inst.out_bits("copy"));
            }
        })
        .unwrap();
        let one = area(&part);
        let named = |a: &Area, name: &str| {
            let f = a.fields.iter().find(|f| f.field == name && f.bits > 0).unwrap();
            (f.bits_per_entry, f.entries, f.bits)
        };
        assert_eq!(named(&one, "tag"), (7, 32, 224));
        assert_eq!(named(&one, "valid"), (3, 32, 96));
        assert_eq!(named(&one, PIPELINE), (3, 1, 3));
        assert_eq!(named(&one, "control"), (10, 1, 10));
        let ram = one.memories.iter().find(|m| m.name == "ram").unwrap();
        assert_eq!(ram.fields, [("tag".to_string(), 7), ("valid".to_string(), 3)]);
        assert_eq!((ram.entries(), ram.lane_bits, ram.bits), (32, 10, 320));
        assert_eq!(one.directories().count(), 0);
        assert_eq!(one.total_bits, 320 + 2 * 5 + 10 + 5 + 3);
        assert_eq!(one.params["rows"], "8");
        let two = area(&top);
        assert_eq!(two.total_bits, 2 * one.total_bits);
        assert_eq!(named(&two, "tag"), (7, 64, 448));
        assert_eq!((two.memories[0].instances, two.memories[0].bits), (2, 640));
        assert_eq!(two.memory_bits + two.register_bits, two.total_bits);
    }

    #[test]
    fn more_rows_are_more_bits() {
        assert_eq!(area(&table(16)).total_bits - area(&table(8)).total_bits, 8 * 4 * 10 + 1);
    }
}
