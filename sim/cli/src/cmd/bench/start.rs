//! `weft bench start`: how long it takes until a fabric can be clocked, and how much memory.

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
        say(format!(
            "{:<24} {:>12} {:>12} {:>12} {:>12} {:>9}",
            "", "first", "CPU", "second", "CPU", "memory"
        ))?;
    }
    for fabric in &fabrics {
        let scratch = weft_output::Scratch::new().map_err(Failure::check)?;
        let words = ["profile", fabric, "--max-cycles", "1", "--json"].map(String::from);
        let first = process::run(&own, &words, Some(scratch.path()))?;
        let second = process::run(&own, &words, Some(scratch.path()))?;
        let said = |ended: &process::Ended| serde_json::from_str(&ended.stdout).map_err(Failure::check);
        let told: [Value; 2] = [said(&first)?, said(&second)?];
        let parts = |ended: &process::Ended, said: &Value| json!({ "seconds": ended.wall, "cpu_seconds": ended.cpu, "parts": said["start_seconds"] });
        let memory = told[1]["memory_bytes"].as_u64().unwrap_or(0);
        rows.push(json!({
            "fabric": fabric,
            "first": parts(&first, &told[0]),
            "second": parts(&second, &told[1]),
            "memory_bytes": memory,
        }));
        if !args.json {
            let [a, b] =
                [&first, &second].map(|ended| format!("{:>10.2} s {:>10.2} s", ended.wall, ended.cpu));
            say(format!("{fabric:<24} {a} {b} {:>9}", crate::memory::words(memory)))?;
        }
    }
    if args.json {
        let value = json!({ "schema": "weft-bench-start-1", "fabrics": rows });
        say(serde_json::to_string_pretty(&value).map_err(Failure::check)?)?;
    }
    Ok(())
}
