//! Operations that wait for a release: every store that is buffered or at the LLC when the first of them
//! comes to the head must be answered.
//!
//! | state | values |
//! | --- | --- |
//! | `release_active` | the first operation waits; what for stands in `release_sb`, `release_at`, one bit per entry |
//! | `release_hold` | it had to wait for something else: it is not tried again before an answer has come |

use super::op::Op;
use super::params::GpuL1Params;
use weft_blocks::common::fifo::Fifo;
use weft_rtl::prelude::*;

/// The queue.
pub(crate) struct Releases<T: Data = Op> {
    /// The L1 that it is part of, for names of counters.
    of: &'static str,
    pub queue: Fifo<T>,
    pub active: Reg<Bool>,
    writes: Reg<Bits>,
    /// None where nothing but the store buffer is waited for.
    atomics: Option<Reg<Bits>>,
    hold: Reg<Bool>,
    pops: Wire<Bool>,
    /// Fault: an operation waits for nothing.
    early: bool,
}

impl Releases {
    pub fn new(of: &'static str, p: &GpuL1Params, early: bool) -> Releases {
        Releases::build(of, p, p, true, early)
    }
}

impl<T: Data> Releases<T> {
    /// A queue of what waits for the store buffer only.
    pub fn of_stores(of: &'static str, p: &GpuL1Params, shape: &T::Shape) -> Releases<T> {
        Releases::build(of, p, shape, false, false)
    }

    fn build(of: &'static str, p: &GpuL1Params, shape: &T::Shape, atomics: bool, early: bool) -> Releases<T> {
        Releases {
            queue: Fifo::new("releases", p.releases, shape),
            active: reg::<Bool>("release_active", ()),
            writes: reg::<Bits>("release_sb", p.spandex.sb),
            atomics: atomics.then(|| reg::<Bits>("release_at", p.spandex.mshrs)),
            hold: reg::<Bool>("release_hold", ()),
            pops: wire_or::<Bool>("release_pops", (), false),
            early,
            of,
        }
    }

    /// Entries of the store buffer that are waited for.
    pub fn writes(&self) -> Bits {
        self.writes.get()
    }

    /// The first operation leaves.
    pub fn pop(&self) {
        self.queue.pop();
        self.pops.set(true);
    }

    /// The first operation must wait for something that an answer brings.
    pub fn wait(&self) {
        self.hold.set(true);
    }

    /// Nothing is left to wait for, and the operation is still there after this cycle. `answer`: one comes in this cycle. The operation is tried at once then, before the
    /// CU's next one: that might be another load of a word that is waited for, and one after the other would keep its entry busy for ever.
    pub fn ready(&self, answer: Bool) -> Bool {
        let done = !self.waits();
        let done = done | bool_lit(self.early);
        self.active.get() & done & (!self.hold.get() | answer) & !self.pops.get()
    }

    fn waits(&self) -> Bool {
        let atomics = self.atomics.as_ref().map_or(bool_lit(false), |atomics| atomics.get().any());
        self.writes.get().any() | atomics
    }

    /// Declares the steps, given what is under way in this cycle; called last.
    pub fn finish(&self, writes: Bits, atomics: Bits, answer: Bool) {
        let begins = self.queue.valid & !self.active.get();
        when(begins, || {
            self.active.set(true);
            self.writes.set(writes);
            self.atomics.iter().for_each(|at| at.set(atomics));
        })
        .otherwise(|| {
            self.writes.set(self.writes.get() & writes);
            self.atomics.iter().for_each(|at| at.set(at.get() & atomics));
        });
        when(self.pops.get(), || self.active.set(false));
        when(answer | self.pops.get(), || self.hold.set(false));
        let waits = self.active.get() & self.waits();
        count(&format!("{}_release_cycles", self.of), waits, "cycles in which a release waits for answers");
    }
}
