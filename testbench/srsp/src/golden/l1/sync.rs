//! The sync unit (srsp.md sections 5.1 and 5.3): runs the micro-steps of one operation at a time.

use super::super::core::Who;
use super::super::msg::{CuOp, CuReq, Out, Pack, Probe, ProbeKind, Req, ReqKind, Sync, Wb, WbKind};
use super::super::word::Data;
use super::L1;
use super::plan::{self, Micro};
use weft_srsp::params::Impl;

/// An operation under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Run {
    /// The request.
    pub req: CuReq,
    /// Micro-steps that are left; the first is under way.
    pub left: &'static [Micro],
    /// The first has begun and waits for its end.
    pub begun: bool,
    /// Old value of the atomic, and whether it has written.
    pub result: (u64, bool),
    /// PACKs that must still come.
    pub packs: u32,
    /// SYS_ACKs that must still come.
    pub acks: u32,
    /// SEL_FLUSH went to this L1 alone, and its PACK decides (section 5.3).
    pub aimed: Option<u8>,
    /// PACKs are those of a SEL_FLUSH.
    pub flushing: bool,
}

impl Run {
    /// It waits for a slot.
    pub fn wants_slot(&self) -> bool {
        matches!(self.left.first(), Some(Micro::Own | Micro::Flash))
    }
    fn sync(&self) -> Option<&Sync> {
        match &self.req.op {
            CuOp::Sync(sync) => Some(sync),
            _ => None,
        }
    }
    fn next(&mut self) {
        self.left = &self.left[1..];
        self.begun = false;
    }
    fn at(&self, micros: &[Micro]) -> bool {
        self.begun && self.left.first().is_some_and(|micro| micros.contains(micro))
    }
}

impl L1 {
    /// A slot of its own.
    pub(super) fn sync_slot(&mut self) -> bool {
        let Some(run) = &self.run else { return false };
        match run.left.first() {
            Some(Micro::Own) => {
                let Some(line) = run.sync().map(|sync| sync.atomic.line()) else { return false };
                if self.core.stuck(line) {
                    return false;
                }
                self.su_line = Some(line);
                self.core.line_inv(line);
            }
            Some(Micro::Flash) => self.flash_inv(),
            _ => return false,
        }
        self.run_next();
        true
    }
    fn run_next(&mut self) {
        if let Some(run) = &mut self.run {
            run.next();
        }
    }
    /// What needs no slot: the next micro-step, or the next operation.
    pub(super) fn run_goes_on(&mut self) -> bool {
        let Some(run) = &mut self.run else { return self.next_run() };
        let Some(micro) = run.left.first().copied().filter(|_| !run.begun) else {
            return self.run_waits();
        };
        let sync = run.sync().copied();
        match micro {
            Micro::Own | Micro::Flash => return false,
            Micro::OwnWait | Micro::Packs => run.begun = true,
            Micro::Flush => {
                run.begun = true;
                self.core.flush_all(Who::Sync);
            }
            Micro::Close | Micro::Open => {
                self.gate.sync = micro == Micro::Close;
                self.run_next();
            }
            Micro::Forget => {
                self.aff.clear();
                self.run_next();
            }
            Micro::SysFlush | Micro::SysInv => self.send_sys(micro),
            Micro::Reply => self.reply(),
            _ => {
                if let Some(sync) = sync {
                    self.send_micro(micro, &sync);
                }
            }
        }
        true
    }
    fn next_run(&mut self) -> bool {
        let Some((req, promoted)) = self.sq.pop_front() else { return false };
        let left = match &req.op {
            CuOp::Begin => plan::BEGIN,
            CuOp::End => plan::END,
            CuOp::Sync(sync) if promoted => plan::promoted(sync.sem),
            CuOp::Sync(sync) => plan::global(self.params().imp, sync, self.params().slip),
            CuOp::Load { .. } | CuOp::Store { .. } => return false,
        };
        let (begun, flushing) = (false, false);
        self.run =
            Some(Run { req, left, begun, result: (0, false), packs: 0, acks: 0, aimed: None, flushing });
        true
    }
    /// A micro-step that has begun: whether it ends.
    fn run_waits(&mut self) -> bool {
        let Some(run) = &mut self.run else { return false };
        match run.left.first() {
            Some(Micro::OwnWait) => {
                if run.sync().is_some_and(|sync| self.core.wbt.has(sync.atomic.line())) {
                    return false;
                }
            }
            Some(Micro::Packs) => {
                if run.packs > 0 {
                    return false;
                }
                if let Some(asked) = run.aimed.take() {
                    self.ask_the_others(asked);
                    return true;
                }
            }
            _ => return false,
        }
        self.run_next();
        true
    }
    fn reply(&mut self) {
        if let Some(run) = self.run.take() {
            match run.sync() {
                Some(sync) => self.core.reply_old(run.req.id, sync, run.result.0),
                None => self.core.reply(run.req.id, Data::default()),
            }
        }
        self.su_line = None;
    }
    fn send_sys(&mut self, micro: Micro) {
        let kind = if micro == Micro::SysFlush { ReqKind::SysFlush } else { ReqKind::SysInv };
        let (src, banks) = (self.params().own, self.params().banks);
        (0..banks).for_each(|bank| self.core.send(Out::Req(bank, Req { src, kind })));
        if let Some(run) = &mut self.run {
            (run.begun, run.acks) = (true, u32::from(banks));
        }
    }
    /// A micro-step that sends a message; those without an answer are done.
    fn send_micro(&mut self, micro: Micro, sync: &Sync) {
        let (atomic, line, own) = (sync.atomic, sync.atomic.line(), self.params().own);
        let mut waits = true;
        match micro {
            Micro::Atm | Micro::AtmSys => {
                self.core.send_req(line, ReqKind::Atm { atomic, sys: micro == Micro::AtmSys });
            }
            Micro::Lock => self.core.send_req(line, ReqKind::RemLock { line }),
            Micro::Token => self.core.send(Out::Req(0, Req { src: own, kind: ReqKind::Token })),
            Micro::Op => self.core.send_late(line, WbKind::RemOp { atomic, keep: false }),
            Micro::OpKeep => self.core.send_late(line, WbKind::RemOp { atomic, keep: true }),
            _ => {
                waits = false;
                match micro {
                    Micro::Unlock => self.core.send_late(line, WbKind::RemUnlock { line }),
                    Micro::TokenRel => self.core.send(Out::Wb(0, Wb { src: own, kind: WbKind::TokenRel })),
                    Micro::SelFlush => self.sel_flush_out(atomic.addr),
                    Micro::SelInv => self.cast(ProbeKind::SelInv, atomic.addr, self.others()),
                    Micro::LockFlush => self.cast(ProbeKind::LockFlush, atomic.addr, self.others()),
                    Micro::InvUnlock => self.cast(ProbeKind::InvUnlock, atomic.addr, self.others()),
                    Micro::FlushAll => self.cast(ProbeKind::FlushAll, atomic.addr, self.others()),
                    _ => self.cast(ProbeKind::InvAll, atomic.addr, self.others()),
                }
            }
        }
        match &mut self.run {
            Some(run) if waits => run.begun = true,
            _ => self.run_next(),
        }
    }
    /// All L1s but the own one.
    fn others(&self) -> u128 {
        let all = if self.params().cus == 128 { u128::MAX } else { (1 << self.params().cus) - 1 };
        all & !(1 << self.params().own)
    }
    fn cast(&mut self, kind: ProbeKind, addr: u64, to: u128) {
        if let Some(run) = &mut self.run {
            run.packs += to.count_ones();
            run.flushing = kind == ProbeKind::SelFlush;
        }
        if to != 0 {
            self.core.send(Out::Cast(Probe { kind, addr, req: self.params().own }, to));
        }
    }
    /// SF: to the L1 that aff_cache names, else to all.
    fn sel_flush_out(&mut self, addr: u64) {
        let aimed = self.aff.find(addr).filter(|cu| *cu != self.params().own);
        let to = aimed.map_or(self.others(), |cu| 1 << cu);
        self.cast(ProbeKind::SelFlush, addr, to);
        if let Some(run) = &mut self.run {
            run.aimed = aimed;
        }
    }
    /// The L1 asked alone had no entry.
    fn ask_the_others(&mut self, asked: u8) {
        let addr = self.run.as_ref().and_then(Run::sync).map(|sync| sync.atomic.addr);
        self.cast(ProbeKind::SelFlush, addr.unwrap_or_default(), self.others() & !(1 << asked));
    }

    pub(super) fn run_drained(&mut self) {
        match &mut self.run {
            Some(run) if run.at(&[Micro::Flush]) => run.next(),
            _ => self.core.fault("the drain ends for an operation that does not wait for it"),
        }
    }
    pub(super) fn answered(&mut self, old: u64, wrote: bool) {
        match &mut self.run {
            Some(run) if run.at(&[Micro::Atm, Micro::AtmSys, Micro::Op, Micro::OpKeep]) => {
                run.result = (old, wrote);
                let kept = run.left[0] == Micro::OpKeep && !wrote;
                run.next();
                if kept {
                    let behind = run.left.iter().position(|micro| *micro == Micro::Unlock);
                    run.left = &run.left[behind.map_or(0, |at| at + 1)..];
                }
            }
            _ => self.core.fault("an answer to an atomic that was not expected"),
        }
    }
    pub(super) fn granted(&mut self) {
        match &mut self.run {
            Some(run) if run.at(&[Micro::Lock, Micro::Token]) => run.next(),
            _ => self.core.fault("a grant that was not expected"),
        }
    }
    pub(super) fn sys_ack(&mut self) {
        match &mut self.run {
            Some(run) if run.at(&[Micro::SysFlush, Micro::SysInv]) && run.acks > 0 => {
                run.acks -= 1;
                if run.acks == 0 {
                    run.next();
                }
            }
            _ => self.core.fault("a SYS_ACK that was not expected"),
        }
    }
    pub(super) fn take_pack(&mut self, pack: &Pack) {
        let optimised = self.params().imp == Impl::SrspOpt;
        let Some(run) = self.run.as_mut().filter(|run| run.packs > 0) else {
            return self.core.fault("a PACK that was not expected");
        };
        run.packs -= 1;
        if pack.hit && run.flushing && optimised {
            run.aimed = None;
            if let Some(addr) = run.sync().map(|sync| sync.atomic.addr) {
                self.aff.set(addr, pack.src);
            }
        }
    }
}
