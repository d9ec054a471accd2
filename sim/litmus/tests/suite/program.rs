//! Tests as programs, on the ideal machine: it performs one operation after the other, so that it shows sequentially consistent ends only, and in mixed orders several.

use std::collections::BTreeSet;
use std::path::Path;
use weft_litmus::library::library;
use weft_litmus::model::Model;
use weft_litmus::model::drf::{Drf, Level};
use weft_litmus::paths::Bounds;
use weft_litmus::program::{FitError, Groups, How, Layout, LitmusProgram, Machine, Placement};
use weft_litmus::read::read;
use weft_litmus::test::{Instr, Outcome, Test};
use weft_workload::Program;
use weft_workload::ideal::{Order, run};

const SC: Model = Model::Drf(Drf { level: Level::Sc, scopes: false, data_coherent: true });

const MACHINE: Machine =
    Machine { cores: 2, nodes: 4, gpms: 2, cus: 2, waves: 4, line: 64, mixed: true, hints: true };

fn public() -> Vec<Test> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/public");
    let list = std::fs::read_to_string(folder.join("expected.csv")).expect("the list of tests");
    let files = list.lines().skip(1).filter_map(|row| row.split(',').next());
    let text = |file| std::fs::read_to_string(folder.join(file)).expect("a test of the list");
    files.map(|file| read(&text(file)).expect(file)).collect()
}

/// Ends of the runs in one order.
fn ends(test: &Test, how: How, order: Order) -> Result<Vec<Outcome>, FitError> {
    let program = LitmusProgram::new(test, &MACHINE, how)?;
    let done = run(&program, order).expect("it ends");
    program.verify(&|at, count| done.memory.read(at, count)).expect("its ends are taken");
    Ok(program.ends().into_iter().map(|(_, end)| end).collect())
}

/// Runs of a test in every placement and layout that it has: how many of these there were, ends seen, number of possible ends.
fn is_sequential(test: &Test, bounds: Bounds) -> (usize, BTreeSet<Outcome>, usize) {
    let allowed = SC.ends(test, bounds).unwrap_or_else(|e| panic!("{e}"));
    let (mut ways, mut seen) = (0, BTreeSet::new());
    for (n, placement) in Placement::ALL.into_iter().enumerate() {
        for layout in Layout::ALL {
            // As waves of a run each, and as lanes of the runs together, which branch apart.
            let how = |lanes| How {
                runs: 12,
                ways: vec![(placement, layout)],
                lanes,
                together: lanes - 1,
                delay: 64,
                traffic: 20,
                scopes: true,
                seed: 3 + n as u64,
            };
            let orders =
                [(1, Order::Forward), (5, Order::Reverse), (1, Order::Mixed(1)), (5, Order::Mixed(2))];
            for (lanes, order) in orders {
                let Ok(ends) = ends(test, how(lanes), order) else { continue };
                ways += 1;
                assert_eq!(ends.len(), 12);
                for end in &ends {
                    assert!(allowed.contains(end), "{}: {}", test.name, test.describe(end));
                }
                seen.extend(ends);
            }
        }
    }
    (ways, seen, allowed.len())
}

#[test]
fn the_ideal_machine_shows_sequential_ends() {
    let bounds = Bounds { turns: 4, ..Bounds::default() };
    let mut same = Vec::new();
    for test in library().expect("the library").iter().chain(&public()) {
        let (ways, seen, possible) = is_sequential(test, bounds);
        assert!(ways >= 4, "{} ran nowhere", test.name);
        if possible > 1 && seen.len() == 1 && !tries_again(test) {
            same.push(test.name.clone());
        }
    }
    assert!(same.is_empty(), "ended in one way only: {same:?}");
}

/// Whether an acquire is tried again: where each operation takes one step, it always finds in the end what it waits for.
fn tries_again(test: &Test) -> bool {
    test.threads.iter().any(|thread| {
        let loads = thread.code.iter().filter(|instr| matches!(instr, Instr::Load { .. }));
        loads.clone().any(|one| loads.clone().filter(|other| *other == one).count() > 1)
    })
}

#[test]
fn every_word_and_wave_is_used_once() {
    let test = &library().expect("the library")[0];
    for layout in Layout::ALL {
        let how = How {
            runs: 200,
            ways: vec![(Placement::Cus, layout), (Placement::Cpu, layout)],
            lanes: 7,
            together: 0,
            delay: 0,
            traffic: 0,
            scopes: false,
            seed: 1,
        };
        let ends = ends(test, how, Order::Mixed(4)).expect("it fits");
        // A word shared by two runs, or a thread left out, would show as an end that is not the test's.
        let allowed = SC.ends(test, Bounds::default()).expect("enumerated");
        assert_eq!(ends.len(), 200);
        assert!(ends.iter().all(|end| allowed.contains(end)));
        assert!(ends.iter().collect::<BTreeSet<_>>().len() > 1);
    }
}

#[test]
fn scopes_bind_threads_where_they_are_honoured() {
    let text = "weft-litmus 1\nlocs x\nT0 @cu0 gpu0: W.P.cu x 1\nT1 @cu0 gpu0: r1 = R.P.cu x\nT2 @cu1 gpu0: r2 = R.P.sys x\nexists (1:r1=1)\n";
    let test = read(text).expect("a test");
    let free = Groups::new(&test, false);
    let bound = Groups::new(&test, true);
    for seed in 0..50 {
        let cus = |groups: &Groups, how| groups.place(&MACHINE, how, seed);
        let near = cus(&bound, Placement::Cus).expect("two CUs");
        assert!(near[0] == near[1] && near[0] != near[2], "{near:?}");
        assert_eq!(cus(&bound, Placement::Gpus), None, "all are of one GPU");
        let apart = cus(&free, Placement::Gpus).expect("two GPUs");
        let gpu = |block: u32| (block - MACHINE.cores) / MACHINE.cus / MACHINE.gpms;
        assert_ne!(gpu(apart[0]), gpu(apart[1]));
        let one = cus(&bound, Placement::Cu).expect("one CU");
        assert!(one.iter().all(|block| *block == one[0]));
    }
    let cores = Machine { cores: 0, ..MACHINE };
    assert_eq!(free.place(&cores, Placement::Cpu, 1), None);
}

#[test]
fn what_does_not_fit_is_said() {
    let locs: Vec<String> = (0..17).map(|n| format!("x{n}")).collect();
    let text = format!("weft-litmus 1\nlocs {}\nT0 : W.D x0 1\nexists (x0=1)\n", locs.join(" "));
    let test = read(&text).expect("a test");
    let how = How {
        runs: 1,
        ways: vec![(Placement::Cu, Layout::Line)],
        lanes: 1,
        together: 0,
        delay: 0,
        traffic: 0,
        scopes: false,
        seed: 1,
    };
    let error = LitmusProgram::new(&test, &MACHINE, how.clone()).err().expect("refused");
    assert!(error.to_string().contains("17 locations, and a line holds 16"), "{error}");
    let how = How { ways: vec![(Placement::Gpus, Layout::Lines)], ..how };
    let error = LitmusProgram::new(&test, &MACHINE, how).err().expect("refused");
    assert!(error.to_string().contains("no placement gpus"), "{error}");
    assert!("here".parse::<Placement>().is_err_and(|e| e.contains("cu, cus, gpms, gpus, cpu")));
}

#[test]
fn what_no_program_does_is_refused() {
    let texts = [
        ("PTX a\n{}\n P0 ;\n bar.cta.sync 0 ;\nexists true", "a barrier"),
        ("PTX a\n{}\n P0 ;\n tld.weak r0, x ;\nexists true", "a proxy"),
        ("PTX a\n{ x=0; y @ generic aliases x; }\n P0 ;\n ld.weak r0, y ;\nexists true", "virtual addresses"),
        ("AArch64 a\n{ 0:X1=x; }\n P0 ;\n STXR W0,W2,[X1] ;\nexists true", "a store exclusive"),
    ];
    for (text, what) in texts {
        let how = How {
            runs: 1,
            ways: vec![(Placement::ALL[0], Layout::ALL[0])],
            lanes: 1,
            together: 0,
            delay: 0,
            traffic: 0,
            scopes: true,
            seed: 1,
        };
        let error = LitmusProgram::new(&read(text).expect(text), &MACHINE, how).err().expect(text);
        assert_eq!(error, FitError::Beyond { test: "a".into(), what });
    }
}
