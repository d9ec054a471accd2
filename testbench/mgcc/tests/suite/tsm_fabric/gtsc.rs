//! One GPU under G-TSC and under MGCC: the same programs, checked in logical time, with the bytes that they cost compared.

use super::coherent::{ended, note, random_work};
use super::world::{Answer, Asked, CuWork, World, initial};
use super::{LINES, tiny};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use weft_mgcc::fabric::{TsmFabricParams, TsmProtocol, TsuScale, tsm_fabric};
use weft_mgcc::params::Tsm;
use weft_mgcc_bench::checker::{Fault, LogicalTime, Promise};
use weft_mgcc_bench::golden::msg::Data;
use weft_mgcc_bench::golden::time::Time;

const WAVES: usize = 3;

fn one(protocol: TsmProtocol, ts: u32) -> TsmFabricParams {
    let p = tiny(protocol);
    let tsm = Tsm { gpus: 1, cus: 3, lanes: 1, ts, ..p.tsm.clone() };
    TsmFabricParams { tsm, tsu_scale: TsuScale::Half, ..p }
}

/// What each wave does in each kernel: line and operation, in order.
struct Script(Vec<Vec<Vec<(u64, CuWork)>>>);

impl Script {
    fn new(seed: u64, kernels: usize, length: usize) -> Script {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut operation = || {
            let line = LINES[rng.random_range(0..LINES.len())];
            let fence = rng.random_bool(0.15);
            let work = random_work(&mut rng, true);
            (line, if fence { CuWork::Fence { acquire: rng.random() } } else { work })
        };
        let mut waves = || (0..3 * WAVES).map(|_| (0..length).map(|_| operation()).collect()).collect();
        Script((0..kernels).map(|_| waves()).collect())
    }
}

#[derive(Clone, Copy, Default)]
struct Wave {
    at: usize,
    seq: u32,
    open: u32,
    fencing: bool,
}

struct Run {
    w: World,
    log: LogicalTime,
    waves: Vec<Wave>,
    /// Writes: line, time, mask, data.
    writes: Vec<(u64, Time, u64, Data)>,
}

impl Run {
    fn new(p: &TsmFabricParams, seed: u64) -> Run {
        let mut w = World::new(p, seed);
        w.pressure = true;
        let waves = vec![Wave::default(); w.cus() * WAVES];
        Run { w, log: LogicalTime::new(Promise::Rc), waves, writes: Vec::new() }
    }

    fn issue(&mut self, number: usize, script: &[(u64, CuWork)]) {
        let (cu, wave) = (number / WAVES, number % WAVES);
        let state = &mut self.waves[number];
        let Some((line, work)) = script.get(state.at).copied() else { return };
        let fence = matches!(work, CuWork::Fence { .. });
        if state.fencing || state.open >= 4 || (fence && state.open > 0) {
            return;
        }
        state.at += 1;
        state.seq += 1;
        state.open += 1;
        state.fencing = fence;
        self.w.ask(cu, Asked { wave, seq: state.seq, line, work, since: 0, expected: None });
    }

    fn answered(&mut self, a: &Answer) {
        let Asked { wave, seq, line, work, .. } = a.asked;
        let number = a.cu * WAVES + wave;
        let state = &mut self.waves[number];
        state.open -= 1;
        state.fencing &= !matches!(work, CuWork::Fence { .. });
        note(&mut self.log, (number as u32, seq), line, work, a);
        match work {
            CuWork::Store { mask, data, .. } => self.writes.push((line, a.time, mask, data)),
            CuWork::Atomic(atomic) => {
                let mut left = a.data;
                atomic.perform(&mut left);
                self.writes.push((line, a.time, atomic.mask(), left));
            }
            _ => {}
        }
    }

    fn kernel(&mut self, script: &[Vec<(u64, CuWork)>], time: Time) -> Time {
        self.w.ask_all(CuWork::Kbegin(time));
        for (number, wave) in self.waves.iter_mut().enumerate() {
            wave.at = 0;
            self.log.floor(number as u32, wave.seq, time);
        }
        while self.waves.iter().zip(script).any(|(wave, script)| wave.at < script.len() || wave.open > 0) {
            (0..self.waves.len()).for_each(|number| self.issue(number, &script[number]));
            self.w.step();
            while let Some(answer) = self.w.answers.pop_front() {
                self.answered(&answer);
            }
        }
        ended(&mut self.w)
    }

    fn run(&mut self, script: &Script) -> Vec<Fault> {
        script.0.iter().fold(Time::default(), |time, kernel| self.kernel(kernel, time));
        self.log.check(initial)
    }

    /// The value of every line at the end, as the log has it.
    fn last(&self) -> BTreeMap<u64, Data> {
        let mut writes = self.writes.clone();
        writes.sort_by_key(|(line, time, ..)| (*line, *time));
        let mut last: BTreeMap<u64, Data> = BTreeMap::new();
        for (line, _, mask, data) in writes {
            last.entry(line).or_insert_with(|| initial(line)).merge(mask, &data);
        }
        last
    }

    /// Every line read once more, by an acquire load, shows the last value written.
    fn read_back(&mut self) {
        for (line, data) in self.last() {
            let work = CuWork::Load { mask: u64::MAX, sync: true };
            self.w.ask(0, Asked { wave: 0, seq: 0, line, work, since: 0, expected: None });
            while self.w.answers.is_empty() {
                self.w.step();
            }
            let found = self.w.answers.pop_front().expect("one").data;
            assert_eq!(found, data, "line {line:#x} at the end");
        }
    }

    fn sum(&self, prefix: &str, classes: &[&str]) -> u64 {
        classes.iter().map(|class| self.w.b.counted(&format!("{prefix}_{class}"))).sum()
    }
}

fn sound(p: &TsmFabricParams, seed: u64, script: &Script) -> Run {
    let mut run = Run::new(p, seed);
    let faults = run.run(script);
    assert!(faults.is_empty(), "seed {seed}: {} faults, first: {}", faults.len(), faults[0]);
    run.read_back();
    run
}

#[test]
fn gtsc_keeps_one_gpu_coherent() {
    for (seed, ts) in [(0, 8), (1, 7)] {
        let script = Script::new(60 + seed, 3, 40);
        let run = sound(&one(TsmProtocol::Gtsc, ts), seed, &script);
        let [rolls, evictions, renewals] =
            ["rolls", "l2_evictions", "mgcc_l1_renewals"].map(|name| run.w.b.counted(name));
        assert!(
            rolls > 1 && evictions > 10 && renewals > 5,
            "{rolls} rolls, {evictions} evictions, {renewals} renewals"
        );
    }
}

/// mgcc.md section 14: 24 bytes of a read's request become 14 (41.7 %), 2 bytes of a CU's answer go (3.1 %); and what the same programs cost altogether.
#[test]
fn bytes_of_gtsc_and_mgcc() {
    let script = Script::new(70, 2, 60);
    let gtsc = sound(&one(TsmProtocol::Gtsc, 16), 2, &script);
    let mgcc = sound(&one(TsmProtocol::WtCRc, 16), 2, &script);
    let classes = ["rd", "wr", "amo"];
    let per = |run: &Run, bytes: &str, messages: &str| {
        (run.w.b.counted(bytes) as f64 / run.w.b.counted(messages) as f64, run.w.b.counted(messages))
    };
    let (request, reads) = per(&gtsc, "l2_bytes_l1_req_rd", "l2_reads");
    assert!(request == 24.0 && reads > 100, "{request} bytes of {reads} reads");
    // Of MGCC 12 bytes, and 14 with a timestamp: what is published counts the timestamp.
    let (plain, reads) = per(&mgcc, "l2_bytes_l1_req_rd", "l2_reads");
    assert!((12.0..=14.0).contains(&plain) && reads > 100, "{plain} bytes of {reads} reads");
    assert_eq!((1000.0_f64 * (1.0 - 14.0 / request)).round(), 417.0, "41.7 % of a read's request");
    // Both have answered the same operations, G-TSC with 2 bytes more each: 3.1 % of a line's 64.
    let cu = |run: &Run| run.w.b.counted("mgcc_l1_cu_bytes");
    let operations = 9 * 2 * 60 + 2 * 2 * 3 + gtsc.last().len() as u64;
    assert_eq!(gtsc.last().len(), mgcc.last().len());
    assert_eq!(cu(&gtsc) - cu(&mgcc), 2 * operations, "2 bytes per answer");
    assert_eq!((1000.0_f64 * 2.0 / 64.0).round(), 31.0, "3.1 % of a CU's answer");
    let renewed = gtsc.w.b.counted("l2_renewals");
    let fills = gtsc.w.b.counted("l2_reads") - renewed;
    assert_eq!(gtsc.w.b.counted("l2_bytes_l1_rsp_rd"), 84 * fills + 20 * renewed, "Fill 84, Renew 20");
    assert!(renewed > 0);
    // Memory is told no times.
    let reads = gtsc.sum("req_bytes", &["read"]);
    assert!(reads > 0 && reads.is_multiple_of(12), "RdReq to memory 12 bytes, {reads} in all");
    for (name, way) in [("requests L1 to L2", "l2_bytes_l1_req"), ("answers L2 to L1", "l2_bytes_l1_rsp")] {
        let [a, b] = [&gtsc, &mgcc].map(|run| run.sum(way, &classes));
        println!(
            "{name}: {a} B under G-TSC, {b} B under MGCC: {:+.1} %",
            100.0 * (b as f64 / a as f64 - 1.0)
        );
        assert!(a > 0 && b > 0);
    }
    let requests = [&gtsc, &mgcc].map(|run| run.sum("l2_bytes_l1_req", &classes));
    assert!(requests[1] < requests[0], "requests of MGCC are smaller");
    println!("answers to CUs: {} B under G-TSC, {} B under MGCC", cu(&gtsc), cu(&mgcc));
    println!("{renewed} of {} reads renewed", renewed + fills);
}

#[test]
fn gtsc_is_for_one_gpu() {
    let p =
        TsmFabricParams { tsm: tiny(TsmProtocol::Gtsc).tsm, ..TsmFabricParams::published(TsmProtocol::Gtsc) };
    assert_eq!(p.tsm.gpus, 2);
    let error = tsm_fabric(&p).expect_err("two GPUs").to_string();
    assert!(error.contains("parameter gpus = 2") && error.contains("legal: 1 with gtsc"), "{error}");
    let published = tsm_fabric(&TsmFabricParams::published(TsmProtocol::Gtsc)).expect("one GPU of 64 CUs");
    let inputs: Vec<String> = published.inputs().map(|(_, s)| s.name.clone()).collect();
    assert!(
        inputs.contains(&"rd_lease".to_string()) && !inputs.contains(&"g0_fence_start_valid".to_string())
    );
}
