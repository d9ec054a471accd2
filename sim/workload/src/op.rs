//! The operations of a wave (`cu-and-consistency.md` sections 1, 1.1, 1.3 and 2).

use serde::{Deserialize, Serialize};

use crate::mapping::{MapKind, Mapping};

mod hint;

pub use hint::{Hint, Hinted, Request};

/// Name of a result inside one wave. Small and dense: an executor keeps a table indexed by it.
///
/// A token keeps its value until an operation produces it again; a program produces a token again only after it has
/// awaited it.
pub type Token = u32;

/// One bit per lane, bit 0 = lane 0; at most 64 lanes. A set bit is an active lane.
pub type LaneMask = u64;

/// Ordering class of an access (section 1.3): the model of a run turns it into the effective class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Class {
    /// Data.
    #[default]
    D,
    /// Paired synchronisation.
    P,
    /// Unpaired.
    U,
    /// Commutative.
    C,
    /// Non-ordering.
    N,
    /// Speculative.
    S,
    /// Quantum.
    Q,
}

/// What a synchronisation access orders (2 bits at the L1 port, section 1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Sem {
    /// Nothing.
    #[default]
    Relaxed,
    /// Later accesses stay behind it.
    Acquire,
    /// Earlier accesses stay before it.
    Release,
    /// Both.
    AcquireRelease,
}

/// How far a synchronisation reaches (2 bits at the L1 port, section 1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Scope {
    /// All waves that share an L1.
    Cu,
    /// All CUs of one GPU.
    Gpu,
    /// Everything.
    #[default]
    Sys,
}

/// Execution unit of a compute operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// Integer and floating-point arithmetic.
    #[default]
    Alu,
    /// Special functions: division, roots, transcendentals.
    Sfu,
    /// Address and scratchpad path.
    Mem,
}

/// Kind of an atomic read-modify-write (section 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AmoKind {
    /// `old + v`
    Add,
    /// `old - v`
    Sub,
    /// `old >= v ? 0 : old + 1`
    Inc,
    /// `old == 0 || old > v ? v : old - 1`
    Dec,
    /// `old & v`
    And,
    /// `old | v`
    Or,
    /// `old ^ v`
    Xor,
    /// The smaller of `old` and `v`.
    Min,
    /// The larger of `old` and `v`.
    Max,
    /// `v`
    Exch,
    /// `old == compare ? v : old`
    Cas,
    /// Single-precision `old + v`, rounded to nearest; 4 bytes only.
    Fadd32,
}

impl AmoKind {
    /// New value of a word of `size` bytes (1, 2, 4, 8) that held `old`. Bits above `size` of every operand are ignored
    /// and zero in the result; `signed` selects the order that [`AmoKind::Min`] and [`AmoKind::Max`] use.
    pub fn apply(self, size: u8, signed: bool, old: u64, v: u64, compare: u64) -> u64 {
        let mask = size_mask(size);
        let (old, v, compare) = (old & mask, v & mask, compare & mask);
        let less = |a: u64, b: u64| if signed { sign_extend(a, size) < sign_extend(b, size) } else { a < b };
        let new = match self {
            Self::Add => old.wrapping_add(v),
            Self::Sub => old.wrapping_sub(v),
            Self::Inc => {
                if old >= v {
                    0
                } else {
                    old + 1
                }
            }
            Self::Dec => {
                if old == 0 || old > v {
                    v
                } else {
                    old - 1
                }
            }
            Self::And => old & v,
            Self::Or => old | v,
            Self::Xor => old ^ v,
            Self::Min => {
                if less(v, old) {
                    v
                } else {
                    old
                }
            }
            Self::Max => {
                if less(old, v) {
                    v
                } else {
                    old
                }
            }
            Self::Exch => v,
            Self::Cas => {
                if old == compare {
                    v
                } else {
                    old
                }
            }
            Self::Fadd32 => u64::from((f32::from_bits(old as u32) + f32::from_bits(v as u32)).to_bits()),
        };
        new & mask
    }
}

/// All bits of a word of `size` bytes (1, 2, 4 or 8).
pub fn size_mask(size: u8) -> u64 {
    if size >= 8 { u64::MAX } else { (1 << (8 * u32::from(size))) - 1 }
}

fn sign_extend(v: u64, size: u8) -> i64 {
    let shift = 64 - 8 * u32::from(size.min(8));
    ((v << shift) as i64) >> shift
}

/// Byte address of each lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Addrs {
    /// Lane `i` accesses `base + i * stride` (bytes; `i` is the lane's number, active or not).
    Strided {
        /// Address of lane 0.
        base: u64,
        /// Bytes from one lane to the next; 0 = every lane the same word.
        stride: i64,
    },
    /// One address per lane, indexed by lane number; entries of inactive lanes are ignored.
    Lanes(Vec<u64>),
}

impl Addrs {
    /// Address of lane `lane`; 0 beyond the end of an explicit list.
    #[inline]
    pub fn at(&self, lane: u32) -> u64 {
        match self {
            Self::Strided { base, stride } => base.wrapping_add_signed(stride.wrapping_mul(i64::from(lane))),
            Self::Lanes(list) => list.get(lane as usize).copied().unwrap_or(0),
        }
    }
}

/// Value of each lane of a store or an atomic. Only the low `size` bytes count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Values {
    /// The same value in every lane.
    Const(u64),
    /// One value per lane, indexed by lane number.
    Lanes(Vec<u64>),
    /// The lane values of a token, which must be complete before the operation issues.
    Token(Token),
}

/// A global-memory access of one wave: the fields that loads, stores and atomics share.
///
/// Every active lane's address is a multiple of `size`; anything else is a program error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Bytes per lane: 1, 2, 4 or 8.
    pub size: u8,
    /// Address of each lane.
    pub addrs: Addrs,
    /// Active lanes.
    pub mask: LaneMask,
    /// Ordering class.
    pub class: Class,
    /// Ordering of a class P access; `Relaxed` = the default of its kind (load acquire, store release, atomic both).
    pub sem: Sem,
    /// Scope, used when the run honours scopes.
    pub scope: Scope,
    /// Remote scope promotion (sRSP).
    pub remote: bool,
    /// The program declares the accessed array read-only for the kernel.
    pub read_only: bool,
    /// [`Hint::bits`]: the request that suits the access best; 0 = the L1's own choice.
    pub hint: u8,
}

impl Access {
    /// A plain data access of `size` bytes per lane.
    pub fn data(size: u8, addrs: Addrs, mask: LaneMask) -> Self {
        Self {
            size,
            addrs,
            mask,
            class: Class::D,
            sem: Sem::Relaxed,
            scope: Scope::Sys,
            remote: false,
            read_only: false,
            hint: 0,
        }
    }

    /// A data access to an array that nothing writes during the kernel.
    pub fn read_only(size: u8, addrs: Addrs, mask: LaneMask) -> Self {
        Self { read_only: true, ..Self::data(size, addrs, mask) }
    }
}

/// A scratchpad access: byte addresses from the start of the work-group's own scratchpad.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LdsAccess {
    /// Bytes per lane: 1, 2, 4 or 8.
    pub size: u8,
    /// Scratchpad address of each lane.
    pub addrs: Addrs,
    /// Active lanes.
    pub mask: LaneMask,
}

/// One operation in a wave's in-order queue (section 1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    /// Arithmetic that takes time; its values are computed by the program itself.
    Compute {
        /// Unit it runs on.
        unit: Unit,
        /// Ticks until `token` is complete.
        latency: u32,
        /// Ticks until the unit takes the next operation; 0 = the CU's default, lanes / alu_width.
        occupancy: u32,
        /// Results that must be complete before it issues.
        needs: Vec<Token>,
        /// Result it completes, if anything waits for it. It has no value.
        token: Option<Token>,
    },
    /// Load; the lane values go to `token`, zero-extended to 64 bits.
    Load {
        /// Result.
        token: Token,
        /// What it accesses.
        access: Access,
    },
    /// Store.
    Store {
        /// What it accesses.
        access: Access,
        /// Value of each lane.
        values: Values,
    },
    /// Atomic read-modify-write. Lanes on one word happen one after the other in lane order.
    Amo {
        /// Result: the old values if `ret`, else only completion.
        token: Token,
        /// What it accesses.
        access: Access,
        /// Which operation.
        kind: AmoKind,
        /// Whether minimum and maximum compare as signed numbers.
        signed: bool,
        /// Operand of each lane.
        values: Values,
        /// Expected old value of a compare-and-swap.
        compare: u64,
        /// Whether the old values are wanted.
        ret: bool,
    },
    /// Fence: waits for everything of the wave, then releases and/or acquires.
    Fence {
        /// Acquire, release or both.
        sem: Sem,
        /// How far.
        scope: Scope,
    },
    /// Scratchpad load; zero-extended lane values.
    LdsLoad {
        /// Result.
        token: Token,
        /// What it accesses.
        access: LdsAccess,
    },
    /// Scratchpad store.
    LdsStore {
        /// What it accesses.
        access: LdsAccess,
        /// Value of each lane.
        values: Values,
    },
    /// Scratchpad atomic; as [`Op::Amo`], old values always returned.
    LdsAmo {
        /// Result: the old values.
        token: Token,
        /// What it accesses.
        access: LdsAccess,
        /// Which operation.
        kind: AmoKind,
        /// Whether minimum and maximum compare as signed numbers.
        signed: bool,
        /// Operand of each lane.
        values: Values,
        /// Expected old value of a compare-and-swap.
        compare: u64,
    },
    /// A mapping between the local and the global memory begins or ends (section 8).
    Map {
        /// What happens.
        kind: MapKind,
        /// Which elements.
        map: Mapping,
    },
    /// Load from a stash, at local addresses of a mapping of the work-group; zero-extended lane values.
    StashLoad {
        /// Result.
        token: Token,
        /// What it accesses.
        access: LdsAccess,
    },
    /// Store to a stash, at local addresses of a mapping of the work-group.
    StashStore {
        /// What it accesses.
        access: LdsAccess,
        /// Value of each lane.
        values: Values,
    },
    /// Wait until every live wave of the work-group is here (section 1.2).
    Barrier,
    /// Wait until the tokens are complete; the program is stepped after it.
    Await {
        /// Tokens to wait for.
        tokens: Vec<Token>,
    },
    /// The wave has finished; always the last operation.
    End,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amo_results_follow_the_table() {
        let apply = |kind: AmoKind, old, v| kind.apply(4, false, old, v, 0);
        assert_eq!(apply(AmoKind::Add, 0xffff_ffff, 2), 1);
        assert_eq!(apply(AmoKind::Sub, 1, 2), 0xffff_ffff);
        assert_eq!(apply(AmoKind::Inc, 4, 5), 5);
        assert_eq!(apply(AmoKind::Inc, 5, 5), 0);
        assert_eq!(apply(AmoKind::Dec, 0, 5), 5);
        assert_eq!(apply(AmoKind::Dec, 6, 5), 5);
        assert_eq!(apply(AmoKind::Dec, 5, 5), 4);
        assert_eq!(apply(AmoKind::Min, 0xffff_ffff, 1), 1);
        assert_eq!(AmoKind::Min.apply(4, true, 0xffff_ffff, 1, 0), 0xffff_ffff);
        assert_eq!(AmoKind::Max.apply(1, true, 0x80, 0x7f, 0), 0x7f);
        assert_eq!(AmoKind::Cas.apply(8, false, 7, 9, 7), 9);
        assert_eq!(AmoKind::Cas.apply(8, false, 8, 9, 7), 8);
        let sum =
            AmoKind::Fadd32.apply(4, false, u64::from(1.5f32.to_bits()), u64::from(2.25f32.to_bits()), 0);
        assert_eq!(f32::from_bits(sum as u32), 3.75);
    }

    #[test]
    fn hints_fill_four_bits() {
        assert_eq!(Hint::default().bits(), 0);
        assert_eq!((Hint::line(Request::ReqV).bits(), Hint::word(Request::ReqWtFwd).bits()), (9, 6));
        for bits in 0..=u8::MAX {
            let legal = bits < 16 && bits & 7 != 7;
            assert_eq!(Hint::of(bits).map(Hint::bits), legal.then_some(bits));
        }
    }

    #[test]
    fn requests_serve_the_accesses_of_section_8() {
        let fitting = |on| Request::ALL.into_iter().filter(|r| Hint::word(*r).fits(on)).collect::<Vec<_>>();
        use Request::{Own, ReqO, ReqOData, ReqS, ReqV, ReqWt, ReqWtFwd};
        assert_eq!(fitting(Hinted::Load), [Own, ReqV, ReqS, ReqOData]);
        assert_eq!(fitting(Hinted::Store), [Own, ReqO, ReqOData, ReqWt, ReqWtFwd]);
        assert_eq!(fitting(Hinted::Atomic), [Own, ReqOData, ReqWt]);
    }

    #[test]
    fn strided_addresses_count_lanes_not_active_lanes() {
        let a = Addrs::Strided { base: 100, stride: -4 };
        assert_eq!(a.at(0), 100);
        assert_eq!(a.at(3), 88);
        assert_eq!(Addrs::Lanes(vec![8, 16]).at(1), 16);
    }
}
