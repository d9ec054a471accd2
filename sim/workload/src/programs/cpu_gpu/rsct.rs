//! RSCT: random sample consensus; a CPU thread fits a model to two random flow vectors, a work-group counts its outliers.
//!
//! A flow vector (x, y, u, v) says that point (x, y) has moved to (u, v). A model is a rotation and a scaling about a
//! centre: with z = x + iy and f = (u - x) + i(v - y), f = (d + ir)(c - z). Two vectors determine c, d, r, unless they
//! have the same point or the same flow.

use super::super::common::{SEED, float, lane_value};
use super::super::params::{Params, size};
use super::super::round::Round;
use super::super::simt::{Memory, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::phases::{APART, At, InPhases, Phases, Step};
use super::team::{GROUP, LANES, SPIN, Team, blocks, cpu_threads, paired_amo, paired_load, paired_store};
use crate::data;
use crate::op::AmoKind;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "rsct",
    about: "Random sample consensus as tasks: CPU threads fit models to flow vectors and set a flag for each, work-groups wait for it and count outliers (Chai RSCT).",
    params: &[
        cpu_threads("1", 1, "CPU threads that fit models in turn."),
        blocks("16", 1, "Work-groups that count outliers in turn."),
        size("models", "128", 1 << 20, "models", "Models fitted; the study has 2000."),
        size("vectors", "1024", 1 << 24, "vectors", "Flow vectors; the study has 5922."),
        GROUP,
        LANES,
        SEED,
    ],
    published: &[("models", "2000"), ("vectors", "5922")],
    takes_graph: false,
    make: |params, _| Ok(InPhases::boxed(Rsct::new(params)?)),
};

/// A vector this far from where the model moves it, in either direction, is an outlier.
const ERROR: i64 = 3;

/// A flow vector.
type Vector = [i32; 4];

/// Centre, d and r, or nothing fits.
type Model = [f32; 4];
const NO_MODEL: Model = [0.0; 4];

fn fit(a: Vector, b: Vector) -> Model {
    let [x, y, fx, fy] = [a[0], a[1], a[2] - a[0], a[3] - a[1]].map(|v| v as f32);
    let [dx, dy] = [b[0] - a[0], b[1] - a[1]].map(|v| v as f32);
    let [gx, gy] = [fx - (b[2] - b[0]) as f32, fy - (b[3] - b[1]) as f32];
    let square = dx * dx + dy * dy;
    if square == 0.0 || gx * gx + gy * gy == 0.0 {
        return NO_MODEL;
    }
    let (d, r) = ((gx * dx + gy * dy) / square, (gy * dx - gx * dy) / square);
    let scale = d * d + r * r;
    [x + (fx * d + fy * r) / scale, y + (fy * d - fx * r) / scale, d, r]
}

fn outlier(model: Model, vector: Vector) -> bool {
    let ([cx, cy, d, r], [x, y, u, v]) = (model, vector.map(|v| v as f32));
    let errors = [x + (cx - x) * d - (cy - y) * r - u, y + (cy - y) * d + (cx - x) * r - v];
    errors.iter().any(|e| (*e as i64).abs() >= ERROR)
}

/// Two ints of a vector as one loaded word holds them.
fn halves(word: u64) -> [i32; 2] {
    [word as u32 as i32, (word >> 32) as u32 as i32]
}

/// Registers: where the thread is, its model's number, its batch of the vectors, the outliers it has found, models it has looked at.
const R_STATE: usize = 0;
const R_MODEL: usize = 1;
const R_BATCH: usize = 2;
const R_OUTLIERS: usize = 3;
const R_TURN: usize = 4;
/// The model.
const R_FIT: usize = 5;
const REGISTERS: u64 = R_FIT as u64 + 4;

const START: u64 = 0;
const SPUN: u64 = 1;
const FITTED: u64 = 2;
const COUNTING: u64 = 3;
const COUNTED: u64 = 4;
const READ: u64 = 5;
const INDEX: u64 = 6;
const PICKED: u64 = 7;
const VECTORS: u64 = 8;

const S_FLAG: u64 = 200;
const S_FIT: u64 = 201;
const S_LDS: u64 = 205;
const S_CLEAR: u64 = 206;
const S_INDEX: u64 = 207;
const S_PUT: u64 = 208;
const S_PICK: u64 = 220;
const S_VECTOR: u64 = 222;

/// Vectors and models.
#[derive(Clone, Debug)]
pub struct Rsct {
    team: Team,
    models: u64,
    vectors: u64,
    input: usize,
    pick: usize,
    model: usize,
    flag: usize,
    count: usize,
    candidate: usize,
    outliers: usize,
}

impl Rsct {
    /// Builds the program.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let mut team = Team::new(INFO.name, params, params.integer("group"))?;
        let [models, vectors, seed] = ["models", "vectors", "seed"].map(|key| params.integer(key));
        let base = &mut team.base;
        let vector = |i| {
            let draw = |stream, most| (data::mix(seed, stream, i) % most) as i32;
            let (x, y) = (draw(0, 640), draw(1, 480));
            let (dx, dy) = (320 - x, 240 - y);
            // Two vectors in three follow one model within an error of one, the others none.
            match draw(2, 3) {
                0 => [x, y, x + draw(3, 64) - 32, y + draw(4, 64) - 32],
                _ => [x, y, x + (dx - 2 * dy) / 20 + draw(3, 2), y + (dy + 2 * dx) / 20 + draw(4, 2)],
            }
        };
        let input: Vec<u8> = (0..vectors).flat_map(vector).flat_map(i32::to_le_bytes).collect();
        let pick: Vec<u32> = (0..2 * models).map(|i| (data::mix(seed, 5, i) % vectors) as u32).collect();
        let input = base.input("vectors", input);
        let pick = base.input("pick", data::u32_bytes(&pick));
        let model = base.zeros("model", 4 * models);
        let flag = base.zeros("flag", models);
        let count = base.zeros("count", APART);
        let candidate = base.zeros("candidate", models);
        let outliers = base.zeros("outliers", models);
        Ok(Self { team, models, vectors, input, pick, model, flag, count, candidate, outliers })
    }

    /// Whether a model with so many outliers is a candidate.
    fn good(&self, model: Model, outliers: u64) -> bool {
        model != NO_MODEL && 4 * outliers < 3 * self.vectors
    }

    fn vector(&self, t: &Thread, slot: u64) -> Vector {
        let ([x, y], [u, v]) = (halves(t.bits(slot)), halves(t.bits(slot + 1)));
        [x, y, u, v]
    }

    fn read_vector(&self, slot: u64, vector: u64, io: &mut Round) {
        io.read_wide(slot, self.team.base.at(self.input, 4 * vector));
        io.read_wide(slot + 1, self.team.base.at(self.input, 4 * vector + 2));
    }

    /// A CPU thread fits its models one after the other.
    fn cpu(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        let base = &self.team.base;
        if r[R_STATE] == VECTORS {
            let model = fit(self.vector(t, S_VECTOR), self.vector(t, S_VECTOR + 2));
            io.sfu(4);
            for (i, value) in (0..).zip(model) {
                io.put(S_FIT + i, base.at(self.model, 4 * r[R_MODEL] + i), value);
            }
            paired_store(io, S_FLAG, base.at(self.flag, r[R_MODEL]), 1);
            (r[R_STATE], r[R_TURN]) = (START, r[R_TURN] + 1);
        }
        if r[R_STATE] == PICKED {
            (0..2).for_each(|i| self.read_vector(S_VECTOR + 2 * i, t.index(S_PICK + i), io));
            r[R_STATE] = VECTORS;
            return Step::Next;
        }
        r[R_MODEL] = t.block + r[R_TURN] * self.team.cpus;
        if r[R_MODEL] >= self.models {
            return Step::End;
        }
        (0..2).for_each(|i| io.read(S_PICK + i, base.at(self.pick, 2 * r[R_MODEL] + i)));
        r[R_STATE] = PICKED;
        Step::Next
    }

    /// Waits for the next model of a work-group; its first thread does.
    fn wait(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        if r[R_STATE] == START {
            r[R_MODEL] = t.block + r[R_TURN] * self.team.blocks;
            if r[R_MODEL] >= self.models {
                return Step::End;
            }
        }
        if t.local == 0 && (r[R_STATE] == START || t.bits(S_FLAG) == 0) {
            if r[R_STATE] == SPUN {
                io.pause(SPIN);
            }
            paired_load(io, S_FLAG, self.team.base.at(self.flag, r[R_MODEL]));
            r[R_STATE] = SPUN;
            return Step::Next;
        }
        if t.local == 0 {
            io.lds_store(S_CLEAR, self.lds_word(r), 0);
        }
        r[R_STATE] = FITTED;
        Step::Meet
    }

    /// Scratchpad word in which the outliers of this model are counted; the next model has the other one.
    fn lds_word(&self, r: &[u64]) -> u64 {
        4 * (r[R_TURN] % 2)
    }

    fn load_batch(&self, t: &Thread, r: &[u64], io: &mut Round) {
        let batch = self.team.batch(t, self.vectors, r[R_BATCH]);
        batch.for_each(|(i, e)| self.read_vector(2 * i, e, io));
    }

    /// Counts a batch of vectors, loads the next one.
    fn count(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        if r[R_STATE] == FITTED {
            for i in 0..4 {
                io.load(S_FIT + i, self.team.base.at(self.model, 4 * r[R_MODEL] + i));
            }
            (r[R_BATCH], r[R_OUTLIERS], r[R_STATE]) = (0, 0, COUNTING);
            self.load_batch(t, r, io);
            return Step::Next;
        }
        let model = [0, 1, 2, 3].map(|i| t.float(S_FIT + i));
        (0..4).for_each(|i| r[R_FIT + i] = lane_value(model[i]));
        let batch = self.team.batch(t, self.vectors, r[R_BATCH]);
        let found = batch.filter(|(i, _)| outlier(model, self.vector(t, 2 * i))).count();
        io.alu(8 * found.max(1) as u64);
        r[R_OUTLIERS] += found as u64;
        r[R_BATCH] += 1;
        if r[R_BATCH] < self.team.batches(t, self.vectors) {
            self.load_batch(t, r, io);
            return Step::Next;
        }
        io.lds_amo(S_LDS, AmoKind::Add, self.lds_word(r), r[R_OUTLIERS]);
        r[R_STATE] = COUNTED;
        Step::Meet
    }

    /// The first thread of a work-group puts a candidate down.
    fn close(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        let base = &self.team.base;
        match r[R_STATE] {
            COUNTED if t.local == 0 => {
                io.lds_load(S_LDS, self.lds_word(r));
                r[R_STATE] = READ;
                return Step::Next;
            }
            READ if self.good([0, 1, 2, 3].map(|i| float(r[R_FIT + i])), t.bits(S_LDS)) => {
                paired_amo(io, S_INDEX, AmoKind::Add, base.at(self.count, 0), 1);
                r[R_STATE] = INDEX;
                return Step::Next;
            }
            INDEX => {
                io.store(S_PUT, base.at(self.candidate, t.bits(S_INDEX)), r[R_MODEL] + 1);
                io.store(S_PUT + 1, base.at(self.outliers, t.bits(S_INDEX)), t.bits(S_LDS));
            }
            _ => {}
        }
        (r[R_STATE], r[R_TURN]) = (START, r[R_TURN] + 1);
        Step::Next
    }

    fn wrong(&self, array: &str, index: u64, found: u32, expected: String) -> VerifyError {
        VerifyError {
            program: INFO.name.to_owned(),
            array: array.to_owned(),
            index,
            found: found.to_string(),
            expected,
            wrong: 1,
            total: self.models,
        }
    }

    /// The candidates stand in any order: each is one of the host's, with its outliers, and none stands twice.
    fn check_candidates(&self, expected: &[Option<u32>], memory: &Memory) -> Result<(), VerifyError> {
        let base = &self.team.base;
        let list: Vec<(u32, u32)> = (0..self.models)
            .map(|i| (base.word(self.candidate, i, memory), base.word(self.outliers, i, memory)))
            .collect();
        let count = expected.iter().flatten().count();
        let right = |(model, outliers): (u32, u32)| {
            model > 0 && expected.get(model as usize - 1).copied().flatten() == Some(outliers)
        };
        for (i, &(model, outliers)) in list.iter().enumerate() {
            let number = i as u64;
            let ok = if i < count { right((model, outliers)) } else { (model, outliers) == (0, 0) };
            let other = list.iter().take(count).filter(|(m, _)| *m == model).count();
            if ok && (i >= count || other == 1) {
                continue;
            }
            let known = model > 0 && expected.get(model as usize - 1).is_some_and(Option::is_some);
            if i < count && known && other == 1 || i >= count && model == 0 {
                let want = if i < count { expected[model as usize - 1].unwrap_or(0) } else { 0 };
                return Err(self.wrong("outliers", number, outliers, want.to_string()));
            }
            if !ok {
                let want = if i < count { "one of the models with few outliers" } else { "0" };
                return Err(self.wrong("candidate", number, model, want.to_owned()));
            }
        }
        Ok(())
    }
}

impl Phases for Rsct {
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
        8
    }

    fn round(&self, t: &Thread, _: At, r: &mut [u64], io: &mut Round) -> Step {
        if t.cpu {
            return self.cpu(t, r, io);
        }
        match r[R_STATE] {
            START | SPUN => self.wait(t, r, io),
            FITTED | COUNTING => self.count(t, r, io),
            _ => self.close(t, r, io),
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let base = &self.team.base;
        let vectors: Vec<Vector> =
            base.first::<i32>(self.input).chunks_exact(4).map(|v| [v[0], v[1], v[2], v[3]]).collect();
        let pick = base.first::<u32>(self.pick);
        let models: Vec<Model> =
            pick.chunks_exact(2).map(|p| fit(vectors[p[0] as usize], vectors[p[1] as usize])).collect();
        let expected: Vec<Option<u32>> = models
            .iter()
            .map(|model| vectors.iter().filter(|v| outlier(*model, **v)).count() as u32)
            .zip(&models)
            .map(|(outliers, model)| self.good(*model, u64::from(outliers)).then_some(outliers))
            .collect();
        base.check(self.model, &models.concat(), memory)?;
        base.check(self.flag, &vec![1u32; models.len()], memory)?;
        let mut count = vec![0u32; APART as usize];
        count[0] = expected.iter().flatten().count() as u32;
        base.check(self.count, &count, memory)?;
        self.check_candidates(&expected, memory)
    }
}
