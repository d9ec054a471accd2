//! Model of what the leader of a GPU does in a hierarchical fence unit where GPMs join (hmg.md section 6):
//! GPMs that join its releases, and the relay of GPUs' requests to the homes of its GPU.

use super::marks::{Checked, ensure};
use super::{HierFence, Order, Phase, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// A leader. GPUs are named by their leaders.
#[derive(Clone, Debug, Default)]
pub(super) struct Leader {
    /// GPMs that wait, and those that the batch under way serves.
    joins: BTreeSet<u32>,
    joined: BTreeSet<u32>,
    /// What the unit said in the cycle before of the latter, and whether the batch serves own tokens.
    said: BTreeSet<u32>,
    own: bool,
    /// GPUs that wait for the relay.
    relays: BTreeSet<u32>,
    /// Requests of the relay that have not left: to whom, and for which GPUs.
    asks: BTreeSet<(u32, BTreeSet<u32>)>,
    /// By GPU, homes that have not acknowledged.
    missing: BTreeMap<u32, BTreeSet<u32>>,
}

impl Leader {
    pub fn idle(&self) -> bool {
        self.joins.is_empty()
            && self.joined.is_empty()
            && self.relays.is_empty()
            && self.asks.is_empty()
            && self.missing.is_empty()
    }

    /// The batch under way serves other GPMs.
    pub fn serves(&self) -> bool {
        !self.joined.is_empty()
    }

    /// A node asks: a GPM of the own GPU (`near`) joins, another leader asks for the markers of this GPU's
    /// homes.
    pub fn asked(&mut self, src: u32, near: bool) -> Checked {
        let known = if near { self.joined.contains(&src) } else { self.missing.contains_key(&src) };
        let list = if near { &mut self.joins } else { &mut self.relays };
        ensure(!known && list.insert(src), || format!("{src} asks for markers twice"))
    }

    /// The own engine asks for those.
    pub fn asks(&mut self, home: u32) {
        self.relays.insert(home);
    }

    /// The unit says whom its batch serves; true if somebody is new.
    pub fn takes(&mut self, joined: &BTreeSet<u32>, own: bool) -> Result<bool, String> {
        let new: BTreeSet<u32> = joined.difference(&self.said).copied().collect();
        let asked = new.iter().all(|gpm| self.joins.remove(gpm));
        ensure(asked, || format!("{new:?} are taken into a release and have not all asked"))?;
        self.joined.extend(&new);
        (self.said, self.own) = (joined.clone(), own);
        Ok(!new.is_empty())
    }

    /// The batch has ended: whom it has served, and whether own tokens are among those.
    pub fn end(&mut self) -> (BTreeSet<u32>, bool) {
        (std::mem::take(&mut self.joined), self.own)
    }

    /// The relay begins for some of those that wait; `near`: the GPMs that it asks.
    pub fn relay(&mut self, gpus: &BTreeSet<u32>, near: Vec<u32>, home: u32) -> Checked {
        let asked = gpus.iter().all(|gpu| self.relays.remove(gpu));
        ensure(asked && !gpus.is_empty(), || {
            format!("the homes are asked for {gpus:?}, which have not asked")
        })?;
        let homes: BTreeSet<u32> = near.iter().copied().chain([home]).collect();
        self.missing.extend(gpus.iter().map(|gpu| (*gpu, homes.clone())));
        self.asks.extend(near.into_iter().map(|gpm| (gpm, gpus.clone())));
        Ok(())
    }

    /// The relay's request to a GPM leaves.
    pub fn relays_to(&mut self, dst: u32, serves: &BTreeSet<u32>) -> Checked {
        ensure(self.asks.remove(&(dst, serves.clone())), || {
            format!("{dst} is asked for {serves:?}, to ask are {:?}", self.asks)
        })
    }

    /// A home has had its marker for a GPU acknowledged; true if it is the last one.
    pub fn served(&mut self, gpu: u32, home: u32) -> Result<bool, String> {
        let wrong = || format!("home {home} acknowledges for GPU of {gpu} and had not to");
        let missing = self.missing.get_mut(&gpu).ok_or_else(wrong)?;
        ensure(missing.remove(&home), wrong)?;
        let last = missing.is_empty();
        if last {
            self.missing.remove(&gpu);
        }
        Ok(last)
    }
}

impl HierFence {
    /// Leaders of GPUs, of which each has a bit.
    pub(super) fn named(&self, gpus: u64) -> BTreeSet<u32> {
        (0..self.nodes.gpus).filter(|gpu| gpus >> gpu & 1 == 1).map(|gpu| self.nodes.node(gpu, 0)).collect()
    }

    pub(super) fn own_leader(&self) -> u32 {
        self.nodes.node(self.nodes.parts(self.home).0, 0)
    }

    /// The leaders of the other GPUs.
    pub(super) fn leaders(&self) -> Vec<u32> {
        let own = self.own_leader();
        (0..self.nodes.gpus).map(|gpu| self.nodes.node(gpu, 0)).filter(|node| *node != own).collect()
    }

    /// A leader's registers at the beginning of a cycle: the GPMs that its batch serves, whether it serves
    /// the node's own tokens, whether it has gone on to ask other leaders. When the unit takes a GPM in, its
    /// own clock decides.
    ///
    /// # Errors
    /// It takes in a GPM that has not asked, or when the far drain that covers it may be over.
    pub fn leads(&mut self, joined: &BTreeSet<u32>, own: bool, sends: bool) -> Checked {
        let Some(leader) = &mut self.leader else { return Ok(()) };
        let new = leader.takes(joined, own)?;
        let phase = self.engines[Scope::Sys as usize].phase;
        ensure(!new || matches!(phase, Phase::Idle | Phase::Drained), || {
            format!("{joined:?} are taken into a release in {phase:?}")
        })?;
        match phase {
            Phase::Drained if new => self.ask(Scope::Sys, Order::DrainFar),
            Phase::Drained if sends => self.ask(Scope::Sys, Order::MarkSys),
            _ => Ok(()),
        }
    }

    /// The relay of a leader begins to ask its homes, the own one too, for markers for these GPUs, a bit
    /// each.
    ///
    /// # Errors
    /// One of them has not asked.
    pub fn relay(&mut self, gpus: u64) -> Checked {
        let gpus = self.named(gpus);
        let near = self.nodes.near(self.home);
        let Some(leader) = &mut self.leader else { return Err("this is no leader".into()) };
        leader.relay(&gpus, near, self.home)?;
        gpus.iter().try_for_each(|gpu| self.marks.asked(Scope::Sys, *gpu))
    }

    /// A home of a leader's GPU has had a marker acknowledged that serves a GPU.
    pub(super) fn home_served(&mut self, gpu: u32, home: u32) -> Checked {
        let Some(leader) = &mut self.leader else { return Err("this is no leader".into()) };
        if !leader.served(gpu, home)? {
            return Ok(());
        }
        if gpu == self.home { self.acknowledged(Order::MarkSys) } else { self.owe_own(gpu, Order::MarkSys) }
    }

    /// A leader's batch has ended: those that have joined are answered, and own tokens are to be reported.
    pub(super) fn joined_end(&mut self, (served, own): (BTreeSet<u32>, bool)) -> Checked {
        let e = &mut self.engines[Scope::Sys as usize];
        if own {
            e.end();
        } else {
            e.phase = Phase::Idle;
        }
        served.into_iter().try_for_each(|gpm| self.owe_own(gpm, Order::MarkSys))
    }
}
