//! NW (Rodinia needle): Needleman-Wunsch alignment by anti-diagonals of tiles.

use super::common::{LANES, SEED};
use super::params::{Legal, ParamSpec, Params};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::warm::WARMUP;
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "nw",
    about: "Needleman-Wunsch alignment scores of two sequences: tiles of 16 x 16 through the scratchpad, one kernel per \
            anti-diagonal of tiles, which reads the edges that the previous two wrote (Rodinia needle).",
    params: &[
        ParamSpec {
            name: "tiles",
            default: "24",
            legal: Legal::Integer { min: 1, max: 1024 },
            unit: "tiles",
            about: "Length of each sequence in tiles of 16 symbols.",
        },
        ParamSpec {
            name: "penalty",
            default: "10",
            legal: Legal::Integer { min: 0, max: 1000 },
            unit: "",
            about: "Cost of a gap.",
        },
        LANES,
        SEED,
        WARMUP,
    ],
    published: &[("tiles", "1024")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Nw::new, params),
};

/// Rows and columns of a tile, threads of a work-group.
const TILE: u64 = 16;
/// Words of a scratchpad row: a tile and the column left of it.
const PITCH: u64 = TILE + 1;
const SCORE: usize = 0;
const SIMILAR: usize = 1;

/// Slots of the cells diagonally before, left, above; then the similarity of each row.
const S_BEFORE: u64 = 0;
const S_LEFT: u64 = 1;
const S_ABOVE: u64 = 2;
const S_SIMILAR: u64 = 3;
const S_EDGE: u64 = S_SIMILAR + TILE;

/// The alignment.
#[derive(Clone, Debug)]
pub struct Nw {
    base: Base,
    tiles: u64,
    penalty: i32,
}

impl Nw {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let (tiles, penalty) = (params.integer("tiles"), params.integer("penalty") as i32);
        let n = tiles * TILE;
        let seed = params.integer("seed");
        let similar: Vec<u32> =
            (0..n * n).map(|i| (data::mix(seed, 0, i) % 15) as u32).map(|v| v.wrapping_sub(4)).collect();
        let mut score = vec![0; ((n + 1) * (n + 1)) as usize];
        for i in 0..=n as usize {
            let gap = (-(i as i32) * penalty) as u32;
            (score[i], score[i * (n as usize + 1)]) = (gap, gap);
        }
        let mut base = Base::new(INFO.name, params);
        base.add("score", (n + 1) * (n + 1), false, data::u32_bytes(&score));
        base.input("similar", data::u32_bytes(&similar));
        Ok(Self { base, tiles, penalty })
    }

    fn best(&self, before: i32, left: i32, above: i32, similar: i32) -> i32 {
        (before + similar).max(left - self.penalty).max(above - self.penalty)
    }

    /// Loads the column of similarities and the tile's edges; the thread's column is `t.local`.
    fn fill(&self, t: &Thread, row0: u64, column0: u64, io: &mut Round) -> Flow {
        let pitch = self.tiles * TILE + 1;
        let edge = |row: u64, column: u64| self.base.at(SCORE, (row0 + row) * pitch + column0 + column);
        if t.round == 0 {
            for row in 0..TILE {
                let at = (row0 + row) * (pitch - 1) + column0 + t.local;
                io.read(S_SIMILAR + row, self.base.at(SIMILAR, at));
            }
            io.load(S_EDGE, edge(0, t.local + 1));
            io.load(S_EDGE + 1, edge(t.local + 1, 0));
            if t.local == 0 {
                io.load(S_EDGE + 2, edge(0, 0));
            }
            return Flow::Next;
        }
        io.lds_store(0, 4 * (t.local + 1), t.bits(S_EDGE));
        io.lds_store(1, 4 * (t.local + 1) * PITCH, t.bits(S_EDGE + 1));
        if t.local == 0 {
            io.lds_store(2, 0, t.bits(S_EDGE + 2));
        }
        Flow::Barrier
    }
}

impl Kernels for Nw {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let diagonal = index as u64;
        let (first, last) = (diagonal.saturating_sub(self.tiles - 1), diagonal.min(self.tiles - 1));
        let count = (first <= last).then_some(last + 1 - first)?;
        Some(
            Launch::new("needle", 0, count * TILE, TILE as u32)
                .args(&[diagonal, first])
                .lds(4 * PITCH * PITCH),
        )
    }

    /// Two rounds fill the scratchpad; then each diagonal of the tile takes one to read and one to write.
    fn round(&self, t: &Thread, _: &mut [u64], io: &mut Round) -> Flow {
        let row0 = (t.args[1] + t.block) * TILE;
        let column0 = (t.args[0] - t.args[1] - t.block) * TILE;
        if t.round < 2 {
            return self.fill(t, row0, column0, io);
        }
        let diagonal = (t.round - 2) / 2;
        let row = diagonal.wrapping_sub(t.local);
        let cell = 4 * ((row.min(TILE) + 1) * PITCH + t.local + 1);
        if diagonal == 2 * TILE - 1 {
            if t.round.is_multiple_of(2) {
                (0..TILE).for_each(|i| io.lds_load(S_SIMILAR + i, 4 * ((i + 1) * PITCH + t.local + 1)));
                return Flow::Next;
            }
            let pitch = self.tiles * TILE + 1;
            for i in 0..TILE {
                let at = (row0 + i + 1) * pitch + column0 + t.local + 1;
                io.store(i, self.base.at(SCORE, at), t.bits(S_SIMILAR + i));
            }
            return Flow::End;
        }
        if t.round.is_multiple_of(2) {
            if row < TILE {
                io.lds_load(S_BEFORE, cell - 4 * PITCH - 4);
                io.lds_load(S_LEFT, cell - 4);
                io.lds_load(S_ABOVE, cell - 4 * PITCH);
            }
            return Flow::Next;
        }
        if row < TILE {
            let score = self.best(t.int(S_BEFORE), t.int(S_LEFT), t.int(S_ABOVE), t.int(S_SIMILAR + row));
            io.alu(4);
            io.lds_store(0, cell, u64::from(score as u32));
        }
        Flow::Barrier
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let n = (self.tiles * TILE) as usize;
        let mut score = self.base.first::<i32>(SCORE);
        let similar = self.base.first::<i32>(SIMILAR);
        for i in 1..=n {
            for j in 1..=n {
                let at = i * (n + 1) + j;
                let similar = similar[(i - 1) * n + j - 1];
                score[at] = self.best(score[at - n - 2], score[at - 1], score[at - n - 1], similar);
            }
        }
        self.base.check(SCORE, &score, memory)
    }
}
