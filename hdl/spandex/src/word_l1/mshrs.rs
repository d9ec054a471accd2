//! The MSHRs: reads of words with the loads that wait for them, and ownership with data for one atomic or byte store (spandex.md sections 5 and 6).
//!
//! ```text
//!  busy | own | stale | extras | ready | post | over | line | left | asked | words | served | count --> targets (SRAM)
//!    read: words asked for (asked), words that were here (words, own data), extras
//!    own:  words asked for, words of the operation (words), operand; removals recorded (gone), one delayed read, a delayed removal per word
//!    own entries of Flex that loads wait for: words that were here (words, own data); words that came as O and as S
//!    own entries of one word that atomics join: their operands beside their targets (SRAM); closed
//! ```
//! *ready*: of a read every word has come, of an own entry some have. They are *served* word by word: the operation is done on them, and then (*post*) what was delayed follows. *over*: nothing of the
//! entry is left but what was delayed.

mod joins;

use super::params::{Inject, WordL1Params};
use crate::amo::merge;
use crate::flags::Flags;
use crate::msg::{Rsp, RspOp, WordOp};
use crate::params::WORD;
pub(super) use joins::Joined;
use joins::Joins;
use weft_cache::Targets;
use weft_rtl::prelude::*;

/// A waiting operation.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = WordL1Params)]
pub(super) struct Target {
    /// It is answered without data, or (a byte store) not at all.
    #[field("mshr")]
    pub ack: Bool,
    #[field("mshr")]
    pub silent: Bool,
    /// An acquire follows.
    #[field("mshr")]
    pub acquires: Bool,
    #[width(p.l1.spandex.line)]
    #[field("mshr")]
    pub mask: Bits,
    #[width(12)]
    #[field("mshr")]
    pub id: Bits,
}

/// What is done to the words of an own entry.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = WordL1Params)]
pub(super) struct Operand {
    #[field("mshr")]
    pub amo: Enum<WordOp>,
    #[width(32)]
    #[field("mshr")]
    pub cmp: Bits,
    #[width(4)]
    #[field("mshr")]
    pub bmask: Bits,
    #[width(p.l1.spandex.data_bits())]
    #[field("mshr")]
    pub data: Bits,
}

/// What a delayed removal becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Then {
    /// DeNovo: answered already, the word goes. Flex: RspO or RspWT.
    Grant,
    /// RspO+data.
    Give,
    /// RspRvkO.
    Revoke,
    /// RspS and RspRvkO.
    Share,
}

/// Who gets the answer of a delayed forward.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = WordL1Params)]
pub(super) struct Delayed {
    #[field("delayed")]
    pub then: Enum<Then>,
    /// Share: the requestor wants the word. Grant: it writes it through.
    #[field("delayed")]
    pub flag: Bool,
    #[width(p.l1.spandex.node_bits())]
    #[field("delayed")]
    pub src: Bits,
    #[width(p.l1.spandex.dev_bits())]
    #[field("delayed")]
    pub req: Bits,
    #[width(p.l1.spandex.tag_bits())]
    #[field("delayed")]
    pub tag: Bits,
    #[width(p.l1.spandex.tbe_bits())]
    #[field("delayed")]
    pub tbe: Bits,
}

/// A delayed read.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = WordL1Params)]
pub(super) struct DelayedRead {
    #[width(p.l1.spandex.words())]
    #[field("delayed")]
    pub mask: Bits,
    #[width(p.l1.spandex.dev_bits())]
    #[field("delayed")]
    pub req: Bits,
    #[width(p.l1.spandex.tag_bits())]
    #[field("delayed")]
    pub tag: Bits,
}

/// The MSHRs.
pub(super) struct Mshrs {
    p: WordL1Params,
    pub busy: Flags,
    own: Flags,
    /// Own entries in which a store waits: of bytes, or one that synchronises.
    stores: Flags,
    /// With `atomics=through`: own entries whose operation the LLC does.
    through: Option<Flags>,
    /// With `regions`: reads of read-only regions.
    region: Option<Flags>,
    /// Flex: what own entries are that loads wait for.
    loads: Option<Loads>,
    /// With `atomics=join`: atomics that wait in the own entry of their word.
    joins: Option<Joins>,
    stale: Flags,
    extras: Flags,
    pub ready: Flags,
    pub post: Flags,
    over: Flags,
    reads: Flags,
    lines: Memory<Bits>,
    lines_new: LaneWriter<Bits>,
    left: Memory<Bits>,
    left_slot: LaneWriter<Bits>,
    left_rsp: LaneWriter<Bits>,
    asked: Memory<Bits>,
    asked_slot: LaneWriter<Bits>,
    words: Memory<Bits>,
    words_slot: LaneWriter<Bits>,
    served: Memory<Bits>,
    served_slot: LaneWriter<Bits>,
    extra: Memory<Bits>,
    extra_new: LaneWriter<Bits>,
    extra_rsp: LaneWriter<Bits>,
    gone: Memory<Bits>,
    gone_new: LaneWriter<Bits>,
    gone_fwd: LaneWriter<Bits>,
    counts: Memory<Bits>,
    counts_slot: LaneWriter<Bits>,
    buffer: Memory<Bits>,
    buffer_rsp: RowWriter<Bits>,
    kept: Memory<Bits>,
    kept_slot: RowWriter<Bits>,
    operands: Memory<Operand>,
    operands_new: LaneWriter<Operand>,
    delayed: Memory<Delayed>,
    delayed_fwd: RowWriter<Delayed>,
    delayed_read: Memory<DelayedRead>,
    delayed_read_fwd: LaneWriter<DelayedRead>,
    targets: Targets<Target>,
}

/// Own entries of Flex that loads wait for.
struct Loads {
    /// An entry is one.
    flags: Flags,
    /// ReqS, not ReqO+data.
    shares: Flags,
    /// Inv has come: words are used once.
    once: Flags,
    /// Words that came as S and as O.
    as_s: Memory<Bits>,
    as_s_new: LaneWriter<Bits>,
    as_s_rsp: LaneWriter<Bits>,
    as_o: Memory<Bits>,
    as_o_new: LaneWriter<Bits>,
    as_o_rsp: LaneWriter<Bits>,
}

impl Loads {
    fn new(n: u32, words: u32) -> Loads {
        let flags = |name: &str| Flags::new(&format!("mshr_{name}"), n, "mshr");
        let file = |name: &str| regfile::<Bits>(&format!("mshr_{name}"), n, words).fields(&[("mshr", words)]);
        let [as_s, as_o] = ["as_s", "as_o"].map(file);
        Loads {
            flags: flags("loads"),
            shares: flags("shares"),
            once: flags("once"),
            as_s_new: as_s.lane_writer("new"),
            as_s_rsp: as_s.lane_writer("rsp"),
            as_s,
            as_o_new: as_o.lane_writer("new"),
            as_o_rsp: as_o.lane_writer("rsp"),
            as_o,
        }
    }
}

/// The MSHRs of one line.
#[derive(Clone, Copy)]
pub(super) struct OfLine {
    /// One bit per entry.
    pub all: Bits,
    /// The fresh read, one bit, and whether another load may use it now.
    pub fresh: Bits,
    /// Words of reads that are outstanding.
    pub reading: Bits,
    /// Words of own entries that are not served, or whose recorded removal has not followed.
    pub owning: Bits,
    /// Of them those of operations, and those whose removal is recorded.
    pub operating: Bits,
    /// Of the first those of which ownership is outstanding, without a recorded removal.
    pub pending: Bits,
}

impl Mshrs {
    pub fn new(p: &WordL1Params) -> Mshrs {
        let (s, n) = (&p.l1.spandex, p.l1.spandex.mshrs);
        let flags = |name: &str| Flags::new(&format!("mshr_{name}"), n, "mshr");
        let file = |name: &str, w: u32| regfile::<Bits>(&format!("mshr_{name}"), n, w).fields(&[("mshr", w)]);
        let lines = file("line", s.line_bits());
        let [left, asked, words, served, extra, gone] =
            ["left", "asked", "words", "served", "extra", "gone"].map(|name| file(name, s.words()));
        let counts = file("count", bits_for(u64::from(p.l1.targets) + 1));
        let row = |name: &str, field: &str| {
            regfile_lanes::<Bits>(&format!("mshr_{name}"), n, s.words(), WORD).fields(&[(field, WORD)])
        };
        let (buffer, kept) = (row("buffer", "line_buffer"), row("kept", "own_stores"));
        let operands = regfile::<Operand>("mshr_operand", n, p.clone());
        let delayed = regfile_lanes::<Delayed>("mshr_delayed", n, s.words(), p.clone());
        let delayed_read = regfile::<DelayedRead>("mshr_delayed_read", n, p.clone());
        let targets = Targets::memory(n, p.l1.target_bits(), p);
        Mshrs {
            busy: flags("busy"),
            own: flags("own"),
            stores: flags("stores"),
            through: p.through().then(|| flags("through")),
            region: p.regions.then(|| flags("region")),
            stale: flags("stale"),
            extras: flags("extras"),
            ready: flags("ready"),
            post: flags("post"),
            over: flags("over"),
            loads: p.flex().then(|| Loads::new(n, s.words())),
            joins: p.joins().then(|| Joins::new(p)),
            reads: flags("reads"),
            lines_new: lines.lane_writer("new"),
            lines,
            left_slot: left.lane_writer("slot"),
            left_rsp: left.lane_writer("rsp"),
            left,
            asked_slot: asked.lane_writer("slot"),
            asked,
            words_slot: words.lane_writer("slot"),
            words,
            served_slot: served.lane_writer("slot"),
            served,
            extra_new: extra.lane_writer("new"),
            extra_rsp: extra.lane_writer("rsp"),
            extra,
            gone_new: gone.lane_writer("new"),
            gone_fwd: gone.lane_writer("fwd"),
            gone,
            counts_slot: counts.lane_writer("slot"),
            counts,
            buffer_rsp: buffer.row_writer("rsp"),
            buffer,
            kept_slot: kept.row_writer("slot"),
            kept,
            operands_new: operands.lane_writer("new"),
            operands,
            delayed_fwd: delayed.row_writer("fwd"),
            delayed,
            delayed_read_fwd: delayed_read.lane_writer("fwd"),
            delayed_read,
            targets: Targets::new(&targets, n, p.l1.target_bits(), "slot"),
            p: p.clone(),
        }
    }

    fn n(&self) -> u32 {
        self.p.l1.spandex.mshrs
    }

    fn one(&self, entry: Bits) -> Bits {
        entry.one_hot(self.n())
    }

    fn none(&self) -> Bits {
        lit_bv(Bv::zero(self.p.l1.spandex.words()))
    }

    /// The entries of a line. `answered`: the entry that gets a response in this cycle, one bit.
    pub fn of_line(&self, line: Bits) -> OfLine {
        let same: Vec<Bool> = (0..self.n()).map(|i| self.lines.entry(i).eq(line)).collect();
        let all = pack_bools(&same) & self.busy.get();
        let (reads, owns) = (all & !self.own.get(), all & self.own.get());
        let operations = owns & !self.loading();
        let none = self.none();
        let sum = |of: Bits, file: &dyn Fn(u32) -> Bits| {
            (0..self.n()).fold(none, |words, i| words | mux(of.bit(i), file(i), none))
        };
        let gone = sum(owns, &|i| self.gone.entry(i));
        OfLine {
            all,
            fresh: reads & !self.stale.get(),
            reading: sum(reads, &|i| self.left.entry(i)),
            owning: gone | sum(owns, &|i| self.unserved(i)),
            operating: gone | sum(operations, &|i| self.words.entry(i) & !self.served.entry(i)),
            pending: sum(owns & !self.throughs(), &|i| self.unserved(i) & !self.gone.entry(i)),
        }
    }

    fn unserved(&self, entry: u32) -> Bits {
        self.asked.entry(entry) & !self.served.entry(entry)
    }

    /// Of the entries of a line the first with pending words among some, and these.
    pub fn first_pending(&self, of_line: &OfLine, among: Bits) -> (Bits, Bits) {
        let owns = of_line.all & self.own.get() & !self.throughs();
        let live = |i: u32| self.unserved(i) & !self.gone.entry(i) & among;
        let some = pack_bools(&(0..self.n()).map(|i| owns.bit(i) & live(i).any()).collect::<Vec<Bool>>());
        let at = some.lowest_set();
        let words = self.asked.read(at) & !self.served.read(at) & !self.gone.read(at) & among;
        (at, words & some.any().repeat(words.width()))
    }

    /// Of the entries of a line the first own one in which a load of these words may wait; whether there is one.
    pub fn joinable(&self, of_line: &OfLine, words: Bits) -> (Bool, Bits) {
        let Some(loads) = &self.loads else {
            return (bool_lit(false), lit(0, self.p.l1.spandex.mshr_bits()));
        };
        let barred = loads.shares.get() & (self.stale.get() | loads.once.get());
        let open = of_line.all & self.own.get() & loads.flags.get() & !barred;
        let brings = |i: u32| (words & !(self.unserved(i) & !self.gone.entry(i))).none();
        let some = pack_bools(&(0..self.n()).map(|i| open.bit(i) & brings(i)).collect::<Vec<Bool>>());
        (some.any(), some.lowest_set())
    }

    /// One bit per own entry that loads wait for.
    fn loading(&self) -> Bits {
        self.loads.as_ref().map_or_else(|| lit_bv(Bv::zero(self.n())), |loads| loads.flags.get())
    }
    /// Loads wait for an own entry.
    pub fn is_loading(&self, entry: Bits) -> Bool {
        self.loading().bit_at(entry) & self.is_own(entry)
    }
    /// It asks for shared words.
    pub fn is_sharing(&self, entry: Bits) -> Bool {
        let Some(loads) = &self.loads else { return bool_lit(false) };
        self.is_loading(entry) & loads.shares.get().bit_at(entry)
    }
    /// Inv comes for a line: what is being shared is used once.
    pub fn invalidated(&self, of_line: &OfLine) {
        let kept = self.p.inject == Inject::KeepsOnce;
        if let Some(loads) = self.loads.as_ref().filter(|_| !kept) {
            loads.once.raise(of_line.all);
        }
    }
    /// Words asked for.
    pub fn asked(&self, entry: Bits) -> Bits {
        self.asked.read(entry)
    }

    pub fn line(&self, entry: Bits) -> Bits {
        self.lines.read(entry)
    }
    pub fn is_own(&self, entry: Bits) -> Bool {
        self.own.get().bit_at(entry)
    }
    /// Own entries whose operation the LLC does.
    fn throughs(&self) -> Bits {
        self.through.as_ref().map_or_else(|| lit_bv(Bv::zero(self.n())), Flags::get)
    }
    pub fn is_through(&self, entry: Bits) -> Bool {
        self.throughs().bit_at(entry)
    }
    /// Every load that waits for the entry is of a read-only region.
    pub fn is_region(&self, entry: Bits) -> Bool {
        self.region.as_ref().map_or_else(|| bool_lit(false), |region| region.get().bit_at(entry))
    }
    pub fn is_stale(&self, entry: Bits) -> Bool {
        self.stale.get().bit_at(entry)
    }
    pub fn is_ready(&self, entry: Bits) -> Bool {
        self.ready.get().bit_at(entry)
    }
    pub fn takes_more(&self, entry: Bits) -> Bool {
        self.counts.read(entry).ne(u64::from(self.p.l1.targets))
    }
    pub fn count(&self, entry: Bits) -> Bits {
        self.counts.read(entry)
    }
    /// Words of a read that it brings or keeps.
    pub fn coming(&self, entry: Bits) -> Bits {
        self.asked.read(entry) | self.words.read(entry)
    }
    pub fn full(&self) -> Bool {
        self.busy.get().all()
    }
    pub fn free_entry(&self) -> Bits {
        (!self.busy.get()).lowest_set()
    }

    /// Chooses the target that is read in the next cycle.
    pub fn present(&self, entry: Bits, target: Bits) {
        self.targets.present(entry, target);
        if let Some(joins) = &self.joins {
            joins.present(self.targets.row(entry, target));
        }
    }

    /// The target presented in the cycle before.
    pub fn target(&self) -> Target {
        self.targets.presented()
    }

    fn take(&self, line: Bits, left: Bits, words: Bits, first: &Target) -> Bits {
        let entry = self.free_entry();
        let one = self.one(entry);
        self.busy.raise(one);
        self.stale.lower(one);
        self.extras.raise(one);
        self.lines_new.write(entry, &line);
        self.left_slot.write(entry, &left);
        self.asked_slot.write(entry, &left);
        self.words_slot.write(entry, &words);
        self.served_slot.write(entry, &self.none());
        self.over.lower(one);
        self.extra_new.write(entry, &self.none());
        self.gone_new.write(entry, &self.none());
        self.counts_slot.write(entry, &lit(1, bits_for(u64::from(self.p.l1.targets) + 1)));
        self.targets.put_first(entry, first);
        entry
    }

    /// Opens a read of words; `kept`: words of the load that are here, and the line; `region`: of a read-only region.
    pub fn open(&self, line: Bits, missing: Bits, kept: (Bits, Bits), region: Bool, first: &Target) {
        let entry = self.take(line, missing, kept.0, first);
        self.kept_slot.write_packed(entry, kept.0, kept.1);
        let one = self.one(entry);
        self.own.lower(one);
        if let Some(flags) = &self.region {
            when(region, || flags.raise(one)).otherwise(|| flags.lower(one));
        }
    }

    /// A load joins a read, which asks for `missing` words more.
    pub fn join(&self, entry: Bits, missing: Bits, kept: (Bits, Bits), region: Bool, target: &Target) {
        if let Some(flags) = &self.region {
            when(!region, || flags.lower(self.one(entry)));
        }
        self.wait_in(entry, target);
        self.left_slot.write(entry, &(self.left.read(entry) | missing));
        self.asked_slot.write(entry, &(self.asked.read(entry) | missing));
        self.keep(entry, kept);
    }

    /// Words that a read must not overwrite.
    pub fn keep(&self, entry: Bits, (words, data): (Bits, Bits)) {
        self.words_slot.write(entry, &(self.words.read(entry) | words));
        self.kept_slot.write_packed(entry, words, data);
    }

    /// A load asks for ownership and data, or for shared words (`shares`).
    pub fn open_own(&self, line: Bits, asked: Bits, shares: Bool, kept: (Bits, Bits), first: &Target) {
        let entry = self.take(line, asked, kept.0, first);
        self.kept_slot.write_packed(entry, kept.0, kept.1);
        let one = self.one(entry);
        self.own.raise(one);
        self.is_no_update(one);
        let Some(loads) = &self.loads else { return };
        loads.flags.raise(one);
        loads.once.lower(one);
        loads.as_s_new.write(entry, &self.none());
        loads.as_o_new.write(entry, &self.none());
        when(shares, || loads.shares.raise(one)).otherwise(|| loads.shares.lower(one));
    }

    fn is_no_update(&self, one: Bits) {
        if let Some(flags) = &self.through {
            flags.lower(one);
        }
    }

    /// A load joins an own entry.
    pub fn join_own(&self, entry: Bits, kept: (Bits, Bits), target: &Target) {
        self.wait_in(entry, target);
        self.keep(entry, kept);
    }

    fn wait_in(&self, entry: Bits, target: &Target) {
        let count = self.counts.read(entry);
        self.targets.put_behind(entry, count, target);
        self.counts_slot.write(entry, &(count + 1));
    }

    /// Ownership with data is asked for (`asked`: words of the operation and others), or (`through`) an update at the LLC; reads of the line become stale.
    pub fn own(
        &self,
        (line, asked, words): (Bits, Bits, Bits),
        through: Bool,
        of_line: &OfLine,
        operand: &Operand,
        target: &Target,
    ) {
        let entry = self.take(line, asked, words, target);
        if let Some(loads) = &self.loads {
            loads.flags.lower(self.one(entry));
        }
        if let Some(flags) = &self.through {
            let one = self.one(entry);
            when(through, || flags.raise(one)).otherwise(|| flags.lower(one));
        }
        if let Some(joins) = &self.joins {
            joins.open(self.one(entry));
        }
        let one = self.one(entry);
        when(target.ack | target.silent, || self.stores.raise(one)).otherwise(|| self.stores.lower(one));
        self.own.raise(one);
        self.operands_new.write(entry, operand);
        self.stale.raise(of_line.all);
    }

    /// Extras of reads of a line are not to be trusted.
    pub fn spoil(&self, entries: Bits) {
        if self.p.inject != Inject::StaleExtras {
            self.extras.lower(entries);
        }
    }

    /// An acquire.
    pub fn flash(&self) {
        if self.p.inject != Inject::NoStale {
            self.stale.raise(self.busy.get());
        }
    }

    /// Words come in.
    pub fn answer(&self, m: &Rsp) {
        let entry = m.tag.slice(0, self.p.l1.spandex.mshr_bits());
        let left = self.left.read(entry) & !m.mask;
        self.left_rsp.write(entry, &left);
        let known = self.asked.read(entry) | self.words.read(entry) | self.extra.read(entry);
        let extra = m.extra & !known & (!self.is_own(entry)).repeat(known.width());
        self.extra_rsp.write(entry, &(self.extra.read(entry) | extra));
        self.buffer_rsp.write_packed(entry, m.mask | extra, m.data);
        let parts = self.is_own(entry) & !self.is_through(entry);
        when(left.none() | parts, || self.ready.raise(self.one(entry)));
        let Some(loads) = &self.loads else { return };
        let more = |words: Bits, op: RspOp| words | (m.mask & m.op.is(op).repeat(words.width()));
        loads.as_s_rsp.write(entry, &more(loads.as_s.read(entry), RspOp::RspS));
        loads.as_o_rsp.write(entry, &more(loads.as_o.read(entry), RspOp::RspOData));
    }

    /// Words of an own entry that have come and are not served.
    pub fn came(&self, entry: Bits) -> Bits {
        self.asked.read(entry) & !self.left.read(entry) & !self.served.read(entry)
    }

    /// Of them those that are owned, and those that are shared; the others are used once.
    pub fn came_as(&self, entry: Bits) -> (Bits, Bits) {
        let came = self.came(entry);
        let Some(loads) = &self.loads else { return (came, self.none()) };
        let sharing = self.is_sharing(entry).repeat(came.width());
        let once = loads.once.get().bit_at(entry).repeat(came.width());
        let owned = came & (!sharing | loads.as_o.read(entry));
        (owned, came & !owned & loads.as_s.read(entry) & !once)
    }

    /// Words are served.
    pub fn serve(&self, entry: Bits, words: Bits) {
        self.served_slot.write(entry, &(self.served.read(entry) | words));
    }

    /// Something delayed may follow, given words that are served in this cycle.
    pub fn is_due(&self, entry: Bits, words: Bits) -> Bool {
        let served = self.served.read(entry) | words;
        let read = self.delayed_read.read(entry).mask & self.has_read(entry).repeat(served.width());
        ((self.gone.read(entry) | read) & served).any()
    }

    /// Words outstanding.
    pub fn left(&self, entry: Bits) -> Bits {
        self.left.read(entry)
    }

    /// Words of a read that may be installed, and its line.
    pub fn arrived(&self, entry: Bits) -> (Bits, Bits) {
        let kept = self.words.read(entry);
        let extras = self.extra.read(entry) & self.extras.get().bit_at(entry).repeat(kept.width());
        let came = self.asked.read(entry) | extras;
        let line = pack(&self.buffer.read_row(entry));
        let own = pack(&self.kept.read_row(entry));
        if self.p.inject == Inject::FillOverStore {
            return (came, merge(kept & !came, own, line));
        }
        (came & !kept, merge(kept, own, line))
    }

    /// Words of an own entry, what they were, and what is done to them.
    pub fn operation(&self, entry: Bits) -> (Bits, Bits, Operand) {
        (self.words.read(entry), pack(&self.buffer.read_row(entry)), self.operands.read(entry))
    }

    /// A forward of words of an own entry is delayed, or answered while the words are pending.
    pub fn delay(&self, entry: Bits, words: Bits, lanes: &[Delayed]) {
        self.gone_fwd.write(entry, &(self.gone.read(entry) | words));
        self.delayed_fwd.write_masked(entry, words, lanes);
    }

    /// Words of an own entry whose removal is recorded, after this cycle; for observers.
    pub fn gone_after(&self, entry: Bits) -> Bits {
        self.gone_fwd.leaves(entry, lit(0, 1), &self.gone.read(entry))
    }

    /// A read is already delayed.
    pub fn has_read(&self, entry: Bits) -> Bool {
        self.reads.get().bit_at(entry)
    }

    /// A read of words of an own entry is delayed.
    pub fn delay_read(&self, entry: Bits, read: &DelayedRead) {
        self.reads.raise(self.one(entry));
        self.delayed_read_fwd.write(entry, read);
    }

    /// Something is delayed.
    pub fn has_delayed(&self, entry: Bits) -> Bool {
        self.has_read(entry) | self.gone.read(entry).any()
    }

    /// A read is delayed, of which words are served; these.
    pub fn read_delayed(&self, entry: Bits) -> (Bool, DelayedRead) {
        let read = self.delayed_read.read(entry);
        let mask = read.mask & self.served.read(entry);
        (self.has_read(entry) & mask.any(), DelayedRead { mask, ..read })
    }

    /// The first served word with a delayed removal.
    pub fn removal(&self, entry: Bits) -> (Bits, Delayed) {
        let word = (self.gone.read(entry) & self.served.read(entry)).lowest_set();
        (word, self.delayed.read_lane(entry, word))
    }

    /// Words of the delayed read, or the first removal, are done; whether nothing is due any more.
    pub fn replayed(&self, entry: Bits, words: Bits) -> Bool {
        let (gone, served) = (self.gone.read(entry), self.served.read(entry));
        let (due, _) = self.read_delayed(entry);
        let read = self.delayed_read.read(entry);
        let rest = read.mask & !words;
        let left = mux(due, gone, gone & !words);
        when(due, || {
            self.delayed_read_fwd.write(entry, &DelayedRead { mask: rest, ..read });
            when(rest.none(), || self.reads.lower(self.one(entry)));
        });
        self.gone_fwd.write(entry, &left);
        let reads = self.has_read(entry).repeat(rest.width()) & mux(due, rest, read.mask);
        ((left | reads) & served).none()
    }

    /// Own entries with stores that are not done.
    pub fn storing(&self) -> Bits {
        self.busy.get() & self.own.get() & self.stores.get() & !self.loading() & !self.over.get()
    }

    /// Words of an own entry are served; what was delayed for them follows, if it is due. `ends`: nothing but that is left.
    pub fn follow(&self, entry: Bits, due: Bool, ends: Bool) {
        let one = self.one(entry);
        when(due, || self.post.raise(one));
        when(ends, || self.over.raise(one));
        self.ready.lower(one);
    }

    /// What was due has followed; the entry is free afterwards if nothing else is left of it.
    pub fn followed(&self, entry: Bits) -> Bool {
        self.post.lower(self.one(entry));
        self.over.get().bit_at(entry)
    }

    /// The entry has nothing left to do.
    pub fn free(&self, entry: Bits) {
        let one = self.one(entry);
        self.busy.lower(one);
        self.ready.lower(one);
        self.post.lower(one);
    }

    /// Declares how the flags change; called last.
    pub fn finish(&self) {
        let flags = [&self.busy, &self.own, &self.stores, &self.stale, &self.extras];
        let flags = flags.into_iter().chain([&self.ready, &self.post, &self.over]);
        let loads = self.loads.iter().flat_map(|loads| [&loads.flags, &loads.shares, &loads.once]);
        flags.for_each(Flags::finish);
        [Some(&self.reads), self.through.as_ref(), self.region.as_ref()]
            .into_iter()
            .flatten()
            .for_each(Flags::finish);
        loads.for_each(Flags::finish);
        if let Some(joins) = &self.joins {
            joins.finish();
        }
    }
}
