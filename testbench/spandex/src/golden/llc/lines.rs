//! Lines of a bank with their state, and tree-PLRU (spandex.md sections 4.1, 4.2).

use super::super::msg::{Data, Mask, words};

/// A line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    /// Line number.
    pub line: u32,
    /// State S, else V.
    pub shared: bool,
    /// Owned words.
    pub owned: Mask,
    /// Sharers, one bit per device.
    pub sharers: u64,
    /// Newer than memory.
    pub dirty: bool,
    /// Words; the owner's number in owned ones.
    pub data: Data,
}

impl Frame {
    /// Nobody has anything of it.
    pub fn new(line: u32) -> Frame {
        Frame { line, shared: false, owned: 0, sharers: 0, dirty: false, data: Data::default() }
    }
    /// Words owned by a device.
    pub fn owned_by(&self, dev: u8) -> Mask {
        let mine = words(self.owned).filter(|word| self.data.0[*word] == u32::from(dev));
        mine.fold(0, |mask, word| mask | 1 << word)
    }
    /// Owners of some words, each with those of them it owns.
    pub fn owners(&self, targets: Mask) -> Vec<(u8, Mask)> {
        let mut out: Vec<(u8, Mask)> = Vec::new();
        for word in words(self.owned & targets) {
            let dev = self.data.0[word] as u8;
            match out.iter_mut().find(|owner| owner.0 == dev) {
                Some(owner) => owner.1 |= 1 << word,
                None => out.push((dev, 1 << word)),
            }
        }
        out
    }
    /// A device owns some words.
    pub fn own(&mut self, mask: Mask, dev: u8) {
        self.owned |= mask;
        self.data.merge(mask, &Data::fill(mask, u32::from(dev)));
    }
    /// Nobody has an S copy any more.
    pub fn unshare(&mut self) {
        self.shared = false;
        self.sharers = 0;
    }
}

/// All lines of a bank.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lines {
    banks: u32,
    ways: usize,
    frames: Vec<Option<Frame>>,
    /// Per set one bit per inner node of the tree, node i above 2i and 2i+1; 1 points to the upper half.
    tree: Vec<u32>,
}

impl Lines {
    /// None present.
    pub fn new(banks: u32, sets: usize, ways: usize) -> Lines {
        Lines { banks, ways, frames: vec![None; sets * ways], tree: vec![0; sets] }
    }
    fn set(&self, line: u32) -> usize {
        (line / self.banks) as usize % self.tree.len()
    }
    /// Where a line is.
    pub fn find(&self, line: u32) -> Option<usize> {
        self.frames.iter().position(|frame| frame.is_some_and(|frame| frame.line == line))
    }
    /// What is at a place.
    pub fn frame(&self, at: usize) -> Option<&Frame> {
        self.frames[at].as_ref()
    }
    /// What is at a place.
    pub fn frame_mut(&mut self, at: usize) -> Option<&mut Frame> {
        self.frames[at].as_mut()
    }
    /// All lines.
    pub fn iter(&self) -> impl Iterator<Item = &Frame> {
        self.frames.iter().flatten()
    }
    /// Puts a line in a place.
    pub fn put(&mut self, at: usize, frame: Frame) {
        self.frames[at] = Some(frame);
        self.touch(at);
    }
    /// Empties a place.
    pub fn clear(&mut self, at: usize) {
        self.frames[at] = None;
    }
    /// It was used.
    pub fn touch(&mut self, at: usize) {
        let (set, way) = (at / self.ways, at % self.ways);
        let (mut node, mut half) = (1, self.ways / 2);
        while half > 0 {
            let upper = way / half % 2 == 1;
            self.tree[set] = self.tree[set] & !(1 << node) | u32::from(!upper) << node;
            node = 2 * node + usize::from(upper);
            half /= 2;
        }
    }
    /// A place for a line: a free way; else the one that the tree names among those allowed that have no owned words and no sharers; else among all allowed.
    pub fn victim(&self, line: u32, allowed: impl Fn(&Frame) -> bool) -> Option<usize> {
        let set = self.set(line);
        let ways = set * self.ways..(set + 1) * self.ways;
        if let Some(free) = ways.clone().find(|at| self.frames[*at].is_none()) {
            return Some(free);
        }
        let bits = |pass: &dyn Fn(&Frame) -> bool| {
            let good = ways
                .clone()
                .filter(|at| self.frames[*at].is_some_and(|frame| allowed(&frame) && pass(&frame)));
            good.fold(0u64, |bits, at| bits | 1 << (at - ways.start))
        };
        let quiet = bits(&|frame| frame.owned == 0 && !frame.shared);
        let all = bits(&|_| true);
        let from = if quiet != 0 { quiet } else { all };
        (from != 0).then(|| ways.start + self.walk(set, from))
    }
    /// Down the tree, to the other side where the named one has no allowed way.
    fn walk(&self, set: usize, from: u64) -> usize {
        let (mut node, mut low, mut size) = (1, 0, self.ways);
        while size > 1 {
            size /= 2;
            let half = |at: usize| from >> at & ((1u64 << size) - 1) != 0;
            let wanted = self.tree[set] >> node & 1 == 1;
            let upper = if wanted { half(low + size) } else { !half(low) };
            low += if upper { size } else { 0 };
            node = 2 * node + usize::from(upper);
        }
        low
    }
}
