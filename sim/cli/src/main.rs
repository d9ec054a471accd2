//! The `weft` program: the laboratory with what comes with it, and nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    weft::Lab::new().main()
}
