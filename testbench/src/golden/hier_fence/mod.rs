//! Model of a fence unit in a hierarchical system (hmg.md sections 6 and 8), from its messages: what it may send, and what it owes.
//!
//! The unit chooses the order of what is independent - whose marker comes next, which acknowledgement leaves first, which engine has the banks - so the
//! model follows the messages and says whether each is allowed. At the end nothing may be left ([`HierFence::idle`]).

mod leader;
pub mod marks;
pub mod table;

use crate::golden::planes::{Marker, Nodes};
use leader::Leader;
use marks::{Checked, HomeMarks, Receipt, Round, ensure};
use std::collections::{BTreeSet, VecDeque};
pub use table::{Op, Order, Scheme, Scope};

/// Who has the banks' commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// An own release or acquire.
    Own(Scope),
    /// Drops for other GPMs.
    Drops,
}

/// Acknowledgements that end a release: one per home of the scope, the own one included. A GPU of one node has nobody to ask.
pub fn homes(nodes: Nodes, scope: Scope) -> u32 {
    match (scope, nodes.gpms) {
        (Scope::Gpu, 1) => 0,
        (Scope::Gpu, gpms) => gpms,
        (Scope::Sys, gpms) => nodes.gpus * gpms,
    }
}

/// An acknowledgement: of which marker, else of what and who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ack {
    /// What was asked for.
    pub order: Order,
    /// The home whose marker it is; of a home's to a requester, and of other orders, the node that answers.
    pub origin: u32,
    /// Serial of the marker that a receiver acknowledges, else 0.
    pub serial: u32,
    /// Of a home's to the leader of its GPU, where GPMs join: the GPU for which it has sent markers, else 0.
    pub gpu: u32,
}

impl Ack {
    /// A receiver's, of a marker.
    pub fn of(marker: Marker) -> Ack {
        let order = if marker.sys { Order::MarkSys } else { Order::MarkGpu };
        Ack { order, origin: marker.origin, serial: marker.serial, gpu: 0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    Bank(Op),
    /// Acknowledgements of an order come in until so many are counted.
    Acks(Order, u32),
    /// A leader's GPMs have all drained towards other GPUs: they do so once more if others have joined.
    Drained,
}

/// A token that is not reported yet.
#[derive(Clone, Copy, Debug)]
struct Token {
    number: u64,
    seq: u64,
    acquire: bool,
    common: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Engine {
    pub(super) phase: Phase,
    tokens: VecDeque<Token>,
    taken: u64,
    /// The batch in flight: whether it is one of acquires, and tokens below this number it may cover.
    acquire: bool,
    covered: u64,
    /// The same of those that have ended and are not reported.
    ended: VecDeque<(bool, u64)>,
    to_ask: BTreeSet<u32>,
    acks: u32,
}

impl Engine {
    /// A batch begins; `joined`: it serves other GPMs.
    fn begin(&mut self, op: Op, acquire: bool, joined: bool) -> Checked {
        ensure(joined || self.tokens.iter().any(|t| t.acquire == acquire), || {
            format!("{op:?} without a token")
        })?;
        (self.phase, self.acquire, self.covered) = (Phase::Bank(op), acquire, self.taken);
        Ok(())
    }

    pub(super) fn end(&mut self) {
        self.phase = Phase::Idle;
        self.ended.push_back((self.acquire, self.covered));
    }
}

/// Requests served together.
#[derive(Clone, Debug, Default)]
struct Served {
    waiting: BTreeSet<u32>,
    serving: BTreeSet<u32>,
    round: Option<Round>,
}

impl Served {
    /// The unit serves some of those that wait; which, its own clock decides.
    fn begin(&mut self, served: &[u32]) -> Checked {
        let asked = served.iter().all(|gpm| self.waiting.remove(gpm));
        ensure(asked && !served.is_empty(), || format!("{served:?} are served and have not all asked"))?;
        self.serving = served.iter().copied().collect();
        Ok(())
    }
}

/// The model of one node's unit.
#[derive(Clone, Debug)]
pub struct HierFence {
    pub(super) nodes: Nodes,
    pub(super) home: u32,
    banks: u64,
    pub(super) scheme: Scheme,
    pub(super) engines: [Engine; 2],
    command: Option<(Owner, Op, Round)>,
    far: Served,
    drops: Served,
    pub(super) marks: HomeMarks,
    leader: Option<Leader>,
    owed: BTreeSet<(u32, Ack)>,
    /// Batches completed, by scope.
    pub fences: [u64; 2],
}

impl HierFence {
    /// An idle unit with `banks` banks and `marks` serials of each scope.
    pub fn new(nodes: Nodes, home: u32, banks: u32, scheme: Scheme, marks: u32) -> HierFence {
        let engine = Engine {
            phase: Phase::Idle,
            tokens: VecDeque::new(),
            taken: 0,
            acquire: false,
            covered: 0,
            ended: VecDeque::new(),
            to_ask: BTreeSet::new(),
            acks: 0,
        };
        let banks = u64::MAX >> (u64::BITS - banks);
        HierFence {
            marks: HomeMarks::new(nodes, home, banks, !scheme.gpu_scope(), marks),
            nodes,
            home,
            banks,
            scheme,
            engines: [engine.clone(), engine],
            command: None,
            leader: (scheme.joined() && nodes.parts(home).1 == 0).then(Leader::default),
            far: Served::default(),
            drops: Served::default(),
            owed: BTreeSet::new(),
            fences: [0; 2],
        }
    }

    /// Nothing is in flight or owed.
    pub fn idle(&self) -> bool {
        let engines = self.engines.iter().all(|e| e.phase == Phase::Idle && e.tokens.is_empty());
        let served = |s: &Served| s.waiting.is_empty() && s.serving.is_empty();
        engines
            && self.command.is_none()
            && served(&self.far)
            && served(&self.drops)
            && self.marks.idle()
            && self.leader.as_ref().is_none_or(Leader::idle)
            && self.owed.is_empty()
    }

    /// A release or acquire is taken; `common`: a release that all nodes have.
    pub fn token(&mut self, scope: Scope, seq: u64, acquire: bool, common: bool) {
        let e = &mut self.engines[scope as usize];
        e.tokens.push_back(Token { number: e.taken, seq, acquire, common });
        e.taken += 1;
    }

    /// The end of a batch is reported; the number of tokens covered.
    ///
    /// # Errors
    /// It has not ended, or does not cover what it says.
    pub fn done(&mut self, scope: Scope, seq: u64, acquire: bool) -> Result<usize, String> {
        let coherent = !self.scheme.drops();
        let e = &mut self.engines[scope as usize];
        // Where L2s are coherent nothing is done for an acquire, so nothing is seen of it before.
        let batch = if acquire && coherent { Some((true, e.taken)) } else { e.ended.pop_front() };
        let Some((_, covered)) = batch.filter(|(kind, _)| *kind == acquire) else {
            return Err(format!("{scope:?} reports {seq}, acquire {acquire}, and no such batch has ended"));
        };
        let known = |t: &&Token| (t.seq, t.acquire) == (seq, acquire) && t.number < covered;
        let last = e.tokens.iter().find(known).map(|t| t.number);
        let last = last.ok_or_else(|| format!("{scope:?} reports {seq}, which is not covered"))?;
        let before = e.tokens.len();
        e.tokens.retain(|t| t.acquire != acquire || t.number > last);
        self.fences[scope as usize] += 1;
        Ok(before - e.tokens.len())
    }

    /// A bank is given a command by an engine; drops for other GPMs are for `served`.
    ///
    /// # Errors
    /// The engine may not give it now, or the bank has it already.
    pub fn cmd(&mut self, owner: Owner, bank: u32, op: Op, served: &[u32]) -> Checked {
        if self.command.is_none() {
            self.begin(owner, op, served)?;
            self.command = Some((owner, op, Round::default()));
        }
        let Some((_, _, round)) = self.command.as_mut().filter(|(o, p, _)| (*o, *p) == (owner, op)) else {
            return Err(format!("{owner:?} gives {op:?} during another command"));
        };
        round.tell(bank)
    }

    fn begin(&mut self, owner: Owner, op: Op, served: &[u32]) -> Checked {
        let Owner::Own(scope) = owner else {
            ensure(op == Op::DropFar, || format!("{op:?} for other GPMs"))?;
            return self.drops.begin(served);
        };
        let (hierarchical, near) = (self.scheme == Scheme::SwHierarchical, self.nodes.near(self.home));
        let drops = self.scheme.drops();
        let e = &mut self.engines[scope as usize];
        if e.phase == Phase::Idle {
            let drop = if hierarchical && scope == Scope::Gpu { Op::DropLeaf } else { Op::DropAll };
            let acquire = op != Op::Drain;
            ensure(op == Op::Drain || (drops && op == drop), || format!("{scope:?} begins with {op:?}"))?;
            let joined = !acquire && self.leader.as_ref().is_some_and(Leader::serves);
            e.begin(op, acquire, joined)?;
            if acquire && hierarchical && scope == Scope::Sys {
                e.to_ask.extend(near);
            }
        }
        ensure(e.phase == Phase::Bank(op), || format!("{scope:?} gives {op:?} in {:?}", e.phase))
    }

    /// A bank has carried out its command.
    ///
    /// # Errors
    /// It had none.
    pub fn cmd_done(&mut self, bank: u32) -> Checked {
        let Some((owner, op, round)) = self.command.as_mut() else { return Err("no command".into()) };
        if !round.answer(bank, self.banks)? {
            return Ok(());
        }
        let (owner, op) = (*owner, *op);
        self.command = None;
        match owner {
            Owner::Drops => {
                for gpm in std::mem::take(&mut self.drops.serving) {
                    self.owe_own(gpm, Order::DropFar)?;
                }
            }
            Owner::Own(scope) => return self.performed(scope, op),
        }
        Ok(())
    }

    fn performed(&mut self, scope: Scope, op: Op) -> Checked {
        let next = match (self.scheme, scope, op) {
            (Scheme::Hmg { .. } | Scheme::Joined { .. }, Scope::Gpu, Op::Drain) => {
                return self.ask(scope, Order::MarkGpu);
            }
            (scheme, Scope::Sys, Op::Drain) if scheme.flushes() => Phase::Bank(Op::Flush),
            (Scheme::Flat { .. }, Scope::Sys, _) => return self.ask(scope, Order::MarkSys),
            (Scheme::Joined { .. }, Scope::Sys, _) if self.leader.is_none() => {
                return self.ask(scope, Order::MarkSys);
            }
            (
                Scheme::Hmg { .. } | Scheme::Joined { .. } | Scheme::SwHierarchical,
                Scope::Sys,
                Op::Drain | Op::Flush,
            ) => return self.ask(scope, Order::DrainFar),
            (Scheme::SwHierarchical, Scope::Sys, _) => Phase::Acks(Order::DropFar, self.nodes.gpms - 1),
            _ => {
                self.engines[scope as usize].end();
                return Ok(());
            }
        };
        self.engines[scope as usize].phase = next;
        self.counted(scope)
    }

    /// An engine asks other nodes, and this one.
    pub(super) fn ask(&mut self, scope: Scope, order: Order) -> Checked {
        let near = self.nodes.near(self.home);
        let home = self.home;
        let everybody = || self.nodes.all().into_iter().filter(|n| *n != home);
        let (to_ask, count) = match order {
            Order::DrainFar => (near, self.nodes.gpms),
            Order::MarkSys if self.leader.is_some() => (self.leaders(), self.nodes.gpus),
            Order::MarkSys if self.scheme.joined() => (vec![self.own_leader()], 1),
            Order::MarkSys => (everybody().collect(), homes(self.nodes, scope)),
            _ => (near, homes(self.nodes, scope)),
        };
        match order {
            Order::DrainFar => drop(self.far.waiting.insert(home)),
            Order::MarkGpu if count == 0 => {}
            Order::MarkSys if self.scheme.joined() => {
                self.leader.iter_mut().for_each(|leader| leader.asks(home));
            }
            _ => self.marks.asked(scope, home)?,
        }
        let e = &mut self.engines[scope as usize];
        e.to_ask.extend(to_ask);
        e.phase = Phase::Acks(order, count);
        self.counted(scope)
    }

    /// Goes on when all acknowledgements are in.
    fn counted(&mut self, scope: Scope) -> Checked {
        let e = &mut self.engines[scope as usize];
        match e.phase {
            Phase::Acks(order, count) if e.acks >= count => {
                e.acks = 0;
                if order == Order::DrainFar && self.leader.is_some() {
                    e.phase = Phase::Drained;
                    return Ok(());
                }
                if let Some(leader) = self.leader.as_mut().filter(|_| order == Order::MarkSys) {
                    let ended = leader.end();
                    return self.joined_end(ended);
                }
                if order == Order::DrainFar && self.scheme.markers() {
                    return self.ask(scope, Order::MarkSys);
                }
                e.end();
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn acknowledged(&mut self, order: Order) -> Checked {
        let scope = if order == Order::MarkGpu { Scope::Gpu } else { Scope::Sys };
        let e = &mut self.engines[scope as usize];
        let early = order == Order::DropFar && e.phase == Phase::Bank(Op::DropAll);
        let expected = early || matches!(e.phase, Phase::Acks(o, n) if o == order && e.acks < n);
        ensure(expected, || format!("an acknowledgement of {order:?} in {:?}", e.phase))?;
        e.acks += 1;
        self.counted(scope)
    }

    /// A request leaves; `names`: of a leader to a home the GPUs for which it asks, of one to a leader 1 if
    /// it is for a release that all nodes have.
    ///
    /// # Errors
    /// It was not to be asked.
    pub fn req_out(&mut self, dst: u32, order: Order, names: u64) -> Checked {
        let (here, serves) = (self.nodes.parts(self.home).0, self.named(names));
        if let Some(leader) = self.leader.as_mut().filter(|_| order == Order::MarkSys)
            && self.nodes.parts(dst).0 == here
        {
            return leader.relays_to(dst, &serves);
        }
        let common = self.engines[Scope::Sys as usize].tokens.iter().any(|t| t.common);
        let known = names == 0 || names == 1 && order == Order::MarkSys && self.scheme.joined() && common;
        ensure(known, || format!("{order:?} to {dst} names {names:x}"))?;
        let scope = if order == Order::MarkGpu { Scope::Gpu } else { Scope::Sys };
        let e = &mut self.engines[scope as usize];
        // An acquire asks at once, before the first command is seen.
        if order == Order::DropFar && e.phase == Phase::Idle {
            let near = self.nodes.near(self.home);
            e.begin(Op::DropAll, true, false)?;
            e.to_ask.extend(near);
        }
        let now = match e.phase {
            Phase::Acks(o, _) => o == order,
            Phase::Bank(Op::DropAll) => order == Order::DropFar,
            _ => false,
        };
        ensure(now && e.to_ask.remove(&dst), || format!("{order:?} to {dst} in {:?}", e.phase))
    }

    /// A request of another node is taken; `names` as for [`HierFence::req_out`].
    ///
    /// # Errors
    /// The node has asked already.
    pub fn req_in(&mut self, src: u32, order: Order, names: u64) -> Checked {
        if self.scheme.joined() && order == Order::MarkSys {
            let near = self.nodes.parts(self.home).0 == self.nodes.parts(src).0;
            return match &mut self.leader {
                Some(leader) => leader.asked(src, near),
                None => {
                    let serves = self.named(names);
                    serves.iter().try_for_each(|gpu| self.marks.asked(Scope::Sys, *gpu))
                }
            };
        }
        let new = match order {
            Order::DrainFar => self.far.waiting.insert(src),
            Order::DropFar => self.drops.waiting.insert(src),
            Order::MarkGpu => return self.marks.asked(Scope::Gpu, src),
            Order::MarkSys => return self.marks.asked(Scope::Sys, src),
        };
        ensure(new, || format!("{src} asks for {order:?} twice"))
    }

    /// An acknowledgement of another node is taken.
    ///
    /// # Errors
    /// None is expected.
    pub fn rsp_in(&mut self, src: u32, ack: Ack) -> Checked {
        let Ack { order, origin, serial, gpu } = ack;
        let marks = matches!(order, Order::MarkGpu | Order::MarkSys);
        if !marks || origin == src {
            // What this node has asked for: an order carried out, or a home's word that its marker has arrived everywhere.
            ensure((origin, serial) == (src, 0), || format!("{ack:?} of {src} is not for here"))?;
            let home = self.leader.is_some() && order == Order::MarkSys;
            if home && self.nodes.parts(src).0 == self.nodes.parts(self.home).0 {
                return self.home_served(self.nodes.node(gpu, 0), src);
            }
            return self.acknowledged(order);
        }
        let marker = Marker { serial, origin, sys: order == Order::MarkSys };
        match self.marks.receipt(src, marker)? {
            Receipt::Missing => Ok(()),
            Receipt::PassedOn => self.owe(origin, ack),
            Receipt::Served(requesters) if marker.sys && self.scheme.joined() => {
                let (home, leader) = (self.home, self.own_leader());
                requesters.into_iter().try_for_each(|gpu| match self.leader {
                    Some(_) => self.home_served(gpu, home),
                    None => {
                        let gpu = self.nodes.parts(gpu).0;
                        self.owe(leader, Ack { order, origin: home, serial: 0, gpu })
                    }
                })
            }
            Receipt::Served(requesters) => requesters.into_iter().try_for_each(|node| {
                if node == self.home { self.acknowledged(order) } else { self.owe_own(node, order) }
            }),
        }
    }

    fn owe(&mut self, to: u32, ack: Ack) -> Checked {
        ensure(self.owed.insert((to, ack)), || format!("{ack:?} is owed to {to} twice"))
    }

    /// What this node itself has done or made sure of for `to`.
    pub(super) fn owe_own(&mut self, to: u32, order: Order) -> Checked {
        self.owe(to, Ack { order, origin: self.home, serial: 0, gpu: 0 })
    }

    /// An acknowledgement leaves.
    ///
    /// # Errors
    /// It is not owed.
    pub fn rsp_out(&mut self, dst: u32, ack: Ack) -> Checked {
        ensure(self.owed.remove(&(dst, ack)), || format!("{ack:?} is not owed to {dst}"))
    }

    /// A bank is told to drain towards other GPUs, for `served`.
    ///
    /// # Errors
    /// One of those has not asked for it, or the bank was told already.
    pub fn far_cmd(&mut self, bank: u32, served: &[u32]) -> Checked {
        if self.far.round.is_none() {
            self.far.begin(served)?;
            self.far.round = Some(Round::default());
        }
        let Some(round) = &mut self.far.round else { return Ok(()) };
        round.tell(bank)
    }

    /// A bank has drained towards other GPUs.
    ///
    /// # Errors
    /// It was not told to, or no fence waits for it.
    pub fn far_done(&mut self, bank: u32) -> Checked {
        let Some(round) = self.far.round.as_mut() else { return Err("no far drain".into()) };
        if !round.answer(bank, self.banks)? {
            return Ok(());
        }
        self.far.round = None;
        for gpm in std::mem::take(&mut self.far.serving) {
            if gpm == self.home {
                self.acknowledged(Order::DrainFar)?;
            } else {
                self.owe_own(gpm, Order::DrainFar)?;
            }
        }
        Ok(())
    }

    /// The model of this home's markers, to which banks' tokens and the egress belong.
    pub fn marks(&mut self) -> &mut HomeMarks {
        &mut self.marks
    }

    /// A marker of another home comes from the ingress. It is acknowledged to the node that it came from, by a GPU home when its GPMs have done so.
    ///
    /// # Errors
    /// It comes twice.
    pub fn mark_in(&mut self, marker: Marker) -> Checked {
        match self.marks.received(marker)? {
            Some(from) => self.owe(from, Ack::of(marker)),
            None => Ok(()),
        }
    }
}
