//! What a core asks of its L1 (spandex.md sections 7 and 8).

use super::super::cover::Mark;
use super::super::msg::{Amo, AmoOp, Data, Mask, Node, Op, words};
use super::super::slip::Slip;
use super::{Ask, AtomicHow, Buf, Device, Kind, LoadHow, Pend, StoreHow, Took, Txn, Work, meets};

/// How and where an access asks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Hint {
    /// Loads.
    pub load: Option<LoadHow>,
    /// Stores.
    pub store: Option<StoreHow>,
    /// Atomics.
    pub atomic: Option<AtomicHow>,
    /// The whole line.
    pub wide: bool,
    /// ReqV and ReqWT: the predicted owner.
    pub direct: Option<u8>,
}

impl Device {
    /// Words a load finds here, and what is in them: youngest store buffer entry, store in flight, copy. Not words whose own store waits for its data.
    fn readable(&self, line: u32) -> (Mask, Data) {
        let mut data = Data::default();
        let mut have = 0;
        if let Some(frame) = self.frame(line) {
            have = frame.v | frame.s | frame.o;
            data = frame.data;
        }
        let ops = self.open(line).flat_map(|txn| &txn.ops);
        have &= !ops.filter(|op| op.work != Work::Load).fold(0, |mask, op| mask | op.left);
        for txn in self.open(line).filter(|txn| matches!(txn.ask, Ask::O | Ask::Wt)) {
            have |= txn.left;
            data.merge(txn.left, &txn.data);
        }
        for buf in self.bufs.iter().filter(|buf| buf.line == line) {
            have |= buf.mask;
            data.merge(buf.mask, &buf.data);
        }
        (have, data)
    }
    /// Words with an older store in the store buffer, issued or not.
    fn buffered(&self, line: u32) -> Mask {
        let waiting = self.bufs.iter().filter(|buf| buf.line == line).fold(0, |mask, buf| mask | buf.mask);
        waiting | self.asked(line, |ask| matches!(ask, Ask::O | Ask::Wt))
    }
    /// No store is under way: a release is complete.
    pub fn drained(&self) -> bool {
        let posted =
            |txn: &Txn| matches!(txn.ask, Ask::O | Ask::Wt) || txn.ops.iter().any(|op| op.ticket.is_none());
        self.bufs.is_empty() && !self.txns.iter().flatten().any(posted)
    }
    /// An atomic whose result is not wanted is under way: the next atomic waits for it.
    pub fn updating(&self) -> bool {
        let posted = |op: &Pend| op.ticket.is_none() && op.work != Work::Store;
        self.txns.iter().flatten().any(|txn| txn.ops.iter().any(posted))
    }
    /// Flash self-invalidation.
    pub fn acquire(&mut self) {
        if self.p.kind != Kind::Mesi {
            self.frames.iter_mut().for_each(|frame| frame.v = 0);
        }
        let (reads, shared) = (!self.slips(Slip::NoStale), !self.slips(Slip::JoinReqS));
        for txn in self.txns.iter_mut().flatten() {
            txn.stale |= txn.ask == Ask::V && reads || txn.ask == Ask::S && shared;
        }
        self.tidy();
    }

    /// A load of some words of a line.
    pub fn load(&mut self, ticket: u8, line: u32, mask: Mask, hint: &Hint) -> Took {
        if self.in_place(line) && !self.slips(Slip::RequestDuringWriteBack) {
            return Took::Wait;
        }
        let (have, data) = self.readable(line);
        let missing = mask & !have;
        if missing == 0 {
            return Took::Done(data.only(mask));
        }
        let updated = self.asked(line, |ask| matches!(ask, Ask::Amo(_)));
        if meets(missing, updated) && !self.slips(Slip::LoadPastUpdate) {
            return Took::Wait;
        }
        let op = Pend { ticket: Some(ticket), work: Work::Load, left: missing, data: data.only(mask & have) };
        let how = self.p.load(hint.load);
        let ask = match how {
            LoadHow::V => Ask::V,
            LoadHow::S => Ask::S,
            LoadHow::OData => Ask::OData,
        };
        let readers = |ask: &Ask| matches!(ask, Ask::V | Ask::S | Ask::OData);
        self.attach(line, missing, op, ask, readers, hint)
    }
    /// Joins an open request, or makes a new one. Nothing joins for words of which a removal has been
    /// answered: the remover may have written them already, and said so.
    fn attach(
        &mut self,
        line: u32,
        missing: Mask,
        op: Pend,
        ask: Ask,
        joins: impl Fn(&Ask) -> bool,
        hint: &Hint,
    ) -> Took {
        let fits = |txn: &&mut Txn| {
            let brings = missing & !txn.held == 0 && !meets(missing, txn.gone);
            joins(&txn.ask) && brings && !txn.stale && !txn.use_once
        };
        let posted = op.ticket.is_none();
        let took = if posted { Took::Done(Data::default()) } else { Took::Pending };
        if let Some(txn) = self.open_mut(line).find(fits) {
            txn.ops.push(op);
            return took;
        }
        if self.must_wait(line, missing, &ask) || self.free_tag().is_none() {
            return Took::Wait;
        }
        let wanted = self.wanted(line, missing, &ask, hint.wide);
        self.ask(line, wanted, ask, op, hint.direct);
        took
    }
    /// R1 and R2.
    fn must_wait(&self, line: u32, mask: Mask, ask: &Ask) -> bool {
        if self.slips(Slip::TwoRequests) {
            return meets(mask, self.writing_back(line));
        }
        let other = match ask {
            _ if self.p.kind == Kind::Mesi => self.p.full() * Mask::from(self.open(line).next().is_some()),
            Ask::V => self.asked(line, |ask| ask.owns() || *ask == Ask::V),
            Ask::Wt => self.asked(line, |ask| ask.owns() || matches!(ask, Ask::Amo(_))),
            Ask::Amo(_) => self.asked(line, Ask::owns),
            Ask::S | Ask::O | Ask::OData => self.asked(line, |_| true),
        };
        let mask = if self.p.kind == Kind::Mesi { self.p.full() } else { mask };
        meets(mask, other | self.writing_back(line))
    }
    /// What to ask for: a whole line leaves out what is here, asked for or being written back.
    fn wanted(&self, line: u32, missing: Mask, ask: &Ask, wide: bool) -> Mask {
        let full = self.p.full();
        if self.p.kind == Kind::Mesi {
            return full;
        }
        if !(wide || self.p.lines_only(ask)) {
            return missing;
        }
        let (owned, valid) = self.frame(line).map_or((0, 0), |frame| (frame.o, frame.v | frame.s));
        let here = owned | if ask.owns() && *ask != Ask::S { 0 } else { valid };
        let asked = if self.p.kind == Kind::Gpu { 0 } else { self.asked(line, |_| true) };
        full & !(here | asked | self.written_back(line)) | missing
    }
    /// Opens a request and sends it.
    fn ask(&mut self, line: u32, mask: Mask, ask: Ask, op: Pend, direct: Option<u8>) {
        let Some(tag) = self.free_tag() else { return };
        let own = if ask == Ask::V { self.buffered(line) } else { 0 };
        let own_data = self.readable(line).1.only(own);
        let operand = if let Ask::Amo(_) = ask { op.data } else { Data::default() };
        // The rest of the line comes once.
        let first = !self.open(line).any(|txn| txn.ask == Ask::V && !txn.stale);
        let mut txn = Txn::new(line, ask, mask);
        (txn.own, txn.own_data) = (own, own_data);
        txn.ops.push(op);
        self.insert(tag, txn);
        let op = match ask {
            Ask::V => Op::ReqV { flex: first && matches!(self.p.kind, Kind::DeNovo | Kind::Flex) },
            Ask::S => Op::ReqS,
            Ask::OData | Ask::O => Op::ReqOData,
            Ask::Amo(amo) => Op::ReqWtData(amo),
            Ask::Wt => Op::ReqWt { fwd: false },
        };
        let data = operand;
        match (op, direct) {
            (Op::ReqV { flex }, Some(dev)) if dev != self.id => {
                let op = Op::FwdReqV { flex, direct: true };
                self.out.push(self.message(Node::Dev(dev), op, line, mask, tag as u8));
            }
            _ => self.out.push(self.message(self.bank(line), op, line, mask, tag as u8).with(&data)),
        }
    }
    fn insert(&mut self, tag: usize, txn: Txn) {
        if tag == self.txns.len() {
            self.txns.push(None);
        }
        self.txns[tag] = Some(txn);
    }

    /// A store; without a ticket, since it is posted.
    pub fn store(&mut self, line: u32, mask: Mask, data: &Data, hint: &Hint) -> Took {
        if self.in_place(line) && !self.slips(Slip::RequestDuringWriteBack) {
            return Took::Wait;
        }
        let how = self.p.store(hint.store);
        let owned = self.frame(line).map_or(0, |frame| frame.o);
        let older = if self.slips(Slip::StoreInPlace) { 0 } else { self.buffered(line) };
        let here = mask & owned & !older;
        let rest = mask & !here;
        let took = match how {
            _ if rest == 0 => Took::Done(Data::default()),
            StoreHow::OData if meets(rest, older) => Took::Wait,
            StoreHow::OData => {
                let op = Pend { ticket: None, work: Work::Store, left: rest, data: data.only(rest) };
                let joins = |ask: &Ask| *ask == Ask::OData;
                self.attach(line, rest, op, Ask::OData, joins, hint)
            }
            _ => self.buffer(line, rest, data, how, hint.direct),
        };
        if took == Took::Wait {
            return took;
        }
        self.own_store(line, mask, data);
        let mesi = self.p.kind == Kind::Mesi;
        let frame = self.frame_mut(line);
        frame.data.merge(here, data);
        frame.dirty |= here != 0;
        let copy = rest & (frame.v | frame.s);
        match how {
            StoreHow::Wt | StoreHow::WtFwd => {
                frame.data.merge(copy, data);
                frame.v |= copy;
                frame.s &= !copy;
            }
            _ if mesi => {}
            _ => {
                frame.v &= !rest;
                frame.s &= !rest;
            }
        }
        self.tidy();
        took
    }
    /// Open reads of the line keep the new words, and install no extras.
    fn own_store(&mut self, line: u32, mask: Mask, data: &Data) {
        for txn in self.open_mut(line).filter(|txn| txn.ask == Ask::V) {
            txn.own |= mask;
            txn.own_data.merge(mask, data);
        }
        self.changed(line);
    }
    /// Into the store buffer.
    fn buffer(&mut self, line: u32, mask: Mask, data: &Data, how: StoreHow, direct: Option<u8>) -> Took {
        let last = self.bufs.iter_mut().rfind(|buf| buf.line == line);
        if let Some(buf) = last.filter(|buf| buf.how == how && buf.direct == direct) {
            buf.mask |= mask;
            buf.data.merge(mask, data);
            return Took::Done(Data::default());
        }
        if self.bufs.len() >= self.p.buffers {
            return Took::Wait;
        }
        self.bufs.push(Buf { line, mask, data: data.only(mask), how, direct });
        Took::Done(Data::default())
    }
    /// Sends an entry of the store buffer; false if it must wait.
    pub fn drain(&mut self, at: usize) -> bool {
        let buf = self.bufs[at].clone();
        let line = buf.line;
        let older = self.bufs[..at].iter().any(|other| other.line == line);
        let flying = self.open(line).any(|txn| matches!(txn.ask, Ask::O | Ask::Wt));
        let owned = self.frame(line).map_or(0, |frame| frame.o);
        let (here, rest) = (buf.mask & owned, buf.mask & !owned);
        let ask = if buf.how == StoreHow::O { Ask::O } else { Ask::Wt };
        if older || (flying || self.free_tag().is_none() || self.must_wait(line, rest, &ask)) && rest != 0 {
            return false;
        }
        if here != 0 {
            self.cover.mark(Mark::LocalDrain);
            self.frame_mut(line).data.merge(here, &buf.data);
            self.frame_mut(line).dirty = true;
            self.changed(line);
        }
        self.bufs.remove(at);
        let Some(tag) = self.free_tag().filter(|_| rest != 0) else { return true };
        let mut txn = Txn::new(line, ask, rest);
        txn.data = buf.data.only(rest);
        self.insert(tag, txn);
        let fwd = buf.how == StoreHow::WtFwd;
        let (dst, op) = match (ask, buf.direct) {
            (Ask::O, _) => (self.bank(line), Op::ReqO),
            (_, Some(dev)) if dev != self.id => (Node::Dev(dev), Op::FwdReqWt { direct: true }),
            _ => (self.bank(line), Op::ReqWt { fwd }),
        };
        let mut msg = self.message(dst, op, line, rest, tag as u8);
        if ask == Ask::Wt {
            msg = msg.with(&buf.data);
        }
        self.out.push(msg);
        true
    }

    /// An atomic; the reply is the old value of its words. Without a ticket it is posted: there is none.
    pub fn atomic(
        &mut self,
        ticket: Option<u8>,
        line: u32,
        mask: Mask,
        amo: &Amo,
        data: &Data,
        hint: &Hint,
    ) -> Took {
        let wbp = self.in_place(line) && !self.slips(Slip::RequestDuringWriteBack);
        if wbp || meets(mask, self.buffered(line)) {
            return Took::Wait;
        }
        let owned = self.frame(line).map_or(0, |frame| frame.o);
        let (here, rest) = (mask & owned, mask & !owned);
        let old = self.frame(line).map_or_else(Data::default, |frame| frame.data.only(here));
        let mut operands = data.only(rest);
        operands.merge(here, &old);
        let op = Pend { ticket, work: Work::Amo(*amo), left: rest, data: operands };
        let took = match self.p.atomic(hint.atomic) {
            _ if rest == 0 => Took::Done(old),
            AtomicHow::OData => self.attach(line, rest, op, Ask::OData, |ask| *ask == Ask::OData, hint),
            AtomicHow::WtData if self.must_wait(line, rest, &Ask::Amo(*amo)) || self.free_tag().is_none() => {
                Took::Wait
            }
            AtomicHow::WtData => {
                self.forget(line, rest);
                self.ask(line, rest, Ask::Amo(*amo), op, None);
                if ticket.is_some() { Took::Pending } else { Took::Done(Data::default()) }
            }
        };
        if took != Took::Wait && here != 0 {
            let frame = self.frame_mut(line);
            words(here).for_each(|i| frame.data.0[i] = amo.result(old.0[i], data.0[i]));
            frame.dirty |= amo.modifies();
            self.changed(line);
        }
        self.tidy();
        took
    }
    /// An update elsewhere: the copy goes (GPU: of the line), open reads of the line are stale.
    pub(super) fn forget(&mut self, line: u32, mask: Mask) {
        let mask = if self.p.kind == Kind::Gpu { self.p.full() } else { mask };
        if self.frame(line).is_some() {
            let frame = self.frame_mut(line);
            frame.v &= !mask;
            frame.s &= !mask;
        }
        let reads = self.open_mut(line).filter(|txn| txn.ask == Ask::V);
        reads.for_each(|txn| txn.stale = true);
    }
}

impl Txn {
    pub(super) fn new(line: u32, ask: Ask, mask: Mask) -> Txn {
        Txn {
            line,
            ask,
            left: mask,
            held: mask,
            data: Data::default(),
            ops: Vec::new(),
            fails: 0,
            stale: false,
            use_once: false,
            extras_ok: ask == Ask::V,
            own: 0,
            own_data: Data::default(),
            dg: 0,
            gone: 0,
            removals: Vec::new(),
            delayed: None,
            came: [0; 4],
            dirty: false,
        }
    }
}

/// The operation that reads without a change.
pub(super) const READ: Amo = Amo { op: AmoOp::Read, cmp: 0, bmask: 0 };
