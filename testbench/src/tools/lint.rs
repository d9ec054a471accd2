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
    let names: Vec<String> = files.iter().map(|f| format!("\"{}\"", f.display())).collect();
    let script =
        format!("read_verilog {}; hierarchy -check -top {top}; proc; opt_clean; check", names.join(" "));
    complaints(yosys(&script, Path::new(".")), |line| line.contains("Warning:") || line.contains("ERROR:"))
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
