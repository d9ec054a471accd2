//! LAVA (Rodinia lavaMD): forces between the particles of neighbouring boxes.

use super::super::common::{LANES, SEED};
use super::super::params::{Legal, ParamSpec, Params};
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "lava",
    about: "Potentials and forces of particles in boxes: a work-group for each box brings one neighbour box after the other to \
            the scratchpad and adds each pair's part to its own results in memory (Rodinia lavaMD).",
    params: &[
        ParamSpec {
            name: "boxes",
            default: "2",
            legal: Legal::Integer { min: 1, max: 32 },
            unit: "boxes",
            about: "Boxes along each side of the space.",
        },
        ParamSpec {
            name: "particles",
            default: "20",
            legal: Legal::Integer { min: 1, max: GROUP as u64 },
            unit: "particles",
            about: "Particles of a box.",
        },
        LANES,
        SEED,
    ],
    published: &[("boxes", "2"), ("particles", "100")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Lava::new, params),
};

/// Threads of a work-group; those beyond the particles only wait.
const GROUP: u32 = 128;
/// Words of a particle's place, and of its result: potential and force.
const PARTS: u64 = 4;
/// Boxes near one, itself included.
const NEAR: u64 = 27;

/// Half the squared distance from the origin, then the coordinates, of each particle.
const PLACE: usize = 0;
const CHARGE: usize = 1;
/// Of each box how many are near it, and which: itself first.
const BOXES: usize = 2;
const RESULT: usize = 3;

/// Slots: the thread's own place; its result; the partner's place and charge; which box is near, and how many.
const S_OWN: u64 = 0;
const S_RESULT: u64 = 4;
const S_PARTNER: u64 = 8;
const S_BOX: u64 = 13;
const S_COUNT: u64 = 14;

/// Twice the squared range of the force, inverted.
const DECAY: f32 = 0.5;

/// The simulation.
#[derive(Clone, Debug)]
pub struct Lava {
    base: Base,
    boxes: u64,
    particles: u64,
}

/// What a partner of a charge adds to potential and force.
fn part(own: [f32; 4], other: [f32; 4], charge: f32) -> [f32; 4] {
    let product = own[1] * other[1] + own[2] * other[2] + own[3] * other[3];
    let decay = (-DECAY * (own[0] + other[0] - product)).exp();
    let force = 2.0 * decay;
    std::array::from_fn(|i| match i {
        0 => charge * decay,
        _ => charge * (force * (own[i] - other[i])),
    })
}

impl Lava {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [boxes, particles, seed] = ["boxes", "particles", "seed"].map(|name| params.integer(name));
        let count = boxes.pow(3) * particles;
        let places = (0..count).flat_map(|i| {
            let [x, y, z] = [0, 1, 2].map(|axis| data::unit(seed, axis, i));
            [(x * x + y * y + z * z) / 2.0, x, y, z]
        });
        let mut base = Base::new(INFO.name, params);
        base.input("place", data::f32_bytes(&places.collect::<Vec<_>>()));
        base.input("charge", data::f32_bytes(&data::units(seed, 3, count as usize)));
        let near = (0..boxes.pow(3)).flat_map(|b| {
            let near = near(boxes, b);
            let mut list = vec![near.len() as u32];
            list.extend(near.iter().map(|b| *b as u32));
            list.resize(NEAR as usize + 1, 0);
            list
        });
        base.input("boxes", data::u32_bytes(&near.collect::<Vec<_>>()));
        base.zeros("result", PARTS * count);
        Ok(Self { base, boxes, particles })
    }

    fn word(&self, array: usize, particle: u64, part: u64) -> u64 {
        self.base.at(array, PARTS * particle + part)
    }

    /// Adds what partner number `with` of the box in the scratchpad gives to the thread's result.
    fn add(&self, t: &Thread, result: &[u64; 4], io: &mut Round) {
        let place = |slot: u64| std::array::from_fn(|i| t.float(slot + i as u64));
        let part = part(place(S_OWN), place(S_PARTNER), t.float(S_PARTNER + PARTS));
        io.alu(12);
        io.sfu(1);
        for (slot, (addr, part)) in (0..).zip(result.iter().zip(part)) {
            io.put(slot, *addr, t.float(S_RESULT + slot) + part);
        }
    }
}

/// A box, then those that touch it, in the order of their numbers.
fn near(boxes: u64, home: u64) -> Vec<u64> {
    let place = |b: u64| [b / (boxes * boxes), b / boxes % boxes, b % boxes];
    let touch = |b: &u64| place(*b).iter().zip(place(home)).all(|(a, h)| a.abs_diff(h) <= 1);
    let others = (0..boxes.pow(3)).filter(|b| *b != home).filter(touch);
    std::iter::once(home).chain(others).collect()
}

impl Kernels for Lava {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        (index == 0).then(|| {
            Launch::new("lavamd", 0, self.boxes.pow(3) * u64::from(GROUP), GROUP)
                .lds(4 * (PARTS + 1) * self.particles)
        })
    }

    /// One round for the thread's own particle; then each near box takes three to bring it to the scratchpad, one for each of its
    /// particles, and one for the last addition.
    fn round(&self, t: &Thread, _: &mut [u64], io: &mut Round) -> Flow {
        let (own, works) = (t.block * self.particles + t.local, t.local < self.particles);
        let near = |at: u64| self.base.at(BOXES, t.block * (NEAR + 1) + at);
        let result: [u64; 4] =
            std::array::from_fn(|i| if works { self.word(RESULT, own, i as u64) } else { 0 });
        if t.round == 0 {
            io.read(S_COUNT, near(0));
            if works {
                (0..PARTS).for_each(|i| io.read(S_OWN + i, self.word(PLACE, own, i)));
            }
            return Flow::Next;
        }
        let turn = 3 + self.particles + 1;
        let (which, step) = ((t.round - 1) / turn, (t.round - 1) % turn);
        match step {
            0 if which == t.index(S_COUNT) => return Flow::End,
            0 => {
                io.read(S_BOX, near(1 + which));
                return Flow::Next;
            }
            1 if works => {
                let other = t.index(S_BOX) * self.particles + t.local;
                (0..PARTS).for_each(|i| io.read(S_PARTNER + i, self.word(PLACE, other, i)));
                io.read(S_PARTNER + PARTS, self.base.at(CHARGE, other));
                return Flow::Next;
            }
            1 => return Flow::Next,
            2 => {
                if works {
                    (0..=PARTS).for_each(|i| {
                        io.lds_store(i, 4 * ((PARTS + 1) * t.local + i), t.bits(S_PARTNER + i));
                    });
                }
                return Flow::Barrier;
            }
            _ => {}
        }
        let with = step - 3;
        if works && with > 0 {
            self.add(t, &result, io);
        }
        if with == self.particles {
            return Flow::Barrier;
        }
        if works {
            (0..=PARTS).for_each(|i| io.lds_load(S_PARTNER + i, 4 * ((PARTS + 1) * with + i)));
            (0..PARTS).for_each(|i| io.load(S_RESULT + i, result[i as usize]));
        }
        Flow::Next
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let (place, charge) = (self.base.first::<f32>(PLACE), self.base.first::<f32>(CHARGE));
        let of = |particle: u64| std::array::from_fn(|i| place[4 * particle as usize + i]);
        let mut result = Vec::new();
        for own in 0..self.boxes.pow(3) * self.particles {
            let mut sum = [0.0f32; 4];
            for other in near(self.boxes, own / self.particles) {
                for other in other * self.particles..(other + 1) * self.particles {
                    let part = part(of(own), of(other), charge[other as usize]);
                    sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
                }
            }
            result.extend(sum);
        }
        self.base.check(RESULT, &result, memory)
    }
}
