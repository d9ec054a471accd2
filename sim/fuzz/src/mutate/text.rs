//! A text, changed token by token and line by line.

use super::{EXTREMES, MOST, pick};
use rand::Rng;
use rand::rngs::SmallRng;
use std::ops::Range;

/// Numbers as nobody should write them.
const ODD: [&str; 18] = [
    "-1",
    "-0",
    "+1",
    "1e308",
    "1e999",
    "1e-400",
    "nan",
    "inf",
    "-inf",
    "0x8000000000000000",
    "-0x8000000000000000",
    "0xffffffffffffffffffffffffffffffffff",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "99999999999999999999999999999999999999999999999999999999",
    "007",
    "1_0",
    "0.5",
];

/// What does not belong into a text, or looks as if it did.
const STRANGE: [&[u8]; 14] = [
    b"\0",
    b"\r\n",
    b"\r",
    b"\t",
    "\u{feff}".as_bytes(),
    "\u{e9}".as_bytes(),
    "\u{2028}".as_bytes(),
    "\u{1f980}".as_bytes(),
    b"\xff",
    b"\xc3",
    b"\"",
    b"\\",
    b"#",
    b"\n\n",
];

/// Brackets and other signs that nest or part.
const SIGNS: [&str; 24] = [
    "(", ")", "[", "]", "{", "}", "<", ">", ",", ";", ":", "=", "+", "-", "*", "&", "|", "!", "~", "/", "%",
    "@", ".", "'",
];

/// The tokens of a text: numbers, words, runs of blanks, single other bytes.
fn tokens(bytes: &[u8]) -> Vec<Range<usize>> {
    #[derive(PartialEq, Clone, Copy)]
    enum Class {
        Digit,
        Letter,
        Blank,
        Other,
    }
    let class = |byte: u8| match byte {
        b'0'..=b'9' => Class::Digit,
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => Class::Letter,
        b' ' | b'\t' => Class::Blank,
        _ => Class::Other,
    };
    let mut out: Vec<Range<usize>> = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        let now = class(*byte);
        match out.last_mut() {
            Some(last) if now != Class::Other && joins(class(bytes[last.start]), now) => last.end = at + 1,
            _ => out.push(at..at + 1),
        }
    }
    fn joins(first: Class, now: Class) -> bool {
        first == now
            || (first == Class::Letter && now == Class::Digit)
            || (first == Class::Digit && now == Class::Letter)
    }
    out
}

fn lines(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut end = 0;
    let line = |line: &[u8]| {
        end += line.len();
        end - line.len()..end
    };
    bytes.split_inclusive(|byte| *byte == b'\n').map(line).collect()
}

/// Puts bytes in the place of some.
fn put(bytes: &[u8], at: Range<usize>, with: &[u8]) -> Vec<u8> {
    [&bytes[..at.start], with, &bytes[at.end..]].concat()
}

/// Changes one place; `other` is another input, `words` are those of the format ([`Target::words`](crate::Target::words)).
pub fn change(rng: &mut SmallRng, bytes: &[u8], other: &[u8], words: &str) -> Vec<u8> {
    let choice = rng.random_range(0..20);
    if choice >= 14 {
        return of_lines(rng, bytes, other);
    }
    let all = tokens(bytes);
    let Some(token) = pick(rng, &all).cloned() else { return word(rng, other, words) };
    match choice {
        0..=3 => match number_in(rng, bytes, &all) {
            Some(at) => put(bytes, at.clone(), &number(rng, &bytes[at])),
            None => put(bytes, token, &word(rng, other, words)),
        },
        4 => put(bytes, token, b""),
        5 => put(bytes, token.clone(), &[&bytes[token.clone()], &bytes[token]].concat()),
        6 => {
            let with = pick(rng, &all).cloned().unwrap_or_default();
            put(bytes, token, &bytes[with])
        }
        7 | 8 => put(bytes, token, &word(rng, other, words)),
        9 => put(bytes, token.end..token.end, &[b" ", &word(rng, other, words)[..]].concat()),
        10 => put(bytes, token.end..token.end, pick(rng, &STRANGE).copied().unwrap_or_default()),
        11 => put(bytes, token.clone(), &misspelt(rng, &bytes[token])),
        12 => repeated(rng, bytes, token),
        _ => put(bytes, token.start..token.start, pick(rng, &SIGNS).map_or(b"", |sign| sign.as_bytes())),
    }
}

fn of_lines(rng: &mut SmallRng, bytes: &[u8], other: &[u8]) -> Vec<u8> {
    let (all, others) = (lines(bytes), lines(other));
    let Some(line) = pick(rng, &all).cloned() else { return other.to_vec() };
    match rng.random_range(0..6) {
        0 => put(bytes, line, b""),
        1 => put(bytes, line.end..line.end, &bytes[line]),
        2 => {
            let with = pick(rng, &all).cloned().unwrap_or_default();
            put(bytes, line, &bytes[with])
        }
        3 => {
            let with = pick(rng, &others).cloned().unwrap_or_default();
            put(bytes, line.end..line.end, &other[with])
        }
        4 if rng.random_ratio(1, 4) => bytes[..rng.random_range(line.start..=line.end)].to_vec(),
        4 => {
            let count = rng.random_range(2..40).min(MOST / line.len().max(1));
            put(bytes, line.end..line.end, &bytes[line].repeat(count))
        }
        _ => {
            let with = pick(rng, &all).cloned().unwrap_or_default();
            let (first, second) = if line.start <= with.start { (line, with) } else { (with, line) };
            if first.end > second.start {
                return bytes.to_vec();
            }
            let between = &bytes[first.end..second.start];
            let turned = [&bytes[second.clone()], between, &bytes[first.clone()]].concat();
            put(bytes, first.start..second.end, &turned)
        }
    }
}

/// A number of the text, with the sign before it now and then.
fn number_in(rng: &mut SmallRng, bytes: &[u8], all: &[Range<usize>]) -> Option<Range<usize>> {
    let numbers: Vec<&Range<usize>> =
        all.iter().filter(|token| bytes[token.start].is_ascii_digit()).collect();
    pick(rng, &numbers).map(|token| (*token).clone())
}

/// Another number than this one.
fn number(rng: &mut SmallRng, old: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(old);
    let value = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let hexadecimal = text.starts_with("0x");
    let new = match (rng.random_range(0..8), value) {
        (0, Ok(value)) => value.wrapping_add(1),
        (1, Ok(value)) => value.wrapping_sub(1),
        (2, Ok(value)) => value.wrapping_mul(2),
        (3, Ok(value)) => value / 2,
        (4 | 5, _) => rng.random_range(0..20),
        (6, _) => *pick(rng, &EXTREMES).unwrap_or(&0),
        _ => return pick(rng, &ODD).map_or(Vec::new(), |odd| odd.as_bytes().to_vec()),
    };
    if hexadecimal { format!("{new:#x}").into_bytes() } else { new.to_string().into_bytes() }
}

/// A word of the format, or a token of another input.
fn word(rng: &mut SmallRng, other: &[u8], words: &str) -> Vec<u8> {
    let words: Vec<&str> = words.split("  ").collect();
    if words != [""] && rng.random_ratio(1, 2) {
        return pick(rng, &words).map_or(Vec::new(), |word| word.as_bytes().to_vec());
    }
    let all = tokens(other);
    pick(rng, &all).map_or(b"1".to_vec(), |token| other[token.clone()].to_vec())
}

/// A word with a letter lost, doubled, changed or of the other case.
fn misspelt(rng: &mut SmallRng, token: &[u8]) -> Vec<u8> {
    let at = rng.random_range(0..token.len());
    let with = match rng.random_range(0..4) {
        0 => Vec::new(),
        1 => vec![token[at]; 2],
        2 => vec![token[at] ^ 0x20],
        _ => vec![rng.random_range(b' '..=b'~')],
    };
    put(token, at..at + 1, &with)
}

/// A token many times, so that what nests is nested deep and what is listed is long.
fn repeated(rng: &mut SmallRng, bytes: &[u8], token: Range<usize>) -> Vec<u8> {
    let sign = pick(rng, &SIGNS).map_or(b"".to_vec(), |sign| sign.as_bytes().to_vec());
    let what = if rng.random() { bytes[token.clone()].to_vec() } else { sign };
    let room = MOST.saturating_sub(bytes.len()) / what.len().max(1);
    let count = *pick(rng, &[3, 20, 70, 300, 3000, 40_000]).unwrap_or(&3);
    // Long ones are slow to read, and rare.
    let count = if count > 300 && !rng.random_ratio(1, 8) { 8 } else { count };
    put(bytes, token.start..token.start, &what.repeat(count.min(room)))
}
