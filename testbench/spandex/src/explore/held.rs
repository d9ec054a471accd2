//! What L1s hold of lines, read in the states of their blocks.

use super::Kind;
use weft_explore::block::Block;

/// What a block holds of a line.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Held {
    /// The bank: it is there.
    pub here: bool,
    /// Words that a device owns, or, by the bank, that somebody does.
    pub owned: u8,
    /// Words of which a device has a shared copy; the bank: all, if the line is shared.
    pub shared: u8,
    /// The bank: devices that may have a shared copy.
    pub sharers: u64,
    /// Words; of those owned by the bank the owner.
    pub words: [u64; 2],
    /// Words that wait in a store buffer.
    pub buffered: u8,
}

/// Registers of a device of a kind, or of the bank, that are zero when nothing is under way.
pub fn entries(kind: Option<Kind>) -> &'static [&'static str] {
    match kind {
        None => &["tbe_valid", "stalled"],
        Some(Kind::Gpu) => &["cache.mshr_busy", "cache.sb_valid", "cache.s1_valid", "tu.busy", "tu.again"],
        Some(Kind::Denovo) => &[
            "cache.mshr_busy",
            "cache.sb_valid",
            "cache.wbb_valid",
            "cache.s1_valid",
            "cache.line_pinned",
            "tu.again",
        ],
        Some(Kind::Flex) => &[
            "cache.mshr_busy",
            "cache.sb_valid",
            "cache.wbb_valid",
            "cache.s1_valid",
            "cache.line_pinned",
            "cache.wt_again",
            "tu.again",
        ],
        Some(Kind::Stash) => &[
            "cache.mshr_busy",
            "cache.sb_valid",
            "cache.wbb_valid",
            "cache.walk_phase",
            "cache.seek_stage",
            "tu.again",
        ],
        Some(Kind::Mesi) => &["cache.mshr_busy", "cache.s1_valid", "tu.busy", "tu.wbb_busy", "tu.in_place"],
    }
}

/// The two words of a line.
pub fn halves(line: u64) -> [u64; 2] {
    [line & 0xffff_ffff, line >> 32]
}

/// Words of a line in an L1 that has a state of each, as all L1s here of 2 sets of 2 ways: I 00, V 01, O 10,
/// S 11.
pub fn by_words(own: &mut Block, at: u32, line: u64) -> Held {
    let set = line as u32 & 1;
    for cell in [2 * set, 2 * set + 1] {
        let mut plane = |name: &str| (own.register(at, name) >> (2 * cell) & 3) as u8;
        let (low, high) = (plane("cache.word_valid"), plane("cache.word_owned"));
        if high != 0 && own.cell(at, "cache.tags", cell) == line >> 1 {
            let words = halves(own.cell(at, "cache.lines", cell));
            return Held { owned: high & !low, shared: high & low, words, ..Held::default() };
        }
    }
    Held::default()
}

/// A line in an L1 with MESI coherence, whole.
pub(super) fn mesi(own: &mut Block, at: u32, line: u64) -> Held {
    let set = line as u32 & 1;
    for cell in [2 * set, 2 * set + 1] {
        let state = own.cell(at, "cache.states", cell);
        if state != 0 && own.cell(at, "cache.tags", cell) == line >> 1 {
            let words = halves(own.cell(at, "cache.lines", cell));
            return Held {
                owned: if state > 1 { 3 } else { 0 },
                shared: if state == 1 { 3 } else { 0 },
                words,
                ..Held::default()
            };
        }
    }
    Held::default()
}
