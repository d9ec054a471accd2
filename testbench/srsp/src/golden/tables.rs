//! The small structures of srsp.md section 4, exact.

use std::collections::VecDeque;

/// sFIFO: the order in which lines became dirty and releases were made. An entry's index is its place in the ring.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SFifo {
    ring: VecDeque<u64>,
    head: usize,
    size: usize,
}

impl SFifo {
    /// Empty, head at 0.
    pub fn new(size: usize) -> SFifo {
        SFifo { ring: VecDeque::new(), head: 0, size }
    }
    /// No entry is free.
    pub fn full(&self) -> bool {
        self.ring.len() == self.size
    }
    /// Live entries.
    pub fn len(&self) -> usize {
        self.ring.len()
    }
    /// No entry is live.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }
    /// Oldest line.
    pub fn head(&self) -> Option<u64> {
        self.ring.front().copied()
    }
    /// Live entries from the oldest: {index, line}.
    pub fn entries(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.ring.iter().enumerate().map(|(i, line)| ((self.head + i) % self.size, *line))
    }
    /// Appends a line: its index.
    ///
    /// # Panics
    /// It is full.
    pub fn push(&mut self, line: u64) -> usize {
        assert!(!self.full(), "push on a full sFIFO");
        self.ring.push_back(line);
        (self.head + self.ring.len() - 1) % self.size
    }
    /// Removes the oldest entry: {index, line}.
    pub fn pop(&mut self) -> Option<(usize, u64)> {
        let line = self.ring.pop_front()?;
        let index = self.head;
        self.head = (self.head + 1) % self.size;
        Some((index, line))
    }
    /// How many pops it takes until the entry of this index has been popped.
    pub fn distance(&self, index: usize) -> usize {
        (index + self.size - self.head) % self.size + 1
    }
}

/// LR-TBL: addresses of local releases, each with the sFIFO entry that marks how far a flush must go. Word addresses.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct LrTbl(Vec<(u64, usize)>);

impl LrTbl {
    /// sFIFO index of an address.
    pub fn find(&self, addr: u64) -> Option<usize> {
        self.0.iter().find(|entry| entry.0 == addr).map(|entry| entry.1)
    }
    /// Inserts or moves an entry.
    pub fn set(&mut self, addr: u64, ptr: usize) {
        match self.0.iter_mut().find(|entry| entry.0 == addr) {
            Some(entry) => entry.1 = ptr,
            None => {
                self.0.push((addr, ptr));
                self.0.sort_unstable();
            }
        }
    }
    /// The sFIFO entry of this index was popped.
    pub fn popped(&mut self, ptr: usize) {
        self.0.retain(|entry| entry.1 != ptr);
    }
    /// Empties it.
    pub fn clear(&mut self) {
        self.0.clear();
    }
    /// {address, sFIFO index} of all entries, by address.
    pub fn entries(&self) -> &[(u64, usize)] {
        &self.0
    }
}

/// sFIFO and LR-TBL of an L1: pops of the one clear entries of the other. Two are equal in a hash when they differ by a rotation of the ring only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Releases {
    /// sFIFO.
    pub sfifo: SFifo,
    /// LR-TBL.
    pub lr: LrTbl,
}

impl std::hash::Hash for Releases {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.sfifo.ring.hash(state);
        self.lr.0.iter().for_each(|(addr, ptr)| (addr, self.sfifo.distance(*ptr)).hash(state));
    }
}

/// PA-TBL: word addresses whose next local acquire is promoted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PaTbl {
    addrs: Vec<u64>,
    size: usize,
}

impl PaTbl {
    /// Empty.
    pub fn new(size: usize) -> PaTbl {
        PaTbl { addrs: Vec::new(), size }
    }
    /// The address is there.
    pub fn has(&self, addr: u64) -> bool {
        self.addrs.contains(&addr)
    }
    /// An address that is absent finds no free entry.
    pub fn full(&self) -> bool {
        self.addrs.len() == self.size
    }
    /// Inserts an address, unless it is there already.
    ///
    /// # Panics
    /// It is full and the address absent.
    pub fn insert(&mut self, addr: u64) {
        if !self.has(addr) {
            assert!(!self.full(), "insertion into a full PA-TBL");
            self.addrs.push(addr);
            self.addrs.sort_unstable();
        }
    }
    /// Empties it.
    pub fn clear(&mut self) {
        self.addrs.clear();
    }
    /// All entries, ascending.
    pub fn entries(&self) -> &[u64] {
        &self.addrs
    }
}

/// What a WBT entry waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pending {
    /// Line number.
    pub line: u64,
    /// Fence epoch it was sent in.
    pub epoch: bool,
    /// hLRC: UNREG_ACK, not WB_ACK.
    pub unreg: bool,
}

/// WBT: write-backs that wait for their acknowledgement.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Wbt(Vec<Option<Pending>>);

impl Wbt {
    /// Empty.
    pub fn new(size: usize) -> Wbt {
        Wbt(vec![None; size])
    }
    /// An entry is free.
    pub fn free(&self) -> bool {
        self.0.iter().any(Option::is_none)
    }
    /// No entry is used.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
    /// Takes the first free entry: its number.
    ///
    /// # Panics
    /// None is free.
    pub fn take(&mut self, pending: Pending) -> u8 {
        let free = self.0.iter().position(Option::is_none);
        let Some(at) = free else { panic!("no WBT entry is free") };
        self.0[at] = Some(pending);
        at as u8
    }
    /// Acknowledged.
    pub fn release(&mut self, at: u8) -> Option<Pending> {
        self.0.get_mut(usize::from(at)).and_then(Option::take)
    }
    /// Some write-back of this line is under way.
    pub fn has(&self, line: u64) -> bool {
        self.0.iter().flatten().any(|pending| pending.line == line)
    }
    /// All that is under way.
    pub fn iter(&self) -> impl Iterator<Item = &Pending> {
        self.0.iter().flatten()
    }
}

/// aff_cache: who has answered a SEL_FLUSH of this address with a hit (section 5.3). Direct mapped, full word address as tag.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Aff(Vec<Option<(u64, u8)>>);

impl Aff {
    /// Empty, with 0 or a power of two of entries.
    pub fn new(entries: usize) -> Aff {
        Aff(vec![None; entries])
    }
    /// `addr[6+k-1:6] ^ addr[5:2]` of the byte address.
    fn index(&self, addr: u64) -> usize {
        ((addr >> 6 ^ (addr >> 2 & 0xf)) as usize) % self.0.len()
    }
    /// The CU held for a byte address.
    pub fn find(&self, addr: u64) -> Option<u8> {
        if self.0.is_empty() {
            return None;
        }
        self.0[self.index(addr)].filter(|entry| entry.0 == addr >> 2).map(|entry| entry.1)
    }
    /// Writes {address, CU}.
    pub fn set(&mut self, addr: u64, cu: u8) {
        if !self.0.is_empty() {
            let index = self.index(addr);
            self.0[index] = Some((addr >> 2, cu));
        }
    }
    /// Empties it.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|entry| *entry = None);
    }
}

/// lock_tbl of a bank: lines locked by remote operations.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LockTbl {
    locks: Vec<(u64, u8)>,
    size: usize,
}

impl LockTbl {
    /// Empty.
    pub fn new(size: usize) -> LockTbl {
        LockTbl { locks: Vec::new(), size }
    }
    /// Who has locked a line.
    pub fn owner(&self, line: u64) -> Option<u8> {
        self.locks.iter().find(|lock| lock.0 == line).map(|lock| lock.1)
    }
    /// Another lock has no place.
    pub fn full(&self) -> bool {
        self.locks.len() == self.size
    }
    /// Locks a line.
    ///
    /// # Panics
    /// It is locked already, or the table is full.
    pub fn lock(&mut self, line: u64, owner: u8) {
        assert!(!self.full() && self.owner(line).is_none(), "line {line:#x} cannot be locked");
        self.locks.push((line, owner));
        self.locks.sort_unstable();
    }
    /// Unlocks a line.
    pub fn unlock(&mut self, line: u64) {
        self.locks.retain(|lock| lock.0 != line);
    }
    /// {line, owner} of all locks.
    pub fn entries(&self) -> &[(u64, u8)] {
        &self.locks
    }
}
