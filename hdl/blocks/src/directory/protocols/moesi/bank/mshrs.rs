//! The lines that a bank of `moesi-l2` has asked for.
//!
//! ```text
//!  open -> (homed here: answered -> memory is read) -> landed -> installed, served -> Done -> free
//! ```

use crate::cache::l2::L2Params;
use crate::cache::l2::mshr::Flags;
use crate::msg::{Gives, OwnerRsp, RspMsg};
use weft_rtl::prelude::*;

/// What an MSHR knows.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = L2Params)]
pub(super) struct Open {
    #[width(p.sys.line_bits())]
    pub line: Bits,
    /// Where it is reserved a place.
    #[width(p.set_bits())]
    pub set: Bits,
    #[width(p.way_bits())]
    pub way: Bits,
    /// The right to write is asked for.
    pub modified: Bool,
}

/// What has come.
#[derive(Clone, Copy, Bundle)]
pub(super) struct Landed {
    /// What is given: Shared, Exclusive or Modified.
    pub gives: Enum<Gives>,
    /// Bytes have come with it.
    pub bytes: Bool,
    /// Memory was asked.
    pub from_dram: Bool,
    /// Another node has sent it.
    pub far: Bool,
}

/// The MSHRs of the own node: numbers below [`Mshrs::count`].
pub(super) struct Mshrs {
    p: L2Params,
    pub used: Flags,
    pub landed: Flags,
    /// Memory is to be read for it.
    pub fetch: Flags,
    /// The slice lets this node write a line of this home: the own copy is looked at, and memory read if there is none.
    pub granted: Flags,
    open: Memory<Open>,
    opener: LaneWriter<Open>,
    what: Memory<Landed>,
    what_net: LaneWriter<Landed>,
    /// What memory's answer will give.
    given: Memory<Landed>,
    given_writer: LaneWriter<Landed>,
    bytes: Memory<Bits>,
    bytes_net: LaneWriter<Bits>,
}

impl Mshrs {
    /// Their number: three quarters of all transactions of a bank; the others are those of the home side.
    pub fn count(p: &L2Params) -> u32 {
        p.mshr_quota()
    }

    pub fn new(p: &L2Params) -> Mshrs {
        let n = Mshrs::count(p);
        let open = regfile::<Open>("mshrs", n, p.clone()).fields(&[("MSHR", width_of::<Open>(p))]);
        let record = |name: &str| regfile::<Landed>(name, n, ()).fields(&[("MSHR", width_of::<Landed>(&()))]);
        let (what, given) = (record("mshr_landed"), record("mshr_given"));
        let bits = p.sys.data_bits();
        let bytes = regfile::<Bits>("mshr_bytes", n, bits).fields(&[("landing", bits)]);
        Mshrs {
            used: Flags::new("mshr_used", n),
            landed: Flags::new("mshr_full", n),
            fetch: Flags::new("mshr_fetch", n),
            granted: Flags::new("mshr_granted", n),
            opener: open.lane_writer("open"),
            what_net: what.lane_writer("land"),
            given_writer: given.lane_writer("give"),
            bytes_net: bytes.lane_writer("land"),
            open,
            what,
            given,
            bytes,
            p: p.clone(),
        }
    }

    fn each(&self, test: impl Fn(&Open) -> Bool) -> Bits {
        let here = |i: u32| self.used.now.get().bit(i) & test(&self.open.entry(i));
        pack_bools(&(0..Mshrs::count(&self.p)).map(here).collect::<Vec<_>>())
    }

    /// The one of a line, if it is open.
    pub fn of_line(&self, line: Bits) -> Bits {
        self.each(|open| open.line.eq(line))
    }

    /// Ways of a set that are reserved.
    pub fn reserved(&self, set: Bits) -> Bits {
        let ways = self.p.ways;
        let entry = |i: u32| {
            let open = self.open.entry(i);
            open.way.one_hot(ways) & (self.used.now.get().bit(i) & open.set.eq(set)).repeat(ways)
        };
        (1..Mshrs::count(&self.p)).fold(entry(0), |all, i| all | entry(i))
    }

    /// The lowest free one.
    pub fn free(&self) -> Bits {
        (!self.used.now.get()).lowest_set()
    }

    /// None is free.
    pub fn full(&self) -> Bool {
        self.used.now.get().all()
    }

    pub fn begin(&self, index: Bits, open: &Open) {
        self.opener.write(index, open);
        self.used.raise(index);
    }

    pub fn get(&self, index: Bits) -> Open {
        self.open.read(index)
    }

    /// What has come for one.
    pub fn what(&self, index: Bits) -> (Landed, Bits) {
        (self.what.read(index), self.bytes.read(index))
    }

    /// An answer of the network, or of memory, lands.
    pub fn land(&self, index: Bits, what: &Landed, bytes: Bits) {
        self.what_net.write(index, what);
        self.bytes_net.write(index, &bytes);
        self.landed.raise(index);
    }

    /// Memory is to be read, for a line of this home.
    pub fn to_fetch(&self, index: Bits, gives: Enum<Gives>) {
        let (yes, no) = (bool_lit(true), bool_lit(false));
        self.given_writer.write(index, &Landed { gives, bytes: yes, from_dram: yes, far: no });
        self.fetch.raise(index);
    }

    /// What memory's answer gives.
    pub fn given(&self, index: Bits) -> Landed {
        self.given.read(index)
    }

    /// It is over.
    pub fn end(&self, index: Bits) {
        self.used.lower(index);
        self.landed.lower(index);
    }

    pub fn connect(&self) {
        self.used.connect();
        self.landed.connect();
        self.fetch.connect();
        self.granted.connect();
    }
}

/// Data that an owner or a home has sent.
pub(super) fn of_network(msg: &RspMsg, owner: &OwnerRsp) -> Landed {
    Landed {
        gives: owner.gives,
        bytes: msg.kind.is(crate::msg::ReqKind::Rd),
        from_dram: msg.from_dram,
        far: bool_lit(true),
    }
}
