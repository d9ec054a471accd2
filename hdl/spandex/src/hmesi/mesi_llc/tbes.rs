//! Transaction entries (TBEs) and the stall memory.
//!
//! ```text
//! REQ ---------------> Fetch --- memory ---+
//!   |                   ^                  v
//!   +----------------> Evict -> (goes on with its request) -> BusyX -> List -> free
//!   |                                                           ^      its stall list replays; a request
//!   +----------------> BusyX, BusyIib --------------------------+      that blocks again takes it along
//! ```
//! A TBE blocks its line and its way; while it evicts, also the line that is to come. Requests that find their line blocked, or no way that may be replaced, join its list: a FIFO linked
//! through the stall memory. Everything here is changed by stage 3, but for the messages still to be sent, which their unit ticks off.

use super::params::MesiLlcParams;
use super::types::*;
use crate::bank::entries::{Entries, each, marks, of};
use crate::bank::lists::{Ends, List, Lists};
use crate::hmesi::msg::HFwdOp;
use weft_rtl::prelude::*;

/// The entries.
pub(super) struct Tbes {
    pub entries: Entries<TbeKind, Held, Progress>,
    pub lists: Lists<Held>,
    /// Clients to which `fwd` is still to be sent.
    pub todo: Vec<Reg<Bits>>,
    fwd: Vec<Reg<Enum<HFwdOp>>>,
}

/// An entry's registers.
pub(super) struct Tbe {
    pub kind: Enum<TbeKind>,
    pub line: Bits,
    pub way: Bits,
    pub list: List,
    pub todo: Bits,
    pub fwd: Enum<HFwdOp>,
}

impl Tbes {
    /// Declares the entries, all free.
    pub fn new(p: &MesiLlcParams) -> Tbes {
        let (n, bank) = (p.bank.s.tbes, &p.bank);
        let (entries, listed, (ends, todo, fwd)) = Entries::new(
            bank,
            (p, p),
            || marks("tbe_listed", n),
            || (Ends::new(bank), each(n, "todo", &p.bank.s.clients()), each(n, "fwd", &())),
        );
        Tbes { entries, lists: Lists::new(bank, p, listed, ends), todo, fwd }
    }

    /// Entries with messages still to be sent.
    pub fn sending(&self) -> Bits {
        pack_bools(&self.todo.iter().map(|t| t.get().any()).collect::<Vec<_>>())
    }
    /// An entry.
    pub fn at(&self, index: Bits) -> Tbe {
        let (kind, line, way) = self.entries.registers(index);
        Tbe {
            kind,
            line,
            way,
            list: self.lists.at(index),
            todo: of(&self.todo, index),
            fwd: of(&self.fwd, index),
        }
    }
    /// The entry that answers of clients for a line are for.
    pub fn awaiting(&self, line: Bits) -> Bits {
        self.entries.those(|i| self.entries.line[i].get().eq(line))
    }

    /// Stage 3 begins a transaction in an entry, for a request, or goes on with one.
    pub fn begin(&self, index: Bits, request: &Held, b: &Begin) {
        self.entries.begin(index, request, &b.start, |i| {
            self.todo[i].set(b.todo);
            self.fwd[i].set(b.fwd);
        });
    }
    /// An entry's own request is done, its list begins to replay.
    pub fn to_list(&self, index: Bits) {
        self.entries.at(index, |i| self.entries.kind[i].set(enum_lit(TbeKind::List)));
    }
}
