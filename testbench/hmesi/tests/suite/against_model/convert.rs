//! Messages of the hardware and of the model.

use weft_hmesi_bench::bench;
use weft_hmesi_bench::golden::msg::{Msg, Node, Op};
use weft_rtl::bv::Bv;
use weft_spandex::hmesi::msg::{HFwd, HFwdOp, HReq, HRsp, HRspOp, HWb};
use weft_spandex::mesi_port::Get;
use weft_spandex::params::Spandex;
use weft_spandex_bench::golden::msg::Data;

/// Node of a client or bank, for a line.
pub fn node(s: &Spandex, node: Node, line: u32) -> u64 {
    u64::from(match node {
        Node::L3(bank) => s.l3_node(u32::from(bank)),
        Node::Client(client) if u32::from(client) == s.cpus => s.l2_node(line % s.banks),
        Node::Client(client) => u32::from(client),
    })
}
/// And back.
pub fn who(s: &Spandex, node: u64) -> Node {
    let node = node as u32;
    if node >= s.l3_node(0) {
        return Node::L3((node - s.l3_node(0)) as u8);
    }
    Node::Client(node.min(s.cpus) as u8)
}
/// A line's data.
pub fn wide(s: &Spandex, data: &Data) -> Bv {
    let words = data.0[..s.words() as usize].iter();
    Bv::concat(&words.map(|word| Bv::from_u64(u64::from(*word), 32)).collect::<Vec<_>>())
}
/// And back.
pub fn words(s: &Spandex, data: &Bv) -> Data {
    let mut out = Data::default();
    (0..s.words()).for_each(|word| out.0[word as usize] = data.slice(32 * word, 32).low_u64() as u32);
    out
}

/// A message of the hardware, and its network: `req`, `wb`, `fwd` or `rsp`. Fields without meaning are left out: noise is sent.
pub fn encode(s: &Spandex, msg: &Msg) -> (&'static str, bench::Msg) {
    let line = u64::from(msg.line);
    let mut fields =
        vec![("line", line), ("src", node(s, msg.src, msg.line)), ("dst", node(s, msg.dst, msg.line))];
    let req = node(s, Node::Client(msg.req), msg.line);
    let mut fwd = |op: HFwdOp, req: u64, recall: bool| {
        fields.extend([
            ("op", op as u64),
            ("req", req),
            ("recall", u64::from(recall)),
            ("tag", u64::from(msg.tag)),
        ]);
        ("fwd", bench::Msg::of::<HFwd>(s, &fields))
    };
    match msg.op {
        Op::FwdGetS => return fwd(HFwdOp::FwdGetS, req, false),
        Op::FwdGetM => return fwd(HFwdOp::FwdGetM, req, false),
        Op::Recall => return fwd(HFwdOp::Recall, 0, false),
        Op::Inv { to } => return fwd(HFwdOp::Inv, node(s, to, msg.line), matches!(to, Node::L3(_))),
        _ => {}
    }
    fields.push(("tag", u64::from(msg.tag)));
    let data = |out: bench::Msg| if msg.op.has_data() { out.with("data", wide(s, &msg.data)) } else { out };
    let mut rsp = |op: HRspOp, acks: u8, peer: bool, dirty: bool, kept: bool| {
        fields.extend([("op", op as u64), ("acks", u64::from(acks)), ("peer", u64::from(peer))]);
        fields.extend([("dirty", u64::from(dirty)), ("kept", u64::from(kept))]);
        ("rsp", data(bench::Msg::of::<HRsp>(s, &fields)))
    };
    let peer = matches!(msg.src, Node::Client(_));
    match msg.op {
        Op::DataE => rsp(HRspOp::DataE, 0, false, false, false),
        Op::DataS { owner } => rsp(HRspOp::DataS, 0, owner, false, false),
        Op::DataM { acks } => rsp(HRspOp::DataM, acks, peer, false, false),
        Op::InvAck => rsp(HRspOp::InvAck, 0, false, false, false),
        Op::WbAck => rsp(HRspOp::WbAck, 0, false, false, false),
        Op::WbData { dirty, kept } => rsp(HRspOp::WbData, 0, false, dirty, kept),
        Op::Unblock => rsp(HRspOp::Unblock, 0, false, false, false),
        Op::UnblockX => rsp(HRspOp::UnblockX, 0, false, false, false),
        Op::Put { dirty } => {
            fields.push(("dirty", u64::from(dirty)));
            ("wb", data(bench::Msg::of::<HWb>(s, &fields)))
        }
        _ => {
            let op = if msg.op == Op::GetM { Get::GetM } else { Get::GetS };
            fields.push(("op", op as u64));
            ("req", bench::Msg::of::<HReq>(s, &fields))
        }
    }
}

/// A message of the hardware on a network: `req`, `wb`, `fwd` or `rsp`. Fields without meaning are zero.
pub fn decode(s: &Spandex, network: &str, m: &bench::Msg) -> Msg {
    let (src, dst, line) = (who(s, m.get("src")), who(s, m.get("dst")), m.get("line") as u32);
    let flag = |name: &str| m.get(name) == 1;
    let op = match (network, m.0.get("op").map_or(0, |op| op.low_u64())) {
        ("req", op) if op == Get::GetM as u64 => Op::GetM,
        ("req", _) => Op::GetS,
        ("wb", _) => Op::Put { dirty: flag("dirty") },
        ("fwd", 0) => Op::FwdGetS,
        ("fwd", 1) => Op::FwdGetM,
        ("fwd", 2) => Op::Recall,
        ("fwd", _) if flag("recall") => Op::Inv { to: src },
        ("fwd", _) => Op::Inv { to: who(s, m.get("req")) },
        (_, 0) => Op::DataS { owner: flag("peer") },
        (_, 1) => Op::DataE,
        (_, 2) => Op::DataM { acks: m.get("acks") as u8 },
        (_, 3) => Op::InvAck,
        (_, 4) => Op::WbAck,
        (_, 5) => Op::WbData { dirty: flag("dirty"), kept: flag("kept") },
        (_, 6) => Op::Unblock,
        _ => Op::UnblockX,
    };
    let mut msg = Msg::new(src, dst, op, line);
    msg.req = match op {
        Op::FwdGetS | Op::FwdGetM | Op::Inv { to: Node::Client(_) } => match who(s, m.get("req")) {
            Node::Client(client) => client,
            Node::L3(_) => u8::MAX,
        },
        _ => 0,
    };
    let eviction = matches!(op, Op::Recall | Op::Inv { to: Node::L3(_) });
    let home = network == "rsp" && matches!(dst, Node::L3(_));
    msg.tag = if eviction || home { 0 } else { m.get("tag") as u16 };
    if op.has_data() { msg.with(&words(s, m.wide("data"))) } else { msg }
}
