//! Leaves of messages that mean nothing, as data.

use std::rc::Rc;
use weft_blocks::msg::{CuReq, CuRsp};
use weft_explore::form::{Form, Ignore, Masked};
use weft_rtl::prelude::Data;
use weft_spandex::hmesi::msg::{HFwd, HFwdOp, HReq, HRsp, HRspOp, HWb};
use weft_spandex::msg::{Fwd, FwdOp, MemReq, MemRsp, Req, ReqOp, Rsp, RspOp, Wb};
use weft_spandex::params::Spandex;

const UPDATE: &[u64] = &[ReqOp::ReqWtData as u64];
const WRITES: &[u64] = &[ReqOp::ReqWt as u64, ReqOp::ReqWtData as u64];

const REQ: &[Ignore] = &[
    Ignore { leaves: &["data"], unless: "op", is: WRITES },
    Ignore { leaves: &["amo", "cmp", "bmask"], unless: "op", is: UPDATE },
];
const FWD: &[Ignore] = &[
    Ignore { leaves: &["data"], unless: "op", is: &[FwdOp::ReqWt as u64] },
    Ignore { leaves: &["tbe"], unless: "op", is: &[FwdOp::RvkO as u64] },
];
const RSP: &[Ignore] = &[
    Ignore {
        leaves: &["data"],
        unless: "op",
        is: &[
            RspOp::RspV as u64,
            RspOp::RspS as u64,
            RspOp::RspOData as u64,
            RspOp::RspWtData as u64,
            RspOp::RspRvkO as u64,
        ],
    },
    Ignore { leaves: &["data"], unless: "nodata", is: &[0] },
];
const H_FWD: &[Ignore] = &[
    Ignore {
        leaves: &["req", "tag"],
        unless: "op",
        is: &[HFwdOp::FwdGetS as u64, HFwdOp::FwdGetM as u64, HFwdOp::Inv as u64],
    },
    Ignore { leaves: &["req", "tag"], unless: "recall", is: &[0] },
];
const H_WB: &[Ignore] = &[Ignore { leaves: &["data"], unless: "dirty", is: &[1] }];
const DATA: &[u64] =
    &[HRspOp::DataS as u64, HRspOp::DataE as u64, HRspOp::DataM as u64, HRspOp::WbData as u64];
const TO_CLIENT: &[u64] = &[
    HRspOp::DataS as u64,
    HRspOp::DataE as u64,
    HRspOp::DataM as u64,
    HRspOp::InvAck as u64,
    HRspOp::WbAck as u64,
];
const H_RSP: &[Ignore] = &[
    Ignore { leaves: &["data"], unless: "op", is: DATA },
    Ignore { leaves: &["acks"], unless: "op", is: &[HRspOp::DataM as u64] },
    Ignore { leaves: &["tag"], unless: "op", is: TO_CLIENT },
];
const TO_MEMORY: &[Ignore] = &[
    Ignore { leaves: &["data"], unless: "write", is: &[1] },
    Ignore { leaves: &["tbe"], unless: "write", is: &[0] },
];
/// Words that no mask names.
const WORDS: Masked = Masked { leaf: "data", bits: 32, masks: &["mask"] };
/// The same of answers, which may bring extras.
const EXTRAS: Masked = Masked { leaf: "data", bits: 32, masks: &["mask", "extra"] };

/// Forms of all messages: those of Spandex, and those of the L3 and its clients.
pub(super) struct Forms {
    pub cu_req: Rc<Form>,
    pub cu_rsp: Rc<Form>,
    pub req: Rc<Form>,
    pub fwd: Rc<Form>,
    pub wb: Rc<Form>,
    pub rsp: Rc<Form>,
    pub h_req: Rc<Form>,
    pub h_fwd: Rc<Form>,
    pub h_wb: Rc<Form>,
    pub h_rsp: Rc<Form>,
    pub mem_req: Rc<Form>,
    pub mem_rsp: Rc<Form>,
}

fn form<T: Data>(shape: &T::Shape, rules: &[Ignore]) -> Form {
    Form::new::<T>(shape, &[], rules)
}

impl Forms {
    /// Of a system; `l3`: the widths of its L3, which has its own number of TBEs.
    pub fn new(s: &Spandex, l3: &Spandex) -> Forms {
        Forms {
            cu_req: form::<CuReq>(&s.cu(), &[]).into(),
            cu_rsp: form::<CuRsp>(&s.cu(), &[]).into(),
            req: form::<Req>(s, REQ).masked(WORDS).into(),
            fwd: form::<Fwd>(s, FWD).masked(WORDS).into(),
            wb: form::<Wb>(s, &[]).masked(WORDS).into(),
            rsp: form::<Rsp>(s, RSP).masked(EXTRAS).into(),
            h_req: form::<HReq>(s, &[]).into(),
            h_fwd: form::<HFwd>(s, H_FWD).into(),
            h_wb: form::<HWb>(s, H_WB).into(),
            h_rsp: form::<HRsp>(s, H_RSP).into(),
            mem_req: form::<MemReq>(l3, TO_MEMORY).into(),
            mem_rsp: form::<MemRsp>(l3, &[]).into(),
        }
    }
}
