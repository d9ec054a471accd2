//! The ports of an L1 of the family, over banks that answer when they are told to: why requests are not taken, brought about one by one with outputs that are held back,
//! and which answer goes first.

use crate::wire::{answer_message, cu_message, kind};
use std::collections::BTreeSet;
use weft_blocks::cache::l1::StallCause;
use weft_mgcc::l1::L1Params;
use weft_mgcc::msg::Roll;
use weft_mgcc_bench::bench::{Bench, Msg};
use weft_mgcc_bench::golden::l1::{CuReq, CuWork};
use weft_mgcc_bench::golden::msg::{Data, Op, UpRsp};
use weft_mgcc_bench::golden::time::Time;
use weft_rtl::value::HwEnum;

const LOAD: CuWork = CuWork::Load { sync: false };

struct Ports<'a> {
    b: &'a mut Bench,
    p: &'a L1Params,
    epoch: u64,
    next_id: u32,
    /// Requests to banks that are not answered.
    below: Vec<Msg>,
}

impl Ports<'_> {
    fn send(&mut self, line: u64, work: CuWork) {
        let req = CuReq { id: self.next_id, line, mask: u64::MAX, work };
        self.next_id += 1;
        let msg = cu_message(&self.p.tsm, &req, 1, Data::default);
        self.b.send("cu_req", msg);
    }

    /// A cycle; why the request in stage 1 waited in the one before.
    fn cycle(&mut self) -> u64 {
        self.b.step();
        while let Some((_, req)) = self.b.received("up_req") {
            self.below.push(req);
        }
        self.b.get("stall")
    }

    /// Asks for lines one after the other, with some cycles for each; why the last request waits.
    fn last(&mut self, lines: impl IntoIterator<Item = u64>, work: CuWork) -> u64 {
        for line in lines {
            self.send(line, work);
            for _ in 0..12 {
                self.cycle();
            }
        }
        self.b.get("stall")
    }

    fn answer(&mut self, req: &Msg) {
        let op = kind(req.get("op"));
        let rsp = UpRsp {
            op,
            dst: 0,
            txn: req.get("txn") as u32,
            tag: self.epoch,
            wts: 1,
            rts: self.p.tsm.ts_max() / 2,
            data: (op != Op::Write).then(Data::default),
            old: 0,
            from_memory: true,
        };
        self.b.send("dn_rsp", answer_message(&self.p.tsm, &rsp));
    }

    fn hold(&mut self, channel: &str) {
        self.b.sink_mut(channel).chance = 0.0;
    }

    /// What leaves is offered whether anybody is ready for it or not.
    fn offers(&mut self, channel: &str) {
        assert_eq!(self.b.get(&format!("{channel}_valid")), 1, "{channel} waits to be asked for");
    }

    /// Everything goes on; the causes seen meanwhile.
    fn goes_on(&mut self) -> BTreeSet<u64> {
        self.b.hold_nothing();
        let seen = (0..200).map(|_| {
            for req in std::mem::take(&mut self.below) {
                self.answer(&req);
            }
            self.cycle()
        });
        let seen = seen.collect();
        assert!(self.b.has_sent_all());
        assert_eq!(self.b.get("stall"), StallCause::None.encoding(), "nothing waits");
        seen
    }
}

/// Brings every cause about, on an idle L1 out of reset with time for its clock.
pub fn every_stall_has_its_cause(b: &mut Bench, p: &L1Params) {
    let is = |cause: StallCause| cause.encoding();
    let mut s = Ports { b, p, epoch: 0, next_id: 0, below: Vec::new() };
    s.goes_on();
    // As many lines as there are MSHRs, and one more; responses keep the arrays busy.
    let mshrs = u64::from(p.mshrs());
    assert_eq!(s.last(0..mshrs, LOAD), is(StallCause::None));
    assert_eq!(s.last([mshrs], LOAD), is(StallCause::MshrFull));
    assert!(s.goes_on().contains(&is(StallCause::Bank)));
    // As many requests behind a line as the pool has places, and one more.
    assert_eq!(s.last(vec![20; p.pool as usize + 1], LOAD), is(StallCause::None));
    assert_eq!(s.last([20], LOAD), is(StallCause::MshrFull));
    s.goes_on();
    // Hits go one after the other.
    (0..20).for_each(|_| s.send(20, LOAD));
    assert!((0..40).all(|_| s.cycle() == is(StallCause::None)), "hits do not wait");
    // Loads that a response serves, one after the other, and a load behind them.
    assert_eq!(s.last([30, 30, 30], LOAD), is(StallCause::None));
    s.hold("cu_rsp");
    let asked = s.below.pop().expect("a request to a bank");
    s.answer(&asked);
    assert_eq!(s.last([30], LOAD), is(StallCause::Other), "the line is being served");
    s.goes_on();
    // One fence waits for a store, the next one for the fence.
    let store = CuWork::Store { data: Data::default(), want_ack: false };
    assert_eq!(s.last([5], store), is(StallCause::None));
    assert_eq!(s.last([0], CuWork::Fence), is(StallCause::None));
    assert_eq!(s.last([0], CuWork::Fence), is(StallCause::Release));
    s.goes_on();
    // The first request stands in the port.
    s.hold("up_req");
    assert_eq!(s.last([40], LOAD), is(StallCause::None));
    assert_eq!(s.last([41], LOAD), is(StallCause::Other), "the way to the banks");
    s.offers("up_req");
    s.goes_on();
    // Hits of which the answers do not leave.
    s.hold("cu_rsp");
    assert_eq!(s.last(vec![41; p.latency as usize + 2], LOAD), is(StallCause::Other), "the way to the CU");
    s.offers("cu_rsp");
    s.goes_on();
    // A kernel's begin sweeps first.
    s.epoch = 1;
    s.send(0, CuWork::Kbegin(Time::new(1, 0)));
    let seen = s.goes_on();
    assert!(seen.contains(&is(StallCause::Other)) && seen.contains(&is(StallCause::Bank)), "a sweep");
    s.hold("roll_ack");
    s.b.send("roll", Msg::of::<Roll>(&p.tsm, &[("epoch", 2)]));
    s.b.run(20);
    s.offers("roll_ack");
}

/// A hit leaves after the latency, though a fence or a response has an answer in the same cycle.
pub fn a_hit_leaves_in_its_cycle(b: &mut Bench, p: &L1Params) {
    let mut s = Ports { b, p, epoch: 0, next_id: 0, below: Vec::new() };
    s.goes_on();
    s.last([0], LOAD);
    s.goes_on();
    for beside in [CuWork::Fence, CuWork::Load { sync: true }] {
        // From the cycle on in which the block has been read.
        for lead in 3..p.latency + 8 {
            // The line of the other load is in another set.
            s.send(1, CuWork::Load { sync: true });
            (0..12).for_each(|_| _ = s.cycle());
            let asked = s.below.pop().expect("a request to a bank");
            while s.b.received("cu_rsp").is_some() {}
            let hit = s.next_id;
            s.send(0, LOAD);
            let start = s.b.sim.cycle();
            for cycle in 0..40 {
                match beside {
                    CuWork::Fence if cycle == lead => s.send(0, CuWork::Fence),
                    _ if cycle == lead => s.answer(&asked),
                    _ => {}
                }
                s.cycle();
            }
            let answers: Vec<(u64, Msg)> = std::iter::from_fn(|| s.b.received("cu_rsp")).collect();
            let of_hit = answers.iter().find(|(_, answer)| answer.get("id") == u64::from(hit));
            let due = start + u64::from(p.latency);
            assert_eq!(of_hit.map(|(cycle, _)| *cycle), Some(due), "{beside:?} {lead} cycles behind it");
            // The last answer is not a hit's, so the next turn is that of hits.
            match beside {
                CuWork::Fence => s.answer(&asked),
                _ => s.send(0, CuWork::Fence),
            }
            s.goes_on();
        }
    }
}
