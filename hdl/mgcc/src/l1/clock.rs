//! Logical time of the cache: its clock, what reads have shown, what the banks have reached, and the epoch.

use super::L1Params;
use crate::choice::Inject;
use crate::time::max;
use weft_rtl::prelude::*;

/// The clock and what belongs to it; only with coherence.
pub(super) struct Clock {
    p: L1Params,
    /// {epoch, ts}.
    pub cts: Reg<Bits>,
    next: Wire<Bits>,
    /// Greatest wts of read fills since the last fence (READ_TS `deferred`).
    pub acq: Option<Reg<Bits>>,
    /// Per bank a value that its clock has certainly reached.
    bank_lb: Vec<Reg<Bits>>,
    /// Hits since the last step of the clock.
    hits: Option<Reg<Bits>>,
}

impl Clock {
    pub fn new(p: &L1Params) -> Clock {
        let stamp = |name: &str| reg::<Bits>(name, p.tsm.ts).field("timestamp");
        let cts = reg::<Bits>("cts", p.tsm.cts).field("cts");
        let next = wire_or::<Bits>("cts_next", p.tsm.cts, cts.get());
        cts.set(next.get());
        let text = "the clock {epoch, ts} never goes back";
        let back = (next.get() - cts.get()).bit(p.tsm.cts - 1);
        assert_always("mgcc_l1_cts_monotonic", !back, text);
        Clock {
            p: p.clone(),
            cts,
            next,
            acq: (!p.eager).then(|| stamp("acq")),
            // Of G-TSC every request tells the whole clock.
            bank_lb: (0..if p.gtsc() { 0 } else { p.tsm.banks })
                .map(|b| stamp(&format!("bank_lb{b}")))
                .collect(),
            hits: (p.self_inc > 0).then(|| reg::<Bits>("hits", 16).field("timestamp")),
        }
    }

    /// ts of the clock.
    pub fn ts(&self) -> Bits {
        self.cts.get().slice(0, self.p.tsm.ts)
    }
    /// The epoch.
    pub fn epoch(&self) -> Bits {
        self.cts.get().slice(self.p.tsm.ts, self.p.tsm.epoch_bits())
    }
    /// The epoch as messages carry it.
    pub fn tag(&self) -> Bits {
        self.cts.get().slice(self.p.tsm.ts, self.p.tsm.eb)
    }
    /// The clock as MSHRs and pool keep it: {tag, ts}.
    pub fn need(&self) -> Bits {
        self.cts.get().slice(0, self.p.need_bits())
    }

    fn set_ts(&self, ts: Bits) {
        self.next.set(cat(&[self.epoch(), ts]));
    }

    /// Begins an epoch.
    pub fn roll(&self, epoch: Bits) {
        self.next.set(cat(&[epoch, lit(0, self.p.tsm.ts)]));
        for reg in self.bank_lb.iter().chain(&self.acq) {
            reg.set(0);
        }
    }

    /// SetCts: at least this time of the present epoch.
    pub fn at_least(&self, ts: Bits) {
        self.set_ts(max(self.ts(), ts));
    }

    /// The clock after a fence.
    pub fn folded(&self) -> Bits {
        match &self.acq {
            Some(acq) => cat(&[self.epoch(), max(self.ts(), acq.get())]),
            None => self.cts.get(),
        }
    }

    /// A fence: cts := max(cts, acq).
    pub fn fold(&self) {
        if let Some(acq) = &self.acq {
            self.next.set(self.folded());
            acq.set(0);
        }
    }

    /// A write's response, or a read's that raises the clock at once.
    pub fn reached(&self, bank: Bits, wts: Bits) {
        self.set_ts(max(self.ts(), wts));
        self.bank_reached(bank, |lb| max(lb, wts));
    }

    /// A read's response under READ_TS `deferred`.
    pub fn acquired(&self, wts: Bits) {
        if let Some(acq) = &self.acq {
            acq.set(max(acq.get(), wts));
        }
    }

    fn bank_reached(&self, bank: Bits, value: impl Fn(Bits) -> Bits) {
        for (b, lb) in self.bank_lb.iter().enumerate() {
            when(bank.eq(b as u64), || lb.set(value(lb.get())));
        }
    }

    /// Whether a request to a bank must carry the clock.
    pub fn must_tell(&self, bank: Bits) -> Bool {
        if self.p.inject == Inject::LitNoTs {
            return bool_lit(false);
        }
        let known: Vec<Bits> = self.bank_lb.iter().map(|lb| lb.get()).collect();
        let known = if known.len() == 1 { known[0] } else { select(&known, bank) };
        self.ts().gt(known)
    }

    /// A request has told a bank the clock.
    pub fn told(&self, bank: Bits) {
        let now = self.ts();
        self.bank_reached(bank, |_| now);
    }

    /// A load was answered from a live block: every SELF_INC-th advances the clock, which stops at its greatest value.
    pub fn count_hit(&self) {
        let Some(hits) = &self.hits else { return };
        let last = hits.get().eq(u64::from(self.p.self_inc - 1));
        hits.set(mux(last, lit(0, 16), hits.get() + 1));
        when(last & !self.ts().all(), || self.set_ts(self.ts() + 1));
    }
}
