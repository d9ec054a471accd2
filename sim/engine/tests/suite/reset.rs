//! Reset in the middle of a run: as at power-up for registers, while memories keep what they hold.

use std::sync::Arc;
use weft_engine::compare::Xorshift;
use weft_engine::random::random_module;
use weft_engine::{BackendKind, Design, Options, Sim};
use weft_rtl::prelude::*;

fn start(module: &Arc<Module>, backend: BackendKind) -> Sim {
    Sim::new(&Design::new(module, Options { backend, ..Options::default() }).expect("flattens"))
}

fn drive(sims: &mut [&mut Sim], random: &mut Xorshift) {
    let ports = sims[0].design().inputs.to_vec();
    for port in &ports {
        let value = random.value(port);
        for sim in sims.iter_mut() {
            let input = sim.input(&port.name).expect("listed");
            sim.set_bv(input, &value);
        }
    }
}

fn same_registers(a: &Sim, b: &Sim, seed: u64) {
    for reg in &a.design().clone().types[0].netlist.regs {
        assert_eq!(a.peek(&reg.path), b.peek(&reg.path), "seed {seed}: {}", reg.path);
    }
}

/// Makes the memories of one simulation those of another.
fn copy_memories(from: &Sim, to: &mut Sim) {
    for mem in &from.design().clone().types[0].netlist.mems {
        for (row, lane) in (0..mem.rows).flat_map(|row| (0..mem.lanes).map(move |lane| (row, lane))) {
            let value = from.peek_mem(&mem.path, row, lane).expect("a lane");
            assert!(to.poke_mem(&mem.path, row, lane, &value));
        }
    }
}

#[test]
fn a_reset_run_goes_on_like_a_new_one() {
    for seed in 0..24 {
        let module = random_module(seed, 10 + seed % 60).expect("elaborates");
        let (mut old, mut new) = (start(&module, BackendKind::Native), start(&module, BackendKind::Native));
        let mut random = Xorshift::new(seed);
        for _ in 0..50 {
            drive(&mut [&mut old], &mut random);
            old.step();
        }
        copy_memories(&old, &mut new);
        drive(&mut [&mut old, &mut new], &mut random);
        // The second cycle presents addresses that no longer depend on what came before.
        for sim in [&mut old, &mut new] {
            sim.step_in_reset();
            sim.step_in_reset();
        }
        for _ in 0..50 {
            same_registers(&old, &new, seed);
            drive(&mut [&mut old, &mut new], &mut random);
            old.step();
            new.step();
        }
    }
}

#[test]
fn both_backends_reset_alike() {
    for seed in 0..24 {
        let module = random_module(seed, 10 + seed % 60).expect("elaborates");
        let (mut native, mut interp) =
            (start(&module, BackendKind::Native), start(&module, BackendKind::Interp));
        let mut random = Xorshift::new(seed);
        for _ in 0..120 {
            drive(&mut [&mut native, &mut interp], &mut random);
            let reset = random.below(10) == 0;
            for sim in [&mut native, &mut interp] {
                if reset { sim.step_in_reset() } else { sim.step() }
            }
            same_registers(&native, &interp, seed);
        }
    }
}

/// Writes row `addr` and reads it, one after the other.
fn store() -> Arc<Module> {
    Module::build("store", ModuleKind::Block, || {
        let (addr, data) = (input::<Bits>("addr", 3), input::<Bits>("data", 8));
        let write = input::<Bool>("write", ());
        let rows = sram::<Bits>("rows", 8, 1, 8);
        let (port, writer) = (rows.read_port("look"), rows.lane_writer("fill"));
        port.present(addr);
        when(write, || writer.write(addr, &data));
        output_reg::<Bits>("seen", 8).set(port.lane(0));
    })
    .expect("legal")
}

#[test]
fn memories_hold_in_reset_and_addresses_are_taken() {
    for backend in [BackendKind::Native, BackendKind::Interp] {
        let mut sim = start(&store(), backend);
        let port = |sim: &Sim, name: &str| sim.input(name).expect("a port");
        let (addr, data, write) = (port(&sim, "addr"), port(&sim, "data"), port(&sim, "write"));
        let seen = sim.output("seen").expect("a port");
        for (row, value) in [(3, 0x33), (5, 0x55)] {
            sim.set(addr, row);
            sim.set(data, value);
            sim.set(write, 1);
            sim.step();
        }
        sim.set(write, 0);
        // Idle for long: the unit sleeps when reset comes.
        sim.run(100);
        assert!(sim.asleep() && sim.get(seen) == 0x55);
        sim.set(addr, 3);
        sim.set(data, 0xff);
        sim.set(write, 1);
        sim.step_in_reset();
        assert_eq!(sim.get(seen), 0, "a register takes its reset value");
        sim.set(write, 0);
        sim.step();
        assert_eq!(sim.get(seen), 0x33, "the address presented in reset was taken, the write was not");
        assert_eq!(sim.cycle(), 104);
    }
}
