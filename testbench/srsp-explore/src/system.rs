//! A net with what must hold of its caches: when an access that synchronises is over, no copy is older than
//! what it promises; a registered line has one owner.

use super::judge::Place;
use super::ops::{Issued, Op, Scope, line_name};
use super::world::Cus;
use std::collections::HashMap;
use std::rc::Rc;
use weft_explore::dead::{Dead, What, When, dead};
use weft_explore::guess::{self, OfNet};
use weft_explore::net::{Event, Net, Timing};
use weft_explore::report::Told;
use weft_explore::search::Space;
use weft_fabric::family::srsp::Gpu;
use weft_rtl::netlist::Netlist;
use weft_srsp::bank::masked;
use weft_srsp::params::Impl;

/// Memories of caches, L1s and banks: tags, dirty masks, data.
const TAGS: &str = "tags";
const MASKS: &str = "masks";
const LINES: &str = "lines";
/// Bits of the states of an L1's lines: all bytes valid, some dirty; of the third its names.
const FULL: &str = "line_full";
const DIRTY: &str = "line_dirty";
const THIRD: [&str; 2] = ["line_pending", "line_kept"];

/// States of a line in an L1 by these bits: valid, dirty bytes alone, valid and some dirty, owned.
const V: u64 = 1;
const W: u64 = 2;
const D: u64 = 3;
const O: u64 = 6;
/// States of a line in a bank: not here or on its way without bytes; with dirty bytes; dirty bytes alone.
const ABSENT: [u64; 2] = [0, 1];
const PARTIAL: [u64; 2] = [2, 5];

/// Bytes of the data word.
const DATA_BYTES: u64 = 0xf;

/// What a system registers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing: it has scopes.
    Scoped,
    /// Lines of atomics (hLRC).
    Atomics,
    /// Lines that are written (DeNovo-B).
    Writes,
}

/// What is looked at: sets and ways.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub l1: (u32, u32),
    pub bank: (u32, u32),
    pub bank_tag_bits: u32,
    pub kind: Kind,
}

/// A line in a cache.
#[derive(Clone, Copy)]
struct Held {
    line: usize,
    state: u64,
    /// Its dirty bytes.
    mask: u64,
    /// Its data and its variable.
    words: [u32; 2],
}

/// A system.
pub struct System {
    /// Its blocks and links.
    pub net: Net<Cus>,
    shape: Shape,
    l1s: Vec<usize>,
    banks: Vec<usize>,
    /// By block what its states hold.
    held: Vec<HashMap<u32, Rc<[Held]>>>,
}

impl System {
    pub(super) fn new(net: Net<Cus>, shape: Shape, l1s: Vec<usize>, banks: Vec<usize>) -> System {
        let held = vec![HashMap::new(); net.blocks.len()];
        System { net, shape, l1s, banks, held }
    }

    /// What a cache holds of the lines.
    fn held(&mut self, state: &[u32], block: usize) -> Rc<[Held]> {
        let at = state[block];
        if let Some(known) = self.held[block].get(&at) {
            return known.clone();
        }
        let bank = self.banks.iter().position(|bank| *bank == block);
        let (sets, ways) = if bank.is_some() { self.shape.bank } else { self.shape.l1 };
        let config = self.net.world().config();
        let lines: Vec<u64> = (0..config.lines).map(|line| config.line(line)).collect();
        let mut all = Vec::new();
        for cell in 0..sets * ways {
            let (state, tag) = self.entry((block, bank.is_some()), at, cell);
            let inside = tag * u64::from(sets) + u64::from(cell / ways);
            let number = bank.map_or(inside, |bank| inside * self.banks.len() as u64 + bank as u64);
            let Some(line) = lines.iter().position(|line| *line == number).filter(|_| state != 0) else {
                continue;
            };
            let own = &mut self.net.blocks[block];
            let low = own.cell(at, LINES, cell);
            all.push(Held {
                line,
                state,
                mask: own.cell(at, MASKS, cell),
                words: [low as u32, (low >> 32) as u32],
            });
        }
        let all: Rc<[Held]> = all.into();
        self.held[block].insert(at, all.clone());
        all
    }

    /// State and tag of a cell of a cache.
    fn entry(&mut self, (block, is_bank): (usize, bool), at: u32, cell: u32) -> (u64, u64) {
        let own = &mut self.net.blocks[block];
        let tag = own.cell(at, TAGS, cell);
        if is_bank {
            let bits = self.shape.bank_tag_bits;
            return (tag >> bits, tag & ((1 << bits) - 1));
        }
        let third = THIRD[usize::from(self.shape.kind != Kind::Scoped)];
        let planes = [FULL, DIRTY, third].map(|plane| own.register(at, plane) >> cell & 1);
        (planes[0] | planes[1] << 1 | planes[2] << 2, tag)
    }

    /// The data that a plain load finds in an L1.
    fn in_l1(&mut self, state: &[u32], cu: usize, line: usize) -> Option<u32> {
        let owned = self.shape.kind == Kind::Writes;
        let all = self.held(state, self.l1s[cu]);
        let held = all.iter().find(|held| held.line == line)?;
        let there = match held.state {
            V | D => true,
            W => held.mask & DATA_BYTES == DATA_BYTES,
            O => owned,
            _ => false,
        };
        there.then_some(held.words[0])
    }

    /// The data that the L2 answers with.
    fn in_l2(&mut self, state: &[u32], line: usize) -> u32 {
        let all = self.held(state, self.banks[line % self.banks.len()]);
        let memory = self.net.world_of(state).lines[line][0];
        match all.iter().find(|held| held.line == line) {
            Some(held) if ABSENT.contains(&held.state) => memory,
            Some(held) if PARTIAL.contains(&held.state) && held.mask & DATA_BYTES != DATA_BYTES => memory,
            Some(held) => held.words[0],
            None => memory,
        }
    }

    /// The access that an action has brought to its end.
    fn answered(&self, before: &[u32], after: &[u32]) -> Option<(Place, Issued)> {
        let (before, after) = (self.net.world_of(before), self.net.world_of(after));
        let each =
            |wave: usize| after.waves[wave].iter().enumerate().map(move |(seq, of)| ((wave, seq), *of));
        let was_open = |(wave, seq): Place| before.waves[wave].get(seq).is_some_and(|issued| !issued.done);
        let mut fresh = (0..after.waves.len()).flat_map(each).filter(|(at, of)| of.done && was_open(*at));
        fresh.find(|(_, issued)| issued.op.synchronises())
    }

    /// All that the L1 had to write back or drop for an access is done when that is over: a wider scope, and
    /// not carried out in the L1 after all.
    fn leaves_l1(&self, op: Op) -> bool {
        let opt = matches!(&self.net.world().config().gpu, Gpu::Scoped(p) if p.l1.system == Impl::SrspOpt);
        let Op::Sync(_, sem, scope, _) = op else { return false };
        self.shape.kind == Kind::Scoped && sem != 0 && scope != Scope::Wg && !(opt && op.is_remote())
    }

    /// An access that synchronises is over: a load of its CU that comes next finds nothing old.
    fn check_next(&mut self, state: &[u32], (wave, seq): Place, op: Op) -> Result<(), String> {
        let cu = self.net.world().config().cu_of(wave);
        let below = self.leaves_l1(op) && op.acquires() && self.rests_below();
        for line in 0..self.net.world().config().lines {
            let (place, value) = match self.in_l1(state, cu, line) {
                Some(value) => ("its L1 has", value),
                None if below => ("the L2 has", self.in_l2(state, line)),
                None => continue,
            };
            let judge = self.net.world().judge(self.net.world_of(state));
            judge.load((wave, seq + 1), line, value).map_err(|text| {
                format!("{op} of wave {wave} is over, but of line {} {place} {text}", line_name(line))
            })?;
        }
        Ok(())
    }

    /// What a bank holds is complete: nothing of it is on its way to memory while another block works.
    fn rests_below(&self) -> bool {
        self.net.timing == Timing::Bursts
    }

    /// A release of a wider scope is over: the L1 has nothing dirty, the L2 nothing that is older than what
    /// is released.
    fn check_release(&mut self, state: &[u32], release: Place, op: Op) -> Result<(), String> {
        let wave = release.0;
        let cu = self.net.world().config().cu_of(wave);
        let own = self.held(state, self.l1s[cu]);
        let judge = self.net.world().judge(self.net.world_of(state));
        let dirty = |held: &&Held| [W, D].contains(&held.state) && held.mask & DATA_BYTES != 0;
        let mut kept = own.iter().filter(dirty);
        if let Some(held) = kept.find(|held| judge.covers(release, held.line, held.words[0])) {
            let name = line_name(held.line);
            return Err(format!("{op} of wave {wave} is over, but line {name} is dirty in its L1"));
        }
        for line in 0..self.net.world().config().lines {
            let value = self.in_l2(state, line);
            let judge = self.net.world().judge(self.net.world_of(state));
            judge.released(release, line, value).map_err(|text| {
                format!("{op} of wave {wave} is over, but the L2 has of line {} {text}", line_name(line))
            })?;
        }
        Ok(())
    }

    /// A remote release is over: no other L1 has what its variable held before.
    fn check_others(&mut self, state: &[u32], cu: usize, op: Op) -> Result<(), String> {
        for other in (0..self.l1s.len()).filter(|other| *other != cu) {
            let all = self.held(state, self.l1s[other]);
            let whole = |held: &&Held| held.line == op.line() && [V, D].contains(&held.state);
            let Some(held) = all.iter().find(whole) else { continue };
            let judge = self.net.world().judge(self.net.world_of(state));
            judge.variable(held.line, Some(held.words[1])).map_err(|_| {
                format!(
                    "{op} of CU {cu} is over, but the L1 of CU {other} has an older value of its variable"
                )
            })?;
        }
        Ok(())
    }

    fn check_answer(&mut self, state: &[u32], place: Place, issued: Issued) -> Result<(), String> {
        let op = issued.op;
        self.check_next(state, place, op)?;
        if op.releases() && self.leaves_l1(op) {
            if self.rests_below() {
                self.check_release(state, place, op)?;
            }
            if op.is_remote() && op.writes(issued.got) {
                self.check_others(state, self.net.world().config().cu_of(place.0), op)?;
            }
        }
        Ok(())
    }

    /// A line is registered to one L1 at most.
    fn check_owners(&mut self, state: &[u32]) -> Result<(), String> {
        let mut owners = HashMap::new();
        for cu in 0..self.l1s.len() {
            for held in self.held(state, self.l1s[cu]).iter().filter(|held| held.state == O) {
                if let Some(first) = owners.insert(held.line, cu) {
                    let name = line_name(held.line);
                    return Err(format!("line {name} is owned by the L1s of CU {first} and CU {cu}"));
                }
            }
        }
        Ok(())
    }
}

impl Told for System {
    fn act(&mut self, state: &[u32], action: u64, event: &mut Event) -> Result<Box<[u32]>, String> {
        let next = self.net.act(state, action, event)?;
        if self.l1s.contains(&event.block) {
            if let Some((place, issued)) = self.answered(state, &next) {
                self.check_answer(&next, place, issued)?;
            }
            if self.shape.kind != Kind::Scoped && state[event.block] != next[event.block] {
                self.check_owners(&next)?;
            }
        }
        Ok(next)
    }

    fn tell(&self, event: &Event) -> Vec<String> {
        self.net.tell(event)
    }

    fn story(&self, state: &[u32]) -> Vec<String> {
        self.net.story(state)
    }
}

/// A rule speaks of what is looked at.
fn looked_at(what: &What) -> bool {
    match what {
        What::Cells(name) | What::Cell(name, _) | What::Bits(name, ..) | What::Part(name, ..) => {
            [TAGS, MASKS, LINES].contains(&name.as_str())
        }
        What::Regs(name) | What::Flags(name) | What::Flag(name, _) | What::Span(name, ..) => {
            [FULL, DIRTY].contains(&name.as_str()) || THIRD.contains(&name.as_str())
        }
        What::Ring(_) => false,
    }
}

impl OfNet for System {
    type World = Cus;

    fn net(&mut self) -> &mut Net<Cus> {
        &mut self.net
    }

    /// Lines are looked at: they mean something unless their state says that there is none.
    fn guesses(netlist: &Netlist) -> Vec<Dead> {
        let mut list = guess::guesses(netlist);
        list.retain(|rule| !rule.what.iter().any(looked_at));
        let has = |name: &str| netlist.regs.iter().any(|reg| reg.path == name);
        let bit = |name: &str| When::Bit(name.to_string());
        let cells = |name: &str| What::Cells(name.to_string());
        let third = THIRD.into_iter().find(|name| has(name));
        if let Some(third) = third {
            let there = [bit(FULL), bit(DIRTY), bit(third)];
            list.extend([TAGS, LINES].map(|name| dead(&[cells(name)], &there)));
            list.push(dead(&[cells(MASKS)], &[bit(DIRTY)]));
        } else if let Some(tags) = netlist.mems.iter().find(|mem| mem.path == TAGS) {
            let lo = tags.lane_width - tags.fields.last().map_or(0, |(_, bits)| *bits);
            let state = |values| When::Cell(TAGS.into(), lo, tags.lane_width - lo, values);
            list.push(dead(&[cells(LINES), What::Bits(TAGS.into(), 0, lo)], &[state(Vec::new())]));
            let dirty = (0..1 << (tags.lane_width - lo)).filter(|code| masked(*code));
            list.push(dead(&[cells(MASKS)], &[state(dirty.collect())]));
        }
        list
    }

    fn restart(&mut self) {
        self.net.restart(|_| {});
        self.held.iter_mut().for_each(HashMap::clear);
    }
}

impl Space for System {
    fn start(&mut self) -> Result<Box<[u32]>, String> {
        self.net.start()
    }

    fn actions(&mut self, state: &[u32], out: &mut Vec<u64>) {
        self.net.actions(state, out);
    }

    fn next(&mut self, state: &[u32], action: u64) -> Result<Box<[u32]>, String> {
        self.act(state, action, &mut Event::default())
    }

    fn finished(&self, state: &[u32]) -> bool {
        self.net.finished(state)
    }
}
