//! Where work-groups run: by the formulas of section 1.2, and as a run shows it.

use super::*;
use crate::config::FabricConfig;
use crate::run::{FabricRun, RunOptions};
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_engine::BackendKind;
use weft_workload::{Frame, HostStep, Kernel, LoadedValues, Op, Program, Unit, VerifyError};

fn shape(gpus: u32, gpms: u32) -> Shape {
    Shape { nodes: gpus * gpms, gpms, cus: 2, cores: 0, line: 64, homes: 1, home_bytes: 1 << 30 }
}

/// (GPU, GPM) of each of `count` work-groups behind `cpus` threads of cores.
fn places(schedule: CtaSchedule, shape: &Shape, cpus: u32, count: u32) -> Vec<(u32, u32)> {
    let mut all = vec![None; count as usize];
    for node in 0..shape.nodes {
        let part = part(schedule, shape, node, cpus..cpus + count);
        let own: Vec<u32> = (part.next..part.end).step_by(part.step as usize).collect();
        assert_eq!(part.left() as usize, own.len());
        for block in own {
            let place = all[(block - cpus) as usize].replace((node / shape.gpms, node % shape.gpms));
            assert_eq!(place, None, "work-group {block} runs once");
        }
    }
    all.into_iter().map(|place| place.expect("every work-group runs")).collect()
}

#[test]
fn contiguous_parts_are_cut_by_gpu_and_again_by_gpm() {
    for (gpus, gpms) in [(1, 1), (4, 1), (4, 4), (3, 2)] {
        for count in 0..70 {
            let found = places(CtaSchedule::Contiguous, &shape(gpus, gpms), 3, count);
            for (block, (gpu, gpm)) in (0..).zip(&found) {
                let (low, high) = (gpu * count / gpus, (gpu + 1) * count / gpus);
                assert!((low..high).contains(&block), "{block} of {count} at GPU {gpu}");
                let (own, size) = (block - low, high - low);
                let inside = gpm * size / gpms..(gpm + 1) * size / gpms;
                assert!(inside.contains(&own), "{block} of {count} at GPU {gpu}, GPM {gpm}");
            }
            assert_eq!(places(CtaSchedule::RrCu, &shape(gpus, gpms), 3, count), found);
        }
    }
}

#[test]
fn in_turn_work_group_b_is_at_gpu_b_mod_g() {
    for (gpus, gpms) in [(1, 1), (4, 1), (4, 4), (3, 2)] {
        for (block, (gpu, gpm)) in (0..).zip(places(CtaSchedule::Rr, &shape(gpus, gpms), 2, 41)) {
            assert_eq!((gpu, gpm), (block % gpus, block / gpus % gpms));
        }
    }
}

/// Work-groups of one wave, every third of which takes long.
struct Uneven(u32);

impl Program for Uneven {
    fn name(&self) -> &str {
        "uneven"
    }
    fn lanes(&self) -> u32 {
        16
    }
    fn arrays(&self) -> &[weft_workload::Array] {
        &[]
    }
    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        let kernel = Kernel {
            id: 0,
            name: "k".to_owned(),
            blocks: self.0,
            cpus: 0,
            waves_per_block: 1,
            lds_bytes: 0,
            args: vec![],
            co_resident: false,
        };
        (index == 0).then_some(HostStep::Launch(kernel))
    }
    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        Frame { kernel: kernel.id, block, wave, ..Frame::default() }
    }
    fn step(&self, frame: &mut Frame, _: &LoadedValues) -> Vec<Op> {
        frame.pc += 1;
        let latency = if frame.block.is_multiple_of(3) { 200 } else { 20 };
        match frame.pc {
            1 => vec![
                Op::Compute { unit: Unit::Alu, latency, occupancy: 1, needs: vec![], token: Some(0) },
                Op::Await { tokens: vec![0] },
            ],
            _ => vec![Op::End],
        }
    }
    fn verify(&self, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        Ok(())
    }
}

/// (GPU, CU) on which each work-group of a run has been seen.
fn seen(schedule: &str, gpus: u32, cus: u32, blocks: u32) -> Vec<(u32, u32)> {
    let text =
        format!("family = \"toy\"\ngpus = {gpus}\ncus = {cus}\nblocks = 2\ncta_schedule = \"{schedule}\"\n");
    let config = FabricConfig::parse(&text, "toy", "toy.toml").expect("legal");
    let options = RunOptions { backend: BackendKind::Interp, ..RunOptions::default() };
    let mut run = FabricRun::new(&config, Arc::new(Uneven(blocks)), &options).expect("builds");
    let mut places: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    for cycle in 1.. {
        let ended = run.run_to(cycle).expect("runs");
        for seat in &run.runner.model.seats {
            for who in (0..config.common.waves).filter_map(|slot| seat.cu.wave_at(slot)) {
                let place = *places.entry(who.block).or_insert((who.gpu, who.cu));
                assert_eq!(place, (who.gpu, who.cu), "work-group {} stays", who.block);
            }
        }
        if ended {
            break;
        }
    }
    assert!(places.keys().copied().eq(0..blocks), "{places:?}");
    places.into_values().collect()
}

/// The published rule of the flat GPU, whatever has room.
#[test]
fn with_rr_cu_work_group_b_is_on_cu_b_mod_n() {
    let expected: Vec<(u32, u32)> = (0..40).map(|block| (0, block % 3)).collect();
    assert_eq!(seen("rr-cu", 1, 3, 40), expected);
    // Who has room is asked in turn otherwise, and the long ones move that on.
    assert_ne!(seen("contiguous", 1, 3, 40), expected);
}

#[test]
fn schedules_of_several_gpus_are_seen_in_a_run() {
    let contiguous = seen("contiguous", 2, 3, 24);
    for (block, (gpu, cu)) in (0..).zip(&contiguous) {
        assert_eq!(*gpu, block / 12);
        // All have room for two: until then CUs take turns.
        assert!(block % 12 >= 6 || *cu == block % 3, "{contiguous:?}");
    }
    let turns = seen("rr", 2, 3, 24);
    assert!((0..).zip(&turns).all(|(block, (gpu, _))| *gpu == block % 2), "{turns:?}");
    let fixed = seen("rr-cu", 2, 3, 24);
    assert!((0..).zip(&fixed).all(|(block, at)| *at == (block / 12, block % 3)), "{fixed:?}");
}
