//! Answers: fills and acknowledgements of the L2, the delay ring of hits, and the response port of the CU.

use super::*;

/// An answer in the delay ring.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub(super) struct Delayed {
    #[width(12)]
    #[field("queue")]
    pub id: Bits,
    #[field("queue")]
    pub ack: Bool,
    #[width(p.line)]
    #[field("queue")]
    pub mask: Bits,
    #[width(p.data_bits())]
    #[field("queue")]
    pub data: Bits,
}

/// An L2 response being handed on.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
struct Fill {
    #[width(p.l1_id_bits())]
    id: Bits,
    #[width(p.data_bits())]
    data: Bits,
    #[width(3)]
    src: Bits,
}

/// Takes L2 responses: installs read data, answers the loads that wait for it one per cycle.
pub(super) struct Filler {
    p: L1Params,
    /// Read data is taken in this cycle: its row must be presented.
    pub arrives: Bool,
    /// Its line.
    pub arriving_line: Bits,
    /// First cycle of read data: the arrays belong to it.
    pub installing: Reg<Bool>,
    valid: Reg<Bool>,
    fill: Reg<Fill>,
    row: Bits,
    /// Number of the waiting load that is answered next.
    index: Reg<Bits>,
    done: Bool,
}

impl Filler {
    pub fn new(
        p: &L1Params,
        rsp: &InChannel<L1Rsp>,
        misses: &Misses,
        unanswered: &Unanswered,
        replies: &Replies,
    ) -> Filler {
        let valid = reg::<Bool>("fill_valid", ());
        let fill = reg::<Fill>("fill", p.sys.clone()).field("pipeline");
        let index = reg::<Bits>("fill_index", misses.targets.lane_bits());
        let sent = replies.fill_sent.clone();
        let row = misses.row(fill.get().id);
        let last = (index.get().zext(misses.waiting_bits) + 1).eq(misses.waiting.read(row));
        let done = (sent.get() & last).named("fill_done");
        let here = (rsp.valid & (!valid.get() | done)).named("fill_here");
        let first_plain = u64::from(p.sys.l1_mshrs);
        let plain = rsp.msg.kind.is(ReqKind::Wr) & rsp.msg.id.ge(first_plain);
        let arrives = (here & rsp.msg.kind.is(ReqKind::Rd)).named("fill_arrives");
        let installing = reg::<Bool>("installing", ());
        installing.set(arrives);
        valid.set((valid.get() & !done) | (here & !plain));
        when(here, || {
            rsp.take();
            when(plain, || {
                let late = rsp.msg.id.eq(first_plain + 1).bits();
                unanswered.plain_done.set(late.one_hot(2));
            })
            .otherwise(|| {
                fill.set(Fill { id: rsp.msg.id, data: rsp.msg.data, src: rsp.msg.src });
                index.set(0);
            });
        })
        .elsewhen(sent.get(), || index.set(index.get() + 1));
        let asked = misses.row(rsp.msg.id);
        let known = plain
            | (misses.busy.get().bit_at(asked) & misses.info.read(asked).kind.bits().eq(rsp.msg.kind.bits()));
        let text = "every answer of the L2 belongs to a request of its kind";
        assert_always("l1_answer_known", !here | known, text);
        let arriving_line = misses.info.read(asked).line;
        Filler { p: p.clone(), arrives, arriving_line, installing, valid, fill, row, index, done }
    }

    /// Installs read data in its first cycle unless its miss is poisoned.
    pub fn install(&self, arrays: &Arrays, misses: &Misses) {
        let keep = (self.installing.get() & misses.open.get().bit_at(self.row)).named("install");
        when(keep, || {
            let line = misses.info.read(self.row).line;
            let set = arrays.set_of(line);
            let way = arrays.victim(set).named("install_way");
            let tag = line.slice(self.p.set_bits(), self.p.tag_bits());
            arrays.tag_writer.write_lane(set, way, &tag);
            arrays.data_writer.write_lane(set, way, &self.fill.get().data);
            arrays.touch(set, way);
            for (w, valid) in arrays.valid.iter().enumerate() {
                when(way.eq(w as u64), || valid.set(valid.get() | set.one_hot(self.p.sets())));
            }
            misses.installed.set(self.row.one_hot(misses.count));
        });
        let line = misses.info.read(self.row).line;
        let text = "a fill finds no copy of its line";
        assert_always("l1_fill_finds_none", !keep | arrays.holders(line).none(), text);
        count("l1_installs", keep, "lines installed");
        let dropped = self.installing.get() & !keep;
        count("l1_fills_dropped", dropped, "answers of poisoned or bypassing reads, not installed");
    }

    /// The entry is free when its last requester is answered.
    pub fn release_entry(&self, misses: &Misses, unanswered: &Unanswered) {
        when(self.done, || {
            let info = misses.info.read(self.row);
            misses.freed.set(self.row.one_hot(misses.count));
            when(!info.kind.is(ReqKind::Rd), || unanswered.entry_done.set(info.epoch.one_hot(2)));
        });
    }

    fn answer(&self, misses: &Misses) -> CuRsp {
        let fill = self.fill.get();
        let target = misses.targets.read_lane(self.row, self.index.get());
        let is_store = misses.info.read(self.row).kind.is(ReqKind::Wr);
        CuRsp {
            id: target.id,
            kind: is_store.bits().zext(2),
            mask: target.mask,
            data: fill.data,
            src: fill.src,
            merged: self.index.get().any(),
        }
    }
}

/// The response port with its three sources: ring of delayed hits, fills, the release.
pub(super) struct Replies {
    out: OutChannel<CuRsp>,
    ring_port: SramPort<Delayed>,
    ring_writer: LaneWriter<Delayed>,
    live: Reg<Bits>,
    head: Reg<Bits>,
    pushed: Wire<Bool>,
    /// The ring's head cannot leave: nothing may enter.
    pub frozen: Wire<Bool>,
    fill_sent: Wire<Bool>,
    /// A release is not complete.
    pub releasing: Reg<Bool>,
    release_id: Reg<Bits>,
    release_epoch: Reg<Bits>,
}

impl Replies {
    pub fn new(p: &L1Params) -> Replies {
        let rows = p.ring_rows();
        let ring = sram::<Delayed>("delay", rows, 1, p.sys.clone());
        let busy = output_reg::<Bool>("busy_release", ()).doc("A release is not complete.");
        Replies {
            out: out_channel::<CuRsp>("cu_rsp", &p.sys),
            ring_port: ring.read_port("head"),
            ring_writer: ring.lane_writer("tail"),
            live: reg::<Bits>("delay_live", rows),
            head: reg::<Bits>("delay_head", ring.addr_bits()),
            pushed: wire_or::<Bool>("delay_pushed", (), false),
            frozen: wire::<Bool>("delay_frozen", ()),
            fill_sent: wire_or::<Bool>("fill_sent", (), false),
            releasing: busy,
            release_id: reg::<Bits>("release_id", 12),
            release_epoch: reg::<Bits>("release_epoch", 1),
        }
    }

    /// Answers after the cache's latency; only while not `frozen`.
    pub fn delay(&self, answer: &Delayed) {
        self.pushed.set(true);
        self.ring_writer.write(self.head.get(), answer);
    }

    /// Answers when the epoch's stores and atomics are answered.
    pub fn start_release(&self, id: Bits, epoch: Bits) {
        self.releasing.set(true);
        self.release_id.set(id);
        self.release_epoch.set(epoch);
    }

    /// Chooses among the sources: the ring and the others take turns.
    pub fn finish(&self, p: &L1Params, filler: &Filler, misses: &Misses, unanswered: &Unanswered) {
        let ring_here = self.live.get().bit_at(self.head.get()).named("delay_here");
        let performed = match p.inject {
            L1Inject::EarlyRelease => bool_lit(true),
            _ => unanswered.of(self.release_epoch.get()).none(),
        };
        let released = (self.releasing.get() & performed).named("released");
        let other = released | filler.valid.get();
        let ring_was_last = reg::<Bool>("delay_was_last", ());
        let take_other = (other & (!ring_here | ring_was_last.get())).named("reply_other");
        let take_ring = (ring_here & !take_other & self.out.free).named("reply_ring");
        when(take_other & self.out.free, || {
            ring_was_last.set(false);
            when(released, || {
                self.out.send(&self.acknowledge(p));
                self.releasing.set(false);
            })
            .otherwise(|| {
                self.out.send(&filler.answer(misses));
                self.fill_sent.set(true);
            });
        });
        when(take_ring, || {
            ring_was_last.set(true);
            self.out.send(&self.delayed());
        });
        self.frozen.set(ring_here & !take_ring);
        self.turn(p, take_ring);
    }

    /// The ring turns while something is in it and its head can leave.
    fn turn(&self, p: &L1Params, take_ring: Bool) {
        let (head, rows) = (self.head.get(), p.ring_rows());
        let here = head.one_hot(rows);
        let keep = self.live.get() & !(take_ring.repeat(rows) & here);
        self.live.set(keep | (self.pushed.get().repeat(rows) & here));
        let turns = (self.live.get().any() | self.pushed.get()) & !self.frozen.get();
        let wrapped = mux(head.eq(u64::from(rows - 1)), lit(0, head.width()), head + 1);
        let next = mux(turns, wrapped, head);
        self.head.set(next);
        self.ring_port.present(next);
        let text = "nothing enters the delay ring while its head is held";
        assert_always("l1_ring_room", !(self.pushed.get() & self.frozen.get()), text);
    }

    fn acknowledge(&self, p: &L1Params) -> CuRsp {
        CuRsp {
            id: self.release_id.get(),
            kind: lit(1, 2),
            mask: lit_bv(Bv::zero(p.sys.line)),
            data: lit_bv(Bv::zero(p.sys.data_bits())),
            src: lit(0, 3),
            merged: bool_lit(false),
        }
    }

    fn delayed(&self) -> CuRsp {
        let d = self.ring_port.lane(0);
        CuRsp {
            id: d.id,
            kind: d.ack.bits().zext(2),
            mask: d.mask,
            data: d.data,
            src: lit(0, 3),
            merged: bool_lit(false),
        }
    }
}
