//! The commit of a request: all its words in one step, by the table.

use super::super::msg::{Data, Mask, Msg, Node, Op, words};
use super::super::slip::Slip;
use super::lines::Frame;
use super::table::{Act, COMMIT, Next, row};
use super::{Bank, BankParams, Choice, Out};

/// What a commit has done beside the change of the line.
#[derive(Default)]
pub struct Made {
    /// Forwards and answers.
    pub out: Vec<Msg>,
    /// Broken rules.
    pub faults: Vec<String>,
    /// Row and columns of the table (bit 0: words not owned, bit 1: owned).
    pub met: (usize, u8),
}

/// A request, and a line that it can commit on.
pub struct Commit<'a> {
    /// Parameters of the bank.
    pub p: &'a BankParams,
    /// Number of the bank.
    pub id: u8,
    /// The line.
    pub frame: &'a mut Frame,
    /// The request.
    pub msg: &'a Msg,
    /// Option of ReqS.
    pub choice: Choice,
    /// Words that owners have answered.
    pub ans: Mask,
    /// Owners that stay sharers.
    pub kept: u64,
}

impl Bank {
    /// `ans`: words that owners have answered; `kept`: owners that stay sharers.
    pub(super) fn commit(&mut self, at: usize, mut msg: Msg, choice: Choice, ans: Mask, kept: u64) {
        if self.p.slip == Some(Slip::SplitCommit) && msg.op == Op::ReqOData && msg.mask.count_ones() > 1 {
            let first = msg.mask & msg.mask.wrapping_neg();
            self.out.push(Out::Msg(Msg { mask: msg.mask & !first, own: msg.mask & !first, ..msg }));
            msg.mask = first;
        }
        let Some(frame) = self.lines.frame_mut(at) else { return };
        let made = Commit { p: &self.p, id: self.id, frame, msg: &msg, choice, ans, kept }.run();
        self.cover.commit(made.met.0, made.met.1);
        self.out.extend(made.out.into_iter().map(Out::Msg));
        made.faults.into_iter().for_each(|text| self.fault(text));
    }
}

impl Commit<'_> {
    /// All words in one step.
    pub fn run(mut self) -> Made {
        let mut made = Made::default();
        let msg = self.msg;
        let row = row(&msg.op, self.choice);
        let (free, held) = (msg.mask & !self.frame.owned, msg.mask & self.frame.owned);
        made.met = (row, u8::from(free != 0) | u8::from(held != 0) << 1);
        if self.frame.owned_by(msg.device()) & msg.mask != 0 && !self.p.slips_r1() {
            made.faults.push(format!("{msg:?} from the owner of its word"));
        }
        let (_, on_free, on_held) = COMMIT[row];
        if held != 0 {
            self.forward(&self.frame.owners(held), on_held.0, &mut made);
            self.change(held, on_held);
        }
        if free != 0 {
            self.answer(free, on_free.0, &mut made);
            self.change(free, on_free);
        }
        if on_free.1 == Next::Shared {
            self.frame.shared = true;
            self.frame.sharers |= if self.p.broadcast { 0 } else { 1 << msg.device() | self.kept };
        }
        made
    }
    fn send(&self, dev: u8, op: Op, mask: Mask) -> Msg {
        Msg::new(Node::Bank(self.id), Node::Dev(dev), op, self.msg.line, mask, self.msg.tag)
    }
    /// One forward per owner.
    fn forward(&self, owners: &[(u8, Mask)], act: Act, made: &mut Made) {
        let msg = self.msg;
        let flex = matches!(msg.op, Op::ReqV { flex: true });
        let op = match act {
            Act::FwdReqV => Op::FwdReqV { flex, direct: false },
            Act::FwdReqO => Op::FwdReqO { for_wt: false },
            Act::WriteFwdReqO => Op::FwdReqO { for_wt: true },
            Act::FwdReqOData => Op::FwdReqOData,
            Act::FwdReqWt => Op::FwdReqWt { direct: false },
            _ => return made.faults.push(format!("{msg:?} commits with owned words")),
        };
        for (dev, mine) in owners {
            let mut fwd = self.send(*dev, op, *mine);
            fwd.req = msg.device();
            if act == Act::FwdReqWt {
                fwd = fwd.with(&msg.data);
            }
            made.out.push(fwd);
        }
    }
    /// The answer for words that nobody owns, as far as owners have not answered.
    fn answer(&mut self, free: Mask, act: Act, made: &mut Made) {
        let (msg, full, due) = (self.msg, self.p.full(), free & !self.ans);
        if due == 0 {
            return;
        }
        let op = match act {
            Act::RspV => {
                let flex = matches!(msg.op, Op::ReqV { flex: true }) && self.p.flex_rsp;
                Op::RspV { xmask: if flex { full & !self.frame.owned & !msg.mask } else { 0 } }
            }
            Act::RspS => Op::RspS,
            Act::RspO => Op::RspO,
            Act::RspOData => Op::RspOData { dirty: false },
            Act::Write => Op::RspWt,
            Act::Perform => Op::RspWtData,
            _ => return made.faults.push(format!("{msg:?} commits without owned words")),
        };
        let mut rsp = self.send(msg.device(), op, due);
        let frame = &mut self.frame;
        rsp.data = match op {
            Op::RspV { xmask } => frame.data.only(due | xmask),
            Op::RspO | Op::RspWt => Data::default(),
            _ => frame.data.only(due),
        };
        made.out.push(rsp);
        if let Op::ReqWtData(amo) = msg.op {
            words(free).for_each(|i| frame.data.0[i] = amo.result(frame.data.0[i], msg.data.0[i]));
            frame.dirty |= amo.modifies();
        }
    }
    /// What the words are afterwards.
    fn change(&mut self, mask: Mask, (act, next): (Act, Next)) {
        let (frame, msg) = (&mut self.frame, self.msg);
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
