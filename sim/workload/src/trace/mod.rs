//! Traces: what the waves of a program did, recorded elsewhere, without the data (cu-and-consistency.md section 2).
//!
//! - [`text`]: `.wtrace`, to read and to write by hand. [`binary`]: `.wtrb`, compact; lossless both ways.
//! - [`accel_sim`]: import of a folder of Accel-Sim traces.
//! - [`program`]: a trace as a [`Program`](crate::Program) that fabrics run.
//!
//! Loaded values never steer a trace, so that every fabric runs the same operations. In memory, too, a wave is held as `.wtrb` holds it.

pub mod accel_sim;
pub mod binary;
pub mod op;
mod packed;
pub mod program;
pub mod text;

use op::{Memory, Reader, TraceOp, encode};
use std::io::Read;
use std::path::Path;
use thiserror::Error;

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
    /// First and last byte (exclusive) of each wave in [`TraceKernel::code`]; wave w of block b is number b x waves_per_block + w. Empty: the wave does nothing.
    pub waves: Vec<(usize, usize)>,
    /// Operations of all waves, as [`op::encode`] puts them.
    pub code: Vec<u8>,
}

impl TraceKernel {
    /// A kernel whose waves do nothing yet; waves have so many lanes.
    pub fn new(name: &str, grid: [u32; 3], block: [u32; 3], lds: u32, lanes: u32) -> TraceKernel {
        let threads = block.iter().product::<u32>();
        let waves_per_block = threads.div_ceil(lanes).max(1);
        let count = grid.iter().product::<u32>() as usize * waves_per_block as usize;
        let waves = vec![(0, 0); count];
        TraceKernel { name: name.into(), grid, block, lds, waves_per_block, waves, code: Vec::new() }
    }

    /// Blocks.
    pub fn blocks(&self) -> u32 {
        self.grid.iter().product()
    }

    /// Number of a block from its coordinates, x fastest; `None` outside the grid.
    pub fn block_number(&self, at: [u32; 3]) -> Option<u32> {
        let inside = at.iter().zip(self.grid).all(|(at, size)| *at < size);
        inside.then(|| at[0] + self.grid[0] * (at[1] + self.grid[1] * at[2]))
    }

    /// Appends a wave's operations; `None` if it has some already or there is no such wave.
    pub fn add_wave(&mut self, block: u32, wave: u32, ops: &[TraceOp]) -> Option<()> {
        if wave >= self.waves_per_block {
            return None;
        }
        let slot = self.waves.get_mut((block * self.waves_per_block + wave) as usize)?;
        if slot.0 != slot.1 {
            return None;
        }
        let (first, mut memory) = (self.code.len(), Memory::default());
        ops.iter().for_each(|op| encode(&mut self.code, &mut memory, op));
        *slot = (first, self.code.len());
        Some(())
    }

    /// Operations of a wave by its number; `None` behind the first that cannot be read.
    pub fn ops(&self, wave: usize) -> impl Iterator<Item = Option<TraceOp>> + '_ {
        let (first, end) = self.waves[wave];
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

/// A name that is that of a trace, not of a program: it comes with this crate, has a separator of folders, or ends as a trace does.
pub fn is_trace(name: &str) -> bool {
    let ends = [".wtrace", ".wtrb"].iter().any(|ending| packed::plain(name).ends_with(ending));
    name.contains('/') || ends || BUNDLED.iter().any(|trace| trace.name == name)
}

/// What people call a trace: its folder or file without what stands before and behind.
pub fn short_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = packed::plain(&name);
    name.strip_suffix(".wtrace").or(name.strip_suffix(".wtrb")).unwrap_or(name).to_string()
}

/// Reads a trace by its name: one of [`BUNDLED`], a folder with a `kernelslist.g`, or a file `.wtrace` or `.wtrb`, each of these packed by gzip (`.gz`), xz (`.xz`) or Zstandard (`.zst`) or not.
///
/// # Errors
/// What cannot be read, with its place.
pub fn read(path: &Path) -> Result<Trace, TraceError> {
    let file = path.display().to_string();
    if let Some(trace) = BUNDLED.iter().find(|trace| trace.name == file) {
        let mut bytes = Vec::new();
        xz2::read::XzDecoder::new(trace.bytes).read_to_end(&mut bytes).map_err(|e| unpacked(&file, &e))?;
        return binary::read(&bytes, &file);
    }
    if path.is_dir() {
        return accel_sim::read(path).map(|import| import.trace);
    }
    let name = packed::plain(&file);
    if name.ends_with(".wtrb") {
        let mut bytes = Vec::new();
        packed::open(path)?.read_to_end(&mut bytes).map_err(|e| unpacked(&file, &e))?;
        return binary::read(&bytes, &file);
    }
    if name.ends_with(".wtrace") {
        return text::read(std::io::BufReader::new(packed::open(path)?), &file);
    }
    let problem =
        "is no trace; give a folder with kernelslist.g, or a file .wtrace or .wtrb (.gz, .xz or .zst behind it)"
            .into();
    Err(TraceError::File { file, problem })
}

fn unpacked(file: &str, error: &std::io::Error) -> TraceError {
    TraceError::File { file: file.into(), problem: format!("cannot be unpacked to its end: {error}") }
}
