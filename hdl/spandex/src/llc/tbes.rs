//! Transaction entries (TBEs) and the stall memory.
//!
//! ```text
//! REQ ---------------> Fill ---- memory ----+
//!   |                   ^                   |
//!   +----------------> Evict -- all back ---+-> (its request commits) -> List -> free
//!   |                                       |     ^   its stall list replays; a request
//!   +----------------> Phase1 - all back ---+     +-- that blocks again takes it along
//! ```
//! A TBE blocks its line and its way; while it evicts, also the line that is to come. Requests that find their line blocked, or no way that may be replaced, join its list: a FIFO linked
//! through the stall memory. Everything here is changed by stage 3, but for the messages still to be sent, which their unit ticks off.

use super::params::LlcParams;
use super::types::*;
use crate::bank::entries::{Entries, File, Start, each, marks};
use crate::bank::lists::{Ends, List, Lists};
use weft_rtl::prelude::*;

/// The entries.
pub(super) struct Tbes {
    pub entries: Entries<TbeKind, Held, Progress>,
    pub lists: Lists<Held>,
    /// Devices to which Inv is still to be sent.
    pub todo_inv: Vec<Reg<Bits>>,
    /// Words for which a revocation is still to be sent.
    pub todo_rv: Vec<Reg<Bits>>,
    /// Owners of an entry's words when it began.
    pub owners: File<Bits>,
}

/// An entry's registers.
pub(super) struct Tbe {
    pub kind: Enum<TbeKind>,
    pub line: Bits,
    pub way: Bits,
    pub list: List,
    /// Messages of it are still to be sent.
    pub sends: Bool,
}

/// How stage 3 begins a transaction, or goes on with one.
pub(super) struct Begin {
    pub start: Start<TbeKind, Progress>,
    pub owners: Bits,
    /// Acks count as come (a fault put in on purpose).
    pub acked: bool,
}

impl Tbes {
    /// Declares the entries, all free.
    pub fn new(p: &LlcParams) -> Tbes {
        let (n, bank) = (p.bank.s.tbes, &p.bank);
        let registers = || {
            let ends = Ends::new(bank);
            (ends, each(n, "todo_inv", &p.sharing()), each(n, "todo_rv", &p.bank.s.words()))
        };
        let listed = || marks("tbe_listed", n);
        let (entries, listed, (ends, todo_inv, todo_rv)) =
            Entries::new(bank, (&p.bank.s, p), listed, registers);
        let owners = File::new("tbe_owners", n, &(p.bank.s.words() * p.bank.s.dev_bits()));
        Tbes { entries, lists: Lists::new(bank, &p.bank.s, listed, ends), todo_inv, todo_rv, owners }
    }

    /// Entries with messages still to be sent.
    pub fn sending(&self) -> Bits {
        let todo: Vec<Bool> =
            self.todo_inv.iter().zip(&self.todo_rv).map(|(i, r)| i.get().any() | r.get().any()).collect();
        pack_bools(&todo)
    }
    /// An entry.
    pub fn at(&self, index: Bits) -> Tbe {
        let (kind, line, way) = self.entries.registers(index);
        Tbe { kind, line, way, list: self.lists.at(index), sends: self.sending().bit_at(index) }
    }
    /// Entries that revoke words of a line.
    pub fn revoking(&self, line: Bits) -> Bits {
        self.entries.revoking(line, &[TbeKind::Phase1, TbeKind::Evict])
    }

    /// Stage 3 begins a transaction in an entry, for a request.
    pub fn begin(&self, index: Bits, request: &Held, b: &Begin) {
        let asked = b.start.progress;
        let none = lit_bv(Bv::zero(asked.ack.width()));
        let ack = if b.acked { none } else { asked.ack };
        let start = Start { progress: Progress { ack, ..asked }, ..b.start };
        self.entries.begin(index, request, &start, |i| {
            self.todo_inv[i].set(asked.ack);
            self.todo_rv[i].set(asked.rv);
        });
        self.owners.write(index, &b.owners);
    }
    /// An entry's own request is done, its list begins to replay: it blocks the line that it asked for.
    pub fn to_list(&self, index: Bits) {
        let Entries { kind, line, wants, .. } = &self.entries;
        self.entries.at(index, |i| {
            kind[i].set(enum_lit(TbeKind::List));
            line[i].set(wants[i].get());
        });
    }
}
