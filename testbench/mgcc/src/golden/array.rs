//! The lines of a cache: tags, states, stamps, data and exact LRU, shared by the models of L1 and L2 (mgcc.md sections 3 and 4).

use super::msg::Data;

/// State of a way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// Nothing.
    Invalid,
    /// A block; readable while its lease lasts.
    Valid,
    /// Locked by a write in flight: neither readable nor evictable.
    Locked,
}

/// A way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Way {
    /// State.
    pub state: State,
    /// Line number.
    pub line: u64,
    /// Write timestamp.
    pub wts: u64,
    /// Read timestamp.
    pub rts: u64,
    /// The line, with own writes merged.
    pub data: Data,
}

const EMPTY: Way = Way { state: State::Invalid, line: 0, wts: 0, rts: 0, data: Data([0; 64]) };

/// Where a way is: {set, way}.
pub type Place = (usize, usize);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Set {
    ways: Vec<Way>,
    /// Ways, most recently used first.
    order: Vec<usize>,
}

/// A set-associative array of lines. The caller says which set a line is in.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Array {
    sets: Vec<Set>,
}

impl Array {
    /// All ways invalid.
    pub fn new(sets: usize, ways: usize) -> Array {
        Array { sets: vec![Set { ways: vec![EMPTY; ways], order: (0..ways).collect() }; sets] }
    }
    /// Sets.
    pub fn sets(&self) -> usize {
        self.sets.len()
    }
    /// Place of a line: its tag matches and the way is not invalid.
    pub fn find(&self, set: usize, line: u64) -> Option<Place> {
        let matching = |way: &Way| way.state != State::Invalid && way.line == line;
        self.sets[set].ways.iter().position(matching).map(|way| (set, way))
    }
    /// A way.
    pub fn way(&self, (set, way): Place) -> &Way {
        &self.sets[set].ways[way]
    }
    /// A way, to be changed.
    pub fn way_mut(&mut self, (set, way): Place) -> &mut Way {
        &mut self.sets[set].ways[way]
    }
    /// Makes a way the most recently used of its set.
    pub fn touch(&mut self, (set, way): Place) {
        let order = &mut self.sets[set].order;
        order.retain(|other| *other != way);
        order.insert(0, way);
    }
    /// Where a new line goes: the first invalid way, else the least recently used of those that `prefer` names, else the least recently used; never a locked way or one
    /// whose line is `busy`.
    pub fn victim(
        &self,
        set: usize,
        prefer: impl Fn(&Way) -> bool,
        busy: impl Fn(u64) -> bool,
    ) -> Option<Place> {
        let Set { ways, order } = &self.sets[set];
        if let Some(way) = ways.iter().position(|way| way.state == State::Invalid) {
            return Some((set, way));
        }
        let oldest = || {
            let free = |way: &&usize| ways[**way].state == State::Valid && !busy(ways[**way].line);
            order.iter().rev().filter(free)
        };
        let way = oldest().find(|way| prefer(&ways[**way])).or_else(|| oldest().next())?;
        Some((set, *way))
    }
    /// Every valid block becomes invalid; locked ones stay.
    pub fn sweep(&mut self) {
        let ways = self.sets.iter_mut().flat_map(|set| &mut set.ways);
        ways.filter(|way| way.state == State::Valid).for_each(|way| *way = EMPTY);
    }
    /// A way becomes invalid.
    pub fn clear(&mut self, place: Place) {
        *self.way_mut(place) = EMPTY;
    }
    /// All ways that hold something.
    pub fn iter(&self) -> impl Iterator<Item = &Way> {
        self.sets.iter().flat_map(|set| &set.ways).filter(|way| way.state != State::Invalid)
    }
}
