//! Readers of litmus tests.
//!
//! | format | first word of the file | what is read |
//! | --- | --- | --- |
//! | [`table`] | `PTX`, `AArch64`, `LISA`, `Bell` | registers and locations in braces, a column per thread, `scopes:`, a condition |
//! | [`c`] | `C`, `OPENCL` | initial values in braces, a function per thread, a condition |
//! | [`own`] | `weft-litmus` | see there |

pub mod c;
pub mod condition;
pub mod own;
pub mod table;

use crate::test::Test;
use thiserror::Error;

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct ReadError {
    /// Line, from 1.
    pub line: usize,
    /// Cause and remedy.
    pub problem: String,
}

/// An error at a line.
pub(crate) fn wrong<T>(line: usize, problem: impl Into<String>) -> Result<T, ReadError> {
    Err(ReadError { line, problem: problem.into() })
}

/// Most bytes of a test.
const MOST: usize = 1 << 16;

/// Reads a test of whatever format its first word says.
///
/// # Errors
/// Text that is no litmus test, is longer than one can be, or has what cannot be read.
pub fn read(text: &str) -> Result<Test, ReadError> {
    if text.len() > MOST {
        let long = text.len();
        return wrong(
            1,
            format!("the text has {long} bytes, and a litmus test at most {MOST}; make it smaller"),
        );
    }
    let text = text.trim_start_matches('\u{feff}');
    let (line, first) = text.lines().enumerate().find(|(_, l)| !l.trim().is_empty()).unwrap_or((0, ""));
    match first.split_whitespace().next().unwrap_or("") {
        "PTX" | "AArch64" | "LISA" | "Bell" => table::read(text),
        "C" | "OPENCL" => c::read(text),
        "weft-litmus" => own::read(text),
        word => wrong(
            line + 1,
            format!(
                "{word:?} is no format of litmus tests; the first word is to be PTX, AArch64, LISA, Bell, C, OPENCL or weft-litmus"
            ),
        ),
    }
}

/// A number as litmus tests write them.
pub(crate) fn number(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let value = match digits.strip_prefix("0x") {
        // A sign stands before all of it.
        Some(hex) if hex.starts_with(|c: char| c.is_ascii_hexdigit()) => i64::from_str_radix(hex, 16).ok()?,
        Some(_) => return None,
        None if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.parse().ok()?,
        None => return None,
    };
    Some(sign * value)
}

/// Whether a word can name a register or location.
pub(crate) fn is_name(word: &str) -> bool {
    let start = |c: char| c.is_ascii_alphabetic() || c == '_';
    word.starts_with(start) && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$'))
}
