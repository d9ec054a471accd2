//! NAMD: pairwise forces between patches, combined with atomics and counters inside each GPU.

use super::common::{LANES, SEED};
use super::machine::{GPUS, Machine};
use super::params::{Legal, ParamSpec, Params};
use super::particles::{apart, moved};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::warm::WARMUP;
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::op::{AmoKind, Scope};
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "namd",
    about: "Molecular dynamics by patches: a work-group per pair of patches adds fixed-point forces by .gpu-scoped \
            atomics; the last one of a patch in each GPU, known by a .gpu-scoped counter, turns the sum into a partial \
            force; a second kernel adds the GPUs' partial forces and moves the atoms (after NAMD 2.10).",
    params: &[
        ParamSpec {
            name: "patches",
            default: "3",
            legal: Legal::Integer { min: 3, max: 32 },
            unit: "patches",
            about: "Patches along each side of the periodic box.",
        },
        ParamSpec {
            name: "atoms",
            default: "16",
            legal: Legal::Integer { min: 4, max: 256 },
            unit: "atoms",
            about: "Atoms of a patch, a multiple of 4; threads of a work-group.",
        },
        ParamSpec {
            name: "steps",
            default: "2",
            legal: Legal::Integer { min: 1, max: 1000 },
            unit: "steps",
            about: "Time steps of two kernels.",
        },
        GPUS,
        LANES,
        SEED,
        WARMUP,
    ],
    published: &[("patches", "16"), ("atoms", "32")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Namd::new, params),
};

/// Patches that a patch's forces come from, itself included.
const AROUND: u64 = 27;
/// Partners in a round.
const UNROLL: u64 = 4;
/// Unit of fixed-point forces: 2^-20.
const FIXED: f32 = (1u32 << 20) as f32;

/// Coordinates x, y, z in units of a patch's side, patch by patch.
const PLACE: usize = 0;
const CHARGE: usize = 1;
const VELOCITY: usize = 2;
/// Per GPU: fixed-point forces.
const SUM: usize = 3;
/// Per GPU: forces as numbers.
const PARTIAL: usize = 4;
/// Per GPU and patch: pairs that have added their forces; and how many there are.
const ARRIVED: usize = 5;
const EXPECTED: usize = 6;

const P_PAIRS: u32 = 0;
const S_CHARGE: u64 = 3;
const S_PARTNER: u64 = 4;
const S_SUM: u64 = 20;
const S_ARRIVED: u64 = 30;
const S_EXPECTED: u64 = 31;
const S_LAST: u64 = 32;

/// The simulation.
#[derive(Clone, Debug)]
pub struct Namd {
    base: Base,
    side: u64,
    /// Atoms of a patch.
    crowd: u64,
    steps: u64,
    machine: Machine,
}

impl Namd {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let (side, seed, machine) = (params.integer("patches"), params.integer("seed"), Machine::new(params));
        let crowd = params.integer("atoms");
        if !crowd.is_multiple_of(UNROLL) {
            return Err(params.illegal("atoms", format!("a multiple of {UNROLL}")));
        }
        let (patches, atoms) = (side * side * side, side * side * side * crowd);
        let place = |i: u64| {
            let (axis, patch) = (i / atoms, i % atoms / crowd);
            let corner = [patch % side, patch / side % side, patch / (side * side)][axis as usize];
            corner as f32 + data::unit(seed, 0, i) - 0.5
        };
        let mut base = Base::new(INFO.name, params);
        let places: Vec<f32> = (0..3 * atoms).map(place).collect();
        base.add("place", 3 * atoms, false, data::f32_bytes(&places));
        base.input("charge", data::f32_bytes(&data::units(seed, 1, atoms as usize)));
        base.zeros("velocity", 3 * atoms);
        base.zeros("sum", machine.gpus * 3 * atoms);
        base.zeros("partial", machine.gpus * 3 * atoms);
        base.zeros("arrived", machine.gpus * patches);
        let mut own = Self { base, side, crowd, steps: params.integer("steps"), machine };
        let expected = own.expected();
        own.base.input("expected", data::u32_bytes(&expected));
        Ok(own)
    }

    fn patches(&self) -> u64 {
        self.side * self.side * self.side
    }

    fn atoms(&self) -> u64 {
        self.patches() * self.crowd
    }

    /// Rounds of the pair kernel that look at partners.
    fn rounds(&self) -> u64 {
        self.crowd / UNROLL
    }

    fn pair_blocks(&self) -> u64 {
        self.machine.padded(self.patches() * AROUND)
    }

    /// Pairs of each patch in each GPU.
    fn expected(&self) -> Vec<u32> {
        let each = self.pair_blocks() / self.machine.gpus;
        let mut expected = vec![0; (self.machine.gpus * self.patches()) as usize];
        for pair in 0..self.patches() * AROUND {
            expected[(pair / each * self.patches() + pair / AROUND) as usize] += 1;
        }
        expected
    }

    /// Neighbour `which` of 27 of a patch.
    fn neighbour(&self, patch: u64, which: u64) -> u64 {
        let side = self.side;
        let at = [patch % side, patch / side % side, patch / (side * side)];
        let step = [which % 3, which / 3 % 3, which / 9];
        let [x, y, z]: [u64; 3] = std::array::from_fn(|axis| (at[axis] + step[axis] + side - 1) % side);
        (z * side + y) * side + x
    }

    fn axis(&self, array: usize, gpu: u64, axis: u64, atom: u64) -> u64 {
        self.base.at(array, (3 * gpu + axis) * self.atoms() + atom)
    }

    /// Registers: place and charge of the own atom, then its fixed-point force.
    fn pairs(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let (patch, which) = (t.block / AROUND, t.block % AROUND);
        if patch >= self.patches() {
            return Flow::End;
        }
        let atom = patch * self.crowd + t.local;
        let gpu = self.machine.gpu_of(t, self.pair_blocks());
        let load = |io: &mut Round, slot, atom| {
            (0..3).for_each(|axis| io.read(slot + axis, self.axis(PLACE, 0, axis, atom)));
            io.read(slot + S_CHARGE, self.base.at(CHARGE, atom));
        };
        if t.round == 0 {
            load(io, 0, atom);
            return Flow::Next;
        }
        if t.round == 1 {
            (0..4).for_each(|i| r[i as usize] = t.bits(i));
        } else if t.round <= self.rounds() + 1 {
            let number = |i: usize| f32::from_bits(r[i] as u32);
            let own = Atom { place: [number(0), number(1), number(2)], charge: number(3) };
            for i in 0..UNROLL {
                let slot = |k| t.float(S_PARTNER + 4 * i + k);
                let other = Atom { place: [slot(0), slot(1), slot(2)], charge: slot(3) };
                let pull = own.pull(&other, self.side as f32);
                (0..3)
                    .for_each(|axis| r[4 + axis] = u64::from((r[4 + axis] as u32).wrapping_add(pull[axis])));
            }
            io.alu(12 * UNROLL);
        }
        let from = (t.round - 1) * UNROLL;
        if from < self.crowd {
            let partner = self.neighbour(patch, which) * self.crowd + from;
            (0..UNROLL).for_each(|i| load(io, S_PARTNER + 4 * i, partner + i));
            return Flow::Next;
        }
        self.combine(t, r, io, gpu, patch)
    }

    /// Adds the forces; the last work-group of the patch in this GPU turns the sum into numbers.
    fn combine(&self, t: &Thread, r: &[u64], io: &mut Round, gpu: u64, patch: u64) -> Flow {
        let atom = patch * self.crowd + t.local;
        let counter = gpu * self.patches() + patch;
        match t.round - self.rounds() - 1 {
            0 => {
                for axis in 0..3 {
                    let at = self.axis(SUM, gpu, axis, atom);
                    io.reduce(S_SUM + axis, AmoKind::Add, 4, at, r[4 + axis as usize], Scope::Gpu);
                }
                Flow::Barrier
            }
            1 => {
                if t.local == 0 {
                    io.read(S_EXPECTED, self.base.at(EXPECTED, counter));
                    io.arrive(S_ARRIVED, AmoKind::Add, self.base.at(ARRIVED, counter), 1, Scope::Gpu);
                }
                Flow::Next
            }
            2 => {
                if t.local == 0 {
                    io.lds_store(0, 0, u64::from(t.bits(S_ARRIVED) + 1 == t.bits(S_EXPECTED)));
                }
                Flow::Barrier
            }
            3 => {
                io.lds_load(S_LAST, 0);
                Flow::Next
            }
            4 if t.bits(S_LAST) == 0 => Flow::End,
            4 => {
                (0..3).for_each(|axis| io.load(S_SUM + axis, self.axis(SUM, gpu, axis, atom)));
                Flow::Next
            }
            _ => {
                io.alu(3);
                for axis in 0..3 {
                    io.put(axis, self.axis(PARTIAL, gpu, axis, atom), number(t.int(S_SUM + axis)));
                }
                Flow::End
            }
        }
    }

    fn advance(&self, t: &Thread, io: &mut Round) -> Flow {
        let gpus = self.machine.gpus;
        let (axis, atom) = (t.id / self.atoms(), t.id % self.atoms());
        if t.round == 0 {
            io.load(0, self.base.at(PLACE, t.id));
            io.load(1, self.base.at(VELOCITY, t.id));
            (0..gpus).for_each(|g| io.read(2 + g, self.axis(PARTIAL, g, axis, atom)));
            return Flow::Next;
        }
        let force = (0..gpus).fold(0.0, |sum, g| sum + t.float(2 + g));
        let (place, velocity) = moved(t.float(0), t.float(1), force);
        io.alu(gpus + 4);
        io.put(0, self.base.at(PLACE, t.id), place);
        io.put(1, self.base.at(VELOCITY, t.id), velocity);
        (0..gpus).for_each(|g| io.store(2 + g, self.axis(SUM, g, axis, atom), 0));
        if t.id < gpus * self.patches() {
            io.store(2 + gpus, self.base.at(ARRIVED, t.id), 0);
        }
        Flow::End
    }
}

/// An atom.
struct Atom {
    place: [f32; 3],
    charge: f32,
}

impl Atom {
    /// Fixed-point force by another atom in a periodic box of `side` patches; zero beyond the distance of a patch.
    fn pull(&self, other: &Atom, side: f32) -> [u32; 3] {
        let (way, square) = apart(self.place, other.place, side);
        let near = (1.0 - square).max(0.0);
        way.map(|d| (d * near * near * self.charge * other.charge * FIXED) as i32 as u32)
    }
}

fn number(fixed: i32) -> f32 {
    fixed as f32 / FIXED
}

impl Kernels for Namd {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let phase = index as u32 % 2;
        ((index as u64) < 2 * self.steps).then(|| match phase {
            P_PAIRS => {
                let threads = self.pair_blocks() * self.crowd;
                Launch::new("namd_pairs", phase, threads, self.crowd as u32).registers(7).lds(4)
            }
            _ => {
                let threads = 3 * self.atoms();
                Launch::new("namd_move", phase, threads, 2 * self.crowd as u32)
            }
        })
    }

    fn round(&self, t: &Thread, registers: &mut [u64], io: &mut Round) -> Flow {
        match t.phase {
            P_PAIRS => self.pairs(t, registers, io),
            _ => self.advance(t, io),
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (atoms, each) = (self.atoms() as usize, self.pair_blocks() / self.machine.gpus);
        let charge = self.base.first::<f32>(CHARGE);
        let mut place = self.base.first::<f32>(PLACE);
        let mut velocity = self.base.first::<f32>(VELOCITY);
        for _ in 0..self.steps {
            let atom = |i: usize| Atom {
                place: std::array::from_fn(|axis| place[axis * atoms + i]),
                charge: charge[i],
            };
            let mut sums = vec![vec![0u32; 3 * atoms]; self.machine.gpus as usize];
            for pair in 0..self.patches() * AROUND {
                let (patch, other) = (pair / AROUND, self.neighbour(pair / AROUND, pair % AROUND));
                let sum = &mut sums[(pair / each) as usize];
                for (i, j) in (0..self.crowd * self.crowd).map(|k| (k / self.crowd, k % self.crowd)) {
                    let own = (patch * self.crowd + i) as usize;
                    let pull = atom(own).pull(&atom((other * self.crowd + j) as usize), self.side as f32);
                    for (axis, pull) in pull.into_iter().enumerate() {
                        sum[axis * atoms + own] = sum[axis * atoms + own].wrapping_add(pull);
                    }
                }
            }
            for i in 0..3 * atoms {
                let force = sums.iter().fold(0.0, |force, sum| force + number(sum[i] as i32));
                (place[i], velocity[i]) = moved(place[i], velocity[i], force);
            }
        }
        self.base.check(PLACE, &place, memory)?;
        self.base.check(VELOCITY, &velocity, memory)
    }
}
