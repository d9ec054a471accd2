//! The systems that are explored.

use super::{Config, Kind, Op};
use Kind::{Denovo, Gpu, Mesi};
use weft_spandex::llc::{ReqsPolicy, RvkoGran};

/// A system with a name.
#[derive(Clone, Debug)]
pub struct Mix {
    /// Its name: kinds of devices, and what is special.
    pub name: String,
    /// It takes some seconds at most.
    pub short: bool,
    /// The system.
    pub config: Config,
}

fn mix(name: &str, short: bool, config: Config) -> Mix {
    let kinds: Vec<&str> = config.devices.iter().map(|kind| kind.word()).collect();
    let name = if name.is_empty() { kinds.join("+") } else { format!("{} {name}", kinds.join("+")) };
    Mix { name, short, config }
}

/// Operations by their words.
///
/// # Panics
/// When one is not known.
pub fn ops(text: &str) -> Vec<Op> {
    text.split(',').map(|op| op.parse().expect("an operation")).collect()
}

fn does(device: usize, op: &str) -> (usize, Op) {
    (device, op.parse().expect("an operation"))
}

/// All pairs of kinds.
pub const PAIRS: [[Kind; 2]; 6] =
    [[Gpu, Gpu], [Denovo, Gpu], [Mesi, Gpu], [Denovo, Denovo], [Mesi, Denovo], [Mesi, Mesi]];

/// All threes of kinds.
pub const THREES: [[Kind; 3]; 10] = [
    [Mesi, Denovo, Gpu],
    [Gpu, Gpu, Gpu],
    [Denovo, Gpu, Gpu],
    [Denovo, Denovo, Gpu],
    [Denovo, Denovo, Denovo],
    [Mesi, Gpu, Gpu],
    [Mesi, Denovo, Denovo],
    [Mesi, Mesi, Gpu],
    [Mesi, Mesi, Denovo],
    [Mesi, Mesi, Mesi],
];

/// Two devices, one line, one operation of each at a time: loads of the line, stores and exchanges of its words.
pub fn pair(kinds: [Kind; 2], budgets: [usize; 2]) -> Config {
    Config { budgets: budgets.to_vec(), ..Config::of(&kinds) }
}

/// Three devices. Nothing is demanded of programs with races: see `judge.rs`.
pub fn three(kinds: [Kind; 3], budgets: [usize; 3]) -> Config {
    Config { budgets: budgets.to_vec(), races: false, ..Config::of(&kinds) }
}

/// Flag and data in one line: exchanges that release and acquire.
pub fn synchronised(kinds: [Kind; 2], budgets: [usize; 2]) -> Config {
    let alphabets = vec![ops("SYNC X.1,LD X.0,ST X.0")];
    Config { alphabets, ..pair(kinds, budgets) }
}

/// Two operations of a core are open together, L1 and bank have two entries of everything.
pub fn overlapping(kinds: [Kind; 2], budgets: [usize; 2]) -> Config {
    let alphabets = vec![ops("LD X,ST X.0,ST X.1,AT X.0")];
    Config {
        alphabets,
        open: 2,
        l1: (2, 2, 1),
        targets: 2,
        tbes: (2, 2),
        races: false,
        ..pair(kinds, budgets)
    }
}

/// Device 0 owns words of X, and its set is full: a third line evicts X.
pub fn evicting(kinds: [Kind; 2], budgets: [usize; 2]) -> Config {
    let alphabets = vec![ops("LD Z,LD X,ST X.0,AT X.0"), ops("LD X,ST X.0,ST X.1,AT X.0")];
    let prelude = vec![does(0, "ST X.0"), does(0, "LD Y")];
    Config { alphabets, prelude, lines: vec![0, 2, 4], bank: (1, 4), races: false, ..pair(kinds, budgets) }
}

/// The bank holds two lines, both owned: a third one makes it revoke the words of one.
pub fn replacing(kinds: [Kind; 2], budgets: [usize; 2]) -> Config {
    let prelude = vec![does(0, "ST X.0"), does(0, "ST Y.0")];
    Config { prelude, bank: (1, 2), ..evicting(kinds, budgets) }
}

/// A store of one word, while another device asks for the line for the other word and a third has it.
pub fn chain() -> Config {
    let alphabets = vec![ops("LD X"), ops("ST X.1"), ops("ST X.0")];
    Config { alphabets, ..three([Mesi, Mesi, Gpu], [2, 1, 1]) }
}

/// A word is read for a sharer while its owner asks for it, and changes it again as soon as it has it.
pub fn shared_late() -> Config {
    let alphabets = vec![ops("LD X"), ops("AT X.0")];
    Config { alphabets, reqs: ReqsPolicy::Opt1, ..pair([Mesi, Denovo], [1, 2]) }
}

/// All systems that are explored.
pub fn mixes() -> Vec<Mix> {
    let mut all = Vec::new();
    for kinds in PAIRS {
        all.push(mix("", true, pair(kinds, [2, 1])));
        all.push(mix("", false, pair(kinds, [2, 2])));
        all.push(mix("overlapping", false, overlapping(kinds, [2, 1])));
    }
    for kinds in THREES {
        all.push(mix("", kinds == [Mesi, Denovo, Gpu], three(kinds, [1, 1, 1])));
    }
    all.push(mix("chain", true, chain()));
    all.push(mix("shared late", true, shared_late()));
    for kinds in [[Denovo, Gpu], [Denovo, Denovo], [Gpu, Gpu], [Mesi, Gpu], [Mesi, Denovo]] {
        all.push(mix("synchronised", true, synchronised(kinds, [2, 2])));
        all.push(mix("synchronised", false, synchronised(kinds, [3, 3])));
    }
    for kinds in [[Denovo, Denovo], [Denovo, Gpu], [Mesi, Mesi], [Mesi, Denovo], [Mesi, Gpu]] {
        all.push(mix("evicting", true, evicting(kinds, [1, 1])));
        all.push(mix("evicting", false, evicting(kinds, [2, 2])));
        all.push(mix("replacing", true, replacing(kinds, [1, 1])));
        all.push(mix("replacing", false, replacing(kinds, [2, 1])));
    }
    for (word, reqs) in [("opt1", ReqsPolicy::Opt1), ("opt2", ReqsPolicy::Opt2), ("opt3", ReqsPolicy::Opt3)] {
        all.push(mix(word, false, Config { reqs, ..pair([Mesi, Mesi], [2, 2]) }));
        all.push(mix(word, false, Config { reqs, ..pair([Mesi, Denovo], [2, 2]) }));
    }
    let words = Config { rvko: RvkoGran::Word, flex: false, ..pair([Denovo, Gpu], [2, 2]) };
    all.push(mix("rvko=word flex=0", false, words));
    all
}
