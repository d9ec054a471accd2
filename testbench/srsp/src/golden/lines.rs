//! The lines of a cache: states, masks, data and tree-PLRU, shared by the models of L1 and L2 (srsp.md sections 4 and 5).

use super::word::Data;

/// State of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum State {
    /// Nothing.
    I,
    /// A fill is pending. At the L2: bytes of the mask are valid and dirty meanwhile.
    P,
    /// All bytes valid, none dirty.
    V,
    /// All bytes valid, those of the mask dirty.
    D,
    /// The bytes of the mask valid and dirty, no others valid.
    W,
    /// hLRC: registration pending.
    PR,
    /// hLRC: owned; the bytes of the mask written by atomics.
    O,
}

/// A frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    /// State.
    pub state: State,
    /// Line number.
    pub line: u64,
    /// Dirty bytes.
    pub mask: u64,
    /// The line.
    pub data: Data,
}

const EMPTY: Frame = Frame { state: State::I, line: 0, mask: 0, data: Data([0; 8]) };

impl Frame {
    /// Some byte must be written back by a pop or eviction.
    pub fn dirty(&self) -> bool {
        matches!(self.state, State::D | State::W)
    }
}

/// A set-associative array of lines; a power of two of sets and of ways.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lines {
    frames: Vec<Frame>,
    ways: usize,
    /// Per set the nodes of a binary tree, root at bit 1: 1 when the older half is the upper one.
    plru: Vec<u64>,
    /// Bits of a line number below the set index.
    skip: u32,
    /// Replacement is recorded (else the array must be so large that nothing is ever replaced, and states stay few).
    replaces: bool,
}

impl Lines {
    /// All invalid. The lowest `skip` bits of a line number do not choose the set.
    pub fn new(sets: usize, ways: usize, skip: u32, replaces: bool) -> Lines {
        Lines { frames: vec![EMPTY; sets * ways], ways, plru: vec![0; sets], skip, replaces }
    }
    fn set(&self, line: u64) -> usize {
        (line >> self.skip) as usize % self.plru.len()
    }
    fn range(&self, line: u64) -> std::ops::Range<usize> {
        let set = self.set(line);
        set * self.ways..(set + 1) * self.ways
    }
    /// Number of the frame that holds a line.
    pub fn find(&self, line: u64) -> Option<usize> {
        self.range(line).find(|i| self.frames[*i].state != State::I && self.frames[*i].line == line)
    }
    /// The frame that holds a line.
    pub fn get(&self, line: u64) -> Option<&Frame> {
        self.find(line).map(|i| &self.frames[i])
    }
    /// The same, to be changed.
    pub fn get_mut(&mut self, line: u64) -> Option<&mut Frame> {
        self.find(line).map(|i| &mut self.frames[i])
    }
    /// State of a line; I if it is absent.
    pub fn state(&self, line: u64) -> State {
        self.get(line).map_or(State::I, |frame| frame.state)
    }
    /// Drops a line.
    pub fn drop(&mut self, line: u64) {
        if let Some(i) = self.find(line) {
            self.frames[i] = EMPTY;
        }
    }
    /// All frames that hold something.
    pub fn iter(&self) -> impl Iterator<Item = &Frame> {
        self.frames.iter().filter(|frame| frame.state != State::I)
    }
    /// The same, to be changed; a frame becomes empty by [`Frame::state`] I.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Frame> {
        self.frames.iter_mut().filter(|frame| frame.state != State::I)
    }
    /// Clears what the frames of state I still hold, so that equal states are equal.
    pub fn tidy(&mut self) {
        self.frames.iter_mut().filter(|frame| frame.state == State::I).for_each(|frame| *frame = EMPTY);
    }
    /// The frame that a new line would take: the first in state I, else the oldest by the tree among those that `allowed` passes.
    pub fn victim(&self, line: u64, allowed: impl Fn(&Frame) -> bool) -> Option<usize> {
        let range = self.range(line);
        if let Some(free) = range.clone().find(|i| self.frames[*i].state == State::I) {
            return Some(free);
        }
        let tree = self.plru[self.set(line)];
        let ok = |way: usize| allowed(&self.frames[range.start + way]);
        let (mut node, mut low, mut size) = (1, 0, self.ways);
        if !(0..size).any(ok) {
            return None;
        }
        while size > 1 {
            size /= 2;
            let upper = tree >> node & 1 == 1;
            let half = if upper { low + size } else { low };
            let upper = if (half..half + size).any(ok) { upper } else { !upper };
            low += if upper { size } else { 0 };
            node = 2 * node + usize::from(upper);
        }
        Some(range.start + low)
    }
    /// The frames that a line may take.
    pub fn same_set(&self, line: u64) -> impl Iterator<Item = &Frame> {
        self.frames[self.range(line)].iter().filter(|frame| frame.state != State::I)
    }
    /// What is in a frame.
    pub fn frame(&self, at: usize) -> &Frame {
        &self.frames[at]
    }
    /// Puts a line into a frame.
    pub fn put(&mut self, at: usize, frame: Frame) {
        let line = frame.line;
        self.frames[at] = frame;
        self.touch(line);
    }
    /// A line has been used.
    pub fn touch(&mut self, line: u64) {
        let Some(at) = self.find(line).filter(|_| self.replaces) else { return };
        let set = self.set(line);
        let (mut node, mut size) = (1, self.ways);
        let mut way = at % self.ways;
        while size > 1 {
            size /= 2;
            let upper = way >= size;
            self.plru[set] = self.plru[set] & !(1 << node) | u64::from(!upper) << node;
            node = 2 * node + usize::from(upper);
            way -= if upper { size } else { 0 };
        }
    }
}
