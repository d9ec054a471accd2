//! Where requests of L1s arrive: MGCC's, or G-TSC's with clock and wts.

use super::params::L2Params;
use crate::gtsc::GtscReq;
use crate::msg::UpReq;
use weft_rtl::prelude::*;

enum Ends {
    Mgcc(InChannel<UpReq>),
    Gtsc(InChannel<GtscReq>),
}

/// The channel `l1_req`.
pub(super) struct L1Port {
    /// A request is there.
    pub valid: Bool,
    pub msg: UpReq,
    /// Of G-TSC: wts of the L1's block, 0 without one.
    pub wts: Option<Bits>,
    ends: Ends,
}

impl L1Port {
    /// Declares the channel, ready once `open`.
    pub fn new(p: &L2Params, open: Bool) -> L1Port {
        if p.gtsc() {
            let port = in_channel_when::<GtscReq>("l1_req", &p.tsm, open);
            let (valid, msg, wts) = (port.valid, port.msg.up(&p.tsm), Some(port.msg.wts));
            return L1Port { valid, msg, wts, ends: Ends::Gtsc(port) };
        }
        let port = in_channel_when::<UpReq>("l1_req", &p.at_l1(), open);
        // A home bank drops the number of its GPU, and no load has to go past it.
        let msg = match p.home {
            Some(_) => {
                UpReq { line: port.msg.line.slice(0, p.tsm.line_bits()), force: bool_lit(false), ..port.msg }
            }
            None => port.msg,
        };
        L1Port { valid: port.valid, msg, wts: None, ends: Ends::Mgcc(port) }
    }

    /// Takes the request.
    pub fn take(&self) {
        match &self.ends {
            Ends::Mgcc(port) => port.take(),
            Ends::Gtsc(port) => port.take(),
        }
    }
}
