//! Modules that differ in constants only share one netlist and one code, and still do what each of them says.

use std::sync::Arc;
use weft_engine::{BackendKind, Design, Options, Sim};
use weft_rtl::prelude::*;

/// Counts up by `step`, and tells when the count is `own`; `own` is used three times, once as the number of a bit, and may be equal to another constant.
fn counter(name: &str, own: u64, step: u64) -> Arc<Module> {
    Module::build(name, ModuleKind::Block, || {
        let go = input::<Bool>("go", ());
        let count = output_reg::<Bits>("count", 8);
        let met = output_reg::<Bits>("met", 8);
        let odd = output_reg::<Bool>("odd", ());
        odd.set(!odd.get());
        when(go, || count.set(count.get() + lit(step, 8)));
        let own_bit = count.get().bit(own as u32 % 8) & count.get().bit(7);
        when(count.get().eq(own) | (count.get() ^ lit(own, 8)).eq(5) | own_bit, || {
            met.set(met.get() + lit(3, 8))
        });
        assert_always("far", count.get().ne(250), "the count stays below 250");
    })
    .expect("elaborates")
}

/// The counters side by side, as outputs `countN` and `metN`.
fn fabric(parts: &[Arc<Module>]) -> Arc<Module> {
    Module::build("counters", ModuleKind::Fabric, || {
        let go = input::<Bits>("go", 1);
        for (i, part) in parts.iter().enumerate() {
            let inst = instance(&format!("part{i}"), part);
            inst.drive_bits("go", go);
            for port in ["count", "met"] {
                output::<Bits>(&format!("{port}{i}"), 8).set(inst.out_bits(port));
            }
        }
    })
    .expect("elaborates")
}

#[test]
fn constants_apart_the_code_is_one() {
    // The third one's own constant is also its step, the fourth one's the 3 that is added; the fifth steps otherwise, the last counts ports apart.
    let sizes = [(9, 1), (77, 1), (1, 1), (3, 1), (9, 2)];
    let parts: Vec<_> = sizes
        .iter()
        .enumerate()
        .map(|(i, (own, step))| counter(&format!("counter{i}"), *own, *step))
        .collect();
    for backend in [BackendKind::Native, BackendKind::Interp] {
        let options = Options { backend, ..Options::default() };
        let design = Design::new(&fabric(&parts), options).expect("a fabric");
        assert_eq!(design.codes(), 1, "all five differ in constants only");
        let mut all = Sim::new(&design);
        let mut alone: Vec<Sim> =
            parts.iter().map(|part| Sim::new(&Design::new(part, options).expect("a block"))).collect();
        let go = all.input("go").expect("a port");
        for cycle in 0..400u64 {
            let value = u64::from(cycle % 7 != 0);
            all.set(go, value);
            for (i, sim) in alone.iter_mut().enumerate() {
                let own = sim.input("go").expect("a port");
                sim.set(own, value);
                for port in ["count", "met"] {
                    let (ours, theirs) = (all.output(&format!("{port}{i}")), sim.output(port));
                    let seen = (all.get(ours.expect("a port")), sim.get(theirs.expect("a port")));
                    assert_eq!(seen.0, seen.1, "{port} of part {i} in cycle {cycle}");
                }
                sim.step();
            }
            all.step();
        }
        let failures: usize = alone.iter().map(|sim| sim.failures().len()).sum();
        assert!(failures > 0 && all.failures().len() == failures, "each fails as often as alone");
        let modules: Vec<_> =
            all.probes().filter(|p| p.name == "far").map(|p| p.module.to_string()).collect();
        assert_eq!(modules, ["counter0", "counter1", "counter2", "counter3", "counter4"]);
    }
}

#[test]
fn what_differs_otherwise_stays_apart() {
    let wide = |name: &str, width: u32, reset: u64| {
        Module::build(name, ModuleKind::Block, || {
            let count = output_reg::<Bits>("count", width).reset(&[reset]);
            count.set(count.get() + 1);
        })
        .expect("elaborates")
    };
    let parts = [wide("a", 8, 0), wide("b", 9, 0), wide("c", 8, 4), wide("d", 8, 0)];
    let module = Module::build("mixed", ModuleKind::Fabric, || {
        for (i, part) in parts.iter().enumerate() {
            let inst = instance(&format!("part{i}"), part);
            output::<Bits>(&format!("count{i}"), if i == 1 { 9 } else { 8 }).set(inst.out_bits("count"));
        }
    })
    .expect("elaborates");
    let design = Design::new(&module, Options::default()).expect("a fabric");
    assert_eq!(design.codes(), 3, "a and d are the same");
}

#[test]
fn a_block_alone_in_a_fabric_hears_itself() {
    let part = counter("echo", 9, 1);
    let module = Module::build("ring", ModuleKind::Fabric, || {
        let inst = instance("part", &part);
        inst.drive_bits("go", inst.out_bits("odd"));
        output::<Bits>("count", 8).set(inst.out_bits("count"));
    });
    let design = Design::new(&module.expect("elaborates"), Options { sleep: false, ..Options::default() });
    let mut sim = Sim::new(&design.expect("a fabric"));
    let count = sim.output("count").expect("a port");
    sim.run(20);
    assert!(sim.get(count) > 5, "its output reaches its input: {}", sim.get(count));
}
