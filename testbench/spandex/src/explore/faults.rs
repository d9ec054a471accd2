//! Faults that can be put into the blocks, by name, and a system that shows each.

use super::Kind::{Denovo, Flex, Gpu, Mesi, Stash};
use super::mixes::{
    aliases, chain, evicting, guessed_eviction, guessing, mapping, ops, overlapping, pair, replacing, scoped,
    scoped_evicting, three,
};
use super::{Config, Hint, Op};
use weft_spandex::llc::{LlcFault, ReqsPolicy};
use weft_spandex::mesi_l1::MesiL1Inject;
use weft_spandex::tu_mesi::TuMesiInject;
use weft_spandex::{denovo_l1, flex_l1, gpu_l1, stash, tu_gpu};

/// Faults put into the blocks on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Faults {
    /// Of the bank.
    pub llc: LlcFault,
    /// Of `gpu-l1`.
    pub gpu_l1: gpu_l1::Inject,
    /// Of `tu-gpu`.
    pub tu_gpu: tu_gpu::Inject,
    /// Of `denovo-l1`.
    pub denovo_l1: denovo_l1::Inject,
    /// Of `mesi-l1`.
    pub mesi_l1: MesiL1Inject,
    /// Of `tu-mesi`.
    pub tu_mesi: TuMesiInject,
    /// Of `flex-l1`.
    pub flex_l1: flex_l1::Inject,
    /// Of `stash`.
    pub stash: stash::Inject,
}

/// No fault.
pub const NONE: Faults = Faults {
    llc: LlcFault::None,
    gpu_l1: gpu_l1::Inject::None,
    tu_gpu: tu_gpu::Inject::None,
    denovo_l1: denovo_l1::Inject::None,
    mesi_l1: MesiL1Inject::None,
    tu_mesi: TuMesiInject::None,
    flex_l1: flex_l1::Inject::None,
    stash: stash::Inject::None,
};

/// The faults of a block, each with its word.
fn of_block<T: Copy>(words: &[(T, &'static str)], put: impl Fn(T) -> Faults) -> Vec<(&'static str, Faults)> {
    words.iter().map(|(fault, word)| (*word, put(*fault))).collect()
}

/// Every fault by its name, `BLOCK:FAULT`.
pub fn named() -> Vec<(String, Faults)> {
    let blocks = [
        ("spandex-llc", of_block(LlcFault::WORDS, |llc| Faults { llc, ..NONE })),
        ("gpu-l1", of_block(gpu_l1::Inject::WORDS, |gpu_l1| Faults { gpu_l1, ..NONE })),
        ("tu-gpu", of_block(tu_gpu::Inject::WORDS, |tu_gpu| Faults { tu_gpu, ..NONE })),
        ("denovo-l1", of_block(denovo_l1::Inject::WORDS, |denovo_l1| Faults { denovo_l1, ..NONE })),
        ("mesi-l1", of_block(MesiL1Inject::WORDS, |mesi_l1| Faults { mesi_l1, ..NONE })),
        ("tu-mesi", of_block(TuMesiInject::WORDS, |tu_mesi| Faults { tu_mesi, ..NONE })),
        ("flex-l1", of_block(flex_l1::Inject::FLEX, |flex_l1| Faults { flex_l1, ..NONE })),
        ("stash", of_block(stash::Inject::WORDS, |stash| Faults { stash, ..NONE })),
    ];
    let each = blocks.into_iter().flat_map(|(block, faults)| {
        faults.into_iter().map(move |(word, faults)| (format!("{block}:{word}"), faults))
    });
    each.filter(|(_, faults)| *faults != NONE).collect()
}

/// The name of a fault.
pub fn name(faults: &Faults) -> String {
    let known = named().into_iter().find(|known| known.1 == *faults);
    known.map_or_else(|| "none".into(), |known| known.0)
}

/// A system in which a fault is seen.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The fault's name.
    pub name: &'static str,
    /// The system, with the fault.
    pub config: Config,
    /// What goes wrong: some of these words.
    pub words: &'static [&'static str],
}

type Seen = (&'static str, Config, &'static [&'static str]);

/// Other operations of each device; the last list stands for all further devices.
fn doing(config: Config, alphabets: &[&str]) -> Config {
    Config { alphabets: alphabets.iter().map(|text| ops(text)).collect(), ..config }
}

const OLD: &[&str] = &["is newer, and must be seen", "no order of its writes explains"];
const OWNERS: &[&str] = &["is owned by devices"];
const UNKNOWN: &[&str] = &["a shared copy that the bank does not know"];

fn of_bank() -> Vec<Seen> {
    let extras = doing(pair([Denovo, Denovo], [1, 2]), &["ST X.0", "LD X.1,LD X.0"]);
    vec![
        ("spandex-llc:early-ack", pair([Mesi, Mesi], [2, 1]), &["llc_blocked_complete"]),
        ("spandex-llc:no-cross", chain(), &["tu_mesi_rsp_wbp"]),
        ("spandex-llc:unlatched-policy", chain(), OWNERS),
        ("spandex-llc:forgotten-sharer", chain(), UNKNOWN),
        ("spandex-llc:drop-owned", replacing([Denovo, Denovo], [1, 1]), &["wbb_valid"]),
        ("spandex-llc:lost-dirty", replacing([Denovo, Denovo], [2, 1]), OLD),
        ("spandex-llc:no-wait", evicting([Denovo, Gpu], [1, 1]), &["nobody's value", "holds", "llc_"]),
        (
            "spandex-llc:stale-owner",
            pair([Denovo, Gpu], [2, 1]),
            &["is owned by devices", "llc_", "nobody's"],
        ),
        ("spandex-llc:owned-extras", extras, &["nobody's value"]),
    ]
}

fn of_gpu() -> Vec<Seen> {
    let two = |budgets| overlapping([Gpu, Gpu], budgets);
    let early = doing(pair([Denovo, Gpu], [2, 1]), &["ST X.0,LD X.0", "ST X"]);
    // A word is buffered and its line dropped; the line is asked for again, the word changes here and leaves the only entry of the buffer before it is read.
    let prelude = ops("HERE X.0,ACQ").into_iter().map(|op| (0, op)).collect();
    let fill = Config { prelude, open: 2, l1: (2, 2, 1), targets: 2, ..scoped_evicting([Gpu, Gpu], [4, 0]) };
    vec![
        ("gpu-l1:early-release", doing(two([2, 2]), &["ST X.0,SYNC X.1", "SYNC X.1,LD X.0"]), OLD),
        ("gpu-l1:keeps-copies", doing(two([3, 1]), &["LD X.0,ACQ", "ST X.0"]), OLD),
        ("gpu-l1:no-stale", doing(two([3, 1]), &["LD X.0,ACQ", "ST X.0"]), OLD),
        ("gpu-l1:fill-over-store", doing(two([3, 0]), &["LD X,ST X.0"]), OLD),
        ("gpu-l1:atomic-no-mark", doing(two([3, 0]), &["LD X.1,AT X.0,LD X.0"]), OLD),
        ("gpu-l1:buffer-unseen", doing(two([3, 0]), &["LD X.0,ST X.0"]), OLD),
        ("gpu-l1:local-unbuffered", scoped([Gpu, Gpu], [2, 0]), OLD),
        ("gpu-l1:local-uncaptured", doing(fill, &["LD X.1,HERE X.0,HERE Z.0,LD X.0"]), OLD),
        (
            "tu-gpu:nack-lost",
            evicting([Denovo, Gpu], [1, 1]),
            &["nothing can happen any more", "not everything can be"],
        ),
        ("tu-gpu:early-wt", early, &["tu_gpu", "is newer"]),
    ]
}

fn of_denovo() -> Vec<Seen> {
    let two = |budgets| overlapping([Denovo, Denovo], budgets);
    vec![
        ("denovo-l1:early-release", doing(two([2, 2]), &["ST X.0,SYNC X.1", "SYNC X.1,LD X.0"]), OLD),
        ("denovo-l1:fill-over-store", doing(two([3, 1]), &["LD X,ST X.0,LD X.1", "ST X.1"]), OLD),
        ("denovo-l1:keeps-valid", doing(two([3, 1]), &["LD X.0,ACQ", "ST X.0"]), OLD),
        ("denovo-l1:no-stale", doing(two([3, 1]), &["LD X.0,ACQ", "ST X.0"]), OLD),
        ("denovo-l1:no-cross", evicting([Denovo, Gpu], [2, 1]), &["denovo_l1_", "llc_"]),
        ("denovo-l1:keeps-ownership", pair([Denovo, Denovo], [1, 1]), &["is owned by devices", "denovo_l1_"]),
        ("denovo-l1:no-delay", pair([Denovo, Denovo], [1, 1]), &["nothing can happen any more", "no order"]),
        ("denovo-l1:stale-extras", doing(two([3, 1]), &["LD X.1,ST X.0,LD X.0", "AT X.0"]), OLD),
        ("denovo-l1:no-wait", evicting([Denovo, Denovo], [2, 1]), &["llc_", "denovo_l1_", "is newer"]),
    ]
}

fn of_mesi() -> Vec<Seen> {
    // The flag is in another line, so that the store and it do not wait in one list.
    let none = Hint::default();
    let prelude = vec![(0, Op::Store(1, 1, none)), (1, Op::Load(0, 3, none))];
    let flag = doing(overlapping([Mesi, Mesi], [2, 2]), &["ST X.0,SYNC Y.0", "SYNC Y.0,LD X"]);
    let two = Config { l1: (1, 1, 2), ..evicting([Mesi, Mesi], [2, 1]) };
    vec![
        ("mesi-l1:join-shut", doing(overlapping([Mesi, Mesi], [3, 2]), &["LD X", "LD X,ST X.0"]), OLD),
        ("mesi-l1:read-wbp", doing(pair([Mesi, Denovo], [2, 1]), &["LD X", "ST X.0"]), OLD),
        ("mesi-l1:early-release", Config { prelude, lines: Config::lines(2), ..flag }, OLD),
        (
            "tu-mesi:keep-once",
            doing(pair([Mesi, Mesi], [2, 2]), &["LD X", "LD X,ST X.0"]),
            &["a shared copy that the bank does not know", "is newer"],
        ),
        ("tu-mesi:removal-first", doing(pair([Mesi, Mesi], [1, 1]), &["AT X.0"]), &["no order", "is newer"]),
        (
            "tu-mesi:lost-word",
            pair([Mesi, Denovo], [2, 1]),
            &["is owned by devices", "tu_mesi", "llc_", "nothing can happen"],
        ),
        ("tu-mesi:no-r2", two, &["tu_mesi_r2"]),
        ("tu-mesi:no-cross", chain(), &["tu_mesi"]),
        ("tu-mesi:stale-direct", guessed_eviction([Mesi, Flex], [2, 2]), &["is newer", "no order"]),
    ]
}

fn of_flex() -> Vec<Seen> {
    let two = |budgets| overlapping([Flex, Flex], budgets);
    let refused = doing(guessing(1, pair([Flex, Denovo], [1, 1])), &["ST X.0 ReqWT", "LD X"]);
    let shared = Config { reqs: ReqsPolicy::Opt1, ..pair([Flex, Gpu], [1, 1]) };
    let shared = doing(shared, &["LD X.0 ReqS", "ST X.0"]);
    let evicted = guessing(0, three([Flex, Flex, Gpu], [1, 3, 1]));
    let prelude = evicting([Flex, Flex], [1, 1]).prelude;
    let evicted = Config { prelude, lines: Config::lines(3), bank: (1, 4), ..evicted };
    let evicted = doing(evicted, &["LD Z", "LD X.0 ReqV,ACQ", "ST X.0"]);
    vec![
        ("flex-l1:early-release", doing(two([2, 2]), &["ST X.0,SYNC X.1", "SYNC X.1,LD X.0"]), OLD),
        ("flex-l1:keeps-valid", doing(two([3, 1]), &["LD X.0,ACQ", "ST X.0"]), OLD),
        ("flex-l1:no-stale", doing(two([3, 1]), &["LD X.0,ACQ", "ST X.0"]), OLD),
        ("flex-l1:no-cross", evicting([Flex, Gpu], [2, 1]), &["flex_l1_", "llc_"]),
        ("flex-l1:keeps-ownership", pair([Flex, Flex], [1, 1]), &["is owned by devices", "flex_l1_"]),
        ("flex-l1:no-delay", pair([Flex, Flex], [1, 1]), &["nothing can happen any more", "no order"]),
        ("flex-l1:stale-extras", doing(two([3, 1]), &["LD X.1,ST X.0,LD X.0", "AT X.0"]), OLD),
        ("flex-l1:no-wait", evicting([Flex, Denovo], [2, 1]), &["llc_", "flex_l1_", "is newer"]),
        ("flex-l1:fill-over-store", doing(two([3, 0]), &["LD X,ST X.0 ReqWT"]), OLD),
        ("flex-l1:keeps-copy", doing(pair([Flex, Gpu], [3, 0]), &["LD X.0,AT X.0 ReqWT"]), OLD),
        ("flex-l1:keeps-shared", shared.clone(), UNKNOWN),
        ("flex-l1:keeps-once", shared, UNKNOWN),
        ("flex-l1:drops-refused", refused, OLD),
        ("flex-l1:serves-buffer", evicted, OLD),
    ]
}

fn of_stash() -> Vec<Seen> {
    let alone = |config: Config| Config {
        devices: vec![Stash],
        alphabets: config.alphabets[..1].to_vec(),
        budgets: config.budgets[..1].to_vec(),
        ..config
    };
    let acquired = doing(overlapping([Stash, Denovo], [3, 1]), &["LD X.0,ACQ", "ST X.0"]);
    let again = doing(alone(mapping(Gpu, [3, 0])), &["ST X.0,MAP X 1,LD X.0"]);
    let second = Config { open: 1, ..doing(aliases(Denovo, [1, 1]), &["ST X.0", "LD X.0"]) };
    vec![
        ("stash:no-stale", acquired, OLD),
        ("stash:no-cross", doing(mapping(Denovo, [2, 2]), &["ST X.0,MAP Y 0", "ST X.0,LD X"]), &["stash_"]),
        ("stash:keeps-ownership", pair([Stash, Denovo], [1, 1]), &["is owned by devices"]),
        ("stash:no-wait", Config { budgets: vec![4], ..again.clone() }, &["llc_not_from_owner"]),
        ("stash:fill-over-store", alone(aliases(Gpu, [3, 0])), OLD),
        ("stash:keeps-alias", again, &["llc_not_from_owner"]),
        (
            "stash:forgets-owned",
            doing(alone(mapping(Gpu, [2, 0])), &["ST X.0,MAP Y 0"]),
            &["is owned by devices"],
        ),
        ("stash:first-map-only", second, &["stash_forwards_complete"]),
    ]
}

/// Faults that are seen in small systems, each in one of the smallest.
pub fn shown() -> Vec<Shown> {
    let all = [of_bank(), of_gpu(), of_denovo(), of_mesi(), of_flex(), of_stash()].concat();
    let faults = named();
    let known = |name: &str| faults.iter().find(|known| known.0 == name).map_or(NONE, |known| known.1);
    let shown =
        |(name, config, words)| Shown { name, config: Config { faults: known(name), ..config }, words };
    all.into_iter().map(shown).collect()
}
