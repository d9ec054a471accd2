//! Real L1s and translation units above the bank, below it an L3 that wants its lines at any time: CUs pass locks round, and every word behind them is checked.

use crate::gpu_l2::l3::{Around, L3, cycle};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_blocks::common::join::{pass_in, pass_out};
use weft_blocks::msg::{CuReq, CuRsp};
use weft_rtl::prelude::*;
use weft_spandex::bank::Bank;
use weft_spandex::hmesi::gpu_l2::{GpuL2Params, gpu_l2};
use weft_spandex::hmesi::msg::{HFwd, HReq, HRsp, HWb};
use weft_spandex::msg::{Fwd, Req, Rsp, Wb};
use weft_spandex::params::Spandex;
use weft_spandex_bench::bench::locks::{self, Manner};
use weft_spandex_bench::bench::{Bench, Msg};

use crate::gpu_l2::devices::{denovo, gpu, open, put_out};
use crate::gpu_l2::post::Post;

type World = locks::World<Outside>;

/// The network and the L3.
pub struct Outside {
    s: Spandex,
    l3: L3,
    post: Post,
    memory: BTreeMap<u64, Vec<u32>>,
    lines: Vec<u64>,
    happened: BTreeMap<String, u64>,
}

/// The L3 among them.
struct At<'a> {
    o: &'a mut Outside,
    b: &'a mut Bench,
}

impl Around for At<'_> {
    fn l3(&mut self) -> &mut L3 {
        &mut self.o.l3
    }
    fn rng(&mut self) -> &mut SmallRng {
        &mut self.b.rng
    }
    fn now(&self) -> u64 {
        self.b.sim.cycle()
    }
    fn delay(&self) -> u64 {
        self.o.post.slow
    }
    fn any_line(&mut self) -> u64 {
        self.o.lines[self.b.rng.random_range(0..self.o.lines.len())]
    }
    fn sent(&mut self, channel: &'static str) -> Option<Msg> {
        self.b.received(channel).map(|(_, m)| m)
    }
    fn to_bank(&mut self, channel: &'static str, m: Msg) {
        self.o.post.send(self.b, channel.into(), m);
    }
    fn words(&mut self, line: u64) -> &mut Vec<u32> {
        let words = self.o.s.words() as usize;
        self.o.memory.entry(line).or_insert_with(|| vec![0; words])
    }
    fn wrong(&mut self, text: String) {
        panic!("cycle {}: {text}", self.b.sim.cycle());
    }
    fn happened(&mut self, what: &str) {
        *self.o.happened.entry(what.into()).or_default() += 1;
    }
    // CPUs change nothing here: what the CUs left must come back to them.
    fn floor(&mut self, _: u64) -> Vec<u32> {
        Vec::new()
    }
    fn read_by(&mut self, _: u64, _: u64, _: &[u32], _: &[u32]) {}
    fn write_by(&mut self, _: u64, _: u64) {}
    fn back(&mut self, _: u64) {}
}

impl locks::Below for Outside {
    fn connect(&self, b: &mut Bench) {
        let s = &self.s;
        (0..s.devs()).for_each(|d| open(b, d, s));
        b.source::<Req>("req", s);
        b.source::<Wb>("wb", s);
        b.source::<Rsp>("rsp_in", s);
        b.sink::<Fwd>("fwd", s);
        b.sink::<Rsp>("rsp", s);
        crate::gpu_l2::l3::open(b, s);
    }

    fn send(&mut self, b: &mut Bench) {
        self.post.deliver(b);
    }

    fn take(&mut self, b: &mut Bench, _: u64) {
        let devs = u64::from(self.s.devs());
        for d in 0..devs {
            self.post.route(b, &format!("d{d}_req"), |_| "req".into());
            self.post.route(b, &format!("d{d}_wb"), |_| "wb".into());
            self.post.route(b, &format!("d{d}_rsp_out"), |m| match m.get("dst") {
                dst if dst < devs => format!("d{dst}_rsp"),
                _ => "rsp_in".into(),
            });
        }
        self.post.route(b, "fwd", |m| format!("d{}_fwd", m.get("dst")));
        self.post.route(b, "rsp", |m| format!("d{}_rsp", m.get("dst")));
        cycle(&mut At { o: self, b });
    }

    fn clear(&mut self, line: u64) {
        self.memory.remove(&line);
        self.lines.push(line);
    }

    fn change(&mut self, b: &mut Bench) {
        self.l3.pester = [0.002, 0.02, 0.1][b.rng.random_range(0..3)];
        self.post.slow = [2, 10, 30][b.rng.random_range(0..3)];
        for sink in b.sinks.values_mut() {
            sink.chance = [0.3, 1.0][b.rng.random_range(0..2)];
        }
        self.l3.log.clear();
    }
}

/// Devices with their channels open, and a bank.
fn system(p: &GpuL2Params, denovos: u32) -> Arc<Module> {
    let s = &p.bank.s;
    let (gpu, denovo, bank) = (gpu(s), denovo(s), gpu_l2(p).expect("legal"));
    Module::build("gpu_l2_and_l1s_under_test", ModuleKind::Fabric, || {
        for d in 0..s.devs() {
            let cu = instance(&format!("device{d}"), if d < denovos { &denovo } else { &gpu });
            pass_in::<CuReq>(&cu, "cu_req", &format!("g0_cu{d}_req"), &s.cu());
            pass_out::<CuRsp>(&cu, "cu_rsp", &format!("g0_cu{d}_rsp"), &s.cu());
            put_out(&cu, d, s);
        }
        let bank = instance("bank", &bank);
        bank.drive_bits("own", lit(u64::from(s.l2_node(0)), s.h_node_bits()));
        pass_in::<Req>(&bank, "req", "req", s);
        pass_in::<Wb>(&bank, "wb", "wb", s);
        pass_in::<Rsp>(&bank, "rsp_in", "rsp_in", s);
        pass_out::<Fwd>(&bank, "fwd", "fwd", s);
        pass_out::<Rsp>(&bank, "rsp", "rsp", s);
        pass_out::<HReq>(&bank, "l3_req", "l3_req", s);
        pass_out::<HWb>(&bank, "l3_wb", "l3_wb", s);
        pass_out::<HRsp>(&bank, "l3_rsp_out", "l3_rsp_out", s);
        pass_in::<HFwd>(&bank, "l3_fwd", "l3_fwd", s);
        pass_in::<HRsp>(&bank, "l3_rsp", "l3_rsp", s);
    })
    .expect("legal")
}

/// `denovos` of four CUs are DeNovo devices; the bank has 4 sets of 2 ways and `tbes` TBEs.
fn world(denovos: u32, tbes: u32, seed: u64) -> World {
    let s = Spandex {
        cpus: 0,
        cus: 4,
        sharers: 0,
        addr_bits: 32,
        line: 64,
        banks: 1,
        mshrs: 4,
        sb: 4,
        wbb: 2,
        tbes,
        ..Spandex::default()
    };
    let p = GpuL2Params::published(s.clone()).sized(|b| Bank { size: 4 * 2 * 64, ways: 2, stalls: 4, ..b });
    let outside = Outside {
        l3: L3::with_cpus(&p, 1),
        post: Post::new(),
        memory: BTreeMap::new(),
        lines: Vec::new(),
        happened: BTreeMap::new(),
        s: s.clone(),
    };
    World::new(&system(&p, denovos), (s.cu(), s.devs()), Manner::Cmp, (3, 12), outside, seed)
}

#[test]
fn locks_go_round_while_the_l3_wants_every_line() {
    for (denovos, tbes, seed) in [(0, 2, 0), (0, 4, 1), (4, 2, 2), (4, 4, 3), (2, 3, 4), (2, 2, 5)] {
        let mut w = world(denovos, tbes, seed);
        w.run(400_000);
        w.check();
        let all: u64 = w.locks.iter().flat_map(|l| l.sections).sum();
        assert_eq!(all, 4 * 12, "critical sections");
        for what in ["FwdGetS", "FwdGetM", "Recall", "Inv", "GetS", "GetM", "Put"] {
            assert!(w.below.happened.contains_key(what), "{what} never happened: {:?}", w.below.happened);
        }
    }
}
