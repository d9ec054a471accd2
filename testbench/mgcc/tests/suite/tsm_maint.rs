//! `tsm-maint`: every fence becomes one command to every bank, and is given back, in order, when all have answered.

use rand::Rng;
use weft_blocks::msg::FenceToken;
use weft_mgcc::maint::maint;
use weft_mgcc::msg::{Maint, MaintOp};
use weft_mgcc_bench::bench::{Bench, Msg};

fn trial(banks: usize, seed: u64) -> Bench {
    let mut b = Bench::new(&maint(banks as u32).expect("legal"), seed);
    b.source::<FenceToken>("start", &());
    b.sink::<FenceToken>("done", &());
    for i in 0..banks {
        b.sink::<Maint>(&format!("cmd{i}"), &());
        b.source::<Maint>(&format!("done{i}"), &());
    }
    // Fences in order of sending; how many commands each bank has got, and when it will answer.
    let mut fences: Vec<(u64, bool)> = Vec::new();
    let mut given = vec![0; banks];
    let mut answered = vec![0; banks];
    let mut due: Vec<(u64, usize, u64)> = Vec::new();
    let mut back = 0;
    for cycle in 0..4_000u64 {
        if cycle % 200 == 0 {
            b.sinks.values_mut().for_each(|sink| sink.chance = [0.1, 1.0][usize::from(cycle % 400 == 0)]);
        }
        if cycle < 3_000 && b.source_mut("start").queue.is_empty() && b.rng.random_bool(0.05) {
            let (seq, acquire) = (fences.len() as u64 % 256, b.rng.random_bool(0.5));
            let fields = [("seq", seq), ("scope", 2), ("acquire", u64::from(acquire))];
            b.send("start", Msg::of::<FenceToken>(&(), &fields));
            fences.push((seq, acquire));
        }
        b.step();
        for i in 0..banks {
            while let Some((_, m)) = b.received(&format!("cmd{i}")) {
                let acquire = fences[given[i]].1;
                let op = if acquire { MaintOp::Invalidate } else { MaintOp::WriteBack };
                assert_eq!(m.get("op"), op as u64, "bank {i}, fence {}", given[i]);
                let before = answered.iter().all(|count| *count >= given[i]);
                assert!(before, "bank {i} is told of fence {} before all have done the one before", given[i]);
                given[i] += 1;
                due.push((cycle + b.rng.random_range(0..40), i, m.get("op")));
            }
        }
        while let Some(at) = due.iter().position(|(at, ..)| *at <= cycle) {
            let (_, i, op) = due.swap_remove(at);
            b.send(&format!("done{i}"), Msg::of::<Maint>(&(), &[("op", op)]));
            answered[i] += 1;
        }
        while let Some((_, m)) = b.received("done") {
            assert_eq!((m.get("seq"), m.get("acquire") == 1), fences[back], "tokens come back in order");
            back += 1;
            assert!(answered.iter().all(|count| *count >= back), "every bank has answered");
        }
    }
    assert!(back == fences.len() && back > 20, "{back} of {} fences", fences.len());
    assert!(given.iter().all(|count| *count == back));
    b
}

#[test]
fn fences_reach_every_bank_and_come_back() {
    for (seed, banks) in [1, 3, 16].into_iter().enumerate() {
        let b = trial(banks, seed as u64);
        let but: &[&str] = if banks == 1 { &["mgcc.maint.OPEN.bank"] } else { &[] };
        assert_eq!(b.uncovered(but), Vec::<String>::new(), "{banks} banks");
    }
}

#[test]
fn illegal_values_are_refused() {
    assert!(maint(0).is_err() && maint(65).is_err());
}
