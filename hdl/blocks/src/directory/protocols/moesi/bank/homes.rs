//! The home side of `moesi-l2`: requests of other nodes that the slice, or memory, has not answered.
//!
//! ```text
//!  asked -> forwarded -> free
//!  asked -> answered -> its turn -+-> free
//!                                 +-> memory is read -> fetched -> Data -> free
//! ```

use super::mshrs::Mshrs;
use super::table::Asked;
use crate::cache::l2::L2Params;
use crate::cache::l2::mshr::Flags;
use crate::msg::{Gives, HomeAnswer};
use weft_rtl::prelude::*;

/// A request of another node.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Home {
    #[width(p.sys.line_bits())]
    pub line: Bits,
    pub asked: Enum<Asked>,
    #[width(p.sys.node_bits())]
    pub src: Bits,
    /// Its transaction number.
    #[width(p.sys.l2_id_bits())]
    pub id: Bits,
    /// Of a Put: it brings data.
    pub dirty: Bool,
}

/// The table of operations: transaction numbers from [`Mshrs::count`] on.
pub(super) struct Homes {
    pub used: Flags,
    /// The slice has answered.
    pub answered: Flags,
    /// Memory has.
    pub fetched: Flags,
    /// The owner of its line sends it: the place is free.
    forwarded: Wire<Bits>,
    first: u32,
    pub count: u32,
    rows: Memory<Home>,
    writer: LaneWriter<Home>,
    answers: Memory<Enum<HomeAnswer>>,
    answer_writer: LaneWriter<Enum<HomeAnswer>>,
    gives: Memory<Enum<Gives>>,
    gives_writer: LaneWriter<Enum<Gives>>,
    /// A Put's bytes; then memory's.
    bytes: Memory<Bits>,
    put_writer: LaneWriter<Bits>,
    fetch_writer: LaneWriter<Bits>,
}

impl Homes {
    pub fn new(p: &L2Params) -> Homes {
        let first = Mshrs::count(p);
        let n = p.sys.l2_mshrs - first;
        let bits = p.sys.data_bits();
        let rows = regfile::<Home>("homes", n, p.clone()).fields(&[("queue", width_of::<Home>(p))]);
        let answers = regfile::<Enum<HomeAnswer>>("home_answers", n, ()).fields(&[("queue", 3)]);
        let gives = regfile::<Enum<Gives>>("home_gives", n, ()).fields(&[("queue", 3)]);
        let bytes = regfile::<Bits>("home_bytes", n, bits).fields(&[("queue", bits)]);
        Homes {
            used: Flags::new("home_used", n),
            answered: Flags::new("home_answered", n),
            fetched: Flags::new("home_fetched", n),
            forwarded: wire_zero::<Bits>("home_forwarded", n),
            first,
            count: n,
            writer: rows.lane_writer("in"),
            rows,
            answer_writer: answers.lane_writer("in"),
            answers,
            gives_writer: gives.lane_writer("in"),
            gives,
            put_writer: bytes.lane_writer("put"),
            fetch_writer: bytes.lane_writer("fetched"),
            bytes,
        }
    }

    /// Width of a place's number.
    pub fn bits(&self) -> u32 {
        bits_for(u64::from(self.count))
    }

    /// A place is free, also behind a request that has the slot now.
    pub fn room(&self, in_slot: Bool) -> Bool {
        let free = !self.used.now.get();
        let two = if self.count > 1 { free.popcount().ge(2) } else { bool_lit(false) };
        mux(in_slot, two, free.any())
    }

    /// The place that is taken next.
    pub fn free(&self) -> Bits {
        (!self.used.now.get()).lowest_set()
    }

    /// Transaction number of a place.
    pub fn number(&self, index: Bits, p: &L2Params) -> Bits {
        let bits = p.sys.l2_id_bits();
        index.resize(bits) + u64::from(self.first)
    }

    /// The place of a transaction number, if it is one.
    pub fn place(&self, id: Bits) -> (Bool, Bits) {
        let here = id.ge(u64::from(self.first));
        (here, (id - u64::from(self.first)).resize(self.bits()))
    }

    pub fn begin(&self, home: &Home, bytes: Bits) {
        let index = self.free();
        self.writer.write(index, home);
        self.put_writer.write(index, &bytes);
        self.used.raise(index);
    }

    pub fn get(&self, index: Bits) -> (Home, Enum<HomeAnswer>, Enum<Gives>, Bits) {
        let (answer, gives) = (self.answers.read(index), self.gives.read(index));
        (self.rows.read(index), answer, gives, self.bytes.read(index))
    }

    /// The slice answers: the request has a turn, unless an owner sends the line.
    pub fn answer(&self, index: Bits, answer: Enum<HomeAnswer>) {
        self.answer_writer.write(index, &answer);
        when(answer.is(HomeAnswer::Forwarded), || self.forwarded.set(index.one_hot(self.count)))
            .otherwise(|| self.answered.raise(index));
    }

    /// Memory is read, to give this.
    pub fn fetches(&self, index: Bits, gives: Enum<Gives>) {
        self.gives_writer.write(index, &gives);
    }

    /// Memory answers.
    pub fn fetched(&self, index: Bits, bytes: Bits) {
        self.fetch_writer.write(index, &bytes);
        self.fetched.raise(index);
    }

    pub fn connect(&self) {
        self.used.connect_without(self.forwarded.get());
        self.answered.connect();
        self.fetched.connect();
    }
}
