//! Weft blocks inside rust-hdl designs: the same in every cycle as plain simulations, and as the exported Verilog under Icarus.

use crate::support;

use std::sync::Arc;
use support::chain::Chain;
use support::guard::Guard;
use support::{Bench, block, exported, icarus, simulate_all};
use weft_engine::compare::Xorshift;
use weft_engine::{Design, InPort, Options, OutPort, Sim};
use weft_rtl::ir::Module;

/// A block by itself.
struct Plain {
    sim: Sim,
    inputs: Vec<InPort>,
    outputs: Vec<OutPort>,
}

impl Plain {
    fn new(module: &Arc<Module>, inputs: &[&str], outputs: &[&str]) -> Plain {
        let sim = Sim::new(&Design::new(module, Options::default()).expect("compiles"));
        let inputs = inputs.iter().map(|name| sim.input(name).expect("a port")).collect();
        let outputs = outputs.iter().map(|name| sim.output(name).expect("a port")).collect();
        Plain { sim, inputs, outputs }
    }

    fn queue(module: &Arc<Module>) -> Plain {
        Plain::new(module, &["in_valid", "in_data", "out_ready"], &["in_ready", "out_valid", "out_data"])
    }

    fn read(&mut self) -> Vec<u64> {
        self.outputs.iter().map(|port| self.sim.get(*port)).collect()
    }

    fn clock(&mut self, reset: bool, inputs: &[u64]) {
        self.inputs.iter().zip(inputs).for_each(|(port, value)| self.sim.set(*port, *value));
        if reset { self.sim.step_in_reset() } else { self.sim.step() }
    }
}

/// Random pushes and takes with resets between, and what two plain queues wired by hand make of them.
fn chain_run(depth: &str, cycles: usize) -> (Vec<Vec<u64>>, Vec<Vec<u64>>) {
    let module = block("fifo", &[("depth", depth), ("width", "16")]);
    let (mut first, mut second) = (Plain::queue(&module), Plain::queue(&module));
    let mut random = Xorshift::new(7);
    let (mut stimulus, mut expected) = (Vec::new(), Vec::new());
    let (mut push, mut value, mut sum) = (false, 0, 0);
    for cycle in 0..cycles {
        let reset = cycle < 3 || cycle % 700 == 600;
        let [ready, first_valid, first_out] = first.read()[..] else { unreachable!("three outputs") };
        let [second_ready, valid, front] = second.read()[..] else { unreachable!("three outputs") };
        // A sender holds its message until it is taken; phases of many and of few takes fill and drain the queues.
        if !push || ready == 1 || reset {
            (push, value) = (random.below(3) != 0, random.below(1 << 16));
        }
        let take = random.below(8) < if cycle % 200 < 100 { 2 } else { 7 };
        stimulus.push(vec![reset.into(), push.into(), value, take.into()]);
        expected.push(vec![ready, valid, front, sum]);
        first.clock(reset, &[push.into(), value, second_ready]);
        second.clock(reset, &[first_valid, (first_out + 1) & 0xffff, take.into()]);
        sum = if reset {
            0
        } else if valid == 1 && take {
            (sum + front) & 0xffff
        } else {
            sum
        };
        push &= ready == 0;
    }
    (stimulus, expected)
}

#[test]
fn queues_and_rust_hdl_logic_equal_plain_simulations() {
    let (stimulus, expected) = chain_run("4", 3000);
    let seen = simulate_all(Chain::new("4"), &stimulus);
    for (cycle, (seen, expected)) in seen.iter().zip(&expected).enumerate() {
        assert_eq!(seen, expected, "cycle {cycle}");
    }
    assert_eq!(seen.len(), 3000);
    let full = expected.iter().filter(|outputs| outputs[0] == 0).count();
    let fronts: std::collections::BTreeSet<u64> = expected.iter().map(|outputs| outputs[2]).collect();
    assert!(full > 100 && fronts.len() > 500, "{full} cycles full, {} values", fronts.len());
}

#[test]
fn the_exported_chain_runs_alike_in_icarus() {
    let (stimulus, expected) = chain_run("4", 3000);
    icarus::replay(&exported(Chain::new("4")), (Chain::INPUTS, Chain::OUTPUTS), &stimulus, &expected);
}

/// Random requests of the other GPUs and local writes, on few lines so that they meet, with resets between; and what the directory alone makes of
/// them, with a count of its invalidations.
fn guard_run(module: &Arc<Module>, cycles: usize) -> (Vec<Vec<u64>>, Vec<Vec<u64>>) {
    let names = |ports: &[(&'static str, u32)]| ports.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let (inputs, outputs) = (names(Guard::INPUTS), names(Guard::OUTPUTS));
    let mut plain = Plain::new(module, &inputs[1..], &outputs[..outputs.len() - 1]);
    let (mut stimulus, mut expected) = (Vec::new(), Vec::new());
    let mut random = Xorshift::new(11);
    let (mut request, mut count, mut sent, mut hits) = ([0; 5], 0, 0, 0);
    for cycle in 0..cycles {
        let reset = cycle < 3 || cycle % 1500 == 1400;
        let seen = plain.read();
        let (ready, rsp_hit, inv_valid) = (seen[0], seen[1] & seen[3], seen[6]);
        if request[0] == 0 || ready == 1 || reset {
            let op = random.below(4);
            // Local writes (op 2) come from the home, GPU 0; everything else from another.
            let source = if op == 2 { 0 } else { 1 + random.below(3) };
            let line = random.below(24) * 16 + random.below(4);
            request = [(random.below(4) != 0).into(), op, source, line, random.below(64)];
        }
        let receivers = [random.below(4) != 0, random.below(3) != 0].map(u64::from);
        let values = [&request[..], &receivers].concat();
        stimulus.push([&[u64::from(reset)], &values[..]].concat());
        expected.push([seen, vec![count]].concat());
        plain.clock(reset, &values);
        count = if reset { 0 } else { count + (inv_valid & receivers[1]) };
        sent += inv_valid & receivers[1];
        hits += rsp_hit & receivers[0];
        request[0] &= 1 - ready;
    }
    assert!(plain.sim.failures().is_empty(), "{:?}", plain.sim.failures());
    assert!(sent > 500 && hits > 300, "{sent} invalidations, {hits} hits");
    (stimulus, expected)
}

fn small_directory() -> Arc<Module> {
    block("rec-directory", &[("entries", "64"), ("ways", "4")])
}

#[test]
fn a_directory_equals_the_plain_simulation() {
    let module = small_directory();
    let (stimulus, expected) = guard_run(&module, 4000);
    let seen = simulate_all(Guard::new(&module), &stimulus);
    for (cycle, (seen, expected)) in seen.iter().zip(&expected).enumerate() {
        assert_eq!(seen, expected, "cycle {cycle}");
    }
    assert_eq!(seen.len(), expected.len());
}

#[test]
fn the_exported_directory_runs_alike_in_icarus() {
    let module = small_directory();
    let (stimulus, expected) = guard_run(&module, 4000);
    icarus::replay(&exported(Guard::new(&module)), (Guard::INPUTS, Guard::OUTPUTS), &stimulus, &expected);
}

#[test]
#[should_panic(expected = "Icarus differs from rust-hdl's simulation")]
fn a_wrong_value_is_noticed_in_icarus() {
    let (stimulus, mut expected) = chain_run("4", 300);
    expected[299][3] ^= 1;
    icarus::replay(&exported(Chain::new("4")), (Chain::INPUTS, Chain::OUTPUTS), &stimulus, &expected);
}
