//! The lines of a graph file, one at a time, and how much memory what they say may take.

use std::io::BufRead;

use super::GraphError;
use super::options::ReadOptions;
use crate::compressed::{OverLimit, Unpacked};

/// Largest number of vertices or of edges in a file: arcs are numbered by 32 bits.
pub const MAX_COUNT: u64 = 1 << 28;

/// Vertices that a file may declare without an edge at any of them.
const FREE_VERTICES: u64 = 1 << 20;

/// Further vertices that each edge justifies.
const VERTICES_PER_EDGE: u64 = 64;

/// Bytes of memory that an edge takes while a graph is built: as it was read, its two arcs, and twice their
/// rows.
const EDGE_BYTES: u64 = 48;

/// The same for its weight.
const WEIGHT_BYTES: u64 = 48;

/// Bytes of memory that a vertex takes: its label, and its places in both directions' rows.
const VERTEX_BYTES: u64 = 32;

/// Bytes that a line may have, however low the limit is.
const LEAST_LINE: u64 = 1 << 12;

/// A file's name and what it may take.
pub struct Source<'a> {
    pub path: &'a str,
    /// How it is to be read.
    pub options: &'a ReadOptions,
}

/// One line.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    pub number: usize,
    pub text: &'a str,
}

/// The lines of a file, trimmed at both ends.
pub struct Lines<'a> {
    source: &'a Source<'a>,
    from: Unpacked<'a>,
    number: usize,
    bytes: Vec<u8>,
    /// The present line is to be given once more.
    again: bool,
}

impl<'a> Lines<'a> {
    pub fn new(source: &'a Source<'a>, from: Unpacked<'a>) -> Self {
        Self { source, from, number: 0, bytes: Vec::new(), again: false }
    }

    /// The next line; `None` at the end of the file.
    pub fn next(&mut self) -> Result<Option<Line<'_>>, GraphError> {
        if !std::mem::take(&mut self.again) {
            self.bytes.clear();
            self.number += 1;
            if !self.fill()? {
                return Ok(None);
            }
        }
        let text = std::str::from_utf8(&self.bytes).map_err(|_| self.no_text())?;
        Ok(Some(Line { number: self.number, text: text.trim() }))
    }

    /// The next line that is not empty and, of those, `wanted`.
    pub fn next_of(&mut self, wanted: impl Fn(&str) -> bool) -> Result<Option<Line<'_>>, GraphError> {
        loop {
            match self.next()? {
                None => return Ok(None),
                Some(line) if !line.text.is_empty() && wanted(line.text) => break,
                Some(_) => {}
            }
        }
        // The same line once more: the loop cannot give away what it borrows again in its next turn.
        self.again = true;
        self.next()
    }

    /// The first line that is not empty, which comes once more when lines are asked for; empty if there is
    /// none.
    pub fn first(&mut self) -> Result<String, GraphError> {
        let first = self.next_of(|_| true)?.map(|line| line.text.to_owned());
        self.again = first.is_some();
        Ok(first.unwrap_or_default())
    }

    /// Reads up to the end of a line; false if nothing is left.
    fn fill(&mut self) -> Result<bool, GraphError> {
        let longest = (self.source.options.limit / 8).max(LEAST_LINE);
        let mut any = false;
        loop {
            let found = match self.from.fill_buf() {
                Ok(found) => found,
                Err(cause) => return Err(self.unreadable(cause)),
            };
            if found.is_empty() {
                return Ok(any);
            }
            any = true;
            let end = found.iter().position(|byte| *byte == b'\n');
            let line = &found[..end.unwrap_or(found.len())];
            // At once, not at the end of a line of gigabytes.
            if line.contains(&0) {
                return Err(self.no_text());
            }
            self.bytes.extend_from_slice(line);
            let taken = line.len() + usize::from(end.is_some());
            self.from.consume(taken);
            if self.bytes.len() as u64 > longest {
                return Err(self.source.syntax(
                    self.number,
                    format!("a line of more than {longest} bytes"),
                    "a line feed before that, or a larger --graph-limit".to_owned(),
                ));
            }
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn no_text(&self) -> GraphError {
        self.source.syntax(self.number, "bytes that are no text".to_owned(), "a plain text file".to_owned())
    }

    fn unreadable(&self, cause: std::io::Error) -> GraphError {
        let path = self.source.path.to_owned();
        match self.from.packing() {
            _ if OverLimit::is(&cause) => GraphError::Large { path, cause: cause.to_string() },
            Some(packing) => GraphError::Compressed { path, kind: packing.name(), cause },
            None => GraphError::Open { path, cause },
        }
    }
}

impl<'a> Source<'a> {
    pub fn syntax(&self, line: usize, found: String, expected: String) -> GraphError {
        GraphError::Syntax { path: self.path.to_owned(), line, found, expected }
    }

    /// Refuses edges, with or without weights, that take more memory than the limit.
    pub fn room(&self, line: Line<'_>, edges: usize, weighted: bool) -> Result<(), GraphError> {
        let edges = edges as u64;
        if edges > MAX_COUNT {
            let expected = format!("at most {MAX_COUNT}");
            return Err(self.syntax(line.number, "one more edge".to_owned(), expected));
        }
        let bytes = edges * (EDGE_BYTES + if weighted { WEIGHT_BYTES } else { 0 });
        if bytes <= self.options.limit {
            return Ok(());
        }
        let cause = format!(
            "its edges up to line {} take more than {} bytes of memory, the limit; --graph-limit sets another",
            line.number, self.options.limit
        );
        Err(GraphError::Large { path: self.path.to_owned(), cause })
    }

    /// Refuses more vertices than the edges of the file justify; `line` declares them.
    pub fn justified(&self, line: usize, vertices: u64, edges: u64) -> Result<(), GraphError> {
        let most = FREE_VERTICES + VERTICES_PER_EDGE * edges;
        if vertices > most {
            return Err(GraphError::Unjustified { path: self.path.to_owned(), line, vertices, edges, most });
        }
        if vertices.saturating_mul(VERTEX_BYTES) > self.options.limit {
            let cause = format!(
                "{vertices} vertices take more than {} bytes of memory, the limit; --graph-limit sets another",
                self.options.limit
            );
            return Err(GraphError::Large { path: self.path.to_owned(), cause });
        }
        Ok(())
    }

    /// Next word of a line as a whole number.
    pub fn integer<'w>(
        &self,
        line: Line<'_>,
        words: &mut impl Iterator<Item = &'w str>,
        what: &str,
    ) -> Result<u64, GraphError> {
        let word = self.word(line, words, what)?;
        word.parse().map_err(|_| self.syntax(line.number, quoted(word), format!("{what} (a whole number)")))
    }

    /// Next word of a line as a count of vertices or edges.
    pub fn count<'w>(
        &self,
        line: Line<'_>,
        words: &mut impl Iterator<Item = &'w str>,
        what: &str,
    ) -> Result<u64, GraphError> {
        let count = self.integer(line, words, what)?;
        if count > MAX_COUNT {
            return Err(self.syntax(
                line.number,
                count.to_string(),
                format!("{what} of at most {MAX_COUNT}"),
            ));
        }
        Ok(count)
    }

    /// Next word of a line as a finite number.
    pub fn real<'w>(
        &self,
        line: Line<'_>,
        words: &mut impl Iterator<Item = &'w str>,
        what: &str,
    ) -> Result<f64, GraphError> {
        let word = self.word(line, words, what)?;
        let number: Option<f64> = word.parse().ok().filter(|v: &f64| v.is_finite());
        number.ok_or_else(|| self.syntax(line.number, quoted(word), format!("{what} (a number)")))
    }

    /// Next word of a line as a vertex 1..=`vertices`, returned counted from 0.
    pub fn vertex<'w>(
        &self,
        line: Line<'_>,
        words: &mut impl Iterator<Item = &'w str>,
        vertices: u64,
    ) -> Result<u32, GraphError> {
        let vertex = self.integer(line, words, "a vertex")?;
        if vertex == 0 || vertex > vertices {
            let path = self.path.to_owned();
            return Err(GraphError::VertexRange { path, line: line.number, vertex, vertices });
        }
        Ok((vertex - 1) as u32)
    }

    /// Refuses words after the last field.
    pub fn no_more<'w>(
        &self,
        line: Line<'_>,
        words: &mut impl Iterator<Item = &'w str>,
    ) -> Result<(), GraphError> {
        match words.next() {
            None => Ok(()),
            Some(word) => Err(self.syntax(line.number, quoted(word), "the end of the line".to_owned())),
        }
    }

    fn word<'w>(
        &self,
        line: Line<'_>,
        words: &mut impl Iterator<Item = &'w str>,
        what: &str,
    ) -> Result<&'w str, GraphError> {
        words
            .next()
            .ok_or_else(|| self.syntax(line.number, "the end of the line".to_owned(), what.to_owned()))
    }

    pub fn expect_count(
        &self,
        line: usize,
        what: &'static str,
        found: u64,
        expected: u64,
    ) -> Result<(), GraphError> {
        if found == expected {
            return Ok(());
        }
        Err(GraphError::Count { path: self.path.to_owned(), line, what, found, expected })
    }

    pub fn empty(&self) -> GraphError {
        GraphError::Empty { path: self.path.to_owned() }
    }
}

/// A word of a file for a message, cut to a readable length.
pub fn quoted(word: &str) -> String {
    let short: String = word.chars().take(40).collect();
    format!("\"{}\"", short.escape_debug())
}
