//! What is written into a waveform, in both formats.

use super::WaveVar;
use fst_writer::{
    FstBodyWriter, FstFileType, FstHeaderWriter, FstInfo, FstScopeType, FstSignalId, FstSignalType,
    FstVarDirection, FstVarType, FstWriteError,
};
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use vcd::{IdCode, SimulationCommand, TimescaleUnit, Value, VarType};

/// File format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Value change dump, IEEE 1364.
    Vcd,
    /// GTKWave's compressed format.
    Fst,
}

/// Why a file cannot be written.
#[derive(Debug)]
pub enum BodyError {
    /// The system refuses.
    Io(io::Error),
    /// The compressed format does.
    Fst(FstWriteError),
}

impl From<io::Error> for BodyError {
    fn from(cause: io::Error) -> BodyError {
        BodyError::Io(cause)
    }
}

impl From<FstWriteError> for BodyError {
    fn from(cause: FstWriteError) -> BodyError {
        match cause {
            FstWriteError::Io(cause) => BodyError::Io(cause),
            other => BodyError::Fst(other),
        }
    }
}

enum Kind {
    Vcd { out: Box<vcd::Writer<BufWriter<File>>>, ids: Vec<IdCode>, started: bool },
    Fst { out: Box<FstBodyWriter<BufWriter<File>>>, ids: Vec<FstSignalId> },
}

/// A file whose declarations are written.
pub struct Body {
    kind: Kind,
    /// Bits of each variable.
    widths: Vec<u32>,
    time: Option<u64>,
    text: Vec<u8>,
}

impl Body {
    /// Writes the declarations.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn new(format: Format, file: File, vars: &[WaveVar]) -> Result<Body, BodyError> {
        let kind = match format {
            Format::Vcd => vcd_header(file, vars)?,
            Format::Fst => fst_header(file, vars)?,
        };
        let widths = vars.iter().map(|var| var.width).collect();
        Ok(Body { kind, widths, time: None, text: Vec::new() })
    }

    /// Goes on to a time, which is not earlier than the last one.
    ///
    /// # Errors
    /// As above.
    pub fn time(&mut self, time: u64) -> Result<(), BodyError> {
        if self.time.replace(time) == Some(time) {
            return Ok(());
        }
        match &mut self.kind {
            Kind::Vcd { out, .. } => out.timestamp(time)?,
            Kind::Fst { out, .. } => out.time_change(time)?,
        }
        Ok(())
    }

    /// Gives a variable a value.
    ///
    /// # Errors
    /// As above.
    pub fn change(&mut self, var: usize, limbs: &[u64]) -> Result<(), BodyError> {
        let width = self.widths[var];
        let bit = |i: u32| (limbs[(i / 64) as usize] >> (i % 64)) & 1 == 1;
        match &mut self.kind {
            Kind::Vcd { out, ids, started } => {
                if !std::mem::replace(started, true) {
                    out.begin(SimulationCommand::Dumpvars)?;
                    out.end()?;
                }
                if width == 1 {
                    return Ok(out.change_scalar(ids[var], bit(0))?);
                }
                // Leading zeros are implied.
                let top = (0..width).rev().find(|i| bit(*i)).unwrap_or(0);
                Ok(out.change_vector(ids[var], (0..=top).rev().map(|i| Value::from(bit(i))))?)
            }
            Kind::Fst { out, ids } => {
                self.text.clear();
                digits(limbs, width, &mut self.text);
                Ok(out.signal_change(ids[var], &self.text)?)
            }
        }
    }

    /// Says that nothing is known of any variable.
    ///
    /// # Errors
    /// As above.
    pub fn unknown(&mut self) -> Result<(), BodyError> {
        match &mut self.kind {
            Kind::Vcd { out, ids, .. } => {
                for (id, width) in ids.iter().zip(&self.widths) {
                    match width {
                        1 => out.change_scalar(*id, Value::X)?,
                        _ => out.change_vector(*id, [Value::X])?,
                    }
                }
            }
            Kind::Fst { out, ids } => {
                for (id, width) in ids.iter().zip(&self.widths) {
                    self.text.clear();
                    self.text.resize(*width as usize, b'x');
                    out.signal_change(*id, &self.text)?;
                }
            }
        }
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// As above.
    pub fn finish(self) -> Result<(), BodyError> {
        match self.kind {
            Kind::Vcd { mut out, .. } => out.writer().flush()?,
            Kind::Fst { out, .. } => out.finish().map(drop)?,
        }
        Ok(())
    }
}

/// Order of variables by scope, so that each scope is opened once; returns (scopes to close, scopes to open, variable) per step.
fn by_scope(vars: &[WaveVar]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..vars.len()).collect();
    order.sort_by(|a, b| vars[*a].scopes.cmp(&vars[*b].scopes).then(a.cmp(b)));
    order
}

/// Walks variables in scope order and reports scope changes.
fn walk<E>(vars: &[WaveVar], mut event: impl FnMut(Step<'_>) -> Result<(), E>) -> Result<(), E> {
    let mut open: Vec<String> = Vec::new();
    for i in by_scope(vars) {
        let scopes = &vars[i].scopes;
        let common = open.iter().zip(scopes).take_while(|(a, b)| a == b).count();
        while open.len() > common {
            open.pop();
            event(Step::Close)?;
        }
        for scope in &scopes[common..] {
            event(Step::Open(scope))?;
            open.push(scope.clone());
        }
        event(Step::Var(i))?;
    }
    for _ in open {
        event(Step::Close)?;
    }
    Ok(())
}

enum Step<'a> {
    Open(&'a str),
    Close,
    Var(usize),
}

/// Appends the bits of a value as digits, the highest first.
fn digits(limbs: &[u64], width: u32, text: &mut Vec<u8>) {
    let mut left = width;
    while left > 0 {
        // Whole bytes from the lowest bit on; the highest may have fewer.
        let bits = if left.is_multiple_of(8) { 8 } else { left % 8 };
        left -= bits;
        let byte = limbs[(left / 64) as usize] >> (left % 64);
        // A bit in each byte, the highest in the lowest.
        let spread = (byte & 0xff).wrapping_mul(0x8040_2010_0804_0201) >> 7 & 0x0101_0101_0101_0101;
        let digits = (spread | 0x3030_3030_3030_3030).to_le_bytes();
        text.extend_from_slice(&digits[8 - bits as usize..]);
    }
}

fn vcd_header(file: File, vars: &[WaveVar]) -> io::Result<Kind> {
    let mut out = vcd::Writer::new(BufWriter::new(file));
    out.version("weft")?;
    out.timescale(1, TimescaleUnit::NS)?;
    let mut ids = vec![IdCode::FIRST; vars.len()];
    walk(vars, |step| match step {
        Step::Open(scope) => out.add_module(scope),
        Step::Close => out.upscope(),
        Step::Var(i) => {
            let v = &vars[i];
            let kind = if v.is_reg { VarType::Reg } else { VarType::Wire };
            let range = (v.width > 1).then_some(vcd::ReferenceIndex::Range(v.width as i32 - 1, 0));
            ids[i] = out.add_var(kind, v.width, &v.name, range)?;
            Ok(())
        }
    })?;
    out.enddefinitions()?;
    Ok(Kind::Vcd { out: Box::new(out), ids, started: false })
}

/// Byte of a FST file at which its header has the time of its beginning, 8 bytes, the highest first: behind the kind of the block and its length.
const FST_START: u64 = 9;

/// Says when a waveform begins, which is not known before its first value: viewers show it from there.
pub fn fst_start(mut file: &File, start: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(FST_START))?;
    file.write_all(&start.to_be_bytes())
}

fn fst_header(file: File, vars: &[WaveVar]) -> Result<Kind, FstWriteError> {
    let info = FstInfo {
        start_time: 0,
        timescale_exponent: -9,
        version: "weft".to_string(),
        // A fixed date keeps the bytes the same from run to run.
        date: "Thu Jan  1 00:00:00 1970".to_string(),
        file_type: FstFileType::Verilog,
    };
    let mut out = FstHeaderWriter::new(BufWriter::new(file), &info)?;
    let mut ids: Vec<Option<FstSignalId>> = vec![None; vars.len()];
    walk(vars, |step| match step {
        Step::Open(scope) => out.scope(scope, "", FstScopeType::Module),
        Step::Close => out.up_scope(),
        Step::Var(i) => {
            let v = &vars[i];
            let kind = if v.is_reg { FstVarType::Reg } else { FstVarType::Wire };
            let name = if v.width > 1 { format!("{} [{}:0]", v.name, v.width - 1) } else { v.name.clone() };
            let ty = FstSignalType::bit_vec(v.width);
            ids[i] = Some(out.var(name, ty, kind, FstVarDirection::Implicit, None)?);
            Ok(())
        }
    })?;
    let ids = ids.into_iter().map(|id| id.expect("the walk meets every variable")).collect();
    Ok(Kind::Fst { out: Box::new(out.finish()?), ids })
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn digits_are_those_of_the_value() {
        let limbs = [0xf0c1_8000_0000_0005, 0x0000_0000_0000_9a37];
        for width in 1..=128 {
            let bit = |i: u32| limbs[(i / 64) as usize] >> (i % 64) & 1;
            let mut cut = limbs;
            (width..128).for_each(|i| cut[(i / 64) as usize] &= !(1 << (i % 64)));
            let mut text = Vec::new();
            digits(&cut, width, &mut text);
            let want: String = (0..width).rev().map(|i| bit(i).to_string()).collect();
            assert_eq!(String::from_utf8(text).unwrap(), want);
        }
    }
}
