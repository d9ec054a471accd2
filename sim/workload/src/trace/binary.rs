//! `.wtrb`: magic `WTRB`, u16 version, u16 lanes, u32 steps; then the steps, and behind each kernel its code. All numbers little-endian.
//!
//! | step | fields |
//! | --- | --- |
//! | copy | u8 0, u64 address, u64 bytes |
//! | kernel on CUs and CPU cores | u8 2, u32 blocks on CPU cores, then as the following from the length of the name on |
//! | kernel | u8 1, u32 length of the name, name, 3 u32 grid, 3 u32 block, u32 lds, u32 index entries, per entry {u32 wave, u64 offset, u32 length, u32 crc}, u64 bytes of code, code |
//!
//! Offsets count from the kernel's first byte of code, in which waves lie end to end; the crc is that of gzip
//! over the wave's bytes. Waves that do nothing have no entry.

use super::op::{Memory, Reader, TraceAccess, TraceOp};
use super::text::{cores, sizes};
use super::{MAX_STEPS, Trace, TraceError, TraceKernel, TraceStep};
use crate::program::full_mask;
use std::collections::BTreeSet;
use std::io::Read;

const MAGIC: &[u8; 4] = b"WTRB";
const VERSION: u16 = 1;

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// A trace as bytes.
pub fn write(trace: &Trace) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend(VERSION.to_le_bytes());
    out.extend((trace.lanes as u16).to_le_bytes());
    out.extend((trace.steps.len() as u32).to_le_bytes());
    for step in &trace.steps {
        match step {
            TraceStep::Copy { addr, bytes } => {
                out.push(0);
                out.extend(addr.to_le_bytes());
                out.extend(bytes.to_le_bytes());
            }
            TraceStep::Kernel(kernel) => write_kernel(&mut out, kernel),
        }
    }
    out
}

fn write_kernel(out: &mut Vec<u8>, kernel: &TraceKernel) {
    match kernel.cpus {
        0 => out.push(1),
        cpus => {
            out.push(2);
            out.extend(cpus.to_le_bytes());
        }
    }
    out.extend((kernel.name.len() as u32).to_le_bytes());
    out.extend(kernel.name.as_bytes());
    for number in kernel.grid.into_iter().chain(kernel.block).chain([kernel.lds]) {
        out.extend(number.to_le_bytes());
    }
    let entries: Vec<(usize, (usize, usize))> =
        kernel.waves.iter().map(|(wave, bytes)| (*wave, *bytes)).collect();
    out.extend((entries.len() as u32).to_le_bytes());
    for (wave, (first, end)) in entries {
        out.extend((wave as u32).to_le_bytes());
        out.extend((first as u64).to_le_bytes());
        out.extend(((end - first) as u32).to_le_bytes());
        out.extend(crc(&kernel.code[first..end]).to_le_bytes());
    }
    out.extend((kernel.code.len() as u64).to_le_bytes());
    out.extend(&kernel.code);
}

/// Bytes that come one after the other.
struct Bytes<'a, R> {
    from: R,
    at: u64,
    file: &'a str,
}

impl<R: Read> Bytes<'_, R> {
    fn wrong<T>(&self, problem: impl Into<String>) -> Result<T, TraceError> {
        wrong(self.file, self.at, problem)
    }

    /// So many bytes; no more memory is taken than there are.
    fn take(&mut self, count: u64, what: &str) -> Result<Vec<u8>, TraceError> {
        let mut bytes = Vec::new();
        let from = self.from.by_ref().take(count);
        let found = { from }.read_to_end(&mut bytes).map_err(|e| super::unpacked(self.file, &e))? as u64;
        if found < count {
            return self.wrong(format!(
                "the file ends {found} bytes further on, where {what} of {count} bytes is expected"
            ));
        }
        self.at += count;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], TraceError> {
        let mut out = [0; N];
        out.copy_from_slice(&self.take(N as u64, what)?);
        Ok(out)
    }

    fn u32(&mut self, what: &str) -> Result<u32, TraceError> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    fn u64(&mut self, what: &str) -> Result<u64, TraceError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }
}

fn wrong<T>(file: &str, at: u64, problem: impl Into<String>) -> Result<T, TraceError> {
    Err(TraceError::Byte { file: file.into(), at, problem: problem.into() })
}

/// Reads a trace from bytes; every wave is read through once.
///
/// # Errors
/// What no [`write()`] makes, with the byte where it was found.
pub fn read(bytes: &[u8], file: &str) -> Result<Trace, TraceError> {
    read_from(bytes, file)
}

/// Reads a trace; of its bytes those of one kernel are held at a time.
///
/// # Errors
/// What no [`write()`] makes, with the byte where it was found.
pub fn read_from(from: impl Read, file: &str) -> Result<Trace, TraceError> {
    let mut from = Bytes { from, at: 0, file };
    if from.take(4, "the magic WTRB")? != MAGIC {
        from.at = 0;
        return from.wrong("the file does not begin with WTRB; it is no binary trace");
    }
    let version = u16::from_le_bytes(from.array("the version")?);
    if version != VERSION {
        return from.wrong(format!("version {version} is not known; {VERSION} is"));
    }
    let lanes = u32::from(u16::from_le_bytes(from.array("the number of lanes")?));
    if !(1..=64).contains(&lanes) {
        return from.wrong(format!("{lanes} lanes; 1 to 64 are legal"));
    }
    let count = from.u32("the number of steps")?;
    if count as usize > MAX_STEPS {
        return from.wrong(format!("{count} steps; at most {MAX_STEPS} are legal"));
    }
    let mut steps = Vec::new();
    for _ in 0..count {
        steps.push(match from.array::<1>("a step")?[0] {
            0 => TraceStep::Copy { addr: from.u64("an address")?, bytes: from.u64("a number of bytes")? },
            1 => TraceStep::Kernel(read_kernel(&mut from, 0, lanes)?),
            2 => {
                let cpus = from.u32("a number of blocks")?;
                TraceStep::Kernel(read_kernel(&mut from, cpus, lanes)?)
            }
            kind => {
                return from.wrong(format!("{kind} is no kind of step; 0 is a copy, 1 and 2 are kernels"));
            }
        });
    }
    match from.from.read(&mut [0]) {
        Ok(0) => Ok(Trace { lanes, steps }),
        Ok(_) => from.wrong("bytes are left over behind the last step"),
        Err(e) => Err(super::unpacked(file, &e)),
    }
}

/// Whether an access has lanes of the wave only, addresses that are multiples of its size, and a hint that fits; a CPU core has no scratchpad.
fn legal(op: &TraceOp, lanes: u32, core: bool) -> bool {
    if core && matches!(op, TraceOp::LdsLoad { .. } | TraceOp::LdsStore { .. }) {
        return false;
    }
    let Some(TraceAccess { size, addrs, mask, .. }) = op.access() else { return true };
    let mut active = (0..64).filter(|lane| mask >> lane & 1 == 1);
    op.hint_fits().is_ok()
        && mask & !full_mask(lanes) == 0
        && active.all(|lane| addrs.at(lane).is_multiple_of(u64::from(*size)))
}

/// A wave of the index: number, offset, length, crc.
type Entry = (usize, u64, u32, u32);

fn read_kernel(from: &mut Bytes<impl Read>, cpus: u32, lanes: u32) -> Result<TraceKernel, TraceError> {
    let length = u64::from(from.u32("the length of a name")?);
    let name = String::from_utf8_lossy(&from.take(length, "a name")?).into_owned();
    if name.contains(['\n', '\r']) {
        return from.wrong("a kernel's name goes over several lines; a name is one word");
    }
    let mut numbers = [0; 7];
    for number in &mut numbers {
        *number = from.u32("a size of the kernel")?;
    }
    let [gx, gy, gz, bx, by, bz, lds] = numbers;
    if sizes([gx, gy, gz], [bx, by, bz]).is_err() {
        return from.wrong(format!("grid {gx},{gy},{gz} of blocks {bx},{by},{bz} is empty or too large"));
    }
    let mut kernel = TraceKernel::new(&name, [gx, gy, gz], [bx, by, bz], lds, lanes);
    kernel.cpus = cpus;
    if let Err(problem) = cores(&kernel) {
        return from.wrong(problem);
    }
    let entries = index(from, &kernel)?;
    let length = from.u64("the bytes of code")?;
    let used = entries.iter().map(|(_, offset, bytes, _)| offset + u64::from(*bytes)).max().unwrap_or(0);
    if length != used {
        return from.wrong(format!("{length} bytes of code, where the waves have {used}"));
    }
    let start = from.at;
    kernel.code = from.take(length, "code")?;
    for (wave, offset, bytes, sum) in entries {
        let (first, end) = (offset as usize, offset as usize + bytes as usize);
        let (code, file) = (&kernel.code[first..end], from.file);
        if crc(code) != sum {
            return wrong(
                file,
                start + offset,
                format!(
                    "wave {wave} of {name} is damaged: its crc is {:08x}, {sum:08x} is expected",
                    crc(code)
                ),
            );
        }
        let (mut reader, mut memory) = (Reader::new(code), Memory::default());
        let block = (wave / kernel.waves_per_block as usize) as u32;
        let (core, lanes) = (block < cpus, kernel.lanes_of(block, lanes));
        while reader.at < code.len() {
            let before = reader.at as u64;
            if !reader.op(&mut memory).is_some_and(|op| legal(&op, lanes, core)) {
                let problem = format!("wave {wave} of {name} has no operation here");
                return wrong(file, start + offset + before, problem);
            }
        }
        kernel.waves.insert(wave, (first, end));
    }
    Ok(kernel)
}

/// The index of a kernel, in the order of its code: waves that lie end to end, each once.
fn index(from: &mut Bytes<impl Read>, kernel: &TraceKernel) -> Result<Vec<Entry>, TraceError> {
    let (count, name) = (from.u32("the number of waves")?, &kernel.name);
    let mut entries: Vec<Entry> = Vec::new();
    for _ in 0..count {
        let (wave, offset) = (from.u32("a wave")?, from.u64("an offset")?);
        let (length, sum) = (from.u32("a length")?, from.u32("a crc")?);
        let on_core = wave / kernel.waves_per_block < kernel.cpus;
        if u64::from(wave) >= kernel.wave_count() || (on_core && wave % kernel.waves_per_block > 0) {
            return from.wrong(format!("wave {wave} is none of kernel {name}"));
        }
        entries.push((wave as usize, offset, length, sum));
    }
    entries.sort_unstable_by_key(|(_, offset, length, _)| (*offset, *length));
    let mut end = 0_u64;
    let mut seen = BTreeSet::new();
    for (wave, offset, length, _) in &entries {
        if *offset != end || !seen.insert(*wave) {
            return from.wrong(format!(
                "wave {wave} of {name} is there twice, or does not begin where another ends"
            ));
        }
        end += u64::from(*length);
    }
    Ok(entries)
}
