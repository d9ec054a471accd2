//! Native code equals the interpreter: on random circuits first, and with sleeping switched off.

use weft_engine::compare::{Xorshift, compare};
use weft_engine::random::random_module;
use weft_engine::{BackendKind, Design, Options, Sim};
use weft_rtl::prelude::*;

#[test]
fn random_circuits_agree() {
    let failures: Vec<String> = (0..120)
        .filter_map(|seed| {
            let module = random_module(seed, 10 + seed % 90).expect("elaborates");
            compare(&module, 120, seed).err().map(|e| format!("{}: {e}", module.name))
        })
        .collect();
    assert!(failures.is_empty(), "{} circuits differ:\n{}", failures.len(), failures.join("\n"));
}

/// Two shared expressions that can each switch the other off: neither may be left out on the other's word when both are.
#[test]
fn of_two_that_switch_each_other_off_one_is_right() {
    let module = Module::build("either", ModuleKind::Block, || {
        let bits: Vec<_> = ["p", "q"].iter().map(|n| input::<Bool>(n, ())).collect();
        let words: Vec<_> = ["a", "b", "c"].iter().map(|n| input::<Bits>(n, 4)).collect();
        let gated = bits[0] & (words[0] + words[1]).eq(words[2]);
        let open = bits[1] | (words[0] - words[1]).eq(words[2]);
        for k in 0..8 {
            let own = input::<Bool>(&format!("own{k}"), ());
            let either = output_reg::<Bool>(&format!("either{k}"), ());
            either.set(open | (!gated | own));
            let both = output_reg::<Bool>(&format!("both{k}"), ());
            both.set(gated & (!open & own));
        }
    })
    .expect("elaborates");
    compare(&module, 2_000, 7).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn sleeping_changes_nothing() {
    for seed in 0..40 {
        let backend = if seed % 2 == 0 { BackendKind::Native } else { BackendKind::Interp };
        let module = random_module(seed, 30).expect("elaborates");
        let make = |sleep| {
            let options = Options { backend, sleep, ..Options::default() };
            Sim::new(&Design::new(&module, options).expect("flattens"))
        };
        let (mut lazy, mut eager) = (make(true), make(false));
        let mut random = Xorshift::new(seed);
        let ports = lazy.design().inputs.to_vec();
        for _ in 0..60 {
            for port in &ports {
                let value = random.value(port);
                for sim in [&mut lazy, &mut eager] {
                    let input = sim.input(&port.name).expect("listed");
                    sim.set_bv(input, &value);
                }
            }
            for _ in 0..random.below(12) {
                lazy.step();
                eager.step();
            }
            for (a, b) in lazy.probes().zip(eager.probes()) {
                assert_eq!(a.count, b.count, "seed {seed}: {}", a.name);
            }
            for reg in &lazy.design().clone().types[0].netlist.regs {
                assert_eq!(lazy.peek(&reg.path), eager.peek(&reg.path), "seed {seed}: {}", reg.path);
            }
        }
    }
}
