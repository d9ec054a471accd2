//! Acknowledgements of Invs (GPU-VI, hmg.md section 8): from the sharer's INV ingress, on the RSP network, to the directory slice of the line's home.

use super::ports::{part_out, part_taken};
use crate::msg::*;
use weft_rtl::prelude::*;

/// What an acknowledgement says; the other fields of its [`RspMsg`] are zero.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub(super) struct InvAck {
    /// Ack.
    pub kind: Enum<ReqKind>,
    #[width(p.node_bits())]
    pub src: Bits,
    #[width(p.node_bits())]
    pub dst: Bits,
    #[width(p.bank_bits())]
    pub bank: Bits,
    /// The line named by the Inv in the lowest bits.
    #[width(p.data_bits())]
    pub data: Bits,
}

/// What the directory looks at.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
pub(super) struct AckSeen {
    pub kind: Enum<ReqKind>,
    #[width(p.node_bits())]
    pub dst: Bits,
    #[width(p.data_bits())]
    pub data: Bits,
    #[shape(p.of_owners())]
    pub owner: Option<OwnerRsp>,
}

/// The acknowledgement of `home` for a line of another node, whose home and bank follow from it.
pub(super) fn inv_ack(sys: &Sys, home: u32, line: Bits) -> InvAck {
    InvAck {
        kind: enum_lit(ReqKind::Ack),
        src: lit(u64::from(home), sys.node_bits()),
        dst: sys.home_of(line),
        bank: sys.bank_of(line),
        data: line.zext(sys.data_bits()),
    }
}

/// The ingress' end of the channel.
pub(super) fn ack_out(name: &str, sys: &Sys) -> OutChannel<InvAck> {
    part_out::<RspMsg, InvAck>(name, sys)
}

/// The directory's end: every acknowledgement is taken in the cycle in which it comes. Whether one is there, and its line.
pub(super) fn ack_in(name: &str, sys: &Sys, home: u32) -> (Bool, Bits) {
    let (valid, line, _) = ack_in_with(name, sys, home);
    (valid, line)
}

/// The same, and with owners what it says of them.
pub(super) fn ack_in_with(name: &str, sys: &Sys, home: u32) -> (Bool, Bits, Option<OwnerRsp>) {
    let (valid, seen) = part_taken::<RspMsg, AckSeen>(name, sys);
    assert_always(
        "ack_is_for_here",
        !valid | (seen.kind.is(ReqKind::Ack) & seen.dst.eq(u64::from(home))),
        "only acknowledgements for this home come here",
    );
    (valid, seen.data.slice(0, sys.line_bits()), seen.owner)
}
