//! Messages of phase 1 and of evictions (spandex.md section 4.3).

use super::super::cover::Mark;
use super::super::msg::{Mask, Msg, Op};
use super::lines::Frame;
use super::{Bank, Out};

impl Bank {
    /// Inv to every sharer but one; the line is S no longer once all have answered.
    pub(super) fn invalidate(&mut self, tbe: usize, at: usize, except: Option<u8>) {
        let Some(frame) = self.lines.frame(at).copied() else { return };
        let mut to = self.sharers(&frame);
        to &= !except.map_or(0, |dev| 1 << dev);
        for dev in (0..self.p.devices).filter(|dev| to >> dev & 1 == 1) {
            let inv = self.send(dev, Op::Inv, frame.line, self.p.full(), tbe as u8);
            self.out.push(Out::Msg(inv));
            self.cover.mark(Mark::Phase1Inv);
        }
        if let Some(tbe) = &mut self.tbes[tbe] {
            tbe.ack = to;
        }
    }
    pub(super) fn sharers(&self, frame: &Frame) -> u64 {
        match (frame.shared, self.p.broadcast) {
            (false, _) => 0,
            (true, false) => frame.sharers,
            (true, true) => self.p.s_capable,
        }
    }
    /// RvkO to every owner of one of these words, for those or all it owns.
    pub(super) fn revoke(&mut self, tbe: usize, at: usize, targets: Mask) {
        let Some(frame) = self.lines.frame(at).copied() else { return };
        for (dev, mine) in frame.owners(targets) {
            let all = frame.owned_by(dev);
            let own = if self.p.revoke_lines { all } else { mine };
            let rvko = self.send(dev, Op::RvkO, frame.line, own, tbe as u8);
            self.out.push(Out::Msg(rvko));
            self.cover.mark(Mark::Phase1Revoke);
            if let Some(tbe) = &mut self.tbes[tbe] {
                tbe.rv |= own;
                tbe.rvm |= own;
            }
        }
    }
    /// Fwd ReqS to every owner of a target word, for all it owns of the line.
    pub(super) fn share(&mut self, tbe: usize, at: usize, msg: &Msg) {
        let Some(frame) = self.lines.frame(at).copied() else { return };
        for (dev, mine) in frame.owners(msg.mask) {
            let mut fwd = self.send(dev, Op::FwdReqS, frame.line, mine, msg.tag);
            (fwd.req, fwd.own) = (msg.device(), frame.owned_by(dev));
            self.out.push(Out::Msg(fwd));
            self.cover.mark(Mark::Phase1Share);
            if let Some(tbe) = &mut self.tbes[tbe] {
                tbe.rv |= fwd.own;
                tbe.rvm |= fwd.own;
                tbe.ans |= mine;
            }
        }
    }
}
