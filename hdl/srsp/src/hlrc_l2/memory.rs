//! What is under way at memory: lines, writes, and reads around the bank; and what memory has answered.
//!
//! The number of a request tells them apart: `0xxxxxxx` a line by its MSHR, `10xxxxxx` a write, `11xxxxxx` a read around the bank. Answers are always taken: a line lands in a
//! place of its own and waits there for the pipeline.
//!
//! ```text
//! fill: Idle -> a line has landed: Fill enters -> Serve: its targets enter one by one -> Idle
//! ```
//! Nothing else enters the pipeline until the last target has, so that the line is still there. A registration is served in its turn among the targets; a line has one at most
//! that waits for it, for the next would find it registered.

use super::ingress::Ingress;
use super::params::HlrcL2Params;
use super::types::{Kind, Op, Target};
use crate::heads::Flags;
use crate::msg::MemRsp;
use weft_blocks::common::arbiter::RoundRobin;
use weft_blocks::common::mshr::{MshrFile, MshrMatch};
use weft_rtl::prelude::*;

/// Who has written to memory and waits for its acknowledgement.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = HlrcL2Params)]
pub(super) struct Writer {
    #[width(p.srsp.cu_bits())]
    pub src: Bits,
    #[width(p.srsp.wbt_bits())]
    pub wbt: Bits,
    #[width(1)]
    pub epoch: Bits,
}

/// Who reads around the bank.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = HlrcL2Params)]
pub(super) struct Reader {
    #[width(p.srsp.cu_bits())]
    pub src: Bits,
    #[width(p.srsp.mshr_bits())]
    pub mshr: Bits,
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
    p: HlrcL2Params,
    rsp: InChannel<MemRsp>,
    pub lines: MshrFile<Target>,
    landed: Flags,
    /// MSHRs for whose line a registration waits.
    registers: Flags,
    landing_in: LaneWriter<Bits>,
    landing: SramPort<Bits>,
    /// Writes that are not acknowledged; those of L1s.
    writes: Flags,
    around: Reg<Bits>,
    acked: Flags,
    writers: File<Writer>,
    freed: Wire<Bits>,
    /// Reads around the bank, and those answered.
    directs: Flags,
    passed: Flags,
    readers: File<Reader>,
    state: Reg<Enum<FillState>>,
    filling: Reg<Bits>,
    place: Reg<Bits>,
    fill_order: RoundRobin,
    ack_order: RoundRobin,
}

impl UnderWay {
    /// Declares channel and registers.
    pub fn new(p: &HlrcL2Params, open: Bool) -> UnderWay {
        let (n, writes) = (p.mshrs, p.writes);
        let bits = p.srsp.data_bits();
        let landing = sram::<Bits>("landing", p.landings(), 1, bits).fields(&[("queue", bits)]);
        UnderWay {
            rsp: in_channel_when::<MemRsp>("mem_rsp", &p.srsp, open),
            lines: MshrFile::new("mshr", n, p.targets, p.srsp.line_bits(), p),
            landed: Flags::new("mshr_landed", n),
            registers: Flags::new("mshr_registers", n),
            landing_in: landing.lane_writer("put"),
            landing: landing.read_port("look"),
            writes: Flags::new("writes_valid", writes),
            around: reg::<Bits>("writes_around", writes).field("state"),
            acked: Flags::new("writes_acked", writes),
            writers: file("writes_of", writes, p),
            freed: wire_zero::<Bits>("writes_freed", writes),
            directs: Flags::new("directs_valid", writes),
            passed: Flags::new("directs_passed", writes),
            readers: file("directs_of", writes, p),
            state: reg::<Enum<FillState>>("fill_state", ()),
            filling: reg::<Bits>("fill_mshr", p.mshr_bits()),
            place: reg::<Bits>("fill_place", bits_for(u64::from(p.targets) + 1)),
            fill_order: RoundRobin::new("fill_order", n),
            ack_order: RoundRobin::new("ack_order", 2 * writes),
            p: p.clone(),
        }
    }

    /// Place where the line of an MSHR, or of a read around the bank, lands.
    fn landing(&self, direct: Bool, number: Bits) -> Bits {
        let bits = bits_for(u64::from(self.p.landings()));
        let wide = number.zext(bits.max(number.width()));
        mux(direct, wide + u64::from(self.p.mshrs), wide).resize(bits)
    }

    /// Takes memory's answers.
    pub fn land(&self) {
        let m = &self.rsp.msg;
        let p = &self.p;
        let line = !m.id.bit(7);
        let direct = m.id.bit(7) & m.id.bit(6);
        let mshr = m.id.slice(0, 7).resize(p.mshr_bits());
        let index = m.id.slice(0, 6).resize(p.write_bits());
        let one = index.one_hot(p.writes);
        let gone = wire_zero::<Bits>("writes_gone", p.writes);
        when(self.rsp.valid, || {
            self.rsp.take();
            when(line | direct, || {
                let number = mux(direct, index.resize(p.own_bits()), mshr.resize(p.own_bits()));
                self.landing_in.write(self.landing(direct, number), &m.data);
                when(direct, || self.passed.raise(one))
                    .otherwise(|| self.landed.raise(mshr.one_hot(p.mshrs)));
            })
            .otherwise(|| {
                self.acked.raise(one & self.around.get());
                gone.set(one & !self.around.get());
            });
        });
        self.writes.lower(gone.get() | self.freed.get());
        let waiting = self.lines.valid() & !self.landed.get();
        let of = |there: &Flags, done: &Flags| (there.get() & !done.get()).bit_at(index);
        let others = mux(direct, of(&self.directs, &self.passed), of(&self.writes, &self.acked));
        let expected = mux(line, waiting.bit_at(mshr), others);
        let text = "memory answers once, and only what it was asked";
        assert_always("memory_answer_expected", !self.rsp.valid | expected, text);
    }

    /// Something has come from memory that enters the pipeline first; `enter`: it may enter in this cycle.
    pub fn offer(&self, ingress: &Ingress, op: &Wire<Op>, enter: Bool) -> Bool {
        let p = &self.p;
        let serving = self.state.get().is(FillState::Serve);
        let mshr = self.filling.get();
        let more = serving & self.place.get().ne(self.lines.count(mshr));
        let fill = self.fill_order.pick(self.landed.get());
        let ack = self.ack_order.pick(cat(&[self.passed.get(), self.acked.get()]));
        let begins = !serving & fill.any;
        let answers = !serving & !fill.any & ack.any;
        when(enter & more, || {
            let target = self.lines.target(mshr, self.place.get().resize(p.target_bits()));
            op.set(ingress.target_op(&target, self.lines.line(mshr)));
            self.place.set(self.place.get() + 1);
        });
        when(serving & !more & enter, || {
            self.lines.free(mshr);
            self.registers.lower(mshr.one_hot(p.mshrs));
            self.state.set(FillState::Idle);
        });
        let blank = Op { from_head: bool_lit(false), ..ingress.blank() };
        when(enter & begins, || {
            let own = fill.index.resize(p.own_bits());
            op.set(Op { kind: enum_lit(Kind::Fill), own, line: self.lines.line(fill.index), ..blank });
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
        more | begins | answers
    }

    /// The unit that serves targets keeps the pipeline to itself.
    pub fn reserves(&self) -> Bool {
        self.state.get().is(FillState::Serve)
    }

    fn answer(&self, index: Bits, op: &Wire<Op>, blank: &Op) {
        let p = &self.p;
        let direct = index.ge(u64::from(p.writes));
        let number = mux(direct, index - u64::from(p.writes), index).resize(p.write_bits());
        let (writer, reader) = (self.writers.0.read(number), self.readers.0.read(number));
        let kind = mux(direct, enum_lit(Kind::Direct), enum_lit(Kind::Ack));
        let src = mux(direct, reader.src, writer.src);
        let one = number.one_hot(p.writes);
        let none = lit_bv(Bv::zero(p.writes));
        self.acked.lower(mux(direct, none, one));
        self.passed.lower(mux(direct, one, none));
        let own = number.resize(p.own_bits());
        op.set(Op { kind, src, mshr: reader.mshr, wbt: writer.wbt, epoch: writer.epoch, own, ..*blank });
    }

    /// Stage 1 has answered a write or a read around the bank.
    pub fn close(&self, number: Bits, direct: Bool) {
        let one = number.resize(self.p.write_bits()).one_hot(self.p.writes);
        when(direct, || self.directs.lower(one)).otherwise(|| self.freed.set(one));
    }

    /// An entry for a write is free, and which.
    pub fn write_free(&self) -> (Bool, Bits) {
        let valid = self.writes.get();
        (!valid.all(), (!valid).lowest_set())
    }

    /// An entry for a read around the bank is free, and which.
    pub fn direct_free(&self) -> (Bool, Bits) {
        let valid = self.directs.get();
        (!valid.all(), (!valid).lowest_set())
    }

    /// A write goes to memory; `around`: `writer` gets its acknowledgement.
    pub fn open_write(&self, around: Bool, writer: &Writer) {
        let one = self.write_free().1.one_hot(self.p.writes);
        self.writes.raise(one);
        self.around.set((self.around.get() & !one) | (one & around.repeat(self.p.writes)));
        self.writers.1.write(self.write_free().1, writer);
    }

    /// A read goes around the bank.
    pub fn open_direct(&self, reader: &Reader) {
        let free = self.direct_free().1;
        self.directs.raise(free.one_hot(self.p.writes));
        self.readers.1.write(free, reader);
    }

    /// A registration waits for the line of an MSHR.
    pub fn register(&self, mshr: Bits) {
        self.registers.raise(mshr.one_hot(self.p.mshrs));
    }

    /// A registration waits for it already.
    pub fn registers(&self, mshr: Bits) -> Bool {
        self.registers.get().bit_at(mshr)
    }

    /// The transaction of a line.
    pub fn find(&self, line: Bits) -> MshrMatch {
        self.lines.find(line)
    }

    /// Presents the line that has come; it is read in the next cycle.
    pub fn present(&self, direct: Bool, number: Bits) {
        self.landing.present(self.landing(direct, number));
    }

    /// The line presented in the cycle before.
    pub fn line(&self) -> Bits {
        self.landing.lane(0)
    }

    /// Changes the flags; called once.
    pub fn connect(&self) {
        let flags = [&self.landed, &self.registers, &self.writes, &self.acked, &self.directs, &self.passed];
        flags.into_iter().for_each(Flags::connect);
    }
}
