//! Whole hierarchical systems: locks passed round between CPU cores and CUs on a mesh, with every word behind them checked; the network between them.

mod net;

use std::sync::Arc;
use weft_blocks::common::grid::Grid;
use weft_rtl::prelude::*;
use weft_spandex::bank::Bank;
use weft_spandex::fabric::gpu_device;
use weft_spandex::gpu_l1::GpuL1Params;
use weft_spandex::hmesi::client::ClientParams;
use weft_spandex::hmesi::fabric::{hmesi_device, hmesi_fabric};
use weft_spandex::hmesi::gpu_l2::{GpuL2Params, gpu_l2};
use weft_spandex::hmesi::mesi_llc::{MesiLlcParams, mesi_llc};
use weft_spandex::hmesi::net::spread;
use weft_spandex::mesi_l1::MesiL1Params;
use weft_spandex::mesi_port::MesiPort;
use weft_spandex::params::Spandex;
use weft_spandex::tu_gpu::TuGpuParams;
use weft_spandex_bench::bench::locks::{self, Manner};
use weft_spandex_bench::memory::Memory;

type World = locks::World<Memory>;

/// Two banks on each level, of four lines in the GPU L2 and of eight in the L3; short queues.
fn small(cpus: u32, cus: u32) -> Spandex {
    Spandex {
        cpus,
        cus,
        sharers: cpus,
        addr_bits: 32,
        line: 64,
        banks: 2,
        mshrs: 4,
        sb: 4,
        wbb: 2,
        tbes: 4,
        ..Spandex::default()
    }
}

fn gpu(s: &Spandex) -> Arc<Module> {
    let l1 = GpuL1Params { size: 512, ways: 2, targets: 4, releases: 4, ..GpuL1Params::published(s.clone()) };
    gpu_device(&l1, &TuGpuParams::published(s.clone())).expect("legal")
}

fn core(s: &Spandex) -> Arc<Module> {
    let port = MesiPort { spandex: s.clone(), size: 512, ways: 2 };
    hmesi_device(&MesiL1Params::new(port.clone()), &ClientParams::new(port)).expect("legal")
}

fn system(s: &Spandex, columns: u32) -> Arc<Module> {
    let l2 = GpuL2Params::published(s.clone()).sized(|b| Bank { size: 512, ways: 4, stalls: 8, ..b });
    let l3 = MesiLlcParams::published(s.clone()).sized(|b| Bank { size: 1024, ways: 4, stalls: 8, ..b });
    let banks = (&gpu_l2(&l2).expect("legal"), &mesi_llc(&l3).expect("legal"));
    let mut devices = vec![core(s); s.cpus as usize];
    devices.resize(s.devs() as usize, gpu(s));
    let net = spread(s, Grid { columns, rows: s.devs().div_ceil(columns) });
    let name = format!("system_{}_{}", s.name_part(), net.name_part());
    hmesi_fabric(&name, s, &devices, banks, &net).expect("legal")
}

fn world(s: &Spandex, work: (usize, u64), seed: u64) -> World {
    World::new(&system(s, 2), (s.cu(), s.devs()), Manner::Cmp, work, Memory::new(s), seed)
}

#[test]
fn locks_go_round_between_cores_and_cus() {
    for (cpus, cus, seed) in [(3, 1, 0), (2, 2, 1), (1, 3, 2), (2, 2, 5)] {
        let mut w = world(&small(cpus, cus), (4, 20), seed);
        w.run(400_000);
        w.check();
        assert!(w.locks.iter().all(|l| l.sections.iter().all(|n| *n > 0)), "every device");
        assert!(w.below.written > 0, "lines leave the L3");
    }
}

/// All state is cleared, no message survives: what comes after a reset takes place exactly as in a new system.
#[test]
fn a_reset_in_flight_leaves_nothing() {
    let s = small(1, 2);
    let play = |mut w: World| {
        let begun = w.b.sim.cycle();
        w.run(400_000);
        w.check();
        (w.b.sim.cycle() - begun, w.below.reads, w.below.written)
    };
    let fresh = play(world(&s, (3, 6), 9));
    for cycles in [1, 130, 777, 2_000] {
        let mut w = world(&s, (3, 100), 8);
        w.run(cycles);
        assert!(w.complaint.is_some(), "in the middle of it");
        assert_eq!(play(w.again((3, 6), Memory::new(&s), 9)), fresh, "reset after {cycles} cycles");
    }
}
