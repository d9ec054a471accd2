//! MiniAMR: seven-point stencil on blocks that are refined where an object moves.

use super::common::{LANES, SEED};
use super::gemv::GROUP;
use super::mesh::{ALONG, BLOCK, Mesh};
use super::params::{Legal, ParamSpec, Params};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::warm::WARMUP;
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "miniamr",
    about: "Seven-point average on blocks of 4 x 4 x 4 cells, refined once where a moving sphere's surface is: faces are \
            exchanged, cells updated, and at each refinement all blocks move to new places (after MiniAMR).",
    params: &[
        ParamSpec {
            name: "roots",
            default: "4",
            legal: Legal::Integer { min: 1, max: 32 },
            unit: "blocks",
            about: "Unrefined blocks along each side.",
        },
        ParamSpec {
            name: "refinements",
            default: "3",
            legal: Legal::Integer { min: 0, max: 100 },
            unit: "refinements",
            about: "Refinements; each comes after some steps.",
        },
        ParamSpec {
            name: "steps",
            default: "2",
            legal: Legal::Integer { min: 1, max: 100 },
            unit: "steps",
            about: "Time steps of two kernels before each refinement and after the last.",
        },
        GROUP,
        LANES,
        SEED,
        WARMUP,
    ],
    published: &[("roots", "24"), ("refinements", "20"), ("steps", "10"), ("group", "256")],
    takes_graph: false,
    make: |params, _| Simt::from_params(MiniAmr::new, params),
};

/// Words of a face entry, then of an origin entry.
const FACE_WORDS: u64 = 7;
const ORIGIN_WORDS: u64 = 9;
/// Cells of a face.
const FACE_CELLS: u64 = ALONG * ALONG;

const NEIGHBOURS: usize = 0;
const ORIGINS: usize = 1;
/// Both buffers of the cells; a step or a refinement goes from one to the other.
const CELLS: usize = 2;
/// Values beyond each face of each block.
const FACES: usize = 4;

const P_EXCHANGE: u32 = 0;
const P_UPDATE: u32 = 1;
const P_REFINE: u32 = 2;

/// A kernel of the schedule.
#[derive(Clone, Copy, Debug)]
struct Stage {
    phase: u32,
    /// Mesh that it works on; the new one of a refinement.
    mesh: usize,
    /// Buffer that it reads.
    buffer: usize,
}

/// The stencil on changing meshes.
#[derive(Clone, Debug)]
pub struct MiniAmr {
    base: Base,
    group: u32,
    meshes: Vec<Mesh>,
    /// First block of each mesh in the tables of all.
    starts: Vec<u64>,
    schedule: Vec<Stage>,
}

impl MiniAmr {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [roots, refinements, steps] = ["roots", "refinements", "steps"].map(|name| params.integer(name));
        let meshes: Vec<Mesh> =
            (0..=refinements).map(|time| Mesh::around_sphere(roots, time, refinements)).collect();
        let mut starts = vec![0];
        meshes.iter().for_each(|mesh| starts.push(starts[starts.len() - 1] + mesh.blocks()));
        let (mut neighbours, mut origins, mut schedule, mut buffer) = (vec![], vec![], vec![], 0);
        for (i, mesh) in meshes.iter().enumerate() {
            neighbours
                .extend((0..mesh.blocks()).flat_map(|block| (0..6).flat_map(move |f| mesh.face(block, f))));
            let old = &meshes[i.saturating_sub(1)];
            origins.extend((0..mesh.blocks()).flat_map(|block| mesh.origin(block, old)));
            if i > 0 {
                schedule.push(Stage { phase: P_REFINE, mesh: i, buffer });
                buffer = 1 - buffer;
            }
            for _ in 0..steps {
                schedule.extend([P_EXCHANGE, P_UPDATE].map(|phase| Stage { phase, mesh: i, buffer }));
                buffer = 1 - buffer;
            }
        }
        let most = meshes.iter().map(Mesh::blocks).max().unwrap_or(0);
        let first = data::units(params.integer("seed"), 0, (meshes[0].blocks() * BLOCK) as usize);
        let mut base = Base::new(INFO.name, params);
        base.input("neighbours", data::u32_bytes(&neighbours));
        base.input("origins", data::u32_bytes(&origins));
        base.add("cells", most * BLOCK, false, data::f32_bytes(&first));
        base.zeros("other", most * BLOCK);
        base.zeros("faces", most * 6 * FACE_CELLS);
        Ok(Self { base, group: params.integer("group") as u32, meshes, starts, schedule })
    }

    fn cell(&self, buffer: u64, block: u64, cell: u64) -> u64 {
        self.base.at(CELLS + buffer as usize, block * BLOCK + cell)
    }

    /// Reads the face's entry, then the cell beyond, or the four finer ones.
    fn exchange(&self, t: &Thread, io: &mut Round) -> Flow {
        let (face, place) = (t.id / FACE_CELLS, t.id % FACE_CELLS);
        let entry = |i: u64| self.base.at(NEIGHBOURS, (t.args[0] * 6 + face) * FACE_WORDS + i);
        let words = || std::array::from_fn(|i| t.bits(i as u64) as u32);
        match t.round {
            0 => (0..FACE_WORDS).for_each(|i| io.read(i, entry(i))),
            1 => {
                let cells = Mesh::beyond(face / 6, face % 6, place, &words());
                (8..)
                    .zip(cells)
                    .for_each(|(slot, (block, cell))| io.load(slot, self.cell(t.args[1], block, cell)));
            }
            _ => {
                let count = Mesh::beyond(face / 6, face % 6, place, &words()).len();
                io.alu(count as u64);
                io.put(0, self.base.at(FACES, t.id), mean(count, |i| t.float(8 + i as u64)));
                return Flow::End;
            }
        }
        Flow::Next
    }

    fn update(&self, t: &Thread, io: &mut Round) -> Flow {
        let (block, cell) = (t.id / BLOCK, t.id % BLOCK);
        if t.round == 0 {
            io.load(6, self.cell(t.args[1], block, cell));
            for face in 0..6 {
                io.load(
                    face,
                    match Mesh::step(cell, face) {
                        Ok(next) => self.cell(t.args[1], block, next),
                        Err(place) => self.base.at(FACES, (block * 6 + face) * FACE_CELLS + place),
                    },
                );
            }
            return Flow::Next;
        }
        io.alu(8);
        let value = stencil(t.float(6), |face| t.float(face));
        io.put(0, self.cell(1 - t.args[1], block, cell), value);
        Flow::End
    }

    fn refine(&self, t: &Thread, io: &mut Round) -> Flow {
        let (block, cell) = (t.id / BLOCK, t.id % BLOCK);
        let words = || std::array::from_fn(|i| t.bits(i as u64) as u32);
        match t.round {
            0 => (0..ORIGIN_WORDS).for_each(|i| {
                io.read(i, self.base.at(ORIGINS, (t.args[0] + block) * ORIGIN_WORDS + i));
            }),
            1 => {
                let cells = Mesh::sources(cell, &words());
                (10..)
                    .zip(cells)
                    .for_each(|(slot, (block, cell))| io.load(slot, self.cell(t.args[1], block, cell)));
            }
            _ => {
                let count = Mesh::sources(cell, &words()).len();
                io.alu(count as u64);
                io.put(0, self.cell(1 - t.args[1], block, cell), mean(count, |i| t.float(10 + i as u64)));
                return Flow::End;
            }
        }
        Flow::Next
    }
}

fn mean(count: usize, value: impl Fn(usize) -> f32) -> f32 {
    (0..count).fold(0.0, |sum, i| sum + value(i)) / count as f32
}

fn stencil(own: f32, around: impl Fn(u64) -> f32) -> f32 {
    (0..6).fold(own, |sum, face| sum + around(face)) / 7.0
}

impl Kernels for MiniAmr {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let stage = self.schedule.get(index)?;
        let blocks = self.meshes[stage.mesh].blocks();
        let (name, each) = match stage.phase {
            P_EXCHANGE => ("amr_exchange", 6 * FACE_CELLS),
            P_UPDATE => ("amr_update", BLOCK),
            _ => ("amr_refine", BLOCK),
        };
        let args = [self.starts[stage.mesh], stage.buffer as u64];
        Some(Launch::new(name, stage.phase, blocks * each, self.group).args(&args))
    }

    fn round(&self, t: &Thread, _: &mut [u64], io: &mut Round) -> Flow {
        match t.phase {
            P_EXCHANGE => self.exchange(t, io),
            P_UPDATE => self.update(t, io),
            P_REFINE => self.refine(t, io),
            _ => Flow::End,
        }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let mut buffers = [CELLS, CELLS + 1].map(|array| self.base.first::<f32>(array));
        for stage in self.schedule.iter().filter(|stage| stage.phase != P_EXCHANGE) {
            let mesh = &self.meshes[stage.mesh];
            let from = &buffers[stage.buffer];
            let at = |(block, cell): (u64, u64)| from[(block * BLOCK + cell) as usize];
            let averaged = |cells: Vec<(u64, u64)>| mean(cells.len(), |i| at(cells[i]));
            let value = |i: u64| {
                let (block, cell) = (i / BLOCK, i % BLOCK);
                if stage.phase == P_REFINE {
                    return averaged(Mesh::sources(cell, &mesh.origin(block, &self.meshes[stage.mesh - 1])));
                }
                stencil(at((block, cell)), |face| match Mesh::step(cell, face) {
                    Ok(next) => at((block, next)),
                    Err(place) => averaged(Mesh::beyond(block, face, place, &mesh.face(block, face))),
                })
            };
            let new: Vec<f32> = (0..mesh.blocks() * BLOCK).map(value).collect();
            buffers[1 - stage.buffer][..new.len()].copy_from_slice(&new);
        }
        self.base.check(CELLS, &buffers[0], memory)?;
        self.base.check(CELLS + 1, &buffers[1], memory)
    }
}
