//! Leaves of messages that mean nothing, as data.

use std::rc::Rc;
use weft_blocks::msg::*;
use weft_explore::form::{Form, Ignore};
use weft_rtl::prelude::Data;

/// An unused leaf of any kind of message: it says who has served a load, for reports.
const NEVER: &[u64] = &[];
const DATA: &[u64] = &[ReqKind::Wr as u64, ReqKind::Atom as u64];
const ATOM: &[u64] = &[ReqKind::Atom as u64];

const TO_BANK: &[Ignore] = &[
    Ignore { leaves: &["mask", "data"], unless: "kind", is: DATA },
    Ignore { leaves: &["amo", "sgn", "cmp"], unless: "kind", is: ATOM },
];
const FROM_BANK: &[Ignore] = &[
    Ignore { leaves: &["data"], unless: "kind", is: &[ReqKind::Rd as u64, ReqKind::Atom as u64] },
    Ignore { leaves: &["src"], unless: "kind", is: NEVER },
];
/// Of answers between nodes: those to writes bring nothing.
const ANSWER: &[Ignore] = &[
    Ignore {
        leaves: &["data"],
        unless: "kind",
        is: &[ReqKind::Rd as u64, ReqKind::Atom as u64, ReqKind::Fence as u64, ReqKind::Ack as u64],
    },
    Ignore { leaves: &["from_dram"], unless: "kind", is: NEVER },
];
const TO_MEMORY: &[Ignore] = &[
    Ignore { leaves: &["data"], unless: "write", is: &[1] },
    Ignore { leaves: &["id"], unless: "write", is: &[0] },
];
const TO_CU: &[Ignore] = &[
    Ignore { leaves: &["mask", "data"], unless: "kind", is: &[0] },
    Ignore { leaves: &["src", "merged"], unless: "kind", is: NEVER },
];

/// Forms of all messages.
pub(super) struct Forms {
    pub cu_req: Rc<Form>,
    pub cu_rsp: Rc<Form>,
    pub l1_req: Rc<Form>,
    pub l1_rsp: Rc<Form>,
    pub req: Rc<Form>,
    pub rsp: Rc<Form>,
    pub inv: Rc<Form>,
    pub bank_inv: Rc<Form>,
    pub inv_done: Rc<Form>,
    pub dir_req: Rc<Form>,
    pub dir_rsp: Rc<Form>,
    pub dir_inv: Rc<Form>,
    pub dir_recv: Rc<Form>,
    pub recv_done: Rc<Form>,
    pub home_done: Rc<Form>,
    pub mem_req: Rc<Form>,
    pub mem_rsp: Rc<Form>,
    pub cmd: Rc<Form>,
    pub cmd_done: Rc<Form>,
    pub token: Rc<Form>,
    /// Of tokens of markers at a bank.
    pub order: Rc<Form>,
    /// Of markers between fence unit and the ends of the INV network.
    pub mark: Rc<Form>,
}

fn form<T: Data>(shape: &T::Shape, rules: &[Ignore]) -> Rc<Form> {
    Rc::new(Form::new::<T>(shape, &[], rules))
}

impl Forms {
    /// Of a system; with `planes` markers are those of hierarchical fabrics.
    pub fn new(s: &Sys, planes: bool) -> Forms {
        Forms {
            cu_req: form::<CuReq>(s, &[]),
            cu_rsp: form::<CuRsp>(s, TO_CU),
            l1_req: form::<L1Req>(s, TO_BANK),
            l1_rsp: form::<L1Rsp>(s, FROM_BANK),
            req: form::<ReqMsg>(s, TO_BANK),
            rsp: form::<RspMsg>(s, ANSWER),
            inv: form::<InvMsg>(s, &[]),
            bank_inv: form::<BankInv>(s, &[]),
            inv_done: form::<InvDone>(&(), &[]),
            dir_req: form::<DirReq>(s, &[]),
            dir_rsp: form::<DirRsp>(s, &[]),
            dir_inv: form::<DirInv>(s, &[]),
            dir_recv: form::<DirRecv>(s, &[]),
            recv_done: form::<RecvDone>(&(), &[]),
            home_done: form::<HomeDone>(s, &[]),
            mem_req: form::<MemReq>(s, TO_MEMORY),
            mem_rsp: form::<MemRsp>(s, &[]),
            cmd: form::<FenceCmd>(&(), &[]),
            cmd_done: form::<FenceDone>(&(), &[]),
            token: form::<FenceToken>(&(), &[]),
            order: form::<FenceMark>(s, &[]),
            mark: if planes { form::<HierMark>(s, &[]) } else { form::<FenceMark>(s, &[]) },
        }
    }
}
