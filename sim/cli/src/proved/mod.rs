//! What is proved, and by what: tables of the records that campaigns keep.
//!
//! `<!-- weft: explored -->` in a page is the place of what was explored, `explored faults` of the ways to planted faults, `mutants` of what sees
//! the mutants of each block, `mutants protocols` of each protocol, `mutants kinds` of each kind, `mutants survivors` of those that nothing sees,
//! `mutants twice` of one in each block that several means see, `stress` of random operations, `stress faults` of planted faults that they were asked for, `faults` of what explorations and random programs say of each, `formal`
//! of assertions, `circuits` of random circuits, `readers` of readers under random input.

pub mod explored;
mod formal;
mod mutants;
mod planted;
mod sheet;
mod stress;

use crate::document::Block;
use crate::marks;
use anyhow::{Error, anyhow};
use std::path::Path;

/// A table: its mark, its heading, and what makes it of a folder of records.
struct Part {
    mark: &'static str,
    heading: &'static str,
    make: fn(&Path) -> Result<Vec<Block>, Error>,
}

const PARTS: [Part; 13] = [
    Part { mark: "explored", heading: "Every interleaving", make: explored::sound },
    Part { mark: "explored faults", heading: "Ways to planted faults", make: explored::faults },
    Part { mark: "mutants", heading: "Mutants", make: mutants::blocks },
    Part { mark: "mutants protocols", heading: "Mutants of each protocol", make: mutants::protocols },
    Part { mark: "mutants kinds", heading: "Kinds of mutants", make: mutants::kinds },
    Part { mark: "mutants survivors", heading: "Mutants that nothing sees", make: mutants::survivors },
    Part { mark: "mutants twice", heading: "Mutants that several means see", make: mutants::twice },
    Part { mark: "stress", heading: "Random operations", make: stress::table },
    Part { mark: "stress faults", heading: "Planted faults and random operations", make: stress::faults },
    Part { mark: "faults", heading: "Planted faults by two means", make: planted::both },
    Part { mark: "formal", heading: "Assertions", make: formal::table },
    Part { mark: "circuits", heading: "Random circuits", make: sheet::circuits },
    Part { mark: "readers", heading: "Readers", make: sheet::readers },
];

/// The page with its tables made anew.
///
/// # Errors
/// A record that is none, a mark that names nothing.
pub fn page(records: &Path, text: &str) -> Result<String, Error> {
    marks::fill(text, |mark| {
        let mark = mark.join(" ");
        let known = || PARTS.map(|part| part.mark).join(", ");
        let part = PARTS.iter().find(|part| part.mark == mark);
        (part.ok_or_else(|| anyhow!("there is no such table; a mark is one of: {}", known()))?.make)(records)
    })
}

/// All tables, each with its heading.
///
/// # Errors
/// A record that is none.
pub fn all(records: &Path) -> Result<Vec<Block>, Error> {
    let mut out = Vec::new();
    for part in &PARTS {
        out.push(Block::Heading(2, part.heading.into()));
        out.extend((part.make)(records)?);
    }
    Ok(out)
}

/// A table, or a sentence where it would have no line.
fn table(head: &[&str], lines: Vec<Vec<String>>) -> Vec<Block> {
    if lines.is_empty() {
        return vec![Block::Text("Nothing is recorded.".into())];
    }
    let head = head.iter().map(|cell| cell.to_string()).collect();
    vec![Block::Table([head].into_iter().chain(lines).collect())]
}

/// A number in groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let split = |(at, digit): (usize, char)| {
        let gap = at > 0 && (digits.len() - at).is_multiple_of(3);
        gap.then_some(' ').into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(split).collect()
}

#[cfg(test)]
mod tests;
