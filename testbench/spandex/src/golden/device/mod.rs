//! A device of spandex.md sections 5 to 8, an L1 with its translation unit, one access or message at a time.
//!
//! All kinds share one model of words. They differ in what they ask for ([`Kind`], hints of an access), in what they gather (MESI: whole lines), and in what an acquire drops.
//! A call that must wait changes nothing and says so. Outputs are unbounded: that RSP never waits for an output is a matter of the hardware.
//!
//! Decisions where the page is silent or wrong:
//! - RspO+data says whether its data is dirty. Without it a MESI reader of a DeNovo owner's word evicts it as clean, and the LLC drops what memory never got.
//! - fwd ReqO for a PD word is delayed like the other removals by devices that ask for lines. Answered at once, it tells a writer that its word is read nowhere else any more, while the
//!   former owner, from whom the line is still to come, has it in O: the writer publishes, and the former owner acquires and reads the old word. DeNovo asks for words because it uses
//!   them: their writer is in a race with that use.
//! - ReqWT+data drops the copy and marks the read entries of its line when it is issued and when it is answered: a read sent in between may be older than the update.
//! - A load waits for a ReqWT+data of its word: a thread that posted the update must see it.
//! - A store to an owned word follows older stores to it that are still in the store buffer.
//! - An acquire bars later loads from an open ReqS (option 2 answers it by RspV, which no Inv protects). A MESI ReqS is asked again, as ReqO+data, once all its words are
//!   answered.
//! - Extras are words in stable O. A line with an open request is no victim. Nacks are counted per entry and message.
//! - A delayed fwd ReqS leaves I in a MESI line (section 6, case 2), S or V elsewhere (section 5).

pub mod access;
pub mod external;
pub mod respond;
pub mod table;

use super::cover::{Cover, Mark};
use super::msg::{Amo, Data, Mask, Msg, Node, Op, words};
use super::slip::Slip;
use std::rc::Rc;

/// Kind of an L1 with its TU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    Gpu,
    DeNovo,
    Mesi,
    Flex,
}

/// How a load asks (section 8).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum LoadHow {
    V,
    S,
    OData,
}
/// How a store asks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum StoreHow {
    Wt,
    WtFwd,
    O,
    OData,
}
/// How an atomic asks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum AtomicHow {
    WtData,
    OData,
}

/// Parameters of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceParams {
    /// Kind.
    pub kind: Kind,
    /// DeNovo: atomics are ReqWT+data unless the word is O (SDG).
    pub atomics_through: bool,
    /// Words of a line.
    pub words: u8,
    /// Banks.
    pub banks: u8,
    /// `N_FAIL`.
    pub fails: u8,
    /// `FLEX_RSP`.
    pub flex_rsp: bool,
    /// `N_MSHR`: open requests.
    pub mshrs: usize,
    /// `SB`: store buffer entries, issued ones not counted.
    pub buffers: usize,
    /// `N_WBB`: write-backs of replacements.
    pub wbs: usize,
    /// A rule left out.
    pub slip: Option<Slip>,
}

impl DeviceParams {
    /// All words of a line.
    pub fn full(&self) -> Mask {
        ((1u32 << self.words) - 1) as Mask
    }
    /// Ways to ask, as the kind has them: hints count for Flex only.
    pub fn load(&self, hint: Option<LoadHow>) -> LoadHow {
        match self.kind {
            Kind::Gpu | Kind::DeNovo => LoadHow::V,
            Kind::Mesi => LoadHow::S,
            Kind::Flex => hint.unwrap_or(LoadHow::V),
        }
    }
    /// See [`DeviceParams::load`].
    pub fn store(&self, hint: Option<StoreHow>) -> StoreHow {
        match self.kind {
            Kind::Gpu => StoreHow::Wt,
            Kind::DeNovo => StoreHow::O,
            Kind::Mesi => StoreHow::OData,
            Kind::Flex => hint.unwrap_or(StoreHow::O),
        }
    }
    /// See [`DeviceParams::load`].
    pub fn atomic(&self, hint: Option<AtomicHow>) -> AtomicHow {
        match self.kind {
            Kind::Gpu => AtomicHow::WtData,
            Kind::DeNovo if self.atomics_through => AtomicHow::WtData,
            Kind::DeNovo | Kind::Mesi => AtomicHow::OData,
            Kind::Flex => hint.unwrap_or(AtomicHow::OData),
        }
    }
    /// Requests are for whole lines.
    pub fn lines_only(&self, op: &Ask) -> bool {
        self.kind == Kind::Mesi || self.kind == Kind::Gpu && *op == Ask::V
    }
}

/// A line in the L1.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    /// Line number.
    pub line: u32,
    /// V words.
    pub v: Mask,
    /// S words.
    pub s: Mask,
    /// O words.
    pub o: Mask,
    /// MESI: M, not E.
    pub dirty: bool,
    /// Words.
    pub data: Data,
}

/// Stores that wait in the store buffer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Buf {
    /// Line number.
    pub line: u32,
    /// Words.
    pub mask: Mask,
    /// Words.
    pub data: Data,
    /// How they ask.
    pub how: StoreHow,
    /// Owner predicted.
    pub direct: Option<u8>,
}

/// Kind of an open request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Ask {
    /// ReqV, and ReqWT+data READ after Nacks.
    V,
    S,
    O,
    OData,
    Wt,
    Amo(Amo),
}

impl Ask {
    /// It may give ownership (R1).
    pub fn owns(&self) -> bool {
        matches!(self, Ask::S | Ask::O | Ask::OData)
    }
}

/// What a core operation does with its words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Work {
    Load,
    Store,
    Amo(Amo),
}

/// A core operation that waits in an entry.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pend {
    /// Who gets the reply; posted stores have none.
    pub ticket: Option<u8>,
    /// What it does.
    pub work: Work,
    /// Words not yet done.
    pub left: Mask,
    /// Operands of the words to be done, results of those done.
    pub data: Data,
}

/// An open request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Txn {
    /// Line number.
    pub line: u32,
    /// Kind.
    pub ask: Ask,
    /// Words not yet answered.
    pub left: Mask,
    /// Words that are taken for asked: all until the end where answers are gathered (MESI, ReqV), else as `left`.
    pub held: Mask,
    /// Store data, or what has arrived.
    pub data: Data,
    /// Core operations.
    pub ops: Vec<Pend>,
    /// Nacks counted.
    pub fails: u8,
    /// An acquire or an atomic came since: installs nothing, later accesses do not join.
    pub stale: bool,
    /// Inv came: RspS serves the loads and leaves I.
    pub use_once: bool,
    /// Extras may be installed.
    pub extras_ok: bool,
    /// Own stores since, and words buffered at creation.
    pub own: Mask,
    /// Their data.
    pub own_data: Data,
    /// Words with a removal.
    pub dg: Mask,
    /// Of them, those answered at once.
    pub gone: Mask,
    /// Delayed removals, at most one per word.
    pub removals: Vec<Msg>,
    /// The delayed ReqV.
    pub delayed: Option<Msg>,
    /// Gathered: words that came as RspS, RspO+data, RspV, and those nacked.
    pub came: [Mask; 4],
    /// Some of the data is dirty.
    pub dirty: bool,
}

/// An open write-back.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Wb {
    /// Line number.
    pub line: u32,
    /// Words.
    pub data: Data,
    /// Words not closed.
    pub open: Mask,
    /// Of them, RspWB has come, the forward is waited for (`crossed`).
    pub crossed: Mask,
    /// Of them, the forward has come (`dg`), RspWB is waited for (`released`).
    pub seen: Mask,
    /// Newer than memory.
    pub dirty: bool,
    /// Triggered: stays in the L1 as WBP.
    pub in_place: bool,
}

/// What became of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Took {
    /// Complete, with this data.
    Done(Data),
    /// The reply comes later.
    Pending,
    /// It must wait: nothing has changed.
    Wait,
}

/// A device.
#[derive(Clone, Debug)]
pub struct Device {
    p: Rc<DeviceParams>,
    id: u8,
    /// L1.
    pub frames: Vec<Frame>,
    /// Store buffer, oldest first.
    pub bufs: Vec<Buf>,
    /// Open requests by tag.
    pub txns: Vec<Option<Txn>>,
    /// Open write-backs by tag.
    pub wbs: Vec<Option<Wb>>,
    out: Vec<Msg>,
    replies: Vec<(u8, Data)>,
    faults: Vec<String>,
    /// Reached since it was last taken.
    pub cover: Cover,
}

impl std::hash::Hash for Device {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.frames, &self.bufs, &self.txns, &self.wbs).hash(state);
    }
}

impl Device {
    /// After reset.
    pub fn new(id: u8, p: Rc<DeviceParams>) -> Device {
        Device {
            p,
            id,
            frames: Vec::new(),
            bufs: Vec::new(),
            txns: Vec::new(),
            wbs: Vec::new(),
            out: Vec::new(),
            replies: Vec::new(),
            faults: Vec::new(),
            cover: Cover::default(),
        }
    }
    /// Its parameters.
    pub fn params(&self) -> &DeviceParams {
        &self.p
    }
    /// Nothing is under way.
    pub fn idle(&self) -> bool {
        self.bufs.is_empty() && self.txns.is_empty() && self.wbs.is_empty()
    }
    /// What it has sent since.
    pub fn take_out(&mut self) -> Vec<Msg> {
        std::mem::take(&mut self.out)
    }
    /// Replies since: {ticket, words}.
    pub fn take_replies(&mut self) -> Vec<(u8, Data)> {
        std::mem::take(&mut self.replies)
    }
    /// Broken rules since.
    pub fn take_faults(&mut self) -> Vec<String> {
        std::mem::take(&mut self.faults)
    }
    fn fault(&mut self, text: String) {
        self.faults.push(format!("device {}: {text}", self.id));
    }
    fn slips(&self, slip: Slip) -> bool {
        self.p.slip == Some(slip)
    }
    fn bank(&self, line: u32) -> Node {
        Node::Bank((line % u32::from(self.p.banks)) as u8)
    }
    fn message(&self, dst: Node, op: Op, line: u32, mask: Mask, tag: u8) -> Msg {
        Msg::new(Node::Dev(self.id), dst, op, line, mask, tag)
    }

    /// Where a line is in the L1.
    fn frame(&self, line: u32) -> Option<&Frame> {
        self.frames.iter().find(|frame| frame.line == line)
    }
    /// The line's way; a new one if it has none.
    fn frame_mut(&mut self, line: u32) -> &mut Frame {
        let at = self.frames.partition_point(|frame| frame.line < line);
        if self.frames.get(at).is_none_or(|frame| frame.line != line) {
            let empty = Frame { line, v: 0, s: 0, o: 0, dirty: false, data: Data::default() };
            self.frames.insert(at, empty);
        }
        &mut self.frames[at]
    }
    /// Forgets data without meaning and lines without words, so that equal states are equal.
    fn tidy(&mut self) {
        for frame in &mut self.frames {
            frame.data = frame.data.only(frame.v | frame.s | frame.o);
            frame.dirty &= frame.o != 0;
        }
        self.frames.retain(|frame| frame.v | frame.s | frame.o != 0);
        while self.txns.last().is_some_and(Option::is_none) {
            self.txns.pop();
        }
        while self.wbs.last().is_some_and(Option::is_none) {
            self.wbs.pop();
        }
    }
    fn open(&self, line: u32) -> impl Iterator<Item = &Txn> {
        self.txns.iter().flatten().filter(move |txn| txn.line == line)
    }
    fn open_mut(&mut self, line: u32) -> impl Iterator<Item = &mut Txn> {
        self.txns.iter_mut().flatten().filter(move |txn| txn.line == line)
    }
    /// Words with an open request that passes.
    fn asked(&self, line: u32, pass: impl Fn(&Ask) -> bool) -> Mask {
        self.open(line).filter(|txn| pass(&txn.ask)).fold(0, |mask, txn| mask | txn.held)
    }
    /// Words with an open write-back; nothing may be asked for them (R2).
    fn writing_back(&self, line: u32) -> Mask {
        if self.slips(Slip::RequestDuringWriteBack) {
            return 0;
        }
        self.written_back(line)
    }
    fn written_back(&self, line: u32) -> Mask {
        let of = self.wbs.iter().flatten().filter(|wb| wb.line == line);
        of.fold(0, |mask, wb| mask | wb.open)
    }
    /// A line in state WBP: its words wait for the end of a triggered write-back.
    fn in_place(&self, line: u32) -> bool {
        self.wbs.iter().flatten().any(|wb| wb.line == line && wb.in_place)
    }
    fn free_tag(&self) -> Option<usize> {
        let at = self.txns.iter().position(Option::is_none).unwrap_or(self.txns.len());
        (at < self.p.mshrs).then_some(at)
    }
    /// Ownership of a line changed, or a local store was made: extras of open reads may be older.
    fn changed(&mut self, line: u32) {
        if !self.slips(Slip::ExtrasAlways) {
            self.open_mut(line).for_each(|txn| txn.extras_ok = false);
        }
    }

    /// Lines that a replacement may take.
    pub fn evictable(&self) -> Vec<u32> {
        let free = |frame: &&Frame| self.open(frame.line).next().is_none() && !self.in_place(frame.line);
        self.frames.iter().filter(free).map(|frame| frame.line).collect()
    }
    /// Replaces a line; false if it must wait.
    pub fn evict(&mut self, line: u32) -> bool {
        let Some(frame) = self.frame(line).cloned() else { return false };
        if frame.o != 0 {
            if self.wbs.iter().flatten().filter(|wb| !wb.in_place).count() >= self.p.wbs {
                return false;
            }
            self.write_back(&frame, frame.o, false);
        }
        self.frames.retain(|frame| frame.line != line);
        self.tidy();
        true
    }
    /// Opens a write-back of some words of a line.
    fn write_back(&mut self, frame: &Frame, mask: Mask, in_place: bool) {
        let at = self.wbs.iter().position(Option::is_none).unwrap_or(self.wbs.len());
        if at == self.wbs.len() {
            self.wbs.push(None);
        }
        let data = frame.data.only(mask);
        let dirty = self.p.kind != Kind::Mesi || frame.dirty;
        self.wbs[at] = Some(Wb { line: frame.line, data, open: mask, crossed: 0, seen: 0, dirty, in_place });
        let msg = self.message(self.bank(frame.line), Op::ReqWb { dirty }, frame.line, mask, at as u8);
        self.out.push(msg.with(&data));
        if in_place {
            self.cover.mark(Mark::Triggered);
        }
    }

    /// A broken rule: R1, R2, a MESI line of mixed states.
    pub fn check(&self) -> Option<String> {
        let excused = matches!(self.p.slip, Some(Slip::TwoRequests | Slip::RequestDuringWriteBack));
        for (i, a) in self.txns.iter().flatten().enumerate().filter(|_| !excused) {
            let mut later = self.txns.iter().flatten().skip(i + 1);
            if later.any(|b| a.line == b.line && a.left & b.left != 0 && (a.ask.owns() || b.ask.owns())) {
                return Some(format!("device {}: R1: two requests for a word", self.id));
            }
            if a.left & self.written_back(a.line) != 0 {
                return Some(format!("device {}: R2: a request during a write-back", self.id));
            }
        }
        let full = self.p.full();
        let whole = |frame: &Frame| matches!((frame.v, frame.s, frame.o), (0, s, o) if s == full && o == 0 || s == 0 && o == full);
        let mixed = self.p.kind == Kind::Mesi && !self.frames.iter().all(whole);
        mixed.then(|| format!("device {}: a MESI line of mixed states", self.id))
    }
    /// The S copy, O words and data of a line, for the checks of a system at rest.
    pub fn copy(&self, line: u32) -> (Mask, Mask, Data) {
        self.frame(line).map_or_else(Default::default, |frame| (frame.s, frame.o, frame.data))
    }
}

/// Whether any word is in both.
fn meets(a: Mask, b: Mask) -> bool {
    words(a & b).next().is_some()
}
