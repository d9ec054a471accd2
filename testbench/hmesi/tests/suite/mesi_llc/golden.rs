//! The golden model's opinion of what a bank sends, line by line.

use std::collections::BTreeMap;
use weft_hmesi_bench::golden::msg::{Msg as Model, Node, Op};
use weft_hmesi_bench::watch::{Home, HomeIn, HomeOut, Watch};
use weft_spandex::hmesi::msg::{HFwdOp, HRspOp};
use weft_spandex::params::Spandex;
use weft_spandex_bench::bench::Msg;
use weft_spandex_bench::golden::msg::Data;

/// A watch for each line.
pub struct Golden {
    s: Spandex,
    bank: u64,
    lines: BTreeMap<u64, Watch<Home>>,
}

/// A line's data of a version.
fn data(version: u64) -> Data {
    Data::fill(1, version as u32)
}

impl Golden {
    /// Of an empty bank.
    pub fn new(s: &Spandex, bank: u64) -> Golden {
        Golden { s: s.clone(), bank, lines: BTreeMap::new() }
    }

    fn watch(&mut self, line: u64) -> &mut Watch<Home> {
        let bank = self.bank as u8;
        self.lines.entry(line).or_insert_with(|| Watch::new(Home::new(bank, line as u32)))
    }

    fn node(&self, node: u64) -> Node {
        match node as u32 {
            n if n < self.s.cpus => Node::Client(n as u8),
            n if n == self.s.l2_node(self.bank as u32) => Node::Client(self.s.cpus as u8),
            _ => Node::L3(self.bank as u8),
        }
    }

    fn model(&self, op: Op, m: &Msg, version: u64) -> Model {
        let msg = Model::new(self.node(m.get("src")), self.node(m.get("dst")), op, m.get("line") as u32);
        if op.has_data() { msg.with(&data(version)) } else { msg }
    }

    /// A message comes to the bank, on a channel.
    pub fn took(&mut self, channel: &str, m: &Msg, version: u64) {
        let flag = |name: &str| m.get(name) == 1;
        let (op, tag) = match channel {
            "req" => (if m.get("op") == 0 { Op::GetS } else { Op::GetM }, m.get("tag")),
            "wb" => (Op::Put { dirty: flag("dirty") }, m.get("tag")),
            _ => {
                let rsp = m.get("op");
                let is = |op: HRspOp| rsp == op as u64;
                let op = match () {
                    _ if is(HRspOp::InvAck) => Op::InvAck,
                    _ if is(HRspOp::Unblock) => Op::Unblock,
                    _ if is(HRspOp::UnblockX) => Op::UnblockX,
                    _ => Op::WbData { dirty: flag("dirty"), kept: flag("kept") },
                };
                (op, 0)
            }
        };
        let msg = Model { tag: tag as u16, ..self.model(op, m, version) };
        self.watch(m.get("line")).took(HomeIn::Msg(msg));
    }

    /// Memory returns a line.
    pub fn memory(&mut self, line: u64, version: u64) {
        self.watch(line).took(HomeIn::Memory(data(version)));
    }

    /// Memory is read, or written.
    pub fn ordered(&mut self, line: u64, written: Option<u64>) -> Result<(), String> {
        let out = written.map_or(HomeOut::Read, |version| HomeOut::Write(data(version)));
        self.watch(line).sent(&out)
    }

    /// The bank sends a forward.
    pub fn forwards(&mut self, m: &Msg) -> Result<(), String> {
        let fwd = m.get("op");
        let is = |op: HFwdOp| fwd == op as u64;
        let (to, recall) = (self.node(m.get("req")), m.get("recall") == 1);
        let op = match () {
            _ if is(HFwdOp::FwdGetS) => Op::FwdGetS,
            _ if is(HFwdOp::FwdGetM) => Op::FwdGetM,
            _ if is(HFwdOp::Recall) => Op::Recall,
            _ if recall => Op::Inv { to: Node::L3(self.bank as u8) },
            _ => Op::Inv { to },
        };
        // What is sent to replace a line names nobody.
        let named = !recall && op != Op::Recall;
        let (req, tag) = match to {
            Node::Client(client) if named => (client, m.get("tag") as u16),
            _ => (0, 0),
        };
        let msg = Model { req, tag, ..self.model(op, m, 0) };
        self.watch(m.get("line")).sent(&HomeOut::Msg(msg))
    }

    /// The bank answers.
    pub fn answers(&mut self, m: &Msg, version: u64) -> Result<(), String> {
        let rsp = m.get("op");
        let is = |op: HRspOp| rsp == op as u64;
        let op = match () {
            _ if is(HRspOp::DataS) => Op::DataS { owner: m.get("peer") == 1 },
            _ if is(HRspOp::DataE) => Op::DataE,
            _ if is(HRspOp::DataM) => Op::DataM { acks: m.get("acks") as u8 },
            _ => Op::WbAck,
        };
        let msg = Model { req: 0, tag: m.get("tag") as u16, ..self.model(op, m, version) };
        self.watch(m.get("line")).sent(&HomeOut::Msg(msg))
    }

    /// The bank is idle.
    pub fn rest(&mut self) -> Result<(), String> {
        self.lines.values_mut().try_for_each(Watch::rest)
    }
}
