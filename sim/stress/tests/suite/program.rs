//! Programs: the same for the same seed, legal traces, with everything in them that they may have.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::collections::BTreeSet;
use weft_fabric::config::FabricConfig;
use weft_stress::program::Program;
use weft_stress::{Ground, Shape};
use weft_workload::op::{Class, Hint, Scope, Sem};
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

/// Operations of all programs, and those that name a request.
fn hinted(ground: &Ground) -> (usize, Vec<TraceOp>) {
    let all: Vec<TraceOp> =
        programs(ground).flat_map(|program| program.ops().cloned().collect::<Vec<_>>()).collect();
    let named = |op: &&TraceOp| op.access().is_some_and(|access| access.hint != Hint::default());
    (all.len(), all.iter().filter(named).cloned().collect())
}

#[test]
fn requests_are_named_where_an_l1_follows_them_and_fit() {
    let (all, hinted) = hinted(&ground("spandex-soc-small", &["protocol=s-flex"]));
    assert!(hinted.len() * 10 > all, "{} of {all}", hinted.len());
    assert!(hinted.iter().all(|op| op.hint_fits().is_ok()));
    let named: BTreeSet<String> =
        hinted.iter().filter_map(TraceOp::access).map(|access| access.hint.to_string()).collect();
    // Of six requests, each of a word and of a line; and the line by the L1's own choice.
    assert_eq!(named.len(), 13, "{named:?}");
    let (_, none) = self::hinted(&ground("spandex-soc-small", &["protocol=s-mesi-gpu"]));
    assert!(none.is_empty());
}

#[test]
fn some_waves_hand_many_lines_over_and_others_load_the_last_at_once() {
    // A release behind 16 stores of whole lines, and loads of what such a release has just handed over.
    let (mut handed, mut taken) = (0, 0);
    for program in programs(&ground("rec-4gpu-small", &["cus=2"])) {
        for kernel in &program.kernels {
            let ops = || kernel.waves.iter().flat_map(|wave| wave.ops.windows(17));
            let address = |op: &TraceOp| op.access().map(|access| access.addrs.at(0));
            let last: BTreeSet<u64> = ops()
                .filter(|ops| matches!(&ops[16], TraceOp::Store { access, .. } if access.sem == Sem::Release))
                .filter(|ops| {
                    ops[..16]
                        .iter()
                        .all(|op| matches!(op, TraceOp::Store { access, .. } if access.class == Class::D))
                })
                .filter_map(|ops| address(&ops[15]))
                .collect();
            handed += last.len();
            let looks = |ops: &&[TraceOp]| {
                matches!(&ops[0], TraceOp::Load { access, .. } if access.sem == Sem::Acquire)
                    && matches!(ops[1], TraceOp::Await { .. })
                    && address(&ops[2]).is_some_and(|addr| last.contains(&addr))
            };
            taken += ops().filter(looks).count();
        }
    }
    assert!(handed > 0 && taken > 20, "{handed} {taken}");
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
