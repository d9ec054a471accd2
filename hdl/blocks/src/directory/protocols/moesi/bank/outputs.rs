//! The output queues of `moesi-l2`, and who may use them when: the operation in the slot first.

use crate::cache::l2::L2Params;
use crate::cache::l2::queue::OutQueue;
use crate::msg::*;
use weft_rtl::prelude::*;

/// The queues.
pub(super) struct Outputs {
    pub local: OutQueue<L1Rsp>,
    pub rsp: OutQueue<RspMsg>,
    pub req: OutQueue<ReqMsg>,
    pub mem: OutQueue<MemReq>,
    pub dir: OutQueue<DirReq>,
    pub done: OutQueue<HomeDone>,
    pub inv_done: OutQueue<InvDone>,
    /// The slot sends a RspMsg, writes or reads memory, tells the slice.
    pub slot_rsp: Wire<Bool>,
    pub slot_mem: Wire<Bool>,
    pub slot_done: Wire<Bool>,
    /// Number of this bank, learnt from the lines served.
    pub bank: Reg<Bits>,
    p: L2Params,
}

impl Outputs {
    pub fn new(p: &L2Params) -> Outputs {
        let flag = |name| wire_or::<Bool>(name, (), false);
        Outputs {
            local: OutQueue::new("local_rsp", &p.sys, 8),
            rsp: OutQueue::new("rsp_out", &p.sys, 8),
            req: OutQueue::new("req_out", &p.sys, 8),
            mem: OutQueue::new("mem_req", &p.sys, 8),
            dir: OutQueue::new("dir_req", &p.sys, 8),
            done: OutQueue::new("done", &p.sys, 8),
            inv_done: OutQueue::new("inv_done", &(), 4),
            slot_rsp: flag("slot_sends_rsp"),
            slot_mem: flag("slot_asks_mem"),
            slot_done: flag("slot_tells_slice"),
            bank: reg::<Bits>("bank", p.sys.bank_bits()),
            p: p.clone(),
        }
    }

    /// This node's number.
    pub fn own(&self) -> Bits {
        lit(u64::from(self.p.home), self.p.sys.node_bits())
    }

    /// An answer about a line to a transaction of a node; with `bytes`, or of none.
    pub fn answer(
        &self,
        line: Bits,
        (dst, id): (Bits, Bits),
        gives: Enum<Gives>,
        (bytes, data): (Bool, Bits),
    ) -> RspMsg {
        let bank = self.p.sys.bank_of(line);
        RspMsg {
            kind: mux(bytes, enum_lit(ReqKind::Rd), enum_lit(ReqKind::Wr)),
            src: self.own(),
            dst,
            bank,
            id,
            epoch: lit(0, 1),
            data: data & bytes.repeat(self.p.sys.data_bits()),
            from_dram: bool_lit(false),
            owner: Some(OwnerRsp { gives, line: lit(0, self.p.sys.line_bits()) }),
        }
    }

    /// The slot sends an answer.
    pub fn slot_answers(&self, msg: &RspMsg) {
        self.slot_rsp.set(true);
        self.rsp.push(msg);
    }

    /// The slot reads or writes memory.
    pub fn slot_memory(&self, write: Bool, line: Bits, data: Bits, id: Bits) {
        self.slot_mem.set(true);
        self.mem.push(&MemReq { write, line, data, id });
    }

    /// The slot's operations have room, whatever is in the slot now.
    pub fn room(&self) -> Bool {
        self.local.room(2) & self.req.room(2) & self.dir.room(2) & self.mem.room(2)
    }

    /// Moves messages; called once, after all pushes.
    pub fn connect(&self) {
        let fits = [
            self.local.fits(),
            self.rsp.fits(),
            self.req.fits(),
            self.mem.fits(),
            self.dir.fits(),
            self.done.fits(),
            self.inv_done.fits(),
        ];
        assert_always("moesi_l2_room", all_of(&fits), "what has the slot has room in the queues it sends to");
        self.local.connect();
        self.rsp.connect();
        self.req.connect();
        self.mem.connect();
        self.dir.connect();
        self.done.connect();
        self.inv_done.connect();
    }
}
