//! Import of a folder of Accel-Sim traces: `kernelslist.g` and a `.traceg` file per kernel, packed or not.
//!
//! What instructions do with memory stands in [`MEMORY`]; in short:
//!
//! | instruction | operation |
//! | --- | --- |
//! | LDG; STG | load; store, of a value of its own |
//! | LD, ST, ATOM, RED, REDG | generic: each lane's address says whether global, local or scratchpad |
//! | LDL, STL | load, store at `local + (word x threads + thread) x 4`: threads side by side |
//! | LDS, STS, ATOMS, LDSM, STSM, SYNCS | scratchpad, the bytes of the block |
//! | STAS, REDAS | scratchpad: that of another block of the cluster is taken as the own one |
//! | LDGSTS | load, and a scratchpad store when it is there |
//! | ATOM, ATOMG; RED, REDG | atomic; the same, and nothing waits for it |
//! | MEMBAR, FENCE; CCTL.IVALL | fence: both ways; acquire |
//! | BAR | barrier |
//! | LDC, ULDC, LDCU | one tick of the memory path |
//! | CCTL, prefetches, QSPC, tensor memory | the same: no byte of global memory moves |
//! | bulk copies, textures, surfaces, LDGMC | refused, for a trace does not hold their addresses |
//! | others with addresses | refused |
//! | BRA and its kin | the wave asks for its next operations, which takes the CU's refill time |
//! | all others | arithmetic: a latency by [`LATENCIES`]; 4 for what is not in it, and counted as unknown |
//!
//! What is refused can be left out and counted ([`Gaps::Skip`](super::Gaps::Skip)). The windows of generic
//! addresses stand in the kernel's header (`-shmem base_addr`, `-local mem base_addr`) and have 16 MiB each. With
//! `.STRONG` loads and stores are of class N; `.CTA`, `.GPU` and `.SYS` are scopes. A copy of LDGSTS is there at a
//! DEPBAR, by groups that LDGDEPBAR closes, at a SYNCS behind an ARRIVES, else at the warp's end.
//!
//! Registers are tokens; the second to fourth register of a wide result follow the first. R255 is zero. An
//! access whose address or value comes from a result that may be missing waits for it by a compute operation
//! of one tick before it, which is the only way in which an access of a trace can wait. Predicated-off
//! accesses are left out. A wave ends where its list ends. An access of more than 8 bytes per lane is made
//! for some lanes at a time, so that it asks for each line once.

mod file;
mod line;
mod opcodes;
mod split;
mod tokens;
mod wave;

pub use opcodes::{Does, LATENCIES, MEMORY, Space, memory};
pub use split::LOCAL;

use super::packed;
use super::text::number;
use super::{ReadOptions, Trace, TraceError, TraceStep};
use line::{LANES, hex};
use std::collections::BTreeMap;
use std::path::Path;
use wave::Tally;

/// What an import gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The trace.
    pub trace: Trace,
    /// Instructions of warps, those that are predicated off, too.
    pub instructions: u64,
    /// Opcodes that are in no table, with how often they came.
    pub unknown: BTreeMap<String, u64>,
    /// Opcodes whose accesses are left out, with how often they came.
    pub left_out: BTreeMap<String, u64>,
    /// Lines of the list that are neither copies to the device nor kernels, by call.
    pub skipped: BTreeMap<String, u64>,
    /// What was assumed, in sentences.
    pub notes: Vec<String>,
}

/// Reads a folder that is whole and that holds nothing unknown.
///
/// # Errors
/// A list or file that is missing, truncated, or holds a line that is none.
pub fn read(folder: &Path) -> Result<Import, TraceError> {
    read_with(folder, &ReadOptions::default())
}

/// Reads a folder.
///
/// # Errors
/// The same, as far as the options refuse it.
pub fn read_with(folder: &Path, options: &ReadOptions) -> Result<Import, TraceError> {
    let list = folder.join("kernelslist.g");
    let file = list.display().to_string();
    let text = packed::text(&list, options.limit)?;
    let mut import = Import {
        trace: Trace { lanes: LANES, steps: Vec::new() },
        instructions: 0,
        unknown: BTreeMap::new(),
        left_out: BTreeMap::new(),
        skipped: BTreeMap::new(),
        notes: Vec::new(),
    };
    let mut tally = Tally::default();
    let mut grown = 0;
    for (n, line) in text.lines().enumerate() {
        let wrong = |problem: String| TraceError::Line { file: file.clone(), line: n as u64 + 1, problem };
        match command(line).map_err(wrong)? {
            Command::Nothing => {}
            Command::Copy { addr, bytes } => import.trace.steps.push(TraceStep::Copy { addr, bytes }),
            Command::Other(call) => *import.skipped.entry(call.into()).or_default() += 1,
            Command::Kernel(name) => {
                let path = packed::or_packed(&folder.join(name));
                let from = packed::open(&path, options.limit)?;
                let (kernel, declared) =
                    file::kernel(from, &path.display().to_string(), options, &mut tally)?;
                grown += u64::from(kernel.lds > declared);
                import.trace.steps.push(TraceStep::Kernel(kernel));
            }
        }
    }
    if import.trace.kernels().next().is_none() {
        let problem = "the list names no kernel; a line such as kernel-1.traceg is expected".into();
        return Err(TraceError::File { file, problem });
    }
    import.notes = notes(&tally, grown);
    (import.instructions, import.unknown, import.left_out) =
        (tally.instructions, tally.unknown, tally.left_out);
    Ok(import)
}

/// A line of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command<'a> {
    /// Blank, or a comment.
    Nothing,
    Copy {
        addr: u64,
        bytes: u64,
    },
    Kernel(&'a str),
    /// A call that moves nothing into the device's memory that the trace would tell.
    Other(&'a str),
}

fn command(line: &str) -> Result<Command<'_>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') || line.starts_with("//") {
        return Ok(Command::Nothing);
    }
    let words: Vec<&str> = line.split(',').map(str::trim).collect();
    let call = line.split(|c: char| c == ',' || c == '(' || c.is_whitespace()).next().unwrap_or("");
    let wrong =
        || format!("{line:?} where MemcpyHtoD,ADDRESS,BYTES, a .traceg file or another call is expected");
    match words.as_slice() {
        ["MemcpyHtoD" | "MemcpyHtoDAsync", addr, bytes, ..] => {
            Ok(Command::Copy { addr: hex(addr, "an address")?, bytes: number(bytes)? })
        }
        [name] if name.contains(".traceg") => Ok(Command::Kernel(name)),
        _ if call.starts_with("MemcpyHtoD") => Err(wrong()),
        [name] if name.ends_with(".trace") || name.contains(".trace.") => Err(format!(
            "{name} is not grouped by blocks; make .traceg files and a list of them by the tracer's post-processing"
        )),
        _ if call.starts_with("kernel") => Err(wrong()),
        _ => {
            let named = call.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            let word = call.chars().all(|c| c.is_ascii_alphanumeric() || "_:.".contains(c));
            if named && word { Ok(Command::Other(call)) } else { Err(wrong()) }
        }
    }
}

/// What was assumed, with how often.
fn notes(tally: &Tally, grown: u64) -> Vec<String> {
    let hints: Vec<String> = tally.hints.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let all = [
        ("generic accesses without windows in the header, taken as global", tally.windowless.to_string()),
        ("LDGSTS without an address in the scratchpad, taken as lane by lane", tally.unplaced.to_string()),
        ("kernels that access more scratchpad than their header says", grown.to_string()),
        ("no bytes of global memory moved by", hints.join(", ")),
    ];
    let some = all.into_iter().filter(|(_, count)| !matches!(count.as_str(), "" | "0"));
    some.map(|(what, count)| format!("{what}: {count}")).collect()
}
