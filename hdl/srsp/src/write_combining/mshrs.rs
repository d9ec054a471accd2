//! MSHRs: one per line asked of the L2, with the operations that wait for it (srsp.md section 4). What an entry asks for, and its marks, are the L1's own.
//!
//! ```text
//!  MSHR: busy | count, left --> targets (SRAM): operation by operation
//! ```

use super::Shape;
use weft_rtl::prelude::*;

/// Which targets there are.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Shape)]
pub(crate) struct Waiting {
    /// Targets written since the entry was taken.
    #[width(bits_for(u64::from(p.targets) + 1))]
    #[field("mshr")]
    pub count: Bits,
    /// Those not yet answered, one bit each.
    #[width(p.targets)]
    #[field("mshr")]
    pub left: Bits,
}

/// A register with one bit per MSHR.
pub(crate) fn marks(p: &Shape, name: &str) -> Reg<Bits> {
    reg::<Bits>(&format!("mshr_{name}"), p.srsp.mshrs).field("mshr")
}

/// What happens to MSHRs in a cycle, one bit each.
pub(crate) fn events(p: &Shape, name: &str) -> Wire<Bits> {
    wire_zero::<Bits>(&format!("mshr_{name}"), p.srsp.mshrs)
}

/// What becomes of each MSHR.
pub(crate) struct Marks {
    /// In use.
    pub busy: Reg<Bits>,
    /// Its answer has not come.
    pub open: Reg<Bits>,
    /// A flash-inv has passed since it was opened: what comes is not installed.
    pub noinst: Reg<Bits>,
}

impl Marks {
    /// Declares the first bits of the MSHRs; others may follow.
    pub fn new(p: &Shape) -> Marks {
        Marks { busy: marks(p, "busy"), open: marks(p, "open"), noinst: marks(p, "noinst") }
    }
}

/// Which entries are in use, and their targets `T`. One slot changes one entry per cycle.
pub(crate) struct Mshrs<T: Data> {
    p: Shape,
    pub busy: Reg<Bits>,
    pub open: Reg<Bits>,
    pub noinst: Reg<Bits>,
    waiting: Memory<Waiting>,
    waiting_writer: LaneWriter<Waiting>,
    port: SramPort<T>,
    target_writer: LaneWriter<T>,
    pub takes: Wire<Bits>,
    frees: Wire<Bits>,
}

impl<T: Data<Shape = Shape>> Mshrs<T> {
    /// Declares the targets of the entries.
    pub fn new(p: &Shape, Marks { busy, open, noinst }: Marks) -> Mshrs<T> {
        let n = p.srsp.mshrs;
        let waiting = regfile::<Waiting>("mshr_waiting", n, p.clone());
        let targets = sram::<T>("mshr_targets", n << p.target_bits(), 1, p.clone());
        Mshrs {
            p: p.clone(),
            busy,
            open,
            noinst,
            waiting_writer: waiting.lane_writer("in"),
            waiting,
            port: targets.read_port("look"),
            target_writer: targets.lane_writer("in"),
            takes: events(p, "takes"),
            frees: events(p, "frees"),
        }
    }

    /// Entries.
    pub fn n(&self) -> u32 {
        self.p.srsp.mshrs
    }

    /// An entry as one bit.
    pub fn bit(&self, entry: Bits) -> Bits {
        entry.one_hot(self.n())
    }

    /// One bit per entry of those `among` whose number passes a test.
    pub fn which(&self, among: Bits, test: impl Fn(u32) -> Bool) -> Bits {
        let passed: Vec<Bool> = (0..self.n()).map(test).collect();
        pack_bools(&passed) & among
    }

    /// A flash-inv has passed since the entry was opened.
    pub fn noinst(&self, entry: Bits) -> Bool {
        self.noinst.get().bit_at(entry)
    }

    fn place(&self, entry: Bits, target: Bits) -> Bits {
        // One MSHR has a number of one bit, which is 0.
        let entry = if self.n() == 1 { lit(0, 1) } else { entry };
        let at = cat(&[entry, target]);
        at.resize(bits_for(u64::from(self.n() << self.p.target_bits())))
    }

    /// Targets of an entry.
    pub fn waiting(&self, entry: Bits) -> Waiting {
        self.waiting.read(entry)
    }

    /// There is a place for another target.
    pub fn room(&self, entry: Bits) -> Bool {
        self.waiting.read(entry).count.ne(u64::from(self.p.targets))
    }

    /// Chooses the target that is read in the next cycle.
    pub fn present(&self, entry: Bits, target: Bits) {
        self.port.present(self.place(entry, target));
    }

    /// The target presented in the cycle before.
    pub fn target(&self) -> T {
        self.port.lane(0)
    }

    /// Every entry is in use.
    pub fn full(&self) -> Bool {
        self.busy.get().all()
    }

    /// The lowest free entry, of meaning while not full.
    pub fn free_entry(&self) -> Bits {
        (!self.busy.get()).lowest_set()
    }

    /// The first target of an entry that is taken.
    pub fn put_first(&self, entry: Bits, first: &T) {
        let bits = self.p.target_bits();
        self.put(entry, lit(0, bits), first);
        let count = lit(1, self.waiting.read(entry).count.width());
        self.waiting_writer.write(entry, &Waiting { count, left: lit_bv(Bv::from_u64(1, self.p.targets)) });
    }

    /// An entry that is taken has no target yet.
    pub fn put_none(&self, entry: Bits) {
        let count = lit(0, self.waiting.read(entry).count.width());
        self.waiting_writer.write(entry, &Waiting { count, left: lit_bv(Bv::zero(self.p.targets)) });
    }

    /// Writes a target of an entry.
    pub fn put(&self, entry: Bits, target: Bits, value: &T) {
        self.target_writer.write(self.place(entry, target), value);
    }

    /// An operation joins an entry.
    pub fn join(&self, entry: Bits, target: &T) {
        let now = self.waiting.read(entry);
        self.put(entry, now.count.resize(self.p.target_bits()), target);
        let left = now.left | now.count.one_hot(self.p.targets);
        self.waiting_writer.write(entry, &Waiting { count: now.count + 1, left });
    }

    /// The targets of an entry that are left; without any it is free.
    pub fn leave(&self, entry: Bits, left: Bits) {
        let count = self.waiting.read(entry).count;
        self.waiting_writer.write(entry, &Waiting { count, left });
        when(left.none(), || self.frees.set(self.bit(entry)));
    }

    /// Declares which entries are in use.
    pub fn finish(&self) {
        let (takes, frees) = (self.takes.get(), self.frees.get());
        when(takes.any() | frees.any(), || self.busy.set((self.busy.get() | takes) & !frees));
    }
}
