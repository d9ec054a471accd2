//! Messages of the golden models: those of mgcc.md section 10 as plain data.

use std::fmt;
use weft_blocks::msg::AmoOp;

/// The 64 bytes of a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Data(pub [u8; 64]);

impl Default for Data {
    fn default() -> Data {
        Data([0; 64])
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.0.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
        write!(f, "x")?;
        self.0[..last].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Data {
    /// A line of 8 words of 8 bytes, lowest first, little endian.
    pub fn from_words(words: [u64; 8]) -> Data {
        let mut data = Data::default();
        for (i, word) in words.iter().enumerate() {
            data.0[8 * i..8 * i + 8].copy_from_slice(&word.to_le_bytes());
        }
        data
    }
    /// The 8 words of a line.
    pub fn words(&self) -> [u64; 8] {
        std::array::from_fn(|i| self.number(8 * i, 8))
    }
    /// Replaces the bytes of `mask` by those of `other`.
    pub fn merge(&mut self, mask: u64, other: &Data) {
        for i in (0..64).filter(|i| mask >> i & 1 == 1) {
            self.0[i] = other.0[i];
        }
    }
    /// The same line with the bytes outside `mask` zero.
    pub fn masked(&self, mask: u64) -> Data {
        let mut out = Data::default();
        out.merge(mask, self);
        out
    }
    /// `size` bytes from `at` as a number.
    pub fn number(&self, at: usize, size: usize) -> u64 {
        self.0[at..at + size].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }
    /// Sets `size` bytes from `at` to the low bytes of a number.
    pub fn set_number(&mut self, at: usize, size: usize, value: u64) {
        self.0[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
}

/// An atomic on one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Atomic {
    /// What is computed.
    pub op: AmoOp,
    /// Compares signed.
    pub signed: bool,
    /// First word of 4 bytes, 0..15.
    pub word: u32,
    /// The word has 8 bytes (`word` is even).
    pub wide: bool,
    /// Operand.
    pub operand: u64,
    /// Compare operand.
    pub compare: u64,
}

impl std::hash::Hash for Atomic {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.op as u8, self.signed, self.word, self.wide, self.operand, self.compare).hash(state);
    }
}

impl Atomic {
    /// Bytes of the word: 4 or 8.
    pub fn size(&self) -> usize {
        if self.wide { 8 } else { 4 }
    }
    /// Bytes of the line that it reads and writes.
    pub fn mask(&self) -> u64 {
        ((1 << self.size()) - 1) << (4 * self.word)
    }
    /// What it leaves in the word (cu-and-consistency.md section 1).
    pub fn result(&self, old: u64) -> u64 {
        let size = self.size() as u32;
        let keep = |value: u64| if size == 8 { value } else { value & 0xffff_ffff };
        let signed = |value: u64| if size == 8 { value as i64 } else { i64::from(value as u32 as i32) };
        let (old, operand, compare) = (keep(old), keep(self.operand), keep(self.compare));
        let less = if self.signed { signed(old) < signed(operand) } else { old < operand };
        keep(match self.op {
            AmoOp::Add => old.wrapping_add(operand),
            AmoOp::Sub => old.wrapping_sub(operand),
            AmoOp::Inc if old >= operand => 0,
            AmoOp::Inc => old + 1,
            AmoOp::Dec if old == 0 || old > operand => operand,
            AmoOp::Dec => old - 1,
            AmoOp::And => old & operand,
            AmoOp::Or => old | operand,
            AmoOp::Xor => old ^ operand,
            AmoOp::Min => {
                if less {
                    old
                } else {
                    operand
                }
            }
            AmoOp::Max => {
                if less {
                    operand
                } else {
                    old
                }
            }
            AmoOp::Exch => operand,
            AmoOp::Cas if old == compare => operand,
            AmoOp::Cas => old,
            AmoOp::Fadd32 => {
                u64::from((f32::from_bits(old as u32) + f32::from_bits(operand as u32)).to_bits())
            }
        })
    }
    /// Performs it on a line; the old value, 4-byte ones in the low half.
    pub fn perform(&self, line: &mut Data) -> u64 {
        let (at, size) = (4 * self.word as usize, self.size());
        let old = line.number(at, size);
        line.set_number(at, size, self.result(old));
        old
    }
}

/// What a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Work {
    /// Read of a line.
    Read,
    /// Write of masked bytes, in place.
    Write {
        /// Bytes written.
        mask: u64,
        /// Their values in place.
        data: Data,
    },
    /// Atomic, performed at the memory.
    Atomic(Atomic),
}

/// Kind of a transaction, as answers name it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Op {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Atomic.
    Atomic,
}

impl Work {
    /// Kind of the transaction.
    pub fn op(&self) -> Op {
        match self {
            Work::Read => Op::Read,
            Work::Write { .. } => Op::Write,
            Work::Atomic(_) => Op::Atomic,
        }
    }
    /// A write of fewer than all bytes.
    pub fn partial(&self) -> bool {
        matches!(self, Work::Write { mask, .. } if *mask != u64::MAX)
    }
    fn bytes(&self) -> u64 {
        match self {
            Work::Read => 12,
            Work::Write { .. } => 76 + if self.partial() { 8 } else { 0 },
            Work::Atomic(a) => {
                if a.op == AmoOp::Cas {
                    28
                } else {
                    20
                }
            }
        }
    }
}

/// L1 to L2 bank.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UpReq {
    /// Sending L1.
    pub src: u32,
    /// Transaction of the L1.
    pub txn: u32,
    /// Line number.
    pub line: u64,
    /// Goes to memory even if the bank's block is live.
    pub force: bool,
    /// Epoch of the L1, EB bits.
    pub tag: u64,
    /// The L1's clock, if attached.
    pub ts: Option<u64>,
    /// What is asked.
    pub work: Work,
}

impl UpReq {
    /// Bytes of the message.
    pub fn bytes(&self) -> u64 {
        self.work.bytes() + if self.ts.is_some() { 2 } else { 0 }
    }
}

/// L2 bank to L1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct UpRsp {
    /// What was asked.
    pub op: Op,
    /// Receiving L1.
    pub dst: u32,
    /// Transaction of the L1.
    pub txn: u32,
    /// Epoch of the stamps, EB bits.
    pub tag: u64,
    /// Write timestamp.
    pub wts: u64,
    /// Read timestamp.
    pub rts: u64,
    /// The line, where the message has it.
    pub data: Option<Data>,
    /// An atomic's old value.
    pub old: u64,
    /// The L2 did not answer it alone.
    pub from_memory: bool,
}

/// L2 bank to UMC. EvictNotes are not among them: see [`crate::golden::l2::L2Action::Note`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UmcReq {
    /// Sending GPU.
    pub src: u32,
    /// Transaction of the bank.
    pub txn: u32,
    /// Line number.
    pub line: u64,
    /// Epoch of the bank, EB bits.
    pub tag: u64,
    /// The bank's clock.
    pub ts: u64,
    /// What is asked.
    pub work: Work,
}

impl UmcReq {
    /// Bytes of the message; without coherence there is no timestamp.
    pub fn bytes(&self, coherent: bool) -> u64 {
        self.work.bytes() + if coherent { 2 } else { 0 }
    }
}

/// UMC to L2 bank.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct UmcRsp {
    /// What was asked.
    pub op: Op,
    /// Receiving GPU.
    pub dst: u32,
    /// Transaction of the bank.
    pub txn: u32,
    /// Epoch of the stamps, EB bits.
    pub tag: u64,
    /// Write timestamp granted.
    pub wts: u64,
    /// Read timestamp granted.
    pub rts: u64,
    /// The line with the write merged, where the message has it.
    pub data: Option<Data>,
    /// An atomic's old value.
    pub old: u64,
}

fn answer_bytes(op: Op, data: bool, coherent: bool) -> u64 {
    let plain = match (op, data) {
        (Op::Read, _) => 80,
        (Op::Write, true) => 76,
        (Op::Write, false) => 12,
        (Op::Atomic, _) => 88,
    };
    plain + if coherent { 4 } else { 0 }
}

impl UpRsp {
    /// Bytes of the message.
    pub fn bytes(&self, coherent: bool) -> u64 {
        answer_bytes(self.op, self.data.is_some(), coherent)
    }
}

impl UmcRsp {
    /// Bytes of the message.
    pub fn bytes(&self, coherent: bool) -> u64 {
        answer_bytes(self.op, self.data.is_some(), coherent)
    }
}
