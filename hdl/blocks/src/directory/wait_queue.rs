//! The queue of a directory slice for operations that wait for what is awaited of their group.

use super::index::base_of;
use super::params::DirParams;
use crate::msg::DirReq;
use weft_rtl::prelude::*;

/// Operations that may wait (hmg.md section 8).
pub(super) const WAIT_DEPTH: u32 = 8;

/// The queue of operations that wait for a group. It is tried from its head, so the operations of a group keep their order.
pub(super) struct WaitQueue {
    p: DirParams,
    rows: Memory<DirReq>,
    writer: LaneWriter<DirReq>,
    head: Reg<Bits>,
    pub count: Reg<Bits>,
    push: Wire<Bool>,
    pop: Wire<Bool>,
}

impl WaitQueue {
    /// Declares it.
    pub fn new(p: &DirParams) -> WaitQueue {
        let bits = bits_for(u64::from(WAIT_DEPTH));
        let rows = regfile::<DirReq>("wait_rows", WAIT_DEPTH, p.sys.clone())
            .fields(&[("queue", width_of::<DirReq>(&p.sys))]);
        WaitQueue {
            p: p.clone(),
            writer: rows.lane_writer("in"),
            rows,
            head: reg::<Bits>("wait_head", bits).field("queue"),
            count: reg::<Bits>("wait_count", bits + 1).field("queue"),
            push: wire_or::<Bool>("wait_push", (), false),
            pop: wire_or::<Bool>("wait_pop", (), false),
        }
    }

    /// Some operation waits.
    pub fn any(&self) -> Bool {
        self.count.get().any()
    }

    /// The oldest.
    pub fn first(&self) -> DirReq {
        self.rows.read(self.head.get())
    }

    /// Waiting operations of a group, one bit per row.
    pub fn of_group(&self, base: Bits) -> Bits {
        let bits = self.head.get().width();
        let here = |i: u32| {
            let age = lit(u64::from(i), bits) - self.head.get();
            age.zext(bits + 1).lt(self.count.get()) & base_of(&self.p, self.rows.entry(i).line).eq(base)
        };
        let here: Vec<Bool> = (0..WAIT_DEPTH).map(here).collect();
        pack_bools(&here)
    }

    /// Appends one.
    pub fn push(&self, req: &DirReq) {
        self.push.set(true);
        self.writer.write(self.head.get() + self.count.get().slice(0, self.head.get().width()), req);
    }

    /// Removes the oldest.
    pub fn pop(&self) {
        self.pop.set(true);
        self.head.set(self.head.get() + 1);
    }

    /// Moves the count; called once, after push and pop.
    pub fn connect(&self) {
        let (push, pop, count) = (self.push.get(), self.pop.get(), self.count.get());
        when(push & !pop, || self.count.set(count + 1));
        when(pop & !push, || self.count.set(count - 1));
        assert_always(
            "wait_no_overflow",
            !(push & count.eq(u64::from(WAIT_DEPTH))),
            "an operation enters S1 only while the queue is sure to have room for it",
        );
    }
}
