//! The commit of a request: all its words in one step, by the table.

use super::super::msg::{Data, Mask, Msg, Op, words};
use super::super::slip::Slip;
use super::table::{Act, COMMIT, Next, row};
use super::{Bank, Choice, Out};

impl Bank {
    /// `ans`: words that owners have answered; `kept`: owners that stay sharers.
    pub(super) fn commit(&mut self, at: usize, mut msg: Msg, choice: Choice, ans: Mask, kept: u64) {
        if self.p.slip == Some(Slip::SplitCommit) && msg.op == Op::ReqOData && msg.mask.count_ones() > 1 {
            let first = msg.mask & msg.mask.wrapping_neg();
            self.out.push(Out::Msg(Msg { mask: msg.mask & !first, own: msg.mask & !first, ..msg }));
            msg.mask = first;
        }
        let Some(frame) = self.lines.frame(at).copied() else { return };
        let row = row(&msg.op, choice);
        let (free, held) = (msg.mask & !frame.owned, msg.mask & frame.owned);
        self.cover.commit(row, u8::from(free != 0) | u8::from(held != 0) << 1);
        if frame.owned_by(msg.device()) & msg.mask != 0 && !self.p.slips_r1() {
            self.fault(format!("{msg:?} from the owner of its word"));
        }
        let (_, on_free, on_held) = COMMIT[row];
        if held != 0 {
            self.forward(&frame.owners(held), &msg, on_held.0);
            self.change(at, &msg, held, on_held);
        }
        if free != 0 {
            self.answer(at, &msg, free, free & !ans, on_free.0);
            self.change(at, &msg, free, on_free);
        }
        if let (Next::Shared, Some(frame)) = (on_free.1, self.lines.frame_mut(at)) {
            frame.shared = true;
            frame.sharers |= if self.p.broadcast { 0 } else { 1 << msg.device() | kept };
        }
    }
    /// One forward per owner.
    fn forward(&mut self, owners: &[(u8, Mask)], msg: &Msg, act: Act) {
        let flex = matches!(msg.op, Op::ReqV { flex: true });
        let op = match act {
            Act::FwdReqV => Op::FwdReqV { flex, direct: false },
            Act::FwdReqO => Op::FwdReqO { for_wt: false },
            Act::WriteFwdReqO => Op::FwdReqO { for_wt: true },
            Act::FwdReqOData => Op::FwdReqOData,
            Act::FwdReqWt => Op::FwdReqWt { direct: false },
            _ => return self.fault(format!("{msg:?} commits with owned words")),
        };
        for (dev, mine) in owners {
            let mut fwd = self.send(*dev, op, msg.line, *mine, msg.tag);
            fwd.req = msg.device();
            if act == Act::FwdReqWt {
                fwd = fwd.with(&msg.data);
            }
            self.out.push(Out::Msg(fwd));
        }
    }
    /// The answer for words that nobody owns; `due` are those that no owner has answered.
    fn answer(&mut self, at: usize, msg: &Msg, free: Mask, due: Mask, act: Act) {
        let Some(frame) = self.lines.frame(at).copied() else { return };
        let (to, full) = (msg.device(), self.p.full());
        if due == 0 {
            return;
        }
        let op = match act {
            Act::RspV => {
                let flex = matches!(msg.op, Op::ReqV { flex: true }) && self.p.flex_rsp;
                Op::RspV { xmask: if flex { full & !frame.owned & !msg.mask } else { 0 } }
            }
            Act::RspS => Op::RspS,
            Act::RspO => Op::RspO,
            Act::RspOData => Op::RspOData { dirty: false },
            Act::Write => Op::RspWt,
            Act::Perform => Op::RspWtData,
            _ => return self.fault(format!("{msg:?} commits without owned words")),
        };
        let mut rsp = self.send(to, op, msg.line, due, msg.tag);
        rsp.data = match op {
            Op::RspV { xmask } => frame.data.only(due | xmask),
            Op::RspO | Op::RspWt => Data::default(),
            _ => frame.data.only(due),
        };
        self.out.push(Out::Msg(rsp));
        if let (Op::ReqWtData(amo), Some(frame)) = (msg.op, self.lines.frame_mut(at)) {
            words(free).for_each(|i| frame.data.0[i] = amo.result(frame.data.0[i], msg.data.0[i]));
            frame.dirty |= amo.modifies();
        }
    }
    /// What the words are afterwards.
    fn change(&mut self, at: usize, msg: &Msg, mask: Mask, (act, next): (Act, Next)) {
        let Some(frame) = self.lines.frame_mut(at) else { return };
        if matches!(act, Act::Write | Act::WriteFwdReqO) {
            frame.data.merge(mask, &msg.data);
            frame.dirty = true;
        }
        match next {
            Next::Owned => frame.own(mask, msg.device()),
            Next::Line => frame.owned &= !mask,
            Next::Same | Next::Shared => {}
        }
    }
}

impl super::BankParams {
    /// A rule is left out after which an owner may ask for its word.
    fn slips_r1(&self) -> bool {
        matches!(self.slip, Some(Slip::TwoRequests | Slip::RequestDuringWriteBack | Slip::SplitCommit))
    }
}
