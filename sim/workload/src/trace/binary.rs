//! `.wtrb`: magic `WTRB`, u16 version, u16 lanes, u32 steps; then the steps, and behind each kernel its code. All numbers little-endian.
//!
//! | step | fields |
//! | --- | --- |
//! | copy | u8 0, u64 address, u64 bytes |
//! | kernel | u8 1, u32 length of the name, name, 3 u32 grid, 3 u32 block, u32 lds, u32 index entries, per entry {u32 wave, u64 offset, u32 length, u32 crc}, u64 bytes of code, code |
//!
//! Offsets count from the kernel's first byte of code; the crc is that of gzip over the wave's bytes. Waves that do nothing have no entry.

use super::op::{Memory, Reader};
use super::{Trace, TraceError, TraceKernel, TraceStep};

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
    out.push(1);
    out.extend((kernel.name.len() as u32).to_le_bytes());
    out.extend(kernel.name.as_bytes());
    for number in kernel.grid.into_iter().chain(kernel.block).chain([kernel.lds]) {
        out.extend(number.to_le_bytes());
    }
    let entries: Vec<(usize, (usize, usize))> =
        kernel.waves.iter().copied().enumerate().filter(|(_, (first, end))| first != end).collect();
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

struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
    file: &'a str,
}

impl<'a> Bytes<'a> {
    fn wrong<T>(&self, problem: impl Into<String>) -> Result<T, TraceError> {
        Err(TraceError::Byte { file: self.file.into(), at: self.at as u64, problem: problem.into() })
    }

    fn take(&mut self, count: u64, what: &str) -> Result<&'a [u8], TraceError> {
        let left = self.bytes.len() - self.at;
        match usize::try_from(count).ok().filter(|count| *count <= left) {
            Some(count) => {
                self.at += count;
                Ok(&self.bytes[self.at - count..self.at])
            }
            None => self.wrong(format!(
                "the file ends {left} bytes further on, where {what} of {count} bytes is expected"
            )),
        }
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], TraceError> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N as u64, what)?);
        Ok(out)
    }

    fn u32(&mut self, what: &str) -> Result<u32, TraceError> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    fn u64(&mut self, what: &str) -> Result<u64, TraceError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }
}

/// Reads a trace from bytes; every wave is read through once.
///
/// # Errors
/// What no [`write()`] makes, with the byte where it was found.
pub fn read(bytes: &[u8], file: &str) -> Result<Trace, TraceError> {
    let mut from = Bytes { bytes, at: 0, file };
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
    let mut steps = Vec::new();
    for _ in 0..count {
        steps.push(match from.array::<1>("a step")?[0] {
            0 => TraceStep::Copy { addr: from.u64("an address")?, bytes: from.u64("a number of bytes")? },
            1 => TraceStep::Kernel(read_kernel(&mut from, lanes)?),
            kind => return from.wrong(format!("{kind} is no kind of step; 0 is a copy, 1 a kernel")),
        });
    }
    if from.at != bytes.len() {
        return from.wrong(format!("{} bytes are left over behind the last step", bytes.len() - from.at));
    }
    Ok(Trace { lanes, steps })
}

fn read_kernel(from: &mut Bytes, lanes: u32) -> Result<TraceKernel, TraceError> {
    let length = u64::from(from.u32("the length of a name")?);
    let name = String::from_utf8_lossy(from.take(length, "a name")?).into_owned();
    let mut numbers = [0; 7];
    for number in &mut numbers {
        *number = from.u32("a size of the kernel")?;
    }
    let [gx, gy, gz, bx, by, bz, lds] = numbers;
    let count = |sizes: [u32; 3]| sizes.iter().try_fold(1_u64, |all, n| all.checked_mul(u64::from(*n)));
    let fits = |sizes| count(sizes).is_some_and(|all| all > 0 && all <= 1 << 28);
    if !fits([gx, gy, gz]) || !count([bx, by, bz]).is_some_and(|all| all > 0 && all <= 1 << 16) {
        return from.wrong(format!("grid {gx},{gy},{gz} of blocks {bx},{by},{bz} is empty or too large"));
    }
    let mut kernel = TraceKernel::new(&name, [gx, gy, gz], [bx, by, bz], lds, lanes);
    let entries = from.u32("the number of waves")?;
    let mut sums = Vec::new();
    for _ in 0..entries {
        let (wave, offset) = (from.u32("a wave")? as usize, from.u64("an offset")?);
        let (length, sum) = (from.u32("a length")?, from.u32("a crc")?);
        let Some(slot) = kernel.waves.get_mut(wave) else {
            return from.wrong(format!("wave {wave} is none of kernel {name}"));
        };
        let end = offset.checked_add(u64::from(length));
        let (Ok(first), Some(Ok(end))) = (usize::try_from(offset), end.map(usize::try_from)) else {
            return from.wrong(format!("offset {offset} of wave {wave} is too large"));
        };
        *slot = (first, end);
        sums.push((wave, sum));
    }
    let length = from.u64("the bytes of code")?;
    let start = from.at;
    kernel.code = from.take(length, "code")?.to_vec();
    for (wave, sum) in sums {
        let (first, end) = kernel.waves[wave];
        from.at = start + first.min(kernel.code.len());
        let Some(code) = kernel.code.get(first..end) else {
            return from.wrong(format!("wave {wave} of {name} ends behind the kernel's code"));
        };
        if crc(code) != sum {
            return from.wrong(format!(
                "wave {wave} of {name} is damaged: its crc is {:08x}, {sum:08x} is expected",
                crc(code)
            ));
        }
        let (mut reader, mut memory) = (Reader::new(code), Memory::default());
        while reader.at < code.len() {
            let before = reader.at;
            if reader.op(&mut memory).is_none() {
                from.at = start + first + before;
                return from.wrong(format!("wave {wave} of {name} has no operation here"));
            }
        }
    }
    from.at = start + length as usize;
    Ok(kernel)
}
