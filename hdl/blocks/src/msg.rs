//! Messages between the blocks of the REC fabrics, each defined once (rec.md section 5, cu-and-consistency.md section 1.1).
//!
//! A line number is a byte address without its line-offset bits. Bank numbers and L1 numbers are plain binary. A node is what has a home directory
//! of its own: a GPU, or, where GPUs are made of modules (hmg.md section 1), a GPM; its number is {GPU, GPM}.

use weft_rtl::prelude::*;

mod fence;
pub mod owners;
mod sys;

pub use fence::*;
pub use owners::*;
pub use sys::{Sys, node_text};

/// Operations of the CU port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum CuOp {
    /// Load.
    Ld,
    /// Store.
    St,
    /// Atomic read-modify-write of one naturally aligned word of 4 or 8 bytes (the mask says which).
    Amo,
    /// Release.
    Rel,
    /// Acquire.
    Acq,
    /// Kernel begins (acquire of system scope).
    Kbegin,
    /// Kernel ends (release of system scope).
    Kend,
}

/// Atomic operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 4)]
#[allow(missing_docs)]
pub enum AmoOp {
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
    /// 32-bit IEEE addition; a behavioural extension that no block of the REC fabrics implements.
    Fadd32,
}

/// CU to L1 (channel `cu_req`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct CuReq {
    /// Operation.
    pub op: Enum<CuOp>,
    /// Ordered access (paired or sequentially consistent).
    pub sync: Bool,
    /// 0 relaxed, 1 acquire, 2 release, 3 both.
    #[width(2)]
    pub sem: Bits,
    /// 0 CU, 1 GPU, 2 system.
    #[width(2)]
    pub scope: Bits,
    /// Remote-scope promotion (sRSP).
    pub remote: Bool,
    /// Access class of cu-and-consistency.md section 1.3.
    #[width(3)]
    pub class: Bits,
    /// 1: read-only region.
    pub region: Bool,
    /// Protocol hint.
    #[width(4)]
    pub hint: Bits,
    /// A store is acknowledged when it is performed; without it a store is complete when it is taken and gets no response.
    pub want_ack: Bool,
    /// Atomic operation.
    pub amo: Enum<AmoOp>,
    /// Atomic compares signed.
    pub sgn: Bool,
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// One bit per byte.
    #[width(p.line)]
    pub mask: Bits,
    /// Bytes in place.
    #[width(p.data_bits())]
    pub data: Bits,
    /// Compare operand.
    #[width(64)]
    pub cmp: Bits,
    /// Transaction number of the CU.
    #[width(12)]
    pub id: Bits,
}

/// L1 to CU (channel `cu_rsp`; the CU always accepts).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct CuRsp {
    /// Transaction number of the CU.
    #[width(12)]
    pub id: Bits,
    /// 0 data, 1 acknowledgement.
    #[width(2)]
    pub kind: Bits,
    /// Bytes answered.
    #[width(p.line)]
    pub mask: Bits,
    /// Bytes in place; for an atomic the old value in its place.
    #[width(p.data_bits())]
    pub data: Bits,
    /// Who served it: 0 L1, 1 local L2, 2 L2 of another GPM of this GPU, 3 DRAM of the home in this GPU, 4 L2 of another GPU, 5 DRAM behind another GPU.
    #[width(3)]
    pub src: Bits,
    /// Answered by a miss that another request had opened in the L1.
    pub merged: Bool,
}

/// Kinds of memory requests below the L1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum ReqKind {
    /// Read of a line.
    Rd,
    /// Write of the masked bytes.
    Wr,
    /// Atomic on one word.
    Atom,
    /// Fence message between fence units (REQ and RSP networks); its [`FenceOrder`] is the request's `scope`, the answer's lowest `id` bits.
    Fence,
    /// The sender's slice holds no line of the group of `line` any more (hmg.md section 4, sharer downgrade); without an answer.
    Down,
    /// RSP only: the sender has dropped its copies of the group of a line, which stands in the lowest bits of `data` (GPU-VI, hmg.md section 8).
    Ack,
}

/// L1 to L2 bank, through the GPU's crossbar (channel `l2_req` at the L1, `local_req` at the bank).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct L1Req {
    /// Rd, Wr or Atom.
    pub kind: Enum<ReqKind>,
    /// Sending L1.
    #[width(p.l1_bits())]
    #[below(p.l1s)]
    pub l1: Bits,
    /// Line number; the bank follows from it.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Bytes written, or the atomic's word.
    #[width(p.line)]
    pub mask: Bits,
    /// Bytes in place; the atomic's operand at its word.
    #[width(p.data_bits())]
    pub data: Bits,
    /// Atomic operation.
    pub amo: Enum<AmoOp>,
    /// Atomic compares signed.
    pub sgn: Bool,
    /// Compare operand.
    #[width(64)]
    pub cmp: Bits,
    /// Scope of a load or atomic, with write-back of a store too (else 0): 0 CU, 1 GPU, 2 system.
    #[width(2)]
    pub scope: Bits,
    /// Transaction number of the L1.
    #[width(p.l1_id_bits())]
    pub id: Bits,
}

/// L2 bank to L1 (channel `local_rsp` at the bank, `l2_rsp` at the L1).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct L1Rsp {
    /// What was asked: Rd (line data), Wr (accepted in the bank's pipeline), Atom (old value at its word).
    pub kind: Enum<ReqKind>,
    /// Receiving L1.
    #[width(p.l1_bits())]
    #[below(p.l1s)]
    pub l1: Bits,
    /// Transaction number of the L1.
    #[width(p.l1_id_bits())]
    pub id: Bits,
    /// Line data, or the old value in place.
    #[width(p.data_bits())]
    pub data: Bits,
    /// Server, as in [`CuRsp`].
    #[width(3)]
    pub src: Bits,
}

/// REQ network (bank to home bank of another GPU; Fence between fence units).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct ReqMsg {
    /// Kind.
    pub kind: Enum<ReqKind>,
    /// Sending node.
    #[width(p.node_bits())]
    #[below(p.nodes())]
    pub src: Bits,
    /// Receiving node.
    #[width(p.node_bits())]
    #[below(p.nodes())]
    pub dst: Bits,
    /// Line number; the bank follows from it.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Requester's transaction number in its bank.
    #[width(p.l2_id_bits())]
    pub id: Bits,
    /// Requester's fence epoch.
    #[width(1)]
    pub epoch: Bits,
    /// The requester's L2 may keep a copy.
    pub cacheable: Bool,
    /// Scope as in [`L1Req`], 0 of dirty bytes that are written on; of a fence request its [`FenceOrder`].
    #[width(2)]
    pub scope: Bits,
    /// Bytes written, or the atomic's word.
    #[width(p.line)]
    pub mask: Bits,
    /// Bytes in place.
    #[width(p.data_bits())]
    pub data: Bits,
    /// Atomic operation.
    pub amo: Enum<AmoOp>,
    /// Atomic compares signed.
    pub sgn: Bool,
    /// Compare operand.
    #[width(64)]
    pub cmp: Bits,
    /// With owners.
    #[shape(p.with_owners())]
    pub owner: Option<OwnerReq>,
}

/// RSP network.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct RspMsg {
    /// Kind of the request answered (Fence: FenceAck to the fence unit).
    pub kind: Enum<ReqKind>,
    /// Sending node.
    #[width(p.node_bits())]
    #[below(p.nodes())]
    pub src: Bits,
    /// Receiving node.
    #[width(p.node_bits())]
    #[below(p.nodes())]
    pub dst: Bits,
    /// Receiving bank.
    #[width(p.bank_bits())]
    #[below(p.banks)]
    pub bank: Bits,
    /// Requester's transaction number.
    #[width(p.l2_id_bits())]
    pub id: Bits,
    /// Epoch of the request. In an answer to a read: the data is from another GPU than the answering one.
    #[width(1)]
    pub epoch: Bits,
    /// Line data, or an atomic's old value in place. Fence (hierarchical fabrics): the serial of the marker that is acknowledged in the lowest bits, above it
    /// its home. Ack: the line.
    #[width(p.data_bits())]
    pub data: Bits,
    /// The home had to ask its DRAM.
    pub from_dram: Bool,
    /// With owners.
    #[shape(p.of_owners())]
    pub owner: Option<OwnerRsp>,
}

/// Kinds of INV messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum InvKind {
    /// Invalidate a line (or, with `grp`, an aligned group of lines).
    Inv,
    /// Fence marker: everything sent before it on this link has been sent.
    Fence,
}

/// Why a line is invalidated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Cause {
    /// A write or atomic.
    Write,
    /// A directory entry was evicted.
    Evict,
}

/// INV network.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct InvMsg {
    /// Inv or Fence.
    pub kind: Enum<InvKind>,
    /// Sending (home) node.
    #[width(p.node_bits())]
    #[below(p.nodes())]
    pub src: Bits,
    /// Receiving node.
    #[width(p.node_bits())]
    #[below(p.nodes())]
    pub dst: Bits,
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Cause.
    pub cause: Enum<Cause>,
    /// The aligned group around `line` is meant; how many lines a group has is a parameter of the fabric. Fence (hierarchical fabrics): of system scope.
    pub grp: Bool,
    /// Fence: the releasing node. In hierarchical fabrics the marker's serial; the lowest bits of `line` are then the home whose Invs it follows.
    #[width(p.node_bits())]
    #[below(p.nodes())]
    pub requester: Bits,
    /// With owners; of an Inv the requester stands in `requester`.
    #[shape(p.of_owners())]
    pub owner: Option<OwnerInv>,
}

/// Invalidation at a bank's input (channel `inv` from the INV ingress).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct BankInv {
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Cause.
    pub cause: Enum<Cause>,
    /// The aligned group around `line`.
    pub grp: Bool,
    /// Number of the ingress link it came on, returned when applied. In hierarchical fabrics link 0 is that of the own GPU, link 1 that of the others.
    #[width(4)]
    pub link: Bits,
    /// With owners.
    #[shape(p.of_owners())]
    pub owner: Option<OwnerAsk>,
}

/// A bank has applied an invalidation (channel `inv_done` to the INV ingress).
#[derive(Clone, Copy, Bundle)]
pub struct InvDone {
    /// Ingress link number.
    #[width(4)]
    pub link: Bits,
}

/// Directory operations. The first four are those of rec.md section 4; the last exists in the hierarchical directories only (hmg.md section 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum DirOp {
    /// Read by a remote node.
    RdRem,
    /// Write by a remote node.
    WrRem,
    /// Write by the home itself (CU, DMA, host copy).
    WrLoc,
    /// Atomic by a remote node, performed at home.
    AtomRem,
    /// The slice of `src` holds no line of the group any more. With the home as `src` nothing is removed: it asks whether anything is recorded.
    Downgrade,
}

/// Bank to directory slice (channel `req` of the directory, `dir_req` of the bank); rec.md section 4.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct DirReq {
    /// Operation.
    pub op: Enum<DirOp>,
    /// Requesting node.
    #[width(p.node_bits())]
    #[below(p.nodes())]
    pub src: Bits,
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Bank's operation number.
    #[width(p.dir_id_bits())]
    pub id: Bits,
    /// With owners; `op` says nothing then.
    #[shape(p.of_owners())]
    pub owner: Option<OwnerOp>,
}

/// Directory slice to bank (channel `rsp`): the operation's invalidations, if any, are all accepted by the INV egress.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct DirRsp {
    /// Operation number.
    #[width(p.dir_id_bits())]
    pub id: Bits,
    /// The base (tag) was present.
    pub hit: Bool,
    /// An entry was evicted for it.
    pub evicted: Bool,
    /// After a Downgrade: no sharer of the group is recorded any more. 0 after other operations.
    pub empty: Bool,
    /// With owners.
    #[shape(p.with_owners())]
    pub owner: Option<OwnerAnswer>,
}

/// Bank to directory slice, at a GPU home that has received an Inv of the system home (channel `recv` of the directory, `recv_out` of the bank;
/// hmg.md section 4, last column). It passes operations of the channel `req` that wait for the network between GPUs.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct DirRecv {
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Cause of the Inv, passed on.
    pub cause: Enum<Cause>,
    /// GPMs of this GPU (one bit each) whose operations on this group the directory may not have seen: they are told too.
    #[width(p.gpms)]
    pub also: Bits,
    /// Number of the ingress link the Inv came on, given back.
    #[width(4)]
    pub link: Bits,
}

/// Directory slice to bank (channel `recv_done` of the directory): the Invs passed on, if any, are accepted by the INV egress.
#[derive(Clone, Copy, Bundle)]
pub struct RecvDone {
    /// Ingress link number.
    #[width(4)]
    pub link: Bits,
}

/// Directory slice to INV egress (channel `inv`).
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct DirInv {
    /// Line number (of the group's written line, or its first at evictions).
    #[width(p.line_bits())]
    pub line: Bits,
    /// Nodes to invalidate, one bit each; never the home.
    #[width(p.nodes())]
    pub dest: Bits,
    /// Cause.
    pub cause: Enum<Cause>,
    /// The aligned group around `line`.
    pub grp: Bool,
    /// With owners.
    #[shape(p.of_owners())]
    pub owner: Option<OwnerAsk>,
}

/// Bank to DRAM channel (channel `mem_req`); whole lines only.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct MemReq {
    /// 1 write, 0 read.
    pub write: Bool,
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Data written.
    #[width(p.data_bits())]
    pub data: Bits,
    /// Transaction number (reads).
    #[width(p.l2_id_bits())]
    pub id: Bits,
}

/// DRAM channel to bank (channel `mem_rsp`); answers to reads, in any order. A read sees every write the channel accepted before it.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub struct MemRsp {
    /// Transaction number.
    #[width(p.l2_id_bits())]
    pub id: Bits,
    /// Line data.
    #[width(p.data_bits())]
    pub data: Bits,
}
