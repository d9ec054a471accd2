//! Native code against the interpreter, on any module under random inputs.

use crate::design::{BackendKind, Design, EngineError, Options, Probes};
use crate::sim::Sim;
use std::sync::Arc;
use thiserror::Error;
use weft_rtl::bv::{Bv, limbs_for};
use weft_rtl::ir::{LeafType, Module};
use weft_rtl::netlist::NetPort;

/// Where two simulations part.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum CompareError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(
        "native code and interpreter differ after cycle {cycle} (seed {seed}): {what} is {native} in native code, {interp} in the interpreter"
    )]
    Differ { cycle: u64, seed: u64, what: String, native: String, interp: String },
}

/// A small generator of random numbers: the same sequence everywhere (xorshift64*).
#[derive(Clone, Debug)]
pub struct Xorshift(u64);

impl Xorshift {
    /// A generator; seeds that differ give different sequences.
    pub fn new(seed: u64) -> Xorshift {
        Xorshift(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.word() % bound.max(1)
    }

    /// A value for a port: a legal variant of an enumeration, else bits that are often few or all.
    pub fn value(&mut self, port: &NetPort) -> Bv {
        if let LeafType::Enum(ty) = &port.ty {
            let variant = self.below(ty.variants.len() as u64) as usize;
            return Bv::from_u64(ty.variants[variant].1, port.width);
        }
        let style = self.below(4);
        let limbs: Vec<u64> = (0..limbs_for(port.width))
            .map(|_| match style {
                0 => self.word() & self.word() & self.word(),
                1 => self.word() | self.word() | self.word(),
                _ => self.word(),
            })
            .collect();
        Bv::from_limbs(&limbs, port.width)
    }
}

/// Drives both backends with the same random inputs for `cycles` cycles and compares every register, memory and counter. No unit sleeps. Done with all
/// observers and with none: what they need is computed for them alone, so native code is another program without them.
///
/// # Errors
/// The first difference, or a module that cannot be simulated.
pub fn compare(module: &Arc<Module>, cycles: u64, seed: u64) -> Result<(), CompareError> {
    compare_with(module, cycles, seed, Probes::All)?;
    compare_with(module, cycles, seed, Probes::None)
}

fn compare_with(module: &Arc<Module>, cycles: u64, seed: u64, probes: Probes) -> Result<(), CompareError> {
    let make = |backend| Design::new(module, Options { backend, probes, sleep: false }).map(|d| Sim::new(&d));
    let (mut native, mut interp) = (make(BackendKind::Native)?, make(BackendKind::Interp)?);
    let design = native.design().clone();
    let ports: Vec<_> = design.inputs.iter().map(|p| native.input(&p.name).expect("listed")).collect();
    let mut random = Xorshift::new(seed);
    let mut busy = 4;
    for cycle in 0..cycles {
        if cycle % 64 == 0 {
            busy = random.below(8) + 1;
        }
        for (port, info) in ports.iter().zip(&design.inputs) {
            if random.below(8) < busy {
                let value = random.value(info);
                native.set_bv(*port, &value);
                interp.set_bv(*port, &value);
            }
        }
        native.step();
        interp.step();
        for unit in 0..design.units.len() {
            if native.state(unit) != interp.state(unit) {
                return Err(difference(&native, &interp, unit, cycle, seed));
            }
        }
    }
    Ok(())
}

fn difference(native: &Sim, interp: &Sim, unit: usize, cycle: u64, seed: u64) -> CompareError {
    let design = native.design();
    let ty = &design.types[design.units[unit].ty];
    let (a, b) = (native.state(unit), interp.state(unit));
    let at = a.iter().zip(b).position(|(x, y)| x != y).expect("they differ");
    let holds = |reg: usize| {
        let from = ty.layout.regs[reg];
        (from..from + limbs_for(ty.netlist.regs[reg].width)).contains(&at)
    };
    let reg = (0..ty.layout.regs.len()).find(|r| holds(*r));
    let mem = ty.layout.mems.iter().rposition(|m| *m <= at);
    let local = match (reg, mem) {
        (Some(reg), _) => format!("register {}", ty.netlist.regs[reg].path),
        (None, Some(m)) => format!("memory {} limb {}", ty.netlist.mems[m].path, at - ty.layout.mems[m]),
        (None, None) => {
            let probe = ty.netlist.probes.get(at.wrapping_sub(ty.layout.probes));
            probe.map_or(format!("state limb {at}"), |p| format!("observer {}", p.name))
        }
    };
    let what = format!("{} {local}", design.units[unit].path);
    let (native, interp) = (format!("{:#x}", a[at]), format!("{:#x}", b[at]));
    CompareError::Differ { cycle, seed, what: what.trim_start().to_string(), native, interp }
}
