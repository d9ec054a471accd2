//! What answers do to an open request or write-back.

use super::super::cover::Mark;
use super::super::msg::{Data, Mask, Msg, Node, Op, words};
use super::super::slip::Slip;
use super::access::READ;
use super::{Ask, Device, Kind, Pend, Txn, Work};

/// Kinds of answers that a gathering entry tells apart: index in `came`.
const CAME_S: usize = 0;
const CAME_O: usize = 1;
const CAME_V: usize = 2;
const NACKED: usize = 3;

impl Device {
    /// A message of RSP.
    pub fn rsp(&mut self, msg: &Msg) {
        if let Op::RspWb { cross } = msg.op {
            return self.write_back_done(msg, cross);
        }
        let tag = usize::from(msg.tag);
        let known = self.txns.get(tag).and_then(Option::as_ref);
        let Some(txn) =
            known.filter(|txn| txn.line == msg.line && msg.mask & !txn.left == 0 && fits(&txn.ask, &msg.op))
        else {
            return self.fault(format!("unexpected {msg:?}"));
        };
        let gathers = self.p.kind == Kind::Mesi && txn.ask.owns();
        match txn.ask {
            _ if gathers => self.gather(tag, msg),
            Ask::V => self.read_answer(tag, msg),
            Ask::S | Ask::OData => self.words_answer(tag, msg),
            Ask::O => self.owned(tag, msg),
            Ask::Wt => self.written(tag, msg),
            Ask::Amo(_) => self.updated(tag, msg),
        }
        self.tidy();
    }
    fn txn(&mut self, tag: usize) -> &mut Txn {
        let Some(txn) = &mut self.txns[tag] else { panic!("entry {tag} is open") };
        txn
    }
    fn again(&mut self, op: Op, msg: &Msg) -> Msg {
        self.message(self.bank(msg.line), op, msg.line, msg.mask, msg.tag)
    }

    /// ReqV: answers are gathered, Nacks asked again.
    fn read_answer(&mut self, tag: usize, msg: &Msg) {
        if let Op::NackV { direct } = msg.op {
            return self.nacked(tag, msg, direct);
        }
        let extras = if let Op::RspV { xmask } = msg.op { xmask } else { 0 };
        let slip = self.slips(Slip::ExtrasAnswer);
        let txn = self.txn(tag);
        let mask = msg.mask | if slip { extras & txn.left } else { 0 };
        txn.data.merge(mask, &msg.data);
        txn.left &= !mask;
        let (wanted, done) = (txn.extras_ok && !txn.stale, txn.left == 0);
        if wanted {
            self.install_extras(msg, extras & !mask);
        }
        if done {
            self.read_done(tag);
        }
    }
    fn install_extras(&mut self, msg: &Msg, extras: Mask) {
        let line = msg.line;
        let here = self.frame(line).map_or(0, |frame| frame.v | frame.s | frame.o);
        let waiting = self.bufs.iter().filter(|buf| buf.line == line).fold(0, |mask, buf| mask | buf.mask);
        let free = extras & !(here | waiting | self.asked(line, |_| true) | self.written_back(line));
        if free != 0 {
            self.cover.mark(Mark::Extras);
            let frame = self.frame_mut(line);
            frame.v |= free;
            frame.data.merge(free, &msg.data);
        }
    }
    fn nacked(&mut self, tag: usize, msg: &Msg, direct: bool) {
        let endless = self.slips(Slip::NoEscalation);
        let limit = self.p.fails;
        let flex = matches!(self.p.kind, Kind::DeNovo | Kind::Flex);
        let txn = self.txn(tag);
        txn.fails = (txn.fails + u8::from(!direct)).min(limit);
        let escalates = !direct && txn.fails >= limit && !endless;
        self.cover.mark(if escalates { Mark::Escalation } else { Mark::Retry });
        let op = if escalates { Op::ReqWtData(READ) } else { Op::ReqV { flex } };
        let again = self.again(op, msg);
        self.out.push(again);
    }
    fn read_done(&mut self, tag: usize) {
        let Some(txn) = self.txns[tag].take() else { return };
        let mut data = txn.data;
        let own = if self.slips(Slip::FillOverwrites) { 0 } else { txn.own };
        data.merge(own, &txn.own_data);
        let mut ops = txn.ops;
        self.perform(&mut ops, txn.held, &mut data);
        if txn.stale {
            self.cover.mark(Mark::StaleFill);
            return;
        }
        let gpu = self.p.kind == Kind::Gpu;
        let frame = self.frame_mut(txn.line);
        let fresh = txn.held & !(frame.s | frame.o) & !if gpu { 0 } else { own };
        frame.v |= fresh;
        frame.data.merge(fresh, &data);
    }
    /// Core operations on words that are there; replies to those that are complete.
    fn perform(&mut self, ops: &mut Vec<Pend>, mask: Mask, data: &mut Data) -> bool {
        perform(ops, mask, data, &mut self.replies)
    }

    /// ReqS and ReqO+data, word by word.
    fn words_answer(&mut self, tag: usize, msg: &Msg) {
        if let Op::NackV { .. } = msg.op {
            self.cover.mark(Mark::OptionTwoNacked);
            let again = self.again(Op::ReqOData, msg);
            return self.out.push(again);
        }
        let txn = self.txn(tag);
        let (line, use_once) = (txn.line, txn.use_once);
        txn.left &= !msg.mask;
        txn.held = txn.left;
        let mut ops = std::mem::take(&mut txn.ops);
        let mut data = msg.data;
        match msg.op {
            Op::RspOData { .. } => self.arrived(tag, line, msg.mask, &mut data, &mut ops),
            _ => {
                if msg.op == Op::RspS && (!use_once || self.slips(Slip::KeepUseOnce)) {
                    let frame = self.frame_mut(line);
                    frame.s |= msg.mask;
                    frame.v &= !msg.mask;
                    frame.data.merge(msg.mask, &msg.data);
                } else {
                    self.cover.mark(Mark::UseOnce);
                }
                self.perform(&mut ops, msg.mask, &mut data);
                self.late_reads(tag, msg.mask, &data);
            }
        }
        let txn = self.txn(tag);
        txn.ops = ops;
        if txn.left == 0 {
            self.txns[tag] = None;
        }
    }
    /// Owned words are there: core operations, then the delayed ReqV, then removals.
    fn arrived(&mut self, tag: usize, line: u32, mask: Mask, data: &mut Data, ops: &mut Vec<Pend>) {
        let late = self.slips(Slip::RemovalFirst);
        let mut wrote = !late && self.perform(ops, mask, data);
        let txn = self.txn(tag);
        let (gone, dirty) = (txn.gone & mask, txn.dirty);
        wrote |= dirty;
        let frame = self.frame_mut(line);
        frame.o |= mask;
        frame.v &= !mask;
        frame.s &= !mask;
        frame.dirty |= wrote;
        frame.data.merge(mask, data);
        self.changed(line);
        self.late_reads(tag, mask, data);
        let removals = self.txn(tag).removals.clone();
        for removal in removals.iter().filter(|removal| removal.own & mask != 0) {
            self.give(removal, removal.own & mask, true);
        }
        self.frame_mut(line).o &= !gone;
        if late {
            self.perform(ops, mask, data);
        }
    }
    /// The delayed ReqV, as far as its words are there.
    fn late_reads(&mut self, tag: usize, mask: Mask, data: &Data) {
        let Some(delayed) = self.txn(tag).delayed else { return };
        let mine = delayed.mask & mask;
        if mine == 0 {
            return;
        }
        let left = delayed.mask & !mine;
        self.txn(tag).delayed = (left != 0).then_some(Msg { mask: left, own: left, ..delayed });
        let to = Node::Dev(delayed.req);
        let rsp = self.message(to, Op::RspV { xmask: 0 }, delayed.line, mine, delayed.tag).with(data);
        self.out.push(rsp);
    }

    /// MESI: all words of the line first.
    fn gather(&mut self, tag: usize, msg: &Msg) {
        let txn = self.txn(tag);
        let kind = match msg.op {
            Op::RspS => CAME_S,
            Op::RspOData { dirty } => {
                txn.dirty |= dirty;
                CAME_O
            }
            Op::RspV { .. } => CAME_V,
            _ => NACKED,
        };
        txn.came[kind] |= msg.mask;
        txn.data.merge(msg.mask, &msg.data);
        txn.left &= !msg.mask;
        if txn.left != 0 {
            return;
        }
        let (line, full) = (txn.line, txn.held);
        match txn.came {
            [_, _, _, nacked] if nacked != 0 => {
                self.cover.mark(Mark::OptionTwoNacked);
                let old = self.txn(tag);
                let (ops, delayed) = (std::mem::take(&mut old.ops), old.delayed);
                *old = Txn { ops, delayed, ..Txn::new(line, Ask::OData, full) };
                let again = self.again(Op::ReqOData, &Msg { mask: full, own: full, ..*msg });
                self.out.push(again);
            }
            [s, 0, 0, 0] if s == full => self.line_shared(tag),
            [0, 0, v, 0] if v == full => {
                self.txn(tag).use_once = true;
                self.line_shared(tag);
            }
            [0, o, 0, 0] if o == full => self.line_owned(tag),
            came => self.fault(format!("line {line} came in mixed states {came:?}")),
        }
    }
    fn line_shared(&mut self, tag: usize) {
        let txn = self.txn(tag).clone();
        let (mut data, mut ops) = (txn.data, txn.ops);
        if !txn.use_once || self.slips(Slip::KeepUseOnce) {
            let frame = self.frame_mut(txn.line);
            frame.s = txn.held;
            frame.data = data;
        } else {
            self.cover.mark(Mark::UseOnce);
        }
        self.perform(&mut ops, txn.held, &mut data);
        self.late_reads(tag, txn.held, &data);
        self.txns[tag] = None;
    }
    fn line_owned(&mut self, tag: usize) {
        let txn = self.txn(tag);
        let (line, full, dg) = (txn.line, txn.held, txn.dg);
        let (mut data, mut ops) = (txn.data, std::mem::take(&mut txn.ops));
        self.arrived(tag, line, full, &mut data, &mut ops);
        self.txns[tag] = None;
        let Some(frame) = self.frame(line).cloned().filter(|frame| dg != 0 && frame.o != 0) else { return };
        let rest = frame.o;
        self.frame_mut(line).o = 0;
        self.write_back(&frame, rest, true);
    }

    fn owned(&mut self, tag: usize, msg: &Msg) {
        let txn = self.txn(tag);
        let (line, data, new) = (txn.line, txn.data, msg.mask & !txn.dg);
        txn.left &= !msg.mask;
        txn.held = txn.left;
        txn.data = txn.data.only(txn.left);
        let done = txn.left == 0;
        let frame = self.frame_mut(line);
        frame.o |= new;
        frame.v &= !msg.mask;
        frame.s &= !msg.mask;
        frame.data.merge(new, &data);
        self.changed(line);
        if done {
            self.txns[tag] = None;
        }
    }
    fn written(&mut self, tag: usize, msg: &Msg) {
        let txn = self.txn(tag);
        if let Op::NackWt { direct } = msg.op {
            let data = txn.data;
            let again = self.again(Op::ReqWt { fwd: direct }, msg).with(&data);
            return self.out.push(again);
        }
        txn.left &= !msg.mask;
        txn.held = txn.left;
        if txn.left == 0 {
            self.txns[tag] = None;
        }
    }
    fn updated(&mut self, tag: usize, msg: &Msg) {
        let txn = self.txn(tag);
        let line = txn.line;
        txn.left &= !msg.mask;
        txn.held = txn.left;
        let done = txn.left == 0;
        for op in &mut txn.ops {
            op.data.merge(msg.mask, &msg.data);
            op.left &= !msg.mask;
        }
        if !self.slips(Slip::StaleAtIssueOnly) {
            self.forget(line, msg.mask);
        }
        if done {
            let txn = self.txns[tag].take();
            let ops = txn.into_iter().flat_map(|txn| txn.ops);
            self.replies.extend(ops.filter_map(|op| Some((op.ticket?, op.data))));
        }
    }

    /// RspWB: words close unless their forward is still to come.
    fn write_back_done(&mut self, msg: &Msg, cross: Mask) {
        let ignore = self.slips(Slip::IgnoreCross);
        let entry = self.wbs.get_mut(usize::from(msg.tag)).and_then(Option::as_mut);
        let Some(wb) = entry.filter(|wb| wb.line == msg.line && msg.mask & !wb.open == 0) else {
            return self.fault(format!("unexpected {msg:?}"));
        };
        let wrong = wb.seen & msg.mask & !cross != 0 && !ignore;
        let waits = if ignore { 0 } else { cross & msg.mask & !wb.seen };
        wb.open &= !(msg.mask & !waits);
        wb.crossed |= waits;
        wb.seen &= wb.open;
        if wb.open == 0 {
            self.wbs[usize::from(msg.tag)] = None;
        }
        if waits != 0 {
            self.cover.mark(Mark::RspWbBeforeForward);
        }
        if wrong {
            self.fault(format!("{msg:?} does not know of a forward"));
        }
        self.tidy();
    }
}

/// Core operations on words that are there, in order; replies to those that are complete; whether any writes.
pub fn perform(ops: &mut Vec<Pend>, mask: Mask, data: &mut Data, replies: &mut Vec<(u8, Data)>) -> bool {
    let mut wrote = false;
    for op in ops.iter_mut() {
        for i in words(op.left & mask) {
            let old = data.0[i];
            match op.work {
                Work::Load => {}
                Work::Store => data.0[i] = op.data.0[i],
                Work::Amo(amo) => data.0[i] = amo.result(old, op.data.0[i]),
            }
            wrote |= op.work != Work::Load;
            op.data.0[i] = old;
        }
        op.left &= !mask;
        if let (0, Some(ticket)) = (op.left, op.ticket) {
            replies.push((ticket, op.data));
        }
    }
    ops.retain(|op| op.left != 0);
    wrote
}

/// Answers that a request may get.
fn fits(ask: &Ask, op: &Op) -> bool {
    match ask {
        Ask::V => matches!(op, Op::RspV { .. } | Op::RspWtData | Op::NackV { .. }),
        Ask::S => matches!(op, Op::RspS | Op::RspOData { .. } | Op::RspV { .. } | Op::NackV { .. }),
        Ask::OData => matches!(op, Op::RspOData { .. }),
        Ask::O => matches!(op, Op::RspO),
        Ask::Wt => matches!(op, Op::RspWt | Op::NackWt { .. }),
        Ask::Amo(_) => matches!(op, Op::RspWtData),
    }
}
