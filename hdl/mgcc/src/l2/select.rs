//! Stage 0: what enters the pipeline. Answers of memory go first, then replays, then requests; a request enters only with everything that it may need.

use super::clock::{Causes, Clock, Sweep};
use super::flush::Flush;
use super::lease::Leases;
use super::mshr::Mshrs;
use super::outputs::Outputs;
use super::params::L2Params;
use super::port::L1Port;
use super::tags::Tags;
use super::types::{Class, Op};
use super::walker::Walker;
use crate::msg::{UmcRsp, UpReq};
use crate::time::{Age, age};
use weft_blocks::common::arbiter::RoundRobin;
use weft_rtl::prelude::*;

/// Stage 0 and the register of stage 1.
pub(super) struct Select {
    pub l1: L1Port,
    pub mem: InChannel<UmcRsp>,
    pub s1_valid: Reg<Bool>,
    pub s1: Reg<Op>,
    /// Of G-TSC: wts that the request has told.
    pub s1_wts: Option<Reg<Bits>>,
    order: RoundRobin,
}

/// The decision of a cycle.
pub(super) struct Choice {
    pub fill: Bool,
    pub replay: Bool,
    pub request: Bool,
    /// A request waits.
    pub waits: Bool,
    pub no_mshr: Bool,
    pub no_pool: Bool,
    /// A new epoch begins: by an answer of memory, by a request, by its own message.
    pub by_answer: Bool,
    pub by_request: Bool,
    pub by_roll: Bool,
    /// The sweep of a new epoch begins.
    pub rolls: Bool,
}

/// What stage 0 looks at.
pub(super) struct Needs<'a> {
    pub p: &'a L2Params,
    pub tags: &'a Tags,
    pub m: &'a Mshrs,
    pub outs: &'a Outputs,
    pub walker: &'a Walker,
    pub sweep: &'a Sweep,
    pub clock: Option<&'a Clock>,
    /// Of a write-back bank.
    pub flush: Option<&'a Flush>,
    /// Of G-TSC.
    pub leases: Option<&'a Leases>,
}

impl Select {
    /// Declares channels and registers.
    pub fn new(p: &L2Params, sweep: &Sweep) -> Select {
        Select {
            l1: L1Port::new(p, sweep.ready.get()),
            mem: in_channel::<UmcRsp>("mem_rsp", &p.tsm),
            s1_valid: reg::<Bool>("s1_valid", ()),
            s1: reg::<Op>("s1", p.clone()).field("queue"),
            s1_wts: p.gtsc().then(|| reg::<Bits>("s1_wts", p.tsm.ts).field("queue")),
            order: RoundRobin::new("fill_order", p.tsm.l2_mshrs),
        }
    }

    /// Stage 1 holds an operation of a class.
    pub fn s1_is(&self, class: Class) -> Bool {
        self.s1_valid.get() & self.s1.get().class.is(class)
    }

    /// Stage 1 holds a step of a flush, which may open a transaction.
    fn s1_flushes(&self, p: &L2Params) -> Bool {
        if p.back() { self.s1_is(Class::Flush) } else { bool_lit(false) }
    }

    /// Takes answers of memory into the landing place.
    pub fn land(&self, m: &Mshrs) {
        when(self.mem.valid, || {
            self.mem.take();
            m.land(&self.mem.msg);
        });
        unused_input(&self.mem.msg.dst);
    }

    /// Chooses and moves an operation into stage 1.
    pub fn connect(&self, with: &Needs) -> Choice {
        let Needs { p, tags, m, outs, walker, sweep, clock, flush, leases } = with;
        let pick = self.order.pick(m.landed.now.get());
        let (by_answer, by_request, by_roll) = match clock {
            Some(clock) => {
                let of = |name: &str, there: Bool, tag: Bits| -> Age {
                    age(&p.tsm, name, there, tag, clock.epoch.get())
                };
                let landed = m.epoch(pick.index).map(|tag| of("answer", pick.any, tag).newer);
                (
                    landed.map_or(bool_lit(false), |newer| pick.any & newer),
                    self.l1.valid & of("request", self.l1.valid, self.l1.msg.tag).newer,
                    sweep.rolls(clock),
                )
            }
            None => (bool_lit(false), bool_lit(false), bool_lit(false)),
        };
        let roll = (by_answer | by_request | by_roll).named("s0_rolls");
        let maint = if p.back() { bool_lit(false) } else { sweep.commanded() };
        let full = leases.map_or(bool_lit(false), |leases| leases.full());
        let open = (!sweep.busy() & !roll & !maint & !full).named("s0_open");
        let s1_request = self.s1_is(Class::Request) | self.s1_flushes(p);
        let (no_mshr, no_pool) = (!m.mshr_room(s1_request), !m.pool_room(s1_request));
        let sends = outs.rsp.room() & outs.req.room();
        let fill = (open & pick.any & outs.rsp.room()).named("s0_fill");
        let replay = (open & !fill & walker.asks() & sends).named("s0_replay");
        let held = flush.map_or(bool_lit(false), |flush| flush.busy(sweep));
        let free = open & !fill & !replay & sends & !no_mshr;
        let request = (free & self.l1.valid & !no_pool & !held).named("s0_request");
        let flushes = flush.map(|flush| {
            let (there, set) = flush.asks(self.s1.get().set);
            ((free & there).named("s0_flush"), set)
        });
        let empty = !self.s1_valid.get();
        let flushed = flush.map(|flush| flush.over());
        let causes = Causes { roll: roll & empty, maint: maint & empty, flushed };
        let rolls = sweep.connect(p, tags, *clock, &causes);
        if let (Some(flush), Some((sent, set))) = (flush, flushes) {
            flush.connect(p, m, sweep, sent, set, empty & !outs.s2_valid.get());
        }
        m.landing[0].present(pick.index);
        if let Some(stamps) = &m.stamps {
            stamps[0].present(pick.index);
        }
        let choice = Choice {
            fill,
            replay,
            request,
            waits: self.l1.valid & !request,
            no_mshr,
            no_pool,
            by_answer,
            by_request,
            by_roll,
            rolls,
        };
        self.enter(with, &choice, pick.index, flushes);
        choice
    }

    fn enter(&self, with: &Needs, choice: &Choice, landed: Bits, flushes: Option<(Bool, Bits)>) {
        let Needs { p, tags, m, walker, .. } = with;
        let class = wire_or::<Enum<Class>>("s0_class", (), Class::Request);
        let req = wire_or::<UpReq>("s0_req", p.tsm.clone(), &self.l1.msg);
        let mshr = wire_or::<Bits>("s0_mshr", p.tsm.l2_txn_bits(), walker.mshr.get());
        when(choice.fill, || {
            class.set(Class::Fill);
            req.set(UpReq { line: m.line_of(landed), ..self.l1.msg });
            mshr.set(landed);
            m.landed.lower(landed);
            self.order.granted(landed);
        });
        when(choice.replay, || {
            class.set(Class::Replay);
            req.set(walker.request(p, m));
            walker.granted();
        });
        when(choice.request, || self.l1.take());
        if let Some((flush, _)) = flushes {
            when(flush, || class.set(Class::Flush));
        }
        let go = choice.fill | choice.replay | choice.request;
        let go = flushes.map_or(go, |(flush, _)| go | flush);
        self.s1_valid.set(go);
        when(go, || {
            let set = p.set_of(req.get().line);
            let set = flushes.map_or(set, |(flush, of)| mux(flush, of, set)).named("s0_set");
            tags.present(set);
            self.s1.set(Op { class: class.get(), req: req.get(), mshr: mshr.get(), set });
            if let (Some(wts), Some(told)) = (&self.s1_wts, self.l1.wts) {
                let waited = m.header_wts(m.list(walker.mshr.get()).head).unwrap_or(told);
                let first = m.first_wts(landed).unwrap_or(told);
                wts.set(mux(choice.fill, first, mux(choice.replay, waited, told)));
            }
        });
    }
}
