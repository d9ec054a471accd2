//! The banks below the L1 lock lines and give a token.

use crate::l1_bench::banks::{Banks, LINE, OWN};
use crate::srsp_l1::world::Others;
use rand::Rng;
use rand::rngs::SmallRng;
use weft_rtl::bv::Bv;
use weft_srsp::msg::{ReqOp, RspOp, WbOp};
use weft_srsp_bench::bench::Msg;

fn value(banks: &mut Banks, op: RspOp, old: u64, wrote: bool, due: u64, hit: u64) {
    let data = Bv::from_u64(old, 8 * LINE as u32);
    banks.answer(op, &[("wrote", u64::from(wrote)), ("hit", hit)], Some(data), due);
}

impl Others {
    /// A request that is due is served, unless it must wait.
    pub fn request(&mut self, banks: &mut Banks, at: usize, due: u64, rng: &mut SmallRng) -> bool {
        let m = banks.waiting[at].1.clone();
        let line = m.get("atomic_addr") / LINE;
        let op = m.get("op");
        let locked = self.locked.contains_key(&line);
        let hit = rng.random_range(0..2);
        let is = |kind: ReqOp| op == kind as u64;
        if is(ReqOp::Rd) && !locked {
            // Now and then a fill comes so late that a whole remote operation lies between.
            let due = due + if rng.random_bool(0.1) { rng.random_range(0..20 * banks.slow) } else { 0 };
            banks.answer(RspOp::Fill, &[("mshr", m.get("mshr")), ("hit", hit)], Some(banks.line(line)), due);
            banks.seen.push(format!("RD {line}"));
        } else if is(ReqOp::Atm) && !locked {
            let (old, wrote) = banks.perform_asked(&m);
            value(banks, RspOp::AtmRsp, old, wrote, due, hit);
            let what = if m.get("sys") == 1 { "ATM_SYS" } else { "ATM" };
            banks.seen.push(format!("{what} {line}"));
        } else if is(ReqOp::RemLock) && !locked {
            self.locked.insert(line, OWN);
            banks.answer(RspOp::RemGrant, &[], None, due);
            banks.seen.push(format!("LOCK {line}"));
        } else if is(ReqOp::Token) && self.token.is_none() {
            self.token = Some(OWN);
            banks.answer(RspOp::TokenGrant, &[], None, due);
        } else if is(ReqOp::SysFlush) || is(ReqOp::SysInv) {
            banks.answer(RspOp::SysAck, &[], None, due);
            let what = if is(ReqOp::SysFlush) { "SYS_FLUSH" } else { "SYS_INV" };
            banks.seen.push(format!("{what} {}", line % u64::from(banks.p.banks)));
        } else {
            assert!(locked || is(ReqOp::Token), "{m:?}");
            return false;
        }
        true
    }

    /// A message of network 1 is served.
    pub fn write(&mut self, banks: &mut Banks, m: &Msg, due: u64) {
        let line = m.get("atomic_addr") / LINE;
        let is = |kind: WbOp| m.get("op") == kind as u64;
        if is(WbOp::Wb) {
            banks.write_back(m, due);
        } else if is(WbOp::RemOp) {
            let (old, wrote) = banks.perform_asked(m);
            let held = self.locked.get(&line) == Some(&OWN);
            assert!(held || self.token == Some(OWN), "REM_OP without a lock");
            if !(wrote && m.get("keep") == 1) {
                self.locked.remove(&line);
            }
            value(banks, RspOp::RemRsp, old, wrote, due, 1);
            banks.seen.push(format!("OP {line}"));
        } else if is(WbOp::RemUnlock) {
            assert_eq!(self.locked.remove(&line), Some(OWN), "unlock of what is not locked");
            banks.seen.push(format!("UNLOCK {line}"));
        } else {
            assert!(is(WbOp::TokenRel), "{m:?}");
            assert_eq!(self.token.take(), Some(OWN));
        }
    }
}
