//! A reader, and what is known of its format.

/// What the bytes of a part are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words, numbers, lines.
    Text,
    /// Fields: numbers of variable length as postcard writes them, and little-endian ones.
    Fields,
    /// Fields that are written again from the others: lengths, counts, checksums. They are changed by damage
    /// only.
    Derived,
}

/// A part of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What its bytes are.
    pub kind: Kind,
    /// Its bytes, unpacked.
    pub bytes: Vec<u8>,
}

impl Part {
    /// A part that is a text.
    pub fn text(bytes: impl Into<Vec<u8>>) -> Part {
        Part { kind: Kind::Text, bytes: bytes.into() }
    }

    /// A part that holds fields.
    pub fn fields(bytes: impl Into<Vec<u8>>) -> Part {
        Part { kind: Kind::Fields, bytes: bytes.into() }
    }
}

/// How an input is taken apart, and put together so that lengths and checksums fit.
#[derive(Clone, Copy)]
pub enum Form {
    /// A text.
    Text,
    /// A file with parts.
    Parts {
        /// Takes a sound file apart; none if it cannot be.
        open: fn(&[u8]) -> Option<Vec<Part>>,
        /// Puts parts together.
        close: fn(&[Part]) -> Vec<u8>,
    },
}

impl Form {
    /// The parts of an input; of one that cannot be taken apart none.
    pub fn open(&self, input: &[u8]) -> Option<Vec<Part>> {
        match self {
            Form::Text => Some(vec![Part::text(input)]),
            Form::Parts { open, .. } => open(input),
        }
    }

    /// The input of these parts.
    pub fn close(&self, parts: &[Part]) -> Vec<u8> {
        match self {
            Form::Text => parts.iter().flat_map(|part| &part.bytes).copied().collect(),
            Form::Parts { close, .. } => close(parts),
        }
    }
}

/// A reader.
#[derive(Clone, Copy)]
pub struct Target {
    /// Name.
    pub name: &'static str,
    /// What is read, in a sentence.
    pub about: &'static str,
    /// Sound inputs, made by the format's writer or from files of the repository; at least one.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words of the format that not every seed has, two blanks between them.
    pub words: &'static str,
    /// How inputs are made.
    pub form: Form,
    /// Bytes that the reader may allocate whatever the size of the input: buffers, defaults, what a limit
    /// allows.
    pub constant: u64,
    /// The reader: what it says of an input that it refuses.
    pub read: fn(&[u8]) -> Result<(), String>,
}
