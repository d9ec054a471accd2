//! `.wtrace`: a trace as text, a line per operation.
//!
//! ```text
//! weft-trace 1
//! lanes 32
//! copy 0x1000000 4096                            ; host-to-device copy
//! kernel K grid 8,1,1 block 512,1,1 lds 0
//! block 0,0,0
//! wave 0
//! C 12 alu                                       ; compute; also C %5 12 sfu %1,%2: result and what it needs
//! L %1 4 0x1000+4 m=ffffffff k=D                 ; base+stride over active lanes, or [a0,a1,...] for each of them
//! S 4 0x2000+4 =%1                               ; =7 constant, =%1 lane values of a token, =# unique value
//! A %2 add 4 [0x3000] =1 m=1 k=C s=gpu           ; also a=acq|rel|ar, r=1 for remote, h=REQUEST, c=VALUE for cas
//! X %3 4 0x40+4                                  ; scratchpad load;  Y 4 0x40+4 =#  store
//! F ar sys
//! B
//! W %1,%2                                        ; await
//! E
//! ```

use super::op::{MAX_TOKENS, Memory, TraceAccess, TraceOp, TraceValue, encode};
use super::packed::{Ending, read_line};
use super::{MAX_STEPS, Trace, TraceError, TraceKernel, TraceStep};
use crate::op::{Addrs, AmoKind, Class, LaneMask, Scope, Sem, Token, Unit};
use crate::program::full_mask;
use std::io::BufRead;

mod write;

pub use write::write;

const AMOS: [(&str, AmoKind); 12] = [
    ("add", AmoKind::Add),
    ("sub", AmoKind::Sub),
    ("inc", AmoKind::Inc),
    ("dec", AmoKind::Dec),
    ("and", AmoKind::And),
    ("or", AmoKind::Or),
    ("xor", AmoKind::Xor),
    ("min", AmoKind::Min),
    ("max", AmoKind::Max),
    ("exch", AmoKind::Exch),
    ("cas", AmoKind::Cas),
    ("fadd32", AmoKind::Fadd32),
];
const UNITS: [(&str, Unit); 3] = [("alu", Unit::Alu), ("sfu", Unit::Sfu), ("mem", Unit::Mem)];
const CLASSES: [(&str, Class); 7] = [
    ("D", Class::D),
    ("P", Class::P),
    ("U", Class::U),
    ("C", Class::C),
    ("N", Class::N),
    ("S", Class::S),
    ("Q", Class::Q),
];
const SEMS: [(&str, Sem); 3] = [("acq", Sem::Acquire), ("rel", Sem::Release), ("ar", Sem::AcquireRelease)];
const SCOPES: [(&str, Scope); 3] = [("cu", Scope::Cu), ("gpu", Scope::Gpu), ("sys", Scope::Sys)];

/// What cannot be read in a line.
type Problem = String;

fn named<T: Copy>(of: &[(&str, T)], word: &str) -> Result<T, Problem> {
    let found = of.iter().find(|(name, _)| *name == word);
    let known = || of.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    found.map(|(_, what)| *what).ok_or_else(|| format!("{word:?} where one of {} is expected", known()))
}

/// A number, decimal or `0x`.
pub(super) fn number(word: &str) -> Result<u64, Problem> {
    let parsed = match word.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => word.parse(),
    };
    parsed.map_err(|_| format!("{word:?} where a number is expected"))
}

fn small(word: &str) -> Result<u32, Problem> {
    u32::try_from(number(word)?).map_err(|_| format!("{word} is too large"))
}

fn token(word: &str) -> Result<Token, Problem> {
    let number = word.strip_prefix('%').ok_or_else(|| format!("{word:?} where a token (%1) is expected"))?;
    super::op::token(self::number(number)?)
        .ok_or_else(|| format!("{word} where a token below %{MAX_TOKENS} is expected"))
}

fn triple(word: &str) -> Result<[u32; 3], Problem> {
    let parts = word.split(',').map(small).collect::<Result<Vec<_>, _>>()?;
    parts.try_into().map_err(|_| format!("{word:?} where x,y,z is expected"))
}

/// Words of a line, with the ones that have not been read.
struct Words<'a> {
    words: Vec<&'a str>,
    at: usize,
    lanes: u32,
}

impl<'a> Words<'a> {
    fn next(&mut self, what: &str) -> Result<&'a str, Problem> {
        let word = self.words.get(self.at).copied();
        self.at += 1;
        word.ok_or_else(|| format!("the line ends where {what} is expected"))
    }

    fn expect(&mut self, word: &str) -> Result<(), Problem> {
        let found = self.next(&format!("{word:?}"))?;
        if found == word { Ok(()) } else { Err(format!("{found:?} where {word:?} is expected")) }
    }

    fn end(&self) -> Result<(), Problem> {
        match self.words.get(self.at) {
            Some(word) => Err(format!("{word:?} is left over")),
            None => Ok(()),
        }
    }

    /// `SIZE ADDRESSES`, then behind a value the attributes.
    fn access(&mut self) -> Result<(u8, &'a str), Problem> {
        let size = self.next("a size")?;
        let known = [("1", 1), ("2", 2), ("4", 4), ("8", 8)];
        Ok((named(&known, size)?, self.next("addresses")?))
    }

    fn value(&mut self) -> Result<TraceValue, Problem> {
        let word = self.next("a value (=7, =%1 or =#)")?;
        match word.strip_prefix('=') {
            Some("#") => Ok(TraceValue::Unique),
            Some(value) if value.starts_with('%') => Ok(TraceValue::Token(token(value)?)),
            Some(value) => Ok(TraceValue::Const(number(value)?)),
            None => Err(format!("{word:?} where a value (=7, =%1 or =#) is expected")),
        }
    }

    /// Attributes, and the expected value of a CAS.
    fn attributes(&mut self, (size, addrs): (u8, &str)) -> Result<(TraceAccess, u64), Problem> {
        let plain = Addrs::Strided { base: 0, stride: 0 };
        let mut access = TraceAccess::data(size, plain, full_mask(self.lanes));
        let mut compare = 0;
        while let Some(word) = self.words.get(self.at) {
            let (key, value) =
                word.split_once('=').ok_or_else(|| format!("{word:?} where KEY=VALUE is expected"))?;
            match key {
                "m" => {
                    let mask = u64::from_str_radix(value, 16)
                        .map_err(|_| format!("{value:?} is no hexadecimal mask"))?;
                    if mask == 0 || mask & !full_mask(self.lanes) != 0 {
                        return Err(format!(
                            "mask {value} has no lane, or one beyond the {} of a wave",
                            self.lanes
                        ));
                    }
                    access.mask = mask;
                }
                "k" => access.class = named(&CLASSES, value)?,
                "s" => access.scope = named(&SCOPES, value)?,
                "a" => access.sem = named(&SEMS, value)?,
                "r" => access.remote = named(&[("0", false), ("1", true)], value)?,
                "h" => access.hint = value.parse()?,
                "c" => compare = number(value)?,
                _ => return Err(format!("{key:?} where one of m, k, s, a, r, h, c is expected")),
            }
            self.at += 1;
        }
        access.addrs = addresses(addrs, access.mask, size)?;
        Ok((access, compare))
    }
}

/// `BASE+STRIDE` over the active lanes, or `[A,B,...]` for each of them.
fn addresses(word: &str, mask: LaneMask, size: u8) -> Result<Addrs, Problem> {
    let active = mask.count_ones() as usize;
    let list: Vec<u64> = if let Some(inside) = word.strip_prefix('[').and_then(|w| w.strip_suffix(']')) {
        let list = inside.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
        if list.len() != active {
            return Err(format!("{} addresses for {active} active lanes", list.len()));
        }
        list
    } else {
        let (base, stride) = match word.rsplit_once(['+', '-']) {
            Some((base, stride)) => (base, number(stride)? as i64),
            None => (word, 0),
        };
        let stride = if word.contains('-') { stride.wrapping_neg() } else { stride };
        let base = number(base)?;
        (0..active as i64).map(|n| base.wrapping_add_signed(stride.wrapping_mul(n))).collect()
    };
    if let Some(stray) = list.iter().find(|a| **a % u64::from(size) != 0) {
        return Err(format!("address {stray:#x} is no multiple of {size} bytes"));
    }
    Ok(of_active(&list, mask))
}

/// Addresses by lane from those of the active lanes, as base and stride if they are so.
pub(super) fn of_active(list: &[u64], mask: LaneMask) -> Addrs {
    let lanes: Vec<u32> = (0..64).filter(|lane| mask >> lane & 1 == 1).collect();
    let (Some(first), Some(base)) = (lanes.first(), list.first()) else {
        return Addrs::Strided { base: 0, stride: 0 };
    };
    let stride = match (lanes.get(1), list.get(1)) {
        (Some(lane), Some(next)) => {
            let (step, count) = (next.wrapping_sub(*base) as i64, i64::from(lane - first));
            (step % count == 0).then_some(step / count)
        }
        _ => Some(0),
    };
    if let Some(stride) = stride {
        let all = Addrs::Strided {
            base: base.wrapping_add_signed(stride.wrapping_mul(-i64::from(*first))),
            stride,
        };
        if lanes.iter().zip(list).all(|(lane, at)| all.at(*lane) == *at) {
            return all;
        }
    }
    let mut by_lane = vec![0; lanes.last().map_or(0, |lane| *lane as usize + 1)];
    lanes.iter().zip(list).for_each(|(lane, at)| by_lane[*lane as usize] = *at);
    Addrs::Lanes(by_lane)
}

fn tokens(word: &str) -> Result<Vec<Token>, Problem> {
    word.split(',').map(token).collect()
}

fn operation(words: &mut Words) -> Result<TraceOp, Problem> {
    let op = match words.next("an operation")? {
        "C" => {
            let first = words.next("a latency")?;
            let (token, latency) = match token(first) {
                Ok(token) => (Some(token), words.next("a latency")?),
                Err(_) => (None, first),
            };
            let (latency, unit) = (small(latency)?, named(&UNITS, words.next("a unit")?)?);
            let needs = match words.words.get(words.at) {
                Some(list) => tokens(list)?,
                None => Vec::new(),
            };
            words.at = words.words.len();
            TraceOp::Compute { unit, latency, token, needs }
        }
        kind @ ("L" | "X") => {
            let token = token(words.next("a token")?)?;
            let at = words.access()?;
            let access = words.attributes(at)?.0;
            if kind == "L" { TraceOp::Load { token, access } } else { TraceOp::LdsLoad { token, access } }
        }
        kind @ ("S" | "Y") => {
            let at = words.access()?;
            let value = words.value()?;
            let access = words.attributes(at)?.0;
            if kind == "S" { TraceOp::Store { access, value } } else { TraceOp::LdsStore { access, value } }
        }
        "A" => {
            let token = token(words.next("a token")?)?;
            let kind = named(&AMOS, words.next("a kind")?)?;
            let at = words.access()?;
            let value = words.value()?;
            let (access, compare) = words.attributes(at)?;
            TraceOp::Amo { token, access, kind, value, compare }
        }
        "F" => {
            let sem = named(&SEMS, words.next("acq, rel or ar")?)?;
            TraceOp::Fence { sem, scope: named(&SCOPES, words.next("a scope")?)? }
        }
        "B" => TraceOp::Barrier,
        "W" => TraceOp::Await { tokens: tokens(words.next("tokens")?)? },
        "E" => TraceOp::End,
        other => {
            return Err(format!("{other:?} where an operation (C, L, S, A, X, Y, F, B, W, E) is expected"));
        }
    };
    words.end()?;
    match (op.hint_fits(), op.access()) {
        (Err(what), Some(access)) => Err(format!("{} cannot serve {what}", access.hint)),
        _ => Ok(op),
    }
}

/// A reader's state between lines.
struct Text {
    trace: Trace,
    headed: bool,
    block: Option<u32>,
    wave: Option<u32>,
    /// Operations of the open wave.
    code: Vec<u8>,
    memory: Memory,
}

impl Text {
    fn kernel(&mut self) -> Result<&mut TraceKernel, Problem> {
        match self.trace.steps.last_mut() {
            Some(TraceStep::Kernel(kernel)) => Ok(kernel),
            _ => Err("a block or wave without a kernel; write kernel NAME grid x,y,z block x,y,z lds BYTES above it".into()),
        }
    }

    fn open_wave(&self) -> Result<(), Problem> {
        match self.wave {
            Some(wave) => Err(format!("wave {wave} has not ended; E is expected before this")),
            None => Ok(()),
        }
    }

    fn line(&mut self, line: &str) -> Result<(), Problem> {
        let mut words = Words { words: line.split_whitespace().collect(), at: 0, lanes: self.trace.lanes };
        let Some(first) = words.words.first().copied() else { return Ok(()) };
        if !self.headed {
            words.expect("weft-trace")?;
            words.expect("1")?;
            self.headed = true;
            return words.end();
        }
        match first {
            "lanes" | "copy" | "kernel" | "block" | "wave" => {
                self.open_wave()?;
                words.at = 1;
                self.structure(first, &mut words)?;
                words.end()
            }
            _ => {
                let Some(wave) = self.wave else {
                    return Err(format!("{first:?} outside a wave; wave N is expected above it"));
                };
                let block = self.block.unwrap_or(0);
                let kernel = self.kernel()?;
                let core = block < kernel.cpus;
                words.lanes = kernel.lanes_of(block, words.lanes);
                let op = operation(&mut words)?;
                if core && matches!(op, TraceOp::LdsLoad { .. } | TraceOp::LdsStore { .. }) {
                    return Err(format!("{first:?} on a CPU core, which has no scratchpad"));
                }
                encode(&mut self.code, &mut self.memory, &op);
                if op == TraceOp::End {
                    let code = std::mem::take(&mut self.code);
                    (self.wave, self.memory) = (None, Memory::default());
                    let added = self.kernel()?.add_code(block, wave, &code);
                    added.ok_or_else(|| format!("wave {wave} of this block is there already"))?;
                }
                Ok(())
            }
        }
    }

    fn structure(&mut self, what: &str, words: &mut Words) -> Result<(), Problem> {
        if matches!(what, "copy" | "kernel") && self.trace.steps.len() == MAX_STEPS {
            return Err(format!("more than {MAX_STEPS} copies and kernels"));
        }
        match what {
            "lanes" => {
                let lanes = small(words.next("a number of lanes")?)?;
                if !(1..=64).contains(&lanes) || !self.trace.steps.is_empty() {
                    return Err(format!("{lanes} lanes; 1 to 64 are legal, above the first copy or kernel"));
                }
                self.trace.lanes = lanes;
            }
            "copy" => {
                let (addr, bytes) = (number(words.next("an address")?)?, number(words.next("bytes")?)?);
                self.trace.steps.push(TraceStep::Copy { addr, bytes });
            }
            "kernel" => {
                let name = words.next("a name")?;
                words.expect("grid")?;
                let grid = triple(words.next("x,y,z")?)?;
                words.expect("block")?;
                let block = triple(words.next("x,y,z")?)?;
                words.expect("lds")?;
                let lds = small(words.next("bytes")?)?;
                sizes(grid, block)?;
                self.block = None;
                let mut kernel = TraceKernel::new(name, grid, block, lds, self.trace.lanes);
                if words.at < words.words.len() {
                    words.expect("cpus")?;
                    kernel.cpus = small(words.next("a number of blocks")?)?;
                    cores(&kernel)?;
                }
                self.trace.steps.push(TraceStep::Kernel(kernel));
            }
            "block" => {
                let at = triple(words.next("x,y,z")?)?;
                let kernel = self.kernel()?;
                let (number, [x, y, z]) = (kernel.block_number(at), kernel.grid);
                self.block =
                    Some(number.ok_or_else(|| format!("the block is outside the grid {x},{y},{z}"))?);
            }
            _ => {
                let wave = small(words.next("a wave")?)?;
                let kernel = self.kernel()?;
                let (waves, cpus) = (kernel.waves_per_block, kernel.cpus);
                let Some(block) = self.block else {
                    return Err("a wave without a block; block x,y,z is expected above it".into());
                };
                if block < cpus && wave > 0 {
                    return Err(format!("wave {wave} of a block on a CPU core, which has wave 0 only"));
                }
                if wave >= waves {
                    return Err(format!("wave {wave} of a block of {waves}"));
                }
                self.wave = Some(wave);
            }
        }
        Ok(())
    }
}

/// Whether a grid and its blocks can be: as many blocks, threads and waves as have numbers.
pub(super) fn sizes(grid: [u32; 3], block: [u32; 3]) -> Result<(), Problem> {
    let count = |sizes: [u32; 3]| sizes.iter().map(|n| u64::from(*n)).try_fold(1_u64, u64::checked_mul);
    match (count(grid), count(block)) {
        (Some(blocks @ 1..=0x1000_0000), Some(threads @ 1..=0x1_0000)) if blocks * threads < 1 << 32 => {
            Ok(())
        }
        _ => Err("the grid or its blocks are empty or too large".into()),
    }
}

/// Whether so many blocks can run on CPU cores.
pub(super) fn cores(kernel: &TraceKernel) -> Result<(), Problem> {
    match (kernel.cpus, kernel.blocks()) {
        (cpus, blocks) if cpus > blocks => Err(format!("{cpus} blocks on CPU cores, of a grid of {blocks}")),
        _ => Ok(()),
    }
}

/// Reads a trace; of its text only one line is held at a time.
///
/// # Errors
/// A line that is none, with what was expected; a text that ends inside a wave.
pub fn read(mut from: impl BufRead, file: &str) -> Result<Trace, TraceError> {
    let trace = Trace { lanes: 32, steps: Vec::new() };
    let (code, memory) = (Vec::new(), Memory::default());
    let mut text = Text { trace, headed: false, block: None, wave: None, code, memory };
    let mut line = 0;
    let mut raw = Vec::new();
    let wrong = |line, problem| TraceError::Line { file: file.into(), line, problem };
    loop {
        line += 1;
        match read_line(&mut from, &mut raw).map_err(|e| super::unpacked(file, &e))? {
            Ending::Line => {}
            Ending::TooLong => return Err(wrong(line, Ending::PROBLEM.into())),
            Ending::End => break,
        }
        let words = std::str::from_utf8(&raw).map_err(|_| wrong(line, "the line is no UTF-8 text".into()))?;
        text.line(words.split(';').next().unwrap_or("")).map_err(|problem| wrong(line, problem))?;
    }
    if !text.headed {
        return Err(wrong(line, "the text ends where \"weft-trace 1\" is expected".into()));
    }
    text.open_wave().map_err(|_| wrong(line, "the text ends inside a wave, where E is expected".into()))?;
    Ok(text.trace)
}
