//! `weft bench start`: how long it takes until a fabric can be clocked.

use super::process;
use crate::failure::{Failure, Outcome, say};
use serde_json::{Value, json};

/// Arguments of `weft bench start`.
#[derive(clap::Args)]
pub struct Args {
    /// Fabrics (see `weft list fabrics`) or files; without any all built-in ones.
    #[arg(value_name = "FABRIC")]
    fabrics: Vec<String>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the measurement: each fabric for one cycle of its default program, twice, with an empty store of machine code.
///
/// # Errors
/// An unknown fabric.
pub fn run(args: &Args) -> Outcome {
    let all = || weft_fabric::config::FabricConfig::list().into_iter().map(String::from).collect();
    let fabrics: Vec<String> = if args.fabrics.is_empty() { all() } else { args.fabrics.clone() };
    let own = process::own()?;
    let mut rows: Vec<Value> = Vec::new();
    if !args.json {
        say(format!("{:<24} {:>12} {:>12} {:>12} {:>12}", "", "first", "CPU", "second", "CPU"))?;
    }
    for fabric in &fabrics {
        let scratch = weft_output::Scratch::new().map_err(Failure::check)?;
        let words = ["profile", fabric, "--max-cycles", "1", "--json"].map(String::from);
        let first = process::run(&own, &words, Some(scratch.path()))?;
        let second = process::run(&own, &words, Some(scratch.path()))?;
        let parts = |ended: &process::Ended| -> Result<Value, Failure> {
            let said: Value = serde_json::from_str(&ended.stdout).map_err(Failure::check)?;
            Ok(json!({ "seconds": ended.wall, "cpu_seconds": ended.cpu, "parts": said["start_seconds"] }))
        };
        rows.push(json!({ "fabric": fabric, "first": parts(&first)?, "second": parts(&second)? }));
        if !args.json {
            let [a, b] =
                [&first, &second].map(|ended| format!("{:>10.2} s {:>10.2} s", ended.wall, ended.cpu));
            say(format!("{fabric:<24} {a} {b}"))?;
        }
    }
    if args.json {
        let value = json!({ "schema": "weft-bench-start-1", "fabrics": rows });
        say(serde_json::to_string_pretty(&value).map_err(Failure::check)?)?;
    }
    Ok(())
}
