//! Whole systems: locks passed round between devices of all kinds on a mesh, with every word behind them checked.

mod uncached;

use std::sync::Arc;
use weft_blocks::common::grid::Grid;
use weft_rtl::prelude::*;
use weft_spandex::bank::Bank;
use weft_spandex::denovo_l1::{Atomics, DenovoL1Params};
use weft_spandex::fabric::{denovo_device, flex_device, gpu_device, mesi_device, spandex_fabric};
use weft_spandex::flex_l1::FlexL1Params;
use weft_spandex::gpu_l1::GpuL1Params;
use weft_spandex::llc::{LlcParams, spandex_llc};
use weft_spandex::mesi_l1::MesiL1Params;
use weft_spandex::mesi_port::MesiPort;
use weft_spandex::net::NetParams;
use weft_spandex::params::Spandex;
use weft_spandex::tu_denovo::TuDenovoParams;
use weft_spandex::tu_flex::{Opred, TuFlexParams};
use weft_spandex::tu_gpu::TuGpuParams;
use weft_spandex::tu_mesi::TuMesiParams;
use weft_spandex_bench::bench::locks::{self, Manner};
use weft_spandex_bench::memory::Memory;

type World = locks::World<Memory>;

/// Two banks of eight lines, short queues.
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

fn bank(s: &Spandex) -> Arc<Module> {
    let p = LlcParams::published(s.clone()).sized(|b| Bank { size: 1024, ways: 4, stalls: 8, ..b });
    spandex_llc(&p).expect("legal")
}

fn small_l1(s: &Spandex) -> GpuL1Params {
    GpuL1Params { size: 512, ways: 2, targets: 4, releases: 4, ..GpuL1Params::published(s.clone()) }
}

fn gpu(s: &Spandex) -> Arc<Module> {
    let l1 = small_l1(s);
    gpu_device(&l1, &TuGpuParams::published(s.clone())).expect("legal")
}

fn denovo(s: &Spandex, atomics: Atomics) -> Arc<Module> {
    let l1 = DenovoL1Params { l1: small_l1(s), atomics, ..DenovoL1Params::published(s.clone()) };
    denovo_device(&l1, &TuDenovoParams { spandex: s.clone(), n_fail: 1 }).expect("legal")
}

fn core(s: &Spandex) -> Arc<Module> {
    let port = MesiPort { spandex: s.clone(), size: 512, ways: 2 };
    mesi_device(&MesiL1Params::new(port.clone()), &TuMesiParams::new(port)).expect("legal")
}

/// A Flex device; what the cores ask bears any hint.
fn flex(s: &Spandex, opred: Opred) -> Arc<Module> {
    let l1 = GpuL1Params { size: 512, ways: 2, targets: 4, releases: 4, ..GpuL1Params::published(s.clone()) };
    let unit = TuFlexParams { opred, entries: 4, ..TuFlexParams::published(s.clone()) };
    flex_device(&FlexL1Params { l1, ..FlexL1Params::published(s.clone()) }, &unit).expect("legal")
}

/// A system of these devices on a mesh of so many columns.
fn world(s: &Spandex, devices: &[Arc<Module>], columns: u32, work: (usize, u64), seed: u64) -> World {
    let rows = s.devs().div_ceil(columns);
    let net = NetParams::spread(s, Grid { columns, rows });
    let name = format!("system_{}_{}", s.name_part(), net.name_part());
    let module = spandex_fabric(&name, s, devices, &bank(s), &net).expect("legal");
    World::new(&module, (s.cu(), s.devs()), Manner::Cmp, work, Memory::new(s), seed)
}

fn passes(mut w: World) -> World {
    w.run(400_000);
    w.check();
    w
}

#[test]
fn locks_go_round_between_devices_with_gpu_coherence() {
    let s = small(1, 3);
    for seed in [0, 2, 3] {
        let w = passes(world(&s, &vec![gpu(&s); 4], 2, (4, 20), seed));
        assert!(w.locks.iter().all(|l| l.sections.iter().all(|n| *n > 0)), "owners and others");
        assert!(w.below.written > 0, "lines leave the LLC");
    }
}

#[test]
fn locks_go_round_between_cores_with_mesi_and_devices_with_gpu_coherence() {
    for (cpus, cus, seed) in [(3, 1, 0), (2, 2, 1), (1, 3, 2), (2, 2, 4)] {
        let s = small(cpus, cus);
        let devices: Vec<_> = (0..4).map(|d| if d < cpus { core(&s) } else { gpu(&s) }).collect();
        let w = passes(world(&s, &devices, 2, (4, 20), seed));
        assert!(w.locks.iter().all(|l| l.sections.iter().all(|n| *n > 0)), "every device");
    }
}

#[test]
fn locks_go_round_between_flex_devices_and_others() {
    for (opred, seed) in [(Opred::Off, 0), (Opred::Table, 1), (Opred::Table, 2)] {
        let s = Spandex { sharers: 3, ..small(2, 2) };
        let devices = [flex(&s, opred), core(&s), flex(&s, opred), gpu(&s)];
        let w = passes(world(&s, &devices, 2, (4, 20), seed));
        assert!(w.locks.iter().all(|l| l.sections.iter().all(|n| *n > 0)), "every device");
    }
}

/// SMD, SDG, SDD and all three kinds in one system.
#[test]
fn locks_go_round_between_devices_with_denovo_and_others() {
    let mixes = ["mmdd", "mddd", "tggd", "tttg", "dddd", "tdtd", "mdgt", "mmdg"];
    for (seed, mix) in mixes.into_iter().enumerate() {
        let cpus = mix.chars().filter(|kind| *kind == 'm').count() as u32;
        let s = small(cpus, 4 - cpus);
        let device = |kind: char| match kind {
            'm' => core(&s),
            'd' => denovo(&s, Atomics::Own),
            't' => denovo(&s, Atomics::Through),
            _ => gpu(&s),
        };
        let devices: Vec<_> = mix.chars().map(device).collect();
        let w = passes(world(&s, &devices, 2, (4, 20), seed as u64));
        assert!(w.locks.iter().all(|l| l.sections.iter().all(|n| *n > 0)), "{mix}: every device");
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
    let mixes = [vec![gpu(&s); 3], vec![core(&s), denovo(&s, Atomics::Own), denovo(&s, Atomics::Through)]];
    for devices in mixes {
        let fresh = play(world(&s, &devices, 2, (3, 6), 9));
        for cycles in [1, 130, 777, 2_000] {
            let mut w = world(&s, &devices, 2, (3, 100), 8);
            w.run(cycles);
            assert!(w.complaint.is_some(), "in the middle of it");
            assert_eq!(play(w.again((3, 6), Memory::new(&s), 9)), fresh, "reset after {cycles} cycles");
        }
    }
}

#[test]
fn devices_of_another_number_are_refused() {
    let s = small(1, 2);
    let net = NetParams::spread(&s, Grid { columns: 2, rows: 2 });
    let error = spandex_fabric("few", &s, &[gpu(&s)], &bank(&s), &net).map(|_| ()).expect_err("illegal");
    assert!(error.to_string().contains("legal:"), "{error}");
}
