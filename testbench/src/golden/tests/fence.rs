//! Section 7: states, epochs, batching, message counts, and the whole protocol over egress and ingress models.

use crate::golden::egress::{Delivery, InvEgress, InvIngress};
use crate::golden::fence::{FenceOut, FenceTraffic, FenceUnit, ack_counter_bits, acks_per_fence, traffic};
use crate::golden::fence_table::{FENCE, FenceState};
use crate::golden::{Inv, InvCause, gpus_of, only};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn counts_of_section_7() {
    assert_eq!((acks_per_fence(4), ack_counter_bits(4)), (12, 4));
    assert_eq!((acks_per_fence(2), ack_counter_bits(2)), (2, 2));
    assert_eq!((acks_per_fence(16), ack_counter_bits(16)), (240, 8));
    let t = traffic(4, 6);
    assert_eq!(t, FenceTraffic { fence_req: 3, inv_fence: 72, fence_ack: 9, own_receipts: 3 });
    assert_eq!(t.fence_ack + t.own_receipts, acks_per_fence(4));
}

#[test]
fn drain_waits_for_the_old_epoch_only() {
    let mut unit = FenceUnit::new(0, 4, true);
    let (write, store) = (unit.write_sent(), unit.local_store());
    unit.release().unwrap();
    assert_eq!((unit.state(), unit.epoch()), (FenceState::Drain, 1));
    let new = unit.write_sent();
    assert_eq!((write, store, new), (0, 0, 1));
    unit.write_acked(write).unwrap();
    assert_eq!(unit.state(), FenceState::Drain, "the local store is not complete");
    unit.local_store_done(store).unwrap();
    assert_eq!((unit.state(), unit.wr_out()), (FenceState::Flush, [0, 1]));
    assert_eq!(unit.take().1, [FenceOut::StartFlush]);
    assert_eq!(
        unit.write_acked(0).unwrap_err().to_string(),
        "fence of GPU 0: a remote write of epoch 0 completes, but none is outstanding"
    );
    unit.write_acked(new).unwrap();
}

#[test]
fn later_releases_batch_into_the_next_fence() {
    let mut unit = FenceUnit::new(1, 2, false);
    unit.release().unwrap();
    assert_eq!(unit.take().1, [FenceOut::FenceReq { to: 0 }, FenceOut::Broadcast { requester: 1 }]);
    unit.release().unwrap();
    unit.sent().unwrap();
    unit.release().unwrap();
    assert_eq!(unit.batched(), 2);
    unit.ack().unwrap();
    unit.ack().unwrap();
    let out = unit.take().1;
    assert_eq!(out[0], FenceOut::Complete { releases: 1 });
    assert_eq!((unit.state(), unit.batched()), (FenceState::Send, 0), "the next fence is on its way");
    unit.sent().unwrap();
    unit.ack().unwrap();
    unit.ack().unwrap();
    assert_eq!(unit.take().1, [FenceOut::Complete { releases: 2 }]);
    assert_eq!((unit.state(), unit.acks()), (FenceState::Idle, 0));
    assert!(unit.ack().is_err(), "an acknowledgement while IDLE is an error");
}

/// Some GPUs with their fence units, ingress and egress; links and RSP network are the test's own queues.
struct World {
    gpus: u32,
    links: usize,
    units: Vec<FenceUnit>,
    egress: Vec<InvEgress>,
    ingress: Vec<InvIngress>,
    reqs: Vec<(u32, u32)>,
    pushes: Vec<(u32, u32, u32, usize)>,
    acks: Vec<u32>,
    unapplied: Vec<(u32, u32, usize, u64)>,
    sent_before: Vec<BTreeSet<(u32, u64)>>,
    pending: BTreeSet<(u32, u64)>,
    next_line: u64,
    completed: u32,
    rows: BTreeSet<&'static str>,
    counts: FenceTraffic,
}

impl World {
    fn new(gpus: u32, links: usize) -> Self {
        let link_of = |line: u64, links: usize| (line % links as u64) as usize;
        World {
            gpus,
            links,
            units: (0..gpus).map(|g| FenceUnit::new(g, gpus, g % 2 == 0)).collect(),
            egress: (0..gpus).map(|g| InvEgress::new(gpus, g, 2, links, link_of)).collect(),
            ingress: (0..gpus).map(|_| InvIngress::new(gpus, links)).collect(),
            reqs: Vec::new(),
            pushes: Vec::new(),
            acks: Vec::new(),
            unapplied: Vec::new(),
            sent_before: vec![BTreeSet::new(); gpus as usize],
            pending: BTreeSet::new(),
            next_line: 0,
            completed: 0,
            rows: BTreeSet::new(),
            counts: FenceTraffic { fence_req: 0, inv_fence: 0, fence_ack: 0, own_receipts: 0 },
        }
    }

    /// A home sends an Inv to some GPUs: from now on pending until applied.
    fn inv(&mut self, home: u32, pick: u64) {
        let dest = (0..self.gpus).filter(|g| *g != home && pick >> g & 1 == 1).map(only).sum();
        let inv = Inv { line: self.next_line, dest, cause: InvCause::Write, grp: false };
        if dest != 0 && self.egress[home as usize].offer((pick % 2) as usize, inv) {
            // Acceptance by the FIFOs is what a write's acknowledgement waits for.
            let accepted = (0..64).any(|_| {
                self.egress[home as usize].step().contains(&((pick % 2) as usize)) || {
                    self.links_move(home);
                    false
                }
            });
            assert!(accepted, "FIFOs are emptied by the links, so a message is accepted in the end");
            self.pending.extend(gpus_of(dest).map(|g| (g, self.next_line)));
            self.next_line += 1;
        }
    }

    fn links_move(&mut self, from: u32) {
        for to in (0..self.gpus).filter(|g| *g != from) {
            for link in 0..self.links {
                if let Some(message) = self.egress[from as usize].pop(to, link) {
                    self.ingress[to as usize].push(from, link, message);
                }
            }
        }
    }

    fn release(&mut self, gpu: u32) {
        if self.units[gpu as usize].state() == FenceState::Idle {
            self.sent_before[gpu as usize] = self.pending.clone();
        }
        self.units[gpu as usize].release().unwrap();
        self.collect(gpu);
    }

    fn collect(&mut self, gpu: u32) {
        let (rows, out) = self.units[gpu as usize].take();
        self.rows.extend(rows.iter().map(|r| r.id));
        for message in out {
            match message {
                FenceOut::StartFlush => self.units[gpu as usize].flush_done().unwrap(),
                FenceOut::FenceReq { to } => {
                    self.counts.fence_req += 1;
                    self.reqs.push((gpu, to));
                }
                FenceOut::Broadcast { requester } => {
                    for to in (0..self.gpus).filter(|g| *g != gpu) {
                        self.pushes.extend((0..self.links).map(|l| (requester, gpu, to, l)));
                    }
                }
                FenceOut::Complete { releases } => {
                    self.completed += releases;
                    let old = &self.sent_before[gpu as usize];
                    assert!(
                        old.is_disjoint(&self.pending),
                        "an Inv older than the release is not applied yet"
                    );
                    // A batched fence starts now, so Invs pending now are older than it.
                    self.sent_before[gpu as usize] = self.pending.clone();
                }
            }
        }
        let fresh = self.units[gpu as usize].take();
        self.rows.extend(fresh.0.iter().map(|r| r.id));
        for message in fresh.1 {
            if let FenceOut::FenceReq { to } = message {
                self.counts.fence_req += 1;
                self.reqs.push((gpu, to));
            } else if let FenceOut::Broadcast { requester } = message {
                for to in (0..self.gpus).filter(|g| *g != gpu) {
                    self.pushes.extend((0..self.links).map(|l| (requester, gpu, to, l)));
                }
            }
        }
    }

    fn step(&mut self, action: usize, pick: u64) {
        let gpu = (pick % u64::from(self.gpus)) as u32;
        match action {
            0 => self.inv(gpu, pick >> 4),
            1 => self.release(gpu),
            2 if !self.reqs.is_empty() => {
                let (requester, to) = self.reqs.remove(pick as usize % self.reqs.len());
                self.units[to as usize].fence_req(requester).unwrap();
                self.collect(to);
            }
            3 if !self.pushes.is_empty() => self.push_fence(pick as usize),
            4 => self.links_move(gpu),
            5 => self.take(gpu, pick >> 4),
            6 if !self.unapplied.is_empty() => {
                let (to, from, link, line) = self.unapplied.remove(pick as usize % self.unapplied.len());
                assert!(self.ingress[to as usize].applied(from, link));
                assert!(self.pending.remove(&(to, line)));
            }
            7 if !self.acks.is_empty() => {
                let to = self.acks.remove(pick as usize % self.acks.len());
                self.units[to as usize].ack().unwrap();
                self.collect(to);
            }
            _ => {}
        }
        self.sent();
    }

    fn push_fence(&mut self, pick: usize) {
        let at = pick % self.pushes.len();
        let (requester, from, to, link) = self.pushes[at];
        if self.egress[from as usize].push_fence(requester, to, link) {
            self.counts.inv_fence += 1;
            self.pushes.remove(at);
        }
    }

    /// SEND ends when the FenceReqs have left and the own broadcast is in the FIFOs.
    fn sent(&mut self) {
        for gpu in 0..self.gpus {
            let busy =
                self.pushes.iter().any(|p| p.0 == gpu && p.1 == gpu) || self.reqs.iter().any(|r| r.0 == gpu);
            if self.units[gpu as usize].state() == FenceState::Send && !busy {
                self.units[gpu as usize].sent().unwrap();
                self.collect(gpu);
            }
        }
    }

    fn take(&mut self, to: u32, pick: u64) {
        let from = (pick % u64::from(self.gpus)) as u32;
        let link = (pick >> 4) as usize % self.links;
        match self.ingress[to as usize].take(from, link) {
            Some(Delivery::Inv(inv)) => self.unapplied.push((to, from, link, inv.line)),
            Some(Delivery::Ack { requester, source }) => {
                assert_eq!(source, from);
                let own = requester == to;
                self.counts.own_receipts += u32::from(own);
                self.counts.fence_ack += u32::from(!own);
                self.acks.push(requester);
            }
            Some(Delivery::Absorbed) | None => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// No fence completes before every Inv that was in the FIFOs at its release is applied; every release completes;
    /// the messages are exactly those of `traffic`.
    #[test]
    fn fences_order_invs(gpus in 2u32..=4, links in 1usize..=3, steps in proptest::collection::vec((0usize..8, any::<u64>()), 50..600)) {
        let mut world = World::new(gpus, links);
        let mut releases = 0;
        for (action, pick) in &steps {
            releases += u32::from(*action == 1);
            world.step(*action, *pick);
        }
        let mut pick = 1u64;
        for _ in 0..60_000 {
            if world.units.iter().all(|u| u.state() == FenceState::Idle) {
                break;
            }
            pick = pick.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            world.step(2 + (pick >> 33) as usize % 6, pick >> 20);
        }
        prop_assert!(world.units.iter().all(|u| u.state() == FenceState::Idle), "a fence never ends");
        prop_assert_eq!(world.completed, releases);
        let one = traffic(gpus, links as u32);
        let fences = world.counts.fence_req / one.fence_req;
        prop_assert_eq!(world.counts.fence_req, fences * one.fence_req);
        prop_assert_eq!(world.counts.inv_fence, fences * one.inv_fence);
        prop_assert_eq!(world.counts.fence_ack, fences * one.fence_ack);
        prop_assert_eq!(world.counts.own_receipts, fences * one.own_receipts);
        prop_assert!(fences <= releases);
        prop_assert!(world.rows.iter().all(|id| FENCE.iter().any(|r| r.id == *id)));
    }
}
