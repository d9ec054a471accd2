//! Files of traces, unpacked as they are read, and no further than to a limit.

use super::TraceError;
pub use crate::compressed::plain;
use crate::compressed::{ENDINGS, Limit, Packing, Unpacked, open as unpack};
use std::io::{BufRead, Read, Result};
use std::path::{Path, PathBuf};

/// Most bytes of a file, unpacked, that are read unless the user says otherwise.
pub const INPUT_LIMIT: u64 = 4 << 30;

/// What sets another limit.
pub const LIMIT_OPTION: &str = "--input-limit";

/// Most bytes of a line of text.
const MAX_LINE: u64 = 1 << 20;

fn failed(path: &Path, problem: impl ToString) -> TraceError {
    TraceError::File { file: path.display().to_string(), problem: problem.to_string() }
}

/// A file, unpacked, up to `limit` bytes. Errors of packed bytes, and that there are more, come as the file
/// is read.
///
/// # Errors
/// A file that cannot be opened, or that is not packed as its name says.
pub fn open(path: &Path, limit: u64) -> std::result::Result<Unpacked<'static>, TraceError> {
    let from = unpack(path, Limit { bytes: limit, option: LIMIT_OPTION }).map_err(|e| failed(path, e))?;
    let name = path.to_string_lossy();
    let packings = [Packing::Gzip, Packing::Xz, Packing::Zstandard];
    match ENDINGS.iter().zip(packings).find(|(ending, _)| name.ends_with(**ending)) {
        Some((_, packing)) if from.packing() != Some(packing) => {
            let what = if packing == Packing::Zstandard { "frame of Zstandard" } else { packing.name() };
            Err(failed(path, format!("cannot be unpacked to its end: these bytes are no {what}")))
        }
        _ => Ok(from),
    }
}

/// A file as it is, or packed under its name with an ending of a packer.
pub fn or_packed(plain: &Path) -> PathBuf {
    let mut packed = ENDINGS.iter().map(|ending| PathBuf::from(format!("{}{ending}", plain.display())));
    match plain.is_file() {
        true => plain.to_path_buf(),
        false => packed.find(|path| path.is_file()).unwrap_or(plain.to_path_buf()),
    }
}

/// All of a text.
///
/// # Errors
/// A file that cannot be read, or that is none.
pub fn text(path: &Path, limit: u64) -> std::result::Result<String, TraceError> {
    let mut text = String::new();
    open(path, limit)?.read_to_string(&mut text).map_err(|e| failed(path, e))?;
    Ok(text)
}

/// How a line has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is whole.
    Line,
    /// There is none: the text has ended.
    End,
    /// It is longer than a line of a trace can be.
    TooLong,
}

impl Ending {
    /// What is wrong with a line that is too long.
    pub const PROBLEM: &str = "the line is longer than 1048576 bytes; no line of a trace is";
}

/// Reads the next line, with its line feed, in the place of what is there.
///
/// # Errors
/// Those of the reader.
pub fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> Result<Ending> {
    line.clear();
    Ok(match from.take(MAX_LINE).read_until(b'\n', line)? {
        0 => Ending::End,
        count if count as u64 == MAX_LINE && line.last() != Some(&b'\n') => Ending::TooLong,
        _ => Ending::Line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_an_end() {
        let mut line = Vec::new();
        let mut text = &b"ab\nc"[..];
        let lines = [(); 3].map(|()| (read_line(&mut text, &mut line).expect("read"), line.len()));
        assert_eq!(lines, [(Ending::Line, 3), (Ending::Line, 1), (Ending::End, 0)]);
        let mut zeros = std::io::BufReader::new(std::io::repeat(0).take(5 << 20));
        assert_eq!(read_line(&mut zeros, &mut line).expect("read"), Ending::TooLong);
    }
}
