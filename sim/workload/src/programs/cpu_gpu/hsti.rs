//! HSTI: a histogram whose input blocks are taken by CPU threads and work-groups from one counter.

use super::super::common::SEED;
use super::super::params::{ParamSpec, Params, size};
use super::super::round::Round;
use super::super::simt::{Memory, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::phases::{APART, At, InPhases, Phases, Step};
use super::shared::{self, S_ASKED, ask};
use super::team::{ATOMICS, GROUP, LANES, PRIVATISE, Team, blocks, cpu_threads, paired_amo};
use crate::data;
use crate::op::AmoKind;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "hsti",
    about: "Histogram on CPU threads and CUs together: blocks of the input are taken by a shared counter, bins updated by atomics (Chai HSTI).",
    params: &[
        cpu_threads("4", 0, "CPU threads."),
        blocks("16", 0, "Work-groups."),
        size("values", "131072", 1 << 28, "values", "Input values of 12 bits; the study has 1572864."),
        size("chunk", "256", 1 << 20, "values", "Values of a block of the input."),
        BINS,
        PRIVATISE,
        ATOMICS,
        GROUP,
        LANES,
        SEED,
    ],
    published: &[("values", "1572864")],
    takes_graph: false,
    make: |params, _| Ok(InPhases::boxed(Hsti::new(params)?)),
};

/// Parameter `bins`.
pub const BINS: ParamSpec = size("bins", "256", 4096, "bins", "Bins of the histogram.");

/// Bits of an input value.
const VALUE_BITS: u64 = 12;

/// Registers after those of [`ask`]: where the thread is, its block of the input, its batch of it, and the value in the batch.
const R_STATE: usize = shared::REGISTERS;
const R_CHUNK: usize = R_STATE + 1;
const R_BATCH: usize = R_STATE + 2;
const R_VALUE: usize = R_STATE + 3;
const REGISTERS: u64 = R_STATE as u64 + 4;

const CLEAR: u64 = 0;
const TAKE: u64 = 1;
const COUNT: u64 = 2;
const OWN_LOAD: u64 = 3;
const OWN_ADD: u64 = 4;
const MERGE: u64 = 5;
const MERGE_ADD: u64 = 6;

const S_BIN: u64 = 200;
const S_PUT: u64 = 201;

/// One histogram.
#[derive(Clone, Debug)]
pub struct Hsti {
    team: Team,
    values: u64,
    chunk: u64,
    bins: u64,
    head: usize,
    input: usize,
    histogram: usize,
    /// Bins of the CPU threads, one after the other, if bins are private.
    private: Option<usize>,
    privatise: bool,
}

impl Hsti {
    /// Builds the program.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let mut team = Team::new(INFO.name, params, params.integer("group"))?;
        let [values, chunk, bins, seed] = ["values", "chunk", "bins", "seed"].map(|key| params.integer(key));
        let privatise = params.text("privatise") == "on";
        let draw = |i| (data::mix(seed, 0, i) % (1 << VALUE_BITS)) as u32;
        let first: Vec<u32> = (0..values).map(draw).collect();
        let head = team.base.zeros("head", APART);
        let input = team.base.input("input", data::u32_bytes(&first));
        let histogram = team.base.zeros("histogram", bins);
        let own = |team: &mut Team| team.base.zeros("private", team.cpus * bins);
        let private = (privatise && team.cpus > 0).then(|| own(&mut team));
        Ok(Self { team, values, chunk, bins, head, input, histogram, private, privatise })
    }

    fn bin(&self, value: u64) -> u64 {
        (value * self.bins) >> VALUE_BITS
    }

    fn chunks(&self) -> u64 {
        self.values.div_ceil(self.chunk)
    }

    /// Values of a thread's block.
    fn length(&self, r: &[u64]) -> u64 {
        self.chunk.min(self.values - r[R_CHUNK] * self.chunk)
    }

    fn load(&self, t: &Thread, r: &[u64], io: &mut Round) {
        let first = r[R_CHUNK] * self.chunk;
        let batch = self.team.batch(t, self.length(r), r[R_BATCH]);
        batch.for_each(|(i, e)| io.read(i, self.team.base.at(self.input, first + e)));
    }

    /// Goes on after a batch: with the next one, or, when all threads of the core are done with the block, with the next block.
    fn after(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        r[R_BATCH] += 1;
        if r[R_BATCH] < self.team.batches(t, self.length(r)) {
            self.load(t, r, io);
            r[R_STATE] = COUNT;
            return Step::Next;
        }
        r[R_STATE] = TAKE;
        Step::Next
    }

    fn take(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        let head = self.team.base.at(self.head, 0);
        match ask(t, r, io, |io| paired_amo(io, S_ASKED, AmoKind::Add, head, 1)) {
            Err(step) => return step,
            Ok(chunk) if chunk < self.chunks() => {
                (r[R_STATE], r[R_CHUNK], r[R_BATCH]) = (COUNT, chunk, 0);
                self.load(t, r, io);
            }
            Ok(_) if !self.privatise => return Step::End,
            Ok(_) => {
                (r[R_STATE], r[R_BATCH]) = (MERGE, 0);
                return Step::Meet;
            }
        }
        Step::Next
    }

    /// Counts a batch: in memory, in the scratchpad, or one value after the other in a CPU thread's own bins.
    fn count(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        if self.privatise && t.cpu {
            (r[R_STATE], r[R_VALUE]) = (OWN_LOAD, 0);
            return self.own(t, r, io);
        }
        for (i, _) in self.team.batch(t, self.length(r), r[R_BATCH]) {
            let bin = self.bin(t.bits(i));
            if self.privatise {
                io.lds_amo(Team::most() + i, AmoKind::Add, shared::LDS + 4 * bin, 1);
            } else {
                let addr = self.team.base.at(self.histogram, bin);
                self.team.update(io, Team::most() + i, AmoKind::Add, addr, 1);
            }
        }
        self.after(t, r, io)
    }

    fn private_at(&self, t: &Thread, bin: u64) -> u64 {
        self.private.map_or(0, |array| self.team.base.at(array, t.block * self.bins + bin))
    }

    /// A CPU thread loads one of its bins, or stores it and goes on with the next value.
    fn own(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        let batch = self.team.batch(t, self.length(r), r[R_BATCH]).count() as u64;
        let addr = self.private_at(t, self.bin(t.bits(r[R_VALUE])));
        if r[R_STATE] == OWN_LOAD {
            io.load(S_BIN, addr);
            r[R_STATE] = OWN_ADD;
            return Step::Next;
        }
        io.store(S_PUT, addr, t.bits(S_BIN) + 1);
        (r[R_STATE], r[R_VALUE]) = (OWN_LOAD, r[R_VALUE] + 1);
        if r[R_VALUE] == batch { self.after(t, r, io) } else { Step::Next }
    }

    /// Adds a core's own bins to the histogram: loads a batch, or adds it.
    fn merge(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        if r[R_BATCH] == self.team.batches(t, self.bins) {
            return Step::End;
        }
        for (i, bin) in self.team.batch(t, self.bins, r[R_BATCH]) {
            if r[R_STATE] == MERGE_ADD {
                if t.bits(i) == 0 {
                    continue;
                }
                let addr = self.team.base.at(self.histogram, bin);
                self.team.update(io, Team::most() + i, AmoKind::Add, addr, t.bits(i));
            } else if t.cpu {
                io.load(i, self.private_at(t, bin));
            } else {
                io.lds_load(i, shared::LDS + 4 * bin);
            }
        }
        let added = r[R_STATE] == MERGE_ADD;
        r[R_BATCH] += u64::from(added);
        r[R_STATE] = if added { MERGE } else { MERGE_ADD };
        Step::Next
    }

    /// A work-group sets its own bins to zero.
    fn clear(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        if !self.privatise || t.cpu {
            r[R_STATE] = TAKE;
            return self.take(t, r, io);
        }
        let batch = self.team.batch(t, self.bins, r[R_BATCH]);
        batch.for_each(|(i, bin)| io.lds_store(i, shared::LDS + 4 * bin, 0));
        r[R_BATCH] += 1;
        if r[R_BATCH] < self.team.batches(t, self.bins) {
            return Step::Next;
        }
        r[R_STATE] = TAKE;
        Step::Meet
    }
}

impl Phases for Hsti {
    fn team(&self) -> &Team {
        &self.team
    }

    fn barrier(&self) -> Option<usize> {
        None
    }

    fn registers(&self) -> u64 {
        REGISTERS
    }

    fn lds(&self) -> u64 {
        shared::LDS + if self.privatise { 4 * self.bins } else { 0 }
    }

    fn round(&self, t: &Thread, _: At, r: &mut [u64], io: &mut Round) -> Step {
        match r[R_STATE] {
            CLEAR => self.clear(t, r, io),
            TAKE => self.take(t, r, io),
            COUNT => self.count(t, r, io),
            OWN_LOAD | OWN_ADD => self.own(t, r, io),
            _ => self.merge(t, r, io),
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let base = &self.team.base;
        let mut bins = vec![0u32; self.bins as usize];
        for value in base.first::<u32>(self.input) {
            bins[self.bin(u64::from(value)) as usize] += 1;
        }
        let mut head = vec![0u32; APART as usize];
        head[0] = (self.chunks() + self.team.cores()) as u32;
        base.check(self.head, &head, memory)?;
        base.check(self.histogram, &bins, memory)
    }
}
