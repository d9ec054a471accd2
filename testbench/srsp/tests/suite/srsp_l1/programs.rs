//! What each operation beyond a plain access sends below, in order, and which copies it leaves (srsp.md
//! section 5.1): by operation, order and scope.

use crate::l1_bench::ask::{ACQ, AR, Ask, REL, RLX};
use crate::l1_bench::banks::LINE;
use crate::srsp_l1::world::{World, small, sync};
use weft_srsp::Shape;
use weft_srsp::msg::SyncOp;
use weft_srsp::params::Impl;

/// The variable, a line of which an old copy is here, a dirty line.
const L: u64 = 0x4000;
const X: u64 = 0x5048;
const Y: u64 = 0x6080;

const WG: u64 = 0;
const SYS: u64 = 2;

/// What an operation does beyond its own access.
#[derive(Clone, Copy)]
struct Case {
    ask: Ask,
    acquires: bool,
    releases: bool,
    scope: u64,
}

fn cases() -> Vec<Case> {
    let accesses = [
        (SyncOp::Ld, &[RLX, ACQ][..]),
        (SyncOp::St, &[RLX, REL]),
        (SyncOp::Add, &[RLX, ACQ, REL, AR]),
        (SyncOp::Cas, &[RLX, ACQ, REL, AR]),
    ];
    let of = |op: SyncOp, sem: u64, scope: u64| Case {
        ask: sync(op, L, 1, 0, sem, scope, false),
        acquires: sem & ACQ != 0,
        releases: sem & REL != 0,
        scope,
    };
    let fence = |acquire: bool, scope: u64| Case {
        ask: Ask::Fence { acquire, scope },
        acquires: acquire,
        releases: !acquire,
        scope,
    };
    let mut all = Vec::new();
    for scope in [WG, 1, SYS] {
        all.extend([true, false].map(|acquire| fence(acquire, scope)));
        for (op, sems) in accesses {
            all.extend(sems.iter().map(|sem| of(op, *sem, scope)));
        }
    }
    all.push(Case { ask: Ask::Begin, acquires: true, releases: false, scope: 1 });
    all.push(Case { ask: Ask::End, acquires: false, releases: true, scope: 1 });
    all
}

impl Case {
    /// What the L2 sees. Banks are asked for a flush, or an invalidation, at once.
    fn sent(&self, banks: u64) -> Vec<String> {
        let of = |what: &str, addr: u64| format!("{what} {}", addr / LINE);
        let all = |what: &str| (0..banks).map(|bank| format!("{what} {bank}")).collect::<Vec<_>>();
        let (access, local) = (matches!(self.ask, Ask::Sync(..)), self.scope == WG);
        if local {
            return if access { vec![of("RD", L)] } else { vec![] };
        }
        let mut sent = Vec::new();
        if self.releases {
            sent.push(of("WB", Y));
            sent.extend(if self.scope == SYS { all("SYS_FLUSH") } else { vec![] });
        }
        if access {
            sent.push(of(if self.scope == SYS { "ATM_SYS" } else { "ATM" }, L));
        }
        if self.acquires {
            sent.extend(if self.releases { vec![] } else { vec![of("WB", Y)] });
            sent.extend(if self.scope == SYS { all("SYS_INV") } else { vec![] });
        }
        sent
    }

    /// What the block sends, and whether X and L are here afterwards.
    fn check(&self, w: &mut World, value: u64) {
        w.answer(Ask::Begin);
        w.banks.put(X, 4, value);
        assert_eq!(w.alone(Ask::Load(X)).0, value);
        w.alone(Ask::Store(Y, value, true));
        w.banks.put(X, 4, value + 1);
        w.banks.put(L, 4, 0);
        w.banks.seen.clear();
        let (_, m) = w.answer(self.ask);
        let banks = u64::from(w.banks.p.banks);
        let mut seen = std::mem::take(&mut w.banks.seen);
        seen.chunk_by_mut(|a, b| a.starts_with("SYS") && a[..7] == b[..b.len().min(7)])
            .for_each(<[String]>::sort);
        assert_eq!(seen, self.sent(banks), "{:?} in {:?}", self.ask, w.p.system);
        if matches!(self.ask, Ask::Sync(..)) {
            assert_eq!(m.get("src"), if w.banks.had { 1 } else { 3 }, "{:?}", self.ask);
        }
        let wide = self.scope != WG;
        let fresh = value + u64::from(self.acquires && wide);
        assert_eq!(w.alone(Ask::Load(X)).0, fresh, "{:?} in {:?}", self.ask, w.p.system);
        let written = if (self.acquires || self.releases) && wide { value } else { value - 2 };
        assert_eq!(w.banks.word(Y, 4), written, "{:?} in {:?}", self.ask, w.p.system);
    }
}

#[test]
fn every_operation_does_the_steps_of_its_order_and_scope() {
    for system in [Impl::Base, Impl::Brsp, Impl::BrspToken, Impl::Srsp, Impl::SrspOpt] {
        let p = small(system).sized(|s| Shape { size: 2048, ways: 4, ..s });
        let mut w = World::new(&p, 1);
        w.banks.slow = 3;
        w.banks.put(Y, 4, 8);
        w.rest(40);
        for (i, case) in cases().iter().enumerate() {
            case.check(&mut w, 10 + 2 * i as u64);
        }
    }
}
