//! A laboratory of multi-GPU cache coherence: what comes with Weft, and what is added here.

mod peak;
mod saxpy;
mod uncached;

use std::process::ExitCode;

/// The small Spandex system with an uncached device in the place of a CPU core's L1.
const UNCACHED_SOC: &str = include_str!("../fabrics/uncached-soc.toml");

fn main() -> ExitCode {
    weft::Lab::new()
        .block(peak::INFO)
        .device(uncached::KIND)
        .program(saxpy::INFO)
        .fabric("uncached-soc", UNCACHED_SOC)
        .main()
}
