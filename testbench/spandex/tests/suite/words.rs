//! Words of lines of 32 bytes, operations on them, and a small system's parameters.

use weft_blocks::msg::{AmoOp, CuOp, CuReq, Sys};
use weft_rtl::bv::Bv;
use weft_spandex::msg::WordOp;
use weft_spandex::params::Spandex;
use weft_spandex_bench::bench::Msg;

/// Bytes and words of a line.
pub const LINE: u64 = 32;
pub const WORDS: u64 = LINE / 4;

/// Two CPUs and two CUs, two banks, lines of 8 words; short queues.
pub fn small_spandex() -> Spandex {
    Spandex {
        cpus: 2,
        cus: 2,
        sharers: 2,
        addr_bits: 32,
        line: LINE as u32,
        banks: 2,
        mshrs: 3,
        sb: 3,
        wbb: 2,
        tbes: 4,
        ..Spandex::default()
    }
}

/// Four CUs and one bank.
pub fn small_cus() -> Spandex {
    Spandex { cpus: 0, cus: 4, sharers: 0, banks: 1, ..small_spandex() }
}

/// Places of the ones of a mask.
pub fn bits(mask: u64) -> impl Iterator<Item = u64> {
    (0..64).filter(move |i| mask >> i & 1 == 1)
}

/// Bytes of the words of a mask.
pub fn bytes_of(words: u64) -> u64 {
    bits(words).map(|w| 0xf << (4 * w)).sum()
}

/// A line of words, from the first one on; 0 where there is none.
pub fn line_of(words: &[u32]) -> Bv {
    let mut all = words.to_vec();
    all.resize(WORDS as usize, 0);
    let limbs: Vec<u64> = all.chunks(2).map(|c| u64::from(c[0]) | u64::from(c[1]) << 32).collect();
    Bv::from_limbs(&limbs, 8 * LINE as u32)
}

/// A line with words in their places.
pub fn line_at(words: impl IntoIterator<Item = (u64, u32)>) -> Bv {
    let mut all = [0; WORDS as usize];
    words.into_iter().for_each(|(at, value)| all[at as usize] = value);
    line_of(&all)
}

/// A word of a line.
pub fn word(data: &Bv, at: u64) -> u32 {
    data.slice(32 * at as u32, 32).low_u64() as u32
}

/// Words of a message.
pub fn words(m: &Msg) -> Vec<u32> {
    (0..WORDS).map(|w| word(m.wide("data"), w)).collect()
}

/// The word of a message at a byte address.
pub fn word_in(m: &Msg, addr: u64) -> u32 {
    word(m.wide("data"), addr % LINE / 4)
}

/// Every operation, in order of encoding.
pub const OPS: [WordOp; 16] = [
    WordOp::Read,
    WordOp::Write,
    WordOp::Merge,
    WordOp::Add,
    WordOp::Sub,
    WordOp::Inc,
    WordOp::Dec,
    WordOp::And,
    WordOp::Or,
    WordOp::Xor,
    WordOp::Min,
    WordOp::Max,
    WordOp::SMin,
    WordOp::SMax,
    WordOp::Exch,
    WordOp::Cas,
];

/// What an operation leaves of a word.
pub fn result(op: WordOp, old: u32, opnd: u32, cmp: u32, bmask: u64) -> u32 {
    let pick = |cond: bool, yes: u32, no: u32| if cond { yes } else { no };
    match op {
        WordOp::Read => old,
        WordOp::Write | WordOp::Exch => opnd,
        WordOp::Merge => {
            let bytes = bits(bmask).map(|b| 0xff_u32 << (8 * b)).sum::<u32>();
            (old & !bytes) | (opnd & bytes)
        }
        WordOp::Add => old.wrapping_add(opnd),
        WordOp::Sub => old.wrapping_sub(opnd),
        WordOp::Inc => pick(old >= opnd, 0, old.wrapping_add(1)),
        WordOp::Dec => pick(old == 0 || old > opnd, opnd, old.wrapping_sub(1)),
        WordOp::And => old & opnd,
        WordOp::Or => old | opnd,
        WordOp::Xor => old ^ opnd,
        WordOp::Min => old.min(opnd),
        WordOp::Max => old.max(opnd),
        WordOp::SMin => (old as i32).min(opnd as i32) as u32,
        WordOp::SMax => (old as i32).max(opnd as i32) as u32,
        WordOp::Cas => pick(old == cmp, opnd, old),
    }
}

/// A request of a core, which is to be answered unless its fields say otherwise.
pub fn core_request(cu: &Sys, id: u64, op: CuOp, fields: &[(&str, u64)], words: &[u32]) -> Msg {
    let base =
        [("op", op as u64), ("id", id), ("sync", 0), ("sem", 0), ("class", 0), ("want_ack", 1), ("sgn", 0)];
    Msg::of::<CuReq>(cu, &[&base[..], fields].concat()).with("data", line_of(words))
}

/// An operation at the CU port: request, atomic, signed.
pub fn cu_op(op: WordOp) -> (CuOp, AmoOp, bool) {
    let amo = |amo| (CuOp::Amo, amo, false);
    match op {
        WordOp::Read => (CuOp::Ld, AmoOp::Add, false),
        WordOp::Write => (CuOp::St, AmoOp::Add, false),
        WordOp::Add => amo(AmoOp::Add),
        WordOp::Sub => amo(AmoOp::Sub),
        WordOp::Inc => amo(AmoOp::Inc),
        WordOp::Dec => amo(AmoOp::Dec),
        WordOp::And => amo(AmoOp::And),
        WordOp::Or => amo(AmoOp::Or),
        WordOp::Xor => amo(AmoOp::Xor),
        WordOp::Min => amo(AmoOp::Min),
        WordOp::Max => amo(AmoOp::Max),
        WordOp::SMin => (CuOp::Amo, AmoOp::Min, true),
        WordOp::SMax => (CuOp::Amo, AmoOp::Max, true),
        WordOp::Exch => amo(AmoOp::Exch),
        WordOp::Cas => amo(AmoOp::Cas),
        WordOp::Merge => panic!("no operation of the CU port"),
    }
}
