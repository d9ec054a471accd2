//! Section 7: states, epochs, batching, message counts, and the whole protocol over egress and ingress models.

use crate::golden::egress::{Delivery, InvEgress, InvIngress};
use crate::golden::fence::{FenceOut, FenceTraffic, FenceUnit, ack_counter_bits, acks_per_fence, traffic};
use crate::golden::fence_table::{FENCE, FenceState};
use crate::golden::order::BankOrder;
use crate::golden::{Inv, InvCause, gpus_of, only};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Banks of each GPU.
const BANKS: usize = 2;

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
    let mut unit = FenceUnit::new(0, 4, 2, true);
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
    let mut unit = FenceUnit::new(1, 2, 1, false);
    unit.release().unwrap();
    assert_eq!(unit.take().1, [FenceOut::FenceReq { to: 0 }]);
    unit.release().unwrap();
    own_marker(&mut unit);
    unit.sent().unwrap();
    unit.release().unwrap();
    assert_eq!(unit.batched(), 2);
    unit.ack().unwrap();
    unit.ack().unwrap();
    let out = unit.take().1;
    assert!(out.contains(&FenceOut::Complete { releases: 1 }));
    assert_eq!((unit.state(), unit.batched()), (FenceState::Send, 0), "the next fence is on its way");
    own_marker(&mut unit);
    unit.sent().unwrap();
    unit.ack().unwrap();
    unit.ack().unwrap();
    assert_eq!(unit.take().1.last(), Some(&FenceOut::Complete { releases: 2 }));
    assert_eq!((unit.state(), unit.acks()), (FenceState::Idle, 0));
    assert!(unit.ack().is_err(), "an acknowledgement while IDLE is an error");
}

/// The only bank confirms the own marker.
fn own_marker(unit: &mut FenceUnit) {
    unit.confirm(1).unwrap();
    unit.ordered(0, 1).unwrap();
}

#[test]
fn a_marker_leaves_when_every_bank_has_confirmed_it() {
    let mut unit = FenceUnit::new(2, 3, 3, true);
    assert_eq!(
        unit.confirm(0).unwrap_err().to_string(),
        "fence of GPU 2: the marker of GPU 0 is not to be confirmed now"
    );
    for requester in [1, 0] {
        unit.fence_req(requester).unwrap();
    }
    assert_eq!(unit.next_markers(), [1], "in the order of the requests");
    unit.release().unwrap();
    unit.flush_done().unwrap();
    assert_eq!(unit.next_markers(), [2, 1], "the own one before or behind");
    unit.take();
    unit.confirm(1).unwrap();
    let tokens = (0..3).map(|bank| FenceOut::Order { bank, requester: 1 });
    assert_eq!(unit.take().1, tokens.collect::<Vec<_>>());
    assert_eq!(unit.next_markers(), [0; 0], "one at a time");
    for bank in [2, 0] {
        unit.ordered(bank, 1).unwrap();
        let again = unit.ordered(bank, 1).unwrap_err().to_string();
        assert_eq!(again, format!("fence of GPU 2: bank {bank} has no token of GPU 1"));
    }
    assert!(unit.take().1.is_empty());
    unit.ordered(1, 1).unwrap();
    assert_eq!(unit.take().1, [FenceOut::Broadcast { requester: 1 }]);
    assert_eq!(unit.next_markers(), [2, 0]);
    let early = unit.sent().unwrap_err().to_string();
    assert_eq!(early, "fence of GPU 2: it leaves SEND before its own marker has left");
    unit.confirm(2).unwrap();
    (0..3).for_each(|bank| unit.ordered(bank, 2).unwrap());
    unit.sent().unwrap();
    assert_eq!(unit.next_markers(), [0]);
}

#[test]
fn a_bank_gives_a_token_back_when_what_was_under_way_is_answered() {
    let mut bank = BankOrder::default();
    assert_eq!(bank.give_back(), None);
    (1..=2).for_each(|op| bank.write(op));
    bank.take(3).unwrap();
    assert_eq!(
        bank.take(1).unwrap_err().to_string(),
        "a bank is given the token of GPU 1 while it holds that of GPU 3"
    );
    bank.write(7);
    assert_eq!((bank.give_back(), bank.waits_for(), bank.younger()), (None, 2, 1));
    bank.answered(2).unwrap();
    assert_eq!(bank.give_back(), None);
    bank.answered(1).unwrap();
    assert_eq!(bank.give_back(), Some(3), "the write that came later does not matter");
    assert_eq!(bank.give_back(), None);
    assert!(bank.answered(1).is_err() && bank.answered(7).is_ok());
}

/// A write whose data may be read at its home and whose directory operation is not answered.
struct Written {
    home: u32,
    bank: usize,
    op: u64,
    inv: Inv,
}

/// Some GPUs with their fence units, ingress and egress; links and RSP network are the test's own queues.
struct World {
    gpus: u32,
    links: usize,
    units: Vec<FenceUnit>,
    banks: Vec<[BankOrder; BANKS]>,
    written: Vec<Written>,
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
    /// Banks wait before they give a token back.
    tokens: bool,
    /// Own markers that have left in SEND.
    own_left: Vec<bool>,
    /// Invs older than a release that were not applied when it completed.
    missed: usize,
    rows: BTreeSet<&'static str>,
    counts: FenceTraffic,
}

impl World {
    fn new(gpus: u32, links: usize) -> Self {
        let link_of = |line: u64, links: usize| (line % links as u64) as usize;
        World {
            gpus,
            links,
            units: (0..gpus).map(|g| FenceUnit::new(g, gpus, BANKS as u32, g % 2 == 0)).collect(),
            banks: vec![Default::default(); gpus as usize],
            written: Vec::new(),
            egress: (0..gpus).map(|g| InvEgress::new(gpus, g, BANKS, links, link_of)).collect(),
            ingress: (0..gpus).map(|_| InvIngress::new(gpus, links)).collect(),
            reqs: Vec::new(),
            pushes: Vec::new(),
            acks: Vec::new(),
            unapplied: Vec::new(),
            sent_before: vec![BTreeSet::new(); gpus as usize],
            pending: BTreeSet::new(),
            next_line: 0,
            completed: 0,
            tokens: true,
            own_left: vec![false; gpus as usize],
            missed: 0,
            rows: BTreeSet::new(),
            counts: FenceTraffic { fence_req: 0, inv_fence: 0, fence_ack: 0, own_receipts: 0 },
        }
    }

    /// A write's data step at its home: from now on it may be read, and its Invs are pending until applied.
    fn write(&mut self, home: u32, pick: u64) {
        let dest = (0..self.gpus).filter(|g| *g != home && pick >> g & 1 == 1).map(only).sum();
        let inv = Inv { line: self.next_line, dest, cause: InvCause::Write, grp: false };
        if dest != 0 {
            let (bank, op) = ((pick >> 8) as usize % BANKS, self.next_line);
            self.banks[home as usize][bank].write(op);
            self.written.push(Written { home, bank, op, inv });
            self.pending.extend(gpus_of(dest).map(|g| (g, self.next_line)));
            self.next_line += 1;
        }
    }

    /// The directory puts a write's Inv into the FIFOs and answers, in the order of the writes of a bank.
    fn directory(&mut self, pick: usize) {
        let at = pick % self.written.len();
        let (home, bank) = (self.written[at].home, self.written[at].bank);
        let first = self.written.iter().position(|w| (w.home, w.bank) == (home, bank)).expect("this one");
        let Written { op, inv, .. } = self.written.remove(first);
        assert!(self.egress[home as usize].offer(bank, inv), "one Inv of a slice at a time");
        // Acceptance by the FIFOs is what a write's acknowledgement waits for.
        let accepted = (0..64).any(|_| {
            self.egress[home as usize].step().contains(&bank) || {
                self.links_move(home);
                false
            }
        });
        assert!(accepted, "FIFOs are emptied by the links, so a message is accepted in the end");
        self.banks[home as usize][bank].answered(op).unwrap();
    }

    /// A fence unit chooses a marker, or a bank gives a token back.
    fn confirm(&mut self, gpu: u32, pick: usize) {
        let markers = self.units[gpu as usize].next_markers();
        if !markers.is_empty() {
            self.units[gpu as usize].confirm(markers[pick % markers.len()]).unwrap();
            return self.collect(gpu);
        }
        let bank = pick % BANKS;
        let token = match self.tokens {
            true => self.banks[gpu as usize][bank].give_back(),
            // A bank that looks at no write.
            false => self.banks[gpu as usize][bank].held(),
        };
        if let Some(requester) = token {
            self.units[gpu as usize].ordered(bank as u32, requester).unwrap();
            self.collect(gpu);
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
        loop {
            let (rows, out) = self.units[gpu as usize].take();
            self.rows.extend(rows.iter().map(|r| r.id));
            if out.is_empty() {
                return;
            }
            out.into_iter().for_each(|message| self.deliver(gpu, message));
        }
    }

    fn deliver(&mut self, gpu: u32, message: FenceOut) {
        match message {
            FenceOut::StartFlush => self.units[gpu as usize].flush_done().unwrap(),
            FenceOut::FenceReq { to } => {
                self.counts.fence_req += 1;
                self.reqs.push((gpu, to));
            }
            FenceOut::Order { bank, requester } => {
                self.banks[gpu as usize][bank as usize].take(requester).unwrap();
            }
            FenceOut::Broadcast { requester } => {
                if requester == gpu {
                    self.own_left[gpu as usize] = true;
                }
                for to in (0..self.gpus).filter(|g| *g != gpu) {
                    self.pushes.extend((0..self.links).map(|l| (requester, gpu, to, l)));
                }
            }
            FenceOut::Complete { releases } => {
                self.completed += releases;
                let old = &self.sent_before[gpu as usize];
                self.missed += old.intersection(&self.pending).count();
                // A batched fence starts now, so Invs pending now are older than it.
                self.sent_before[gpu as usize] = self.pending.clone();
            }
        }
    }

    fn step(&mut self, action: usize, pick: u64) {
        let gpu = (pick % u64::from(self.gpus)) as u32;
        match action {
            0 => self.write(gpu, pick >> 4),
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
            8 if !self.written.is_empty() => self.directory(pick as usize),
            9 => self.confirm(gpu, (pick >> 4) as usize),
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
            let left = self.own_left[gpu as usize] && self.units[gpu as usize].state() == FenceState::Send;
            if left && !busy {
                self.own_left[gpu as usize] = false;
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

/// Runs random steps, then lets everything that is under way end. Returns the releases asked for.
fn play(world: &mut World, steps: &[(usize, u64)]) -> u32 {
    let mut releases = 0;
    for (action, pick) in steps {
        releases += u32::from(*action == 1);
        world.step(*action, *pick);
    }
    let mut pick = 1u64;
    for _ in 0..120_000 {
        if world.units.iter().all(|u| u.state() == FenceState::Idle) && world.reqs.is_empty() {
            break;
        }
        pick = pick.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        world.step(2 + (pick >> 33) as usize % 8, pick >> 20);
    }
    releases
}

/// A write that anybody may have read, and a release of GPU 1 while the directory has not answered it; then everything happens but that.
fn release_before_the_directory(tokens: bool) -> World {
    let mut world = World::new(3, 1);
    world.tokens = tokens;
    world.write(0, 0b110);
    world.release(1);
    let mut pick = 5u64;
    for _ in 0..5_000 {
        pick = pick.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let action = [2, 3, 4, 5, 6, 7, 9][(pick >> 33) as usize % 7];
        world.step(action, pick >> 20);
    }
    world
}

/// Why the banks confirm: GPU 1 may have read what GPU 0's bank holds, and then released it.
#[test]
fn a_release_waits_for_a_write_that_could_be_read() {
    let careless = release_before_the_directory(false);
    assert_eq!((careless.completed, careless.missed), (1, 2), "without the tokens it is missed");
    let mut world = release_before_the_directory(true);
    assert_eq!((world.completed, world.missed), (0, 0));
    assert_eq!(play(&mut world, &[(8, 0)]), 0);
    assert_eq!((world.completed, world.missed), (1, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// No fence completes before the Invs of every write that could be read at its release are applied; every release completes;
    /// the messages are exactly those of `traffic`.
    #[test]
    fn fences_order_invs(gpus in 2u32..=4, links in 1usize..=3, slow in 1u64..20, steps in proptest::collection::vec((0usize..10, any::<u64>()), 50..600)) {
        let mut world = World::new(gpus, links);
        // A slow directory leaves some operations of it out.
        let steps: Vec<_> = steps.into_iter().filter(|(action, pick)| *action != 8 || pick % slow == 0).collect();
        let releases = play(&mut world, &steps);
        prop_assert_eq!(world.missed, 0, "an Inv older than a release is not applied when it completes");
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
