//! Requests, and what stores and atomics do to a line.

pub const RD: u64 = 0;
pub const WR: u64 = 1;
pub const ATOM: u64 = 2;
/// The sender holds no line of the group any more.
pub const DOWN: u64 = 4;

/// A request as sent.
#[derive(Clone, Debug)]
pub struct Request {
    pub kind: u64,
    pub line: u64,
    pub mask: Vec<bool>,
    pub data: Vec<u8>,
    pub amo: u64,
    pub signed: bool,
    pub compare: u64,
    pub cacheable: bool,
    pub epoch: u64,
    /// 0 CU, 1 GPU, 2 system.
    pub scope: u64,
}

impl Request {
    /// Without data or answer.
    pub fn down(line: u64, bytes: usize) -> Request {
        let (mask, data) = (vec![false; bytes], vec![0; bytes]);
        Request {
            kind: DOWN,
            line,
            mask,
            data,
            amo: 0,
            signed: false,
            compare: 0,
            cacheable: true,
            epoch: 0,
            scope: 0,
        }
    }

    /// A store of the whole line.
    pub fn full(&self) -> bool {
        self.mask.iter().all(|m| *m)
    }

    /// Byte offset and size of an atomic's word.
    pub fn word(&self) -> (usize, usize) {
        let first = self.mask.iter().position(|m| *m).expect("a word");
        (first, self.mask.iter().filter(|m| **m).count())
    }

    /// Performs a store or atomic; returns the bytes of an atomic's word before.
    pub fn perform(&self, line: &mut [u8]) -> Vec<u8> {
        if self.kind == WR {
            for (i, on) in self.mask.iter().enumerate() {
                if *on {
                    line[i] = self.data[i];
                }
            }
            return Vec::new();
        }
        let (at, size) = self.word();
        let bits = 8 * size as u32;
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b));
        let cut = |n: u64| if bits == 64 { n } else { n & 0xffff_ffff };
        let old_bytes = line[at..at + size].to_vec();
        let (old, operand) = (number(&old_bytes), number(&self.data[at..at + size]));
        let signed = |n: u64| if bits == 64 { n as i64 } else { i64::from(n as u32 as i32) };
        let less = if self.signed { signed(old) < signed(operand) } else { old < operand };
        let new = match self.amo {
            0 => old.wrapping_add(operand),
            1 => old.wrapping_sub(operand),
            2 => {
                if old >= operand {
                    0
                } else {
                    old + 1
                }
            }
            3 => {
                if old == 0 || old > operand {
                    operand
                } else {
                    old - 1
                }
            }
            4 => old & operand,
            5 => old | operand,
            6 => old ^ operand,
            7 => {
                if less {
                    old
                } else {
                    operand
                }
            }
            8 => {
                if less {
                    operand
                } else {
                    old
                }
            }
            9 => operand,
            10 => {
                if old == cut(self.compare) {
                    operand
                } else {
                    old
                }
            }
            other => panic!("no atomic {other}"),
        };
        line[at..at + size].copy_from_slice(&cut(new).to_le_bytes()[..size]);
        old_bytes
    }
}
