//! Assertions and races of banks whose words devices own; `bank` begins their names.

use super::act::{Act, Decision, Done, Now, WordBank};
use super::observe::race;
use super::owners::words_of;
use super::upward::Sending;
use super::words::{Met, Progresses, Return, Word, words};
use crate::msg::{FwdOp, Req, ReqOp, Rsp, Wb, WordOp};
use crate::params::Spandex;
use weft_rtl::prelude::*;
use weft_rtl::transitions::Row;

/// What observers look at: the operation in stage 3, what has entered (`E`), the stages (`S`).
pub(crate) struct Seen<'a, B: WordBank, S, E> {
    pub bank: &'static str,
    pub act: &'a Act<'a, B>,
    pub stages: &'a S,
    pub entered: (E, Bits),
    pub done: Done<B::Tag>,
    pub sending: Sending,
}

/// What is seen in the records that each bank has of its own.
pub(crate) struct Own {
    /// The operation's line is known and its owners can be looked at.
    pub looked: Bool,
    /// Owners that the TBE has asked.
    pub asked: Bits,
    /// RspRvkO, with and without data; of an answer: without.
    pub rvk: Bool,
    pub nodata: Bool,
    /// The TBE has still to send something.
    pub sends: Bool,
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

impl<B: WordBank, S, E> Seen<'_, B, S, E> {
    /// The operation and what is done.
    pub fn step(&self) -> (&Now<B>, &Decision<B>, &Done<B::Tag>) {
        (self.act.n, self.act.d, &self.done)
    }
    /// Asserts something of the bank.
    pub fn assert(&self, name: &str, holds: Bool, text: &str) {
        assert_always(&format!("{}_{name}", self.bank), holds, text);
    }
    /// Covers a race of the bank.
    pub fn race(&self, name: &str, cond: Bool, text: &str) {
        race(self.bank, name, cond, text);
    }
    /// Counts something of the bank.
    pub fn count(&self, name: &str, now: Bool, text: &str) {
        count(&format!("{}_{name}", self.bank), now, text);
    }

    /// Declares what every bank has whose words devices own.
    pub fn words(&self, own: &Own) {
        self.lines(own);
        self.answers(own);
        self.write_back_races(own);
        self.request_races();
    }

    fn lines(&self, own: &Own) {
        let (n, s) = (self.act.n, &self.act.bank.s);
        let bits = s.dev_bits();
        let known = |owner: Bits| owner.zext(8).lt(u64::from(s.devs()));
        let sound: Vec<Bool> =
            (0..s.words()).map(|w| !n.owned.bit(w) | known(n.owners.slice(w * bits, bits))).collect();
        self.assert("owner_is_device", !own.looked | all_of(&sound), "an owner is a device");
        let mine = (n.taken & words_of(s, n.owners, n.req.src)).none();
        self.assert("not_from_owner", !n.here | mine, "no request comes from a word's owner (R1)");
    }

    fn answers(&self, own: &Own) {
        let (n, d, done) = self.step();
        let mask = n.req.mask;
        let its = words_of(&self.act.bank.s, own.asked, n.req.src);
        let asked = (mask & !(B::revokes(&n.progress).0 & its)).none() & mask.any();
        let text = "RspRvkO brings words that its sender has been asked for";
        self.assert("rvko_expected", !own.rvk | asked, text);
        let owned = (mask & !n.look.owned).none();
        let text = "words that come back with data have not come back before";
        self.assert("rvko_once", !d.stores() | owned, text);
        self.assert("all_sent", !(done.complete & own.sends), "what devices have answered has been sent");
    }

    /// Words of a write-back that are being revoked.
    pub fn revoked(&self) -> Bits {
        let (n, d, _) = self.step();
        let mine = d.mine_taken();
        mine & B::revokes(&n.progress).1 & n.look.blocked.repeat(mine.width())
    }

    fn write_back_races(&self, own: &Own) {
        let (n, d, done) = self.step();
        let back = d.mine_taken().any();
        let crosses = d.write_backs[1].does(Return::Cross);
        let text = "a write-back crosses the revocation of its words";
        self.race("wb_crosses_rvko", self.revoked().any(), text);
        let text = "a write-back is the last thing that a TBE waits for";
        self.race("wb_last", done.by_write_back, text);
        let text = "words come back that have a new owner, or none";
        self.race("wb_stale", crosses & n.look.hit, text);
        let nodata = n.valid & d.blocked.does(Progresses::Back) & own.nodata;
        let still = (n.req.mask & n.look.owned).any();
        let text = "an owner answers without data before its write-back is here";
        self.race("nodata_before_wb", nodata & still, text);
        let text = "an owner answers without data after its write-back";
        self.race("nodata_after_wb", nodata & !still, text);
        let text = "of a write-back some words are still its sender's";
        self.race("wb_partly_stale", back & crosses, text);
    }

    fn request_races(&self) {
        let (n, d, _) = self.step();
        let both = d.commits & n.free.any() & n.taken.any();
        let text = "words of one request are owned and not owned: all change in one step";
        self.race("mixed_words", both, text);
        let s = &self.act.bank.s;
        let first = n.owners.element(n.taken.lowest_set(), s.dev_bits());
        let others = n.taken & !words_of(s, n.owners, first);
        let text = "words of one request have several owners";
        self.race("several_owners", d.commits & others.any(), text);
    }

    /// Counts forwards, RvkO, and messages of TBEs (`of_commits`: what commits forward, `texts`: what that is, and what TBEs send), answers, and requests that wait; `replayed`: one is
    /// tried again.
    pub fn traffic(&self, of_commits: &[FwdOp], texts: [&str; 2], replayed: Bool) {
        let (n, d, done) = self.step();
        let Sending { any, msg, of_tbe } = &self.sending;
        self.count("forwards", *any & msg.op.is_any(of_commits), texts[0]);
        self.count("rvko", *any & msg.op.is(FwdOp::RvkO), "RvkO sent");
        self.count("for_tbe", *any & *of_tbe, texts[1]);
        self.count("answers", done.answers, "answers to requests");
        self.count("crossed", done.crossed.any(), "RspWB with crossed words");
        self.count("evict_owned", d.evicts & n.look.owned.any(), "lines with owned words replaced");
        self.count("joined", d.joins, "requests that joined a stall list");
        self.count("replayed", replayed, "requests of a stall list that were tried again");
    }

    /// Races of requests that wait: one is tried again (`replay`), and blocks again (`blocks`); one comes from REQ (`fresh`).
    pub fn stalled_races(&self, replay: Bool, blocks: Bool, fresh: Bool) {
        let (n, d, _) = self.step();
        self.race("replay", replay & d.commits, "a stalled request commits");
        self.race("replay_blocks", replay & blocks, "a stalled request blocks again");
        self.race("joins_list", d.joins & fresh & n.look.blocked, "a request finds its line blocked");
    }

    /// Counts requests by type and word state.
    pub fn requests(&self, met: Met) {
        let d = self.act.d;
        let rows =
            [(Word::V, Some(&d.commits_v)), (Word::S, d.commits_s.as_ref()), (Word::O, Some(&d.commits_o))];
        for (word, rows) in rows.into_iter().filter_map(|(word, rows)| Some((word, rows?))) {
            let table = words(met);
            let of_word = table.rows().iter().filter(|row| row.when[1] == [word.encoding()]);
            of_word.for_each(|row| self.row(met, row, "requests with such words", rows.row(&row.id)));
        }
    }

    /// Counts a row of a table; `part`: what it is of.
    pub fn row<A>(&self, met: Met, row: &Row<A>, part: &str, now: Bool) {
        let name = row.id.trim_start_matches(met.rows).replace('.', "_");
        self.count(&name, now, &format!("{part}: {}", row.why));
    }
}
