//! The lines of a graph file.

use std::io::Read;

use super::GraphError;

/// Largest number of vertices or of edges in a file: beyond it the rows alone would fill gigabytes.
pub const MAX_COUNT: u64 = 1 << 28;

/// A file's text with its name, for messages.
pub struct Source<'a> {
    pub path: &'a str,
    bytes: &'a [u8],
}

/// One line.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    pub number: usize,
    pub text: &'a str,
}

/// Unpacks gzip and xz data, known by their first bytes; other data stay as they are.
pub fn decompress(path: &str, bytes: Vec<u8>) -> Result<Vec<u8>, GraphError> {
    let mut text = Vec::new();
    let (kind, done) = if bytes.starts_with(&[0x1f, 0x8b]) {
        ("gzip", flate2::read::MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut text))
    } else if bytes.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
        ("xz", xz2::read::XzDecoder::new_multi_decoder(bytes.as_slice()).read_to_end(&mut text))
    } else {
        return Ok(bytes);
    };
    match done {
        Ok(_) => Ok(text),
        Err(cause) => Err(GraphError::Compressed { path: path.to_owned(), kind, cause }),
    }
}

impl<'a> Source<'a> {
    pub fn new(path: &'a str, bytes: &'a [u8]) -> Self {
        Self { path, bytes }
    }

    /// All lines, trimmed at both ends; the newline at the end of the file opens no further line.
    pub fn lines(&self) -> impl Iterator<Item = Result<Line<'a>, GraphError>> + '_ {
        let body = self.bytes.strip_suffix(b"\n").unwrap_or(self.bytes);
        let count = if self.bytes.is_empty() { 0 } else { usize::MAX };
        body.split(|&b| b == b'\n').take(count).enumerate().map(|(i, raw)| {
            let text = std::str::from_utf8(raw).map_err(|_| {
                self.syntax(i + 1, "bytes that are no text".to_owned(), "a plain text file".to_owned())
            })?;
            Ok(Line { number: i + 1, text: text.trim() })
        })
    }

    /// First line that is not empty, trimmed; empty if there is none or it is no text.
    pub fn first_line(&self) -> &'a str {
        self.lines().map_while(Result::ok).map(|l| l.text).find(|t| !t.is_empty()).unwrap_or("")
    }

    pub fn syntax(&self, line: usize, found: String, expected: String) -> GraphError {
        GraphError::Syntax { path: self.path.to_owned(), line, found, expected }
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
