//! The RDMA engine of a GPU (mgcc.md section 14): who waits for what of other GPUs, and which of them for what of this one.

/// Who asked for a line of another GPU: {txn, L1, line} of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The L1.
    pub l1: u64,
    /// Its transaction.
    pub txn: u64,
    /// Line number in the whole system.
    pub line: u64,
}

/// Which GPU asked for a line of this one, with its engine's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guest {
    /// The GPU.
    pub gpu: u64,
    /// Entry of its engine.
    pub entry: u64,
}

/// What an engine did that it must not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// There is no such entry or slot.
    Beyond,
    /// It is taken.
    Taken,
    /// It is free.
    Free,
    /// The line is one of this GPU's own, or nobody's.
    Place,
}

/// The engine of a GPU.
#[derive(Clone, Debug)]
pub struct Engine {
    own: u64,
    gpus: u64,
    /// Bits of a line number inside a GPU's memory.
    home_lines: u32,
    entries: Vec<Option<Entry>>,
    slots: Vec<Option<Guest>>,
}

fn put<T>(all: &mut [Option<T>], at: u64, value: T) -> Result<(), Fault> {
    let place = all.get_mut(at as usize).ok_or(Fault::Beyond)?;
    if place.replace(value).is_some() { Err(Fault::Taken) } else { Ok(()) }
}

fn take<T>(all: &mut [Option<T>], at: u64) -> Result<T, Fault> {
    all.get_mut(at as usize).ok_or(Fault::Beyond)?.take().ok_or(Fault::Free)
}

impl Engine {
    /// The engine of GPU `own`.
    pub fn new(own: u64, gpus: u64, home_lines: u32, entries: usize, slots: usize) -> Engine {
        Engine {
            own,
            gpus,
            home_lines,
            entries: vec![None; entries],
            slots: (0..slots).map(|_| None).collect(),
        }
    }

    /// Requests under way to other GPUs.
    pub fn open(&self) -> usize {
        self.entries.iter().flatten().count()
    }

    /// Requests of other GPUs under way here.
    pub fn guests(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// An L1's request leaves with an entry: to which GPU, and as which line of its memory.
    ///
    /// # Errors
    /// An entry that is taken, a line that no other GPU owns.
    pub fn asks(&mut self, entry: u64, what: Entry) -> Result<(u64, u64), Fault> {
        let (owner, inside) = (what.line >> self.home_lines, what.line & ((1 << self.home_lines) - 1));
        if owner == self.own || owner >= self.gpus {
            return Err(Fault::Place);
        }
        put(&mut self.entries, entry, what)?;
        Ok((owner, inside))
    }

    /// The answer to an entry comes: who gets it.
    ///
    /// # Errors
    /// An entry that nobody has taken.
    pub fn answered(&mut self, entry: u64) -> Result<Entry, Fault> {
        take(&mut self.entries, entry)
    }

    /// Another GPU's request goes to a bank with a slot: as which line of the whole system.
    ///
    /// # Errors
    /// A slot that is taken, a GPU that is this one.
    pub fn serves(&mut self, slot: u64, guest: Guest, inside: u64) -> Result<u64, Fault> {
        if guest.gpu == self.own || guest.gpu >= self.gpus {
            return Err(Fault::Place);
        }
        put(&mut self.slots, slot, guest)?;
        Ok(self.own << self.home_lines | inside)
    }

    /// A bank answers a slot: who gets it.
    ///
    /// # Errors
    /// A slot that nobody has taken.
    pub fn served(&mut self, slot: u64) -> Result<Guest, Fault> {
        take(&mut self.slots, slot)
    }
}
