//! Acknowledgements of Invs in the INV ingress (GPU-VI, hmg.md section 8): sent when the bank has applied the Inv.
//!
//! ```text
//!  delivered to the bank -> owed (line) -> done -> to send (line) -+-> round robin -> ack
//!                                                    other banks --+
//! ```
//! A bank applies Invs in the order in which they are delivered to it. A place in the second queue is reserved when an Inv enters the first, so an Inv waits
//! only for the RSP network, and `done` for nothing.

use super::super::inv_ack::{ack_out, inv_ack};
use super::IngressParams;
use crate::common::arbiter::RoundRobin;
use crate::common::fifo::Fifo;
use crate::msg::*;
use weft_rtl::prelude::*;

/// Invs of a bank that are delivered and not acknowledged.
const OWED: u32 = 8;

/// An Inv that is with the bank.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
struct Delivered {
    #[width(p.line_bits())]
    line: Bits,
    #[width(4)]
    link: Bits,
    /// With owners: it is an Inv, which is acknowledged; who answers a forward or a recall is its bank.
    #[shape(p.with_owners())]
    inv: Option<Bool>,
}

/// What a bank's Invs are owed.
pub(super) struct Owed {
    bank: u32,
    applying: Fifo<Delivered>,
    to_send: Fifo<Bits>,
}

impl Owed {
    /// Declares the queues.
    pub fn new(p: &IngressParams, bank: u32) -> Owed {
        Owed {
            bank,
            applying: Fifo::new(&format!("bank{bank}_applying"), OWED, &p.sys),
            to_send: Fifo::new(&format!("bank{bank}_acks"), OWED, &p.sys.line_bits()),
        }
    }

    /// Another Inv may be delivered.
    pub fn room(&self) -> Bool {
        let held = self.applying.count.zext(5) + self.to_send.count.zext(5);
        held.lt(u64::from(OWED))
    }

    /// An Inv of a link is delivered.
    pub fn delivered(&self, msg: &InvMsg, link: u64) {
        let inv = msg.owner.map(|owner| owner.ask.is(Ask::Inv));
        self.applying.push(&Delivered { line: msg.line, link: lit(link, 4), inv });
    }

    /// The bank has applied its oldest Inv.
    pub fn applied(&self, done: Bool, link: Bits) {
        let oldest = self.applying.head;
        when(done, || {
            self.applying.pop();
            match oldest.inv {
                None => self.to_send.push(&oldest.line),
                Some(inv) => drop(when(inv, || self.to_send.push(&oldest.line))),
            }
        });
        assert_always(
            &format!("bank{}_applies_in_order", self.bank),
            !done | (self.applying.valid & oldest.link.eq(link)),
            "a bank applies Invs in the order in which they were delivered",
        );
    }
}

/// Sends what is to be sent, the banks in turn.
pub(super) fn acknowledge(p: &IngressParams, owed: &[Owed]) {
    let out = ack_out("ack", &p.sys);
    let valid: Vec<Bool> = owed.iter().map(|owed| owed.to_send.valid).collect();
    let turn = RoundRobin::new("ack_turn", owed.len() as u32);
    let pick = turn.pick(pack_bools(&valid).named("acks_to_send"));
    when(pick.any & out.free, || {
        turn.granted(pick.index);
        let lines: Vec<Bits> = owed.iter().map(|owed| owed.to_send.head).collect();
        out.send(&inv_ack(&p.sys, p.home, select(&lines, pick.index)));
        switch_bits(pick.index, |arms| {
            for (i, owed) in owed.iter().enumerate() {
                arms.case(i as u64, || owed.to_send.pop());
            }
        });
    });
    let full: Vec<Bool> = owed.iter().map(|owed| !owed.room()).collect();
    cover(
        "gpu_vi.race.inv_waits_for_ack",
        any_of(&full),
        "a bank takes no Inv because the acknowledgements of those before are not sent",
    );
    count("acks", pick.any & out.free, "acknowledgements of Invs");
}
