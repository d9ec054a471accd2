//! Histograms: each thread counts its values, in bins of its work-group's scratchpad that are merged in the end, or at
//! once in those of all.
//!
//! Nobody looks at a bin before the kernel's end, so that the order of additions does not matter; as many of them as a
//! thread has values of a few rounds are under way at a time.

use super::super::common::SEED;
use super::super::cpu_gpu::LANES;
use super::super::params::{ParamSpec, Params, size};
use super::super::round::Round;
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::{blocks, group, relaxed};
use crate::data;
use crate::op::{AmoKind, Class};
use crate::program::VerifyError;

const PARAMS: &[ParamSpec] = &[
    size("values", "32768", 1 << 26, "values", "Values of the input, 4 bytes each."),
    size("bins", "256", 4096, "bins", "Bins; one value of so many falls into each on average."),
    blocks("12"),
    group("256"),
    LANES,
    SEED,
];

const PUBLISHED: &[(&str, &str)] = &[("values", "65536"), ("blocks", "45")];

/// Own bins, then merged.
pub const HIST: WorkloadInfo = WorkloadInfo {
    name: "hist",
    about: "Histogram in bins of each work-group's scratchpad, merged by commutative additions (relaxed-atomics study, Hist).",
    params: PARAMS,
    published: PUBLISHED,
    takes_graph: false,
    make: |params, _| Simt::from_params(|params| Hist::new(params, true, Class::C), params),
};

/// Common bins, commutative.
pub const HISTG: WorkloadInfo = WorkloadInfo {
    name: "histg",
    about: "Histogram in common bins by commutative additions (relaxed-atomics study, HistG).",
    make: |params, _| Simt::from_params(|params| Hist::new(params, false, Class::C), params),
    ..HIST
};

/// Common bins, non-ordering.
pub const HISTG_NO: WorkloadInfo = WorkloadInfo {
    name: "histg-no",
    about: "Histogram in common bins by non-ordering additions (relaxed-atomics study, HistG-NO).",
    make: |params, _| Simt::from_params(|params| Hist::new(params, false, Class::N), params),
    ..HIST
};

/// Values or bins that a thread has in a round, and rounds whose additions are under way.
const UNROLL: u64 = 4;
const DEPTH: u64 = 4;

const S_VALUE: u64 = 0;
const S_CLEAR: u64 = S_VALUE + UNROLL;
const S_BIN: u64 = S_CLEAR + UNROLL;

const R_STATE: usize = 0;
const R_STEP: usize = 1;

/// States: clearing the own bins, counting, merging.
const CLEAR: u64 = 0;
const COUNT: u64 = 1;
const MERGE: u64 = 2;

/// A histogram.
#[derive(Clone, Debug)]
pub struct Hist {
    base: Base,
    values: u64,
    bins: u64,
    blocks: u64,
    group: u64,
    own: bool,
    class: Class,
    input: usize,
    histogram: usize,
}

impl Hist {
    /// Builds a program whose bins are a work-group's own at first, or not, and whose additions are of this class.
    pub fn new(params: &Params, own: bool, class: Class) -> Result<Self, WorkloadError> {
        let [values, bins, blocks, group, seed] =
            ["values", "bins", "blocks", "group", "seed"].map(|key| params.integer(key));
        let mut base = Base::new(params.workload(), params);
        let input: Vec<u32> = (0..values).map(|i| data::mix(seed, 0, i) as u32).collect();
        let input = base.input("input", data::u32_bytes(&input));
        let histogram = base.zeros("histogram", bins);
        Ok(Self { base, values, bins, blocks, group, own, class, input, histogram })
    }

    /// What a thread of `all`, number `me`, has of `count` things in step `step`.
    fn batch(step: u64, me: u64, all: u64, count: u64) -> impl Iterator<Item = (u64, u64)> {
        let item = move |i| (i, (step * UNROLL + i) * all + me);
        (0..UNROLL).map(item).take_while(move |(_, item)| *item < count)
    }

    /// Adds to a common bin; what the same slot added before is awaited a round earlier.
    fn add(&self, step: u64, i: u64, bin: u64, value: u64, io: &mut Round) {
        let slot = |step: u64| S_BIN + step % DEPTH * UNROLL + i;
        io.post(slot(step), AmoKind::Add, relaxed(self.class), self.base.at(self.histogram, bin), value);
        io.settle(slot(step + 1));
    }

    fn clear(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let batch = Self::batch(r[R_STEP], t.local, self.group, self.bins);
        batch.for_each(|(i, bin)| io.lds_store(S_CLEAR + i, 4 * bin, 0));
        r[R_STEP] += 1;
        if r[R_STEP] * UNROLL * self.group < self.bins {
            return Flow::Next;
        }
        (r[R_STATE], r[R_STEP]) = (COUNT, 0);
        Flow::Barrier
    }

    fn count(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        let all = self.blocks * self.group;
        if let Some(before) = r[R_STEP].checked_sub(1) {
            io.alu(1);
            for (i, _) in Self::batch(before, t.id, all, self.values) {
                let bin = t.index(S_VALUE + i) % self.bins;
                if self.own {
                    io.lds_amo(S_BIN + i, AmoKind::Add, 4 * bin, 1);
                } else {
                    self.add(before, i, bin, 1, io);
                }
            }
        }
        let mut batch = Self::batch(r[R_STEP], t.id, all, self.values).peekable();
        if batch.peek().is_none() {
            (r[R_STATE], r[R_STEP]) = (MERGE, 0);
            return if self.own { Flow::Barrier } else { Flow::End };
        }
        batch.for_each(|(i, value)| io.read(S_VALUE + i, self.base.at(self.input, value)));
        r[R_STEP] += 1;
        Flow::Next
    }

    fn merge(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        if let Some(before) = r[R_STEP].checked_sub(1) {
            for (i, bin) in Self::batch(before, t.local, self.group, self.bins) {
                if t.bits(S_VALUE + i) != 0 {
                    self.add(before, i, bin, t.bits(S_VALUE + i), io);
                }
            }
        }
        let mut batch = Self::batch(r[R_STEP], t.local, self.group, self.bins).peekable();
        if batch.peek().is_none() {
            return Flow::End;
        }
        batch.for_each(|(i, bin)| io.lds_load(S_VALUE + i, 4 * bin));
        r[R_STEP] += 1;
        Flow::Next
    }
}

impl Kernels for Hist {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let launch = Launch::new(self.base.name(), 0, self.blocks * self.group, self.group as u32);
        let lds = if self.own { 4 * self.bins } else { 0 };
        (index == 0).then(|| launch.registers(2).lds(lds))
    }

    fn round(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Flow {
        match r[R_STATE] {
            CLEAR if self.own => self.clear(t, r, io),
            MERGE => self.merge(t, r, io),
            _ => self.count(t, r, io),
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let mut histogram = vec![0u32; self.bins as usize];
        for value in self.base.first::<u32>(self.input) {
            histogram[value as usize % self.bins as usize] += 1;
        }
        self.base.check(self.histogram, &histogram, memory)
    }
}
