//! What is under way at memory: lines and writes; and what memory has answered.
//!
//! The number of a request tells them apart: `0xxxxxxx` a line by its MSHR, `10xxxxxx` a write, `11xxxxxx` what else the system has there.

use super::{Bank, BankData, Op};
use crate::heads::Flags;
use crate::msg::MemRsp;
use weft_blocks::common::arbiter::{Pick, RoundRobin};
use weft_blocks::common::mshr::{MshrFile, MshrMatch};
use weft_rtl::prelude::*;

/// Who has written to memory and waits for its acknowledgement.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(crate) struct Writer {
    #[width(p.srsp.cu_bits())]
    pub src: Bits,
    #[width(p.srsp.wbt_bits())]
    pub wbt: Bits,
    #[width(1)]
    pub epoch: Bits,
}

/// What is kept of each request under way, by its number.
pub(crate) struct NumberedFile<T: Data> {
    rows: Memory<T>,
    writer: LaneWriter<T>,
}

impl<T: Data> NumberedFile<T> {
    /// Declares `n` rows.
    pub fn new(name: &str, n: u32, shape: &T::Shape) -> NumberedFile<T> {
        let rows = regfile::<T>(name, n, shape.clone()).fields(&[("queue", width_of::<T>(shape))]);
        let writer = rows.lane_writer("put");
        NumberedFile { rows, writer }
    }
    /// What is kept of one.
    pub fn read(&self, number: Bits) -> T {
        self.rows.read(number)
    }
    /// Keeps something of one.
    pub fn write(&self, number: Bits, value: &T) {
        self.writer.write(number, value);
    }
}

/// Some number is free, and the lowest.
pub(crate) fn free_in(flags: &Flags) -> (Bool, Bits) {
    let valid = flags.get();
    (!valid.all(), (!valid).lowest_set())
}

/// The number of a request of a class.
pub(crate) fn numbered(class: u64, id: Bits) -> Bits {
    cat(&[lit(class, 2), id.resize(6)])
}

/// Lines on their way, with what is kept of their MSHRs beside (`E`), and the channel on which they come.
pub(crate) struct Lines<T: Data, E> {
    pub rsp: InChannel<MemRsp>,
    pub mshrs: MshrFile<T>,
    pub landed: Flags,
    pub beside: E,
    landing_in: LaneWriter<Bits>,
    landing: SramPort<Bits>,
}

impl<T: Data<Shape = Bank>, E> Lines<T, E> {
    /// Declares channel, MSHRs and `places` for lines that have come.
    pub fn new(bank: &Bank, places: u32, open: Bool, beside: impl FnOnce() -> E) -> Lines<T, E> {
        let (n, bits) = (bank.mshrs, bank.srsp.data_bits());
        let landing = sram::<Bits>("landing", places, 1, bits).fields(&[("queue", bits)]);
        Lines {
            rsp: in_channel_when::<MemRsp>("mem_rsp", &bank.srsp, open),
            mshrs: MshrFile::new("mshr", n, bank.targets, bank.srsp.line_bits(), bank),
            landed: Flags::new("mshr_landed", n),
            beside: beside(),
            landing_in: landing.lane_writer("put"),
            landing: landing.read_port("look"),
        }
    }

    /// Keeps what has come.
    pub fn land(&self, place: Bits) {
        self.landing_in.write(place, &self.rsp.msg.data);
    }

    /// Presents what has come; it is read in the next cycle.
    pub fn present(&self, place: Bits) {
        self.landing.present(place);
    }

    /// What was presented in the cycle before.
    pub fn line(&self) -> Bits {
        self.landing.lane(0)
    }
}

/// Writes that are not acknowledged, with what the system keeps of them beside (`E`).
pub(crate) struct Writes<E> {
    n: u32,
    pub valid: Flags,
    pub beside: E,
    /// Those whose acknowledgement an L1 waits for.
    around: Reg<Bits>,
    pub acked: Flags,
    pub writers: NumberedFile<Writer>,
    freed: Wire<Bits>,
}

impl<E> Writes<E> {
    /// Declares the registers.
    pub fn new(bank: &Bank, beside: impl FnOnce() -> E) -> Writes<E> {
        let n = bank.writes;
        Writes {
            n,
            valid: Flags::new("writes_valid", n),
            beside: beside(),
            around: reg::<Bits>("writes_around", n).field("state"),
            acked: Flags::new("writes_acked", n),
            writers: NumberedFile::new("writes_of", n, bank),
            freed: wire_zero::<Bits>("writes_freed", n),
        }
    }

    /// Memory acknowledges the write of a mask; `gone`: a wire for those that nobody waits for.
    pub fn acknowledge(&self, one: Bits, gone: &Wire<Bits>) {
        self.acked.raise(one & self.around.get());
        gone.set(one & !self.around.get());
    }

    /// Those gone, and those whose writer was answered, are free.
    pub fn release(&self, gone: &Wire<Bits>) {
        self.valid.lower(gone.get() | self.freed.get());
    }

    /// An answer enters the pipeline, of a write or of a request of another kind, whose flags `done` are: whether it is of those, and the request's number.
    pub fn answered(&self, index: Bits, done: &Flags) -> (Bool, Bits) {
        let other = index.ge(u64::from(self.n));
        let number = mux(other, index - u64::from(self.n), index).resize(bits_for(u64::from(self.n)));
        let one = number.one_hot(self.n);
        let none = lit_bv(Bv::zero(self.n));
        self.acked.lower(mux(other, none, one));
        done.lower(mux(other, one, none));
        (other, number)
    }

    /// The writer of a mask's was answered.
    pub fn close(&self, one: Bits) {
        self.freed.set(one);
    }

    /// A write goes to memory; `around`: `writer` gets its acknowledgement. `beside`: notes what else is kept of the one of a mask.
    pub fn open(&self, around: Bool, writer: &Writer, beside: impl FnOnce(&E, Bits)) {
        let one = free_in(&self.valid).1.one_hot(self.n);
        self.valid.raise(one);
        beside(&self.beside, one);
        self.around.set((self.around.get() & !one) | (one & around.repeat(self.n)));
        self.writers.write(free_in(&self.valid).1, writer);
    }
}

/// State of the unit that serves a line's targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub(crate) enum FillState {
    Idle,
    Serve,
}

/// The unit that serves a line's targets, and then what else memory has answered.
pub(crate) struct Fills {
    bank: Bank,
    state: Reg<Enum<FillState>>,
    filling: Reg<Bits>,
    place: Reg<Bits>,
    fill_order: RoundRobin,
    ack_order: RoundRobin,
}

/// What enters the pipeline first.
pub(crate) struct Offer {
    /// A target of the line that has come; else
    pub more: Bool,
    /// a line that has come; else
    pub begins: Bool,
    /// another answer of memory.
    pub answers: Bool,
    mshr: Bits,
    serving: Bool,
    fill: Pick,
    ack: Pick,
}

impl Fills {
    /// Declares the registers.
    pub fn new(bank: &Bank) -> Fills {
        Fills {
            bank: bank.clone(),
            state: reg::<Enum<FillState>>("fill_state", ()),
            filling: reg::<Bits>("fill_mshr", bank.mshr_bits()),
            place: reg::<Bits>("fill_place", bits_for(u64::from(bank.targets) + 1)),
            fill_order: RoundRobin::new("fill_order", bank.mshrs),
            ack_order: RoundRobin::new("ack_order", 2 * bank.writes),
        }
    }

    /// The unit keeps the pipeline to itself.
    pub fn reserves(&self) -> Bool {
        self.state.get().is(FillState::Serve)
    }

    /// What there is; `acks`: other answers of memory.
    pub fn offer<T: Data, E>(&self, lines: &Lines<T, E>, acks: impl FnOnce() -> Bits) -> Offer {
        let serving = self.reserves();
        let mshr = self.filling.get();
        let more = serving & self.place.get().ne(lines.mshrs.count(mshr));
        let fill = self.fill_order.pick(lines.landed.get());
        let ack = self.ack_order.pick(acks());
        let begins = !serving & fill.any;
        let answers = !serving & !fill.any & ack.any;
        Offer { more, begins, answers, mshr, serving, fill, ack }
    }

    /// A target enters if there is one: `serve` gets it and its line. After the last one the MSHR is free, which `done` is told.
    pub fn serve<T: Data, E>(
        &self,
        (offer, enter): (&Offer, Bool),
        lines: &Lines<T, E>,
        serve: impl FnOnce(&T, Bits),
        done: impl FnOnce(Bits),
    ) {
        let mshr = offer.mshr;
        when(enter & offer.more, || {
            let target = lines.mshrs.target(mshr, self.place.get().resize(self.bank.target_bits()));
            serve(&target, lines.mshrs.line(mshr));
            self.place.set(self.place.get() + 1);
        });
        when(offer.serving & !offer.more & enter, || {
            lines.mshrs.free(mshr);
            done(mshr);
            self.state.set(FillState::Idle);
        });
    }

    /// A line that has come enters if there is one, as an operation of kind `fill`, else as `blank`; `about` gets the line.
    pub fn begin<T: Data, E, K: HwEnum, A: BankData>(
        &self,
        (offer, enter): (&Offer, Bool),
        lines: &Lines<T, E>,
        (op, fill, blank): (&Wire<Op<K, A>>, K, &Op<K, A>),
        about: impl FnOnce(Bits) -> A,
    ) {
        let mshr = offer.fill.index;
        when(enter & offer.begins, || {
            let own = mshr.resize(self.bank.own_bits());
            let about = about(lines.mshrs.line(mshr));
            op.set(Op { kind: enum_lit(fill), own, about, ..*blank });
            lines.landed.lower(mshr.one_hot(self.bank.mshrs));
            self.fill_order.granted(mshr);
            self.filling.set(mshr);
            self.place.set(0);
            self.state.set(FillState::Serve);
        });
    }

    /// Another answer enters if there is one: `answer` gets its place among them.
    pub fn answer(&self, (offer, enter): (&Offer, Bool), answer: impl FnOnce(Bits)) {
        when(enter & offer.answers, || {
            answer(offer.ack.index);
            self.ack_order.granted(offer.ack.index);
        });
    }
}

/// Requests that a system has at memory beside lines and writes, as many as writes.
pub(crate) trait Others {
    /// Those under way.
    fn there(&self) -> &Flags;
    /// Those that memory has answered.
    fn done(&self) -> &Flags;
}

/// Everything under way at memory: lines, writes, and what else the system has there (`X`).
pub(crate) struct UnderWay<T: Data, L, W, X> {
    pub bank: Bank,
    pub lines: Lines<T, L>,
    pub writes: Writes<W>,
    pub own: X,
    pub fills: Fills,
}

/// What memory has answered.
pub(crate) struct Came {
    /// A line, of this MSHR; else
    pub line: Bool,
    pub mshr: Bits,
    /// what the system has there beside writes; else a write.
    pub other: Bool,
    /// The number of those, and its bit.
    pub index: Bits,
    pub one: Bits,
}

impl<T: Data<Shape = Bank>, L, W, X: Others> UnderWay<T, L, W, X> {
    /// What stands in the answer of memory.
    fn came(&self) -> Came {
        let id = self.lines.rsp.msg.id;
        let line = !id.bit(7);
        let other = id.bit(7) & id.bit(6);
        let mshr = id.slice(0, 7).resize(self.bank.mshr_bits());
        let index = id.slice(0, 6).resize(self.bank.write_bits());
        Came { line, other, mshr, index, one: index.one_hot(self.bank.writes) }
    }

    /// Takes memory's answers; `lands` keeps one that is no acknowledgement of a write.
    pub fn land(&self, lands: impl FnOnce(&Came) -> When) {
        let (came, rsp) = (self.came(), &self.lines.rsp);
        let gone = wire_zero::<Bits>("writes_gone", self.bank.writes);
        when(rsp.valid, || {
            rsp.take();
            lands(&came).otherwise(|| self.writes.acknowledge(came.one, &gone));
        });
        self.writes.release(&gone);
        let waiting = self.lines.mshrs.valid() & !self.lines.landed.get();
        let of = |there: &Flags, done: &Flags| (there.get() & !done.get()).bit_at(came.index);
        let others = of(self.own.there(), self.own.done());
        let beside = mux(came.other, others, of(&self.writes.valid, &self.writes.acked));
        let expected = mux(came.line, waiting.bit_at(came.mshr), beside);
        let text = "memory answers once, and only what it was asked";
        assert_always("memory_answer_expected", !rsp.valid | expected, text);
    }

    /// What there is to enter the pipeline.
    pub fn offer(&self) -> Offer {
        self.fills.offer(&self.lines, || cat(&[self.own.done().get(), self.writes.acked.get()]))
    }

    /// An answer that is no line enters the pipeline: whether it is of the system's own requests, and the request's number.
    pub fn answered(&self, index: Bits) -> (Bool, Bits) {
        self.writes.answered(index, self.own.done())
    }

    /// An entry for a write is free, and which.
    pub fn write_free(&self) -> (Bool, Bits) {
        free_in(&self.writes.valid)
    }

    /// The transaction of a line.
    pub fn find(&self, line: Bits) -> MshrMatch {
        self.lines.mshrs.find(line)
    }

    /// An entry for one of the system's own requests is free, and which.
    pub fn other_free(&self) -> (Bool, Bits) {
        free_in(self.own.there())
    }

    /// An MSHR, a write and one of the system's own requests can begin.
    pub fn supplies(&self) -> Bool {
        self.write_free().0 & self.other_free().0 & !self.lines.mshrs.full()
    }

    /// A request of the system's own goes to memory: its number.
    pub fn open_other(&self) -> Bits {
        let free = self.other_free().1;
        self.own.there().raise(free.one_hot(self.bank.writes));
        free
    }

    /// A request of an L1 was answered: one of the system's own, or a write.
    pub fn close(&self, number: Bits, own: Bool) {
        let one = number.resize(self.bank.write_bits()).one_hot(self.bank.writes);
        when(own, || self.own.there().lower(one)).otherwise(|| self.writes.close(one));
    }

    /// Changes the flags, those of `beside` after those of lines; called once.
    pub fn connect(&self, beside: impl FnOnce(&L)) {
        self.lines.landed.connect();
        beside(&self.lines.beside);
        let rest = [&self.writes.valid, &self.writes.acked, self.own.there(), self.own.done()];
        rest.into_iter().for_each(Flags::connect);
    }
}
