//! The parts of a binary trace: sizes of each kernel and the code of each wave; index, lengths and checksums
//! are written anew.

use crate::{Kind, Part};

/// Before the steps: magic, version, lanes, number of steps.
const HEAD: usize = 12;

/// A part that says what follows it: `C` a copy, `K` a kernel's head with its sizes, `W` a wave's number and
/// code.
fn mark(what: u8) -> Part {
    Part { kind: Kind::Derived, bytes: vec![what] }
}

/// Bytes one after the other.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(first)
    }

    fn number(&mut self) -> Option<usize> {
        self.take(4).map(|bytes| bytes.iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte)))
    }
}

/// Takes a sound trace apart.
pub(super) fn open(input: &[u8]) -> Option<Vec<Part>> {
    let mut from = Bytes(input);
    let mut parts = vec![Part::fields(from.take(HEAD)?)];
    while let Some(kind) = from.0.first().copied() {
        if kind == 0 {
            parts.extend([mark(b'C'), Part::fields(from.take(17)?)]);
            continue;
        }
        let mut head = from;
        head.take(if kind == 2 { 5 } else { 1 })?;
        let name = head.number()?;
        head.take(name + 28)?;
        let length = from.0.len() - head.0.len();
        parts.extend([mark(b'K'), Part::fields(from.take(length)?)]);
        let mut index = Vec::new();
        for _ in 0..from.number()? {
            index.push((from.take(4)?, from.take(8)?, from.number()?, from.take(4)?));
        }
        from.take(8)?;
        for (wave, _, length, _) in index {
            parts.extend([mark(b'W'), Part::fields([wave, from.take(length)?].concat())]);
        }
    }
    Some(parts)
}

/// Puts a trace together.
pub(super) fn close(parts: &[Part]) -> Vec<u8> {
    let mut out = parts[0].bytes.clone();
    let marked: Vec<(u8, &[u8])> =
        parts[1..].chunks(2).map(|pair| (pair[0].bytes[0], pair[1].bytes.as_slice())).collect();
    let mut at = 0;
    while let Some((what, bytes)) = marked.get(at) {
        out.extend_from_slice(bytes);
        at += 1;
        if *what == b'K' {
            let waves = marked[at..].iter().take_while(|(what, _)| *what == b'W');
            let waves: Vec<(&[u8], &[u8])> =
                waves.map(|(_, bytes)| bytes.split_at(bytes.len().min(4))).collect();
            at += waves.len();
            put_waves(&mut out, &waves);
        }
    }
    out
}

fn put_waves(out: &mut Vec<u8>, waves: &[(&[u8], &[u8])]) {
    out.extend((waves.len() as u32).to_le_bytes());
    let mut offset = 0_u64;
    for (wave, code) in waves {
        let mut crc = flate2::Crc::new();
        crc.update(code);
        out.extend_from_slice(wave);
        out.extend(offset.to_le_bytes());
        out.extend((code.len() as u32).to_le_bytes());
        out.extend(crc.sum().to_le_bytes());
        offset += code.len() as u64;
    }
    out.extend(offset.to_le_bytes());
    waves.iter().for_each(|(_, code)| out.extend_from_slice(code));
}
