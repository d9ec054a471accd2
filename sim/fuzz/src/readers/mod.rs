//! The targets of the library crates, a file for each kind of input.

mod events;
mod graph;
mod ledger;
mod litmus;
mod recording;
mod trace;
mod wtrb;

use crate::{Form, Target};

/// Bytes that a reader of small files may allocate whatever their size: a buffer or two, and a sentence.
const SMALL: u64 = 1 << 18;

/// All of them, by name.
pub fn all() -> Vec<Target> {
    let mut all = [
        events::targets(),
        graph::targets(),
        litmus::targets(),
        recording::targets(),
        ledger::targets(),
        trace::targets(),
    ]
    .concat();
    all.sort_by_key(|target| target.name);
    all
}

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

/// Seeds from texts.
fn texts(all: &[&str]) -> Vec<Vec<u8>> {
    all.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Bytes packed by gzip.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut out, bytes).and_then(|()| out.finish()).unwrap_or_default()
}

/// What gzip has packed; none if it is not that, or more than a mutated input can be.
pub fn gunzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let from = flate2::read::MultiGzDecoder::new(bytes);
    std::io::Read::take(from, 1 << 20).read_to_end(&mut out).ok()?;
    Some(out)
}

use std::io::Read as _;
