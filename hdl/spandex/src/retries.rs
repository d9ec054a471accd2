//! Words of reads that have failed (NackV), until they are asked for again (spandex.md section 5).

use crate::flags::Flags;
use crate::msg::{Req, ReqOp, WordOp};
use crate::params::Spandex;
use weft_blocks::common::arbiter::RoundRobin;
use weft_rtl::prelude::*;

/// Failed words by MSHR. A read asks again by ReqV, after `n_fail` Nacks by ReqWT+data READ.
pub(crate) struct Retries {
    s: Spandex,
    n_fail: u32,
    /// Words wait to be asked for again.
    pub again: Flags,
    turn: RoundRobin,
    lines: Memory<Bits>,
    lines_new: LaneWriter<Bits>,
    words: Memory<Bits>,
    words_rsp: LaneWriter<Bits>,
    fails: Memory<Bits>,
    fails_new: LaneWriter<Bits>,
    fails_rsp: LaneWriter<Bits>,
}

/// A read that asks again.
pub(crate) struct Retry {
    pub any: Bool,
    pub mshr: Bits,
    /// By ReqWT+data READ.
    pub escalates: Bool,
}

impl Retries {
    pub fn new(s: &Spandex, n_fail: u32) -> Retries {
        let file = |name: &str, w: u32| regfile::<Bits>(name, s.mshrs, w).fields(&[("tu", w)]);
        let lines = file("line", s.line_bits());
        let words = file("retry", s.words());
        let fails = file("fails", bits_for(u64::from(n_fail) + 1));
        Retries {
            s: s.clone(),
            n_fail,
            again: Flags::new("again", s.mshrs, "state"),
            turn: RoundRobin::new("retry_turn", s.mshrs),
            lines_new: lines.lane_writer("new"),
            lines,
            words_rsp: words.lane_writer("rsp"),
            words,
            fails_new: fails.lane_writer("new"),
            fails_rsp: fails.lane_writer("rsp"),
            fails,
        }
    }

    /// Line of an MSHR.
    pub fn line(&self, mshr: Bits) -> Bits {
        self.lines.read(mshr)
    }

    /// An MSHR asks for a line for the first time.
    pub fn open(&self, mshr: Bits, line: Bits) {
        self.lines_new.write(mshr, &line);
        self.fails_new.write(mshr, &lit(0, bits_for(u64::from(self.n_fail) + 1)));
    }

    /// Nacks of an MSHR's read, with one more; N_FAIL at most.
    pub fn with_one_more(&self, mshr: Bits) -> Bits {
        let now = self.fails.read(mshr);
        mux(now.eq(u64::from(self.n_fail)), now, now + 1)
    }

    /// Nacks of an MSHR's read.
    pub fn fails(&self, mshr: Bits) -> Bits {
        self.fails.read(mshr)
    }

    /// Words fail, for the `fails`-th time.
    pub fn failed(&self, mshr: Bits, words: Bits, fails: Bits) {
        let before = self.again.get().bit_at(mshr).repeat(words.width()) & self.words.read(mshr);
        self.words_rsp.write(mshr, &(before | words));
        self.fails_rsp.write(mshr, &fails);
        self.again.raise(mshr.one_hot(self.s.mshrs));
    }

    /// The read that asks next. One whose words fail in this cycle waits for the next one, so that it asks once.
    pub fn choose(&self, nacked: Bits) -> Retry {
        let pick = self.turn.pick(self.again.get() & !nacked);
        let escalates = self.fails.read(pick.index).eq(u64::from(self.n_fail));
        Retry { any: pick.any, mshr: pick.index, escalates }
    }

    /// It has asked.
    pub fn asked(&self, retry: &Retry) {
        self.turn.granted(retry.mshr);
        self.again.lower(retry.mshr.one_hot(self.s.mshrs));
    }

    /// What it asks; `own`: the device.
    pub fn request(&self, retry: &Retry, own: Bits) -> Req {
        let s = &self.s;
        let line = self.line(retry.mshr);
        Req {
            op: mux(retry.escalates, enum_lit(ReqOp::ReqWtData), enum_lit(ReqOp::ReqV)),
            line,
            mask: self.words.read(retry.mshr),
            src: own,
            dst: s.home(line),
            tag: retry.mshr.resize(s.tag_bits()),
            flex: bool_lit(false),
            fwd: bool_lit(false),
            amo: enum_lit(WordOp::Read),
            cmp: lit(0, 32),
            bmask: lit(0, 4),
            data: lit_bv(Bv::zero(s.data_bits())),
        }
    }

    /// Counters and covers of a unit, which sends in this cycle if `goes`.
    pub fn observe(&self, unit: &str, retry: &Retry, goes: Bool) {
        let (again, escalates) = (goes & !retry.escalates, goes & retry.escalates);
        cover(&format!("spandex.{unit}.retry.ReqV"), again, "Failed words are asked for again.");
        cover(&format!("spandex.{unit}.retry.READ"), escalates, "Failed words are read at the LLC.");
        count("spandex_tu_retries", again, "reads of failed words by ReqV");
        count("spandex_tu_escalations", escalates, "reads of failed words by ReqWT+data READ");
    }
}
