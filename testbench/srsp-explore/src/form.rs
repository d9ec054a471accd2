//! Leaves of messages that mean nothing, as data.

use std::rc::Rc;
use weft_blocks::msg::{CuReq, CuRsp};
use weft_explore::form::{Form, Ignore, Masked};
use weft_rtl::prelude::Data;
use weft_srsp::msg::*;
use weft_srsp::params::Srsp;

/// An unused leaf of any kind of message.
const NEVER: &[u64] = &[];
const ATOMIC: &[&str] = &["atomic_op", "atomic_wide", "atomic_opnd", "atomic_cmp"];
const READS: &[u64] = &[ReqOp::Rd as u64, ReqOp::Reg as u64, ReqOp::Rdu as u64];
const WRITTEN: &[u64] = &[WbOp::Wb as u64, WbOp::Unreg as u64, WbOp::RevokeAck as u64];
const LINES: &[u64] = &[RspOp::Fill as u64, RspOp::RegData as u64];
const VALUES: &[u64] = &[RspOp::AtmRsp as u64, RspOp::RemRsp as u64];
const BRINGS: &[u64] =
    &[RspOp::Fill as u64, RspOp::RegData as u64, RspOp::AtmRsp as u64, RspOp::RemRsp as u64];
const ACKS: &[u64] = &[RspOp::WbAck as u64, RspOp::UnregAck as u64];

const REQ: &[Ignore] = &[
    Ignore { leaves: &["mshr"], unless: "op", is: READS },
    Ignore { leaves: ATOMIC, unless: "op", is: &[ReqOp::Atm as u64] },
];
const WB: &[Ignore] = &[
    Ignore { leaves: &["mask", "data"], unless: "op", is: WRITTEN },
    Ignore { leaves: &["wbt"], unless: "op", is: &[WbOp::Wb as u64, WbOp::Unreg as u64] },
    Ignore { leaves: &["epoch"], unless: "op", is: &[WbOp::Wb as u64] },
    Ignore { leaves: ATOMIC, unless: "op", is: &[WbOp::RemOp as u64] },
];
/// Who has served a load is for reports.
const RSP: &[Ignore] = &[
    Ignore { leaves: &["mshr"], unless: "op", is: LINES },
    Ignore { leaves: &["wbt", "epoch"], unless: "op", is: ACKS },
    Ignore { leaves: &["wrote"], unless: "op", is: VALUES },
    Ignore { leaves: &["data"], unless: "op", is: BRINGS },
    Ignore { leaves: &["hit"], unless: "op", is: NEVER },
];
const MEM_REQ: &[Ignore] = &[
    Ignore { leaves: ATOMIC, unless: "op", is: &[MemOp::Amo as u64] },
    Ignore { leaves: &["mask", "data"], unless: "op", is: &[MemOp::Wr as u64] },
];
const TO_CU: &[Ignore] = &[
    Ignore { leaves: &["mask", "data"], unless: "kind", is: &[0] },
    Ignore { leaves: &["src", "merged"], unless: "kind", is: NEVER },
];
const BYTES: Masked = Masked { leaf: "data", bits: 8, masks: &["mask"] };

/// Forms of all messages.
pub(super) struct Forms {
    pub cu_req: Rc<Form>,
    pub cu_rsp: Rc<Form>,
    pub req: Rc<Form>,
    pub wb: Rc<Form>,
    pub rsp: Rc<Form>,
    pub cast: Rc<Form>,
    /// Of the hub, or of banks that know owners.
    pub probe: Rc<Form>,
    pub pack: Rc<Form>,
    pub mem_req: Rc<Form>,
    pub mem_rsp: Rc<Form>,
}

fn form<T: Data>(shape: &T::Shape, rules: &[Ignore]) -> Form {
    Form::new::<T>(shape, &[], rules)
}

impl Forms {
    /// Of a GPU.
    pub fn new(s: &Srsp) -> Forms {
        let cu = s.cu();
        Forms {
            cu_req: form::<CuReq>(&cu, &[]).into(),
            cu_rsp: form::<CuRsp>(&cu, TO_CU).masked(BYTES).into(),
            req: form::<Req>(s, REQ).into(),
            wb: form::<Wb>(s, WB).masked(BYTES).into(),
            rsp: form::<Rsp>(s, RSP).into(),
            cast: form::<Cast>(s, &[]).into(),
            probe: form::<Probe>(s, &[]).into(),
            pack: form::<Pack>(s, &[]).into(),
            mem_req: form::<MemReq>(s, MEM_REQ).masked(BYTES).into(),
            mem_rsp: form::<MemRsp>(s, &[]).into(),
        }
    }

    /// The same with what banks of DeNovo-B ask owners.
    pub fn of_owners(self, s: &Srsp) -> Forms {
        Forms { probe: form::<OwnerProbe>(s, &[]).into(), ..self }
    }
}
