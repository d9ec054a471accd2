//! The port between a compute unit and its L1 (`cu-and-consistency.md` section 1.1), and who watches it.

use serde::{Deserialize, Serialize};
use weft_blocks::msg::{AmoOp, CuOp};
use weft_workload::{AmoKind, Op, Scope, Sem};

/// Transaction numbers of a compute unit: 12 bits.
pub const IDS: usize = 4096;

/// Answer kind: data of a load, or old values of an atomic.
pub const KIND_DATA: u8 = 0;
/// Answer kind: acknowledgement of a store, release, acquire, kernel begin or end.
pub const KIND_ACK: u8 = 1;

/// One access of a compute unit to its L1, as on channel `cu_req`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineAccess {
    /// Operation.
    #[serde(with = "cu_op")]
    pub op: CuOp,
    /// Physical line number: byte address / line size. 0 for operations without an address.
    pub line: u64,
    /// One bit per byte of the line.
    pub mask: u128,
    /// Bytes in place, little-endian: byte `i` of the line is byte `i mod 8` of word `i / 8`.
    pub data: [u64; 16],
    /// Atomic operation.
    #[serde(with = "amo_op")]
    pub amo: AmoOp,
    /// Atomic minimum and maximum compare as signed numbers.
    pub sgn: bool,
    /// Expected old value of a compare-and-swap.
    pub cmp: u64,
    /// Transaction number, 12 bits; the answer carries it.
    pub id: u16,
    /// A store is acknowledged when it is performed; without it the store gets no answer.
    pub want_ack: bool,
    /// Ordered access (effective class P).
    pub sync: bool,
    /// 0 relaxed, 1 acquire, 2 release, 3 both.
    pub sem: u8,
    /// 0 CU, 1 GPU, 2 system.
    pub scope: u8,
    /// Remote scope promotion.
    pub remote: bool,
    /// Effective class: 0 D, 1 P, 2 U, 3 C, 4 N, 5 S, 6 Q.
    pub class: u8,
    /// The accessed array is read-only for the kernel.
    pub region: bool,
    /// 4-bit placement hint.
    pub hint: u8,
    /// A request of the DMA engine: an access of class D that is not to leave a copy in the L1.
    pub dma: bool,
}

impl LineAccess {
    /// An access without address, mask and attributes.
    pub fn bare(op: CuOp) -> Self {
        Self {
            op,
            line: 0,
            mask: 0,
            data: [0; 16],
            amo: AmoOp::Add,
            sgn: false,
            cmp: 0,
            id: 0,
            want_ack: false,
            sync: false,
            sem: 0,
            scope: 2,
            remote: false,
            class: 0,
            region: false,
            hint: 0,
            dma: false,
        }
    }
}

/// One answer of the L1, as on channel `cu_rsp`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineReply {
    /// Transaction number of the access.
    pub id: u16,
    /// [`KIND_DATA`] or [`KIND_ACK`].
    pub kind: u8,
    /// Bytes answered; an access is answered when all bytes of its mask are.
    pub mask: u128,
    /// Bytes in place.
    pub data: [u64; 16],
    /// Who served it (section 1.1): 0 L1, 1 local L2, 3 DRAM of the home, 4 L2 of another GPU, 5 DRAM behind it.
    pub src: u8,
    /// Answered by a miss that another access had opened in the L1.
    pub merged: bool,
}

/// The wave that made an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Who {
    /// Node: the GPU, or {GPU, GPM}.
    pub gpu: u32,
    /// GPMs of a GPU, for sentences.
    pub gpms: u32,
    /// Compute unit of the node.
    pub cu: u32,
    /// [`weft_workload::Kernel::id`].
    pub kernel: u32,
    /// Work-group in flattened order.
    pub block: u32,
    /// Wave in its work-group.
    pub wave: u32,
}

/// Where an access comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issuer {
    /// The wave.
    pub who: Who,
    /// Number of its memory operation along the wave, in program order; all accesses of an operation share it. Releases and acquires count.
    pub operation: u32,
}

/// Watches what the waves of a compute unit do to memory. It changes nothing.
pub trait CuObserver {
    /// A load is answered: the bytes of `mask` in `data` go to the wave. `issued` is the tick in which the L1 took the
    /// access, `done` that of its last answer.
    fn load(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], issued: u64, done: u64) {
        let _ = (who, line, mask, data, issued, done);
    }

    /// A load or atomic is answered, by `src` as in [`LineReply`]; `merged` by the miss of another access.
    fn served(&mut self, who: &Who, access: &LineAccess, src: u8, merged: bool) {
        let _ = (who, access, src, merged);
    }

    /// The L1 has accepted a store of the bytes of `mask` in cycle `now`.
    fn store(&mut self, who: &Who, line: u64, mask: u128, data: &[u64; 16], now: u64) {
        let _ = (who, line, mask, data, now);
    }

    /// An atomic is answered: `old` holds the old values at the bytes of `access.mask`, `access.data` the operands.
    fn amo(&mut self, who: &Who, access: &LineAccess, old: &[u64; 16], issued: u64, done: u64) {
        let _ = (who, access, old, issued, done);
    }

    /// A wave issues an operation other than a fence, a barrier or its end; `number` is that of [`Issuer`] if it is one of memory with active lanes.
    fn operation(&mut self, who: &Who, number: u32, op: &Op) {
        let _ = (who, number, op);
    }

    /// A wave issues a fence, of which the L1 answers so many `parts`.
    fn fence(&mut self, who: &Who, fence: (Sem, Scope), parts: u32, now: u64) {
        let _ = (who, fence, parts, now);
    }

    /// The L1 has taken an access, a release or an acquire of a wave's operation in cycle `now`. `addr` is the line's byte address in the program.
    fn taken(&mut self, from: &Issuer, access: &LineAccess, addr: u64, now: u64) {
        let _ = (from, access, addr, now);
    }

    /// An access that was taken is complete, with the old values of a load or atomic.
    fn complete(&mut self, who: &Who, access: &LineAccess, old: Option<&[u64; 16]>, now: u64) {
        let _ = (who, access, old, now);
    }

    /// The barrier of the work-group of `who`, its last wave to arrive, opens.
    fn barrier(&mut self, who: &Who, now: u64) {
        let _ = (who, now);
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl CuObserver for NoObserver {}

/// The hardware's name of an atomic.
pub(super) fn amo_op(kind: AmoKind) -> AmoOp {
    match kind {
        AmoKind::Add => AmoOp::Add,
        AmoKind::Sub => AmoOp::Sub,
        AmoKind::Inc => AmoOp::Inc,
        AmoKind::Dec => AmoOp::Dec,
        AmoKind::And => AmoOp::And,
        AmoKind::Or => AmoOp::Or,
        AmoKind::Xor => AmoOp::Xor,
        AmoKind::Min => AmoOp::Min,
        AmoKind::Max => AmoOp::Max,
        AmoKind::Exch => AmoOp::Exch,
        AmoKind::Cas => AmoOp::Cas,
        AmoKind::Fadd32 => AmoOp::Fadd32,
    }
}

macro_rules! enum_as_number {
    ($name:ident, $type:ident, [$($value:ident),*]) => {
        mod $name {
            use serde::{Deserialize, Deserializer, Serializer, de::Error};
            use weft_blocks::msg::$type;

            const ALL: &[$type] = &[$($type::$value),*];

            pub fn serialize<S: Serializer>(value: &$type, out: S) -> Result<S::Ok, S::Error> {
                out.serialize_u8(ALL.iter().position(|v| v == value).unwrap_or(0) as u8)
            }

            pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<$type, D::Error> {
                let index = u8::deserialize(from)?;
                let unknown = || D::Error::custom(concat!("unknown ", stringify!($type)));
                ALL.get(usize::from(index)).copied().ok_or_else(unknown)
            }
        }
    };
}

enum_as_number!(cu_op, CuOp, [Ld, St, Amo, Rel, Acq, Kbegin, Kend]);
enum_as_number!(amo_op, AmoOp, [Add, Sub, Inc, Dec, And, Or, Xor, Min, Max, Exch, Cas, Fadd32]);
