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

/// Ports that read what others write, in a ring and in a chain, and two ports on one memory: every read is of the cycle's start.
#[test]
fn memories_are_read_before_they_are_written() {
    let module = Module::build("ring", ModuleKind::Block, || {
        let addr = |name: &str| input::<Bits>(name, 3);
        let (row, other, step) = (addr("row"), addr("other"), input::<Bits>("step", 8));
        let go: Vec<_> = (0..4).map(|n| input::<Bool>(&format!("go{n}"), ())).collect();
        let mems: Vec<_> = (0..3).map(|n| regfile::<Bits>(&format!("mem{n}"), 8, 8)).collect();
        let ports: Vec<_> = mems.iter().map(|mem| mem.lane_writer("port")).collect();
        let second = mems[0].lane_writer("second");
        for (n, port) in ports.iter().enumerate() {
            let from = &mems[(n + 1) % 3];
            when(go[n], || port.write(row, &(from.read(other) + step)));
        }
        when(go[3], || second.write(other, &(mems[0].read(row) - mems[2].read(row))));
    })
    .expect("elaborates");
    compare(&module, 2_000, 11).unwrap_or_else(|e| panic!("{e}"));
}

/// Nothing changes but a counter, a memory that is written over and over, and registers that exchange their values.
#[test]
fn what_goes_on_by_itself_goes_on() {
    let module = Module::build("alone", ModuleKind::Block, || {
        let hold = input::<Bool>("hold", ());
        let (left, right) = (output_reg::<Bits>("left", 100), output_reg::<Bits>("right", 100));
        let seed = input::<Bits>("seed", 100);
        when(hold, || {
            left.set(right.get());
            right.set(left.get());
        });
        when(!hold, || {
            left.set(seed);
            right.set(left.get() ^ right.get());
        });
        let mem = regfile::<Bits>("mem", 4, 100);
        let (first, second) = (mem.lane_writer("first"), mem.lane_writer("second"));
        let (a, b) = (input::<Bits>("a", 2), input::<Bits>("b", 2));
        // The second port wins where both write, in every cycle again.
        when(left.get().bit(0), || first.write(a, &right.get()));
        when(hold, || second.write(b, &seed));
        output_reg::<Bits>("seen", 100).set(mem.read(a));
        count("held", hold, "cycles in which it is held");
    })
    .expect("elaborates");
    compare(&module, 2_000, 13).unwrap_or_else(|e| panic!("{e}"));
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
