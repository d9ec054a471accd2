//! Faults that can be put into the blocks, by name, and a system that shows each.

use super::Config;
use super::Kind::{self, Denovo, Gpu, Mesi};
use weft_spandex::hmesi::client::ClientInject;
use weft_spandex::hmesi::gpu_l2::GpuL2Fault;
use weft_spandex::hmesi::mesi_llc::MesiLlcFault;
use weft_spandex_bench::explore::mixes::ops;

/// Faults put into the blocks on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Faults {
    /// Of `hmesi-client`.
    pub client: ClientInject,
    /// Of `gpu-l2`.
    pub l2: GpuL2Fault,
    /// Of `mesi-llc`.
    pub l3: MesiLlcFault,
}

/// No fault.
pub const NONE: Faults = Faults { client: ClientInject::None, l2: GpuL2Fault::None, l3: MesiLlcFault::None };

/// Every fault by its name, `BLOCK:FAULT`.
pub fn named() -> Vec<(String, Faults)> {
    let name = |block: &str, word: &str| format!("{block}:{word}");
    let clients = ClientInject::WORDS.iter();
    let clients =
        clients.map(|(client, word)| (name("hmesi-client", word), Faults { client: *client, ..NONE }));
    let l2s = GpuL2Fault::WORDS.iter().map(|(l2, word)| (name("gpu-l2", word), Faults { l2: *l2, ..NONE }));
    let l3s =
        MesiLlcFault::WORDS.iter().map(|(l3, word)| (name("mesi-llc", word), Faults { l3: *l3, ..NONE }));
    clients.chain(l2s).chain(l3s).filter(|(_, faults)| *faults != NONE).collect()
}

/// A system in which a fault is seen.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The fault's name.
    pub name: &'static str,
    /// Actions of the shortest way to it.
    pub actions: usize,
    /// The system, with the fault.
    pub config: Config,
    /// What goes wrong: some of these words.
    pub words: &'static [&'static str],
}

type Seen = (&'static str, usize, Config, &'static [&'static str]);

const CPU: &[Kind] = &[Mesi, Gpu];
const CPUS: &[Kind] = &[Mesi, Mesi, Gpu];
const OWNER: &[Kind] = &[Mesi, Denovo];

/// A system whose devices issue lists from their beginning, each whole; without one a device issues nothing.
fn doing(devices: &[Kind], lists: &[&str]) -> Config {
    let mut config = Config::of(devices);
    config.cores.alphabets =
        lists.iter().map(|list| if list.is_empty() { Vec::new() } else { ops(list) }).collect();
    config.cores.budgets = config.cores.alphabets.iter().map(Vec::len).collect();
    config.cores.in_order = true;
    config
}

/// The L3 has a way for every line.
fn wide(config: Config) -> Config {
    Config { l3: (1, 4), ..config }
}

/// The L2 has a way for every line.
fn wide_l2(mut config: Config) -> Config {
    config.cores.bank = (1, 4);
    config
}

const STALE: &[&str] = &["is newer, and must be seen"];
const UNKNOWN: &[&str] = &["is in S, in the L3"];

fn of_clients() -> Vec<Seen> {
    let shared = ["LD X,ST X.0", "LD X", ""];
    let again = "LD X,LD Y,LD Z,LD X";
    vec![
        ("hmesi-client:keep-once", 125, doing(CPUS, &["LD X,ST X.0", "LD X", "LD X"]), UNKNOWN),
        ("hmesi-client:no-r2", 117, wide(doing(CPU, &[again, "LD Y"])), &["hmesi_client_r2"]),
        (
            "hmesi-client:early-m",
            80,
            doing(CPUS, &["LD X,ST X.0", "LD X,LD X", ""]),
            &["hmesi_client", "is newer"],
        ),
        ("hmesi-client:lost-dirty", 65, doing(CPUS, &["ST X.0", "LD X", ""]), &["has a clean copy"]),
        ("hmesi-client:keep-copy", 61, doing(CPUS, &["ST X.0", "ST X.0", ""]), UNKNOWN),
        ("hmesi-client:no-inv", 91, doing(CPUS, &shared), UNKNOWN),
        (
            "hmesi-client:no-unblock",
            183,
            wide(doing(CPUS, &["LD X,ST X.0", again, ""])),
            &["tbe_valid of l3 is not zero", "nothing can happen any more"],
        ),
    ]
}

fn of_l2() -> Vec<Seen> {
    let crossing = || wide_l2(wide(doing(OWNER, &["LD X", "ST X.0,LD Y,LD Z"])));
    let held = doing(&[Mesi, Denovo, Gpu], &["", "ST X.0,ST Y.0", "LD Z"]);
    let reserve = doing(&[Mesi, Denovo, Denovo], &["LD X", "ST X.0,LD Y", "LD Z"]);
    vec![
        ("gpu-l2:no-reserve", 78, wide_l2(wide(reserve)), &["nothing can happen any more"]),
        ("gpu-l2:keep-invalid", 83, doing(CPU, &["LD X,ST X.0", "LD X"]), &["gpu_l2_client_next"]),
        ("gpu-l2:keep-once", 125, doing(CPUS, &["LD X,ST X.0", "LD X", "LD X"]), UNKNOWN),
        ("gpu-l2:no-revoke", 66, doing(OWNER, &["LD X", "ST X.0"]), &["nobody's value"]),
        ("gpu-l2:silent-upgrade", 68, doing(CPU, &["LD X", "LD X,ST X.0"]), &["gpu_l2_needs_next"]),
        ("gpu-l2:early-data", 109, doing(CPU, &["LD X,LD X", "LD X,ST X.0"]), &["gpu_l2_", "is newer"]),
        ("gpu-l2:lost-dirty", 140, wide(doing(CPU, &["", "ST X.0,LD Y,LD Z"])), STALE),
        ("gpu-l2:drop-owned", 145, wide(held), &["gpu_l2_", "owned", "nobody's"]),
        ("gpu-l2:drop-clean", 135, wide(doing(CPU, &["", "LD X,LD Y,LD Z"])), &["l2 is in I, in the L3 MT"]),
        ("gpu-l2:no-cross", 121, crossing(), &["denovo_l1_"]),
        ("gpu-l2:no-wait", 124, crossing(), &["gpu_l2_", "nobody's value"]),
    ]
}

fn of_l3() -> Vec<Seen> {
    let dropped = wide_l2(doing(CPU, &["LD X", "LD X,LD Y,LD Z"]));
    let evicting = |other| wide(doing(CPUS, &["ST X.0,LD Y,LD Z", other, ""]));
    vec![
        ("mesi-llc:forgotten-sharer", 95, doing(CPUS, &["LD X", "LD X", "LD X"]), UNKNOWN),
        ("mesi-llc:drop-shared", 164, dropped, UNKNOWN),
        ("mesi-llc:stale-put", 122, evicting("ST X.1"), &["is in M, in the L3 C"]),
        ("mesi-llc:lost-dirty", 65, doing(CPUS, &["ST X.0", "LD X", ""]), &["calls it clean"]),
        ("mesi-llc:short-acks", 80, doing(CPUS, &["LD X,ST X.0", "LD X", ""]), &["hmesi_client"]),
        ("mesi-llc:early-put", 87, evicting("LD X"), &["hmesi_client", "mesi_llc"]),
        ("mesi-llc:forgotten-owner", 65, doing(CPUS, &["LD X", "LD X", ""]), UNKNOWN),
        ("mesi-llc:no-wb-data", 63, doing(CPUS, &["ST X.0", "LD X", ""]), &["mesi_llc"]),
    ]
}

/// Faults that are seen in small systems, each in one of the smallest.
pub fn shown() -> Vec<Shown> {
    let all = [of_clients(), of_l2(), of_l3()].concat();
    let faults = named();
    let known = |name: &str| faults.iter().find(|known| known.0 == name).map_or(NONE, |known| known.1);
    let shown = |(name, actions, config, words)| Shown {
        name,
        actions,
        config: Config { faults: known(name), ..config },
        words,
    };
    all.into_iter().map(shown).collect()
}
