//! One change-based writer for both formats.

use super::WaveVar;
use fst_writer::{
    FstBodyWriter, FstFileType, FstHeaderWriter, FstInfo, FstScopeType, FstSignalId, FstSignalType,
    FstVarDirection, FstVarType, FstWriteError,
};
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;
use vcd::{IdCode, SimulationCommand, TimescaleUnit, Value, VarType};
use weft_output::{Output, OutputError};

/// What can go wrong while a waveform is written.
#[derive(Clone, Debug, Error)]
#[allow(missing_docs)]
pub enum WaveError {
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("cannot write waveform {path}: {cause}; give another file")]
    Io { path: PathBuf, cause: String },
    #[error("waveform {path} has an unknown ending; use .vcd or .fst")]
    Ending { path: PathBuf },
    #[error("no signal matches the scope patterns {patterns}; there are {known}, and the signals in them")]
    NoMatch { patterns: String, known: String },
}

impl WaveError {
    /// The file that cannot be written; none if nothing was begun.
    pub fn path(&self) -> Option<&Path> {
        match self {
            WaveError::Output(error) => Some(error.path()),
            WaveError::Io { path, .. } => Some(path),
            WaveError::Ending { .. } | WaveError::NoMatch { .. } => None,
        }
    }
}

/// File format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Value change dump, IEEE 1364.
    Vcd,
    /// GTKWave's compressed format.
    Fst,
}

impl Format {
    /// The format that a file's ending asks for.
    ///
    /// # Errors
    /// Another ending than `.vcd` or `.fst`.
    pub fn of(path: &Path) -> Result<Format, WaveError> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("vcd") => Ok(Format::Vcd),
            Some("fst") => Ok(Format::Fst),
            _ => Err(WaveError::Ending { path: path.to_path_buf() }),
        }
    }
}

enum Body {
    Vcd { out: Box<vcd::Writer<BufWriter<File>>>, ids: Vec<IdCode>, started: bool },
    Fst { out: Box<FstBodyWriter<BufWriter<File>>>, ids: Vec<FstSignalId> },
}

/// Writes value changes; times are cycles, one nanosecond each. The file takes its place only when finished ([`Output`]), so that no
/// half-written waveform is left behind.
pub struct WaveWriter {
    output: Output,
    widths: Vec<u32>,
    last: Vec<Option<Box<[u64]>>>,
    seen: Vec<bool>,
    moved: Vec<bool>,
    first: Option<u64>,
    time: Option<u64>,
    body: Option<Body>,
    text: Vec<u8>,
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

impl WaveWriter {
    /// Creates the file and writes its declarations.
    ///
    /// # Errors
    /// An unknown ending or a path that cannot be written.
    pub fn create(path: &Path, vars: &[WaveVar]) -> Result<WaveWriter, WaveError> {
        let format = Format::of(path)?;
        let output = Output::create(path)?;
        let file = output.file().try_clone().map_err(|e| output.failed(&e))?;
        let body = match format {
            Format::Vcd => vcd_header(file, vars).map_err(|e| output.failed(&e))?,
            Format::Fst => fst_header(file, vars).map_err(|e| fst_failed(&output, e))?,
        };
        Ok(WaveWriter {
            output,
            widths: vars.iter().map(|v| v.width).collect(),
            last: vec![None; vars.len()],
            seen: vec![false; vars.len()],
            moved: vec![false; vars.len()],
            first: None,
            time: None,
            body: Some(body),
            text: Vec::new(),
        })
    }

    /// Records the value of variable `var` (number in the list given to [`WaveWriter::create`]) at `time`; an unchanged value costs a comparison. Times must
    /// not go back.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn change(&mut self, time: u64, var: usize, limbs: &[u64]) -> Result<(), WaveError> {
        if self.last[var].as_deref() == Some(limbs) {
            return Ok(());
        }
        match &mut self.last[var] {
            Some(old) => old.copy_from_slice(limbs),
            slot => *slot = Some(limbs.into()),
        }
        self.changed(time, var, limbs)
    }

    /// The same for a value that the caller knows to be another one than before.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn changed(&mut self, time: u64, var: usize, limbs: &[u64]) -> Result<(), WaveError> {
        self.moved[var] = std::mem::replace(&mut self.seen[var], true);
        self.emit(time, var, limbs)
    }

    /// Whether a variable has had more than one value.
    pub fn moved(&self, var: usize) -> bool {
        self.moved[var]
    }

    /// Time of the first value.
    pub fn first(&self) -> Option<u64> {
        self.first
    }

    fn emit(&mut self, time: u64, var: usize, limbs: &[u64]) -> Result<(), WaveError> {
        let new_time = self.time != Some(time);
        self.first.get_or_insert(time);
        self.time = Some(time);
        let width = self.widths[var];
        let bit = |i: u32| (limbs[(i / 64) as usize] >> (i % 64)) & 1 == 1;
        match self.body.as_mut().expect("open until finished") {
            Body::Vcd { out, ids, started } => (|| {
                if new_time {
                    out.timestamp(time)?;
                }
                if !std::mem::replace(started, true) {
                    out.begin(SimulationCommand::Dumpvars)?;
                    out.end()?;
                }
                if width == 1 {
                    return out.change_scalar(ids[var], bit(0));
                }
                // Leading zeros are implied.
                let top = (0..width).rev().find(|i| bit(*i)).unwrap_or(0);
                out.change_vector(ids[var], (0..=top).rev().map(|i| Value::from(bit(i))))
            })()
            .map_err(|e: io::Error| self.output.failed(&e).into()),
            Body::Fst { out, ids } => {
                self.text.clear();
                digits(limbs, width, &mut self.text);
                (|| {
                    if new_time {
                        out.time_change(time)?;
                    }
                    out.signal_change(ids[var], &self.text)
                })()
                .map_err(|e| fst_failed(&self.output, e))
            }
        }
    }

    /// Says that from `time` on nothing is known of any variable.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn unknown(&mut self, time: u64) -> Result<(), WaveError> {
        self.time = Some(time);
        match self.body.as_mut().expect("open until finished") {
            Body::Vcd { out, ids, .. } => (|| {
                out.timestamp(time)?;
                for (id, width) in ids.iter().zip(&self.widths) {
                    match width {
                        1 => out.change_scalar(*id, Value::X)?,
                        _ => out.change_vector(*id, [Value::X])?,
                    }
                }
                Ok(())
            })()
            .map_err(|e: io::Error| self.output.failed(&e).into()),
            Body::Fst { out, ids } => (|| {
                out.time_change(time)?;
                for (id, width) in ids.iter().zip(&self.widths) {
                    self.text.clear();
                    self.text.resize(*width as usize, b'x');
                    out.signal_change(*id, &self.text)?;
                }
                Ok(())
            })()
            .map_err(|e| fst_failed(&self.output, e)),
        }
    }

    /// Writes the last time stamp and gives the file its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self, end: u64) -> Result<(), WaveError> {
        let later = self.time.is_none_or(|t| end > t);
        match self.body.take().expect("open until finished") {
            Body::Vcd { mut out, .. } => (|| {
                if later {
                    out.timestamp(end)?;
                }
                out.writer().flush()
            })()
            .map_err(|e| self.output.failed(&e))?,
            Body::Fst { mut out, .. } => {
                (|| {
                    if later {
                        out.time_change(end)?;
                    }
                    out.finish().map(drop)
                })()
                .map_err(|e| fst_failed(&self.output, e))?;
                fst_start(self.output.file(), self.first.unwrap_or(0)).map_err(|e| self.output.failed(&e))?;
            }
        }
        self.output.commit()?;
        Ok(())
    }
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

/// What went wrong with a file in the compressed format.
fn fst_failed(output: &Output, cause: FstWriteError) -> WaveError {
    match cause {
        FstWriteError::Io(cause) => output.failed(&cause).into(),
        other => WaveError::Io { path: output.path().to_path_buf(), cause: other.to_string() },
    }
}

fn vcd_header(file: File, vars: &[WaveVar]) -> io::Result<Body> {
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
    Ok(Body::Vcd { out: Box::new(out), ids, started: false })
}

/// Byte of a FST file at which its header has the time of its beginning, 8 bytes, the highest first: behind the kind of the block and its length.
const FST_START: u64 = 9;

/// Says when a waveform begins, which is not known before its first value: viewers show it from there.
fn fst_start(mut file: &File, start: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(FST_START))?;
    file.write_all(&start.to_be_bytes())
}

fn fst_header(file: File, vars: &[WaveVar]) -> Result<Body, FstWriteError> {
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
    Ok(Body::Fst { out: Box::new(out.finish()?), ids })
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
