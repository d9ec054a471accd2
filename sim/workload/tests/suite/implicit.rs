//! Implicit with every local memory: no race, as much work as section 8 says, and mappings that count.

use std::collections::BTreeMap;

use weft_workload::ideal::{IdealError, Order, run, run_checked};
use weft_workload::program::{Array, Frame, HostStep, Kernel, LoadedValues, Program, VerifyError};
use weft_workload::{LocalMemory, MapKind, Op, build};

const ORDERS: [Order; 4] = [Order::Forward, Order::Reverse, Order::Mixed(1), Order::Mixed(2)];

fn make(memory: &str, more: &[(&str, &str)]) -> Box<dyn Program> {
    let list = [("memory", memory), ("lanes", "32")];
    let given: BTreeMap<String, String> =
        list.iter().chain(more).map(|(k, v)| (k.to_string(), v.to_string())).collect();
    build("implicit", &given, None).unwrap_or_else(|e| panic!("{e}"))
}

/// A program of whose operations some are changed or left out.
struct Changed {
    program: Box<dyn Program>,
    change: fn(Vec<Op>) -> Vec<Op>,
}

impl Program for Changed {
    fn name(&self) -> &str {
        self.program.name()
    }
    fn lanes(&self) -> u32 {
        self.program.lanes()
    }
    fn arrays(&self) -> &[Array] {
        self.program.arrays()
    }
    fn host_step(&self, index: usize, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        self.program.host_step(index, memory)
    }
    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        self.program.start(kernel, block, wave)
    }
    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        (self.change)(self.program.step(frame, values))
    }
    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        self.program.verify(memory)
    }
}

#[test]
fn nothing_races_in_any_order() {
    for memory in ["scratchpad", "dma", "stash", "global"] {
        for more in [&[][..], &[("blocks", "5"), ("group", "47"), ("object_bytes", "36"), ("kernels", "2")]] {
            let program = make(memory, more);
            for order in ORDERS {
                let (done, races) = run_checked(&*program, order).unwrap_or_else(|e| panic!("{memory}: {e}"));
                assert!(races.list.is_empty(), "{memory}: {}", races.list[0]);
                let all = &done.memory;
                program
                    .verify(&|addr, count| all.read(addr, count))
                    .unwrap_or_else(|e| panic!("{memory}: {e}"));
            }
        }
    }
}

/// Of each of 512 waves; whoever copies by himself needs more operations.
#[test]
fn the_operations_of_a_wave_are_those_of_the_study() {
    let counted = [("scratchpad", 13, 4), ("dma", 7, 2), ("stash", 6, 0), ("global", 7, 0)];
    for (memory, operations, local) in counted {
        let stats = run(&*make(memory, &[]), Order::Forward).unwrap_or_else(|e| panic!("{e}")).stats;
        assert_eq!((stats.operations, stats.lds_operations), (512 * operations, 512 * local), "{memory}");
    }
}

#[test]
fn a_program_says_what_it_needs() {
    use LocalMemory::{Dma, Scratchpad, Stash};
    let needs = ["scratchpad", "global", "dma", "stash"].map(|memory| make(memory, &[]).local_memory());
    assert_eq!(needs, [Scratchpad, Scratchpad, Dma, Stash]);
}

#[test]
fn elements_not_copied_are_missed() {
    for kind in [MapKind::DmaIn, MapKind::DmaOut] {
        let change: fn(Vec<Op>) -> Vec<Op> = match kind {
            MapKind::DmaIn => |ops| without(ops, MapKind::DmaIn),
            _ => |ops| without(ops, MapKind::DmaOut),
        };
        let program = Changed { program: make("dma", &[]), change };
        let done = run(&program, Order::Forward).unwrap_or_else(|e| panic!("{e}"));
        assert!(program.verify(&|addr, count| done.memory.read(addr, count)).is_err(), "{kind:?}");
    }
}

fn without(ops: Vec<Op>, kind: MapKind) -> Vec<Op> {
    ops.into_iter().filter(|op| !matches!(op, Op::Map { kind: k, .. } if *k == kind)).collect()
}

/// A store behind the wave's DMA_OUT races with the transfer of the last wave.
#[test]
fn stores_behind_dma_out_race_with_it() {
    let change = |mut ops: Vec<Op>| {
        if matches!(ops[..], [Op::LdsStore { .. }, Op::Map { .. }, Op::End]) {
            ops.swap(0, 1);
        }
        ops
    };
    let program = Changed { program: make("dma", &[("blocks", "1"), ("group", "64")]), change };
    let races = run_checked(&program, Order::Forward).unwrap_or_else(|e| panic!("{e}")).1;
    assert!(races.list.iter().any(|race| race.place.starts_with("scratchpad byte")), "{:?}", races.list);
}

#[test]
fn a_stash_without_a_mapping_holds_nothing() {
    let program = Changed { program: make("stash", &[]), change: |ops| without(ops, MapKind::Stash) };
    let error = run(&program, Order::Forward).expect_err("is refused");
    assert_eq!(
        error.to_string(),
        "kernel implicit work-group 0 wave 0 maps the local address 0x0 in no mapping, expected one of STASH_MAP"
    );
    assert!(matches!(error, IdealError::Mapping { .. }));
}
