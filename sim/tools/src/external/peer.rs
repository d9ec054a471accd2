//! The peer that the benchmark builds on demand.

use super::{ToolError, run};
use std::path::Path;
use std::process::Command;

/// Builds (the first time: some two minutes) and runs the rust-hdl directory of `sim/tools/peers/rust-hdl` for a number
/// of cycles. The result is one line of JSON: `name`, `cycles`, `hits`, `evictions`, `wall_seconds`,
/// `cycles_per_second`.
///
/// # Errors
/// [`ToolError`]: cargo is missing, the build failed, or the directory's decisions differ from its plain model.
pub fn rust_hdl_peer(cycles: u64) -> Result<String, ToolError> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/rust-hdl");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["run", "--release", "--quiet", "--locked", "--manifest-path"])
        .arg(package.join("Cargo.toml"));
    command.arg("--target-dir").arg(package.join("target"));
    command.arg("--").arg(cycles.to_string());
    let output = run(&mut command)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
