//! Implicit: each thread reads its element, computes, and writes it back, by one of several local memories (chapter 2 of Alsop's dissertation, `cu-and-consistency.md` section 8).

use super::common::{ALU_LATENCY, SEED, Threads, active, compare};
use super::cpu_gpu::LANES;
use super::params::{Legal, ParamSpec, Params, size};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::mapping::{LocalMemory, MapKind, Mapping};
use crate::op::{Access, Addrs, LaneMask, LdsAccess, Op, Token, Unit, Values};
use crate::program::{Array, Frame, HostStep, Kernel, Layout, LoadedValues, Program, VerifyError};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "implicit",
    about: "Each thread of a work-group reads its element of the work-group's chunk of an array, computes and writes it back: through a scratchpad, by DMA, \
            in a stash, or without local memory (the microbenchmark Implicit of the study of local memories).",
    params: &[
        ParamSpec {
            name: "memory",
            default: "scratchpad",
            legal: Legal::Choice(&["scratchpad", "dma", "stash", "global"]),
            unit: "",
            about: "Where the work-groups keep their chunks; without a value, what the fabric's CUs have.",
        },
        size("blocks", "64", 1 << 16, "work-groups", "Work-groups, and chunks."),
        size("group", "256", 1024, "threads", "Threads of a work-group, and elements of a chunk."),
        ParamSpec {
            name: "object_bytes",
            default: "4",
            legal: Legal::Integer { min: 4, max: 4096 },
            unit: "bytes",
            about: "From one element of 4 bytes to the next, a multiple of 4: elements are fields of objects.",
        },
        ParamSpec {
            name: "compute",
            default: "8",
            legal: Legal::Integer { min: 1, max: 10_000 },
            unit: "ticks",
            about: "Computation on an element.",
        },
        size("kernels", "1", 1000, "kernels", "Times that all of it is done."),
        LANES,
        SEED,
    ],
    published: &[],
    takes_graph: false,
    make: |params, _| Ok(Box::new(Implicit::new(params)?)),
};

/// Bytes of an element.
const ELEMENT: u8 = 4;
/// Two instructions with which a wave that copies by itself computes its addresses.
const T_ADDRESS: Token = 0;
const T_GLOBAL: Token = 1;
const T_VALUE: Token = 2;
const T_DONE: Token = 3;
const T_RESULT: Token = 4;

/// Where a chunk is while it is worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Loads and stores of the global memory.
    Global,
    /// Copied to a scratchpad and back by the waves.
    Scratchpad,
    /// The same by DMA.
    Dma,
    /// In a stash.
    Stash,
}

/// The program.
#[derive(Clone, Debug)]
pub struct Implicit {
    way: Way,
    blocks: u32,
    compute: u32,
    kernels: usize,
    threads: Threads,
    object: u64,
    layout: Layout,
}

impl Implicit {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let [blocks, group, object] = ["blocks", "group", "object_bytes"].map(|name| params.integer(name));
        if !object.is_multiple_of(u64::from(ELEMENT)) {
            return Err(params.illegal("object_bytes", "a multiple of 4".to_owned()));
        }
        let words = blocks * group * object / 4;
        let seed = params.integer("seed");
        let first: Vec<u32> = (0..words).map(|i| data::mix(seed, 0, i) as u32).collect();
        let mut layout = Layout::new();
        layout.add("objects", 4, words, false, data::u32_bytes(&first));
        let way = match params.text("memory") {
            "scratchpad" => Way::Scratchpad,
            "dma" => Way::Dma,
            "stash" => Way::Stash,
            _ => Way::Global,
        };
        Ok(Self {
            way,
            blocks: blocks as u32,
            compute: params.integer("compute") as u32,
            kernels: params.integer("kernels") as usize,
            threads: Threads { lanes: params.integer("lanes") as u32, group: group as u32 },
            object,
            layout,
        })
    }

    /// The chunk of a work-group.
    fn chunk(&self, block: u32) -> Mapping {
        let group = self.threads.group;
        let global = self.layout.arrays()[0].addr + u64::from(block) * u64::from(group) * self.object;
        Mapping { local: 0, global, element: u32::from(ELEMENT), stride: self.object, count: group }
    }

    fn lanes(&self, frame: &Frame) -> Lanes {
        let chunk = self.chunk(frame.block);
        let first = frame.wave * self.threads.lanes;
        let total = u64::from(self.blocks) * u64::from(self.threads.group);
        Lanes {
            global: Addrs::Strided { base: chunk.global_of(first), stride: self.object as i64 },
            local: Addrs::Strided { base: chunk.local_of(first), stride: i64::from(ELEMENT) },
            mask: self.threads.mask(frame.block, frame.wave, total),
        }
    }

    /// The computation, which needs `token`, and the wait for it.
    fn compute(&self, token: Token) -> [Op; 2] {
        let (unit, latency, token) = (Unit::Alu, self.compute, [token]);
        let needs = token.to_vec();
        let compute = Op::Compute { unit, latency, occupancy: 0, needs, token: Some(T_DONE) };
        [compute, Op::Await { tokens: vec![T_DONE] }]
    }

    /// What the lanes store, of what they have loaded.
    fn results(&self, lanes: &Lanes, values: &LoadedValues) -> Values {
        let mut results = vec![0; self.threads.lanes as usize];
        for lane in active(lanes.mask) {
            results[lane] = u64::from(next(values.lane(T_VALUE, lane as u32) as u32));
        }
        Values::Lanes(results)
    }

    fn global(&self, pc: u32, lanes: Lanes, values: &LoadedValues) -> Vec<Op> {
        if pc == 0 {
            let mut ops = address().to_vec();
            ops.push(Op::Load { token: T_VALUE, access: lanes.of_global() });
            ops.extend(self.compute(T_VALUE));
            return ops;
        }
        let values = self.results(&lanes, values);
        vec![Op::Store { access: lanes.of_global(), values }, Op::End]
    }

    fn scratchpad(&self, pc: u32, lanes: Lanes, values: &LoadedValues) -> Vec<Op> {
        let access = lanes.of_local();
        let mut ops = Vec::new();
        match pc {
            0 => {
                ops.extend(address());
                ops.push(Op::Load { token: T_GLOBAL, access: lanes.of_global() });
                ops.push(Op::LdsStore { access, values: Values::Token(T_GLOBAL) });
                ops.push(Op::Barrier);
            }
            1 => {
                ops.push(Op::LdsLoad { token: T_VALUE, access });
                ops.extend(self.compute(T_VALUE));
            }
            2 => {
                ops.push(Op::LdsStore { access, values: self.results(&lanes, values) });
                ops.push(Op::Barrier);
            }
            _ => {
                ops.push(Op::LdsLoad { token: T_RESULT, access });
                ops.push(Op::Store { access: lanes.of_global(), values: Values::Token(T_RESULT) });
                ops.push(Op::End);
            }
        }
        ops
    }

    fn dma(&self, pc: u32, lanes: Lanes, map: Mapping, values: &LoadedValues) -> Vec<Op> {
        let access = lanes.of_local();
        if pc == 0 {
            let mut ops = vec![Op::Map { kind: MapKind::DmaIn, map }, Op::LdsLoad { token: T_VALUE, access }];
            ops.extend(self.compute(T_VALUE));
            return ops;
        }
        let store = Op::LdsStore { access, values: self.results(&lanes, values) };
        vec![store, Op::Map { kind: MapKind::DmaOut, map }, Op::End]
    }

    fn stash(&self, pc: u32, lanes: Lanes, map: Mapping, values: &LoadedValues) -> Vec<Op> {
        let access = lanes.of_local();
        if pc == 0 {
            let load = Op::StashLoad { token: T_VALUE, access };
            let mut ops = vec![Op::Map { kind: MapKind::Stash, map }, load];
            ops.extend(self.compute(T_VALUE));
            return ops;
        }
        vec![Op::StashStore { access, values: self.results(&lanes, values) }, Op::End]
    }
}

/// What the lanes of a wave access.
struct Lanes {
    global: Addrs,
    local: Addrs,
    mask: LaneMask,
}

impl Lanes {
    fn of_global(&self) -> Access {
        Access::data(ELEMENT, self.global.clone(), self.mask)
    }

    fn of_local(&self) -> LdsAccess {
        LdsAccess { size: ELEMENT, addrs: self.local.clone(), mask: self.mask }
    }
}

/// The two instructions that compute addresses.
fn address() -> [Op; 2] {
    [vec![], vec![T_ADDRESS]].map(|needs| Op::Compute {
        unit: Unit::Alu,
        latency: ALU_LATENCY,
        occupancy: 0,
        needs,
        token: Some(T_ADDRESS),
    })
}

/// The computation: one step of a linear congruential generator.
fn next(element: u32) -> u32 {
    element.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)
}

impl Program for Implicit {
    fn name(&self) -> &str {
        INFO.name
    }

    fn lanes(&self) -> u32 {
        self.threads.lanes
    }

    fn local_memory(&self) -> LocalMemory {
        match self.way {
            Way::Global | Way::Scratchpad => LocalMemory::Scratchpad,
            Way::Dma => LocalMemory::Dma,
            Way::Stash => LocalMemory::Stash,
        }
    }

    fn arrays(&self) -> &[Array] {
        self.layout.arrays()
    }

    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        let lds = if self.way == Way::Global { 0 } else { self.chunk(0).bytes() };
        (index < self.kernels).then(|| {
            HostStep::Launch(Kernel {
                id: 0,
                name: "implicit".to_owned(),
                blocks: self.blocks,
                cpus: 0,
                waves_per_block: self.threads.waves(),
                lds_bytes: lds as u32,
                args: vec![],
                co_resident: false,
            })
        })
    }

    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        Frame { kernel: kernel.id, block, wave, ..Frame::default() }
    }

    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let (pc, lanes, chunk) = (frame.pc, self.lanes(frame), self.chunk(frame.block));
        frame.pc += 1;
        match self.way {
            Way::Global => self.global(pc, lanes, values),
            Way::Scratchpad => self.scratchpad(pc, lanes, values),
            Way::Dma => self.dma(pc, lanes, chunk, values),
            Way::Stash => self.stash(pc, lanes, chunk, values),
        }
    }

    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        let array = &self.layout.arrays()[0];
        let mut expected: Vec<u32> =
            array.init.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        for element in expected.iter_mut().step_by((self.object / 4) as usize) {
            *element = (0..self.kernels).fold(*element, |value, _| next(value));
        }
        compare(INFO.name, array, &expected, memory)
    }
}
