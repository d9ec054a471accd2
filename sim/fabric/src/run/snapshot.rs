//! Snapshot files: a run in the middle of its work, and what it is a run of.
//!
//! ```text
//!  "WEFTSNAP"  version u32  head bytes u64  state bytes u64  | head | state | FNV-1a of all before, u64     (little-endian)
//! ```

use crate::config::FabricConfig;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thiserror::Error;
use weft_engine::BackendKind;
use weft_engine::digest::Digest;
use weft_workload::{GraphFacts, Program};

/// Version of the files that this program writes and reads.
pub const VERSION: u32 = 10;

const MAGIC: &[u8; 8] = b"WEFTSNAP";

/// Bytes before the head.
const FIXED: usize = 28;

/// Bytes of the checksum behind the state.
const SUM: usize = 8;

/// A snapshot that cannot be used, or written.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// No such file, or no permission.
    #[error("cannot read the snapshot {}: {cause}; give a file that --snapshot has written", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The folder is full or gone.
    #[error(transparent)]
    Write(#[from] weft_output::OutputError),
    /// Another kind of file.
    #[error("{} is no snapshot; give a file that --snapshot has written", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
    },
    /// A file of another program version.
    #[error(
        "the snapshot {} has format version {found} and this program reads version {VERSION}; make the snapshot anew", path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// Bytes are missing or changed.
    #[error("the snapshot {} is truncated or damaged: {cause}; make it anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How that shows.
        cause: String,
    },
    /// A run of something else.
    #[error("the snapshot {} is of a run with {saved}, and this one has {given}; {remedy}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What was saved.
        saved: String,
        /// What is asked for.
        given: String,
        /// What to change.
        remedy: &'static str,
    },
    /// The hardware's description has changed since.
    #[error(
        "the snapshot {}, made by weft {made_by}, is of hardware that differs from what this program now builds for the same configuration; make it anew",
        path.display()
    )]
    Hardware {
        /// The file.
        path: PathBuf,
        /// Version and commit of the program that wrote it.
        made_by: String,
    },
    /// The models' states do not fit.
    #[error("the state in the snapshot does not fit the models of this run; make it anew with this program")]
    State,
}

/// What a run is a run of: two runs of one identity are the same in every cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Name of the fabric.
    pub fabric: String,
    /// All keys of the configuration, as text.
    pub config: BTreeMap<String, String>,
    /// Program.
    pub workload: String,
    /// All its parameters, as text.
    pub params: BTreeMap<String, String>,
    /// What clocks the hardware.
    pub engine: String,
    /// Seed, as it stands in the run's record.
    pub seed: Option<u64>,
    /// The graph that the program works on; its digest tells it apart, not how its file is named.
    pub graph: Option<GraphFacts>,
    /// Fingerprint of the program's arrays and their first contents.
    pub data: u64,
    /// Version and commit of the program that made the run; for people only.
    pub made_by: String,
}

impl Identity {
    /// The identity of a program on a fabric.
    pub fn new(
        config: &FabricConfig,
        program: &dyn Program,
        params: BTreeMap<String, String>,
        engine: BackendKind,
        seed: Option<u64>,
        graph: Option<GraphFacts>,
    ) -> Identity {
        let mut data = Digest::default();
        for array in program.arrays() {
            data.add(array.name.as_bytes());
            [array.element, array.length, array.addr].iter().for_each(|n| data.add(&n.to_le_bytes()));
            data.add(&array.init);
        }
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
        let keys = config.to_json();
        let keys = keys.as_object().into_iter().flatten().filter(|(key, _)| *key != "name");
        Identity {
            fabric: config.name.clone(),
            config: keys.map(|(key, value)| (key.clone(), text(value))).collect(),
            workload: program.name().to_string(),
            params,
            engine: match engine {
                BackendKind::Native => "native code".into(),
                BackendKind::Interp => "the interpreter".into(),
            },
            seed,
            graph,
            data: data.value(),
            made_by: String::new(),
        }
    }

    /// The first thing in which a run differs: what this one has, what the other has, and what to change.
    fn difference(&self, other: &Identity) -> Option<(String, String, &'static str)> {
        let pair = |what: &str, a: &str, b: &str, remedy| {
            (a != b).then(|| (format!("{what}{a}"), format!("{what}{b}"), remedy))
        };
        let seed = |seed: Option<u64>| seed.map_or("no seed".into(), |seed| format!("seed {seed}"));
        let graph = |id: &Identity| match &id.graph {
            Some(g) => format!("the graph {} of digest {}", g.file.as_ref().unwrap_or(&g.name), g.digest),
            None => "its own data".into(),
        };
        let digest = |id: &Identity| id.graph.as_ref().map(|graph| graph.digest.clone());
        pair("fabric ", &self.fabric, &other.fabric, "name the same fabric")
            .or_else(|| in_maps(&self.config, &other.config, "give the same --set"))
            .or_else(|| pair("workload ", &self.workload, &other.workload, "name the same --workload"))
            .or_else(|| in_maps(&self.params, &other.params, "give the same --param and --seed"))
            .or_else(|| pair("", &self.engine, &other.engine, "give or leave out --interpreter as then"))
            .or_else(|| pair("", &seed(self.seed), &seed(other.seed), "give the same --seed"))
            .or_else(|| {
                let (saved, given) = (graph(self), graph(other));
                let given = if saved == given { "one with other contents".into() } else { given };
                let differs = self.data != other.data || digest(self) != digest(other);
                differs.then_some((saved, given, "give the same --graph"))
            })
    }
}

/// The first key with two values.
fn in_maps(
    a: &BTreeMap<String, String>,
    b: &BTreeMap<String, String>,
    remedy: &'static str,
) -> Option<(String, String, &'static str)> {
    let shown = |key: &String, value: Option<&String>| match value {
        Some(value) => format!("{key} = {value}"),
        None => format!("no {key}"),
    };
    let key = a.keys().chain(b.keys()).find(|key| a.get(*key) != b.get(*key))?;
    Some((shown(key, a.get(key)), shown(key, b.get(key)), remedy))
}

/// What stands before the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    identity: Identity,
    cycle: u64,
    hardware: u64,
}

/// A run at the beginning of a cycle.
#[derive(Clone, Debug)]
pub struct Snapshot {
    path: PathBuf,
    head: Head,
    state: Vec<u8>,
}

impl Snapshot {
    pub(super) fn new(
        path: &Path,
        identity: Identity,
        cycle: u64,
        hardware: u64,
        state: Vec<u8>,
    ) -> Snapshot {
        Snapshot { path: path.to_path_buf(), head: Head { identity, cycle, hardware }, state }
    }

    /// The cycle with which a resumed run begins.
    pub fn cycle(&self) -> u64 {
        self.head.cycle
    }

    /// Version and commit of the program that wrote it.
    pub fn made_by(&self) -> &str {
        &self.head.identity.made_by
    }

    pub(super) fn state(&self) -> &[u8] {
        &self.state
    }

    /// Reads a file and checks that it is whole.
    ///
    /// # Errors
    /// A file that cannot be read, is of another kind or version, or is damaged.
    pub fn read(path: &Path) -> Result<Snapshot, SnapshotError> {
        let bytes =
            std::fs::read(path).map_err(|cause| SnapshotError::Read { path: path.to_path_buf(), cause })?;
        if !bytes.starts_with(MAGIC) {
            return Err(SnapshotError::Kind { path: path.to_path_buf() });
        }
        let damaged =
            |cause: &str| SnapshotError::Damaged { path: path.to_path_buf(), cause: cause.to_string() };
        let number = |at: usize| bytes.get(at..at + 8).map(|b| u64::from_le_bytes(b.try_into().expect("8")));
        let version = bytes.get(8..12).ok_or_else(|| damaged("it ends in its first line"))?;
        let found = u32::from_le_bytes(version.try_into().expect("4 bytes"));
        if found != VERSION {
            return Err(SnapshotError::Version { path: path.to_path_buf(), found });
        }
        let (Some(head), Some(state)) = (number(12), number(20)) else {
            return Err(damaged("it ends in its first line"));
        };
        let whole =
            [FIXED as u64, head, state, SUM as u64].iter().try_fold(0u64, |sum, n| sum.checked_add(*n));
        if whole != Some(bytes.len() as u64) {
            let told = whole.map_or("more".into(), |n| n.to_string());
            return Err(damaged(&format!("it has {} bytes where its head tells {told}", bytes.len())));
        }
        let (body, sum) = bytes.split_at(bytes.len() - SUM);
        if sum != Digest::of(body).to_le_bytes() {
            return Err(damaged("its checksum does not fit"));
        }
        let (head, state) = body[FIXED..].split_at(head as usize);
        let head = postcard::from_bytes(head).map_err(|_| damaged("its head cannot be read"))?;
        Ok(Snapshot { path: path.to_path_buf(), head, state: state.to_vec() })
    }

    /// Writes the file; what was there before stays until the new one is whole.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self) -> Result<(), SnapshotError> {
        let head = postcard::to_stdvec(&self.head).expect("plain data is always encoded");
        let mut bytes = Vec::with_capacity(FIXED + head.len() + self.state.len() + SUM);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(head.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&(self.state.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&head);
        bytes.extend_from_slice(&self.state);
        let sum = Digest::of(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        Ok(weft_output::write(&self.path, &bytes)?)
    }

    /// Checks that the snapshot is of this run, before anything is built.
    ///
    /// # Errors
    /// The first thing in which the two differ.
    pub fn check(&self, identity: &Identity) -> Result<(), SnapshotError> {
        match self.head.identity.difference(identity) {
            None => Ok(()),
            Some((saved, given, remedy)) => {
                Err(SnapshotError::Other { path: self.path.clone(), saved, given, remedy })
            }
        }
    }

    /// Checks that the snapshot is of this hardware.
    pub(super) fn check_hardware(&self, hardware: u64) -> Result<(), SnapshotError> {
        match self.head.hardware == hardware {
            true => Ok(()),
            false => {
                let made_by = self.made_by().to_string();
                Err(SnapshotError::Hardware { path: self.path.clone(), made_by })
            }
        }
    }
}
