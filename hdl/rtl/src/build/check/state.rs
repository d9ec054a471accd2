//! What holds state: registers that nothing assigns, memories that nothing writes or reads, enumerations.

use super::Driven;
use crate::build::Builder;
use crate::error::ElabErrorKind;
use crate::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Registers that keep their reset value for ever, and memories without a writer or a reader. Of the `idle` channels that has been said.
pub(super) fn state(b: &mut Builder, driven: &FxHashMap<SigId, Driven>, idle: &FxHashSet<Loc>) {
    let mut found = Vec::new();
    for (i, signal) in b.module.signals.iter().enumerate() {
        let id = SigId(i as u32);
        let is_reg = matches!(signal.kind, SigKind::Reg { .. });
        if is_reg && !driven.contains_key(&id) && !idle.contains(&signal.loc) {
            found.push((signal.loc, ElabErrorKind::Unassigned { name: signal.name.clone() }));
        }
    }
    let read = memories_read(&b.module);
    for (i, mem) in b.module.mems.iter().enumerate() {
        let written = mem.write_ports.iter().any(|port| driven.contains_key(&port.en));
        let read = read.contains(&MemId(i as u32));
        let mem_name = mem.name.clone();
        match (written, read) {
            (false, true) => found.push((mem.loc, ElabErrorKind::Unwritten { mem: mem_name })),
            (_, false) => found.push((mem.loc, ElabErrorKind::Unread { mem: mem_name })),
            (true, true) => {}
        }
    }
    for (loc, kind) in found {
        b.error(loc, kind);
    }
}

fn memories_read(module: &Module) -> FxHashSet<MemId> {
    let reads = module.nodes.iter().filter_map(|node| match node.op {
        Op::MemRead { mem, .. } => Some(mem),
        _ => None,
    });
    reads.collect()
}

/// Enumerations: every encoding fits, and a register begins as one of the variants.
pub(super) fn enumerations(b: &mut Builder) {
    let mut found = Vec::new();
    let mut seen: FxHashSet<Arc<EnumType>> = FxHashSet::default();
    for signal in &b.module.signals {
        let LeafType::Enum(ty) = &signal.ty else { continue };
        if seen.insert(ty.clone()) {
            let long = ty.variants.iter().filter(|(_, value)| ty.width < 64 && value >> ty.width != 0);
            found.extend(long.map(|(variant, value)| {
                let (ty, variant, width) = (ty.name.clone(), variant.clone(), ty.width);
                (signal.loc, ElabErrorKind::VariantRange { ty, variant, value: *value, width })
            }));
        }
        if let SigKind::Reg { reset: Some(reset), .. } = &signal.kind
            && reset.to_u64().is_none_or(|value| ty.name_of(value).is_none())
        {
            let (name, ty, value) = (signal.name.clone(), ty.name.clone(), reset.to_string());
            found.push((signal.loc, ElabErrorKind::NoVariant { name, value, ty }));
        }
    }
    for (loc, kind) in found {
        b.error(loc, kind);
    }
}

/// Signals and values without bits; whether there are any.
pub(super) fn widths(b: &mut Builder) -> bool {
    let mut found: Vec<(Loc, String)> = Vec::new();
    let signals = b.module.signals.iter().filter(|signal| signal.width == 0);
    found.extend(signals.map(|signal| (signal.loc, signal.name.clone())));
    if found.is_empty() {
        let empty = |node: &&Node| node.width == 0;
        found.extend(b.module.nodes.iter().filter(empty).map(|node| {
            let name = node.name.clone().unwrap_or_else(|| "a value".into());
            (node.loc, name)
        }));
    }
    let any = !found.is_empty();
    for (loc, name) in found {
        b.error(loc, ElabErrorKind::NoBits { name });
    }
    any
}
