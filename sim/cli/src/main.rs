//! The `weft` program: the laboratory with what comes with it, and nothing else.

use std::process::ExitCode;
use weft_fuzz::memory::Counting;

/// Counts what readers allocate, for `weft fuzz`.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    weft::Lab::new().main()
}
