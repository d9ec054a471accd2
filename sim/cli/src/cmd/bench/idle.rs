//! `weft bench idle`: cost grows with activity, not with size.

use crate::failure::{Failure, Outcome, say};
use serde_json::json;
use weft_tools::idle::{IdleCost, idle_cost};

/// Arguments of `weft bench idle`.
#[derive(clap::Args)]
pub struct Args {
    /// Busy CUs of each GPU.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=32))]
    busy: u32,
    /// Idle CUs of each GPU, then twice as many.
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=32))]
    idle: u32,
    /// Clock cycles timed.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    cycles: u64,
    /// Runs; the fastest counts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeat: u32,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the measurement.
///
/// # Errors
/// Parameters that the fabric refuses.
pub fn run(args: &Args) -> Outcome {
    let measure = |idle| idle_cost(args.busy, idle, args.cycles, args.repeat).map_err(Failure::input);
    let sizes = [measure(args.idle)?, measure(2 * args.idle)?];
    let ratio = sizes[1].cycles_per_second / sizes[0].cycles_per_second;
    if args.json {
        let value = json!({
            "schema": "weft-bench-idle-1",
            "cycles": args.cycles,
            "busy_cus": args.busy,
            "sizes": sizes,
            "ratio": ratio,
        });
        return say(serde_json::to_string_pretty(&value).map_err(Failure::check)?);
    }
    say(format!(
        "{:>9} {:>9} {:>7} {:>19} {:>14}",
        "busy CUs", "idle CUs", "units", "clocked per cycle", "cycles/s"
    ))?;
    for IdleCost { busy, idle, units, clocked_per_cycle, cycles_per_second, .. } in &sizes {
        say(format!("{busy:>9} {idle:>9} {units:>7} {clocked_per_cycle:>19.1} {cycles_per_second:>14.0}"))?;
    }
    say(format!("with twice the idle CUs {:.1} % of the speed", 100.0 * ratio))
}
