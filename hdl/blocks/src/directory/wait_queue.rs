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

/// Stage 1 of a slice whose operations may wait.
pub(super) struct Stage1<'a> {
    pub valid: &'a Reg<Bool>,
    pub req: &'a Reg<DirReq>,
    /// What is here is the head of the queue, tried again.
    pub again: &'a Reg<Bool>,
}

/// What enters stage 1.
pub(super) struct Next {
    /// An operation of the input does.
    pub accept: Bool,
    /// The head of the queue does.
    pub again: Bool,
    pub head: DirReq,
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

    /// Chooses what enters S1 when that is free, or becomes free by what `leaves`: the head if it is not `blocked`, else an operation of `req` if the
    /// queue is sure to have room for it.
    pub fn next(
        &self,
        (run, leaves): (Bool, Bool),
        req: &InChannel<DirReq>,
        s1: &Stage1,
        blocked: impl Fn(&DirReq) -> Bool,
    ) -> Next {
        let free = run & (!s1.valid.get() | leaves);
        let head = self.first();
        let blocked = blocked(&head);
        let trying = s1.valid.get() & s1.again.get();
        let again = (free & self.any() & !blocked & !trying).named("accept_again");
        let fresh = (s1.valid.get() & !s1.again.get()).bits().zext(5);
        let room = (self.count.get().zext(5) + fresh).lt(u64::from(WAIT_DEPTH));
        let accept = (free & req.valid & room & !again).named("accept");
        when(leaves, || s1.valid.set(false));
        when(accept, || {
            req.take();
            s1.req.set(req.msg);
        });
        when(again, || s1.req.set(head));
        when(accept | again, || {
            s1.valid.set(true);
            s1.again.set(again);
        });
        Next { accept, again, head }
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
