//! What is under way at memory: lines, writes and atomics; and what memory has answered.
//!
//! The number of a request tells them apart: `0xxxxxxx` a line by its MSHR, `10xxxxxx` a write, `11xxxxxx` an atomic. Answers are always taken: a line or old word lands in a
//! place of its own and waits there for the pipeline.
//!
//! ```text
//! fill: Idle -> a line has landed: Fill enters -> Serve: its targets enter one by one -> Idle
//! ```
//! Nothing else enters the pipeline until the last target has, so that the line is still there.

use super::ingress::Ingress;
use super::params::L2Params;
use super::types::{Kind, Op, Target};
use crate::heads::Flags;
use crate::msg::MemRsp;
use weft_blocks::common::arbiter::RoundRobin;
use weft_blocks::common::mshr::{MshrFile, MshrMatch};
use weft_rtl::prelude::*;

/// Who wrote around the bank.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Writer {
    #[width(p.srsp.cu_bits())]
    pub src: Bits,
    #[width(p.srsp.wbt_bits())]
    pub wbt: Bits,
    #[width(1)]
    pub epoch: Bits,
}

type File<T> = (Memory<T>, LaneWriter<T>);

fn file<T: Data>(name: &str, rows: u32, shape: &T::Shape) -> File<T> {
    let memory = regfile::<T>(name, rows, shape.clone()).fields(&[("queue", width_of::<T>(shape))]);
    let writer = memory.lane_writer("put");
    (memory, writer)
}

/// State of the unit that serves a line's targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub(super) enum FillState {
    Idle,
    Serve,
}

/// Everything under way.
pub(super) struct UnderWay {
    p: L2Params,
    pub rsp: InChannel<MemRsp>,
    pub lines: MshrFile<Target>,
    landed: Flags,
    landing_in: LaneWriter<Bits>,
    landing: SramPort<Bits>,
    /// Writes that are not acknowledged: there, of which epoch, around the bank.
    pub writes: Flags,
    epochs: Reg<Bits>,
    around: Reg<Bits>,
    acked: Flags,
    writers: File<Writer>,
    freed: Wire<Bits>,
    /// The epoch of writes sent now.
    pub epoch: Reg<Bits>,
    pub amos: Flags,
    askers: File<Bits>,
    answered: Flags,
    olds: File<Bits>,
    pub state: Reg<Enum<FillState>>,
    pub filling: Reg<Bits>,
    place: Reg<Bits>,
    fill_order: RoundRobin,
    ack_order: RoundRobin,
}

impl UnderWay {
    /// Declares channel and registers.
    pub fn new(p: &L2Params, open: Bool) -> UnderWay {
        let (n, writes) = (p.mshrs, p.writes);
        let bits = p.srsp.data_bits();
        let landing = sram::<Bits>("landing", n, 1, bits).fields(&[("queue", bits)]);
        UnderWay {
            rsp: in_channel_when::<MemRsp>("mem_rsp", &p.srsp, open),
            lines: MshrFile::new("mshr", n, p.targets, p.srsp.line_bits(), p),
            landed: Flags::new("mshr_landed", n),
            landing_in: landing.lane_writer("put"),
            landing: landing.read_port("look"),
            writes: Flags::new("writes_valid", writes),
            epochs: reg::<Bits>("writes_epoch", writes).field("state"),
            around: reg::<Bits>("writes_around", writes).field("state"),
            acked: Flags::new("writes_acked", writes),
            writers: file("writes_of", writes, p),
            freed: wire_zero::<Bits>("writes_freed", writes),
            epoch: reg::<Bits>("write_epoch", 1).field("state"),
            amos: Flags::new("amos_valid", writes),
            askers: file("amos_of", writes, &p.srsp.cu_bits()),
            answered: Flags::new("amos_answered", writes),
            olds: file("amos_old", writes, &64),
            state: reg::<Enum<FillState>>("fill_state", ()),
            filling: reg::<Bits>("fill_mshr", p.mshr_bits()),
            place: reg::<Bits>("fill_place", bits_for(u64::from(p.targets) + 1)),
            fill_order: RoundRobin::new("fill_order", n),
            ack_order: RoundRobin::new("ack_order", 2 * writes),
            p: p.clone(),
        }
    }

    /// Takes memory's answers.
    pub fn land(&self) {
        let m = &self.rsp.msg;
        let p = &self.p;
        let line = !m.id.bit(7);
        let amo = m.id.bit(7) & m.id.bit(6);
        let mshr = m.id.slice(0, 7).resize(p.mshr_bits());
        let index = m.id.slice(0, 6).resize(p.write_bits());
        let write = index.one_hot(p.writes);
        let gone = wire_zero::<Bits>("writes_gone", p.writes);
        when(self.rsp.valid, || {
            self.rsp.take();
            when(line, || {
                self.landing_in.write(mshr, &m.data);
                self.landed.raise(mshr.one_hot(p.mshrs));
            })
            .elsewhen(amo, || {
                self.olds.1.write(index, &m.data.slice(0, 64));
                self.answered.raise(write);
            })
            .otherwise(|| {
                self.acked.raise(write & self.around.get());
                gone.set(write & !self.around.get());
            });
        });
        self.writes.lower(gone.get() | self.freed.get());
        let waiting = self.lines.valid() & !self.landed.get();
        let expected = mux(
            line,
            waiting.bit_at(mshr).bits(),
            mux(
                amo,
                (self.amos.get() & !self.answered.get()).bit_at(index).bits(),
                (self.writes.get() & !self.acked.get()).bit_at(index).bits(),
            ),
        );
        let text = "memory answers once, and only what it was asked";
        assert_always("memory_answer_expected", !self.rsp.valid | expected.as_bool(), text);
    }

    /// Something has come from memory that enters the pipeline first: whether there is something, and whether it is a target. `enter`: it may enter in this cycle.
    pub fn offer(&self, ingress: &Ingress, op: &Wire<Op>, enter: Bool) -> (Bool, Bool) {
        let p = &self.p;
        let serving = self.state.get().is(FillState::Serve);
        let mshr = self.filling.get();
        let more = serving & self.place.get().ne(self.lines.count(mshr));
        let fill = self.fill_order.pick(self.landed.get());
        let acks = cat(&[self.answered.get(), self.acked.get()]);
        let ack = self.ack_order.pick(acks);
        let begins = !serving & fill.any;
        let answers = !serving & !fill.any & ack.any;
        when(enter & more, || {
            let target = self.lines.target(mshr, self.place.get().resize(p.target_bits()));
            ingress.target_op(&target, p.address(self.lines.line(mshr)), op);
            self.place.set(self.place.get() + 1);
        });
        when(serving & !more & enter, || {
            self.lines.free(mshr);
            self.state.set(FillState::Idle);
        });
        let blank = Op { from_head: bool_lit(false), ..ingress.blank() };
        when(enter & begins, || {
            let own = fill.index.resize(blank.own.width());
            let atomic = crate::msg::Atomic { addr: p.address(self.lines.line(fill.index)), ..blank.atomic };
            op.set(Op { kind: enum_lit(Kind::Fill), own, atomic, ..blank });
            self.landed.lower(fill.index.one_hot(p.mshrs));
            self.fill_order.granted(fill.index);
            self.filling.set(fill.index);
            self.place.set(0);
            self.state.set(FillState::Serve);
        });
        when(enter & answers, || {
            self.answer(ack.index, op, &blank);
            self.ack_order.granted(ack.index);
        });
        (more | begins | answers, more)
    }

    /// The unit that serves targets keeps the pipeline to itself.
    pub fn reserves(&self) -> Bool {
        self.state.get().is(FillState::Serve)
    }

    fn answer(&self, index: Bits, op: &Wire<Op>, blank: &Op) {
        let p = &self.p;
        let amo = index.ge(u64::from(p.writes));
        let number = mux(amo, index - u64::from(p.writes), index).resize(p.write_bits());
        let writer = self.writers.0.read(number);
        let kind = mux(amo, enum_lit(Kind::AmoAck), enum_lit(Kind::Ack));
        let src = mux(amo, self.askers.0.read(number), writer.src);
        let one = number.one_hot(p.writes);
        let none = lit_bv(Bv::zero(p.writes));
        self.acked.lower(mux(amo, none, one));
        self.answered.lower(mux(amo, one, none));
        let own = number.resize(blank.own.width());
        // The old word travels where a write-back's bytes do.
        let data = self.olds.0.read(number).zext(p.srsp.data_bits());
        op.set(Op { kind, src, wbt: writer.wbt, epoch: writer.epoch, own, data, ..*blank });
    }

    /// Stage 1 has answered a write-around or an atomic.
    pub fn close(&self, number: Bits, amo: Bool) {
        let one = number.resize(self.p.write_bits()).one_hot(self.p.writes);
        when(amo, || self.amos.lower(one)).otherwise(|| self.freed.set(one));
    }

    /// An entry for a write is free, and which.
    pub fn write_free(&self) -> (Bool, Bits) {
        let valid = self.writes.get();
        (!valid.all(), (!valid).lowest_set())
    }

    /// An entry for an atomic is free, and which.
    pub fn amo_free(&self) -> (Bool, Bits) {
        let valid = self.amos.get();
        (!valid.all(), (!valid).lowest_set())
    }

    /// A write goes to memory; around the bank for `writer`, else by the bank itself.
    pub fn open_write(&self, around: Bool, writer: &Writer) {
        let one = self.write_free().1.one_hot(self.p.writes);
        let of = |now: Bool| one & now.repeat(self.p.writes);
        self.writes.raise(one);
        self.epochs.set((self.epochs.get() & !one) | of(self.epoch.get().as_bool()));
        self.around.set((self.around.get() & !one) | of(around));
        self.writers.1.write(self.write_free().1, writer);
    }

    /// An atomic goes to memory.
    pub fn open_amo(&self, src: Bits) {
        let free = self.amo_free().1;
        self.amos.raise(free.one_hot(self.p.writes));
        self.askers.1.write(free, &src);
    }

    /// Writes of the other epoch are not all acknowledged.
    pub fn owes(&self) -> Bool {
        let of_now = self.epoch.get().as_bool().repeat(self.p.writes);
        (self.writes.get() & (self.epochs.get() ^ of_now)).any()
    }

    /// The transaction of a line.
    pub fn find(&self, line: Bits) -> MshrMatch {
        self.lines.find(line)
    }

    /// Presents the line that has come for an MSHR; it is read in the next cycle.
    pub fn present(&self, mshr: Bits) {
        self.landing.present(mshr);
    }

    /// The line presented in the cycle before.
    pub fn line(&self) -> Bits {
        self.landing.lane(0)
    }

    /// Changes the flags; called once.
    pub fn connect(&self) {
        for flags in [&self.landed, &self.writes, &self.acked, &self.amos, &self.answered] {
            flags.connect();
        }
    }
}
