//! Readers of the command line as targets of `weft fuzz`, beside those of the library crates.

mod fabric;
mod snapshot;
mod sweep;
mod table;
mod words;

use crate::failure::Failure;
use weft_fuzz::{Form, Target, readers};

/// All targets, by name.
pub fn targets() -> Vec<Target> {
    let mut all = [
        readers::all(),
        fabric::targets(),
        snapshot::targets(),
        sweep::targets(),
        table::targets(),
        words::targets(),
    ]
    .concat();
    all.sort_by_key(|target| target.name);
    all
}

/// Bytes that a reader of small files may allocate whatever their size.
const SMALL: u64 = 1 << 18;

/// A reader of texts.
fn text(
    name: &'static str,
    about: &'static str,
    seeds: fn() -> Vec<Vec<u8>>,
    words: &'static str,
    read: fn(&[u8]) -> Result<(), String>,
) -> Target {
    Target { name, about, seeds, words, form: Form::Text, constant: SMALL, read }
}

/// Input that is a text, as those readers get it that take no bytes.
fn utf8(input: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(input).map_err(|cause| format!("it is no text: {cause}"))
}

/// What the command says of an error in its input.
fn said(error: impl Into<anyhow::Error>) -> String {
    Failure::input(error).to_string()
}

/// Seeds from texts.
fn texts(all: &[&str]) -> Vec<Vec<u8>> {
    all.iter().map(|text| text.as_bytes().to_vec()).collect()
}
