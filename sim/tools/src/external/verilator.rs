//! Building a compiled simulation with Verilator.

use super::{Tool, ToolError, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What Verilator is told so that its simulation is as fast as it can be: no assertions, no randomised initial values,
/// no tracing.
pub const VERILATOR_FLAGS: [&str; 9] =
    ["--cc", "--exe", "--build", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert"];

/// What the C++ build is told. All code that runs in a cycle is compiled at `-O3`; `-CFLAGS -O3` would do so too, but
/// for the code that runs once as well, and not for the driver, where the makefile's own `-Os` comes last. Without the
/// last two the wheel's makefile includes its precompiled header as if it were an object file, and every build whose
/// C++ is split into several files fails.
pub const VERILATOR_MAKE_FLAGS: [&str; 5] =
    ["OPT_FAST=-O3", "OPT_GLOBAL=-O3", "OPT_SLOW=-O1", "CFG_CXXFLAGS_PCH_I=-include", "CFG_GCH_IF_CLANG="];

/// Objects of Verilator's run-time library, the same for every design built with these flags.
const RUNTIME_OBJECTS: [&str; 2] = ["verilated.o", "verilated_threads.o"];

/// One simulation to build: the class of the model is `V` and the top module's name.
#[derive(Clone, Debug)]
pub struct VerilatorBuild {
    /// Name of the top module.
    pub top: String,
    /// Verilog files.
    pub sources: Vec<PathBuf>,
    /// C++ file with `main`, which includes `V<top>.h`.
    pub driver: PathBuf,
    /// Folder for everything that is generated; made if it does not exist.
    pub folder: PathBuf,
    /// C++ files are split at about this many statements, so that they compile in parallel; `None` keeps one file,
    /// which is faster to run.
    pub split: Option<usize>,
    /// Modules of at most about this many statements are dissolved in their parent; `None`: all are, as Verilator does at `-O3`. A fabric whose
    /// blocks stay modules is half as much C++.
    pub inline: Option<u32>,
    /// Modules that are verilated and compiled by themselves, once each however many instances there are.
    pub blocks: Vec<String>,
    /// Compiler processes at a time.
    pub jobs: usize,
    /// Level at which the C++ is optimised, 0..3: low for short runs, whose time is the compiler's.
    pub optimise: u32,
}

/// A built simulation.
#[derive(Clone, Debug)]
pub struct VerilatorProgram {
    /// The executable.
    pub path: PathBuf,
    /// Time for Verilator and the C++ compiler together.
    pub build_time: Duration,
}

impl VerilatorBuild {
    /// A build of `sources` into `folder` with one C++ file and two compiler processes.
    pub fn new(
        top: impl Into<String>,
        sources: Vec<PathBuf>,
        driver: impl Into<PathBuf>,
        folder: impl Into<PathBuf>,
    ) -> Self {
        Self {
            top: top.into(),
            sources,
            driver: driver.into(),
            folder: folder.into(),
            split: None,
            inline: None,
            blocks: Vec::new(),
            jobs: 2,
            optimise: 3,
        }
    }

    /// Runs Verilator and the C++ compiler.
    ///
    /// Verilator's run-time library, most of the time of a small build, is compiled by the first build and kept beside
    /// the tool for the next ones.
    ///
    /// # Errors
    /// [`ToolError`]: Verilator is missing, a file cannot be written, or a message of Verilator or of the compiler.
    pub fn build(&self) -> Result<VerilatorProgram, ToolError> {
        let start = Instant::now();
        let verilator = Tool::Verilator.find()?;
        fs::create_dir_all(&self.folder).map_err(|cause| ToolError::File {
            path: self.folder.clone(),
            action: "created",
            cause,
        })?;
        let cache = runtime_cache(&verilator);
        let ready = cache.as_ref().is_some_and(|cache| copy_runtime(cache, &self.folder));
        run(&mut self.command(ready)?)?;
        if let Some(cache) = cache.filter(|c| !c.exists()) {
            keep_runtime(&self.folder, &cache);
        }
        Ok(VerilatorProgram { path: self.folder.join(format!("V{}", self.top)), build_time: start.elapsed() })
    }

    fn command(&self, runtime_is_ready: bool) -> Result<std::process::Command, ToolError> {
        let absolute = |path: &PathBuf| {
            std::path::absolute(path).map_err(|cause| ToolError::File {
                path: path.clone(),
                action: "read",
                cause,
            })
        };
        let mut command = Tool::Verilator.command()?;
        let mut make_flags = VERILATOR_MAKE_FLAGS.map(str::to_owned).to_vec();
        if self.optimise < 3 {
            for (flag, name) in make_flags.iter_mut().zip(["OPT_FAST", "OPT_GLOBAL", "OPT_SLOW"]) {
                // Code that runs once is not worth any optimisation in a short run.
                *flag = format!("{name}=-O{}", if name == "OPT_SLOW" { 0 } else { self.optimise });
            }
        }
        if runtime_is_ready {
            // The generated makefile is newer than the objects; `-o` keeps make from compiling them for that.
            make_flags.extend(RUNTIME_OBJECTS.map(|name| format!("-o {name}")));
        }
        command.args(VERILATOR_FLAGS).args(["-MAKEFLAGS", &make_flags.join(" ")]);
        command.args(["--quiet-stats", "-Wno-fatal", "--top-module", &self.top]);
        command.arg("-j").arg(self.jobs.max(1).to_string()).arg("--Mdir").arg(&self.folder);
        if let Some(statements) = self.split {
            command.arg("--output-split").arg(statements.to_string());
        }
        if let Some(statements) = self.inline {
            command.arg("--inline-mult").arg(statements.to_string());
        }
        if !self.blocks.is_empty() {
            let list = self.folder.join("blocks.vlt");
            let lines: String = self.blocks.iter().map(|b| format!("hier_block -module \"{b}\"\n")).collect();
            fs::write(&list, format!("`verilator_config\n{lines}")).map_err(|cause| ToolError::File {
                path: list.clone(),
                action: "written",
                cause,
            })?;
            command.arg("--hierarchical").arg(absolute(&list)?);
        }
        for source in &self.sources {
            command.arg(absolute(source)?);
        }
        command.arg(absolute(&self.driver)?);
        Ok(command)
    }
}

/// Where the run-time library's objects are kept: only beside the pinned tool of `scripts/setup`, whose version cannot
/// change under them.
fn runtime_cache(verilator: &Path) -> Option<PathBuf> {
    let environment = verilator.parent()?.parent()?;
    environment.join(".installed-requirements").is_file().then(|| environment.join("verilator-runtime"))
}

/// Copies the objects into a build folder; says whether all are there. Without them make compiles them, so a failure
/// here costs time only.
fn copy_runtime(cache: &Path, folder: &Path) -> bool {
    RUNTIME_OBJECTS.iter().all(|name| fs::copy(cache.join(name), folder.join(name)).is_ok())
}

/// Keeps a build's objects. The folder appears under its name at once and complete, so builds that run at the same time
/// see all of it or nothing.
fn keep_runtime(folder: &Path, cache: &Path) {
    let partial = cache.with_extension(format!("partial-{}", std::process::id()));
    let copied = fs::create_dir_all(&partial).and_then(|()| {
        RUNTIME_OBJECTS
            .iter()
            .try_for_each(|name| fs::copy(folder.join(name), partial.join(name)).map(|_| ()))
    });
    if copied.and_then(|()| fs::rename(&partial, cache)).is_err() {
        let _ = fs::remove_dir_all(&partial);
    }
}
