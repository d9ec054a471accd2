//! `weft report`: results files as one page of HTML that needs no network.

use super::why::LogMemory;
use crate::failure::{Failure, Outcome, say};
use crate::report::{Input, Limits, page};
use anyhow::anyhow;
use std::path::PathBuf;
use weft_output::Output;

/// Arguments of `weft report`.
#[derive(clap::Args)]
pub struct Args {
    /// Results of `weft run --json`, tables of `weft sweep`, logs of `weft run --events`, any number of each.
    #[arg(required = true, value_name = "RUN")]
    inputs: Vec<PathBuf>,
    /// The page.
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
    /// Line whose life is shown, by address (`0x1f40`) or element of an array (`rank[12]`); may be given several times.
    #[arg(long = "line", value_name = "ADDRESS")]
    lines: Vec<String>,
    /// Further lines whose life is shown: those from which copies were taken most often.
    #[arg(long, value_name = "N", default_value_t = 8)]
    most: usize,
    /// Moments of each line, the newest ones; those that led to a copy being taken away are shown beside them.
    #[arg(long, value_name = "N", default_value_t = 250)]
    last: usize,
    /// Shows lives up to this cycle [default: the end].
    #[arg(long, value_name = "CYCLE")]
    at: Option<u64>,
    #[command(flatten)]
    memory: LogMemory,
}

/// Runs the verb.
///
/// # Errors
/// A file that is none of these, is damaged or of another version; a page that cannot be written.
pub fn run(args: &Args) -> Outcome {
    let mut inputs = Vec::new();
    for path in &args.inputs {
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        inputs.push((name, Input::read(path, &args.memory).map_err(Failure::Input)?));
        if Output::same(path, &args.out) {
            return Err(Failure::input(anyhow!(
                "--out {} is also given to be read; give the page a file of its own",
                path.display()
            )));
        }
    }
    if !args.lines.is_empty() && !inputs.iter().any(|(_, input)| matches!(input, Input::Log(_))) {
        return Err(Failure::input(anyhow!(
            "--line {} needs an event log, and none is given; add one that weft run --events has written",
            args.lines[0]
        )));
    }
    let limits = Limits {
        lines: args.most,
        moments: args.last,
        wanted: args.lines.clone(),
        at: args.at.unwrap_or(u64::MAX),
    };
    let text = page(&inputs, &limits).map_err(Failure::Input)?;
    let written = weft_output::write(&args.out, text.as_bytes());
    written.map_err(|cause| Failure::input(anyhow!("--out {cause}")))?;
    let path = args.out.display();
    say(format!("report: {path}, {} kB, opened by any browser", text.len().div_ceil(1000)))
}
