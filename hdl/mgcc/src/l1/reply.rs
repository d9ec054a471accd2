//! The answers to the CU: the ring that delays hits, the response under way, the fence.

use super::{Core, L1Params};
use crate::bytes;
use crate::choice::Inject;
use crate::params::LINE;
use weft_blocks::msg::CuRsp;
use weft_rtl::prelude::*;

/// An answer in the ring.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L1Params)]
pub(super) struct Delayed {
    #[width(12)]
    #[field("queue")]
    pub id: Bits,
    #[width(LINE)]
    #[field("queue")]
    pub mask: Bits,
    #[width(p.tsm.data_bits())]
    #[field("queue")]
    pub data: Bits,
}

/// Kinds of what waits at the fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub(super) enum FenceKind {
    /// Acquire, release.
    Fence,
    /// Kernel end: its answer carries the clock.
    Kend,
    /// Kernel begin, carried out: only its answer is left.
    Kbegin,
}

struct Times {
    port: SramPort<Bits>,
    writer: LaneWriter<Bits>,
    out: Reg<Bits>,
}

/// The response port with its three sources.
pub(super) struct Replies {
    p: L1Params,
    out: OutChannel<CuRsp>,
    ring_port: SramPort<Delayed>,
    ring_writer: LaneWriter<Delayed>,
    times: Option<Times>,
    /// One bit per row of the ring: an answer is in it.
    pub live: Reg<Bits>,
    head: Reg<Bits>,
    pushed: Wire<Bool>,
    /// The ring's head cannot leave: nothing may enter.
    pub frozen: Wire<Bool>,
    /// The response's turn to answer.
    pub fill_sent: Wire<Bool>,
    /// A fence is not answered.
    pub fencing: Reg<Bool>,
    fence_id: Reg<Bits>,
    fence_kind: Reg<Enum<FenceKind>>,
    fence_epoch: Reg<Bits>,
    /// The fence is carried out in this cycle: the clock is folded, the answer sent.
    pub fold: Wire<Bool>,
    /// Stores and atomics taken and not completed, per fence epoch.
    unsettled: Vec<Reg<Bits>>,
    /// The epoch in which requests are taken.
    pub epoch: Reg<Bits>,
    store_taken: Wire<Bits>,
    store_done: Wire<Bits>,
    was_last: Reg<Bool>,
}

impl Replies {
    pub fn new(p: &L1Params) -> Replies {
        let rows = p.ring_rows();
        let ring = sram::<Delayed>("delay", rows, 1, p.clone());
        let times = p.observe.then(|| {
            let times = sram::<Bits>("delay_times", rows, 1, 64).fields(&[("timestamp", 64)]);
            let out = output_reg::<Bits>("cu_time", 64).doc("Time {epoch, ts} of the answered operation.");
            Times { port: times.read_port("head"), writer: times.lane_writer("tail"), out }
        });
        Replies {
            p: p.clone(),
            out: out_channel::<CuRsp>("cu_rsp", &p.tsm.cu()),
            ring_port: ring.read_port("head"),
            ring_writer: ring.lane_writer("tail"),
            times,
            live: reg::<Bits>("delay_live", rows),
            head: reg::<Bits>("delay_head", ring.addr_bits()),
            pushed: wire_or::<Bool>("delay_pushed", (), false),
            frozen: wire::<Bool>("delay_frozen", ()),
            fill_sent: wire_or::<Bool>("fill_sent", (), false),
            fencing: reg::<Bool>("fencing", ()),
            fence_id: reg::<Bits>("fence_id", 12),
            fence_kind: reg::<Enum<FenceKind>>("fence_kind", ()),
            fence_epoch: reg::<Bits>("fence_epoch", 1),
            fold: wire::<Bool>("fold", ()),
            unsettled: (0..2).map(|e| reg::<Bits>(&format!("unsettled{e}"), p.store_bits())).collect(),
            epoch: reg::<Bits>("fence_now", 1),
            store_taken: wire_zero::<Bits>("store_taken", 2),
            store_done: wire_zero::<Bits>("store_done", 2),
            was_last: reg::<Bool>("delay_was_last", ()),
        }
    }

    /// Answers a hit after the cache's latency; only while not `frozen`.
    pub fn delay(&self, answer: &Delayed, time: Option<Bits>) {
        self.pushed.set(true);
        self.ring_writer.write(self.head.get(), answer);
        if let Some(times) = &self.times {
            times.writer.write(self.head.get(), &time.unwrap_or_else(|| lit(0, 64)));
        }
    }

    /// A store or atomic is taken.
    pub fn take_store(&self) {
        self.store_taken.set(self.epoch.get().one_hot(2));
    }

    /// A store or atomic taken in `epoch` has completed.
    pub fn complete_store(&self, epoch: Bits) {
        self.store_done.set(epoch.one_hot(2));
    }

    /// A fence is taken; those taken before it are of the old epoch.
    pub fn start_fence(&self, id: Bits, kind: Enum<FenceKind>) {
        self.fencing.set(true);
        self.fence_id.set(id);
        self.fence_kind.set(kind);
        self.fence_epoch.set(self.epoch.get());
        when(!kind.is(FenceKind::Kbegin), || self.epoch.set(!self.epoch.get()));
    }

    /// Whether the fence is carried out in this cycle. Fences come first, then the response and the ring take turns.
    pub fn decide_fold(&self, sweeping: Bool) {
        let open = mux(self.fence_epoch.get().as_bool(), self.unsettled[1].get(), self.unsettled[0].get());
        let done = match self.p.inject {
            Inject::EarlyFence => open.none() | !self.fence_kind.get().is(FenceKind::Kend),
            _ => open.none() | self.fence_kind.get().is(FenceKind::Kbegin),
        };
        self.fold.set(self.fencing.get() & done & !sweeping & self.others_turn());
    }

    /// An answer leaves in this cycle, and its bytes.
    pub fn telling(&self, p: &L1Params) -> (Bool, Bits) {
        (self.out.waiting & self.out.free, bytes::cu_rsp(&p.tsm, &self.out.held, p.gtsc()))
    }

    fn ring_here(&self) -> Bool {
        self.live.get().bit_at(self.head.get())
    }

    /// The port is free for something else than the ring.
    fn others_turn(&self) -> Bool {
        self.out.free & (!self.ring_here() | self.was_last.get())
    }

    /// Sends this cycle's answer. `asks`: a response under way has an answer, and what that is, with its time.
    pub fn finish(&self, core: &Core, asks: Bool, answer: impl FnOnce() -> (CuRsp, Option<Bits>)) {
        let turn = self.others_turn().named("others_turn");
        let fill = (asks & turn & !self.fold.get()).named("reply_fill");
        let other = self.fold.get() | fill;
        let take_ring = (self.ring_here() & self.out.free & !other).named("reply_ring");
        when(self.fold.get(), || self.answer_fence(core));
        when(fill, || {
            self.fill_sent.set(true);
            let (answer, time) = answer();
            self.send(&answer, time);
        });
        when(take_ring, || self.send(&self.delayed(), self.times.as_ref().map(|t| t.port.lane(0))));
        self.was_last.set(mux(take_ring, bool_lit(true), self.was_last.get() & !other));
        self.frozen.set(self.ring_here() & !take_ring);
        self.turn_ring(take_ring);
        self.count_stores();
    }

    fn send(&self, answer: &CuRsp, time: Option<Bits>) {
        self.out.send(answer);
        if let Some(times) = &self.times {
            times.out.set(time.unwrap_or_else(|| lit(0, 64)));
        }
    }

    fn answer_fence(&self, core: &Core) {
        let kind = self.fence_kind.get();
        let now = core.clock.as_ref().map(|clock| {
            let folded = mux(kind.is(FenceKind::Kbegin), clock.cts.get(), clock.folded());
            if self.p.inject == Inject::KeepClock {
                return clock.cts.get().zext(64);
            }
            when(!kind.is(FenceKind::Kbegin), || clock.fold());
            folded.zext(64)
        });
        let none = lit(0, 64);
        let told = mux(kind.is(FenceKind::Kend), now.unwrap_or(none), none);
        let answer = CuRsp {
            id: self.fence_id.get(),
            kind: lit(1, 2),
            mask: lit(0, LINE),
            data: told.zext(self.p.tsm.data_bits()),
            src: lit(0, 3),
            merged: bool_lit(false),
        };
        self.send(&answer, now);
        self.fencing.set(false);
    }

    fn delayed(&self) -> CuRsp {
        let d = self.ring_port.lane(0);
        CuRsp {
            id: d.id,
            kind: lit(0, 2),
            mask: d.mask,
            data: d.data,
            src: lit(0, 3),
            merged: bool_lit(false),
        }
    }

    /// The ring turns while something is in it and its head can leave.
    fn turn_ring(&self, take_ring: Bool) {
        let (head, rows) = (self.head.get(), self.p.ring_rows());
        let here = head.one_hot(rows);
        let keep = self.live.get() & !(take_ring.repeat(rows) & here);
        self.live.set(keep | (self.pushed.get().repeat(rows) & here));
        let turns = (self.live.get().any() | self.pushed.get()) & !self.frozen.get();
        let wrapped = mux(head.eq(u64::from(rows - 1)), lit(0, head.width()), head + 1);
        let next = mux(turns, wrapped, head);
        self.head.set(next);
        self.ring_port.present(next);
        if let Some(times) = &self.times {
            times.port.present(next);
        }
        let text = "nothing enters the delay ring while its head is held";
        assert_always("mgcc_l1_ring_room", !(self.pushed.get() & self.frozen.get()), text);
    }

    fn count_stores(&self) {
        for (e, counter) in self.unsettled.iter().enumerate() {
            let width = counter.get().width();
            let wide = |w: &Wire<Bits>| w.get().slice(e as u32, 1).zext(width);
            counter.set(counter.get() + wide(&self.store_taken) - wide(&self.store_done));
            let text = "no store completes that was not taken";
            let known = !self.store_done.get().bit(e as u32) | counter.get().any();
            assert_always(&format!("mgcc_l1_unsettled{e}_known"), known, text);
        }
    }
}
