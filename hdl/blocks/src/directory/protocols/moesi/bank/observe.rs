//! Observers of `moesi-l2`: what has no row of a table, races, counters. No hardware.

use super::Bank;
use super::arrays::Found;
use super::choose::Class;
use super::table::{Asked, Copy, Wants};
use crate::msg::{Ask, Cause, HomeAnswer, OwnerAsk};
use weft_rtl::prelude::*;

fn row(name: &str, cond: Bool, text: &str) {
    cover(&format!("moesi_l2.{name}"), cond, text);
}

fn race(name: &str, cond: Bool, text: &str) {
    row(&format!("race.{name}"), cond, text);
}

/// A line that is installed, or for which memory must be read first.
pub(super) struct Installs {
    pub goes: Bool,
    pub fetches: Bool,
    /// This home's slice has let it be written.
    pub granted: Bool,
    /// Bytes have come.
    pub bytes: Bool,
    pub copy: Enum<Copy>,
}

/// Rows of what is installed.
pub(super) fn installs(i: &Installs) {
    let fresh = i.goes & i.bytes & !i.granted;
    row("data.S", fresh & i.copy.is(Copy::S), "a copy beside others has come");
    row("data.E", fresh & i.copy.is(Copy::E), "the only copy has come, as in memory");
    row("data.M", fresh & i.copy.is(Copy::M), "the only copy has come");
    row("data.keep", i.goes & !i.bytes & !i.granted, "the right to write the own copy has come");
    row("own.write.copy", i.goes & i.granted, "an own store of this home finds its copy");
    row("own.write.I", i.fetches, "an own store of this home reads memory");
}

impl Bank<'_> {
    /// Races and counters of an INV message, by the own copy, in the array or the buffer.
    pub(super) fn observe_probe(&self, now: Bool, asked: &OwnerAsk, found: &Found, buffer: Bool) {
        let msg = self.slot.probe.get();
        let ask = |ask: Ask| now & asked.ask.is(ask);
        race("fwds_in_buffer", ask(Ask::FwdS) & buffer, "a line that is given back is read by another node");
        race(
            "fwdm_in_buffer",
            ask(Ask::FwdM) & buffer,
            "a line that is given back is written by another node",
        );
        race("recall_in_buffer", ask(Ask::Recall) & buffer, "a line that is given back is recalled");
        let open = self.mshrs.of_line(msg.line);
        let writes = self.mshrs.get(open.lowest_set()).modified;
        let own = open.any() & !buffer;
        let (gets, getm) = (own & !writes, own & writes);
        let copy = |is: Copy| found.copy.is(is);
        race(
            "inv_meets_getm",
            ask(Ask::Inv) & getm & copy(Copy::S),
            "the copy that is to be written is dropped",
        );
        race(
            "inv_meets_gets",
            ask(Ask::Inv) & gets & copy(Copy::I),
            "an Inv of a copy that was dropped in silence",
        );
        race("fwds_meets_getm", ask(Ask::FwdS) & getm, "an owner that asks to write is read");
        race("fwdm_meets_getm", ask(Ask::FwdM) & getm, "an owner that asks to write loses its line");
        race("recall_meets_getm", ask(Ask::Recall) & getm, "an owner that asks to write gives its line back");
        let (dropped, none) = (ask(Ask::Inv) & copy(Copy::S), ask(Ask::Inv) & copy(Copy::I));
        let by = |cause: Cause| msg.cause.is(cause);
        count("l2_inv_hit_write", dropped & by(Cause::Write), "Invs by writes that drop a copy.");
        count("l2_inv_hit_evict", dropped & by(Cause::Evict), "Invs by evictions that drop a copy.");
        count("l2_inv_miss_write", none & by(Cause::Write), "Invs by writes that find no copy.");
        count("l2_inv_miss_evict", none & by(Cause::Evict), "Invs by evictions that find no copy.");
        count("l2_forwards", ask(Ask::FwdS) | ask(Ask::FwdM), "Lines sent to other nodes as their owner.");
        count("l2_recalls", ask(Ask::Recall), "Lines given back because their entry is replaced.");
    }

    /// Rows and counters of a request of this node. `does`: it is performed; `turn`: nothing of its line is under way or older; `asks`: its line is asked for.
    pub(super) fn observe_request(
        &self,
        wants: Enum<Wants>,
        (does, turn, asks): (Bool, Bool, Bool),
        (leaving, stuck): (Bool, Bool),
    ) {
        let (local, pooled) = (self.slot.is(Class::Local), self.slot.is(Class::Pool));
        let req = self.slot.request.get();
        let waits = local & !turn;
        row(
            "load.waits",
            waits & wants.is(Wants::Load),
            "a load waits: its line is under way, or for an older one",
        );
        row(
            "write.waits",
            waits & wants.is(Wants::Write),
            "a store waits: its line is under way, or for an older one",
        );
        race("waits_for_put_ack", (local | pooled) & leaving, "a request of a line that is given back");
        race("all_reserved", stuck, "every way of the set is reserved");
        let homed = self.p.homed(req.line);
        count("l2_accesses", local, "Requests of L1s.");
        count("l2_hits", local & does, "Requests of L1s that are performed at once.");
        count("l2_merged", waits, "Requests of L1s that wait for a line under way.");
        count("l2_misses_local_home", asks & homed, "Lines of this home asked for.");
        count("l2_misses_local_away", asks & !homed, "Lines of other homes asked for.");
        count("l2_waits", local & !does, "Requests of L1s that wait in the pool.");
        count("l2_pool_tries", pooled, "Tries of requests in the pool.");
    }

    /// Rows of what the slice answers to a request of another node that has no turn.
    pub(super) fn observe_forwarded(&self, home: Bool, place: Bits, answer: Enum<HomeAnswer>) {
        let asked = self.homes.get(place).0.asked;
        let forwarded = home & answer.is(HomeAnswer::Forwarded);
        row("home.gets.forwarded", forwarded & asked.is(Asked::GetS), "its owner sends it");
        row("home.getm.forwarded", forwarded & asked.is(Asked::GetM), "its owner sends it");
    }

    /// Rows of what the slice answers to an own request.
    pub(super) fn observe_answer(&self, own: Bool, writes: Bool, answer: Enum<HomeAnswer>) {
        let read = |is: HomeAnswer| own & !writes & answer.is(is);
        row(
            "own.read.alone",
            read(HomeAnswer::Alone),
            "nobody else has it: memory is read, and it is the only copy",
        );
        row("own.read.home", read(HomeAnswer::Home), "others have it: memory is read");
        row("own.read.forwarded", read(HomeAnswer::Forwarded), "its owner sends it");
        let forwarded = own & writes & answer.is(HomeAnswer::Forwarded);
        row("own.write.forwarded", forwarded, "its owner sends it, and is owner no more");
    }

    /// Rows of what nodes answer: `put` a PutAck for a copy in this state, `back` a line that comes back, with data if it was written.
    pub(super) fn observe_landing(&self, (put, copy): (Bool, Enum<Copy>), (back, dirty): (Bool, Bool)) {
        row("put_ack", put & !copy.is(Copy::I), "the home has taken the line");
        row("put_ack.shell", put & copy.is(Copy::I), "another node had taken the line before");
        row("back", back & dirty, "a line comes back, and is written to memory");
        row("back.clean", back & !dirty, "a line comes back that memory has");
    }
}
