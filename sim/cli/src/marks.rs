//! Marks of a page that a person writes: between two of them stands what a command makes.
//!
//! `<!-- weft: WORDS -->` begins such a place, and `<!-- weft: end -->` ends it.

use crate::document::{Block, markdown};
use anyhow::{Error, anyhow};

/// How a mark begins, and the one that ends a place.
const MARK: &str = "<!-- weft: ";
const END: &str = "<!-- weft: end -->";

/// The page with all its places filled anew; all else stays as it is.
///
/// # Errors
/// A mark that names nothing, or has no end; with its line.
pub fn fill(page: &str, blocks: impl Fn(&[&str]) -> Result<Vec<Block>, Error>) -> Result<String, Error> {
    let mut out = String::new();
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        out += line;
        out.push('\n');
        let Some(mark) = line.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(" -->")) else {
            continue;
        };
        let words: Vec<&str> = mark.split_whitespace().collect();
        let blocks = blocks(&words).map_err(|problem| anyhow!("line {}: {line}: {problem}", at + 1))?;
        if !lines.by_ref().any(|(_, line)| line == END) {
            return Err(anyhow!("line {}: {line}: it has no end; write {END} behind its table", at + 1));
        }
        out += &format!("\n{}{END}\n", markdown(&blocks));
    }
    Ok(out)
}
