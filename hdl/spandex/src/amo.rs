//! The arithmetic of requests with data: one ALU per word, the same in a bank of the LLC and in an L1 that owns the word (spandex.md section 2).

use crate::msg::WordOp;
use crate::params::WORD;
use weft_blocks::msg::{AmoOp, CuReq};
use weft_rtl::prelude::*;

/// What an operation makes of a word.
#[derive(Clone, Copy)]
pub struct WordDone {
    /// The word after, 32 bits.
    pub new: Bits,
    /// It was written: by every operation but a read, a compare-and-swap that failed and a merge of no byte. A value written may be the old one.
    pub wrote: Bool,
}

/// An operation with what all its words share.
#[derive(Clone, Copy)]
pub struct WordAlu {
    /// What is done.
    pub op: Enum<WordOp>,
    /// Compare operand of `Cas`, 32 bits.
    pub cmp: Bits,
    /// Bytes that `Merge` writes, 4 bits.
    pub bmask: Bits,
}

impl WordAlu {
    /// Carries the operation out on `old` with operand `opnd`, 32 bits each.
    #[track_caller]
    pub fn word(&self, old: Bits, opnd: Bits) -> WordDone {
        let is = |op| self.op.is(op);
        let bytes: Vec<Bits> = (0..WORD / 8)
            .map(|i| mux(self.bmask.bit(i), opnd.slice(8 * i, 8), old.slice(8 * i, 8)))
            .collect();
        let up = mux(old.ge(opnd), lit(0, WORD), old + 1);
        let down = mux(old.none() | old.gt(opnd), opnd, old - 1);
        // With the sign bit turned over, signed order is unsigned order.
        let signed = is(WordOp::SMin) | is(WordOp::SMax);
        let flip = cat(&[signed.bits(), lit(0, WORD - 1)]);
        let less = (old ^ flip).lt(opnd ^ flip);
        let swaps = old.eq(self.cmp);
        let choices: [(&[WordOp], Bits); 12] = [
            (&[WordOp::Write, WordOp::Exch], opnd),
            (&[WordOp::Merge], pack(&bytes)),
            (&[WordOp::Add], old + opnd),
            (&[WordOp::Sub], old - opnd),
            (&[WordOp::Inc], up),
            (&[WordOp::Dec], down),
            (&[WordOp::And], old & opnd),
            (&[WordOp::Or], old | opnd),
            (&[WordOp::Xor], old ^ opnd),
            (&[WordOp::Min, WordOp::SMin], mux(less, old, opnd)),
            (&[WordOp::Max, WordOp::SMax], mux(less, opnd, old)),
            (&[WordOp::Cas], mux(swaps, opnd, old)),
        ];
        let new = choices.iter().fold(old, |so_far, (ops, value)| mux(self.op.is_any(ops), *value, so_far));
        let nothing = is(WordOp::Read) | (is(WordOp::Cas) & !swaps) | (is(WordOp::Merge) & self.bmask.none());
        WordDone { new, wrote: !nothing }
    }

    /// Carries the operation out on all words of a line at once: the line after, and the words of `mask` that were written.
    #[track_caller]
    pub fn line(&self, mask: Bits, old: Bits, opnd: Bits) -> (Bits, Bits) {
        let done: Vec<WordDone> = (0..mask.width())
            .map(|w| self.word(old.slice(WORD * w, WORD), opnd.slice(WORD * w, WORD)))
            .collect();
        let wrote = pack_bools(&done.iter().map(|d| d.wrote).collect::<Vec<_>>()) & mask;
        let words: Vec<Bits> = done
            .iter()
            .enumerate()
            .map(|(w, d)| mux(wrote.bit(w as u32), d.new, old.slice(WORD * w as u32, WORD)))
            .collect();
        (pack(&words), wrote)
    }
}

/// The operation of an atomic of the CU on each of its words.
pub(crate) fn amo_op(m: &CuReq) -> Enum<WordOp> {
    let code = |op: WordOp| enum_lit(op);
    let pairs = [
        (AmoOp::Add, WordOp::Add),
        (AmoOp::Sub, WordOp::Sub),
        (AmoOp::Inc, WordOp::Inc),
        (AmoOp::Dec, WordOp::Dec),
        (AmoOp::And, WordOp::And),
        (AmoOp::Or, WordOp::Or),
        (AmoOp::Xor, WordOp::Xor),
        (AmoOp::Exch, WordOp::Exch),
        (AmoOp::Cas, WordOp::Cas),
    ];
    let least = mux(m.sgn, code(WordOp::SMin), code(WordOp::Min));
    let greatest = mux(m.sgn, code(WordOp::SMax), code(WordOp::Max));
    let amo = mux(m.amo.is(AmoOp::Min), least, greatest);
    pairs.iter().fold(amo, |rest, (from, to)| mux(m.amo.is(*from), code(*to), rest))
}

fn by_word(bytes: Bits, test: impl Fn(Bits) -> Bool) -> Bits {
    let words: Vec<Bool> = (0..bytes.width() / 4).map(|w| test(bytes.slice(4 * w, 4))).collect();
    pack_bools(&words)
}

/// Words of which some byte is in a mask.
pub(crate) fn any_byte(bytes: Bits) -> Bits {
    by_word(bytes, Bits::any)
}

/// Words of which every byte is.
pub(crate) fn every_byte(bytes: Bits) -> Bits {
    by_word(bytes, Bits::all)
}

/// Each bit of a mask so many times.
pub(crate) fn spread(mask: Bits, times: u32) -> Bits {
    let parts: Vec<Bits> = (0..mask.width()).map(|i| mask.bit(i).repeat(times)).collect();
    pack(&parts)
}

/// Words of a mask from `a`, the others from `b`.
pub(crate) fn merge(mask: Bits, a: Bits, b: Bits) -> Bits {
    let here = spread(mask, 32);
    (a & here) | (b & !here)
}
