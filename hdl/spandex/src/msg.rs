//! Messages between devices and the LLC, each defined once (spandex.md section 2).
//!
//! A line number is a byte address without its line-offset bits; a mask has one bit per word. Nodes are the devices `0..N_DEV`, then the banks. Four virtual networks, all unordered:
//!
//! | network | message | from | to | may wait for |
//! | --- | --- | --- | --- | --- |
//! | REQ | [`Req`] | device | bank | FWD, WB, RSP |
//! | FWD | [`Fwd`] | bank; device (`direct`) | device | WB, RSP |
//! | WB | [`Wb`] | device | bank | RSP |
//! | RSP | [`Rsp`] | any | device (its requestor); bank | nothing: always taken |
//!
//! Of a message with data only the words of its mask (for [`RspOp::RspV`] of mask and `xmask`) mean something, and only they count as flits.

use crate::params::{Spandex, WORD};
use weft_rtl::prelude::*;

/// What a request with data does to each of its words; the old value goes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub enum WordOp {
    /// Atomic read.
    Read,
    /// Atomic write.
    Write,
    /// The bytes of `bmask` are written: a byte store.
    Merge,
    /// Sum.
    Add,
    /// Old value less operand.
    Sub,
    /// Old value + 1, or 0 when the old value is at least the operand.
    Inc,
    /// Old value - 1, or the operand when the old value is 0 or above it.
    Dec,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Unsigned minimum.
    Min,
    /// Unsigned maximum.
    Max,
    /// Signed minimum (beyond the page's list, for the CU port's signed atomics).
    SMin,
    /// Signed maximum.
    SMax,
    /// Exchange.
    Exch,
    /// Compare and swap, of one word only.
    Cas,
}

/// Kinds of [`Req`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum ReqOp {
    /// Self-invalidated read.
    ReqV,
    /// Writer-invalidated read.
    ReqS,
    /// Write-through of whole words.
    ReqWt,
    /// Ownership of words that will be overwritten wholly.
    ReqO,
    /// Update at the LLC; the old value comes back (ReqWT+data).
    ReqWtData,
    /// Ownership and data (ReqO+data).
    ReqOData,
}

/// Device to bank, network REQ.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub struct Req {
    /// Kind.
    pub op: Enum<ReqOp>,
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Words asked for.
    #[width(p.words())]
    pub mask: Bits,
    /// Requesting device.
    #[width(p.dev_bits())]
    #[below(p.devs())]
    pub src: Bits,
    /// Bank's node.
    #[width(p.node_bits())]
    #[below(p.nodes())]
    pub dst: Bits,
    /// Transaction of the device.
    #[width(p.tag_bits())]
    pub tag: Bits,
    /// ReqV: the responder may add words of the line that it has.
    pub flex: Bool,
    /// ReqWt: to be forwarded to the owner with its data, which stays owner.
    pub fwd: Bool,
    /// ReqWtData: what is done.
    pub amo: Enum<WordOp>,
    /// ReqWtData with `Cas`: compare operand.
    #[width(32)]
    pub cmp: Bits,
    /// ReqWtData with `Merge`: bytes of each word that are written.
    #[width(4)]
    pub bmask: Bits,
    /// ReqWt, ReqWtData: words in place.
    #[width(p.data_bits())]
    pub data: Bits,
}

/// Flex L1 to its translation unit (channel `l1_req`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub struct FlexReq {
    /// The request, as the LLC would get it.
    #[shape(p.clone())]
    pub req: Req,
    /// Words that were refused are asked for again: at the LLC, whoever may own them.
    pub again: Bool,
}

/// The same where somebody outside names the owner of the first word.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub struct GuessedReq {
    /// What the L1 asks.
    #[shape(p.clone())]
    pub flex: FlexReq,
    /// The word has an owner.
    pub known: Bool,
    /// Who it is.
    #[width(p.dev_bits())]
    #[below(p.devs())]
    pub owner: Bits,
}

/// Kinds of [`Fwd`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum FwdOp {
    /// Read for somebody else; state stays.
    ReqV,
    /// Read with a copy that the LLC will invalidate; the owner becomes a sharer or drops the words.
    ReqS,
    /// Ownership goes, without data.
    ReqO,
    /// Ownership goes, with data.
    #[hw(label = "ReqO+data")]
    ReqOData,
    /// Words written for somebody else; the owner stays owner.
    #[hw(label = "ReqWT")]
    ReqWt,
    /// Ownership goes back to the LLC, with data.
    RvkO,
    /// A shared line goes.
    Inv,
}

/// Bank, or (`direct`) device, to device, network FWD.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub struct Fwd {
    /// Kind.
    pub op: Enum<FwdOp>,
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Words that the requestor wants; of RvkO and Inv none.
    #[width(p.words())]
    pub mask: Bits,
    /// ReqS, RvkO: words that the owner loses.
    #[width(p.words())]
    pub own: Bits,
    /// Sending node.
    #[width(p.node_bits())]
    #[below(p.nodes())]
    pub src: Bits,
    /// Device that gets it.
    #[width(p.dev_bits())]
    #[below(p.devs())]
    pub dst: Bits,
    /// Device that asked, which gets the answer; of RvkO and Inv the bank does.
    #[width(p.dev_bits())]
    #[below(p.devs())]
    pub req: Bits,
    /// Transaction of the device that asked.
    #[width(p.tag_bits())]
    pub tag: Bits,
    /// ReqS, RvkO, Inv: transaction of the bank, returned to it.
    #[width(p.tbe_bits())]
    pub tbe: Bits,
    /// ReqV: words beyond the mask are welcome.
    pub flex: Bool,
    /// ReqO: to be answered RspWt instead of RspO.
    pub for_wt: Bool,
    /// Sent by a device that guesses the owner: served in stable O only.
    pub direct: Bool,
    /// ReqWt: words in place.
    #[width(p.data_bits())]
    pub data: Bits,
}

/// Device to bank, network WB (ReqWB): owned words come back.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub struct Wb {
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Words given back.
    #[width(p.words())]
    pub mask: Bits,
    /// Sending device.
    #[width(p.dev_bits())]
    #[below(p.devs())]
    pub src: Bits,
    /// Bank's node.
    #[width(p.node_bits())]
    #[below(p.nodes())]
    pub dst: Bits,
    /// Transaction of the device.
    #[width(p.tag_bits())]
    pub tag: Bits,
    /// The words differ from memory.
    pub dirty: Bool,
    /// Words in place; clean ones too, since the LLC kept the owner's number in their place.
    #[width(p.data_bits())]
    pub data: Bits,
}

/// Kinds of [`Rsp`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
pub enum RspOp {
    /// Words of a ReqV, and extras.
    RspV,
    /// Words of a ReqS.
    RspS,
    /// Ownership.
    RspO,
    /// Ownership and data.
    #[hw(label = "RspO+data")]
    RspOData,
    /// Written through.
    #[hw(label = "RspWT")]
    RspWt,
    /// Updated at the LLC; the old words.
    #[hw(label = "RspWT+data")]
    RspWtData,
    /// Answer to a write-back.
    #[hw(label = "RspWB")]
    RspWb,
    /// To a bank: words of a RvkO or fwd ReqS.
    RspRvkO,
    /// To a bank: answer to Inv.
    Ack,
    /// The words of a ReqV are not here.
    NackV,
    /// The words of a forwarded ReqWt are not here.
    #[hw(label = "NackWT")]
    NackWt,
}

/// Any node to a device that has asked, or device to bank, network RSP; always taken.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub struct Rsp {
    /// Kind.
    pub op: Enum<RspOp>,
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Words answered.
    #[width(p.words())]
    pub mask: Bits,
    /// RspV: further words of the line, which answer nothing. RspWb: words for which the bank has sent a removal that crosses the write-back (`cross`).
    #[width(p.words())]
    pub extra: Bits,
    /// Sending node.
    #[width(p.node_bits())]
    #[below(p.nodes())]
    pub src: Bits,
    /// Receiving node.
    #[width(p.node_bits())]
    #[below(p.nodes())]
    pub dst: Bits,
    /// Transaction of the receiver: of a device, or a bank's TBE.
    #[width(p.tag_bits())]
    pub tag: Bits,
    /// RspRvkO: no data, a write-back brings it.
    pub nodata: Bool,
    /// RspRvkO: the device keeps the words as a sharer.
    pub kept_s: Bool,
    /// RspRvkO, and RspOData from a former owner: the words differ from memory. (The page gives only RspRvkO the bit; without it a clean write-back of the new owner would lose them.)
    pub dirty: Bool,
    /// NackV, NackWt: answers a direct request.
    pub direct: Bool,
    /// Words in place.
    #[width(p.data_bits())]
    pub data: Bits,
}

/// Bank to its memory controller (channel `mem_req`); kept in order per line.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub struct MemReq {
    /// A write, else a read.
    pub write: Bool,
    /// TBE, given back.
    #[width(p.tbe_bits())]
    pub tbe: Bits,
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// The line of a write.
    #[width(p.data_bits())]
    pub data: Bits,
}

/// Memory controller to bank (channel `mem_rsp`; always taken): the answer to a read; writes are not answered.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub struct MemRsp {
    /// TBE of the read.
    #[width(p.tbe_bits())]
    pub tbe: Bits,
    /// The line.
    #[width(p.data_bits())]
    pub data: Bits,
}

/// Memory controller to one of its banks, as it comes from memory: a [`MemRsp`] and whose it is.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub struct ControllerRsp {
    /// Bank that has read.
    #[width(p.bank_bits())]
    pub bank: Bits,
    /// TBE of the read.
    #[width(p.tbe_bits())]
    pub tbe: Bits,
    /// The line.
    #[width(p.data_bits())]
    pub data: Bits,
}

/// Kinds of [`GpuReq`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum GpuOp {
    /// Read of a line.
    Rd,
    /// Write-through of whole words.
    Wt,
    /// Atomic on words at the LLC.
    At,
}

/// L1 with GPU coherence to its translation unit (channel `l1_req`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub struct GpuReq {
    /// Kind.
    pub op: Enum<GpuOp>,
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Words written or updated.
    #[width(p.words())]
    pub mask: Bits,
    /// Transaction: an MSHR of a read or atomic, a store buffer entry (after the MSHRs) of a write.
    #[width(p.tag_bits())]
    pub tag: Bits,
    /// At: what is done.
    pub amo: Enum<WordOp>,
    /// At with `Cas`: compare operand.
    #[width(32)]
    pub cmp: Bits,
    /// At with `Merge`: bytes of each word that are written.
    #[width(4)]
    pub bmask: Bits,
    /// Wt, At: words in place.
    #[width(p.data_bits())]
    pub data: Bits,
}

/// Translation unit to L1 with GPU coherence (channel `l1_rsp`; always taken): one answer per request, when all its words have come.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub struct GpuRsp {
    /// Kind of the request.
    pub op: Enum<GpuOp>,
    /// Its transaction.
    #[width(p.tag_bits())]
    pub tag: Bits,
    /// Rd: some words came from another device, not from the LLC.
    pub peer: Bool,
    /// Rd: the line; At: the old words.
    #[width(p.data_bits())]
    pub data: Bits,
}

/// Bytes of a flit (spandex.md section 1).
const FLIT: u32 = 16;

/// Flits of a message: the header, and the words of `mask` if it has data.
fn flits(p: &Spandex, data: Bool, mask: Bits) -> Bits {
    let words = mask.popcount().zext(p.flit_bits() + 2);
    let body = (words + lit(u64::from(FLIT * 8 / WORD - 1), p.flit_bits() + 2)).slice(2, p.flit_bits());
    lit(1, p.flit_bits()) + (body & data.repeat(p.flit_bits()))
}

/// What the network must know of a message.
pub trait Routed: Data<Shape = Spandex> {
    /// Flits, [`Spandex::flit_bits`] wide.
    fn flits(&self, p: &Spandex) -> Bits;
    /// Receiving node.
    fn to(&self, p: &Spandex) -> Bits;
    /// Width of a node's number in this message.
    fn node_bits(p: &Spandex) -> u32 {
        p.node_bits()
    }
}

impl Routed for Req {
    fn flits(&self, p: &Spandex) -> Bits {
        let data = self.op.is(ReqOp::ReqWt) | (self.op.is(ReqOp::ReqWtData) & !self.amo.is(WordOp::Read));
        flits(p, data, self.mask)
    }
    fn to(&self, _: &Spandex) -> Bits {
        self.dst
    }
}

impl Routed for Fwd {
    fn flits(&self, p: &Spandex) -> Bits {
        flits(p, self.op.is(FwdOp::ReqWt), self.mask)
    }
    fn to(&self, p: &Spandex) -> Bits {
        self.dst.zext(p.node_bits())
    }
}

impl Routed for Wb {
    fn flits(&self, p: &Spandex) -> Bits {
        flits(p, bool_lit(true), self.mask)
    }
    fn to(&self, _: &Spandex) -> Bits {
        self.dst
    }
}

impl Routed for Rsp {
    fn flits(&self, p: &Spandex) -> Bits {
        let data = self.op.is_any(&[RspOp::RspV, RspOp::RspS, RspOp::RspOData, RspOp::RspWtData])
            | (self.op.is(RspOp::RspRvkO) & !self.nodata);
        let extra = self.extra & self.op.is(RspOp::RspV).repeat(p.words());
        flits(p, data, self.mask | extra)
    }
    fn to(&self, _: &Spandex) -> Bits {
        self.dst
    }
}
