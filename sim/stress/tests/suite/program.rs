//! Programs: the same for the same seed, legal traces, with everything in them that they may have.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::collections::BTreeSet;
use weft_fabric::config::FabricConfig;
use weft_stress::program::Program;
use weft_stress::{Ground, Shape};
use weft_workload::op::{Class, Scope};
use weft_workload::trace::op::TraceOp;
use weft_workload::trace::{binary, text};

fn ground(fabric: &str, keys: &[&str]) -> Ground {
    let mut config = FabricConfig::load(fabric).expect("a fabric");
    keys.iter().for_each(|key| config.set(key).expect("a key"));
    Ground::of(&config)
}

fn programs(ground: &Ground) -> impl Iterator<Item = Program> + '_ {
    (0..60).map(|seed| {
        let mut rng = SmallRng::seed_from_u64(seed);
        let shape = Shape::draw(&mut rng, ground);
        Program::draw(&mut rng, ground, &shape)
    })
}

#[test]
fn programs_are_traces_that_are_read_again() {
    for (fabric, keys) in [("rec-4gpu-small", &[][..]), ("spandex-4gpu-small", &["model=drfrlx"])] {
        for program in programs(&ground(fabric, keys)) {
            let trace = program.trace();
            let back = binary::read(&binary::write(&trace), "a").expect("what was written");
            assert_eq!(back, trace);
            let words = text::write(&trace);
            let again = text::read(words.as_bytes(), "a").expect("what was written");
            assert_eq!(text::write(&again), words);
            let lanes = |op: &TraceOp| op.access().map_or(0, |access| access.mask.count_ones());
            assert_eq!(program.operations(), program.ops().map(|op| u64::from(lanes(op))).sum::<u64>());
        }
    }
}

#[test]
fn programs_do_everything_that_the_model_knows() {
    let relaxed = ground("spandex-soc-small", &["model=drfrlx"]);
    let all: Vec<Program> = programs(&relaxed).collect();
    let classes: BTreeSet<char> = all
        .iter()
        .flat_map(Program::ops)
        .filter_map(TraceOp::access)
        .map(|access| format!("{:?}", access.class).chars().next().expect("a letter"))
        .collect();
    assert_eq!(classes, BTreeSet::from(['C', 'D', 'N', 'P', 'U']));
    assert!(all.iter().any(|program| program.cores > 0) && all.iter().any(|program| program.cores == 0));
    let some = |is: fn(&TraceOp) -> bool| all.iter().flat_map(Program::ops).any(is);
    assert!(some(|op| matches!(op, TraceOp::Fence { .. })) && some(|op| matches!(op, TraceOp::Barrier)));
    assert!(all.iter().flat_map(|program| &program.kernels).any(|kernel| !kernel.copies.is_empty()));
    let sizes: BTreeSet<u8> =
        all.iter().flat_map(Program::ops).filter_map(TraceOp::access).map(|access| access.size).collect();
    assert_eq!(sizes, BTreeSet::from([1, 2, 4, 8]));
}

#[test]
fn synchronisation_stays_inside_its_scope() {
    let ground = ground("srsp-64cu-small", &[]);
    assert!(ground.scopes && ground.remote);
    let (mut owned, mut remote) = (0, 0);
    for program in programs(&ground) {
        let mut home = std::collections::HashMap::new();
        for wave in program.kernels.iter().flat_map(|kernel| &kernel.waves) {
            for access in wave.ops.iter().filter_map(TraceOp::access).filter(|a| a.class != Class::D) {
                let cells = (0..64).filter(|lane| access.mask >> lane & 1 == 1);
                for cell in cells.map(|lane| access.addrs.at(lane) / 8) {
                    if access.remote {
                        remote += 1;
                        assert_eq!((access.class, access.scope), (Class::P, Scope::Gpu));
                    } else if access.scope == Scope::Cu {
                        owned += 1;
                        assert_eq!(*home.entry(cell).or_insert(wave.unit), wave.unit, "one unit's own");
                    }
                }
            }
        }
    }
    assert!(owned > 100 && remote > 100, "{owned} {remote}");
}

#[test]
fn words_of_a_narrow_scope_are_no_data_outside_of_it() {
    let ground = ground("flat-gpu-small", &["protocol=s-denovo-gpu", "scopes=true"]);
    assert!(ground.scopes && ground.mixed);
    let mut both = 0;
    for program in programs(&ground) {
        let mut home = std::collections::HashMap::new();
        let waves = || program.kernels.iter().flat_map(|kernel| &kernel.waves);
        let cells = |access: &weft_workload::trace::op::TraceAccess| -> Vec<u64> {
            let lanes = (0..64).filter(|lane| access.mask >> lane & 1 == 1);
            lanes.map(|lane| access.addrs.at(lane) / 8).collect()
        };
        for wave in waves() {
            let narrow = wave.ops.iter().filter_map(TraceOp::access).filter(|a| a.scope == Scope::Cu);
            home.extend(narrow.flat_map(cells).map(|cell| (cell, wave.unit)));
        }
        for wave in waves() {
            let data = wave.ops.iter().filter_map(TraceOp::access).filter(|a| a.class == Class::D);
            for unit in data.flat_map(cells).filter_map(|cell| home.get(&cell)) {
                both += 1;
                assert_eq!(*unit, wave.unit, "a heterogeneous race");
            }
        }
    }
    assert!(both > 20, "{both}");
}

#[test]
fn where_nothing_is_coherent_nothing_synchronises() {
    for (fabric, keys) in [("rdma-4gpu-small", &[][..]), ("tsm-4gpu-small", &["protocol=wb-nc-rc"])] {
        let ground = ground(fabric, keys);
        assert!(!ground.coherent);
        let data = |op: &TraceOp| op.access().is_none_or(|access| access.class == Class::D);
        for program in programs(&ground) {
            assert!(program.ops().all(|op| data(op) && !matches!(op, TraceOp::Fence { .. })));
        }
    }
}
