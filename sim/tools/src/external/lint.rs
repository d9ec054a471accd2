//! What each tool warns of in a set of Verilog files.

use super::{Tool, ToolError, run, yosys};
use std::path::{Path, PathBuf};
use std::process::Output;

/// The warnings and errors of `verilator --lint-only -Wall`, one line each; empty means clean.
///
/// # Errors
/// [`ToolError`] if Verilator is missing or failed without naming a warning or an error.
pub fn verilator_lint(top: &str, files: &[PathBuf]) -> Result<Vec<String>, ToolError> {
    let mut command = Tool::Verilator.command()?;
    command.args(["--lint-only", "-Wall", "--quiet-stats", "--top-module", top]).args(files);
    complaints(run(&mut command), |line| line.starts_with("%Warning") || line.starts_with("%Error"))
}

/// The warnings and errors of `iverilog -g2005 -Wall`, one line each; empty means clean.
///
/// # Errors
/// [`ToolError`] if Icarus is missing or failed without a message.
pub fn iverilog_lint(top: &str, files: &[PathBuf]) -> Result<Vec<String>, ToolError> {
    let mut command = Tool::Iverilog.command()?;
    command.args(["-g2005", "-Wall", "-tnull", "-s", top]).args(files);
    complaints(run(&mut command), |line| !line.trim().is_empty())
}

/// The warnings and errors of Yosys while it reads, elaborates and checks the design, one line each; empty means clean.
///
/// # Errors
/// [`ToolError`] if Yosys is missing or failed without a message.
pub fn yosys_lint(top: &str, files: &[PathBuf]) -> Result<Vec<String>, ToolError> {
    yosys_read(top, files).map(|read| read.complaints)
}

/// What Yosys makes of a design before any mapping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct YosysRead {
    /// Warnings and errors, one line each.
    pub complaints: Vec<String>,
    /// Memories in the whole design, each instance counted; none if Yosys ended with an error.
    pub memories: u64,
    /// Their bits. What Yosys holds as single flip-flops is not among them.
    pub memory_bits: u64,
}

/// Reads, elaborates and checks a design with Yosys and collects its memories.
///
/// # Errors
/// [`ToolError`] if Yosys is missing or failed without a message.
pub fn yosys_read(top: &str, files: &[PathBuf]) -> Result<YosysRead, ToolError> {
    let names: Vec<String> = files.iter().map(|f| format!("\"{}\"", f.display())).collect();
    // Ports are not widened (as `memory` does): that rounds the number of rows up.
    let script = format!(
        "read_verilog {}; hierarchy -check -top {top}; proc; opt_clean; check; memory_dff; memory_collect; opt_clean; memory_unpack; stat -json",
        names.join(" ")
    );
    let result = yosys(&script, Path::new("."));
    let said = result.as_ref().map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    let complaints = complaints(result, |line| line.contains("Warning:") || line.contains("ERROR:"))?;
    // The report is a value in the middle of the log; its first line is a lone brace.
    let report = said.find("\n{").map_or("", |at| &said[at..]);
    let report = serde_json::Deserializer::from_str(report).into_iter::<serde_json::Value>().next();
    let design = report.and_then(Result::ok).map(|r| r["design"].clone()).unwrap_or_default();
    let number = |key: &str| design[key].as_u64().unwrap_or_default();
    Ok(YosysRead { complaints, memories: number("num_memories"), memory_bits: number("num_memory_bits") })
}

fn complaints(
    result: Result<Output, ToolError>,
    is_complaint: impl Fn(&str) -> bool,
) -> Result<Vec<String>, ToolError> {
    let text = match &result {
        Ok(output) => [&output.stdout[..], b"\n", &output.stderr[..]].concat(),
        Err(ToolError::Failed { message, .. }) => message.clone().into_bytes(),
        Err(_) => return result.map(|_| Vec::new()),
    };
    let found: Vec<String> =
        String::from_utf8_lossy(&text).lines().filter(|l| is_complaint(l)).map(str::to_owned).collect();
    match result {
        Err(failure) if found.is_empty() => Err(failure),
        _ => Ok(found),
    }
}
