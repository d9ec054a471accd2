//! The L1 with a core and a unit below it that are played by hand.

use crate::words::{core_request, line_of, small_spandex, words};
use weft_blocks::msg::{AmoOp, CuOp, CuReq, CuRsp};
use weft_spandex::mesi_l1::{MesiL1Params, mesi_l1};
use weft_spandex::mesi_port::{
    DownOp, ExtOp, Get, LineState, MesiDown, MesiExt, MesiPort, MesiReq, MesiUp, UpOp,
};
use weft_spandex::params::Spandex;
use weft_spandex_bench::bench::{Bench, Msg};

/// A run.
pub struct Hand {
    pub b: Bench,
    p: MesiL1Params,
    next: u64,
}

/// 2 sets of 2 ways, lines of 8 words, short queues.
pub fn small() -> MesiL1Params {
    let spandex = Spandex { sb: 6, ..small_spandex() };
    MesiL1Params::new(MesiPort { spandex, size: 128, ways: 2 })
}

impl Hand {
    pub fn new() -> Hand {
        Hand::of(&small())
    }

    pub fn of(p: &MesiL1Params) -> Hand {
        let cu = p.port.spandex.cu();
        let mut b = Bench::new(&mesi_l1(p).expect("legal"), 1);
        b.source::<CuReq>("cu_req", &cu);
        b.sink::<CuRsp>("cu_rsp", &cu);
        b.sink::<MesiReq>("l1_req", &p.port);
        b.sink::<MesiUp>("l1_up", &p.port);
        b.source::<MesiDown>("l1_down", &p.port);
        b.source::<MesiExt>("ext", &p.port);
        let mut hand = Hand { b, p: p.clone(), next: 0 };
        hand.b.run(8);
        hand
    }

    /// A request of the core; its number.
    pub fn cu(&mut self, op: CuOp, fields: &[(&str, u64)], words: &[u32]) -> u64 {
        let id = self.next;
        self.next += 1;
        let m = core_request(&self.p.port.spandex.cu(), id, op, fields, words);
        self.b.send("cu_req", m);
        id
    }

    pub fn load(&mut self, line: u64) -> u64 {
        self.cu(CuOp::Ld, &[("line", line), ("mask", 0xffff_ffff)], &[])
    }

    /// Stores bytes.
    pub fn store(&mut self, line: u64, mask: u64, words: &[u32], ack: bool) -> u64 {
        let fields = [("line", line), ("mask", mask), ("want_ack", u64::from(ack))];
        self.cu(CuOp::St, &fields, words)
    }

    /// An atomic on whole words.
    pub fn amo(&mut self, op: AmoOp, line: u64, mask: u64, words: &[u32], cmp: u64) -> u64 {
        let fields = [("line", line), ("mask", mask), ("amo", op as u64), ("cmp", cmp)];
        self.cu(CuOp::Amo, &fields, words)
    }

    /// The core is answered; kind and words.
    pub fn answered(&mut self, id: u64) -> (u64, Vec<u32>) {
        let (_, m) = self.b.wait("cu_rsp");
        assert_eq!(m.get("id"), id, "another answer comes first");
        (m.get("kind"), words(&m))
    }

    /// The L1 asks for a line; its MSHR.
    pub fn asked(&mut self, op: Get, line: u64) -> u64 {
        let (_, m) = self.b.wait("l1_req");
        assert_eq!([m.get("op"), m.get("line")], [op as u64, line]);
        m.get("tag")
    }

    /// Data for an MSHR.
    pub fn give(&mut self, tag: u64, state: LineState, words: &[u32]) {
        let fields = [("op", DownOp::Data as u64), ("tag", tag), ("state", state as u64), ("peer", 1)];
        let m = Msg::of::<MesiDown>(&self.p.port, &fields).with("data", line_of(words));
        self.b.send("l1_down", m);
    }

    /// An entry of the write-back buffer is free.
    pub fn free(&mut self) {
        let m = Msg::of::<MesiDown>(&self.p.port, &[("op", DownOp::Free as u64)]);
        self.b.send("l1_down", m);
    }

    /// A lookup that frees a line.
    pub fn free_line(&mut self, line: u64) {
        let fields = [("op", ExtOp::Free as u64), ("line", line), ("mask", 0)];
        self.b.send("ext", Msg::of::<MesiExt>(&self.p.port, &fields));
    }

    /// What the L1 says next.
    pub fn up(&mut self, op: UpOp, line: u64, state: LineState) -> Msg {
        let (_, m) = self.b.wait("l1_up");
        let found = ["op", "line", "state"].map(|f| m.get(f));
        assert_eq!(found, [op as u64, line, state as u64], "{m:?}");
        m
    }

    /// A lookup, and the state found.
    pub fn look(&mut self, op: ExtOp, line: u64, state: LineState) -> Vec<u32> {
        let fields = [("op", op as u64), ("line", line), ("mask", 0b10)];
        let m = Msg::of::<MesiExt>(&self.p.port, &fields).with("data", line_of(&[0, 77]));
        self.b.send("ext", m);
        words(&self.up(UpOp::Found, line, state))
    }

    /// The line comes in a state.
    pub fn fill(&mut self, line: u64, state: LineState, words: &[u32]) {
        let id = self.load(line);
        let tag = self.asked(Get::GetS, line);
        self.give(tag, state, words);
        self.answered(id);
        let last = if state == LineState::I { LineState::P } else { state };
        self.up(UpOp::Done, line, last);
    }

    /// Some cycles in which nothing leaves.
    pub fn rest(&mut self) {
        self.b.silent(30, &["cu_rsp", "l1_req", "l1_up"]);
    }

    /// The block has nothing to do, and knows it.
    pub fn sleeps(&mut self) {
        self.b.falls_asleep(40);
    }
}
