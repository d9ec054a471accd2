//! Whose slot the next cycle is.

use super::Core;
use super::served::Served;
use crate::gpu_l1::op::Op;
use crate::msg::Fwd;
use weft_blocks::common::fifo::Fifo;
use weft_blocks::msg::{CuOp, CuReq};
use weft_cache::Head;
use weft_rtl::prelude::*;

/// Bits of a hint.
const HINT: u32 = 4;

/// Whose slot a cycle is, in order of precedence (section 7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum Turn {
    /// Nobody's.
    None,
    /// That of an entry whose words have all come.
    Done,
    /// A forward's: delayed, or from the network.
    Fwd,
    /// That of the oldest entry of the store buffer.
    Drain,
    /// That of the operation whose release is complete.
    Release,
    /// That of the request in S1.
    Cu,
    /// That of an entry of the store buffer whose words were refused.
    Again,
}

/// The turn, with what it needs.
pub(super) struct Turns {
    turn: Reg<Enum<Turn>>,
    pub done: Served,
    /// Fwd: it is a delayed one, of this MSHR.
    pub replay: Reg<Bool>,
    pub replay_at: Reg<Bits>,
    pub fwd: InChannel<Fwd>,
    fwd_leaves: Wire<Bool>,
    fwd_again: Wire<Bool>,
    /// Drain: it had to wait for an answer.
    hold: Reg<Bool>,
    pub head: Head<CuReq, Op>,
    /// With `regions`: the load in S1 is of a read-only region, the acquire in S1 begins a kernel.
    s1_region: Option<Reg<Bool>>,
    hints: Option<Hints>,
    ready: Bool,
}

/// Flex: hints of the request in S1 and of those that wait for a release.
struct Hints {
    s1: Reg<Bits>,
    queue: Fifo<Bits>,
}

impl Turns {
    pub fn new(core: &Core, ready: Bool) -> Turns {
        let (p, s) = (&core.p.l1, &core.p.l1.spandex);
        Turns {
            turn: reg::<Enum<Turn>>("turn", ()),
            done: Served::new(p),
            replay: reg::<Bool>("replay", ()),
            replay_at: reg::<Bits>("replay_at", s.mshr_bits()),
            fwd: in_channel::<Fwd>("l1_fwd", s),
            fwd_leaves: wire_or::<Bool>("fwd_leaves", (), false),
            fwd_again: wire_or::<Bool>("fwd_again", (), false),
            hold: reg::<Bool>("drain_hold", ()),
            head: Head::new(in_channel::<CuReq>("cu_req", &s.cu()), p),
            s1_region: core.p.regions.then(|| reg::<Bool>("s1_region", ()).field("pipeline")),
            hints: core.p.flex().then(|| Hints {
                s1: reg::<Bits>("s1_hint", HINT).field("pipeline"),
                queue: Fifo::new("release_hints", p.releases, &HINT),
            }),
            ready,
        }
    }

    /// The hint of the request whose slot it is: 0 says nothing.
    pub fn hint(&self) -> Bits {
        let Some(hints) = &self.hints else { return lit(0, HINT) };
        mux(self.is(Turn::Release), hints.queue.head, hints.s1.get())
    }

    /// The request in S1 goes to wait for a release.
    pub fn queue_hint(&self) {
        if let Some(hints) = &self.hints {
            hints.queue.push(&hints.s1.get());
        }
    }

    /// The first that waits for a release leaves.
    pub fn pop_hint(&self) {
        if let Some(hints) = &self.hints {
            hints.queue.pop();
        }
    }

    /// The load in S1 is of a read-only region; the acquire in S1 begins a kernel.
    pub fn region(&self) -> Bool {
        self.s1_region.as_ref().map_or(bool_lit(false), |region| region.get() & self.is(Turn::Cu))
    }

    /// This cycle is the slot of one of these.
    pub fn is(&self, turn: Turn) -> Bool {
        self.turn.get().is(turn)
    }

    /// The forward from the network is done with.
    pub fn end_fwd(&self) {
        self.fwd.take();
        self.fwd_leaves.set(true);
    }

    /// The next slot is that of the same forward, whose words must not change between its two answers.
    pub fn repeat_fwd(&self) {
        self.fwd_again.set(true);
    }

    /// The oldest entry must wait for an answer.
    pub fn hold_drain(&self) {
        self.hold.set(true);
    }

    fn accept(&self, core: &Core, leaves: Bool) -> (Bool, Bits) {
        let (head, m) = (&self.head, &self.head.req.msg);
        unused_input(&m.remote);
        if !core.p.l1.scopes {
            unused_input(&m.scope);
        }
        unused_input(&m.cmp);
        let (accept, waits) = head.accept(head.req.valid & self.ready, leaves, || {
            head.op.set(Op::of(m, core.p.l1.scopes));
            match &self.s1_region {
                Some(region) => region.set((m.region & m.op.is(CuOp::Ld)) | m.op.is(CuOp::Kbegin)),
                None => unused_input(&m.region),
            }
            match &self.hints {
                Some(hints) => hints.s1.set(m.hint),
                None => unused_input(&m.hint),
            }
        });
        let text = "an operation is one that the L1 can carry out";
        assert_always(&core.p.named("legal"), !accept | Op::legal(m), text);
        (waits, mux(accept, m.line, head.op.get().line))
    }

    /// The next entry that is done, or the next load of the present one; true if there is one, and its line.
    fn choose_done(&self, core: &Core) -> (Bool, Bits) {
        let (mshrs, stores) = (|| core.mshrs.ready.get(), || core.pending.ready.get());
        let (any, at, sb, next) = self.done.choose(mshrs, stores, |any| any & self.ready);
        let mshr = at.slice(0, core.p.l1.spandex.mshr_bits());
        core.mshrs.present(mshr, next);
        let line = core.mshrs.line(mshr);
        (any, mux(sb, core.buffer.line(at.slice(0, core.p.l1.sb_bits())), line))
    }

    /// Chooses the next slot and presents its row. `leaves`: the request leaves S1; `event`: an answer has come or an entry is done.
    pub fn choose(&self, core: &Core, leaves: Bool, event: Bool) {
        let (requests, request_line) = self.accept(core, leaves);
        let turn = |t: Turn| enum_lit(t);
        let next = mux(requests, turn(Turn::Cu), turn(Turn::None));
        let releases = core.releases.ready(event) & !self.is(Turn::Release);
        let next = mux(releases, turn(Turn::Release), next);
        let oldest = core.buffer.oldest();
        // Never twice in a row: what it waits for may need another turn.
        let wants = oldest.there & !oldest.behind & core.buffer.drains(core.releases.writes());
        let drains = wants & (!self.hold.get() | event) & !self.is(Turn::Drain);
        let next = mux(drains, turn(Turn::Drain), next);
        let again = core.pending.again();
        let asks = again.any & core.req.free() & !self.is(Turn::Again);
        let next = mux(asks, turn(Turn::Again), next);
        let post = core.mshrs.post.get();
        // What an operation has delayed comes before what the network brings.
        let network = self.fwd.valid & !self.fwd_leaves.get() & !self.is(Turn::Done);
        let fwd = post.any() | network;
        // The slot that ends a replay sees its entry as it was.
        let fwd = fwd & !(self.is(Turn::Fwd) & self.replay.get());
        let next = mux(fwd & self.ready, turn(Turn::Fwd), next);
        let (done, done_line) = self.choose_done(core);
        let next = mux(done, turn(Turn::Done), next);
        let repeats = self.fwd_again.get();
        let next = mux(repeats, turn(Turn::Fwd), next);
        let next = mux(self.ready, next, turn(Turn::None)).named("turn_next");
        self.turn.set(next);
        when(event, || self.hold.set(false));
        let replay = mux(repeats, self.replay.get(), post.any());
        let at = mux(repeats, self.replay_at.get(), post.lowest_set());
        when(next.is(Turn::Fwd), || {
            self.replay.set(replay);
            self.replay_at.set(at);
        });
        let fwd_line = mux(replay, core.mshrs.line(at), self.fwd.msg.line);
        let lines = [
            (Turn::Done, done_line),
            (Turn::Fwd, fwd_line),
            (Turn::Drain, oldest.line),
            (Turn::Again, core.buffer.line(again.at)),
            (Turn::Release, core.releases.queue.head.line),
        ];
        let line = lines.iter().fold(request_line, |rest, (t, line)| mux(next.is(*t), *line, rest));
        core.arrays.present(line);
    }
}
