//! Random circuits of the whole hardware language, on which its compilers are compared with each other.
//!
//! A circuit is a block, or a fabric of two blocks that drive each other. A block has inputs, registers
//! (vectors, truth values, enumerations, bundles), memories of both kinds, channels, parts within parts,
//! wires and expressions of 1 to 200 bits (`expression`), and nested `when` and `switch` that load what
//! holds state (`state`). Each value that nothing else reads is an output, so that no expression is made
//! for nothing. [`Coverage`] counts what has occurred.
//!
//! ```
//! let module = weft_circuits::circuit(1, 7);
//! assert_eq!(module.name, "circuit_1_7");
//! assert_eq!(format!("{module:?}"), format!("{:?}", weft_circuits::circuit(1, 7)));
//! ```

mod body;
mod coverage;
mod expression;
mod maker;
mod memory;
mod state;

pub use coverage::Coverage;

use maker::Maker;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use weft_rtl::error::ElabErrors;
use weft_rtl::prelude::*;

/// Numbers of expressions of a circuit: mostly few, for compilers see more in many small circuits than in few
/// large ones.
const SIZES: [u32; 9] = [1, 2, 3, 4, 6, 8, 12, 20, 50];

/// Circuits of which one is a fabric.
const FABRICS: u32 = 8;

/// Deepest nesting of parts.
const DEPTH: u32 = 2;

/// Circuit `number` of a seed: a block, or a fabric of two.
///
/// # Panics
/// Never; if one did, it would be a mistake of this generator.
pub fn circuit(seed: u64, number: u64) -> Arc<Module> {
    let (name, mut rng) = begin(seed, number);
    let size = *SIZES.choose(&mut rng).expect("not empty");
    match rng.random_range(0..FABRICS) {
        0 => fabric(&mut rng, &name, size),
        _ => block_of(&mut rng, &name, size, &[], None),
    }
}

/// Block `number` of a seed, with about `size` expressions.
///
/// # Panics
/// As [`circuit`].
pub fn block(seed: u64, number: u64, size: u32) -> Arc<Module> {
    let (name, mut rng) = begin(seed, number);
    block_of(&mut rng, &name, size, &[], None)
}

fn begin(seed: u64, number: u64) -> (String, SmallRng) {
    // An odd factor: two circuits of one seed never begin alike.
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number);
    (format!("circuit_{seed}_{number}"), SmallRng::seed_from_u64(mixed))
}

fn built(made: Result<Arc<Module>, ElabErrors>) -> Arc<Module> {
    made.unwrap_or_else(|e| panic!("the generator of circuits wrote what the language forbids: {e}"))
}

/// A block whose first inputs have these widths, with an output `back` of this one.
fn block_of(rng: &mut SmallRng, name: &str, size: u32, given: &[u32], back: Option<u32>) -> Arc<Module> {
    let parts = parts_of(rng, name, size, DEPTH);
    let mut maker = Maker::new(rng);
    built(Module::build(name, ModuleKind::Block, || {
        maker.body(size, given, &parts);
        if let Some(width) = back {
            let value = maker.of(width);
            output_reg::<Bits>("back", width).set(value);
        }
        maker.outputs();
    }))
}

/// Up to two parts, which may have parts themselves.
fn parts_of(rng: &mut SmallRng, name: &str, size: u32, depth: u32) -> Vec<Arc<Module>> {
    let count = if depth == 0 { 0 } else { rng.random_range(0..=8_u32).saturating_sub(6) };
    let part = |number| {
        let (name, size) = (format!("{name}_part{number}"), 1 + size / 3);
        let parts = parts_of(rng, &name, size, depth - 1);
        let mut maker = Maker::new(rng);
        built(Module::build(&name, ModuleKind::Part, || {
            maker.body(size, &[], &parts);
            maker.part_outputs();
        }))
    };
    (0..count).map(part).collect()
}

/// Two blocks: the second hears the first, which hears the second.
fn fabric(rng: &mut SmallRng, name: &str, size: u32) -> Arc<Module> {
    let heard = rng.random_range(1..=70);
    let first = block_of(rng, &format!("{name}_first"), size / 2 + 1, &[heard], None);
    let widths: Vec<u32> = first.outputs().map(|(_, port)| port.width).take(3).collect();
    let second = block_of(rng, &format!("{name}_second"), size / 2 + 1, &widths, Some(heard));
    built(Module::build(name, ModuleKind::Fabric, || {
        let [one, two] = [("one", &first), ("two", &second)].map(|(name, module)| instance(name, module));
        let sent: Vec<String> = first.outputs().map(|(_, port)| port.name.clone()).collect();
        let mut wired = vec![("one", "in0".to_string())];
        one.drive_bits("in0", two.out_bits("back"));
        for (number, port) in sent.iter().take(widths.len()).enumerate() {
            let to = format!("in{number}");
            two.drive_bits(&to, one.out_bits(port));
            wired.push(("two", to));
        }
        for (name, placed) in [("one", &one), ("two", &two)] {
            for (_, port) in placed.module().inputs() {
                if !wired.iter().any(|(of, taken)| *of == name && *taken == port.name) {
                    let pin = input::<Bits>(&format!("{name}_{}_pin", port.name), port.width);
                    placed.drive_bits(&port.name, pin);
                }
            }
            for (_, port) in placed.module().outputs() {
                output::<Bits>(&format!("{name}_{}_seen", port.name), port.width)
                    .set(placed.out_bits(&port.name));
            }
        }
    }))
}
