//! Model of the markers in a hierarchical fence unit (hmg.md section 6): one serves all requesters of its scope that wait when it begins, those that come later
//! wait for the next one, and a home has a limited number of serials for markers in flight.

use super::table::Scope;
use crate::golden::planes::{Marker, Nodes};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Allowed, or why not.
pub type Checked = Result<(), String>;

pub(super) fn ensure(ok: bool, what: impl FnOnce() -> String) -> Checked {
    if ok { Ok(()) } else { Err(what()) }
}

/// Something that every bank is told once and answers once.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    told: u64,
    answered: u64,
}

impl Round {
    pub fn tell(&mut self, bank: u32) -> Checked {
        ensure(self.told >> bank & 1 == 0, || format!("bank {bank} is told twice"))?;
        self.told |= 1 << bank;
        Ok(())
    }

    /// True when all of `banks` have answered.
    pub fn answer(&mut self, bank: u32, banks: u64) -> Result<bool, String> {
        ensure(self.told & !self.answered & 1 << bank != 0, || format!("bank {bank} answers nothing"))?;
        self.answered |= 1 << bank;
        Ok(self.answered == banks)
    }
}

/// Requesters of one scope.
#[derive(Clone, Debug, Default)]
struct Requests {
    /// Those of the present cycle, which no marker that begins in it serves.
    fresh: BTreeSet<u32>,
    waits: BTreeSet<u32>,
    /// Serial of the next marker.
    next: u32,
    /// By serial in use, whom its marker serves.
    served: BTreeMap<u32, BTreeSet<u32>>,
}

/// What a receiver's acknowledgement of a marker brings about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// Others have not acknowledged it.
    Missing,
    /// It was passed on, and all GPMs have it: this node acknowledges it to its origin.
    PassedOn,
    /// It was the own one, and all receivers have it: these nodes are served.
    Served(BTreeSet<u32>),
}

/// The markers of one home, and those of others that it passes on.
#[derive(Clone, Debug)]
pub struct HomeMarks {
    nodes: Nodes,
    home: u32,
    banks: u64,
    /// Homes mark every other node themselves.
    flat: bool,
    serials: u32,
    scopes: [Requests; 2],
    /// The marker whose tokens are with the banks, and those that all banks have confirmed and that have not left.
    with_banks: Option<(Marker, Round)>,
    confirmed: VecDeque<Marker>,
    forwards: BTreeSet<Marker>,
    /// Nodes that have not acknowledged a marker of this home, or one that it has passed on.
    awaited: BTreeMap<Marker, BTreeSet<u32>>,
}

impl HomeMarks {
    /// No marker. Two nodes have no use for more than two serials.
    pub(super) fn new(nodes: Nodes, home: u32, banks: u64, flat: bool, marks: u32) -> HomeMarks {
        let serials = if nodes.gpus * nodes.gpms == 2 { marks.min(2) } else { marks };
        HomeMarks {
            nodes,
            home,
            banks,
            flat,
            serials,
            scopes: Default::default(),
            with_banks: None,
            confirmed: VecDeque::new(),
            forwards: BTreeSet::new(),
            awaited: BTreeMap::new(),
        }
    }

    pub(super) fn idle(&self) -> bool {
        let empty = |r: &Requests| r.fresh.is_empty() && r.waits.is_empty() && r.served.is_empty();
        self.scopes.iter().all(empty)
            && self.with_banks.is_none()
            && self.confirmed.is_empty()
            && self.forwards.is_empty()
            && self.awaited.is_empty()
    }

    /// Requesters of a scope for whom no marker has begun, or one that not all receivers have acknowledged.
    pub fn unserved(&self, scope: Scope) -> BTreeSet<u32> {
        let of = &self.scopes[scope as usize];
        of.served.values().chain([&of.waits, &of.fresh]).flatten().copied().collect()
    }

    /// A node asks, the own one included.
    pub(super) fn asked(&mut self, scope: Scope, node: u32) -> Checked {
        let of = &mut self.scopes[scope as usize];
        let known = of.waits.contains(&node) || of.served.values().any(|served| served.contains(&node));
        ensure(!known && of.fresh.insert(node), || {
            format!("{node} asks for markers of {scope:?} scope twice")
        })
    }

    /// A cycle begins: what was asked in the one before waits now.
    pub fn next_cycle(&mut self) {
        for of in &mut self.scopes {
            of.waits.append(&mut of.fresh);
        }
    }

    /// A marker begins for all that wait. The own engine's request may be on its way inside the unit.
    ///
    /// # Errors
    /// Another one is under way, its serial is not free or not the next one, somebody is served who has not asked, or somebody who waits is left out.
    pub fn begin(&mut self, scope: Scope, serial: u32, served: &BTreeSet<u32>) -> Checked {
        ensure(self.with_banks.is_none(), || {
            format!("a marker of {scope:?} scope begins during another one")
        })?;
        let (home, serials) = (self.home, self.serials);
        let of = &mut self.scopes[scope as usize];
        ensure(serial == of.next, || {
            format!("serial {serial} of {scope:?} scope, the next one is {}", of.next)
        })?;
        ensure(!of.served.contains_key(&serial), || {
            format!("serial {serial} of {scope:?} scope is in flight")
        })?;
        let all: BTreeSet<u32> =
            of.waits.iter().copied().filter(|n| *n != home || served.contains(n)).collect();
        ensure(!served.is_empty() && *served == all, || {
            format!("serial {serial} of {scope:?} scope serves {served:?}, and {:?} wait", of.waits)
        })?;
        of.waits.retain(|node| !served.contains(node));
        of.served.insert(serial, served.clone());
        of.next = (serial + 1) % serials;
        let marker = Marker { serial, origin: home, sys: scope == Scope::Sys };
        self.with_banks = Some((marker, Round::default()));
        Ok(())
    }

    /// A bank is given the token of the marker under way; it names this home.
    ///
    /// # Errors
    /// There is no marker, or the bank has its token.
    pub fn order(&mut self, bank: u32, names: u32) -> Checked {
        ensure(names == self.home, || format!("a token names {names}"))?;
        let Some((_, round)) = &mut self.with_banks else { return Err("a token without a marker".into()) };
        round.tell(bank)
    }

    /// A bank gives its token back.
    ///
    /// # Errors
    /// It has none.
    pub fn ordered(&mut self, bank: u32) -> Checked {
        let Some((marker, round)) = &mut self.with_banks else { return Err("no token is out".into()) };
        if round.answer(bank, self.banks)? {
            self.confirmed.push_back(*marker);
            self.with_banks = None;
        }
        Ok(())
    }

    /// A marker goes to the egress: the own one, behind all banks' tokens, or one that is passed on. Those whom it reaches acknowledge it here.
    ///
    /// # Errors
    /// It is not to leave now.
    pub fn mark_out(&mut self, marker: Marker) -> Checked {
        let mut reached: BTreeSet<u32> = self.nodes.near(self.home).into_iter().collect();
        if marker.origin != self.home {
            ensure(self.forwards.remove(&marker), || format!("{marker:?} is not to be passed on"))?;
        } else {
            let first = self.confirmed.pop_front();
            ensure(first == Some(marker), || {
                format!("{marker:?} leaves, and the banks have confirmed {first:?}")
            })?;
            if marker.sys {
                let direct = if self.flat { self.nodes.all() } else { self.nodes.far(self.home) };
                reached.extend(direct.into_iter().filter(|n| *n != self.home));
            }
        }
        ensure(self.awaited.insert(marker, reached).is_none(), || format!("{marker:?} leaves twice"))
    }

    /// A receiver acknowledges a marker that this node has sent to it.
    pub(super) fn receipt(&mut self, src: u32, marker: Marker) -> Result<Receipt, String> {
        let wrong = || format!("{src} acknowledges {marker:?} and had not to");
        let missing = self.awaited.get_mut(&marker).ok_or_else(wrong)?;
        ensure(missing.remove(&src), wrong)?;
        if !missing.is_empty() {
            return Ok(Receipt::Missing);
        }
        self.awaited.remove(&marker);
        if marker.origin != self.home {
            return Ok(Receipt::PassedOn);
        }
        let of = &mut self.scopes[usize::from(marker.sys)];
        Ok(Receipt::Served(of.served.remove(&marker.serial).unwrap_or_default()))
    }

    /// A marker of another home comes from the ingress: the node to which it is acknowledged at once, or none if it is to be passed on before.
    pub(super) fn received(&mut self, marker: Marker) -> Result<Option<u32>, String> {
        let origin = marker.origin;
        let (gpu, gpm) = self.nodes.parts(self.home);
        let from = self.nodes.parts(origin);
        if self.flat || from.0 == gpu {
            return Ok(Some(origin));
        }
        if from.1 != gpm {
            return Ok(Some(self.nodes.node(gpu, from.1)));
        }
        if self.nodes.gpms == 1 {
            return Ok(Some(origin));
        }
        ensure(self.forwards.insert(marker), || format!("{marker:?} comes twice"))?;
        Ok(None)
    }
}
