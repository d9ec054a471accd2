//! What must hold in every state (mgcc.md section 13), seen from above.

use super::super::array::State;
use super::super::time::Time;
use super::super::umc::Granted;
use super::System;
use std::collections::BTreeMap;

/// What an observer remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Ghost {
    /// Per line the end of the greatest lease ever granted and the stamp of the last write.
    granted: BTreeMap<u64, (Time, Time)>,
    /// Broken rules.
    pub faults: Vec<String>,
}

impl System {
    /// After a step: clocks, and what banks know of their L1s, and locked ways.
    pub(super) fn watch(&mut self, before: &[Time]) {
        let mut faults = Vec::new();
        for (i, (before, after)) in before.iter().zip(self.clocks()).enumerate() {
            if after < *before {
                faults.push(format!("the clock of cache {i} goes back from {before} to {after}"));
            }
        }
        let banks = self.p.layout.banks as usize;
        for (i, l1) in self.l1.iter().enumerate() {
            for bank in 0..banks {
                let known = Time::new(l1.cts().epoch, l1.bank_lb(bank));
                let clock = self.l2[self.gpu_of_l1(i) * banks + bank].cts();
                if known.ts > 0 && self.up[i * banks + bank].is_empty() && clock < known {
                    faults.push(format!(
                        "L1 {i} believes that bank {bank} has reached {known}; it is at {clock}"
                    ));
                }
            }
            let locked = l1.array().iter().filter(|way| way.state == State::Locked);
            faults.extend(
                locked
                    .filter(|way| l1.txn_of(way.line).is_none())
                    .map(|way| format!("L1 {i} has locked line {:#x} without a transaction", way.line)),
            );
        }
        for (i, l2) in self.l2.iter().enumerate() {
            let locked = l2.array().iter().filter(|way| way.state == State::Locked);
            faults.extend(
                locked
                    .filter(|way| l2.txn_of(way.line).is_none())
                    .map(|way| format!("bank {i} has locked line {:#x} without a transaction", way.line)),
            );
        }
        self.ghost.faults.extend(faults);
    }
    /// After a grant: a write is behind every lease of its line.
    pub(super) fn watch_grant(&mut self, granted: &Granted) {
        let Granted { line, write, epoch, grant } = *granted;
        if grant.ovf {
            return;
        }
        let (wts, rts) = (Time::new(epoch, grant.wts), Time::new(epoch, grant.rts));
        let (end, last) = self.ghost.granted.entry(line).or_default();
        let mut faults = Vec::new();
        if write && *end > Time::default() && wts <= *end {
            faults.push(format!("line {line:#x} is written at {wts}, inside a lease that ends at {end}"));
        }
        if !write && wts < *last {
            faults.push(format!("line {line:#x} is read as of {wts}, but was written at {last}"));
        }
        *end = (*end).max(rts);
        if write {
            *last = wts;
        }
        self.ghost.faults.extend(faults);
    }
}
