//! Assertions and races of banks whose words devices own; `bank` begins their names.

use super::observe::race;
use super::owners::words_of;
use super::request::Held;
use super::upward::Sending;
use crate::msg::{FwdOp, Req, ReqOp, Rsp, Wb, WordOp};
use crate::params::Spandex;
use weft_rtl::prelude::*;

/// The operation in stage 3, and what it does to words.
pub(crate) struct Seen<'a> {
    pub bank: &'a str,
    pub s: &'a Spandex,
    pub req: Held,
    /// The line is in its way; a TBE blocks it.
    pub hit: Bool,
    pub blocked: Bool,
    /// The operation's line is known and its owners can be looked at.
    pub looked: Bool,
    /// A request's line is here.
    pub here: Bool,
    pub commits: Bool,
    /// Owners of the words; words owned at the place, and of a line that is here.
    pub owners: Bits,
    pub there: Bits,
    pub owned: Bits,
    /// Words asked for that somebody owns, and that nobody does.
    pub taken: Bits,
    pub free: Bits,
    /// Words that the TBE has revoked, those still to come, and their owners.
    pub rvm: Bits,
    pub rv: Bits,
    pub asked: Bits,
    /// RspRvkO, with and without data.
    pub rvk: Bool,
    pub stores: Bool,
    pub nodata: Bool,
    /// Words that a write-back gives back; it has words that are dropped.
    pub mine: Bits,
    pub crosses: Bool,
    /// The TBE has all, and has still to send something; a write-back was the last thing.
    pub complete: Bool,
    pub sends: Bool,
    pub by_write_back: Bool,
}

/// Asserts that what comes from devices is sound; `home`: a line is of this bank, `own`: the bank's node.
pub(crate) fn messages(
    (bank, s, own): (&str, &Spandex, Bits),
    home: impl Fn(Bits) -> Bool,
    (req, wb, rsp): (&InChannel<Req>, &InChannel<Wb>, &InChannel<Rsp>),
) {
    let known = |src: Bits| src.zext(8).lt(u64::from(s.devs()));
    let good = |line: Bits, mask: Bits, src: Bits| home(line) & mask.any() & known(src);
    let assert = |name: &str, holds: Bool, text: &str| assert_always(&format!("{bank}_{name}"), holds, text);
    let (r, w) = (&req.msg, &wb.msg);
    let text = "a request names a word of this bank and a device";
    assert("req_sound", !req.valid | good(r.line, r.mask, r.src), text);
    let text = "a write-back names a word of this bank and a device";
    assert("wb_sound", !wb.valid | good(w.line, w.mask, w.src), text);
    let here = r.dst.eq(own) | !req.valid;
    let here = here & (w.dst.eq(own) | !wb.valid) & (rsp.msg.dst.eq(own) | !rsp.valid);
    assert("own_messages", here, "a message comes to the bank that it is for");
    unused_input(&rsp.msg.extra);
    unused_input(&rsp.msg.direct);
    let cas = req.valid & r.op.is(ReqOp::ReqWtData) & r.amo.is(WordOp::Cas);
    assert("cas_one_word", !cas | r.mask.popcount().eq(1), "CAS is of one word only");
}

/// Counts forwards, RvkO, and messages of TBEs; `of_commits`: what commits forward, `texts`: what that is, and what TBEs send.
pub(crate) fn traffic(bank: &str, sending: &Sending, of_commits: &[FwdOp], texts: [&str; 2]) {
    let Sending { any, msg, of_tbe } = sending;
    count(&format!("{bank}_forwards"), *any & msg.op.is_any(of_commits), texts[0]);
    count(&format!("{bank}_rvko"), *any & msg.op.is(FwdOp::RvkO), "RvkO sent");
    count(&format!("{bank}_for_tbe"), *any & *of_tbe, texts[1]);
}

impl Seen<'_> {
    fn assert(&self, name: &str, holds: Bool, text: &str) {
        assert_always(&format!("{}_{name}", self.bank), holds, text);
    }
    fn race(&self, name: &str, cond: Bool, text: &str) {
        race(self.bank, name, cond, text);
    }

    /// Declares all of them.
    pub fn connect(&self) {
        self.lines();
        self.answers();
        self.write_back_races();
        self.request_races();
    }

    fn lines(&self) {
        let (s, bits) = (self.s, self.s.dev_bits());
        let known = |owner: Bits| owner.zext(8).lt(u64::from(s.devs()));
        let sound: Vec<Bool> =
            (0..s.words()).map(|w| !self.owned.bit(w) | known(self.owners.slice(w * bits, bits))).collect();
        self.assert("owner_is_device", !self.looked | all_of(&sound), "an owner is a device");
        let own = (self.taken & words_of(s, self.owners, self.req.src)).none();
        self.assert("not_from_owner", !self.here | own, "no request comes from a word's owner (R1)");
    }

    fn answers(&self) {
        let mask = self.req.mask;
        let its = words_of(self.s, self.asked, self.req.src);
        let asked = (mask & !(self.rv & its)).none() & mask.any();
        let text = "RspRvkO brings words that its sender has been asked for";
        self.assert("rvko_expected", !self.rvk | asked, text);
        let owned = (mask & !self.there).none();
        let text = "words that come back with data have not come back before";
        self.assert("rvko_once", !self.stores | owned, text);
        self.assert("all_sent", !(self.complete & self.sends), "what devices have answered has been sent");
    }

    /// Words of a write-back that are being revoked.
    pub fn revoked(&self) -> Bits {
        self.mine & self.rvm & self.blocked.repeat(self.mine.width())
    }

    fn write_back_races(&self) {
        let back = self.mine.any();
        let text = "a write-back crosses the revocation of its words";
        self.race("wb_crosses_rvko", self.revoked().any(), text);
        let text = "a write-back is the last thing that a TBE waits for";
        self.race("wb_last", self.by_write_back, text);
        let text = "words come back that have a new owner, or none";
        self.race("wb_stale", self.crosses & self.hit, text);
        let still = (self.req.mask & self.there).any();
        let text = "an owner answers without data before its write-back is here";
        self.race("nodata_before_wb", self.nodata & still, text);
        let text = "an owner answers without data after its write-back";
        self.race("nodata_after_wb", self.nodata & !still, text);
        let text = "of a write-back some words are still its sender's";
        self.race("wb_partly_stale", back & self.crosses, text);
    }

    fn request_races(&self) {
        let both = self.commits & self.free.any() & self.taken.any();
        let text = "words of one request are owned and not owned: all change in one step";
        self.race("mixed_words", both, text);
        let first = self.owners.element(self.taken.lowest_set(), self.s.dev_bits());
        let others = self.taken & !words_of(self.s, self.owners, first);
        let text = "words of one request have several owners";
        self.race("several_owners", self.commits & others.any(), text);
    }
}
