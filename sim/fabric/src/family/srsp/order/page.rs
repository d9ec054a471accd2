//! Memory as the kernel found it, and what was written since.

use super::LINE;
use super::word::Word;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Lines of a page.
pub const PAGE: u64 = 64;

/// Neighbouring lines: bytes at the beginning of the kernel, in limbs, and words written since, by their number in the page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Page {
    pub base: Vec<u64>,
    pub words: BTreeMap<u16, Word>,
}

impl Page {
    /// All zero.
    pub fn new() -> Page {
        Page { base: vec![0; (PAGE * LINE / 8) as usize], words: BTreeMap::new() }
    }

    /// A byte of it at the kernel's beginning.
    pub fn byte(&self, at: u64) -> u8 {
        self.base[(at / 8) as usize].to_le_bytes()[(at % 8) as usize]
    }
}
