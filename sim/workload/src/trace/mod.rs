//! Traces: what the waves of a program did, recorded elsewhere, without the data (cu-and-consistency.md section 2).
//!
//! - [`text`]: `.wtrace`, to read and to write by hand. [`binary`]: `.wtrb`, compact; lossless both ways.
//! - [`accel_sim`]: import of a folder of Accel-Sim traces.
//! - [`program`]: a trace as a [`Program`](crate::Program) that fabrics run.
//!
//! Loaded values never steer a trace, so that every fabric runs the same operations. In memory, too, a wave is held as `.wtrb` holds it.

pub mod accel_sim;
pub mod binary;
pub mod counts;
pub mod op;
mod packed;
pub mod program;
pub mod text;

pub use counts::{Accesses, Counts, TraceRead};
pub use packed::INPUT_LIMIT;

use op::{Memory, Reader, TraceOp, encode};
use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Most copies and kernels of a trace.
pub const MAX_STEPS: usize = 1 << 20;

/// What is wrong with a trace, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// In a text.
    #[error("{file}, line {line}: {problem}")]
    Line {
        /// File.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Cause, and what was expected.
        problem: String,
    },
    /// In a binary trace.
    #[error("{file}, byte {at}: {problem}")]
    Byte {
        /// File.
        file: String,
        /// Offset of the byte.
        at: u64,
        /// Cause, and what was expected.
        problem: String,
    },
    /// A file or folder that cannot be read.
    #[error("{file}: {problem}")]
    File {
        /// File.
        file: String,
        /// Cause.
        problem: String,
    },
}

/// A kernel of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceKernel {
    /// Name.
    pub name: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Scratchpad bytes of a block.
    pub lds: u32,
    /// Waves of a block.
    pub waves_per_block: u32,
    /// How many of the blocks, the first ones, run on CPU cores: each is one wave of one lane.
    pub cpus: u32,
    /// First and last byte (exclusive) in [`TraceKernel::code`] of each wave that does something; wave w of
    /// block b is number b x waves_per_block + w.
    pub waves: BTreeMap<usize, (usize, usize)>,
    /// Operations of all waves, as [`op::encode`] puts them.
    pub code: Vec<u8>,
}

impl TraceKernel {
    /// A kernel whose waves do nothing yet; waves have so many lanes.
    pub fn new(name: &str, grid: [u32; 3], block: [u32; 3], lds: u32, lanes: u32) -> TraceKernel {
        let threads = block.iter().product::<u32>();
        let waves_per_block = threads.div_ceil(lanes).max(1);
        let (waves, code) = (BTreeMap::new(), Vec::new());
        TraceKernel { name: name.into(), grid, block, lds, waves_per_block, cpus: 0, waves, code }
    }

    /// Waves of the grid, those that do nothing, too.
    pub fn wave_count(&self) -> u64 {
        u64::from(self.blocks()) * u64::from(self.waves_per_block)
    }

    /// Blocks with a wave that does something.
    pub fn recorded_blocks(&self) -> u64 {
        let blocks = self.waves.keys().map(|wave| wave / self.waves_per_block as usize);
        blocks.fold((None, 0), |(last, count), block| (Some(block), count + u64::from(last != Some(block)))).1
    }

    /// Coordinates of a block.
    pub fn block_at(&self, number: u32) -> [u32; 3] {
        let [x, y, _] = self.grid;
        [number % x, number / x % y, number / x / y]
    }

    /// Blocks.
    pub fn blocks(&self) -> u32 {
        self.grid.iter().product()
    }

    /// Lanes of the waves of a block, of a trace with waves of `lanes`.
    pub fn lanes_of(&self, block: u32, lanes: u32) -> u32 {
        if block < self.cpus { 1 } else { lanes }
    }

    /// Number of a block from its coordinates, x fastest; `None` outside the grid.
    pub fn block_number(&self, at: [u32; 3]) -> Option<u32> {
        let inside = at.iter().zip(self.grid).all(|(at, size)| *at < size);
        inside.then(|| at[0] + self.grid[0] * (at[1] + self.grid[1] * at[2]))
    }

    /// Appends a wave's operations; `None` if it has some already or there is no such wave.
    pub fn add_wave(&mut self, block: u32, wave: u32, ops: &[TraceOp]) -> Option<()> {
        let (mut code, mut memory) = (Vec::new(), Memory::default());
        ops.iter().for_each(|op| encode(&mut code, &mut memory, op));
        self.add_code(block, wave, &code)
    }

    /// The same from operations as [`op::encode`] puts them.
    pub fn add_code(&mut self, block: u32, wave: u32, code: &[u8]) -> Option<()> {
        let waves = if block < self.cpus { 1 } else { self.waves_per_block };
        if wave >= waves || block >= self.blocks() {
            return None;
        }
        let number = block as usize * self.waves_per_block as usize + wave as usize;
        let std::collections::btree_map::Entry::Vacant(slot) = self.waves.entry(number) else { return None };
        let first = self.code.len();
        self.code.extend(code);
        slot.insert((first, self.code.len()));
        Some(())
    }

    /// Operations of all waves.
    pub fn all_ops(&self) -> impl Iterator<Item = TraceOp> + '_ {
        self.waves.keys().flat_map(|wave| self.ops(*wave)).flatten()
    }

    /// Operations of a wave by its number; `None` behind the first that cannot be read.
    pub fn ops(&self, wave: usize) -> impl Iterator<Item = Option<TraceOp>> + '_ {
        let (first, end) = self.waves.get(&wave).copied().unwrap_or((0, 0));
        let mut reader = Reader::new(&self.code[first..end]);
        let mut memory = Memory::default();
        let mut failed = false;
        std::iter::from_fn(move || {
            if failed || reader.at == end - first {
                return None;
            }
            let op = reader.op(&mut memory);
            failed = op.is_none();
            Some(op)
        })
    }
}

/// What happens next in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceStep {
    /// The host copies bytes to the device.
    Copy {
        /// First byte.
        addr: u64,
        /// Bytes.
        bytes: u64,
    },
    /// A kernel runs.
    Kernel(TraceKernel),
}

/// A trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Lanes of a wave, 1..=64.
    pub lanes: u32,
    /// In order.
    pub steps: Vec<TraceStep>,
}

impl Trace {
    /// Kernels, in order.
    pub fn kernels(&self) -> impl Iterator<Item = &TraceKernel> {
        self.steps.iter().filter_map(|step| match step {
            TraceStep::Kernel(kernel) => Some(kernel),
            TraceStep::Copy { .. } => None,
        })
    }
}

/// A trace that comes with this crate; see `data/PROVENANCE.md`.
pub struct Bundled {
    /// Name.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// A `.wtrb`, packed by xz.
    bytes: &'static [u8],
}

/// The traces that come with this crate.
pub const BUNDLED: [Bundled; 3] = [
    Bundled {
        name: "trace-backprop",
        about: "trace of back-propagation of 128 inputs (Rodinia): 33 kernels that read what earlier ones wrote",
        bytes: include_bytes!("../../data/traces/backprop.wtrb.xz"),
    },
    Bundled {
        name: "trace-bfs",
        about: "trace of breadth-first search on a graph of 4096 nodes (Rodinia): 8 rounds of 2 kernels",
        bytes: include_bytes!("../../data/traces/bfs.wtrb.xz"),
    },
    Bundled {
        name: "trace-vectoradd",
        about: "trace of an addition of 50 000 floats",
        bytes: include_bytes!("../../data/traces/vectoradd.wtrb.xz"),
    },
];

/// A name that is that of a trace, not of a program: it comes with this crate, has a separator of folders, ends as
/// a trace does, or is that of a folder and of no program.
pub fn is_trace(name: &str) -> bool {
    let ends = [".wtrace", ".wtrb"].iter().any(|ending| packed::plain(name).ends_with(ending));
    let folder = || Path::new(name).is_dir() && crate::workloads().iter().all(|known| known.name != name);
    name.contains('/') || ends || BUNDLED.iter().any(|trace| trace.name == name) || folder()
}

/// What people call a trace: its folder or file without what stands before and behind.
pub fn short_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = packed::plain(&name);
    name.strip_suffix(".wtrace").or(name.strip_suffix(".wtrb")).unwrap_or(name).to_string()
}

/// What a reader does where a trace does not hold everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gaps {
    /// Refuses the trace.
    #[default]
    Refuse,
    /// Takes what is there, and counts what is not.
    Skip,
}

/// How a trace is read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// Instructions whose accesses cannot be followed.
    pub unknown: Gaps,
    /// Blocks or warps of a grid that are not there.
    pub missing: Gaps,
    /// Most bytes of each file, unpacked, and of all copies to the device.
    pub limit: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions { unknown: Gaps::Refuse, missing: Gaps::Refuse, limit: INPUT_LIMIT }
    }
}

/// Reads a trace that is whole, by its name; see [`read_with`].
///
/// # Errors
/// What cannot be read, with its place.
pub fn read(path: &Path) -> Result<Trace, TraceError> {
    read_with(path, &ReadOptions::default()).map(|(trace, _)| trace)
}

/// Reads a trace by its name: one of [`BUNDLED`], a folder with a `kernelslist.g`, or a file `.wtrace` or
/// `.wtrb`, each of these packed by gzip (`.gz`), xz (`.xz`) or Zstandard (`.zst`) or not. With it what was read.
///
/// # Errors
/// What cannot be read, with its place; a trace without kernels; copies of more bytes than the limit.
pub fn read_with(path: &Path, options: &ReadOptions) -> Result<(Trace, TraceRead), TraceError> {
    let file = path.display().to_string();
    let (trace, mut read) = by_format(path, &file, options)?;
    read.trace = file.clone();
    if trace.kernels().next().is_none() {
        return Err(TraceError::File { file, problem: "the trace has no kernel; nothing would run".into() });
    }
    let limit = options.limit;
    let copied = read.copied_bytes;
    if copied.is_none_or(|bytes| bytes > limit) {
        let bytes = copied.map_or("more than 2^64".into(), |bytes| bytes.to_string());
        let problem =
            format!("its copies bring {bytes} bytes, more than {limit}; --input-limit BYTES allows more");
        return Err(TraceError::File { file, problem });
    }
    Ok((trace, read))
}

fn by_format(path: &Path, file: &str, options: &ReadOptions) -> Result<(Trace, TraceRead), TraceError> {
    if let Some(trace) = BUNDLED.iter().find(|trace| trace.name == file) {
        let bytes = BufReader::new(xz2::read::XzDecoder::new(trace.bytes));
        return binary::read_from(bytes, file).map(|trace| told("bundled", trace));
    }
    if let Some(folder) = folder(path) {
        let import = accel_sim::read_with(&folder, options)?;
        let read = TraceRead {
            instructions: Some(import.instructions),
            unknown_opcodes: import.unknown,
            left_out: import.left_out,
            skipped: import.skipped,
            notes: import.notes,
            ..TraceRead::new("Accel-Sim", &import.trace)
        };
        return Ok((import.trace, read));
    }
    let name = packed::plain(file);
    if name.ends_with(".wtrb") {
        let from = packed::open(path, options.limit)?;
        return binary::read_from(from, file).map(|trace| told(".wtrb", trace));
    }
    if name.ends_with(".wtrace") {
        let from = packed::open(path, options.limit)?;
        return text::read(from, file).map(|trace| told(".wtrace", trace));
    }
    let problem =
        "is no trace; give a folder with kernelslist.g, or a file .wtrace or .wtrb (.gz, .xz or .zst behind it)"
            .into();
    Err(TraceError::File { file: file.into(), problem })
}

fn told(format: &'static str, trace: Trace) -> (Trace, TraceRead) {
    let read = TraceRead::new(format, &trace);
    (trace, read)
}

/// The folder of an Accel-Sim trace, which may be named by its list, too.
fn folder(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.to_path_buf());
    }
    let list = path.file_name().is_some_and(|name| name == "kernelslist.g");
    list.then(|| path.parent().unwrap_or(Path::new("")).to_path_buf())
}

fn unpacked(file: &str, error: &std::io::Error) -> TraceError {
    TraceError::File { file: file.into(), problem: format!("cannot be unpacked to its end: {error}") }
}
