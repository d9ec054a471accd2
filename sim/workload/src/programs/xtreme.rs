//! Xtreme1 to 3: vector additions that read and write the same slices over and over (mgcc.md section 15).

use super::common::LANES;
use super::machine::{CUS, GPUS};
use super::params::{Legal, ParamSpec, Params, size};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::VerifyError;

const PARAMS: &[ParamSpec] = &[
    size("kilobytes", "24", 1 << 16, "KB per GPU", "Size of A, B and C together."),
    ParamSpec {
        name: "repeat",
        default: "10",
        legal: Legal::Integer { min: 0, max: 1000 },
        unit: "times",
        about: "How often a step is repeated after it was done once.",
    },
    ParamSpec {
        name: "active",
        default: "even",
        legal: Legal::Choice(&["even", "one"]),
        unit: "",
        about: "Which work-groups work on another's slice: every second one of each GPU, or only the first of GPU 0.",
    },
    ParamSpec {
        name: "waves",
        default: "1",
        legal: Legal::Integer { min: 1, max: 16 },
        unit: "",
        about: "Waves of a work-group; the comparisons take 8, for one alone leaves its CU idle while it waits.",
    },
    GPUS,
    CUS,
    LANES,
];

const fn entry(name: &'static str, about: &'static str) -> WorkloadInfo {
    WorkloadInfo {
        name,
        about,
        params: PARAMS,
        published: &[("kilobytes", "24576"), ("cus", "64")],
        takes_graph: false,
        make: |params, _| Simt::from_params(Xtreme::new, params),
    }
}

/// Registry entry.
pub const XTREME1: WorkloadInfo = entry(
    "xtreme1",
    "C = A + B, then A = C + B, each work-group on its own slice, every step repeated: writes push clocks on and expire what was read.",
);

/// Registry entry.
pub const XTREME2: WorkloadInfo = entry(
    "xtreme2",
    "C = A + B on own slices, then A = C + B on the slice of another work-group of the same GPU, repeated, then C = A + B again.",
);

/// Registry entry.
pub const XTREME3: WorkloadInfo = entry(
    "xtreme3",
    "C = A + B on own slices, then A = C + B on the slice of a work-group of another GPU, repeated, then C = A + B again.",
);

/// Threads of a wave, of a work-group's `waves`; there is one work-group for each CU.
const WAVE: u64 = 64;
/// Elements of a thread between two waits.
const UNROLL: u64 = 4;
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
/// Slots of the first operands, the second ones, and C in the prologue.
const S_FIRST: u64 = 0;
const S_SECOND: u64 = UNROLL;
const S_THIRD: u64 = 2 * UNROLL;

/// Whose slice a work-group works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slice {
    Own,
    Neighbour,
    OtherGpu,
}

/// What all work-groups do between two barriers of the whole device, which are ends of kernels.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Reads its slices.
    Prologue,
    /// `target = from + B`, so often.
    Add { target: usize, from: usize, slice: Slice, times: u64 },
}

/// The program.
#[derive(Clone, Debug)]
pub struct Xtreme {
    base: Base,
    gpus: u64,
    cus: u64,
    /// Threads of a work-group.
    group: u64,
    /// Elements of a slice.
    length: u64,
    one: bool,
    steps: Vec<Step>,
}

impl Xtreme {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [kilobytes, repeat, gpus, cus, waves] =
            ["kilobytes", "repeat", "gpus", "cus", "waves"].map(|name| params.integer(name));
        let slice = match params.workload() {
            "xtreme1" => Slice::Own,
            "xtreme2" => Slice::Neighbour,
            _ => Slice::OtherGpu,
        };
        let length = kilobytes * 1024 / 4 / (3 * cus);
        if length == 0 {
            return Err(params.illegal("kilobytes", format!("at least 12 bytes for each of {cus} CUs")));
        }
        if slice == Slice::OtherGpu && gpus % 2 == 1 {
            return Err(params.illegal("gpus", "an even number: GPUs work in pairs".to_owned()));
        }
        if slice != Slice::Own && cus < 2 {
            return Err(params.illegal("cus", "at least 2: work-groups work in pairs".to_owned()));
        }
        let count = gpus * cus * length;
        let small = |stream: u64, base: u64| -> Vec<u8> {
            let number = |i| (base + data::mix(0, stream, i) % 8) as f32;
            data::f32_bytes(&(0..count).map(number).collect::<Vec<_>>())
        };
        let mut base = Base::new(params.workload(), params);
        base.add("A", count, false, small(0, 0));
        base.input("B", small(1, 1));
        // C begins with other numbers than A + B, so that stale slices show.
        base.add("C", count, false, small(2, 100));
        base.split();
        let add = |target, from, slice, times| Step::Add { target, from, slice, times };
        let mut steps = vec![Step::Prologue, add(C, A, Slice::Own, 1)];
        if slice == Slice::Own {
            steps.extend([add(C, A, slice, repeat), add(A, C, slice, 1), add(A, C, slice, repeat)]);
        } else {
            steps.extend([add(A, C, slice, 1), add(A, C, slice, repeat), add(C, A, Slice::Own, 1)]);
        }
        Ok(Self { base, gpus, cus, group: waves * WAVE, length, one: params.text("active") == "one", steps })
    }

    /// The slice that work-group `block` works on, if it works at all.
    fn slice(&self, block: u64, which: Slice) -> Option<u64> {
        let (gpu, cu) = (block / self.cus, block % self.cus);
        let active = if self.one { block == 0 } else { cu % 2 == 0 && cu + 1 < self.cus };
        match which {
            Slice::Own => Some(block),
            Slice::Neighbour => active.then_some(block + 1),
            Slice::OtherGpu => active.then_some((gpu ^ 1) * self.cus + cu + 1),
        }
    }

    /// Elements of round `round` of a thread, with their slots: a slice takes several rounds.
    fn elements(&self, thread: &Thread, slice: u64, round: u64) -> impl Iterator<Item = (u64, u64)> {
        let (first, length) = (round % self.rounds() * UNROLL * self.group + thread.local, self.length);
        (0..UNROLL)
            .map(move |slot| (slot, first + slot * self.group))
            .filter(move |(_, i)| *i < length)
            .map(move |(slot, i)| (slot, slice * length + i))
    }

    /// Rounds in which a work-group goes over a slice.
    fn rounds(&self) -> u64 {
        self.length.div_ceil(UNROLL * self.group)
    }
}

impl Kernels for Xtreme {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let name = match self.steps.get(index)? {
            Step::Prologue => "xtreme_read",
            Step::Add { target: C, .. } => "xtreme_c",
            Step::Add { .. } => "xtreme_a",
        };
        Some(Launch::new(name, index as u32, self.gpus * self.cus * self.group, self.group as u32))
    }

    /// Stores the sums of the round before, then loads.
    fn round(&self, t: &Thread, _: &mut [u64], io: &mut Round) -> Flow {
        let Step::Add { target, from, slice, times } = self.steps[t.phase as usize] else {
            if t.round == self.rounds() {
                return Flow::End;
            }
            for (slot, i) in self.elements(t, t.block, t.round) {
                io.load(S_FIRST + slot, self.base.at(A, i));
                io.read(S_SECOND + slot, self.base.at(B, i));
                io.load(S_THIRD + slot, self.base.at(C, i));
            }
            return Flow::Next;
        };
        let Some(slice) = self.slice(t.block, slice) else { return Flow::End };
        if t.round > 0 {
            io.alu(1);
            for (slot, i) in self.elements(t, slice, t.round - 1) {
                io.put(slot, self.base.at(target, i), t.float(S_FIRST + slot) + t.float(S_SECOND + slot));
            }
        }
        if t.round == times * self.rounds() {
            return Flow::End;
        }
        for (slot, i) in self.elements(t, slice, t.round) {
            io.load(S_FIRST + slot, self.base.at(from, i));
            io.read(S_SECOND + slot, self.base.at(B, i));
        }
        Flow::Next
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let mut now = [A, B, C].map(|array| self.base.first::<f32>(array));
        for step in &self.steps {
            let Step::Add { target, from, slice, times: 1.. } = *step else { continue };
            let slices = (0..self.gpus * self.cus).filter_map(|block| self.slice(block, slice));
            for i in slices.flat_map(|s| s * self.length..(s + 1) * self.length) {
                now[target][i as usize] = now[from][i as usize] + now[B][i as usize];
            }
        }
        self.base.check(A, &now[A], memory)?;
        self.base.check(C, &now[C], memory)
    }
}
