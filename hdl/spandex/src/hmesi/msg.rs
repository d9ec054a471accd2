//! Messages between the L3 and its clients, each defined once (spandex.md section 9).
//!
//! Clients are the CPU L1s `0..N_CPU` and, as client `N_CPU`, the GPU L2, whose bank b is the one that L3 bank b talks to. A line number is a byte address without its line-offset bits. All
//! widths follow from [`Spandex`], for both levels of a system have the same devices, banks, lines, transaction numbers and TBEs.
//!
//! | nodes | what |
//! | --- | --- |
//! | `0..N_DEV` | devices, CPU cores first, as in Spandex |
//! | `N_DEV..N_DEV + N_BANK` | GPU L2 banks; to CUs they are Spandex's banks, with the same numbers |
//! | `N_DEV + N_BANK..` | L3 banks |
//!
//! # Virtual networks
//!
//! Four, all unordered. Below the GPU L2 Spandex's four run beside them, here REQ_g, FWD_g, WB_g, RSP_g.
//!
//! | network | message | from | to | may wait for |
//! | --- | --- | --- | --- | --- |
//! | REQ | [`HReq`]: GetS, GetM | client | L3 | WB, FWD, RSP, memory |
//! | WB | [`HWb`]: Put | client | L3 | FWD, RSP, memory |
//! | FWD | [`HFwd`]: FwdGetS, FwdGetM, Recall, Inv | L3 | client | FWD_g, WB_g, RSP_g at the GPU L2; RSP |
//! | RSP | [`HRsp`]: DataS, DataE, DataM, InvAck, WBAck | any | client | nothing: always taken |
//! | RSP | [`HRsp`]: WbData, InvAck, Unblock, UnblockX | client | L3 | nothing: always taken |
//!
//! The order is REQ_g -> REQ -> WB -> FWD -> FWD_g -> WB_g -> RSP, RSP_g: left may wait for right only.
//! - A request that finds its line busy waits for that transaction: for the answers to its forwards, for memory, for the requestor's Unblock.
//! - A Put to a busy line waits at the head of WB for the same. (The page puts WB behind FWD in the order. It cannot be there: a Put waits for forwards.) So nothing that a client needs in order
//!   to answer a forward may travel on WB: **WbData travels on RSP**, and FWD never waits for WB. On WB it would stand behind the Put that waits for it.
//! - FWD needs room for answers on RSP. At the GPU L2 it needs the words that GPU L1s own, by RvkO on FWD_g, answered on RSP_g, or by ReqWB on WB_g. The transaction entry that it needs is reserved.
//! - RSP sinks into the entry of the transaction that it belongs to: a client's MSHR or write-back buffer entry, a bank's TBE. What follows from it (Unblock, UnblockX, a Put) is a mark of that
//!   entry and leaves when the output is free.
//! - REQ_g waits for fills, evictions and upgrades, which are REQ and WB.
//!
//! # Contract of a client
//!
//! | channel | CPU client | bank of the GPU L2 | message |
//! | --- | --- | --- | --- |
//! | out | `req` | `l3_req` | [`HReq`] |
//! | out | `wb` | `l3_wb` | [`HWb`] |
//! | in | `fwd` | `l3_fwd` | [`HFwd`] |
//! | out | `rsp_out` | `l3_rsp_out` | [`HRsp`] to clients and to the L3 |
//! | in | `rsp` | `l3_rsp` | [`HRsp`]; taken whatever the outputs do |
//!
//! The input `own` is the client's node (of the CPU client the device's number, which is the same). `src` and `dst` are nodes.
//!
//! States: I, S, E, M; transient IS, ISI, IM, SM, MI, II. E to M is silent, so is the eviction of S.
//! 1. **One transaction of a line at a time.** A GetS or GetM of a line leaves only when no other of the line is open and no Put of it awaits WBAck. Its entry is reserved before it leaves.
//! 2. GetS in C brings DataE, in SS DataS from the L3, in MT DataS with `peer` from the owner. GetM brings DataM with `acks` = InvAcks to come, which may come first. Data always comes with
//!    the answer, also to a requestor in SM.
//! 3. A client that has all of DataE, or of DataM and its InvAcks, sends UnblockX; one that has DataS with `peer` sends Unblock, also from ISI. Both say only that the line is not busy any more:
//!    forwards that come later find the client in E, M or S.
//! 4. Inv is always answered by InvAck, at once: to the client `req` with its `tag`, or to the L3 if `recall`. S becomes I, IS becomes ISI (the DataS is used once), SM becomes IM; other states
//!    stay: there it is stale.
//! 5. FwdGetS, FwdGetM and Recall find E, M or MI, nothing else. They are answered with WbData (not FwdGetM), and with DataS or DataM to `req` (not Recall). After FwdGetS E and M are S and WbData says
//!    `kept`; after the others I; MI becomes II in any case.
//! 6. Put of E and M. `dirty` and the data are of M; a Put of E bears no data, nor does WbData of E: the L3's line is as good. Every Put gets one WBAck. A Put of a line that has lost ownership in
//!    between (II) is answered the same way, its data is not used.
//! 7. No forward to a client comes later than the WBAck of its Put: a Put of a busy line waits.
//!
//! To the L3 messages name no TBE: a line has one transaction.

use crate::mesi_port::Get;
use crate::msg::Routed;
use crate::params::Spandex;
use weft_rtl::prelude::*;

impl Spandex {
    /// Clients of the L3: the CPU L1s, and the GPU L2 as the last.
    pub fn clients(&self) -> u32 {
        self.cpus + 1
    }
    /// Width of a client's number, and of a count of other clients: 4 by default.
    pub fn client_bits(&self) -> u32 {
        bits_for(u64::from(self.clients()))
    }
    /// Nodes of a hierarchical system: devices, GPU L2 banks, L3 banks.
    pub fn h_nodes(&self) -> u32 {
        self.devs() + 2 * self.banks
    }
    /// Width of a node's number in a hierarchical system: 6 by default.
    pub fn h_node_bits(&self) -> u32 {
        bits_for(u64::from(self.h_nodes()))
    }
    /// Node of a GPU L2 bank.
    pub fn l2_node(&self, bank: u32) -> u32 {
        self.devs() + bank
    }
    /// Node of an L3 bank.
    pub fn l3_node(&self, bank: u32) -> u32 {
        self.devs() + self.banks + bank
    }
    /// Node of the L3 bank of a line.
    pub fn l3_home(&self, line: Bits) -> Bits {
        self.bank_node(line, self.l3_node(0))
    }
    /// Node of a client, of the GPU L2 the one of the bank of a line.
    pub fn client_node(&self, client: Bits, line: Bits) -> Bits {
        let cpu = client.zext(self.h_node_bits());
        mux(client.eq(u64::from(self.cpus)), self.bank_node(line, self.l2_node(0)), cpu)
    }
    /// Client that a node is.
    pub fn client_of(&self, node: Bits) -> Bits {
        let gpu = lit(u64::from(self.cpus), self.client_bits());
        mux(node.ge(u64::from(self.devs())), gpu, node.resize(self.client_bits()))
    }
    /// Node of the bank of a line, if that of bank 0 is `first`.
    fn bank_node(&self, line: Bits, first: u32) -> Bits {
        let first = lit(u64::from(first), self.h_node_bits());
        match self.bank_select() {
            0 => first,
            bits => first + line.slice(0, bits).resize(self.h_node_bits()),
        }
    }
}

/// Client to L3, network REQ.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub struct HReq {
    /// Kind.
    pub op: Enum<Get>,
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Requesting client's node.
    #[width(p.h_node_bits())]
    #[below(p.h_nodes())]
    pub src: Bits,
    /// L3 bank's node.
    #[width(p.h_node_bits())]
    #[below(p.h_nodes())]
    pub dst: Bits,
    /// Transaction of the client.
    #[width(p.tag_bits())]
    pub tag: Bits,
}

/// Kinds of [`HFwd`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum HFwdOp {
    /// The owner shares its line: DataS to `req`, WbData to the L3.
    FwdGetS,
    /// The owner gives its line away: DataM to `req`.
    FwdGetM,
    /// The owner gives its line back: WbData to the L3.
    Recall,
    /// A shared line goes: InvAck to `req`, or to the L3.
    Inv,
}

/// L3 to client, network FWD.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub struct HFwd {
    /// Kind.
    pub op: Enum<HFwdOp>,
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// L3 bank's node.
    #[width(p.h_node_bits())]
    #[below(p.h_nodes())]
    pub src: Bits,
    /// Client's node.
    #[width(p.h_node_bits())]
    #[below(p.h_nodes())]
    pub dst: Bits,
    /// FwdGetS, FwdGetM, Inv of a GetM: node of the client that asked, which gets the answer.
    #[width(p.h_node_bits())]
    #[below(p.h_nodes())]
    pub req: Bits,
    /// Its transaction.
    #[width(p.tag_bits())]
    pub tag: Bits,
    /// Inv: the L3 replaces the line and gets the answer itself.
    pub recall: Bool,
}

/// Client to L3, network WB (Put): an owned line is evicted.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub struct HWb {
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Client's node.
    #[width(p.h_node_bits())]
    #[below(p.h_nodes())]
    pub src: Bits,
    /// L3 bank's node.
    #[width(p.h_node_bits())]
    #[below(p.h_nodes())]
    pub dst: Bits,
    /// Transaction of the client.
    #[width(p.tag_bits())]
    pub tag: Bits,
    /// The line was M, and comes with its data.
    pub dirty: Bool,
    /// The line, if dirty.
    #[width(p.data_bits())]
    pub data: Bits,
}

/// Kinds of [`HRsp`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum HRspOp {
    /// To a client: a line to share.
    DataS,
    /// To a client: the only copy of a line.
    DataE,
    /// To a client: a line to write, when the InvAcks have come.
    DataM,
    /// To a client or the L3: answer to Inv.
    InvAck,
    /// To a client: answer to Put.
    #[hw(label = "WBAck")]
    WbAck,
    /// To the L3: answer of the owner to FwdGetS and Recall.
    WbData,
    /// To the L3: DataS of an owner has come.
    Unblock,
    /// To the L3: the client owns the line now.
    UnblockX,
}

/// To a client that has asked, or client to L3, network RSP; always taken.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Spandex)]
pub struct HRsp {
    /// Kind.
    pub op: Enum<HRspOp>,
    /// Line number.
    #[width(p.line_bits())]
    pub line: Bits,
    /// Sending node.
    #[width(p.h_node_bits())]
    #[below(p.h_nodes())]
    pub src: Bits,
    /// Receiving node.
    #[width(p.h_node_bits())]
    #[below(p.h_nodes())]
    pub dst: Bits,
    /// To a client: its transaction, of InvAck that of its GetM.
    #[width(p.tag_bits())]
    pub tag: Bits,
    /// DataM: InvAcks that the client waits for, k.
    #[width(p.client_bits())]
    pub acks: Bits,
    /// DataS, DataM: from the former owner.
    pub peer: Bool,
    /// WbData: the line was M, and comes with its data.
    pub dirty: Bool,
    /// WbData: the owner keeps a shared copy.
    pub kept: Bool,
    /// The line of DataS, DataE, DataM and dirty WbData.
    #[width(p.data_bits())]
    pub data: Bits,
}

/// Flits of a message: the header, and the whole line if it has data.
fn flits(p: &Spandex, data: Bool) -> Bits {
    let line = u64::from(p.words().div_ceil(4));
    mux(data, lit(1 + line, p.flit_bits()), lit(1, p.flit_bits()))
}

impl Routed for HReq {
    fn flits(&self, p: &Spandex) -> Bits {
        lit(1, p.flit_bits())
    }
    fn to(&self, _: &Spandex) -> Bits {
        self.dst
    }
    fn node_bits(p: &Spandex) -> u32 {
        p.h_node_bits()
    }
}

impl Routed for HFwd {
    fn flits(&self, p: &Spandex) -> Bits {
        lit(1, p.flit_bits())
    }
    fn to(&self, _: &Spandex) -> Bits {
        self.dst
    }
    fn node_bits(p: &Spandex) -> u32 {
        p.h_node_bits()
    }
}

impl Routed for HWb {
    fn flits(&self, p: &Spandex) -> Bits {
        flits(p, self.dirty)
    }
    fn to(&self, _: &Spandex) -> Bits {
        self.dst
    }
    fn node_bits(p: &Spandex) -> u32 {
        p.h_node_bits()
    }
}

impl Routed for HRsp {
    fn flits(&self, p: &Spandex) -> Bits {
        let bears = self.op.is_any(&[HRspOp::DataS, HRspOp::DataE, HRspOp::DataM]);
        flits(p, bears | (self.op.is(HRspOp::WbData) & self.dirty))
    }
    fn to(&self, _: &Spandex) -> Bits {
        self.dst
    }
    fn node_bits(p: &Spandex) -> u32 {
        p.h_node_bits()
    }
}
