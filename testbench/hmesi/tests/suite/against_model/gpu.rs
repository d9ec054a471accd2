//! Messages between GPU L1s and the L2, of the hardware and of the model.

use crate::against_model::convert::{wide, words};
use weft_hmesi_bench::bench;
use weft_spandex::msg::{FwdOp, Req, ReqOp, Rsp, RspOp, Wb, WordOp};
use weft_spandex::params::Spandex;
use weft_spandex_bench::golden::msg::{Amo, AmoOp, Mask, Msg, Node, Op};

fn node(s: &Spandex, node: Node) -> u64 {
    u64::from(match node {
        Node::Dev(dev) => u32::from(dev),
        Node::Bank(bank) => s.devs() + u32::from(bank),
    })
}
fn word_op(op: AmoOp) -> WordOp {
    match op {
        AmoOp::Read => WordOp::Read,
        AmoOp::Write => WordOp::Write,
        AmoOp::Merge => WordOp::Merge,
        AmoOp::Add => WordOp::Add,
        AmoOp::Sub => WordOp::Sub,
        AmoOp::Inc => WordOp::Inc,
        AmoOp::Dec => WordOp::Dec,
        AmoOp::And => WordOp::And,
        AmoOp::Or => WordOp::Or,
        AmoOp::Xor => WordOp::Xor,
        AmoOp::Min => WordOp::Min,
        AmoOp::Max => WordOp::Max,
        AmoOp::Exch => WordOp::Exch,
        AmoOp::Cas => WordOp::Cas,
    }
}

/// A message of the hardware to a bank, and its channel.
pub fn encode(s: &Spandex, msg: &Msg) -> (&'static str, bench::Msg) {
    let mut fields = vec![
        ("line", u64::from(msg.line)),
        ("mask", u64::from(msg.mask)),
        ("src", node(s, msg.src)),
        ("dst", node(s, msg.dst)),
        ("tag", u64::from(msg.tag)),
    ];
    let data = wide(s, &msg.data);
    if let Op::ReqWb { dirty } = msg.op {
        fields.push(("dirty", u64::from(dirty)));
        return ("wb", bench::Msg::of::<Wb>(s, &fields).with("data", data));
    }
    if let Op::RspRvkO { nodata, kept_s, dirty } = msg.op {
        let flags = [("nodata", nodata), ("kept_s", kept_s), ("dirty", dirty)];
        fields.extend(flags.map(|(name, flag)| (name, u64::from(flag))));
        fields.push(("op", RspOp::RspRvkO as u64));
        return ("rsp_in", bench::Msg::of::<Rsp>(s, &fields).with("data", data));
    }
    let none = Amo { op: AmoOp::Read, cmp: 0, bmask: 0 };
    let (op, flex, amo) = match msg.op {
        Op::ReqV { flex } => (ReqOp::ReqV, flex, none),
        Op::ReqWt { .. } => (ReqOp::ReqWt, false, none),
        Op::ReqO => (ReqOp::ReqO, false, none),
        Op::ReqWtData(amo) => (ReqOp::ReqWtData, false, amo),
        Op::ReqOData => (ReqOp::ReqOData, false, none),
        _ => panic!("{msg:?} to a bank"),
    };
    fields.extend([("op", op as u64), ("flex", u64::from(flex)), ("fwd", 0)]);
    fields.extend([
        ("amo", word_op(amo.op) as u64),
        ("cmp", u64::from(amo.cmp)),
        ("bmask", u64::from(amo.bmask)),
    ]);
    ("req", bench::Msg::of::<Req>(s, &fields).with("data", data))
}

/// A message of a bank to a device, as the devices of the model take it: the tag of RvkO is the bank's.
pub fn decode(s: &Spandex, channel: &str, m: &bench::Msg) -> Msg {
    let flag = |name: &str| m.get(name) == 1;
    let mask = |name: &str| m.get(name) as Mask;
    let src = Node::Bank((m.get("src") - u64::from(s.devs())) as u8);
    let code = m.get("op");
    let (op, mask) = match channel {
        "fwd" if code == FwdOp::RvkO as u64 => (Op::RvkO, mask("own")),
        "fwd" if code == FwdOp::ReqV as u64 => {
            (Op::FwdReqV { flex: flag("flex"), direct: flag("direct") }, mask("mask"))
        }
        "fwd" if code == FwdOp::ReqO as u64 => (Op::FwdReqO { for_wt: flag("for_wt") }, mask("mask")),
        "fwd" if code == FwdOp::ReqOData as u64 => (Op::FwdReqOData, mask("mask")),
        "fwd" if code == FwdOp::ReqWt as u64 => (Op::FwdReqWt { direct: flag("direct") }, mask("mask")),
        "fwd" if code == FwdOp::ReqS as u64 => (Op::FwdReqS, mask("mask")),
        "fwd" => (Op::Inv, mask("mask")),
        _ if code == RspOp::RspV as u64 => (Op::RspV { xmask: mask("extra") }, mask("mask")),
        _ if code == RspOp::RspO as u64 => (Op::RspO, mask("mask")),
        _ if code == RspOp::RspOData as u64 => (Op::RspOData { dirty: flag("dirty") }, mask("mask")),
        _ if code == RspOp::RspWt as u64 => (Op::RspWt, mask("mask")),
        _ if code == RspOp::RspWtData as u64 => (Op::RspWtData, mask("mask")),
        _ if code == RspOp::RspWb as u64 => (Op::RspWb { cross: mask("extra") }, mask("mask")),
        _ => panic!("{m:?} from a bank"),
    };
    let tag = if op == Op::RvkO { m.get("tbe") } else { m.get("tag") } as u8;
    let mut msg = Msg::new(src, Node::Dev(m.get("dst") as u8), op, m.get("line") as u32, mask, tag);
    msg.req = if channel == "fwd" && op != Op::RvkO { m.get("req") as u8 } else { 0 };
    let carried = match op {
        Op::RspV { xmask } => mask | xmask,
        Op::RspOData { .. } | Op::RspWtData | Op::FwdReqWt { .. } => mask,
        _ => return msg,
    };
    msg.data = words(s, m.wide("data")).only(carried);
    msg
}

/// The same as a watch sees it: without the bank's own number.
pub fn judged(msg: &Msg) -> Msg {
    let own = matches!(msg.op, Op::RvkO | Op::RspRvkO { .. });
    Msg { tag: if own { 0 } else { msg.tag }, ..*msg }
}
