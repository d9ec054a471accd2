//! The traffic in Rust around the engine.

use super::super::ports::Channel;
use super::super::random::Xorshift;
use super::{BenchError, BenchOptions, BenchResult, PER_DRAW, TABLE, Tables, Wire, mix, peak_memory};
use crate::cpu::thread_seconds;
use std::sync::Arc;
use std::time::Instant;
use weft_engine::{Design, InGroup, InPort, Options, OutPort, Probes, Sim};
use weft_rtl::bv::Bv;
use weft_rtl::ir::Module;

/// Messages, one row after the other.
struct Rows {
    /// Ports that lie next to each other together, with their limbs.
    groups: Vec<(InGroup, usize)>,
    /// Ports that several units read.
    ports: Vec<(InPort, usize)>,
    /// Limbs of a row.
    stride: usize,
    limbs: Vec<u64>,
}

impl Rows {
    fn new(sim: &Sim, inputs: &[usize], tables: &Tables, ports: &[InPort]) -> Rows {
        let limbs_of = |input: &usize| tables.values[*input][0].limbs().len();
        let (mut groups, mut order) = (Vec::new(), Vec::<usize>::new());
        let mut left = inputs;
        let mut single = Vec::new();
        while let [first, rest @ ..] = left {
            let group = |length: usize| {
                sim.group(&left[..length].iter().map(|input| ports[*input]).collect::<Vec<_>>())
            };
            let Some(longest) = (1..=left.len()).take_while(|length| group(*length).is_some()).last() else {
                single.push(*first);
                left = rest;
                continue;
            };
            let own = &left[..longest];
            groups.push((group(longest).expect("found above"), own.iter().map(limbs_of).sum()));
            order.extend(own);
            left = &left[longest..];
        }
        order.extend(&single);
        let ports = single.iter().map(|input| (ports[*input], limbs_of(input))).collect();
        let row = |r: usize| order.iter().flat_map(move |i| tables.values[*i][r].limbs().iter().copied());
        let limbs = (0..TABLE).flat_map(row).collect();
        Rows { groups, ports, stride: order.iter().map(limbs_of).sum(), limbs }
    }

    #[inline]
    fn drive(&self, sim: &mut Sim, row: usize) {
        let mut row = &self.limbs[row * self.stride..][..self.stride];
        for (group, limbs) in &self.groups {
            let (own, rest) = row.split_at(*limbs);
            sim.set_group(*group, own);
            row = rest;
        }
        for (port, limbs) in &self.ports {
            let (own, rest) = row.split_at(*limbs);
            sim.set_limbs(*port, own);
            row = rest;
        }
    }
}

/// A wire into the module.
struct Pulses {
    valid: InPort,
    /// A message is on it.
    mine: bool,
    row: usize,
    rows: Rows,
}

/// A credit that goes back in the cycle after a message has left.
struct Credit {
    back: InPort,
    message: OutPort,
    /// One left in the last cycle.
    left: bool,
}

/// One channel, seen from outside the module.
struct Lane {
    /// Draws new random bits, used by the lanes after it too.
    first: bool,
    /// Where its four random bits are.
    shift: u32,
    /// Willing when the bits are below this.
    limit: u64,
    /// The module receives: a message that is offered stays until it is taken.
    into: bool,
    /// Its `valid` or `ready` that is driven, and the other one.
    own: InPort,
    other: OutPort,
    /// Offered, or ready.
    mine: bool,
    /// The other side was willing in the last cycle.
    theirs: bool,
    row: usize,
    rows: Rows,
}

/// A simulation with its traffic.
struct Bench {
    sim: Sim,
    lanes: Vec<Lane>,
    wires: Vec<Pulses>,
    credits: Vec<Credit>,
    offer: u64,
    loose: Rows,
    outs: Vec<OutPort>,
    look: u64,
    rng: Xorshift,
    sum: u64,
    transfers: u64,
}

impl Bench {
    fn new(design: &Arc<Design>, tables: &Tables, options: &BenchOptions) -> Bench {
        let mut sim = Sim::new(design);
        let ports = &tables.ports;
        let ins: Vec<InPort> =
            ports.inputs.iter().map(|p| sim.input(&p.name).expect("a port of the module")).collect();
        let outs: Vec<OutPort> =
            ports.outputs.iter().map(|p| sim.output(&p.name).expect("a port of the module")).collect();
        let lane = |(c, channel): (usize, &Channel)| {
            let (into, own, other, limit, message) = match channel {
                Channel::Into { valid, ready, message } => {
                    (true, ins[*valid], outs[*ready], options.offer_of_16, message.as_slice())
                }
                Channel::OutOf { valid, ready } => {
                    (false, ins[*ready], outs[*valid], options.ready_of_16, [].as_slice())
                }
            };
            let (first, shift) = (c % PER_DRAW == 0, 4 * (c % PER_DRAW) as u32);
            let rows = Rows::new(&sim, message, tables, &ins);
            Lane { first, shift, limit, into, own, other, mine: false, theirs: false, row: 0, rows }
        };
        let lanes = ports.channels.iter().enumerate().map(lane).collect();
        let wire = |wire: &Wire| Pulses {
            valid: ins[wire.valid],
            mine: false,
            row: 0,
            rows: Rows::new(&sim, &wire.message, tables, &ins),
        };
        let wires = tables.wires.iter().map(wire).collect();
        let credit = |(back, message): &(usize, usize)| Credit {
            back: ins[*back],
            message: outs[*message],
            left: false,
        };
        let credits = tables.credits.iter().map(credit).collect();
        let loose = Rows::new(&sim, &tables.loose, tables, &ins);
        for (input, value) in &tables.held {
            sim.set_bv(ins[*input], &Bv::from_u64(*value, ports.inputs[*input].width));
        }
        let rng = Xorshift::new(options.seed);
        let (offer, look) = (options.offer_of_16, tables.look);
        Bench { sim, lanes, wires, credits, offer, loose, outs, look, rng, sum: 0, transfers: 0 }
    }

    /// One cycle: inputs change, handshakes are seen, the clock ticks.
    #[inline]
    fn cycle(&mut self, cycle: u64) {
        let Bench { sim, lanes, wires, credits, offer, loose, outs, look, rng, sum, transfers } = self;
        let (mut bits, mut shakes) = (0, 0u64);
        for lane in lanes.iter_mut() {
            if lane.first {
                bits = rng.draw();
            }
            if !(lane.into && lane.mine && !lane.theirs) {
                let willing = (bits >> lane.shift) & 15 < lane.limit;
                if willing && lane.into {
                    lane.row = (lane.row + 1) % TABLE;
                    lane.rows.drive(sim, lane.row);
                }
                if willing != lane.mine {
                    sim.set_limbs(lane.own, &[u64::from(willing)]);
                    lane.mine = willing;
                }
            }
            lane.theirs = sim.get(lane.other) != 0;
            shakes = shakes.rotate_left(1) ^ u64::from(lane.theirs);
            *transfers += u64::from(lane.theirs & lane.mine);
        }
        for (number, wire) in wires.iter_mut().enumerate() {
            if number % PER_DRAW == 0 {
                bits = rng.draw();
            }
            let sends = (bits >> (4 * (number % PER_DRAW))) & 15 < *offer;
            if sends {
                wire.row = (wire.row + 1) % TABLE;
                wire.rows.drive(sim, wire.row);
            }
            if sends != wire.mine {
                sim.set_limbs(wire.valid, &[u64::from(sends)]);
                wire.mine = sends;
            }
            *transfers += u64::from(sends);
        }
        for credit in credits.iter_mut() {
            sim.set_limbs(credit.back, &[u64::from(credit.left)]);
            credit.left = sim.get(credit.message) != 0;
            shakes = shakes.rotate_left(1) ^ u64::from(credit.left);
            *transfers += u64::from(credit.left);
        }
        if loose.stride > 0 {
            loose.drive(sim, cycle as usize % TABLE);
        }
        *sum = mix(*sum, shakes);
        if cycle & (*look - 1) == 0 {
            for out in outs.iter() {
                if out.is_register() {
                    sim.limbs(*out).iter().for_each(|limb| *sum = mix(*sum, *limb));
                } else {
                    sim.get_bv(*out).limbs().iter().for_each(|limb| *sum = mix(*sum, *limb));
                }
            }
        }
        sim.step();
    }
}

/// The engine, ready for any number of runs.
pub struct EngineBench {
    design: Arc<Design>,
    tables: Tables,
    options: BenchOptions,
    result: BenchResult,
}

impl EngineBench {
    /// Compiles the module.
    ///
    /// # Errors
    /// What [`Design::new`] refuses; a held input that the module does not have.
    pub fn new(module: &Arc<Module>, options: &BenchOptions) -> Result<EngineBench, BenchError> {
        let tables = Tables::draw(module, options)?;
        let start = Instant::now();
        let design = Design::new(module, Options { probes: Probes::None, ..options.engine })?;
        let result = BenchResult {
            name: "engine",
            cycles: options.cycles,
            seconds: Vec::new(),
            build_seconds: start.elapsed().as_secs_f64(),
            transfers: 0,
            checksum: 0,
            peak_bytes: None,
        };
        Ok(EngineBench { design, tables, options: options.clone(), result })
    }

    /// Runs the traffic once.
    pub fn run(&mut self) {
        let mut bench = Bench::new(&self.design, &self.tables, &self.options);
        let start = thread_seconds();
        (0..self.options.cycles).for_each(|cycle| bench.cycle(cycle));
        self.result.seconds.push(thread_seconds() - start);
        (self.result.checksum, self.result.transfers) = (bench.sum, bench.transfers);
    }

    /// What the runs have measured.
    pub fn result(self) -> BenchResult {
        BenchResult { peak_bytes: peak_memory(), ..self.result }
    }
}
