//! Many circuits as one fabric, so that each peer compiles once.

use std::sync::Arc;
use weft_rtl::ir::{Module, ModuleKind};
use weft_rtl::prelude::{Bits, input, instance, output};

/// The name of a port of circuit `number` of a pack.
fn outside(number: usize, port: &str) -> String {
    format!("c{number}_{port}")
}

/// The circuit and the port that an output of the pack belongs to.
pub(super) fn inside(port: &str) -> Option<(usize, &str)> {
    let (number, port) = port.strip_prefix('c')?.split_once('_')?;
    Some((number.parse().ok()?, port))
}

/// A fabric of these circuits, with all of their ports.
///
/// # Panics
/// Never: circuits have legal names.
pub(super) fn pack(circuits: &[Arc<Module>]) -> Arc<Module> {
    let made = Module::build("pack", ModuleKind::Fabric, || {
        for (number, module) in circuits.iter().enumerate() {
            let placed = instance(&format!("u{number}"), module);
            for (_, port) in module.inputs() {
                let pin = input::<Bits>(&outside(number, &port.name), port.width);
                placed.drive_bits(&port.name, pin);
            }
            for (_, port) in module.outputs() {
                output::<Bits>(&outside(number, &port.name), port.width).set(placed.out_bits(&port.name));
            }
        }
    });
    made.unwrap_or_else(|e| panic!("a pack of circuits: {e}"))
}
