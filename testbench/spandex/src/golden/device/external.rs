//! What others ask of a device: the table of section 5, word by word.

use super::super::cover::Mark;
use super::super::msg::{Data, Mask, Msg, Node, Op, words};
use super::super::slip::Slip;
use super::table::{Act, COLUMNS, EXTERNAL, External, Status, removes, row};
use super::{Ask, Device, Kind};

/// What answers a message, gathered over its words.
#[derive(Default)]
struct Answers {
    v: Mask,
    nack_v: Mask,
    written: Mask,
    nack_wt: Mask,
    data: Data,
}

impl Device {
    /// Column of a word.
    fn status(&self, line: u32, word: usize) -> Status {
        let bit = 1 << word;
        if let Some(wb) = self.wbs.iter().flatten().find(|wb| wb.line == line && wb.open & bit != 0) {
            return if wb.seen & bit != 0 { Status::Else } else { Status::Wb };
        }
        if let Some(txn) = self.open(line).find(|txn| txn.ask.owns() && txn.held & bit != 0) {
            return match txn.ask {
                _ if txn.dg & bit != 0 => Status::Else,
                Ask::O => Status::Po,
                _ => Status::Pd,
            };
        }
        let owned = self.frame(line).is_some_and(|frame| frame.o & bit != 0);
        if owned { Status::O } else { Status::Else }
    }

    /// A message of FWD. It never waits (section 2, rule 3), unless that rule is left out.
    pub fn fwd(&mut self, msg: &Msg) -> bool {
        if self.slips(Slip::ForwardAllocates)
            && self.triggers(msg)
            && self.wbs.iter().flatten().count() >= self.p.wbs
        {
            return false;
        }
        self.external(msg);
        true
    }
    /// It takes some words of a MESI line.
    fn triggers(&self, msg: &Msg) -> bool {
        let owned = self.copy(msg.line).1;
        self.p.kind == Kind::Mesi && removes(&msg.op) && owned & msg.own != 0 && owned & !msg.own != 0
    }
    fn external(&mut self, msg: &Msg) {
        let Some(row) = row(&msg.op) else { return self.fault(format!("unexpected {msg:?}")) };
        let mut columns = [0 as Mask; COLUMNS];
        words(msg.own).for_each(|word| columns[self.status(msg.line, word) as usize] |= 1 << word);
        let met = (0..COLUMNS).fold(0, |met, i| met | u8::from(columns[i] != 0) << i);
        self.cover.external(row, met);
        if msg.op == Op::Inv {
            return self.inv(msg);
        }
        let mut answers = Answers::default();
        let statuses = [Status::O, Status::Po, Status::Pd, Status::Wb, Status::Else];
        for (status, mask) in statuses.into_iter().zip(columns).filter(|column| column.1 != 0) {
            let mut act = EXTERNAL[row].1[status as usize];
            if EXTERNAL[row].0 == External::DirectV
                && status == Status::Wb
                && self.slips(Slip::DirectFromBuffer)
            {
                act = Act::RspV;
            }
            if act == Act::DelayO {
                let at_once = self.p.kind == Kind::DeNovo || self.slips(Slip::GrantAtOnce);
                act = if at_once { Act::RspO } else { Act::Delay };
            }
            self.act(msg, status, act, mask, &mut answers);
        }
        self.answer(msg, &answers);
        self.tidy();
    }
    fn act(&mut self, msg: &Msg, status: Status, act: Act, mask: Mask, answers: &mut Answers) {
        self.mark(msg, status, act);
        match act {
            Act::RspV => {
                answers.v |= mask;
                answers.data.merge(mask, &self.source(msg.line, status, mask).0);
            }
            Act::DelayV => answers.nack_v |= self.delay_v(msg, mask),
            Act::NackV => answers.nack_v |= mask,
            Act::Write => {
                let frame = self.frame_mut(msg.line);
                frame.data.merge(mask, &msg.data);
                frame.dirty = true;
                answers.written |= mask;
            }
            Act::NackWt => answers.nack_wt |= mask,
            Act::Delay => {
                let part = Msg { own: mask, mask: mask & msg.mask, ..*msg };
                self.record(msg.line, mask, |txn, own| {
                    txn.removals.push(Msg { own, mask: part.mask & own, ..part });
                });
            }
            Act::RspO | Act::RspOData | Act::Revoked | Act::Share if status == Status::O => {
                self.give(msg, mask, false)
            }
            Act::RspO | Act::RspOData | Act::Revoked | Act::Share | Act::NoData | Act::ShareNoData => {
                let (data, dirty) = self.source(msg.line, status, mask);
                self.respond(msg, mask, &data, dirty, false, status == Status::Wb);
                self.downgrade(msg.line, status, mask);
            }
            Act::DelayO | Act::Ack | Act::AckUseOnce | Act::Assert => {
                self.fault(format!("{msg:?} for words {mask:b} that cannot be meant"));
            }
        }
    }
    /// Words as they are in the copy, the store buffer or the write-back buffer, and whether they are dirty.
    fn source(&self, line: u32, status: Status, mask: Mask) -> (Data, bool) {
        let mut data = Data::default();
        let mut dirty = self.p.kind != Kind::Mesi;
        match status {
            Status::Po => {
                let txns = self.open(line).filter(|txn| txn.ask == Ask::O);
                txns.for_each(|txn| data.merge(txn.left & mask, &txn.data));
            }
            Status::Wb => {
                for wb in self.wbs.iter().flatten().filter(|wb| wb.line == line) {
                    data.merge(wb.open & mask, &wb.data);
                    dirty |= wb.dirty;
                }
            }
            _ => {
                let frame = self.frame(line);
                data = frame.map_or_else(Data::default, |frame| frame.data.only(mask));
                dirty |= frame.is_some_and(|frame| frame.dirty);
            }
        }
        (data, dirty)
    }
    /// Delays a ReqV where an entry has no other; the words that are nacked instead.
    fn delay_v(&mut self, msg: &Msg, mask: Mask) -> Mask {
        let mut nacked = mask;
        for txn in self.open_mut(msg.line).filter(|txn| txn.ask.owns() && txn.delayed.is_none()) {
            let mine = txn.held & nacked;
            if mine != 0 {
                txn.delayed = Some(Msg { mask: mine, own: mine, ..*msg });
                nacked &= !mine;
            }
        }
        self.cover.mark(if nacked == 0 { Mark::DelayedReqV } else { Mark::NackedInPd });
        nacked
    }
    /// Records a removal in the entries of its words.
    fn record(&mut self, line: u32, mask: Mask, mut note: impl FnMut(&mut super::Txn, Mask)) {
        for txn in self.open_mut(line).filter(|txn| txn.ask.owns()) {
            let mine = txn.held & mask;
            if mine != 0 {
                txn.dg |= mine;
                note(txn, mine);
            }
        }
    }
    /// The words were answered at once, though their request or write-back is open.
    fn downgrade(&mut self, line: u32, status: Status, mask: Mask) {
        if status != Status::Wb {
            self.record(line, mask, |txn, mine| txn.gone |= mine);
            let mesi = self.p.kind == Kind::Mesi;
            if self.frame(line).is_some() {
                self.frame_mut(line).s &= if mesi { 0 } else { !mask };
            }
            return;
        }
        for wb in self.wbs.iter_mut().filter(|wb| wb.as_ref().is_some_and(|wb| wb.line == line)) {
            let Some(entry) = wb else { continue };
            let mine = entry.open & mask;
            entry.open &= !(mine & entry.crossed);
            entry.seen |= mine & !entry.crossed;
            entry.crossed &= !mine;
            if entry.open == 0 {
                *wb = None;
            }
        }
    }

    /// A removal of words in O. `late`: the words have just come, and the removal was waiting.
    pub(super) fn give(&mut self, msg: &Msg, own: Mask, late: bool) {
        let Some(frame) = self.frame(msg.line).cloned() else { return };
        let (data, dirty) = self.source(msg.line, Status::O, own);
        let mesi = self.p.kind == Kind::Mesi;
        let keeps = msg.op == Op::FwdReqS && (!mesi || own == frame.o && !late);
        let sharer = keeps && self.p.kind != Kind::DeNovo;
        let rest = frame.o & !own;
        let left = self.frame_mut(msg.line);
        left.o = if mesi && !late { 0 } else { rest };
        match (keeps, sharer) {
            (true, true) => left.s |= own,
            (true, false) => left.v |= own,
            _ => {}
        }
        self.changed(msg.line);
        self.respond(msg, own, &data, dirty, sharer, false);
        if mesi && !late && rest != 0 {
            let in_place = !self.slips(Slip::ForwardAllocates);
            self.write_back(&frame, rest, in_place);
        }
    }
    /// Answers a removal.
    fn respond(&mut self, msg: &Msg, own: Mask, data: &Data, dirty: bool, kept_s: bool, nodata: bool) {
        let (to, bank) = (Node::Dev(msg.req), self.bank(msg.line));
        let dirty = dirty && !(self.slips(Slip::CleanTransfer) && msg.op == Op::FwdReqOData);
        let part = |dst, op, mask| self.message(dst, op, msg.line, mask, msg.tag);
        let revoked = Op::RspRvkO { nodata, kept_s, dirty: dirty && !nodata };
        let carried = if nodata { Data::default() } else { *data };
        let answers = match msg.op {
            Op::FwdReqO { for_wt: false } => vec![part(to, Op::RspO, own)],
            Op::FwdReqO { for_wt: true } => vec![part(to, Op::RspWt, own)],
            Op::FwdReqOData => vec![part(to, Op::RspOData { dirty }, own).with(data)],
            Op::RvkO => vec![part(bank, revoked, own).with(&carried)],
            _ if own & msg.mask == 0 => vec![part(bank, revoked, own).with(&carried)],
            _ => vec![part(to, Op::RspS, own & msg.mask).with(data), part(bank, revoked, own).with(&carried)],
        };
        self.out.extend(answers);
    }
    /// Answers everything else.
    fn answer(&mut self, msg: &Msg, answers: &Answers) {
        let (direct, flex) = match msg.op {
            Op::FwdReqV { direct, flex } => (direct, flex),
            Op::FwdReqWt { direct } => (direct, false),
            _ => return,
        };
        let to = Node::Dev(msg.req);
        let part = |op, mask| self.message(to, op, msg.line, mask, msg.tag);
        let mut out = Vec::new();
        if answers.v != 0 {
            let (_, owned, copy) = self.copy(msg.line);
            let valid = self.frames.iter().find(|frame| frame.line == msg.line).map_or(0, |frame| frame.v);
            let offered = owned | if self.slips(Slip::ExtrasFromCopies) { valid } else { 0 };
            let xmask = if flex && self.p.flex_rsp { offered & !msg.mask } else { 0 };
            let mut rsp = part(Op::RspV { xmask }, answers.v);
            rsp.data = answers.data;
            rsp.data.merge(xmask, &copy);
            out.push(rsp);
        }
        let others = [
            (answers.nack_v, Op::NackV { direct }),
            (answers.written, Op::RspWt),
            (answers.nack_wt, Op::NackWt { direct }),
        ];
        out.extend(others.into_iter().filter(|other| other.0 != 0).map(|(mask, op)| part(op, mask)));
        self.out.extend(out);
    }
    fn inv(&mut self, msg: &Msg) {
        let shared = self.copy(msg.line).0 != 0;
        let open = self.open(msg.line).any(|txn| txn.ask.owns());
        self.frames.iter_mut().filter(|frame| frame.line == msg.line).for_each(|frame| frame.s = 0);
        self.open_mut(msg.line).filter(|txn| txn.ask == Ask::S).for_each(|txn| txn.use_once = true);
        match (shared, open) {
            (true, true) => self.cover.mark(Mark::InvDuringUpgrade),
            (false, false) => self.cover.mark(Mark::InvWithoutCopy),
            _ => {}
        }
        let ack = self.message(self.bank(msg.line), Op::Ack, msg.line, msg.mask, msg.tag);
        self.out.push(ack);
        self.tidy();
    }
    fn mark(&mut self, msg: &Msg, status: Status, act: Act) {
        let direct = matches!(msg.op, Op::FwdReqV { direct: true, .. } | Op::FwdReqWt { direct: true });
        let mark = match (act, status) {
            _ if direct => {
                if status == Status::O {
                    Mark::DirectHit
                } else {
                    Mark::DirectMiss
                }
            }
            (Act::Delay, _) => Mark::DelayedRemoval,
            (Act::NackV, _) => Mark::NackedReqV,
            (Act::Write, _) => Mark::ForwardedWrite,
            (Act::NackWt, _) => Mark::NackedWrite,
            (_, Status::Po) => Mark::AnsweredInPo,
            (_, Status::Wb) if removes(&msg.op) => Mark::ForwardBeforeRspWb,
            (_, Status::Wb) => Mark::AnsweredFromBuffer,
            _ => return,
        };
        self.cover.mark(mark);
    }
}
