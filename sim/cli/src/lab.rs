//! The program with more in it than comes with it.

use crate::sweep::built_in;
use crate::{cli, sweep::file::SweepFile};
use std::process::ExitCode;
use weft_blocks::directory::protocols::{self, ALL as PROTOCOLS, Protocol};
use weft_blocks::registry::BlockInfo;
use weft_fabric::config::{self, FabricConfig, File};
use weft_fabric::family::spandex::devices::{self, DeviceKind};
use weft_fabric::family::{self, FamilyKeys, Published};
use weft_lists::clash;
use weft_workload::trace::BUNDLED;
use weft_workload::{WorkloadInfo, programs};

/// The laboratory: the blocks, protocols, programs, families of fabrics, fabrics and sweeps that come with it, and those of your own crate. Every command finds
/// the latter by their names as it finds the former: `list`, `run`, `sim`, `export`, `area`, `cosim`, `sweep` and the others.
///
/// `weft new my-lab` writes a crate with one of each. Its `main.rs` is no more than this:
///
/// ```no_run
/// use std::process::ExitCode;
///
/// const RING: &str = r#"
/// about = "eight GPUs with REC directories"
/// gpus = 8
/// "#;
///
/// fn main() -> ExitCode {
///     weft::Lab::new().fabric("ring", RING).main()
/// }
/// ```
///
/// A name that is there already, or twice, is refused with status 2 before anything else is done, and so is a fabric that cannot be built.
#[derive(Default)]
pub struct Lab {
    blocks: Vec<BlockInfo>,
    programs: Vec<WorkloadInfo>,
    protocols: Vec<Protocol>,
    devices: Vec<DeviceKind>,
    families: Vec<Published>,
    fabrics: Vec<File>,
    sweeps: Vec<File>,
}

impl Lab {
    /// With what comes with it.
    pub fn new() -> Lab {
        Lab::default()
    }

    /// Adds a block: for `list blocks`, `sim`, `export`, `area`, `cosim`, `host`.
    #[must_use]
    pub fn block(mut self, block: BlockInfo) -> Lab {
        self.blocks.push(block);
        self
    }

    /// Adds a program: for `list workloads`, `run --workload` and sweeps.
    #[must_use]
    pub fn program(mut self, program: WorkloadInfo) -> Lab {
        self.programs.push(program);
        self
    }

    /// Adds a protocol of the directory family: key `protocol` of its fabrics names it, and its directory slices, if it has any, are blocks.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Lab {
        self.protocols.push(protocol);
        self
    }

    /// Adds a kind of device on the Spandex LLC: key `devices` of a fabric of family `spandex` puts some in the place of its L1s, as in
    /// `--set devices=mine@0`.
    #[must_use]
    pub fn device(mut self, kind: DeviceKind) -> Lab {
        self.devices.push(kind);
        self
    }

    /// Adds a family of fabrics by its keys: a fabric file names it by `family = "..."`.
    #[must_use]
    pub fn family<T: family::Family + Default>(mut self) -> Lab {
        self.families.push(FamilyKeys::of::<T>);
        self
    }

    /// Adds a fabric: its name, and the text of its file, which `include_str!` brings.
    #[must_use]
    pub fn fabric(mut self, name: &'static str, text: &'static str) -> Lab {
        self.fabrics.push((name, text));
        self
    }

    /// Adds a sweep: its name, and the text of its file.
    #[must_use]
    pub fn sweep(mut self, name: &'static str, text: &'static str) -> Lab {
        self.sweeps.push((name, text));
        self
    }

    /// Does what the command line says.
    pub fn main(self) -> ExitCode {
        match self.install() {
            Ok(()) => cli::run(),
            Err(problem) => {
                eprintln!("weft: {problem}");
                ExitCode::from(2)
            }
        }
    }

    /// Makes everything known by name.
    fn install(self) -> Result<(), String> {
        let families = self.families.iter().map(|keys| keys().family().name()).collect::<Vec<_>>();
        let own = |files: &[File]| files.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        let (fabrics, sweeps) = (own(&self.fabrics), own(&self.sweeps));
        let blocks = self.blocks.iter().map(|block| block.name).collect::<Vec<_>>();
        let programs = self.programs.iter().map(|program| program.name).collect::<Vec<_>>();
        let protocols = self.protocols.iter().map(|protocol| protocol.name()).collect::<Vec<_>>();
        free("protocol", clash(PROTOCOLS.iter().map(|protocol| protocol.name()), &protocols))?;
        if !self.protocols.is_empty() {
            // Before the blocks are asked for: its slices are among them.
            protocols::install(self.protocols);
        }
        let known_blocks = weft_catalog::built_in();
        free("block", clash([], &known_blocks.iter().map(|block| block.name).collect::<Vec<_>>()))?;
        let traces = BUNDLED.iter().map(|trace| trace.name);
        // A command takes a block or a fabric by the same word.
        let designs = || known_blocks.iter().map(|block| block.name).chain(config::built_in());
        free("block", clash(designs(), &blocks))?;
        free("fabric", clash(designs().chain(blocks.iter().copied()), &fabrics))?;
        free("program", clash(programs::BUILT_IN.iter().map(|info| info.name).chain(traces), &programs))?;
        free("family", clash(family::built_in(), &families))?;
        let devices = self.devices.iter().map(|kind| kind.name).collect::<Vec<_>>();
        free("device", clash([], &devices))?;
        free("sweep", clash(built_in::BUILT_IN.iter().map(|(name, _)| *name), &sweeps))?;
        weft_catalog::install(self.blocks);
        programs::install(self.programs);
        family::install(self.families);
        devices::install(self.devices);
        config::install(self.fabrics);
        built_in::install(self.sweeps);
        for name in fabrics {
            let fabric = FabricConfig::load(name).and_then(|fabric| fabric.validate());
            fabric.map_err(|problem| problem.to_string())?;
        }
        for name in sweeps {
            SweepFile::load(name).map_err(|problem| format!("{problem:#}"))?;
        }
        Ok(())
    }
}

/// Refuses a name that is there already.
fn free(what: &str, clash: Option<&str>) -> Result<(), String> {
    clash.map_or(Ok(()), |name| {
        Err(format!("there is more than one {name}; give the {what} that you add another name"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sentence about a laboratory that cannot be.
    fn refused(lab: Lab) -> String {
        lab.install().expect_err("refused")
    }

    #[test]
    fn a_name_is_there_once() {
        let fifo = weft_catalog::built_in()[0];
        let fir = programs::BUILT_IN.iter().find(|info| info.name == "fir").expect("built in");
        assert_eq!(
            refused(Lab::new().block(fifo)),
            "there is more than one fifo; give the block that you add another name"
        );
        let lab = Lab::new().fabric("mine", "").fabric("mine", "");
        assert_eq!(refused(lab), "there is more than one mine; give the fabric that you add another name");
        for (lab, what) in [
            (Lab::new().fabric("fifo", ""), "fabric"),
            (Lab::new().program(*fir), "program"),
            (Lab::new().protocol(Protocol::HMG), "protocol"),
            (Lab::new().family::<weft_fabric::family::tsm::TsmKeys>(), "family"),
            (Lab::new().sweep("rec-smoke", ""), "sweep"),
        ] {
            assert!(refused(lab).contains(&format!("the {what} that you add")));
        }
    }
}
