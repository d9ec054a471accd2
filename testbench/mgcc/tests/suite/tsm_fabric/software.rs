//! Protocols without coherence: kernels whose waves own bytes, other ones in every kernel, with software coherence at the boundaries; atomics at memory at any time.

use super::fabric_bench::Program;
use super::{LINES, tiny};
use weft_mgcc::fabric::{TsmFabricParams, TsmProtocol, TsuScale};
use weft_mgcc::params::Tsm;

fn sound(p: &TsmFabricParams, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut program = Program::new(p, &LINES, seed);
        for _ in 0..4 {
            program.run_kernel(60);
            program.check_memory();
        }
        let hits = program.w.b.counted("l2_hits");
        assert!(hits > 10, "only {hits} hits");
    }
}

#[test]
fn write_back_banks_keep_what_owners_wrote() {
    sound(&tiny(TsmProtocol::WbNcRc), 0..2);
}

#[test]
fn write_through_banks_keep_what_owners_wrote() {
    sound(&tiny(TsmProtocol::WtNcRc), 10..12);
}

#[test]
fn one_gpu_and_many_lanes() {
    let p = tiny(TsmProtocol::WbNcRc);
    let p = TsmFabricParams { tsm: Tsm { gpus: 1, banks: 1, lanes: 4, ..p.tsm.clone() }, link_bpc: 512, ..p };
    sound(&p, 20..21);
}

#[test]
fn long_all_sizes_of_systems_are_sound() {
    for (i, gpus) in [1, 2, 4, 8, 16].into_iter().enumerate() {
        for protocol in [TsmProtocol::WbNcRc, TsmProtocol::WtNcRc] {
            let p = tiny(protocol);
            let tsu_scale = if gpus == 1 { TsuScale::Half } else { TsuScale::Quarter };
            let p = TsmFabricParams { tsm: Tsm { gpus, ..p.tsm.clone() }, tsu_scale, ..p };
            sound(&p, 40 + i as u64..42 + i as u64);
        }
    }
}
