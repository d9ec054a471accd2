//! What [`World`] looks at when everything rests.

use crate::stash::golden::Kind;
use crate::stash::hand::W;
use crate::stash::system::{KINDS, LINES};
use crate::stash::world::{PROBE, World};
use crate::words::{bits, word};
use std::collections::BTreeMap;
use weft_bench::Msg;
use weft_rtl::bv::Bv;
use weft_spandex::msg::{Fwd, FwdOp, RspOp};

impl World {
    /// Who owns what: only owned words serve a direct read. And of the stashes: nothing is valid or pending after releases and acquires.
    pub fn look(&mut self) {
        let mut owners: BTreeMap<u64, Vec<(usize, u32)>> = BTreeMap::new();
        for (d, kind) in KINDS.iter().enumerate() {
            let mut count = 0;
            for line in LINES {
                for (w, value) in self.probe(d, line) {
                    owners.entry(line * W + w).or_default().push((d, value));
                    count += 1;
                }
            }
            if *kind != Kind::Gpu {
                let plane =
                    |name: &str| self.b.sim.peek(&format!("dev_{d}.cache.{name}")).expect("word states");
                let (low, high) = (plane("word_valid"), plane("word_owned"));
                let ones = |of: &Bv| -> u32 { of.limbs().iter().map(|l| l.count_ones()).sum() };
                assert_eq!((ones(&low), ones(&high)), (0, count), "device {d}: words V or P, and O");
            }
        }
        for g in LINES.start * W..LINES.end * W {
            let found = owners.remove(&g).unwrap_or_default();
            self.golden.rests(g, &found);
        }
    }

    /// Words of a line that a device owns.
    fn probe(&mut self, d: usize, line: u64) -> Vec<(u64, u32)> {
        if KINDS[d] == Kind::Gpu {
            return Vec::new();
        }
        let other = (d as u64 + 1) % KINDS.len() as u64;
        let fields = [
            ("op", FwdOp::ReqV as u64),
            ("line", line),
            ("mask", 0xff),
            ("own", 0),
            ("src", other),
            ("dst", d as u64),
            ("req", other),
            ("tag", PROBE),
            ("tbe", 0),
            ("flex", 0),
            ("for_wt", 0),
            ("direct", 1),
        ];
        let m = Msg::of::<Fwd>(&self.s, &fields);
        self.b.send(&format!("d{d}_fwd"), m.with("data", Bv::zero(256)));
        let (mut seen, mut owned) = (0, Vec::new());
        for _ in 0..400 {
            self.cycle();
            for m in std::mem::take(&mut self.probes) {
                assert_eq!((m.get("line"), seen & m.get("mask")), (line, 0));
                seen |= m.get("mask");
                if m.get("op") == RspOp::RspV as u64 {
                    owned.extend(bits(m.get("mask")).map(|w| (w, word(m.wide("data"), w))));
                }
            }
            if seen == 0xff {
                return owned;
            }
        }
        panic!("device {d} does not answer for line {line:x}: {seen:x}");
    }
}
