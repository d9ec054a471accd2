//! Transaction entries (TBEs) and the stall memory.
//!
//! ```text
//! REQ_g --+-------------------------> Fill ---- L3 ----+
//!         |                            ^               |
//!         +--> Evict -- all back ------+               +-> (its request commits) -> free, or Put -- WBAck -> free
//!         |                                            |
//!         +--> Phase1 - all back ----------------------+
//! FWD ------> Revoke - all back -> (the forward is answered) -> free
//! ```
//! A TBE blocks its line and its way; while it evicts, also the line that is to come. When the line replaced has gone to the TBE's buffer, with a Put under way (MI, II), its way is the next
//! line's, and both lines are blocked. Everything here is changed by stage 3, but for the messages still to be sent, which their units tick off.

use super::params::GpuL2Params;
use super::stalls::Stalls;
use super::types::*;
use crate::bank::entries::{Entries, File, Start, each, left, of, set_of};
use weft_rtl::prelude::*;

/// The entries.
pub(super) struct Tbes {
    pub entries: Entries<TbeKind, Held, Progress>,
    getting: Vec<Reg<Enum<Getting>>>,
    leaving: Vec<Reg<Enum<Leaving>>>,
    /// The line that leaves; it was written.
    leaver: Vec<Reg<Bits>>,
    leaver_dirty: Vec<Reg<Bool>>,
    /// GetS or GetM is still to be sent.
    pub todo_get: Vec<Reg<Bool>>,
    /// Put is still to be sent.
    pub todo_put: Vec<Reg<Bool>>,
    /// Words for which a revocation is still to be sent.
    pub todo_rv: Vec<Reg<Bits>>,
    /// Owners of an entry's words when it began.
    pub owners: File<Bits>,
    /// Words of the line that leaves.
    pub buffer: File<Bits>,
    /// The stall memory.
    pub stalls: Stalls,
}

/// An entry's registers.
pub(super) struct Tbe {
    pub kind: Enum<TbeKind>,
    pub line: Bits,
    pub way: Bits,
    pub getting: Enum<Getting>,
    pub leaving: Enum<Leaving>,
    pub leaver: Bits,
    pub leaver_dirty: Bool,
    /// Revocations of it are still to be sent.
    pub sends: Bool,
}

/// What a cycle leaves in an entry.
pub(super) struct Left {
    pub kind: Enum<TbeKind>,
    pub getting: Enum<Getting>,
    pub leaving: Enum<Leaving>,
}

/// How stage 3 begins a transaction, or goes on with one.
pub(super) struct Begin {
    pub start: Start<TbeKind, Progress>,
    pub getting: Enum<Getting>,
    pub owners: Bits,
    /// A line leaves with it.
    pub puts: Bool,
    pub leaver: Bits,
    pub leaver_dirty: Bool,
    pub data: Bits,
}

impl Tbes {
    /// Declares the entries, all free.
    pub fn new(p: &GpuL2Params) -> Tbes {
        let (n, s) = (p.bank.s.tbes, &p.bank.s);
        let coming = || (each(n, "getting", &()), each(n, "leaving", &()));
        let leaver = || (each(n, "leaver", &s.line_bits()), each(n, "leaver_dirty", &()));
        let todo = || (each(n, "todo_get", &()), each(n, "todo_put", &()), each(n, "todo_rv", &s.words()));
        let registers = || (coming(), leaver(), todo());
        let (entries, (), registers) = Entries::new(&p.bank, (s, p), || (), registers);
        let ((getting, leaving), (leaver, leaver_dirty), (todo_get, todo_put, todo_rv)) = registers;
        Tbes {
            entries,
            getting,
            leaving,
            leaver,
            leaver_dirty,
            todo_get,
            todo_put,
            todo_rv,
            owners: File::new("tbe_owners", n, &(s.words() * s.dev_bits())),
            buffer: File::new("tbe_buffer", n, &s.data_bits()),
            stalls: Stalls::new(p),
        }
    }

    /// Entries with a line that leaves.
    pub fn leaving(&self) -> Bits {
        self.entries.those(|i| !self.leaving[i].get().is(Leaving::No))
    }
    /// Entries with revocations still to be sent.
    pub fn revoking_now(&self) -> Bits {
        pack_bools(&self.todo_rv.iter().map(|r| r.get().any()).collect::<Vec<_>>())
    }

    /// An entry.
    pub fn at(&self, index: Bits) -> Tbe {
        let (kind, line, way) = self.entries.registers(index);
        Tbe {
            kind,
            line,
            way,
            getting: of(&self.getting, index),
            leaving: of(&self.leaving, index),
            leaver: of(&self.leaver, index),
            leaver_dirty: of(&self.leaver_dirty, index),
            sends: self.revoking_now().bit_at(index),
        }
    }
    /// Calls `use_it` with what an entry is after this cycle: its kind, the line that comes, the line that leaves.
    pub fn on_left(&self, index: Bits, use_it: impl FnOnce(&Left) + 'static) {
        let (kinds, getting, leaving) =
            (self.entries.kind.clone(), self.getting.clone(), self.leaving.clone());
        after_cycle(move |after| {
            use_it(&Left {
                kind: left(after, &kinds, index),
                getting: left(after, &getting, index),
                leaving: left(after, &leaving, index),
            });
        });
    }

    /// Entries that block a line for requests.
    pub fn blocking(&self, line: Bits) -> Bits {
        let leaves = |i: usize| self.leaver[i].get().eq(line) & !self.leaving[i].get().is(Leaving::No);
        self.entries.those(|i| self.entries.blocks(i, line) | leaves(i))
    }
    /// Entries that revoke words of a line.
    pub fn revoking(&self, line: Bits) -> Bits {
        self.entries.revoking(line, &[TbeKind::Phase1, TbeKind::Evict, TbeKind::Revoke])
    }
    /// Entries that block a way of a set.
    pub fn of_set(&self, set: Bits) -> Bits {
        let sets = self.entries.sets();
        self.entries.those(|i| sets[i].eq(set) & !self.entries.kind[i].get().is(TbeKind::Put))
    }

    /// Stage 3 begins a transaction in an entry, for a request or a forward.
    pub fn begin(&self, index: Bits, request: &Held, b: &Begin) {
        self.entries.begin(index, request, &b.start, |i| {
            self.getting[i].set(b.getting);
            self.leaving[i].set(mux(b.puts, enum_lit(Leaving::Mi), enum_lit(Leaving::No)));
            self.leaver[i].set(b.leaver);
            self.leaver_dirty[i].set(b.leaver_dirty);
            self.todo_get[i].set(b.start.kind.is(TbeKind::Fill));
            self.todo_put[i].set(b.puts);
            self.todo_rv[i].set(b.start.progress.rv);
        });
        self.owners.write(index, &b.owners);
        self.buffer.write(index, &b.data);
    }
    /// The state of the line that comes changes.
    pub fn set_getting(&self, index: Bits, getting: Getting) {
        set_of(&self.getting, index, enum_lit(getting));
    }
    /// The state of the line that leaves changes.
    pub fn set_leaving(&self, index: Bits, leaving: Leaving) {
        set_of(&self.leaving, index, enum_lit(leaving));
    }
    /// An entry's request is done: it blocks only the line that leaves.
    pub fn to_put(&self, index: Bits) {
        let Entries { kind, line, wants, .. } = &self.entries;
        self.entries.at(index, |i| {
            kind[i].set(enum_lit(TbeKind::Put));
            line[i].set(self.leaver[i].get());
            wants[i].set(self.leaver[i].get());
        });
    }
}
