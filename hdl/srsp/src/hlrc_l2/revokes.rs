//! Revocations under way: which lines are asked back, for whom, and what has come of it; in DeNovo-B also reads of lines at their owners.
//!
//! An entry lives from the REVOKE to its REVOKE_ACK. The REVOKE itself waits as long as an answer would; there is room for one of each entry, so that sending one never waits.

use super::params::{HlrcL2Params, Registered};
use crate::bank::{Bank, ripening};
use crate::entries::Entries;
use crate::heads::Flags;
use crate::msg::{OwnerOp, OwnerProbe, Probe, ProbeOp};
use weft_blocks::common::fifo::Fifo;
use weft_rtl::prelude::*;

/// A line that is asked back.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
pub(super) struct Revocation {
    #[width(p.srsp.line_bits())]
    pub line: Bits,
    /// A registration waits for it, else it is a recall.
    pub asked: Bool,
    /// Who registers, and with which MSHR.
    #[width(p.srsp.cu_bits())]
    pub src: Bits,
    #[width(p.srsp.mshr_bits())]
    pub mshr: Bits,
    /// An UNREG has come instead, of this WBT entry, which is not acknowledged yet.
    pub owes: Bool,
    #[width(p.srsp.wbt_bits())]
    pub wbt: Bits,
    /// It was acknowledged.
    pub acked: Bool,
}

/// A REVOKE on its way out.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Bank)]
struct Sent {
    #[width(p.srsp.line_bits())]
    line: Bits,
    #[width(p.srsp.cu_bits())]
    dst: Bits,
}

/// What is known of a line.
pub(super) struct Found {
    /// It is asked back.
    pub hit: Bool,
    /// Its entries; at most one.
    pub entries: Bits,
    pub index: Bits,
    pub row: Revocation,
    /// DeNovo-B: the owner is asked for its bytes alone.
    pub reads: Option<Bool>,
}

/// Which entries are reads of lines at their owners, and which messages on their way out are READs: what else is kept of a read is that of a revocation.
struct Reads {
    entries: Flags,
    sent: Fifo<Bool>,
}

/// The channel to the L1s, in DeNovo-B with what is read.
enum Out {
    Revokes(OutChannel<Probe>),
    Both(OutChannel<OwnerProbe>, Box<Reads>),
}

/// The revocations of a bank.
pub(super) struct Revokes {
    bank: Bank,
    rows: Entries<Revocation>,
    sent: Fifo<Sent>,
    sends: Wire<Bool>,
    ripe: Reg<Bits>,
    out: Out,
}

/// Cycles from a message's arrival to its REVOKE at the output that the stages themselves take.
const STAGES: u32 = 3;

impl Out {
    fn new(p: &HlrcL2Params) -> Out {
        match p.registered {
            Registered::Atomics => Out::Revokes(out_channel::<Probe>("probe", &p.bank.srsp)),
            Registered::Writes => {
                let entries = Flags::new("revokes_read", p.revokes);
                let sent = Fifo::new("revokes_sent_read", p.revokes, &());
                Out::Both(out_channel::<OwnerProbe>("probe", &p.bank.srsp), Box::new(Reads { entries, sent }))
            }
        }
    }

    fn free(&self) -> Bool {
        match self {
            Out::Revokes(probe) => probe.free,
            Out::Both(probe, _) => probe.free,
        }
    }

    /// Sends a REVOKE, or a READ, to the owner of a line.
    fn send(&self, addr: Bits, req: Bits) {
        match self {
            Out::Revokes(probe) => probe.send(&Probe { op: enum_lit(ProbeOp::Revoke), addr, req }),
            Out::Both(probe, reads) => {
                let op = mux(reads.sent.head, enum_lit(OwnerOp::Read), enum_lit(OwnerOp::Revoke));
                probe.send(&OwnerProbe { op, addr, req });
                reads.sent.pop();
            }
        }
    }
}

impl Revokes {
    /// DeNovo-B: what is read.
    fn reads(&self) -> Option<&Reads> {
        match &self.out {
            Out::Revokes(_) => None,
            Out::Both(_, reads) => Some(reads),
        }
    }

    /// Declares the table, the queue and channel `probe`.
    pub fn new(p: &HlrcL2Params) -> Revokes {
        let bank = &p.bank;
        Revokes {
            rows: Entries::new("revokes", p.revokes, bank),
            sent: Fifo::new("revokes_sent", p.revokes, bank),
            sends: wire_or::<Bool>("revokes_send", (), false),
            ripe: reg::<Bits>("revokes_ripe", bits_for(u64::from(p.revokes) + 1)).field("queue"),
            out: Out::new(p),
            bank: bank.clone(),
        }
    }

    /// No entry is free.
    pub fn full(&self) -> Bool {
        self.rows.full()
    }

    /// Looks a line up.
    pub fn find(&self, line: Bits) -> Found {
        let entries = self.rows.which(|row| row.line.eq(line));
        let index = entries.lowest_set();
        let reads = self.reads().map(|reads| (reads.entries.get() & entries).any());
        Found { hit: entries.any(), entries, index, row: self.rows.read(index), reads }
    }

    /// A line of this set is asked back for nobody.
    pub fn recalls_in(&self, set: Bits) -> Bool {
        self.rows.which(|row| !row.asked & self.bank.set_of(row.line).eq(set)).any()
    }

    /// Opens an entry, and sends the REVOKE to the owner, or a READ if it `reads`.
    pub fn open(&self, row: &Revocation, owner: Bits, reads: Bool) {
        self.rows.write(self.rows.free_index(), row);
        if let Some(marks) = self.reads() {
            let one = self.rows.free_index().one_hot(self.rows.valid().width());
            when(reads, || marks.entries.raise(one));
            marks.sent.push(&reads);
        }
        self.sends.set(true);
        self.sent.push(&Sent { line: row.line, dst: owner });
    }

    /// Changes an entry.
    pub fn change(&self, index: Bits, row: &Revocation) {
        self.rows.write(index, row);
    }

    /// The line is back.
    pub fn close(&self, entries: Bits) {
        self.rows.remove(entries);
        if let Some(marks) = self.reads() {
            marks.entries.lower(entries);
        }
    }

    /// Sends what has waited long enough; called once, after [`Revokes::open`].
    pub fn connect(&self) {
        let sent = &self.sent;
        let pushed = (self.sends.get(), self.bank.latency - STAGES);
        let waits = ripening(("revokes", "revoke"), pushed, &self.ripe, self.out.free(), || {
            self.out.send(self.bank.address(sent.head.line), sent.head.dst);
            sent.pop();
        });
        if let Some(marks) = self.reads() {
            marks.entries.connect();
        }
        let text = "cycles in which a REVOKE waits for the output";
        count("l2_revoke_waits", waits, text);
    }
}
