//! The headers of KONECT files (Koblenz Network Collection).

use super::GraphError;
use super::source::{Line, Source, quoted};

/// What the third column of a KONECT file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Third {
    /// Nothing, or 1.
    One,
    /// How many parallel edges the line stands for.
    Multiplicity,
    /// A weight.
    Weight,
}

/// The first line of a KONECT file: `% sym|asym|bip CLASS`.
pub struct Konect {
    /// `asym`; else `sym`.
    pub directed: bool,
    /// By the class of weights.
    pub third: Third,
}

/// Classes of weights, and what they make of the third column.
const CLASSES: [(&str, Third); 8] = [
    ("unweighted", Third::One),
    ("positive", Third::Multiplicity),
    ("posweighted", Third::Weight),
    ("signed", Third::Weight),
    ("multisigned", Third::Weight),
    ("weighted", Third::Weight),
    ("multiweighted", Third::Weight),
    ("multiposweighted", Third::Weight),
];

impl Konect {
    /// Reads a comment, in small letters; `None` if it is no such header.
    ///
    /// # Errors
    /// A network of two kinds of vertices, one whose edges come and go, an unknown class.
    pub fn of(source: &Source<'_>, line: Line<'_>, comment: &str) -> Result<Option<Konect>, GraphError> {
        let words: Vec<&str> = comment.split_ascii_whitespace().collect();
        let &[format @ ("sym" | "asym" | "bip"), class] = words.as_slice() else { return Ok(None) };
        let wrong = |expected: &str| Err(source.syntax(line.number, quoted(line.text), expected.to_owned()));
        if format == "bip" {
            return wrong(
                "sym or asym: in a bipartite network both sides count their vertices from 1, and a graph has one \
                 kind of vertices; add the size of the left side to all numbers of the right one and write sym",
            );
        }
        match CLASSES.iter().find(|(name, _)| *name == class) {
            Some((_, third)) => Ok(Some(Konect { directed: format == "asym", third: *third })),
            None if class == "dynamic" => {
                wrong("a network whose edges stay: in a dynamic one lines also take edges away")
            }
            None => {
                let known: Vec<&str> = CLASSES.iter().map(|(name, _)| *name).collect();
                wrong(&format!("one of {} behind {format}", known.join(", ")))
            }
        }
    }

    /// Reads the comment after the header, `% EDGES VERTICES [VERTICES]`: its line, vertices and edges;
    /// `None` if it is no such line.
    ///
    /// # Errors
    /// Two numbers of vertices that differ.
    pub fn counts(
        source: &Source<'_>,
        line: Line<'_>,
        comment: &str,
    ) -> Result<Option<(usize, u64, u64)>, GraphError> {
        let numbers: Option<Vec<u64>> =
            comment.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[edges, vertices]) => Ok(Some((line.number, vertices, edges))),
            Some(&[edges, from, to]) if from == to => Ok(Some((line.number, from, edges))),
            Some(&[_, from, to]) => Err(source.syntax(
                line.number,
                format!("{from} and {to} vertices"),
                "the same number twice, as the first line says that there is one kind of vertices".to_owned(),
            )),
            _ => Ok(None),
        }
    }
}
