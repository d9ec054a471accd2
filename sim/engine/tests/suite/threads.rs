//! Results do not depend on the number of threads.

use std::sync::Arc;
use weft_engine::{BackendKind, Design, Options, Sim};
use weft_rtl::prelude::*;

/// Counts down from what arrives, adding it up; rests at zero until something else arrives.
fn worker(kind: u32) -> Arc<Module> {
    Module::build(&format!("worker{kind}"), ModuleKind::Block, || {
        let arrives = input::<Bits>("arrives", 32);
        let seen = reg::<Bits>("seen", 32);
        let left = reg::<Bits>("left", 8);
        let sum = output_reg::<Bits>("sum", 32);
        count("work", left.get().any(), "cycles of work");
        when(left.get().any(), || {
            left.set(left.get() - 1);
            sum.set(sum.get() + seen.get() + u64::from(kind));
        })
        .elsewhen(arrives.ne(seen.get()), || {
            seen.set(arrives);
            left.set(arrives.slice(0, 6).zext(8));
        });
    })
    .expect("elaborates")
}

/// A ring of workers of three kinds; the first one also hears the outside.
fn ring(units: usize) -> Arc<Module> {
    let kinds: Vec<Arc<Module>> = (0..3).map(worker).collect();
    Module::build("ring", ModuleKind::Fabric, || {
        let start = input::<Bits>("start", 32);
        let workers: Vec<InstanceRef> =
            (0..units).map(|i| instance(&format!("w{i}"), &kinds[i % 3])).collect();
        for (i, worker) in workers.iter().enumerate() {
            let before = if i == 0 { start } else { workers[i - 1].out_bits("sum") };
            worker.drive_bits("arrives", before);
        }
        output::<Bits>("last", 32).set(workers[units - 1].out_bits("sum"));
    })
    .expect("elaborates")
}

#[test]
fn threads_change_nothing() {
    for backend in [BackendKind::Native, BackendKind::Interp] {
        let design = Design::new(&ring(70), Options { backend, ..Options::default() }).expect("flattens");
        let states = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| {
                let mut sim = Sim::new(&design);
                sim.set_threads(threads);
                let start = sim.input("start").expect("there");
                let mut most = 0;
                let states: Vec<Vec<u8>> = (0..60u64)
                    .map(|round| {
                        sim.set(start, 0x2545_f491 * (round + 1) % 0xffff_fffb);
                        for _ in 0..40 {
                            sim.step();
                            most = most.max(sim.awake_units());
                        }
                        sim.save()
                    })
                    .collect();
                assert!(most > 30, "only {most} units were ever awake: nothing was shared out");
                states
            })
        };
        let alone = states(1);
        for threads in [2, 3, 5] {
            assert!(states(threads) == alone, "{backend:?} with {threads} threads");
        }
    }
}
