//! Messages between the golden models' form and the ports'.

use weft_blocks::msg::{AmoOp, CuReq as CuReqMsg};
use weft_engine::Sim;
use weft_mgcc::msg::UpRsp as UpRspMsg;
use weft_mgcc::params::Tsm;
use weft_mgcc_bench::bench::Msg;
use weft_mgcc_bench::golden::array::{Array, State};
use weft_mgcc_bench::golden::l1::{CuReq, CuWork};
use weft_mgcc_bench::golden::layout::Layout;
use weft_mgcc_bench::golden::msg::{Atomic, Data, Op, UpRsp, Work};
use weft_rtl::bv::Bv;
use weft_rtl::value::HwEnum;

/// Atomics that banks carry out, by encoding.
pub const AMOS: [AmoOp; 11] = [
    AmoOp::Add,
    AmoOp::Sub,
    AmoOp::Inc,
    AmoOp::Dec,
    AmoOp::And,
    AmoOp::Or,
    AmoOp::Xor,
    AmoOp::Min,
    AmoOp::Max,
    AmoOp::Exch,
    AmoOp::Cas,
];

/// Four GPUs of two CUs; short times.
pub fn small_tsm() -> Tsm {
    Tsm { ts: 7, gpus: 4, cus: 2, banks: 2, lanes: 2, eb: 4, addr_bits: 32, l2_mshrs: 16, ..Tsm::default() }
}

/// A line's bytes as a value.
pub fn wide(data: &Data) -> Bv {
    Bv::from_limbs(&data.words(), 512)
}

/// The line of a value.
pub fn line_data(bits: &Bv) -> Data {
    Data::from_words(std::array::from_fn(|i| bits.limbs()[i]))
}

/// The line in a message.
pub fn data_of(msg: &Msg) -> Data {
    line_data(msg.wide("data"))
}

/// A message with a line, if there is one.
pub fn with_data(msg: Msg, data: Option<&Data>) -> Msg {
    match data {
        Some(data) => msg.with("data", wide(data)),
        None => msg,
    }
}

/// Where lines lie.
pub fn layout(t: &Tsm) -> Layout {
    Layout { banks: u64::from(t.banks), lanes: u64::from(t.lanes), il: t.il }
}

/// Encoding of an operation.
pub fn op_code(op: Op) -> u64 {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Atomic => 2,
    }
}

/// Kind of an operation.
pub fn kind(code: u64) -> Op {
    [Op::Read, Op::Write, Op::Atomic][code as usize]
}

/// What a message asks for.
pub fn work_of(msg: &Msg) -> Work {
    match msg.get("op") {
        0 => Work::Read,
        1 => Work::Write { mask: msg.get("mask"), data: data_of(msg) },
        _ => Work::Atomic(Atomic {
            op: AMOS[msg.get("amo") as usize],
            signed: msg.get("sgn") == 1,
            word: msg.get("word") as u32,
            wide: msg.get("wide") == 1,
            operand: msg.wide("data").limbs()[0],
            compare: msg.wide("data").limbs()[1],
        }),
    }
}

/// An answer of a bank for the port of an L1.
pub fn answer_message(t: &Tsm, rsp: &UpRsp) -> Msg {
    let fields = [
        ("op", op_code(rsp.op)),
        ("dst", u64::from(rsp.dst)),
        ("txn", u64::from(rsp.txn)),
        ("tag", rsp.tag),
        ("wts", rsp.wts),
        ("rts", rsp.rts),
        ("with_data", u64::from(rsp.data.is_some())),
        ("old", rsp.old),
        ("from_memory", u64::from(rsp.from_memory)),
    ];
    with_data(Msg::of::<UpRspMsg>(t, &fields), rsp.data.as_ref())
}

/// A request of a CU for the port of an L1; a fence acquires or releases; `fill`: what lies beside a word.
pub fn cu_message(t: &Tsm, req: &CuReq, fence: u64, fill: impl FnOnce() -> Data) -> Msg {
    let mut fields = vec![("id", u64::from(req.id)), ("line", req.line), ("mask", req.mask)];
    let mut data = None;
    let op = match req.work {
        CuWork::Load { sync } => {
            fields.push(("sync", u64::from(sync)));
            0
        }
        CuWork::Store { data: bytes, want_ack } => {
            fields.push(("want_ack", u64::from(want_ack)));
            data = Some(bytes);
            1
        }
        CuWork::Atomic(a) => {
            let mut bytes = fill();
            bytes.set_number(4 * a.word as usize, a.size(), a.operand);
            data = Some(bytes);
            fields.extend([("amo", a.op.encoding()), ("sgn", u64::from(a.signed)), ("cmp", a.compare)]);
            2
        }
        CuWork::Fence => 3 + fence,
        CuWork::Kbegin(time) => {
            let mut bytes = fill();
            bytes.set_number(0, 8, time.pack(t.ts));
            data = Some(bytes);
            5
        }
        CuWork::Kend => 6,
    };
    fields.push(("op", op));
    with_data(Msg::of::<CuReqMsg>(&t.cu(), &fields), data.as_ref())
}

/// A number of so many bits that ends as a small one and has others at the top: caches must look at all of them.
pub fn far(small: u64, bits: u32) -> u64 {
    let spread = (small + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits);
    spread & !0xff | small
}

/// As the L1 is switched on, all ways of a set are of one age, with which none is the oldest: it must write them itself.
pub fn age_alike(sim: &mut Sim, sets: u32) {
    for set in 0..sets {
        let ages = sim.peek_mem("ages", set, 0).expect("an array");
        assert!(sim.poke_mem("ages", set, 0, &Bv::zero(ages.width())));
    }
}

/// Every block of an L1 is the model's: state, line, data, and stamps if it has any, of so many bits.
pub fn compare_l1(sim: &Sim, (sets, ways): (u32, u32), stamps: Option<u32>, array: &Array, at: &str) {
    let set_bits = sets.trailing_zeros();
    for (set, way) in (0..sets).flat_map(|s| (0..ways).map(move |w| (s, w))) {
        let state = |name: &str| {
            let register = format!("{name}{way}");
            sim.peek(&register).unwrap_or_else(|| panic!("no register {register}")).low_u64() >> set & 1 == 1
        };
        let expected = array.way((set as usize, way as usize));
        let held = match (state("valid"), state("locked")) {
            (false, false) => State::Invalid,
            (true, false) => State::Valid,
            (false, true) => State::Locked,
            (true, true) => panic!("{at}: set {set}, way {way}: both valid and locked"),
        };
        assert_eq!(held, expected.state, "{at}: set {set}, way {way}");
        if held == State::Invalid {
            continue;
        }
        let lane = |name: &str| sim.peek_mem(name, set, way).expect("an array");
        let line = lane("tags").low_u64() << set_bits | u64::from(set);
        assert_eq!(line, expected.line, "{at}: line of set {set}, way {way}");
        assert_eq!(lane("lines").limbs(), expected.data.words(), "{at}: data of line {line}");
        if let Some(ts) = stamps.filter(|_| held == State::Valid) {
            let stamps = lane("stamps").low_u64();
            let (wts, rts) = (stamps & ((1 << ts) - 1), stamps >> ts);
            assert_eq!((wts, rts), (expected.wts, expected.rts), "{at}: stamps of line {line}");
        }
    }
}
