//! What wavefronts ask of an L1, and the requests of the CU port for it.

use crate::l1_bench::banks::LINE;
use crate::l1_bench::mask;
use rand::Rng;
use rand::rngs::SmallRng;
use weft_blocks::msg::{AmoOp, CuOp, CuReq, Sys};
use weft_rtl::bv::Bv;
use weft_srsp::msg::SyncOp;
use weft_srsp_bench::bench::Msg;
use weft_srsp_bench::memory::Access;

pub const RLX: u64 = 0;
pub const ACQ: u64 = 1;
pub const REL: u64 = 2;
pub const AR: u64 = 3;

/// What a wavefront asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Load(u64),
    Store(u64, u64, bool),
    /// An access with its semantics, scope and remote bit, which hLRC does not look at.
    Sync(Access, (u64, u64, bool)),
    Fence {
        acquire: bool,
        scope: u64,
    },
    Begin,
    End,
}

impl Ask {
    /// Byte address; 0 of what has none.
    pub fn addr(self) -> u64 {
        match self {
            Ask::Load(addr) | Ask::Store(addr, ..) => addr,
            Ask::Sync(a, ..) => a.addr,
            _ => 0,
        }
    }

    /// Bytes that it accesses, in their line.
    pub fn mask(self) -> u64 {
        match self {
            Ask::Load(addr) | Ask::Store(addr, ..) => mask(addr),
            Ask::Sync(a, ..) => (if a.wide { 0xff } else { 0xf }) << (a.addr % LINE),
            _ => 0,
        }
    }

    /// Checks that an answer is of its kind, and says which bytes were accessed.
    pub fn check(self, m: &Msg) {
        let value = match self {
            Ask::Load(_) => true,
            Ask::Sync(a, ..) => a.op != SyncOp::St,
            _ => false,
        };
        assert_eq!((m.get("kind"), m.get("mask")), (u64::from(!value), self.mask()), "{self:?}");
    }

    /// The request with this number.
    pub fn message(self, cu: &Sys, id: u64) -> Msg {
        let plain = |op: CuOp, addr: u64, ack: bool| {
            let fields = [("op", op as u64), ("sync", 0), ("class", 0), ("want_ack", u64::from(ack))];
            Msg::of::<CuReq>(cu, &[&at(id, addr, 4)[..], &fields].concat())
        };
        let bare = |op: CuOp| Msg::of::<CuReq>(cu, &[("id", id), ("op", op as u64)]);
        match self {
            Ask::Load(addr) => plain(CuOp::Ld, addr, false),
            Ask::Store(addr, value, ack) => plain(CuOp::St, addr, ack).with("data", data(addr, value)),
            Ask::Sync(a, (sem, scope, remote)) => {
                let (op, amo, signed) = cu_op(a.op);
                let fields = [
                    ("op", op as u64),
                    // Of what orders nothing the class alone tells that it is an atomic.
                    ("sync", u64::from(sem != RLX || id.is_multiple_of(2))),
                    ("class", 1),
                    ("sem", sem),
                    ("scope", scope),
                    ("remote", u64::from(remote)),
                    ("want_ack", 1),
                    ("amo", amo as u64),
                    ("sgn", u64::from(signed)),
                    ("cmp", a.cmp),
                ];
                let size = if a.wide { 8 } else { 4 };
                let msg = Msg::of::<CuReq>(cu, &[&at(id, a.addr, size)[..], &fields].concat());
                msg.with("data", data(a.addr, a.opnd))
            }
            Ask::Fence { acquire, scope } => {
                let op = if acquire { CuOp::Acq } else { CuOp::Rel };
                Msg::of::<CuReq>(cu, &[("id", id), ("op", op as u64), ("scope", scope)])
            }
            Ask::Begin => bare(CuOp::Kbegin),
            Ask::End => bare(CuOp::Kend),
        }
    }
}

fn at(id: u64, addr: u64, size: u64) -> [(&'static str, u64); 3] {
    [("id", id), ("line", addr / LINE), ("mask", ((1 << size) - 1) << (addr % LINE))]
}

/// A line with a word in its place.
fn data(addr: u64, value: u64) -> Bv {
    let mut limbs = [0x5a5a_5a5a_5a5a_5a5a_u64; 8];
    let (limb, shift) = ((addr % LINE / 8) as usize, addr % 8 * 8);
    limbs[limb] = if shift == 0 { value } else { (limbs[limb] & 0xffff_ffff) | (value << 32) };
    Bv::from_limbs(&limbs, 8 * LINE as u32)
}

/// What the CU sends for an operation, and whether it compares signed.
fn cu_op(op: SyncOp) -> (CuOp, AmoOp, bool) {
    let amo = match op {
        SyncOp::Ld => return (CuOp::Ld, AmoOp::Add, false),
        SyncOp::St => return (CuOp::St, AmoOp::Add, false),
        SyncOp::Add => AmoOp::Add,
        SyncOp::Sub => AmoOp::Sub,
        SyncOp::Inc => AmoOp::Inc,
        SyncOp::Dec => AmoOp::Dec,
        SyncOp::And => AmoOp::And,
        SyncOp::Or => AmoOp::Or,
        SyncOp::Xor => AmoOp::Xor,
        SyncOp::Min | SyncOp::SMin => AmoOp::Min,
        SyncOp::Max | SyncOp::SMax => AmoOp::Max,
        SyncOp::Exch => AmoOp::Exch,
        SyncOp::Cas => AmoOp::Cas,
        SyncOp::Fadd32 => AmoOp::Fadd32,
    };
    (CuOp::Amo, amo, [SyncOp::SMin, SyncOp::SMax].contains(&op))
}

/// The bits of a word of 4 or 8 bytes.
pub fn word_of(wide: bool) -> u64 {
    if wide { u64::MAX } else { 0xffff_ffff }
}

/// A word at an edge of its range, near another one, or anywhere.
pub fn extreme(rng: &mut SmallRng, near: u64) -> u64 {
    let edges = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 63, (1 << 63) - 1, u64::MAX];
    match rng.random_range(0..4) {
        0 => edges[rng.random_range(0..edges.len())],
        1 => near.wrapping_add(rng.random_range(0..5)).wrapping_sub(2),
        2 => near,
        _ => rng.random(),
    }
}
