//! What comes without a slot: answers of nodes, of memory and of the slice; and what leaves without one.

use super::Bank;
use super::choose::Class;
use super::mshrs::of_network;
use crate::cache::l2::L2Params;
use crate::common::fifo::Fifo;
use crate::msg::*;
use weft_rtl::prelude::*;

/// A line that an owner has given back.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Back {
    #[width(p.sys.line_bits())]
    pub line: Bits,
    pub dirty: Bool,
    #[width(p.sys.data_bits())]
    pub data: Bits,
}

/// The inputs.
pub(super) struct Landing {
    rsp: InChannel<RspMsg>,
    mem: InChannel<MemRsp>,
    dir: InChannel<DirRsp>,
    backs: Fifo<Back>,
}

impl Landing {
    pub fn new(p: &L2Params) -> Landing {
        Landing {
            rsp: in_channel::<RspMsg>("rsp_in", &p.sys),
            mem: in_channel::<MemRsp>("mem_rsp", &p.sys),
            dir: in_channel::<DirRsp>("dir_rsp", &p.sys),
            backs: Fifo::new("backs", 4, p),
        }
    }

    /// A line that was given back is not in memory.
    pub fn any(&self) -> Bool {
        self.backs.valid
    }
}

impl Bank<'_> {
    /// Takes what comes, sends what waits.
    pub fn land(&self) {
        let memory = self.memory_answers();
        self.network_answers(memory);
        self.slice_answers();
        self.ask_memory();
        self.send_fetched();
    }

    /// Memory answers; whether for an MSHR.
    fn memory_answers(&self) -> Bool {
        let mem = &self.landing.mem;
        let (home, place) = self.homes.place(mem.msg.id);
        let own = (mem.valid & !home).named("memory_lands");
        when(mem.valid, || mem.take());
        when(own, || {
            let index = mem.msg.id.resize(self.slot.served.index.get().width());
            self.mshrs.land(index, &self.mshrs.given(index), mem.msg.data);
        });
        when(mem.valid & home, || self.homes.fetched(place, mem.msg.data));
        own
    }

    /// Nodes answer: Data, PutAck, Back. `busy`: the MSHRs' port is memory's in this cycle.
    fn network_answers(&self, busy: Bool) {
        let rsp = &self.landing.rsp;
        let owner = rsp.msg.owner.expect("messages of a bank with owners carry them");
        let put = owner.gives.is(Gives::Put);
        let back = owner.gives.is(Gives::Back);
        let data = rsp.valid & !put & !back;
        unused_input(&rsp.msg.epoch);
        unused_input(&rsp.msg.src);
        unused_input(&rsp.msg.dst);
        unused_input(&rsp.msg.bank);
        let takes = rsp.valid & mux(back, !self.landing.backs.full, put | !busy);
        when(takes, || rsp.take());
        let place = rsp.msg.id.resize(self.writebacks.bits());
        let dirty = rsp.msg.kind.is(ReqKind::Rd);
        self.observe_landing((takes & put, self.writebacks.get(place).0), (takes & back, dirty));
        when(takes & put, || {
            self.writebacks.used.lower(place);
            self.pool.wake();
        });
        when(takes & back, || {
            self.landing.backs.push(&Back { line: owner.line, dirty, data: rsp.msg.data });
        });
        when(takes & data, || {
            let index = rsp.msg.id.resize(self.slot.served.index.get().width());
            self.mshrs.land(index, &of_network(&rsp.msg, &owner), rsp.msg.data);
        });
    }

    /// The slice answers: a request of this node, or of another.
    fn slice_answers(&self) {
        let dir = &self.landing.dir;
        let answer = dir.msg.owner.expect("messages of a bank with owners carry them").answer;
        let (home, place) = self.homes.place(dir.msg.id);
        unused_input(&dir.msg.hit);
        unused_input(&dir.msg.evicted);
        unused_input(&dir.msg.empty);
        // The slot may tell an MSHR to read memory in this cycle.
        let here = dir.valid & !self.slot.is(Class::Install);
        when(here, || dir.take());
        when(here & home, || self.homes.answer(place, answer));
        self.observe_forwarded(here & home, place, answer);
        let index = dir.msg.id.resize(self.slot.served.index.get().width());
        let writes = self.mshrs.get(index).modified;
        self.observe_answer(here & !home, writes, answer);
        when(here & !home & !answer.is(HomeAnswer::Forwarded), || {
            let alone =
                mux(answer.is(HomeAnswer::Alone), enum_lit(Gives::Exclusive), enum_lit(Gives::Shared));
            when(writes, || self.mshrs.granted.raise(index)).otherwise(|| self.mshrs.to_fetch(index, alone));
        });
    }

    /// Lines that have come back are written, lines of this home are read.
    fn ask_memory(&self) {
        let (outs, backs) = (&self.outs, &self.landing.backs);
        let free = !outs.slot_mem.get() & outs.mem.room(2);
        let tells = !outs.slot_done.get() & !self.tells_own_slice() & outs.done.room(2);
        let back = (backs.valid & tells & (free | !backs.head.dirty)).named("back_goes");
        when(back, || {
            backs.pop();
            outs.done.push(&HomeDone { line: backs.head.line, written: bool_lit(true) });
            when(backs.head.dirty, || {
                let id = lit(0, self.p.sys.l2_id_bits());
                outs.mem.push(&MemReq {
                    write: bool_lit(true),
                    line: backs.head.line,
                    data: backs.head.data,
                    id,
                });
            });
        });
        let fetch = self.mshrs.fetch.now.get();
        let index = fetch.lowest_set();
        when(fetch.any() & free & !back, || {
            self.mshrs.fetch.lower(index);
            let (line, id) = (self.mshrs.get(index).line, index.resize(self.p.sys.l2_id_bits()));
            let data = lit_bv(Bv::zero(self.p.sys.data_bits()));
            outs.mem.push(&MemReq { write: bool_lit(false), line, data, id });
        });
    }

    /// Memory's bytes go to the node that has asked for them.
    fn send_fetched(&self) {
        let (outs, fetched) = (&self.outs, self.homes.fetched.now.get());
        // A turn may give its place back in this cycle, too.
        let turn = self.slot.is(Class::Turn);
        let free = !outs.slot_rsp.get() & !turn & !self.tells_home() & outs.rsp.room(2);
        when(fetched.any() & free, || {
            let index = fetched.lowest_set();
            let (home, _, gives, bytes) = self.homes.get(index);
            let answer = outs.answer(home.line, (home.src, home.id), gives, (bool_lit(true), bytes));
            outs.rsp.push(&RspMsg { from_dram: bool_lit(true), ..answer });
            self.homes.fetched.lower(index);
            self.homes.used.lower(index);
        });
    }

    /// What is served is over: nothing that waited is left, or the oldest wants to write and may not.
    pub fn over(&self) -> Bool {
        let served = &self.slot.served;
        let own = self.pool.of_line(served.line.get());
        let oldest = self.pool.get(self.pool.oldest(own));
        let stuck = oldest.writes() & !served.writable.get();
        let idle = !self.slot.is(Class::Pool);
        served.valid.get() & idle & (served.left.get().none() | own.none() | stuck)
    }

    /// In this cycle the slice of this node is told.
    fn tells_own_slice(&self) -> Bool {
        self.over() & self.p.homed(self.slot.served.line.get())
    }

    /// In this cycle another node's is.
    fn tells_home(&self) -> Bool {
        self.over() & !self.p.homed(self.slot.served.line.get())
    }

    /// Ends what is served.
    pub fn serve(&self) {
        let (p, outs, served) = (self.p, &self.outs, &self.slot.served);
        let line = served.line.get();
        let own = self.tells_own_slice() & !outs.slot_done.get() & outs.done.room(2);
        let far = self.tells_home() & !outs.slot_rsp.get() & outs.rsp.room(2);
        when(own, || outs.done.push(&HomeDone { line, written: bool_lit(false) }));
        when(far, || {
            let no = bool_lit(false);
            let zero = lit_bv(Bv::zero(p.sys.data_bits()));
            let done = outs.answer(
                line,
                (p.sys.home_of(line), lit(0, p.sys.l2_id_bits())),
                enum_lit(Gives::Done),
                (no, zero),
            );
            let data = line.zext(p.sys.data_bits());
            outs.rsp.push(&RspMsg { kind: enum_lit(ReqKind::Ack), data, ..done });
        });
        let ends = (own | far).named("served");
        when(ends, || {
            self.pool.wake();
            served.valid.set(false);
            served.busy.set(false);
            self.mshrs.end(served.index.get());
        });
    }
}
