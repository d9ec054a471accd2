//! What caches hold of lines, read in the states of their blocks.

use super::{Config, Kind, LINES};
use weft_explore::block::Block;
use weft_rtl::netlist::NetMem;
use weft_spandex_bench::explore::held::{by_words, entries, halves};

/// Tags of the L2 and the L3, with states; words that CUs own; clients that share a line; lines.
pub(super) const TAGS: &str = "tags";
pub(super) const OWNED: &str = "owned";
pub(super) const SHARERS: &str = "sharers";
pub(super) const DATA: &str = "lines";
/// States of lines, tags and lines of an L1; of one that owns words, the two bits of each word's state.
pub(super) const L1_STATES: &str = "cache.states";
pub(super) const L1_TAGS: &str = "cache.tags";
pub(super) const L1_DATA: &str = "cache.lines";
pub(super) const WORD_STATES: [&str; 2] = ["cache.word_valid", "cache.word_owned"];

/// States of a line in an L1 and in the L2: not here, shared, the only copy, the same and written.
pub(super) const I: u64 = 0;
pub(super) const S: u64 = 1;
pub(super) const E: u64 = 2;
pub(super) const M: u64 = 3;
/// States of a line in the L3: (C 1, no client has it,) clients share it, a client owns it.
pub(super) const SS: u64 = 2;
pub(super) const MT: u64 = 3;

/// A cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cache {
    /// Of a CPU core or CU.
    L1(Kind),
    /// The GPU L2.
    L2,
    /// The L3.
    L3,
}

/// What a cache holds of a line.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Held {
    /// By I, S, E, M, of the L3 I, C, SS, MT; of a CU I.
    pub state: u64,
    /// The L3: it differs from memory.
    pub dirty: bool,
    /// The L3, in MT: the client that owns it.
    pub owner: u64,
    /// The L3: clients that may have a copy.
    pub sharers: u64,
    /// Words that a CU owns; the L2: that one owns, whose number is in their place.
    pub owned: u8,
    /// Its words.
    pub words: [u64; 2],
}

/// What a cache holds in a state of its block.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct View {
    /// By line.
    pub lines: [Held; LINES.len()],
    /// A register that says that something is still under way.
    pub busy: Option<&'static str>,
}

/// Registers that are zero when nothing is under way.
pub(super) fn idle(cache: Cache) -> &'static [&'static str] {
    match cache {
        Cache::L1(Kind::Mesi) => {
            &["cache.mshr_busy", "cache.s1_valid", "client.busy", "client.unblocks", "client.wbb_busy"]
        }
        Cache::L1(kind) => entries(Some(kind)),
        Cache::L2 | Cache::L3 => entries(None),
    }
}

/// Lowest bit and width of a field of a memory.
pub(super) fn field(mem: &NetMem, name: &str) -> (u32, u32) {
    let before = mem.fields.iter().take_while(|(field, _)| field != name).map(|(_, bits)| bits);
    let width = mem.fields.iter().find(|(field, _)| field == name).map_or(0, |(_, bits)| *bits);
    (before.sum(), width)
}

/// Looks into a block.
pub(super) fn view(own: &mut Block, at: u32, c: &Config, cache: Cache) -> View {
    let busy = idle(cache).iter().find(|name| own.register(at, name) != 0).copied();
    let lines = LINES.map(|line| match cache {
        Cache::L1(Kind::Mesi) => cpu(own, at, line),
        Cache::L1(Kind::Gpu) => Held::default(),
        Cache::L1(_) => {
            let held = by_words(own, at, line);
            Held { owned: held.owned, words: held.words, ..Held::default() }
        }
        Cache::L2 => bank(own, at, c.cores.bank, line),
        Cache::L3 => bank(own, at, c.l3, line),
    });
    View { lines, busy }
}

/// L1s have 2 sets of 2 ways.
fn cpu(own: &mut Block, at: u32, line: u64) -> Held {
    let set = line as u32 & 1;
    for cell in [2 * set, 2 * set + 1] {
        let state = own.cell(at, L1_STATES, cell);
        if [S, E, M].contains(&state) && own.cell(at, L1_TAGS, cell) == line >> 1 {
            return Held { state, words: halves(own.cell(at, L1_DATA, cell)), ..Held::default() };
        }
    }
    Held::default()
}

fn bank(own: &mut Block, at: u32, (sets, ways): (u32, u32), line: u64) -> Held {
    let mems = own.design.clone();
    let mems = &mems.types[0].netlist.mems;
    let mem = |name: &str| mems.iter().find(|mem| mem.path == name);
    let Some(tags) = mem(TAGS) else { return Held::default() };
    let set = line as u32 & (sets - 1);
    for cell in set * ways..(set + 1) * ways {
        let row = own.cell(at, TAGS, cell);
        let part = |name: &str| {
            let (lo, width) = field(tags, name);
            row >> lo & ((1 << width) - 1)
        };
        if part("state") == I || part("tag") != line >> sets.trailing_zeros() {
            continue;
        }
        let mut beside = |name: &str| mem(name).map_or(0, |_| own.cell(at, name, cell));
        let (owned, sharers) = (beside(OWNED) as u8, beside(SHARERS));
        let words = match mem(DATA).map_or(1, |mem| mem.lanes) {
            1 => halves(own.cell(at, DATA, cell)),
            _ => [0, 1].map(|word| own.cell(at, DATA, 2 * cell + word)),
        };
        let (state, dirty, owner) = (part("state"), part("dirty") == 1, part("owner"));
        return Held { state, dirty, owner, sharers, owned, words };
    }
    Held::default()
}
