//! A line of a kernel's file: PC, mask, registers, opcode, bytes per lane, addresses, immediate.

use super::opcodes::{Does, memory};
use crate::trace::text::number;

/// Lanes of a warp.
pub(super) const LANES: u32 = 32;

/// An instruction line, taken apart.
pub(super) struct Line<'a> {
    pub pc: u64,
    /// Active lanes.
    pub mask: u64,
    /// Registers that it writes, without R255.
    pub dests: Vec<u32>,
    pub opcode: &'a str,
    /// Registers that it reads, without R255.
    pub sources: Vec<u32>,
    /// Bytes per lane; 0: no memory access.
    pub width: u64,
    /// Addresses of the active lanes, unless [`memory`] says that they are of no use.
    pub addrs: Vec<u64>,
    pub immediate: Option<u64>,
}

/// How the tracer that wrote a file lays lines out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Columns before the PC.
    pub skip: usize,
    /// Version of the tracer.
    pub version: u64,
}

fn register(word: &str) -> Result<Option<u32>, String> {
    match word.strip_prefix('R') {
        Some(number) => number
            .parse()
            .map(|n| Some(n).filter(|n| *n != 255))
            .map_err(|_| format!("{word:?} is no register")),
        None => Ok(None),
    }
}

/// A hexadecimal number, with `0x` before it or not.
pub(super) fn hex(word: &str, what: &str) -> Result<u64, String> {
    let digits = word.trim_start_matches("0x");
    u64::from_str_radix(digits, 16).map_err(|_| format!("{word:?} where {what} is expected"))
}

/// Columns of a line.
struct Columns<'a> {
    words: std::str::SplitWhitespace<'a>,
}

impl<'a> Columns<'a> {
    fn next(&mut self, what: &str) -> Result<&'a str, String> {
        self.words.next().ok_or_else(|| format!("the line ends where {what} is expected"))
    }

    fn hex(&mut self, what: &str) -> Result<u64, String> {
        hex(self.next(what)?, what)
    }

    fn signed(&mut self, what: &str) -> Result<i64, String> {
        let word = self.next(what)?;
        word.parse().map_err(|_| format!("{word:?} where {what} is expected"))
    }

    /// A number of registers and these, without R255.
    fn registers(&mut self) -> Result<Vec<u32>, String> {
        let count = number(self.next("a number of registers")?)?;
        if count > 16 {
            return Err(format!("{count} where a number of registers, at most 16, is expected"));
        }
        let mut list = Vec::new();
        for _ in 0..count {
            list.extend(register(self.next("a register")?)?);
        }
        Ok(list)
    }

    /// Address mode and addresses of the active lanes.
    fn addresses(&mut self, active: usize) -> Result<Vec<u64>, String> {
        match self.next("an address mode")? {
            "0" => (0..active).map(|_| self.hex("an address")).collect(),
            "1" => {
                let (base, stride) = (self.hex("a base")?, self.signed("a stride")?);
                Ok((0..active as i64).map(|n| base.wrapping_add_signed(stride.wrapping_mul(n))).collect())
            }
            "2" => {
                let mut addrs = vec![self.hex("a base")?];
                for n in 1..active {
                    addrs.push(addrs[n - 1].wrapping_add_signed(self.signed("a difference")?));
                }
                addrs.truncate(active);
                Ok(addrs)
            }
            other => Err(format!("{other:?} where an address mode (0, 1, 2) is expected")),
        }
    }
}

/// Bytes per lane. The tracer takes them from numbers between the dots of an opcode, and writes 4 if it
/// finds none: so for signed narrow loads and for atomics on doubles, too.
fn width(opcode: &str, told: u64) -> u64 {
    let mut parts = opcode.split('.');
    parts
        .find_map(|part| match part {
            "S8" | "U8" => Some(1),
            "S16" | "U16" => Some(2),
            "F64" => Some(8),
            _ => None,
        })
        .filter(|_| told > 0)
        .unwrap_or(told)
}

/// Takes an instruction line apart.
///
/// # Errors
/// What is not there, or is something else.
pub(super) fn take_apart(line: &str, layout: Layout) -> Result<Line<'_>, String> {
    let mut columns = Columns { words: line.split_whitespace() };
    for _ in 0..layout.skip {
        columns.next("a column before the PC")?;
    }
    let pc = columns.hex("a PC")?;
    let mask = columns.hex("a mask")?;
    if mask >> LANES != 0 {
        return Err(format!("mask {mask:x} has more than {LANES} lanes"));
    }
    let dests = columns.registers()?;
    let opcode = columns.next("an opcode")?;
    let sources = columns.registers()?;
    let name = opcode.split('.').next().unwrap_or("");
    if layout.version >= 6 && name.ends_with("GMMA") {
        columns.next("whether a group is committed")?;
    }
    let width = width(opcode, number(columns.next("a width")?)?);
    let mut line = Line { pc, mask, dests, opcode, sources, width, addrs: Vec::new(), immediate: None };
    // Lists of bulk copies have columns of their own.
    let followed = !matches!(memory(name), None | Some(Does::Untold(_) | Does::Hint));
    if width > 0 && !followed {
        return Ok(line);
    }
    if width > 0 {
        line.addrs = columns.addresses(mask.count_ones() as usize)?;
    }
    line.immediate = columns.words.next().and_then(|word| word.parse().ok());
    Ok(line)
}
