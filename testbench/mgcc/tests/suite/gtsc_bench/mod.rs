//! What the tests of G-TSC share: messages between the golden models' form and the ports', a memory without timestamps.
#![allow(dead_code)] // Each test uses a part.

pub use crate::wire::answer_message;
use crate::wire::{self, AMOS, data_of, kind, op_code, wide, with_data};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::{BTreeMap, VecDeque};
use weft_mgcc::gtsc::GtscReq;
use weft_mgcc::msg::UmcRsp as UmcRspMsg;
use weft_mgcc::params::Tsm;
use weft_mgcc_bench::bench::Msg;
use weft_mgcc_bench::golden::gtsc::Request;
use weft_mgcc_bench::golden::l1::{CuReq, CuRsp, CuWork};
use weft_mgcc_bench::golden::msg::{Atomic, Data, Op, UmcReq, UmcRsp, UpRsp, Work};
use weft_mgcc_bench::golden::time::Time;
use weft_rtl::bv::Bv;
use weft_rtl::value::HwEnum;

/// Small widths.
pub fn widths(ts: u32) -> Tsm {
    Tsm {
        gpus: 1,
        cus: 4,
        banks: 2,
        lanes: 1,
        il: 7,
        addr_bits: 32,
        ts,
        eb: 3,
        cts: 40,
        l1_mshrs: 4,
        l2_mshrs: 4,
    }
}

/// Values at which an operator of an atomic turns, as numbers of 4 and of 8 bytes.
const ENDS: [u64; 6] = [0, 1, u64::MAX, i64::MIN as u64, i64::MAX as u64, 0x7fff_ffff_8000_0000];

/// A line of random words, of which some have values at which operators of atomics turn.
pub fn words(rng: &mut SmallRng) -> Data {
    let word = |_| if rng.random_bool(0.5) { ENDS[rng.random_range(0..ENDS.len())] } else { rng.random() };
    Data::from_words(std::array::from_fn(word))
}

/// An atomic on a random word.
pub fn atomic(rng: &mut SmallRng) -> Atomic {
    let wide = rng.random_bool(0.5);
    let kind = rng.random_range(0..4);
    let value = |rng: &mut SmallRng| {
        let value: u64 = match kind {
            0 | 1 => rng.random_range(0..4),
            2 => ENDS[rng.random_range(0..ENDS.len())].rotate_left(32 * u32::from(rng.random_bool(0.5))),
            _ => rng.random(),
        };
        if wide { value } else { value & 0xffff_ffff }
    };
    // Of the value that a word of 4 bytes is compared with only the low half counts.
    let beside = if wide { 0 } else { rng.random::<u64>() << 32 };
    Atomic {
        op: AMOS[rng.random_range(0..AMOS.len())],
        signed: rng.random(),
        word: rng.random_range(0..16u32) & if wide { 14 } else { 15 },
        wide,
        operand: value(rng),
        compare: value(rng) | beside,
    }
}

fn work_fields(work: &Work) -> (Vec<(&'static str, u64)>, Option<Bv>) {
    match work {
        Work::Read => (vec![("mask", 0)], None),
        Work::Write { mask, data } => (vec![("mask", *mask)], Some(wide(data))),
        Work::Atomic(a) => {
            let fields = vec![
                ("mask", 0),
                ("amo", a.op.encoding()),
                ("sgn", u64::from(a.signed)),
                ("word", u64::from(a.word)),
                ("wide", u64::from(a.wide)),
            ];
            (fields, Some(Bv::from_limbs(&[a.operand, a.compare, 7, 7, 7, 7, 7, 7], 512)))
        }
    }
}

/// What a message asks for; bytes that it does not say are zero.
fn work_of(msg: &Msg) -> Work {
    masked(wire::work_of(msg))
}

fn masked(work: Work) -> Work {
    match work {
        Work::Write { mask, data } => Work::Write { mask, data: data.masked(mask) },
        other => other,
    }
}

/// A request of an L1 for the port of a bank.
pub fn request_message(t: &Tsm, req: &Request) -> Msg {
    let (mut fields, data) = work_fields(&req.work);
    fields.extend([
        ("op", op_code(req.work.op())),
        ("src", u64::from(req.src)),
        ("txn", u64::from(req.txn)),
        ("line", req.line),
        ("warpts", req.warpts.pack(t.ts)),
        ("wts", req.wts),
    ]);
    let msg = Msg::of::<GtscReq>(t, &fields);
    match data {
        Some(data) => msg.with("data", data),
        None => msg,
    }
}

/// A request of an L1 as the models have it.
pub fn request_of(t: &Tsm, msg: &Msg) -> Request {
    Request {
        src: msg.get("src") as u32,
        txn: msg.get("txn") as u32,
        line: msg.get("line"),
        warpts: Time::unpack(msg.get("warpts"), t.ts),
        wts: msg.get("wts"),
        work: work_of(msg),
    }
}

/// Bytes that a request does not say are zero, as [`request_of`] has them.
pub fn plain(req: Request) -> Request {
    Request { work: masked(req.work), ..req }
}

/// An answer of a bank as the models have it.
pub fn answer_of(msg: &Msg) -> UpRsp {
    let op = kind(msg.get("op"));
    UpRsp {
        op,
        dst: msg.get("dst") as u32,
        txn: msg.get("txn") as u32,
        tag: msg.get("tag"),
        wts: msg.get("wts"),
        rts: msg.get("rts"),
        data: (msg.get("with_data") == 1).then(|| data_of(msg)),
        old: if op == Op::Atomic { msg.get("old") } else { 0 },
        from_memory: msg.get("from_memory") == 1,
    }
}

/// A request of a bank to memory as the models have it.
pub fn memory_request_of(msg: &Msg) -> UmcReq {
    let (src, txn) = (msg.get("src") as u32, msg.get("txn") as u32);
    UmcReq { src, txn, line: msg.get("line"), tag: msg.get("tag"), ts: msg.get("ts"), work: work_of(msg) }
}

/// An answer of memory for the port of a bank.
pub fn memory_answer(t: &Tsm, rsp: &UmcRsp) -> Msg {
    let fields = [
        ("op", op_code(rsp.op)),
        ("dst", u64::from(rsp.dst)),
        ("txn", u64::from(rsp.txn)),
        ("with_data", u64::from(rsp.data.is_some())),
        ("old", rsp.old),
    ];
    with_data(Msg::of::<UmcRspMsg>(t, &fields), rsp.data.as_ref())
}

/// A request of a CU for the port of an L1.
pub fn cu_message(t: &Tsm, req: &CuReq, release: bool) -> Msg {
    let beside = if matches!(req.work, CuWork::Atomic(_)) { 0x1122_3344_5566_7788 } else { 0 };
    wire::cu_message(t, req, u64::from(release), || Data::from_words([beside; 8]))
}

/// An answer to the CU as the models have it; `kend`: its data is a time.
pub fn cu_answer(msg: &Msg, time: Time, kend: bool) -> CuRsp {
    let mask = msg.get("mask");
    CuRsp {
        id: msg.get("id") as u32,
        ack: msg.get("kind") == 1,
        mask,
        data: data_of(msg).masked(if kend { 255 } else { mask }),
        time,
        src: msg.get("src") as u32,
        merged: msg.get("merged") == 1,
    }
}

/// Memory without timestamps: performs the requests of a line in order.
#[derive(Default)]
pub struct Memory {
    lines: BTreeMap<u64, Data>,
    waiting: BTreeMap<u64, VecDeque<UmcReq>>,
}

impl Memory {
    /// What a line holds at first.
    pub fn initial(line: u64) -> Data {
        Data::from_words(std::array::from_fn(|i| line.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (i as u64) << 56))
    }
    /// What a line holds.
    pub fn value(&self, line: u64) -> Data {
        self.lines.get(&line).copied().unwrap_or_else(|| Memory::initial(line))
    }
    /// Writes bytes of a line.
    pub fn write(&mut self, line: u64, mask: u64, data: &Data) {
        let mut value = self.value(line);
        value.merge(mask, data);
        self.lines.insert(line, value);
    }
    /// A request has arrived.
    pub fn take(&mut self, req: UmcReq) {
        self.waiting.entry(req.line).or_default().push_back(req);
    }
    /// Nothing waits.
    pub fn idle(&self) -> bool {
        self.waiting.values().all(VecDeque::is_empty)
    }
    /// Performs the oldest request of some line.
    pub fn serve(&mut self, rng: &mut SmallRng) -> Option<UmcRsp> {
        let lines: Vec<u64> = self.waiting.iter().filter(|w| !w.1.is_empty()).map(|w| *w.0).collect();
        if lines.is_empty() {
            return None;
        }
        let line = lines[rng.random_range(0..lines.len())];
        let req = self.waiting.get_mut(&line)?.pop_front()?;
        let mut data = self.value(line);
        let mut old = 0;
        match req.work {
            Work::Read => {}
            Work::Write { mask, data: bytes } => data.merge(mask, &bytes),
            Work::Atomic(a) => old = a.perform(&mut data),
        }
        self.lines.insert(line, data);
        let with_data = req.work.op() != Op::Write || req.work.partial();
        let (op, dst, txn) = (req.work.op(), req.src, req.txn);
        let (tag, wts, rts) = (0, 0, 0);
        Some(UmcRsp { op, dst, txn, tag, wts, rts, data: with_data.then_some(data), old })
    }
}
