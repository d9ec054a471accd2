//! What every bridged block holds: the simulation, its ports, its Verilog.

use crate::declare::{declaration, field};
use crate::error::BridgeError;
use crate::pin::{Pin, PinDirection};
use rust_hdl_core::ast::{Verilog, Wrapper};
use rust_hdl_core::timing::TimingInfo;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use weft_engine::{Design, Driver, InPort, Options, OutPort, Sim};
use weft_rtl::bv::limbs_for;
use weft_rtl::ir::{Module, ModuleKind, SigKind};
use weft_rtl::verilog::emit;

/// A module compiled once, from which any number of instances are made.
#[derive(Clone)]
pub struct Prepared {
    module: Arc<Module>,
    design: Arc<Design>,
}

impl Prepared {
    /// Compiles a block or a fabric.
    ///
    /// # Errors
    /// [`BridgeError::Part`], [`BridgeError::PassedThrough`], and what the engine refuses.
    pub fn new(module: &Arc<Module>) -> Result<Prepared, BridgeError> {
        Prepared::with_options(module, Options::default())
    }

    /// Compiles with options of the engine, for example without assertions.
    ///
    /// # Errors
    /// As [`Prepared::new`].
    pub fn with_options(module: &Arc<Module>, options: Options) -> Result<Prepared, BridgeError> {
        if module.kind == ModuleKind::Part {
            return Err(BridgeError::Part { module: module.name.clone() });
        }
        let design = Design::new(module, options)?;
        let through = (0..design.outputs.len()).find(|o| matches!(design.output_driver(*o), Driver::Top(_)));
        match through {
            Some(output) => Err(BridgeError::PassedThrough {
                module: module.name.clone(),
                port: design.outputs[output].name.clone(),
            }),
            None => Ok(Prepared { module: module.clone(), design }),
        }
    }

    /// The module.
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }
}

/// What a pin was declared as.
#[derive(Clone, Copy, Debug)]
pub struct PinShape {
    name: &'static str,
    direction: PinDirection,
    width: u32,
}

impl PinShape {
    /// The shape of a signal's type under a port's name.
    pub fn of<P: Pin>(name: &'static str) -> PinShape {
        PinShape { name, direction: P::direction(), width: P::width() }
    }
}

/// A port in the order of the pins, with its limbs.
enum Port {
    In(InPort, usize),
    Out(OutPort),
}

/// The inside of a block made by [`weft_block!`](crate::weft_block): a simulation of its own, clocked by rust-hdl's.
pub struct BlockCore {
    sim: Sim,
    module: Arc<Module>,
    ports: Vec<Port>,
    names: Vec<(&'static str, PinDirection)>,
    buffer: Vec<u64>,
    wrapper: OnceLock<Wrapper>,
}

impl BlockCore {
    /// A simulation after reset, for a block of type `ty` that declares `pins`.
    ///
    /// # Errors
    /// [`BridgeError::Ports`], with all that differs from the module.
    pub fn new(ty: &str, prepared: &Prepared, pins: &[PinShape]) -> Result<BlockCore, BridgeError> {
        let Prepared { module, design } = prepared;
        let problems = differences(module, pins);
        if !problems.is_empty() {
            return Err(BridgeError::Ports {
                ty: ty.into(),
                module: module.name.clone(),
                problems: problems.join(", "),
                declaration: declaration(module, ty),
            });
        }
        let sim = Sim::new(design);
        let port = |pin: &PinShape| {
            let (_, port) = module.ports().find(|(_, port)| field(&port.name) == pin.name)?;
            match pin.direction {
                PinDirection::In => sim.input(&port.name).map(|port| Port::In(port, limbs_for(pin.width))),
                PinDirection::Out => sim.output(&port.name).map(Port::Out),
            }
        };
        let ports: Vec<Port> = pins.iter().filter_map(port).collect();
        debug_assert_eq!(ports.len(), pins.len(), "the simulation has every port of its module");
        let widest = pins.iter().map(|pin| limbs_for(pin.width)).max().unwrap_or(0);
        Ok(BlockCore {
            sim,
            module: module.clone(),
            ports,
            names: pins.iter().map(|pin| (pin.name, pin.direction)).collect(),
            buffer: vec![0; widest],
            wrapper: OnceLock::new(),
        })
    }

    /// The simulation: for reading registers, memories and observers in a test bench.
    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    /// One rising edge: inputs in, one cycle, outputs out.
    ///
    /// # Panics
    /// When an assertion of the block fails: rust-hdl's `update` has no other way to report.
    pub fn clock(&mut self, reset: bool, pins: &mut [&mut dyn Pin]) {
        for (port, pin) in self.ports.iter().zip(pins.iter()) {
            if let Port::In(port, limbs) = port {
                let limbs = &mut self.buffer[..*limbs];
                pin.sample(limbs);
                self.sim.set_limbs(*port, limbs);
            }
        }
        if reset {
            self.sim.step_in_reset();
        } else {
            self.sim.step();
        }
        if let Some(failure) = self.sim.failures().first() {
            let of = if failure.path.is_empty() { &self.module.name } else { &failure.path };
            let (name, cycle, text, at) = (&failure.name, failure.cycle, &failure.text, &failure.at);
            panic!("assertion {name} of {of} failed in cycle {cycle}: {text} ({at})");
        }
        self.show(pins);
    }

    /// Gives the output pins the values of the ports.
    pub fn show(&self, pins: &mut [&mut dyn Pin]) {
        for (port, pin) in self.ports.iter().zip(pins) {
            if let Port::Out(port) = port {
                pin.show(self.sim.limbs(*port));
            }
        }
    }

    /// For rust-hdl's export: the block's own Verilog, and a module around it that has the names of rust-hdl.
    pub fn hdl(&self) -> Verilog {
        Verilog::Wrapper(self.wrapper.get_or_init(|| wrapper(&self.module)).clone())
    }

    /// For rust-hdl's timing check: every path begins and ends at a register.
    pub fn timing(&self) -> Vec<TimingInfo> {
        let of = |direction| {
            self.names.iter().filter(move |(_, d)| *d == direction).map(|(name, _)| name.to_string())
        };
        let inputs = std::iter::once("reset".to_string()).chain(of(PinDirection::In)).collect();
        let outputs = of(PinDirection::Out).collect();
        vec![TimingInfo { name: self.module.name.clone(), clock: "clock".into(), inputs, outputs }]
    }
}

/// What is wrong with the pins declared, as parts of a sentence.
fn differences(module: &Module, pins: &[PinShape]) -> Vec<String> {
    let mut problems = Vec::new();
    for pin in pins {
        let PinShape { name, direction, width } = *pin;
        let Some((_, port)) = module.ports().find(|(_, port)| field(&port.name) == name) else {
            problems.push(format!("it has no {name}"));
            continue;
        };
        let is = if port.kind == SigKind::Input { PinDirection::In } else { PinDirection::Out };
        if is != direction {
            problems.push(format!("{name} is {is:?}, not {direction:?}"));
        }
        if port.width != width {
            problems.push(format!("{name} has {} bits, not {width}", port.width));
        }
    }
    let missing = module.ports().filter(|(_, port)| pins.iter().all(|pin| pin.name != field(&port.name)));
    problems.extend(missing.map(|(_, port)| format!("{} is not declared", field(&port.name))));
    problems
}

/// Every instance of a rust-hdl design brings its Verilog; a guard lets the first one in. The guard's number is made from the text, so that different
/// modules of one name are not mistaken for each other: the Verilog tool refuses the second.
fn wrapper(module: &Arc<Module>) -> Wrapper {
    let files = emit(module);
    let mut cores = String::new();
    for file in &files {
        let name = file.name.trim_end_matches(".v");
        let guard = format!("WEFT_{name}_{:016x}", fnv(&file.text));
        let _ = writeln!(cores, "\n`ifndef {guard}\n`define {guard}\n{}`endif", file.text);
    }
    let top = files.last().map_or(module.name.as_str(), |file| file.name.trim_end_matches(".v"));
    let pins: String =
        module.ports().map(|(_, port)| format!(",\n    .{}({})", port.name, field(&port.name))).collect();
    // A dollar sign is in no name of Weft's, so the instance meets no port.
    let code = format!("{top} weft$block (\n    .clk(clock),\n    .rst(reset){pins}\n);\n");
    Wrapper { code, cores }
}

/// FNV-1a hash of a text.
fn fnv(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
