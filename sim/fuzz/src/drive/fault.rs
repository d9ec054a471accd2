//! What is wrong with a reader.

use std::fmt;

/// In which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// It panics.
    Panic,
    /// It takes too long.
    Hang,
    /// It allocates too much.
    Memory,
    /// It refuses without a sentence, or with more than a line.
    Sentence,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            What::Panic => "panic",
            What::Hang => "hang",
            What::Memory => "memory",
            What::Sentence => "sentence",
        })
    }
}

/// A fault, with an input that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// In which way.
    pub what: What,
    /// In words.
    pub text: String,
    /// Line of the source, of a panic.
    pub place: String,
    /// The input, made small unless the reader hangs on it.
    pub input: Vec<u8>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.place.is_empty() { String::new() } else { format!(" at {}", self.place) };
        let text = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        write!(f, "{}{place}: {text}", self.what)
    }
}
