//! The banks below the L1 know whose each line is (srsp.md section 9, the L2's table).

use crate::hlrc_l1::world::{Others, Registers};
use crate::l1_bench::banks::{Banks, LINE};
use rand::Rng;
use rand::rngs::SmallRng;
use weft_srsp::msg::{ReqOp, RspOp, WbOp};
use weft_srsp_bench::bench::Msg;

/// Whose a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// R: the L1's under test.
    Ours,
    /// RV: it has been revoked, for another L1 or (recall) for nobody; its UNREG has come, with this WBT entry.
    Revoked { other: bool, unreg: Option<u64> },
    /// RV by a READ; its UNREG has come, with this WBT entry.
    Read { unreg: Option<u64> },
    /// Another L1's, which works in memory itself.
    Other,
}

impl<R: Registers> Others<R> {
    /// A request that is due is served, unless it must wait.
    pub fn request(&mut self, banks: &mut Banks, at: usize, now: u64, rng: &mut SmallRng) -> bool {
        let m = banks.waiting[at].1.clone();
        let line = m.get("atomic_addr") / LINE;
        let due = now + rng.random_range(1..=banks.slow);
        // Now and then an answer comes so late that a whole handover lies between.
        let due = due + if rng.random_bool(0.1) { rng.random_range(0..20 * banks.slow) } else { 0 };
        let fields = [("mshr", m.get("mshr")), ("hit", rng.random_range(0..2))];
        let is = |kind: ReqOp| m.get("op") == kind as u64;
        if is(ReqOp::Rd) || is(ReqOp::Rdu) && !R::STORES {
            match self.owners.get(&line) {
                Some(Owner::Ours) if R::STORES => panic!("RD of line {line}, which the L1 has"),
                Some(Owner::Revoked { .. } | Owner::Read { .. }) if R::STORES => return false,
                _ => {}
            }
            banks.answer(RspOp::Fill, &fields, Some(banks.line(line)), due);
            banks.seen.push(format!("{} {line}", if is(ReqOp::Rd) { "RD" } else { "RDU" }));
            return true;
        }
        assert!(is(ReqOp::Reg), "{m:?}");
        match self.owners.get(&line) {
            Some(Owner::Ours) => panic!("REG of line {line}, which the L1 has"),
            Some(_) => false,
            None => {
                self.owners.insert(line, Owner::Ours);
                banks.answer(RspOp::RegData, &fields, Some(banks.line(line)), due);
                banks.seen.push(format!("REG {line}"));
                true
            }
        }
    }

    /// A message of network 1 is served.
    pub fn write(&mut self, banks: &mut Banks, m: &Msg, due: u64) {
        let line = m.get("atomic_addr") / LINE;
        let wbt = m.get("wbt");
        let is = |kind: WbOp| m.get("op") == kind as u64;
        if is(WbOp::Wb) && !R::STORES {
            banks.write_back(m, due);
        } else if is(WbOp::Unreg) {
            banks.merge(m);
            banks.open_wbt(wbt);
            banks.seen.push(format!("UNREG {line}"));
            match self.owners.get(&line).copied() {
                Some(Owner::Ours) => {
                    self.owners.remove(&line);
                    banks.answer(RspOp::UnregAck, &[("wbt", wbt)], None, due);
                }
                Some(Owner::Revoked { other, unreg: None }) => {
                    self.owners.insert(line, Owner::Revoked { other, unreg: Some(wbt) });
                }
                Some(Owner::Read { unreg: None }) => {
                    self.owners.insert(line, Owner::Read { unreg: Some(wbt) });
                }
                owner => panic!("UNREG of line {line}: {owner:?}"),
            }
        } else {
            assert!(is(WbOp::RevokeAck), "{m:?}");
            let has = m.get("has") == 1;
            let reads = R::STORES && m.get("keep") == 1;
            banks.seen.push(format!("{}_ACK{} {line}", if reads { "READ" } else { "REVOKE" }, u8::from(has)));
            let (other, unreg) = match self.owners.remove(&line) {
                Some(Owner::Read { unreg }) if reads => (false, unreg),
                Some(Owner::Revoked { other, unreg }) if !reads => (other, unreg),
                owner => panic!("an answer for line {line}, which was not asked for: {owner:?}"),
            };
            assert_eq!(has, unreg.is_none(), "line {line} comes once");
            if has {
                banks.merge(m);
            }
            if let Some(wbt) = unreg {
                banks.answer(RspOp::UnregAck, &[("wbt", wbt)], None, due);
            }
            if other {
                self.owners.insert(line, Owner::Other);
            }
            if reads && has {
                self.owners.insert(line, Owner::Ours);
            }
        }
    }

    /// A probe to deliver now, if any; they overtake each other too.
    pub fn probe(&mut self, banks: &Banks, now: u64, rng: &mut SmallRng) -> Option<Msg> {
        let due: Vec<usize> = (0..self.probes.len()).filter(|i| self.probes[*i].0 <= now).collect();
        if due.is_empty() || self.hold_probes {
            return None;
        }
        let (_, line, read) = self.probes.swap_remove(due[rng.random_range(0..due.len())]);
        let offset = rng.random_range(0..LINE);
        Some(R::probe(&banks.p, read, line * LINE + offset))
    }
}
