//! The systems that are explored.

use super::{Config, Kind, Op};
use Kind::{Denovo, Flex, Gpu, Mesi, Stash};
use weft_spandex::llc::{ReqsPolicy, RvkoGran};

/// A system with a name.
#[derive(Clone, Debug)]
pub struct Mix {
    /// Its name: kinds of devices, and what is special. One that is not short may have the name of a short one with smaller budgets.
    pub name: String,
    /// It takes some seconds at most.
    pub short: bool,
    /// The system.
    pub config: Config,
}

/// A system whose name begins with the kinds of its devices.
pub fn named(name: &str, short: bool, config: Config) -> Mix {
    let kinds: Vec<&str> = config.devices.iter().map(|kind| kind.word()).collect();
    let name = if name.is_empty() { kinds.join("+") } else { format!("{}:{name}", kinds.join("+")) };
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

/// What a Flex device may do where nothing else is said: each request once.
pub const HINTED: &str =
    "LD X,LD X.0 ReqS line,LD X.1 ReqO+data,ST X.0,ST X.1 ReqWT,ST X.0 ReqWT+fwd,AT X.0,SYNC X.0 ReqWT";

/// All loads, stores and atomics of a Flex device that differ in what they ask for.
const HINTS: &str = "LD X.0,LD X.0 ReqV line,LD X.0 ReqS,LD X.0 ReqS line,LD X.0 ReqO+data,LD X.0 ReqO+data line,ST X.0,ST X.0 ReqO line,ST X ReqO line,\
     ST X.0 ReqWT,ST X.0 ReqWT+fwd,ST X.0 ReqO+data,ST X.0 ReqO+data line,AT X.0,AT X.0 ReqO+data line,AT X.0 ReqWT";

/// All pairs of kinds.
pub const PAIRS: [[Kind; 2]; 15] = [
    [Gpu, Gpu],
    [Denovo, Gpu],
    [Mesi, Gpu],
    [Denovo, Denovo],
    [Mesi, Denovo],
    [Mesi, Mesi],
    [Flex, Gpu],
    [Flex, Denovo],
    [Mesi, Flex],
    [Flex, Flex],
    [Stash, Gpu],
    [Stash, Denovo],
    [Stash, Stash],
    [Mesi, Stash],
    [Flex, Stash],
];

/// All threes of kinds.
pub const THREES: [[Kind; 3]; 20] = [
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
    [Flex, Gpu, Gpu],
    [Flex, Denovo, Gpu],
    [Flex, Denovo, Denovo],
    [Mesi, Flex, Gpu],
    [Mesi, Flex, Denovo],
    [Mesi, Mesi, Flex],
    [Flex, Flex, Gpu],
    [Flex, Flex, Denovo],
    [Mesi, Flex, Flex],
    [Flex, Flex, Flex],
];

/// Two devices, one line, one operation of each at a time: loads of the line, stores and exchanges of its words.
pub fn pair(kinds: [Kind; 2], budgets: [usize; 2]) -> Config {
    Config { budgets: budgets.to_vec(), ..Config::of(&kinds) }
}

/// Three devices. Nothing is demanded of programs with races: see [`Config::ordered`].
pub fn three(kinds: [Kind; 3], budgets: [usize; 3]) -> Config {
    Config { budgets: budgets.to_vec(), ..Config::of(&kinds) }
}

/// Flag and data in one line: exchanges that release and acquire.
pub fn synchronised(kinds: [Kind; 2], budgets: [usize; 2]) -> Config {
    let own =
        |kind| ops(if kind == Flex { "SYNC X.1 ReqWT,LD X.0 ReqS,ST X.0" } else { "SYNC X.1,LD X.0,ST X.0" });
    let alphabets = kinds.map(own).to_vec();
    Config { alphabets, ..pair(kinds, budgets) }
}

/// Exchanges of CU scope on a word that the other device reads after it has synchronised, beside the flag in the same line.
pub fn scoped(kinds: [Kind; 2], budgets: [usize; 2]) -> Config {
    let alphabets = vec![ops("HERE X.0,SYNC X.1,LD X"), ops("SYNC X.1,LD X.0,ST X.1")];
    Config { alphabets, scopes: true, ..pair(kinds, budgets) }
}

/// The same with two operations of a core open together, and two entries of everything, for lines that come in while they are written, and reads that an acquire makes stale.
pub fn scoped_overlapping(kinds: [Kind; 2], budgets: [usize; 2]) -> Config {
    let alphabets = vec![ops("HERE X.0,ST X.0,LD X,SYNC X.1,ACQ"), ops("SYNC X.1,LD X.0")];
    Config { alphabets, scopes: true, ..overlapping(kinds, budgets) }
}

/// The same, and other lines take the room of the store buffer and of the set.
pub fn scoped_evicting(kinds: [Kind; 2], budgets: [usize; 2]) -> Config {
    let alphabets = vec![ops("HERE X.0,HERE Z.0,LD X,AT X.0"), ops("SYNC X.1,LD X.0")];
    Config { alphabets, scopes: true, ..evicting(kinds, budgets) }
}

/// Two operations of a core are open together, L1 and bank have two entries of everything.
pub fn overlapping(kinds: [Kind; 2], budgets: [usize; 2]) -> Config {
    let own = |kind| {
        ops(match kind {
            Flex => "LD X.0 ReqS line,LD X.1,ST X.0,ST X.1 ReqWT+fwd,AT X.0",
            Stash => "LD X,ST X.0,ST X.1,ACQ",
            _ => "LD X,ST X.0,ST X.1,AT X.0",
        })
    };
    let alphabets = kinds.map(own).to_vec();
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

/// Atomics of the waves of one core join the request of their word, while the other asks for it, stores to
/// it, or reads it.
pub fn joining(other: Kind, budgets: [usize; 2]) -> Config {
    let alphabets = vec![ops("AT X.0,SYNC X.0"), ops("AT X.0,ST X.0,LD X")];
    Config { alphabets, open: 3, waves: true, targets: 3, ..overlapping([Denovo, other], budgets) }
}

/// Device 0 owns words of X, and its set is full: a third line evicts X.
pub fn evicting(kinds: [Kind; 2], budgets: [usize; 2]) -> Config {
    let other = if kinds[1] == Flex {
        "LD X.0 ReqS,ST X.0,ST X.1 ReqWT+fwd,AT X.0"
    } else {
        "LD X,ST X.0,ST X.1,AT X.0"
    };
    let alphabets = vec![ops("LD Z,LD X,ST X.0,AT X.0"), ops(other)];
    let prelude = vec![does(0, "ST X.0"), does(0, "LD Y")];
    Config { alphabets, prelude, lines: Config::lines(3), bank: (1, 4), races: false, ..pair(kinds, budgets) }
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

/// The same, and the device that asks for the line is a Flex one, by a load or by a store of the other word.
pub fn flex_chain(first: Kind) -> Config {
    let alphabets =
        vec![ops("LD X"), ops("LD X.1 ReqO+data line,LD X.1 ReqS line,ST X.1 ReqO+data line"), ops("ST X.0")];
    let (prelude, third) = (vec![does(0, "ST X.0")], three([first, Flex, Gpu], [1, 1, 1]));
    Config { alphabets, prelude, ..third }
}

/// Every request that a hint can name, for words or the line.
pub fn hinted(other: Kind, budgets: [usize; 2]) -> Config {
    let order = if other == Mesi { [other, Flex] } else { [Flex, other] };
    let short = ops("LD X,ST X.0,AT X.0");
    let alphabets = order.map(|kind| if kind == Flex { ops(HINTS) } else { short.clone() });
    Config { alphabets: alphabets.to_vec(), races: false, ..pair(order, budgets) }
}

/// Flex units send what may have an owner to one device.
pub fn guessing(guess: usize, config: Config) -> Config {
    Config { guess: Some(guess), races: false, ..config }
}

/// The first device owns words and its set is full, so that a third line evicts them; the other asks it, and the bank, for them.
pub fn guessed_eviction(kinds: [Kind; 2], budgets: [usize; 2]) -> Config {
    let asks = "LD X.0 ReqV,LD X.0 ReqS,ST X.0 ReqWT,ST X.0 ReqWT+fwd,AT X.0";
    let alphabets = vec![ops("LD Z,LD X,ST X.0"), ops(asks)];
    Config { alphabets, ..guessing(0, evicting(kinds, budgets)) }
}

/// A word is read for a sharer while its owner asks for it, and changes it again as soon as it has it.
pub fn shared_late() -> Config {
    let alphabets = vec![ops("LD X"), ops("AT X.0")];
    Config { alphabets, reqs: ReqsPolicy::Opt1, ..pair([Mesi, Denovo], [1, 2]) }
}

/// A stash maps a line to its other place, or another line in its place, with words of the old mapping owned.
pub fn mapping(other: Kind, budgets: [usize; 2]) -> Config {
    let alphabets = vec![ops("LD X,ST X.0,MAP X 1,MAP Y 0,LD Y"), ops("LD X,ST X.0,ST X.1,AT X.0")];
    let pair = pair([Stash, other], budgets);
    Config { alphabets, lines: Config::lines(2), bank: (1, 4), races: false, ..pair }
}

/// Both places of a stash hold the line, and operations go to either.
pub fn aliases(other: Kind, budgets: [usize; 2]) -> Config {
    let prelude = vec![does(0, "MAP X 0"), does(0, "MAP X 1")];
    let alphabets = vec![ops("LD X,ST X.0,ACQ"), ops("ST X.0,LD X")];
    Config { alphabets, prelude, ..overlapping([Stash, other], budgets) }
}

const SYNCHRONISED: [[Kind; 2]; 8] = [
    [Denovo, Gpu],
    [Denovo, Denovo],
    [Gpu, Gpu],
    [Mesi, Gpu],
    [Mesi, Denovo],
    [Flex, Gpu],
    [Flex, Denovo],
    [Flex, Flex],
];

const EVICTING: [[Kind; 2]; 8] = [
    [Denovo, Denovo],
    [Denovo, Gpu],
    [Mesi, Mesi],
    [Mesi, Denovo],
    [Mesi, Gpu],
    [Flex, Gpu],
    [Flex, Denovo],
    [Flex, Flex],
];

/// Systems with direct requests: right ones, and those that miss.
fn guesses() -> Vec<Mix> {
    let mut all = Vec::new();
    for (kinds, guess) in [([Flex, Flex], 0), ([Flex, Denovo], 1), ([Mesi, Flex], 0), ([Flex, Gpu], 1)] {
        all.push(named("guessing", true, guessing(guess, pair(kinds, [1, 1]))));
        all.push(named("guessing", false, guessing(guess, pair(kinds, [2, 2]))));
    }
    for (kinds, guess) in [([Flex, Flex, Gpu], 0), ([Flex, Denovo, Gpu], 1)] {
        all.push(named("guessing", false, guessing(guess, three(kinds, [1, 1, 1]))));
    }
    for kinds in [[Flex, Flex], [Mesi, Flex]] {
        all.push(named("guessing-evicting", true, guessed_eviction(kinds, [1, 1])));
        all.push(named("guessing-evicting", false, guessed_eviction(kinds, [2, 2])));
    }
    all
}

/// All systems that are explored.
pub fn mixes() -> Vec<Mix> {
    let mut all = Vec::new();
    for kinds in PAIRS {
        all.push(named("", true, pair(kinds, [2, 1])));
        all.push(named("", false, pair(kinds, [2, 2])));
        all.push(named("overlapping", false, overlapping(kinds, [2, 1])));
    }
    for kinds in THREES {
        let short = [[Mesi, Denovo, Gpu], [Flex, Denovo, Gpu]].contains(&kinds);
        all.push(named("", short, three(kinds, [1, 1, 1])));
    }
    all.push(named("chain", true, chain()));
    all.push(named("chain", true, flex_chain(Flex)));
    for other in [Gpu, Denovo, Mesi, Flex] {
        all.push(named("hints", true, hinted(other, [1, 1])));
        all.push(named("hints", false, hinted(other, [2, 1])));
    }
    all.extend(guesses());
    all.push(named("shared-late", true, shared_late()));
    for kinds in SYNCHRONISED {
        all.push(named("synchronised", true, synchronised(kinds, [2, 2])));
        all.push(named("synchronised", false, synchronised(kinds, [3, 3])));
    }
    for other in [Denovo, Gpu] {
        all.push(named("joining", true, joining(other, [2, 1])));
        all.push(named("joining", false, joining(other, [3, 2])));
    }
    for kinds in EVICTING {
        all.push(named("evicting", true, evicting(kinds, [1, 1])));
        all.push(named("evicting", false, evicting(kinds, [2, 2])));
        all.push(named("replacing", true, replacing(kinds, [1, 1])));
        all.push(named("replacing", false, replacing(kinds, [2, 1])));
    }
    for (word, reqs) in [("opt1", ReqsPolicy::Opt1), ("opt2", ReqsPolicy::Opt2), ("opt3", ReqsPolicy::Opt3)] {
        all.push(named(word, false, Config { reqs, ..pair([Mesi, Mesi], [2, 2]) }));
        all.push(named(word, false, Config { reqs, ..pair([Mesi, Denovo], [2, 2]) }));
    }
    for kinds in [[Gpu, Gpu], [Gpu, Denovo]] {
        all.push(named("scoped", true, scoped(kinds, [2, 2])));
        all.push(named("scoped", false, scoped(kinds, [3, 3])));
        all.push(named("scoped-overlapping", true, scoped_overlapping(kinds, [2, 1])));
        all.push(named("scoped-overlapping", false, scoped_overlapping(kinds, [3, 2])));
        all.push(named("scoped-evicting", true, scoped_evicting(kinds, [2, 1])));
        all.push(named("scoped-evicting", false, scoped_evicting(kinds, [3, 2])));
    }
    for other in [Denovo, Gpu] {
        all.push(named("mapping", true, mapping(other, [2, 1])));
        all.push(named("mapping", false, mapping(other, [3, 2])));
        all.push(named("aliases", true, aliases(other, [3, 0])));
        all.push(named("aliases", false, aliases(other, [3, 1])));
    }
    let words = Config { rvko: RvkoGran::Word, flex: false, ..pair([Denovo, Gpu], [2, 2]) };
    all.push(named("rvko-word", false, words));
    all
}
