//! Revocations under way: which lines are asked back, for whom, and what has come of it.
//!
//! An entry lives from the REVOKE to its REVOKE_ACK. The REVOKE itself waits as long as an answer would; there is room for one of each entry, so that sending one never waits.

use super::params::HlrcL2Params;
use crate::bank::{Bank, ripening};
use crate::entries::Entries;
use crate::msg::{Probe, ProbeOp};
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
}

/// The revocations of a bank.
pub(super) struct Revokes {
    bank: Bank,
    rows: Entries<Revocation>,
    sent: Fifo<Sent>,
    sends: Wire<Bool>,
    ripe: Reg<Bits>,
    probe: OutChannel<Probe>,
}

/// Cycles from a message's arrival to its REVOKE at the output that the stages themselves take.
const STAGES: u32 = 3;

impl Revokes {
    /// Declares the table, the queue and channel `probe`.
    pub fn new(p: &HlrcL2Params) -> Revokes {
        let bank = p.bank();
        Revokes {
            rows: Entries::new("revokes", p.revokes, &bank),
            sent: Fifo::new("revokes_sent", p.revokes, &bank),
            sends: wire_or::<Bool>("revokes_send", (), false),
            ripe: reg::<Bits>("revokes_ripe", bits_for(u64::from(p.revokes) + 1)).field("queue"),
            probe: out_channel::<Probe>("probe", &p.srsp),
            bank,
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
        Found { hit: entries.any(), entries, index, row: self.rows.read(index) }
    }

    /// A line of this set is asked back for nobody.
    pub fn recalls_in(&self, set: Bits) -> Bool {
        self.rows.which(|row| !row.asked & self.bank.set_of(row.line).eq(set)).any()
    }

    /// Opens an entry, and sends the REVOKE to the owner.
    pub fn open(&self, row: &Revocation, owner: Bits) {
        self.rows.write(self.rows.free_index(), row);
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
    }

    /// Sends what has waited long enough; called once, after [`Revokes::open`].
    pub fn connect(&self) {
        let (sent, probe) = (&self.sent, &self.probe);
        let pushed = (self.sends.get(), self.bank.latency - STAGES);
        let waits = ripening(("revokes", "revoke"), pushed, &self.ripe, probe.free, || {
            let (op, addr) = (enum_lit(ProbeOp::Revoke), self.bank.address(sent.head.line));
            probe.send(&Probe { op, addr, req: sent.head.dst });
            sent.pop();
        });
        let text = "cycles in which a REVOKE waits for the output";
        count("l2_revoke_waits", waits, text);
    }
}
