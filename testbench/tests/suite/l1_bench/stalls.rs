//! Why requests are not taken, brought about one by one.

use super::{Bench, LD, Op, REL, ST};
use std::collections::BTreeSet;
use weft_blocks::cache::l1::StallCause;
use weft_rtl::value::HwEnum;

impl Bench {
    /// Offers operations one after the other, with some cycles for each, and returns why the last one waits.
    fn offered_last(&mut self, ops: &[Op]) -> u64 {
        for op in ops {
            self.offer(op.clone());
            (0..8).for_each(|_| self.step());
        }
        self.get("stall")
    }

    /// Everything that was held back goes on; the causes seen meanwhile.
    fn goes_on(&mut self) -> BTreeSet<u64> {
        (self.holds, self.shut) = (false, (false, false));
        let seen = (0..200).map(|_| {
            self.step();
            self.get("stall")
        });
        let seen = seen.collect();
        assert!(self.pending.is_empty() && self.offered.is_none() && self.below.is_empty());
        assert_eq!((self.get("stall"), self.get("busy_release")), (StallCause::None.encoding(), 0));
        seen
    }

    /// Each cause of an L1 of the REC fabrics, with a quiet L2.
    pub fn every_stall_has_its_cause(&mut self) {
        let is = |cause: StallCause| cause.encoding();
        let load = |line: u64| Op::word(LD, 1 << 24 | line);
        let store = Op { want_ack: false, ..Op::word(ST, 5) };
        let release = Op { scope: 2, ..Op::word(REL, 0) };
        self.step();
        assert_eq!(self.get("stall"), is(StallCause::Other), "memories are cleared");
        self.settle();
        assert_eq!(self.get("stall"), is(StallCause::None), "nothing is offered");

        // As many lines as there are entries, and one more; its fill keeps the arrays busy.
        self.holds = true;
        let lines: Vec<Op> = (0..=u64::from(self.p.sys.l1_mshrs)).map(load).collect();
        assert_eq!(self.offered_last(&lines[1..]), is(StallCause::None));
        assert_eq!(self.offered_last(&lines[..1]), is(StallCause::MshrFull));
        assert!(self.goes_on().contains(&is(StallCause::Bank)));

        self.holds = true;
        let same = vec![load(20); self.p.targets as usize + 1];
        assert_eq!(self.offered_last(&same[1..]), is(StallCause::None));
        assert_eq!(self.offered_last(&same[..1]), is(StallCause::MshrFull));
        self.goes_on();

        self.holds = true;
        assert_eq!(self.offered_last(&vec![store.clone(); self.p.stores as usize]), is(StallCause::None));
        assert_eq!(self.offered_last(std::slice::from_ref(&store)), is(StallCause::SbFull));
        self.goes_on();

        self.holds = true;
        assert_eq!(self.offered_last(&[store, release.clone()]), is(StallCause::None));
        assert_eq!(self.get("busy_release"), 1);
        assert_eq!(self.offered_last(&[release]), is(StallCause::Release));
        self.goes_on();

        // The first stands in the port.
        self.shut = (true, false);
        assert_eq!(self.offered_last(&[load(40)]), is(StallCause::None));
        assert_eq!(self.offered_last(&[load(41)]), is(StallCause::Other));
        self.goes_on();

        // Copies of which the answers do not leave.
        self.shut = (false, true);
        let hits = vec![load(40); self.p.latency as usize + 2];
        assert_eq!(self.offered_last(&hits), is(StallCause::Other));
        self.goes_on();
    }
}
