//! Import of a folder of Accel-Sim traces: `kernelslist.g` and a `.traceg` file per kernel, packed or not.
//!
//! | instruction | operation |
//! | --- | --- |
//! | LDG, LD; STG, ST | load; store, of a value of its own |
//! | LDL, STL | the same, at `local + (word x threads + thread) x 4`: consecutive threads side by side |
//! | LDS, STS, ATOMS | scratchpad |
//! | LDGSTS | load, scratchpad store |
//! | ATOM, ATOMG, RED | atomic; with `.STRONG` loads and stores they are of class N, `.CTA`, `.GPU` and `.SYS` are scopes |
//! | MEMBAR, FENCE; CCTL.IVALL | fence: both ways; acquire |
//! | BAR | barrier |
//! | LDC, ULDC | one tick of the memory path |
//! | BRA and its kin | the wave asks for its next operations, which takes the CU's refill time |
//! | all others | arithmetic: a latency by [`LATENCIES`], 4 for what is not in it and is counted as unknown |
//!
//! Registers are tokens; the second to fourth register of a wide result follow the first. R255 is zero. An access whose address or value comes from a result that
//! may be missing waits for it by a compute operation of one tick before it, which is the only way in which an access of a trace can wait. Predicated-off accesses
//! are left out. A wave ends where its list ends.

mod wave;

pub use wave::LATENCIES;

use super::op::TraceOp;
use super::packed;
use super::text::{number, sizes};
use super::{Trace, TraceError, TraceKernel, TraceStep};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use wave::{Space, Wave};

/// Lanes of a warp.
const LANES: u32 = 32;

/// What an import gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The trace.
    pub trace: Trace,
    /// Opcodes that are in no table, with how often they came.
    pub unknown: BTreeMap<String, u64>,
}

/// Reads a folder.
///
/// # Errors
/// A list or file that is missing, truncated, or holds a line that is none.
pub fn read(folder: &Path) -> Result<Import, TraceError> {
    let list = folder.join("kernelslist.g");
    let file = list.display().to_string();
    let text = std::fs::read_to_string(&list)
        .map_err(|e| TraceError::File { file: file.clone(), problem: e.to_string() })?;
    let mut import = Import { trace: Trace { lanes: LANES, steps: Vec::new() }, unknown: BTreeMap::new() };
    for (n, line) in text.lines().enumerate() {
        let wrong = |problem: String| TraceError::Line { file: file.clone(), line: n as u64 + 1, problem };
        let words: Vec<&str> = line.trim().split(',').collect();
        match words.as_slice() {
            [""] => {}
            ["MemcpyHtoD", addr, bytes] => {
                let (addr, bytes) = (number(addr).map_err(&wrong)?, number(bytes).map_err(&wrong)?);
                import.trace.steps.push(TraceStep::Copy { addr, bytes });
            }
            [name] if name.contains(".traceg") => {
                let plain = folder.join(name);
                let mut packed = packed::ENDINGS.iter().map(|more| folder.join(format!("{name}{more}")));
                let path = match plain.is_file() {
                    true => plain,
                    false => packed.find(|path| path.is_file()).unwrap_or(plain),
                };
                let from = BufReader::new(packed::open(&path)?);
                let kernel = kernel(from, &path.display().to_string(), &mut import.unknown)?;
                import.trace.steps.push(TraceStep::Kernel(kernel));
            }
            _ => {
                return Err(wrong(format!(
                    "{line:?} where MemcpyHtoD,ADDRESS,BYTES or a .traceg file is expected"
                )));
            }
        }
    }
    Ok(import)
}

/// Header of a kernel's file.
#[derive(Default)]
struct Head {
    keys: BTreeMap<String, String>,
}

impl Head {
    fn get(&self, key: &str) -> Result<&str, String> {
        let value = self.keys.get(key).map(String::as_str);
        value.ok_or_else(|| format!("the header has no \"-{key} = ...\""))
    }

    fn triple(&self, key: &str) -> Result<[u32; 3], String> {
        let text = self.get(key)?;
        let inside = text.trim().trim_start_matches('(').trim_end_matches(')');
        let parts = inside.split(',').map(|n| n.trim().parse().ok()).collect::<Option<Vec<u32>>>();
        parts
            .and_then(|parts| parts.try_into().ok())
            .ok_or_else(|| format!("{text:?} where (x,y,z) is expected"))
    }

    fn number(&self, key: &str, default: u64) -> Result<u64, String> {
        self.keys.get(key).map_or(Ok(default), |text| number(text.trim()))
    }
}

/// An instruction line, taken apart.
struct Line<'a> {
    mask: u64,
    dests: Vec<u32>,
    opcode: &'a str,
    sources: Vec<u32>,
    width: u64,
    addrs: Vec<u64>,
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

fn hex(word: &str, what: &str) -> Result<u64, String> {
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

/// Takes an instruction line apart; `skip` columns stand before the PC.
fn take_apart(line: &str, skip: usize) -> Result<Line<'_>, String> {
    let mut columns = Columns { words: line.split_whitespace() };
    for _ in 0..skip {
        columns.next("a column before the PC")?;
    }
    columns.hex("a PC")?;
    let mask = columns.hex("a mask")?;
    if mask >> LANES != 0 {
        return Err(format!("mask {mask:x} has more than {LANES} lanes"));
    }
    let dests = columns.registers()?;
    let opcode = columns.next("an opcode")?;
    let sources = columns.registers()?;
    let width = number(columns.next("a width")?)?;
    let addrs = if width > 0 { columns.addresses(mask.count_ones() as usize)? } else { Vec::new() };
    Ok(Line { mask, dests, opcode, sources, width, addrs })
}

/// Where a reader is in a file.
struct File<R> {
    from: R,
    name: String,
    line: u64,
    text: String,
}

impl<R: BufRead> File<R> {
    fn wrong<T>(&self, problem: impl Into<String>) -> Result<T, TraceError> {
        Err(TraceError::Line { file: self.name.clone(), line: self.line, problem: problem.into() })
    }

    fn of<T>(&self, result: Result<T, String>) -> Result<T, TraceError> {
        result.or_else(|problem| self.wrong(problem))
    }

    /// The next line that holds something; `None` at the end.
    fn next(&mut self) -> Result<Option<&str>, TraceError> {
        loop {
            self.text.clear();
            self.line += 1;
            let count = self.from.read_line(&mut self.text);
            match count {
                Ok(0) => return Ok(None),
                Ok(_) if self.text.trim().is_empty() => {}
                Ok(_) => return Ok(Some(self.text.trim())),
                Err(e) => return self.wrong(format!("the file cannot be read to its end: {e}")),
            }
        }
    }

    /// The value of the line `KEY = VALUE` that must come next.
    fn key(&mut self, key: &str) -> Result<String, TraceError> {
        let found = self.next()?.unwrap_or("the end").to_string();
        match found.split_once('=').filter(|(k, _)| k.trim() == key) {
            Some((_, value)) => Ok(value.trim().to_string()),
            None => self.wrong(format!("{found:?} where \"{key} = ...\" is expected")),
        }
    }
}

/// Reads the file of one kernel.
fn kernel(
    from: impl BufRead,
    name: &str,
    unknown: &mut BTreeMap<String, u64>,
) -> Result<TraceKernel, TraceError> {
    let mut file = File { from, name: name.into(), line: 0, text: String::new() };
    let mut head = Head::default();
    let mut made: Option<(TraceKernel, usize, [u64; 3])> = None;
    while let Some(line) = file.next()?.map(str::to_string) {
        if let (Some((key, value)), None) = (line.strip_prefix('-').and_then(|l| l.split_once('=')), &made) {
            head.keys.insert(key.trim().into(), value.trim().into());
        } else if line.starts_with('#') && line != "#BEGIN_TB" {
            continue;
        } else if line == "#BEGIN_TB" {
            if made.is_none() {
                let started = start(&head);
                made = Some(file.of(started)?);
            }
            if let Some((kernel, skip, bases)) = &mut made {
                block(&mut file, kernel, *skip, *bases, unknown)?;
            }
        } else {
            return file.wrong(format!("{line:?} where #BEGIN_TB is expected"));
        }
    }
    match made {
        Some((kernel, ..)) => Ok(kernel),
        None => file.wrong("the file ends where #BEGIN_TB is expected"),
    }
}

/// A kernel without blocks from its header, columns before the PC, and {shared base, local base, threads of the grid}.
fn start(head: &Head) -> Result<(TraceKernel, usize, [u64; 3]), String> {
    let (grid, threads) = (head.triple("grid dim")?, head.triple("block dim")?);
    sizes(grid, threads)?;
    let lds = u32::try_from(head.number("shmem", 0)?).map_err(|_| "shmem is too large".to_string())?;
    let name = head.get("kernel name")?.replace(char::is_whitespace, "_");
    let kernel = TraceKernel::new(&name, grid, threads, lds, LANES);
    let version = head.number("accelsim tracer version", 0)?;
    let lineinfo = head.number("enable lineinfo", 0)?;
    let skip = usize::from(lineinfo != 0) + if version < 3 { 4 } else { 0 };
    let all = u64::from(kernel.blocks()) * u64::from(kernel.waves_per_block) * u64::from(LANES);
    Ok((kernel, skip, [head.number("shmem base_addr", 0)?, head.number("local mem base_addr", 0)?, all]))
}

fn block(
    file: &mut File<impl BufRead>,
    kernel: &mut TraceKernel,
    skip: usize,
    [shared, local, threads]: [u64; 3],
    unknown: &mut BTreeMap<String, u64>,
) -> Result<(), TraceError> {
    let at = file.key("thread block")?;
    let parts = at.split(',').map(|n| n.trim().parse().ok()).collect::<Option<Vec<u32>>>();
    let number = parts.and_then(|p| <[u32; 3]>::try_from(p).ok()).and_then(|at| kernel.block_number(at));
    let Some(number) = number else { return file.wrong(format!("block {at:?} is none of the grid")) };
    loop {
        match file.next()? {
            Some("#END_TB") => return Ok(()),
            Some(line) if line.starts_with("warp") => {}
            Some(line) => {
                let problem = format!("{line:?} where \"warp = ...\" or #END_TB is expected");
                return file.wrong(problem);
            }
            None => return file.wrong("the file ends inside a block, where #END_TB is expected"),
        }
        let word = file.text.split('=').nth(1).unwrap_or("").trim().to_string();
        let warp = u32::try_from(file.of(super::text::number(&word))?).unwrap_or(u32::MAX);
        let count = file.key("insts")?;
        let count = file.of(super::text::number(&count))?;
        let first_thread =
            (u64::from(number) * u64::from(kernel.waves_per_block) + u64::from(warp)) * u64::from(LANES);
        let mut wave = Wave::new(Space { threads, first_thread, shared, local }, unknown);
        for n in 0..count {
            let Some(line) = file.next()?.map(str::to_string) else {
                return file.wrong(format!("the file ends after {n} of {count} instructions of warp {warp}"));
            };
            let result = take_apart(&line, skip).and_then(|line| wave.instruction(&line));
            file.of(result)?;
        }
        let mut ops = wave.ops;
        ops.push(TraceOp::End);
        if kernel.add_wave(number, warp, &ops).is_none() {
            return file.wrong(format!(
                "warp {warp} of block {at} is there already, or the block has none of this number"
            ));
        }
    }
}
