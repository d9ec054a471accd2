//! What a module is, in four digests.

use std::collections::HashMap;
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
    /// Of the Verilog that the module would have without observers: assertions and cover points may come and go.
    pub logic: u64,
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
            logic: verilog(&without_observers(module, &mut HashMap::new())),
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

/// The module and everything below it without assertions, cover points and counters, so that no expression is there for them.
fn without_observers(module: &Arc<Module>, known: &mut HashMap<*const Module, Arc<Module>>) -> Arc<Module> {
    if let Some(bare) = known.get(&Arc::as_ptr(module)) {
        return bare.clone();
    }
    let mut bare = Module::clone(module);
    bare.probes.clear();
    bare.instances.iter_mut().for_each(|instance| {
        instance.module = without_observers(&instance.module, known);
    });
    let bare = Arc::new(bare);
    known.insert(Arc::as_ptr(module), bare.clone());
    bare
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

#[cfg(test)]
mod tests {
    use super::*;
    use weft_rtl::prelude::*;

    fn counter(step: u64, observed: bool) -> Hardware {
        let module = Module::build("counter", ModuleKind::Block, || {
            let (enable, count) = (input::<Bool>("enable", ()), output_reg::<Bits>("count", 8));
            when(enable, || count.set(count.get() + step));
            if observed {
                assert_always("small", count.get().lt(200), "the count stays small");
            }
        });
        Hardware::of(&module.expect("elaborates"))
    }

    #[test]
    fn the_digest_of_the_logic_sees_hardware_and_no_observer() {
        let (plain, observed, other) = (counter(1, false), counter(1, true), counter(2, true));
        assert_eq!(plain.logic, observed.logic);
        assert_ne!(plain.verilog, observed.verilog);
        assert_ne!(observed.logic, other.logic);
    }
}
