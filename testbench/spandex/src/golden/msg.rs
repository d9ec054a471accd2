//! The messages of spandex.md section 2 as plain data. Lines are line numbers; devices are numbered as in section 1, CPUs first.
//!
//! `tag` is the requestor's transaction in every message, in fwd ReqS too: a bank finds the TBE that waits for an RspRvkO or Ack by its line, since it has one per line.
//! The page gives fwd ReqS one tag for both uses, which is one too few.

use std::hash::{Hash, Hasher};

/// Words of a line, bit i = word i.
pub type Mask = u16;
/// Words of a line at most.
pub const MAX_WORDS: usize = 16;

/// The words of a mask, ascending.
pub fn words(mask: Mask) -> impl Iterator<Item = usize> {
    (0..MAX_WORDS).filter(move |word| mask >> word & 1 == 1)
}

/// Words of a line; those without meaning are zero, so that equal messages are equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Data(pub [u32; MAX_WORDS]);

impl Hash for Data {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let used = self.0.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
        state.write_u8(used as u8);
        self.0[..used].chunks(2).for_each(|pair| {
            let high = pair.get(1).copied().unwrap_or_default();
            state.write_u64(u64::from(pair[0]) | u64::from(high) << 32);
        });
    }
}

impl Data {
    /// Only these words.
    pub fn only(&self, mask: Mask) -> Data {
        let mut out = Data::default();
        out.merge(mask, self);
        out
    }
    /// Takes these words from another line.
    pub fn merge(&mut self, mask: Mask, other: &Data) {
        words(mask).for_each(|word| self.0[word] = other.0[word]);
    }
    /// The same value in these words.
    pub fn fill(mask: Mask, value: u32) -> Data {
        let mut out = Data::default();
        words(mask).for_each(|word| out.0[word] = value);
        out
    }
}

/// Word operations of ReqWT+data and of an owner.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum AmoOp {
    Read,
    Write,
    Merge,
    Add,
    Sub,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Min,
    Max,
    Exch,
    Cas,
}

/// An update of the masked words of a line, each with its own operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Amo {
    /// Operation.
    pub op: AmoOp,
    /// CAS: compared with.
    pub cmp: u32,
    /// MERGE: bytes written, 4 bits.
    pub bmask: u8,
}

impl Amo {
    /// An operation without a comparison.
    pub fn new(op: AmoOp) -> Amo {
        Amo { op, cmp: 0, bmask: 0 }
    }
    /// Whether words may change.
    pub fn modifies(&self) -> bool {
        self.op != AmoOp::Read
    }
    /// What is in a word afterwards. INC and DEC wrap at the operand, MIN and MAX are unsigned.
    pub fn result(&self, old: u32, v: u32) -> u32 {
        let bytes =
            (0..4).filter(|byte| self.bmask >> byte & 1 == 1).fold(0, |m, byte| m | 0xff << (8 * byte));
        match self.op {
            AmoOp::Read => old,
            AmoOp::Write | AmoOp::Exch => v,
            AmoOp::Merge => old & !bytes | v & bytes,
            AmoOp::Add => old.wrapping_add(v),
            AmoOp::Sub => old.wrapping_sub(v),
            AmoOp::Inc if old >= v => 0,
            AmoOp::Inc => old + 1,
            AmoOp::Dec if old == 0 || old > v => v,
            AmoOp::Dec => old - 1,
            AmoOp::And => old & v,
            AmoOp::Or => old | v,
            AmoOp::Xor => old ^ v,
            AmoOp::Min => old.min(v),
            AmoOp::Max => old.max(v),
            AmoOp::Cas if old == self.cmp => v,
            AmoOp::Cas => old,
        }
    }
}

/// An end point of the network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Node {
    Dev(u8),
    Bank(u8),
}

/// Operation with its extra fields.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Op {
    // VN REQ
    ReqV { flex: bool },
    ReqS,
    ReqWt { fwd: bool },
    ReqO,
    ReqWtData(Amo),
    ReqOData,
    // VN FWD
    FwdReqV { flex: bool, direct: bool },
    FwdReqS,
    FwdReqO { for_wt: bool },
    FwdReqOData,
    FwdReqWt { direct: bool },
    RvkO,
    Inv,
    // VN WB
    ReqWb { dirty: bool },
    // VN RSP
    RspV { xmask: Mask },
    RspS,
    RspO,
    RspOData { dirty: bool },
    RspWt,
    RspWtData,
    RspWb { cross: Mask },
    RspRvkO { nodata: bool, kept_s: bool, dirty: bool },
    Ack,
    NackV { direct: bool },
    NackWt { direct: bool },
}

/// Virtual network.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Vn {
    Req,
    Fwd,
    Wb,
    Rsp,
}

impl Op {
    /// The network it travels on.
    pub fn vn(&self) -> Vn {
        match self {
            Op::ReqV { .. } | Op::ReqS | Op::ReqWt { .. } | Op::ReqO | Op::ReqWtData(_) | Op::ReqOData => {
                Vn::Req
            }
            Op::FwdReqV { .. } | Op::FwdReqS | Op::FwdReqO { .. } | Op::FwdReqOData | Op::FwdReqWt { .. } => {
                Vn::Fwd
            }
            Op::RvkO | Op::Inv => Vn::Fwd,
            Op::ReqWb { .. } => Vn::Wb,
            _ => Vn::Rsp,
        }
    }
}

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Msg {
    /// Where to.
    pub dst: Node,
    /// What.
    pub op: Op,
    /// Line number.
    pub line: u32,
    /// Words meant.
    pub mask: Mask,
    /// Forwards: all words that the receiver owns, as far as they are meant (section 4.3).
    pub own: Mask,
    /// From where.
    pub src: Node,
    /// Forwards: the device that is to be answered.
    pub req: u8,
    /// Transaction of that device.
    pub tag: u8,
    /// Masked words.
    pub data: Data,
}

impl Msg {
    /// Without data.
    pub fn new(src: Node, dst: Node, op: Op, line: u32, mask: Mask, tag: u8) -> Msg {
        let req = if let Node::Dev(dev) = src { dev } else { 0 };
        Msg { dst, op, line, mask, own: mask, src, req, tag, data: Data::default() }
    }
    /// With the masked words of a line.
    pub fn with(mut self, data: &Data) -> Msg {
        self.data = data.only(self.mask);
        self
    }
    /// The device that sent it.
    pub fn device(&self) -> u8 {
        match self.src {
            Node::Dev(dev) => dev,
            Node::Bank(_) => u8::MAX,
        }
    }
}
