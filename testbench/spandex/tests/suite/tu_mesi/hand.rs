//! The device with a core and a network that are played by hand.

use crate::tu_mesi::device::{DeviceParams, OWN, device, small};
use crate::words::{core_request, line_of, words};
use weft_blocks::msg::{AmoOp, CuOp, CuReq, CuRsp};
use weft_spandex::msg::{Fwd, FwdOp, Req, ReqOp, Rsp, RspOp, Wb};
use weft_spandex_bench::bench::{Bench, Msg};

/// All words of a line.
pub const ALL: u64 = 0xff;
/// Another device.
pub const OTHER: u64 = 3;

/// A run.
pub struct Hand {
    pub b: Bench,
    p: DeviceParams,
    next: u64,
}

impl Hand {
    pub fn new() -> Hand {
        Hand::of(&small())
    }

    pub fn of(p: &DeviceParams) -> Hand {
        let s = p.spandex();
        let mut b = Bench::new(&device(p), 1);
        b.source::<CuReq>("cu_req", &s.cu());
        b.sink::<CuRsp>("cu_rsp", &s.cu());
        b.sink::<Req>("req", s);
        b.sink::<Wb>("wb", s);
        b.sink::<Rsp>("rsp_out", s);
        b.sink::<Fwd>("fwd_out", s);
        b.source::<Fwd>("fwd", s);
        b.source::<Rsp>("rsp", s);
        b.set("own", OWN);
        let mut hand = Hand { b, p: p.clone(), next: 0 };
        hand.b.run(8);
        hand
    }

    fn bank(&self, line: u64) -> u64 {
        u64::from(self.p.spandex().devs()) + line % u64::from(self.p.spandex().banks)
    }

    fn cu(&mut self, op: CuOp, fields: &[(&str, u64)], words: &[u32]) -> u64 {
        let id = self.next;
        self.next += 1;
        let m = core_request(&self.p.spandex().cu(), id, op, fields, words);
        self.b.send("cu_req", m);
        id
    }

    /// Loads a line; the request's number.
    pub fn load(&mut self, line: u64) -> u64 {
        self.cu(CuOp::Ld, &[("line", line), ("mask", 0xffff_ffff)], &[])
    }

    /// Stores a word.
    pub fn store(&mut self, line: u64, w: usize, value: u32) -> u64 {
        let mut words = vec![0; 8];
        words[w] = value;
        self.cu(CuOp::St, &[("line", line), ("mask", 0xf << (4 * w))], &words)
    }

    /// Adds to a word.
    pub fn add(&mut self, line: u64, w: usize, value: u32) -> u64 {
        let mut words = vec![0; 8];
        words[w] = value;
        let mask = ("mask", 0xf << (4 * w));
        self.cu(CuOp::Amo, &[("line", line), mask, ("amo", AmoOp::Add as u64)], &words)
    }

    /// The core is answered.
    pub fn answered(&mut self, id: u64) -> Vec<u32> {
        let (_, m) = self.b.wait("cu_rsp");
        assert_eq!(m.get("id"), id, "another answer comes first");
        words(&m)
    }

    /// A request leaves; its transaction.
    pub fn requested(&mut self, op: ReqOp, line: u64) -> u64 {
        let (_, m) = self.b.wait("req");
        let found = ["op", "line", "mask", "src", "dst"].map(|f| m.get(f));
        assert_eq!(found, [op as u64, line, ALL, OWN, self.bank(line)]);
        m.get("tag")
    }

    /// A bank's response, for words of a line.
    pub fn respond(&mut self, op: RspOp, line: u64, mask: u64, fields: &[(&str, u64)], words: &[u32]) {
        let base =
            [("op", op as u64), ("line", line), ("mask", mask), ("src", self.bank(line)), ("dirty", 0)];
        let extra = [("extra", 0), ("direct", 0)];
        let m = Msg::of::<Rsp>(self.p.spandex(), &[&base[..], &extra, fields].concat());
        self.b.send("rsp", m.with("data", line_of(words)));
    }

    /// A forward; the bank's TBE is 2, the other device's transaction 9.
    pub fn forward(&mut self, op: FwdOp, line: u64, fields: &[(&str, u64)], words: &[u32]) {
        let base = [
            ("op", op as u64),
            ("line", line),
            ("mask", 0),
            ("own", 0),
            ("src", self.bank(line)),
            ("req", OTHER),
            ("tag", 9),
            ("tbe", 2),
            ("flex", 0),
            ("for_wt", 0),
            ("direct", 0),
        ];
        let m = Msg::of::<Fwd>(self.p.spandex(), &[&base[..], fields].concat());
        let m = m.with("data", line_of(words));
        self.b.send("fwd", m);
    }

    /// The next answer of the device, to another device (`OTHER`, transaction 9) or to the line's bank.
    pub fn says(&mut self, op: RspOp, line: u64, mask: u64) -> Msg {
        let (_, m) = self.b.wait("rsp_out");
        let found = ["op", "line", "mask", "src"].map(|f| m.get(f));
        assert_eq!(found, [op as u64, line, mask, OWN], "{m:?}");
        let bears = matches!(op, RspOp::RspV | RspOp::RspS | RspOp::RspOData);
        let bears = bears || (op == RspOp::RspRvkO && m.get("nodata") == 0);
        assert!(bears || m.wide("data").is_zero(), "what bears no data shows none: {m:?}");
        let bank = matches!(op, RspOp::Ack | RspOp::RspRvkO);
        let to = if bank { [self.bank(line), 2] } else { [OTHER, 9] };
        assert_eq!(["dst", "tag"].map(|f| m.get(f)), to, "{m:?}");
        m
    }

    /// A write-back leaves; its transaction.
    pub fn written_back(&mut self, line: u64, mask: u64, dirty: bool) -> (u64, Vec<u32>) {
        let (_, m) = self.b.wait("wb");
        let found = ["line", "mask", "src", "dst", "dirty"].map(|f| m.get(f));
        assert_eq!(found, [line, mask, OWN, self.bank(line), u64::from(dirty)]);
        (m.get("tag"), words(&m))
    }

    /// Some cycles in which nothing leaves.
    pub fn rest(&mut self) {
        self.b.silent(40, &["cu_rsp", "req", "wb", "rsp_out", "fwd_out"]);
    }

    /// The line is owned, exclusive and clean.
    pub fn own(&mut self, line: u64, words: &[u32]) {
        let id = self.load(line);
        let tag = self.requested(ReqOp::ReqS, line);
        self.respond(RspOp::RspOData, line, ALL, &[("tag", tag)], words);
        self.answered(id);
    }

    /// The line is shared.
    pub fn share(&mut self, line: u64, words: &[u32]) {
        let id = self.load(line);
        let tag = self.requested(ReqOp::ReqS, line);
        self.respond(RspOp::RspS, line, ALL, &[("tag", tag)], words);
        self.answered(id);
    }

    /// The block has nothing to do, and knows it.
    pub fn sleeps(&mut self) {
        self.b.falls_asleep(40);
    }
}
