//! A queue of rust-hdl's widgets in front of a REC directory of Weft, in one rust-hdl design: simulated in rust-hdl's loop, compared with Weft's engine in every
//! cycle, and exported. `cargo run -p weft-rust-hdl --example queued_directory [FOLDER]` writes the Verilog into the folder.
//!
//! ```text
//!  write, request --> SynchronousFIFO (rust-hdl) --> Directory (Weft) --> rsp, inv
//!  full           <--      8 requests                rec-directory    <-- rsp_ready, inv_ready
//! ```

use rust_hdl_core::prelude::*;
use rust_hdl_widgets::prelude::*;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use weft_engine::compare::Xorshift;
use weft_engine::{Design, InPort, Options, OutPort, Sim as Engine};
use weft_rtl::ir::Module;
use weft_rust_hdl::{BridgeError, weft_block};

weft_block! {
    /// The block `rec-directory` for four GPUs.
    pub struct Directory {
        pub req_valid: Signal<In, Bit>,
        pub req_op: Signal<In, Bits<3>>,
        pub req_src: Signal<In, Bits<2>>,
        pub req_line: Signal<In, Bits<42>>,
        pub req_id: Signal<In, Bits<6>>,
        pub req_ready: Signal<Out, Bit>,
        pub rsp_valid: Signal<Out, Bit>,
        pub rsp_id: Signal<Out, Bits<6>>,
        pub rsp_hit: Signal<Out, Bit>,
        pub rsp_evicted: Signal<Out, Bit>,
        pub rsp_empty: Signal<Out, Bit>,
        pub rsp_ready: Signal<In, Bit>,
        pub inv_valid: Signal<Out, Bit>,
        pub inv_line: Signal<Out, Bits<42>>,
        pub inv_dest: Signal<Out, Bits<4>>,
        pub inv_cause: Signal<Out, Bit>,
        pub inv_grp: Signal<Out, Bit>,
        pub inv_ready: Signal<In, Bit>,
    }
}

/// The directory behind a queue of requests.
#[derive(LogicBlock)]
pub struct QueuedDirectory {
    /// Everything happens at its rising edge.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset of the directory, active high; the queue relies on initial values.
    pub reset: Signal<In, Bit>,
    /// Puts a request into the queue; not while it is full.
    pub write: Signal<In, Bit>,
    /// From bit 0: op 3, src 2, line 42, id 6.
    pub request: Signal<In, Bits<53>>,
    /// Channel `rsp` of the directory.
    pub rsp_ready: Signal<In, Bit>,
    /// Channel `inv` of the directory.
    pub inv_ready: Signal<In, Bit>,
    /// The queue takes no request.
    pub full: Signal<Out, Bit>,
    /// Port `rsp_valid` of the directory.
    pub rsp_valid: Signal<Out, Bit>,
    /// Port `rsp_id` of the directory.
    pub rsp_id: Signal<Out, Bits<6>>,
    /// Port `rsp_hit` of the directory.
    pub rsp_hit: Signal<Out, Bit>,
    /// Port `rsp_evicted` of the directory.
    pub rsp_evicted: Signal<Out, Bit>,
    /// Port `rsp_empty` of the directory.
    pub rsp_empty: Signal<Out, Bit>,
    /// Port `inv_valid` of the directory.
    pub inv_valid: Signal<Out, Bit>,
    /// Port `inv_line` of the directory.
    pub inv_line: Signal<Out, Bits<42>>,
    /// Port `inv_dest` of the directory.
    pub inv_dest: Signal<Out, Bits<4>>,
    /// Port `inv_cause` of the directory.
    pub inv_cause: Signal<Out, Bit>,
    /// Port `inv_grp` of the directory.
    pub inv_grp: Signal<Out, Bit>,
    queue: SynchronousFIFO<Bits<53>, 3, 4, 1>,
    directory: Directory,
}

impl QueuedDirectory {
    /// Around a directory's module.
    ///
    /// # Errors
    /// A module with other ports than [`Directory`].
    pub fn new(module: &Arc<Module>) -> Result<QueuedDirectory, BridgeError> {
        Ok(QueuedDirectory {
            clock: Default::default(),
            reset: Default::default(),
            write: Default::default(),
            request: Default::default(),
            rsp_ready: Default::default(),
            inv_ready: Default::default(),
            full: Default::default(),
            rsp_valid: Default::default(),
            rsp_id: Default::default(),
            rsp_hit: Default::default(),
            rsp_evicted: Default::default(),
            rsp_empty: Default::default(),
            inv_valid: Default::default(),
            inv_line: Default::default(),
            inv_dest: Default::default(),
            inv_cause: Default::default(),
            inv_grp: Default::default(),
            queue: Default::default(),
            directory: Directory::new(module)?,
        })
    }
}

impl Logic for QueuedDirectory {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, queue, directory);
        self.queue.write.next = self.write.val();
        self.queue.data_in.next = self.request.val();
        self.full.next = self.queue.full.val();
        self.queue.read.next = self.directory.req_ready.val() & !self.queue.empty.val();
        self.directory.reset.next = self.reset.val();
        self.directory.req_valid.next = !self.queue.empty.val();
        self.directory.req_op.next = self.queue.data_out.val().get_bits::<3>(0);
        self.directory.req_src.next = self.queue.data_out.val().get_bits::<2>(3);
        self.directory.req_line.next = self.queue.data_out.val().get_bits::<42>(5);
        self.directory.req_id.next = self.queue.data_out.val().get_bits::<6>(47);
        self.directory.rsp_ready.next = self.rsp_ready.val();
        self.directory.inv_ready.next = self.inv_ready.val();
        self.rsp_valid.next = self.directory.rsp_valid.val();
        self.rsp_id.next = self.directory.rsp_id.val();
        self.rsp_hit.next = self.directory.rsp_hit.val();
        self.rsp_evicted.next = self.directory.rsp_evicted.val();
        self.rsp_empty.next = self.directory.rsp_empty.val();
        self.inv_valid.next = self.directory.inv_valid.val();
        self.inv_line.next = self.directory.inv_line.val();
        self.inv_dest.next = self.directory.inv_dest.val();
        self.inv_cause.next = self.directory.inv_cause.val();
        self.inv_grp.next = self.directory.inv_grp.val();
    }
}

/// Inputs of the design besides the clock, with widths.
pub const INPUTS: &[(&str, u32)] =
    &[("reset", 1), ("write", 1), ("request", 53), ("rsp_ready", 1), ("inv_ready", 1)];

/// Its outputs, with widths. All but the first are the directory's.
pub const OUTPUTS: &[(&str, u32)] = &[
    ("full", 1),
    ("rsp_valid", 1),
    ("rsp_id", 6),
    ("rsp_hit", 1),
    ("rsp_evicted", 1),
    ("rsp_empty", 1),
    ("inv_valid", 1),
    ("inv_line", 42),
    ("inv_dest", 4),
    ("inv_cause", 1),
    ("inv_grp", 1),
];

impl QueuedDirectory {
    fn drive(&mut self, inputs: &[u64]) {
        self.reset.next = inputs[0] == 1;
        self.write.next = inputs[1] == 1;
        self.request.next = inputs[2].into();
        self.rsp_ready.next = inputs[3] == 1;
        self.inv_ready.next = inputs[4] == 1;
    }

    fn read(&self) -> Vec<u64> {
        vec![
            self.full.val().into(),
            self.rsp_valid.val().into(),
            self.rsp_id.val().into(),
            self.rsp_hit.val().into(),
            self.rsp_evicted.val().into(),
            self.rsp_empty.val().into(),
            self.inv_valid.val().into(),
            self.inv_line.val().into(),
            self.inv_dest.val().into(),
            self.inv_cause.val().into(),
            self.inv_grp.val().into(),
        ]
    }
}

/// Requests in the queue.
const DEPTH: usize = 8;

/// The queue as it behaves at its ports: a request is seen one cycle after it was written.
#[derive(Default)]
struct Queue {
    rows: [u64; DEPTH],
    written: usize,
    seen: usize,
    taken: usize,
}

impl Queue {
    fn front(&self) -> Option<u64> {
        (self.seen != self.taken).then(|| self.rows[self.taken % DEPTH])
    }

    fn full(&self) -> bool {
        self.front().is_some() && self.written % DEPTH == self.taken % DEPTH
    }

    fn clock(&mut self, write: Option<u64>, take: bool) {
        let (full, some) = (self.full(), self.front().is_some());
        self.seen = self.written;
        if let Some(request) = write.filter(|_| !full) {
            self.rows[self.written % DEPTH] = request;
            self.written += 1;
        }
        self.taken += usize::from(take && some);
    }
}

/// The directory alone on Weft's engine.
struct Plain {
    engine: Engine,
    req: [InPort; 5],
    ready: [InPort; 2],
    taken: OutPort,
    outputs: Vec<OutPort>,
}

impl Plain {
    fn new(module: &Arc<Module>) -> Result<Plain, Box<dyn Error>> {
        let engine = Engine::new(&Design::new(module, Options::default())?);
        let input = |name: &str| engine.input(name).expect("a port of a directory");
        let output = |name: &str| engine.output(name).expect("a port of a directory");
        Ok(Plain {
            req: ["req_valid", "req_op", "req_src", "req_line", "req_id"].map(input),
            ready: ["rsp_ready", "inv_ready"].map(input),
            taken: output("req_ready"),
            outputs: OUTPUTS[1..].iter().map(|(name, _)| output(name)).collect(),
            engine,
        })
    }

    fn clock(&mut self, reset: bool, request: Option<u64>, ready: [u64; 2]) {
        let packed = request.unwrap_or(0);
        let field = |low: u32, width: u32| packed >> low & ((1 << width) - 1);
        let fields = [request.is_some().into(), field(0, 3), field(3, 2), field(5, 42), field(47, 6)];
        self.req.iter().zip(fields).for_each(|(port, value)| self.engine.set(*port, value));
        self.ready.iter().zip(ready).for_each(|(port, value)| self.engine.set(*port, value));
        if reset { self.engine.step_in_reset() } else { self.engine.step() }
    }
}

/// Inputs and outputs of each cycle.
pub type Cycles = (Vec<Vec<u64>>, Vec<Vec<u64>>);

/// Random requests on few lines, so that they meet, and what the queue's behaviour and the directory on the engine make of them.
///
/// # Errors
/// A module that the engine refuses.
pub fn expected(module: &Arc<Module>, cycles: usize) -> Result<Cycles, Box<dyn Error>> {
    let (mut queue, mut plain) = (Queue::default(), Plain::new(module)?);
    let mut random = Xorshift::new(5);
    let (mut stimulus, mut outputs) = (Vec::new(), Vec::new());
    for cycle in 0..cycles {
        let reset = cycle < 3;
        let seen: Vec<u64> = plain.outputs.iter().map(|port| plain.engine.get(*port)).collect();
        outputs.push([vec![queue.full().into()], seen].concat());
        // Phases of many and of few requests fill and drain the queue.
        let wanted = random.below(8) < if cycle % 400 < 200 { 7 } else { 1 };
        let op = random.below(4);
        // Local writes (op 2) come from the home, GPU 0; everything else from another.
        let source = if op == 2 { 0 } else { 1 + random.below(3) };
        let line = random.below(24) * 16 + random.below(4);
        let request = op | source << 3 | line << 5 | random.below(64) << 47;
        let write = wanted && !reset && !queue.full();
        let ready = [random.below(4) != 0, random.below(3) != 0].map(u64::from);
        stimulus.push(vec![reset.into(), write.into(), request, ready[0], ready[1]]);
        let taken = plain.engine.get(plain.taken) == 1;
        plain.clock(reset, queue.front(), ready);
        queue.clock(write.then_some(request), taken);
    }
    match plain.engine.failures().first() {
        Some(failure) => Err(format!("assertion {} in cycle {}", failure.name, failure.cycle).into()),
        None => Ok((stimulus, outputs)),
    }
}

/// Half a clock cycle in rust-hdl's time.
const HALF: u64 = 5;

/// The outputs of every cycle in rust-hdl's simulator: inputs change at the falling edge, outputs are read before the rising one.
///
/// # Errors
/// A simulation that does not come to its end.
pub fn simulated(design: QueuedDirectory, stimulus: &[Vec<u64>]) -> Result<Vec<Vec<u64>>, Box<dyn Error>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut simulation = Simulation::new();
    simulation.add_clock(HALF, |design: &mut Box<QueuedDirectory>| design.clock.next = !design.clock.val());
    let (inputs, outputs) = (stimulus.to_vec(), seen.clone());
    simulation.add_testbench(move |mut sim: Sim<QueuedDirectory>| {
        let mut design = sim.init()?;
        for values in &inputs {
            design.drive(values);
            design = sim.wait(HALF - 1, design)?;
            outputs.lock().expect("no test bench panicked").push(design.read());
            design = sim.wait(HALF + 1, design)?;
        }
        sim.done(design)
    });
    simulation.run(Box::new(design), u64::MAX - 1).map_err(|e| format!("rust-hdl's simulation: {e:?}"))?;
    let outputs = seen.lock().expect("no test bench panicked");
    Ok(outputs.clone())
}

/// A directory of 64 entries.
///
/// # Errors
/// None: its parameters are legal.
pub fn directory() -> Result<Arc<Module>, Box<dyn Error>> {
    let given = [("entries", "64"), ("ways", "4")].map(|(key, value)| (key.to_string(), value.to_string()));
    Ok(weft_catalog::build("rec-directory", &BTreeMap::from(given))?)
}

/// Simulates, compares and exports; the cycles compared, and the Verilog.
///
/// # Errors
/// The first cycle in which the design differs from the engine.
pub fn run(cycles: usize) -> Result<(Cycles, String), Box<dyn Error>> {
    let module = directory()?;
    let (stimulus, expected) = expected(&module, cycles)?;
    let seen = simulated(QueuedDirectory::new(&module)?, &stimulus)?;
    if let Some(cycle) = (0..cycles).find(|cycle| seen.get(*cycle) != expected.get(*cycle)) {
        let (seen, expected) = (seen.get(cycle), expected.get(cycle));
        return Err(format!("cycle {cycle}: the design shows {seen:?}, the engine {expected:?}").into());
    }
    let mut design = QueuedDirectory::new(&module)?;
    design.connect_all();
    Ok(((stimulus, expected), generate_verilog(&design)))
}

fn main() -> Result<(), Box<dyn Error>> {
    let ((_, outputs), verilog) = run(3000)?;
    let many = |at: usize| outputs.iter().filter(|cycle| cycle[at] == 1).count();
    println!(
        "3000 cycles equal to the engine: {} with the queue full, {} with an answer, {} with an Inv offered",
        many(0),
        many(1),
        many(6)
    );
    println!("{} lines of Verilog", verilog.lines().count());
    if let Some(folder) = std::env::args().nth(1).map(PathBuf::from) {
        let file = folder.join("queued_directory.v");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(&file, verilog)?;
        println!("wrote {}", file.display());
    }
    Ok(())
}
