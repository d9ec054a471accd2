//! The watches of [`weft_hmesi_bench::watch`] against the golden model itself: whatever it does is allowed, and with a rule left out it is caught by what it sends.

use weft_hmesi_bench::golden::slip::Slip;
use weft_hmesi_bench::golden::system::{System, SystemParams};
use weft_hmesi_bench::watch::Watches;
use weft_spandex_bench::golden::device::Kind::{DeNovo, Gpu, Mesi};
use weft_spandex_bench::golden::system::families::{Shape, by_seed, threads};
use weft_spandex_bench::golden::system::program::initial_line;
use weft_spandex_bench::golden::system::random::{End, run};

/// A system by seed whose events are recorded.
fn system(seed: u64, slip: Option<Slip>) -> System {
    let any = |i: u32, n: u64| {
        (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7 * i).wrapping_mul(0xd6e8_feb8_6659_fd93)
            >> 33)
            % n
    };
    let gpu = if any(1, 2) == 0 { Gpu } else { DeNovo };
    let kinds = [Mesi, Mesi, Mesi, gpu, if any(2, 3) == 0 { Gpu } else { gpu }];
    let kinds = kinds[any(3, 3) as usize..].to_vec();
    let shape = Shape { words: 3, length: 8, threads: 2, lines: 1 + any(5, 3) as u32, multi: 2 };
    let p = SystemParams {
        words: shape.words,
        banks: 1 + any(7, 2) as u8,
        evictions: [u8::MAX * any(8, 2) as u8, u8::MAX * any(9, 2) as u8, u8::MAX * any(10, 2) as u8],
        warm: any(11, 2) == 0,
        lines: if any(6, 3) == 0 { [1 + any(15, 2) as usize, 1 + any(16, 2) as usize] } else { [4, 4] },
        tbes: if any(17, 3) == 0 { [2, 1] } else { [4, 4] },
        heads: any(20, 2) == 0 || slip == Some(Slip::WbDataOnWb),
        slip,
        ..SystemParams::tiny(&kinds)
    };
    let mut system = System::new(p, threads(&by_seed(seed, &kinds, shape)));
    system.events = Some(Vec::new());
    system
}
/// What the watches say of a run; nothing if all is well.
fn watched(mut system: System, seed: u64) -> Option<String> {
    let warm: Vec<u32> = system.l3.iter().flat_map(|bank| bank.lines.iter().map(|line| line.line)).collect();
    let p = system.params().clone();
    let initial = move |line: u32| warm.contains(&line).then(|| initial_line(p.words));
    let p = system.params();
    let mut watches = Watches::new(p.cpus(), p.banks, p.l2(), initial);
    let end = run(&mut system, seed, 20_000);
    for event in system.events.iter().flatten() {
        if let Err(wrong) = watches.see(event) {
            return Some(wrong);
        }
    }
    let done = matches!(end, End::Done(_)) && system.done();
    if done { watches.rest().err() } else { None }
}

#[test]
fn the_model_is_allowed() {
    for seed in 0..400 {
        let system = system(seed, None);
        assert_eq!(watched(system, seed), None, "seed {seed}");
    }
}

/// Rules whose breach is a message that comes too early, or with the wrong contents, where it leaves.
#[test]
fn rules_left_out_are_caught() {
    use Slip::*;
    let slips = [
        NoBusyX,
        NoWaitForWbData,
        PutDoesNotWait,
        PutOfAnyone,
        PutECarries,
        EvictWithoutAcks,
        ForgetOldOwner,
        NoIi,
        IsiKeeps,
        IsiDropsE,
        MWithoutAcks,
        NoRevocation,
        ForwardInPhase1,
        WriteInS,
        EStays,
        UseOnceForAll,
        PutBeforeRevocation,
    ];
    for slip in slips {
        let caught = (0..600).find_map(|seed| watched(system(seed, Some(slip)), seed));
        println!("{slip:?}: {caught:?}");
        assert!(caught.is_some(), "{slip:?}");
    }
}
