//! A compute unit at its port of the fabric.

use super::fence::Fence;
use super::fences::Waiter;
use super::observe::Observe;
use super::outside::{Claim, Outside};
use super::stash::{StashPort, StashState};
use crate::activity::{CUS, PORTS};
use crate::channel::{Receiver, Sender, SenderState};
use crate::cu::{Cu, CuError, KIND_ACK, LineAccess, LineReply, Structural};
use crate::family::{Hardware, Surroundings};
use crate::memory::Memory;
use crate::port::PortError;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use weft_blocks::msg::CuOp;
use weft_engine::{OutPort, PinList, Pins, Sim};
use weft_rtl::prelude::HwEnum;
use weft_workload::{Class, Hint, Request};

const REQ: [&str; 16] = [
    "op", "sync", "sem", "scope", "remote", "class", "region", "hint", "want_ack", "amo", "sgn", "line",
    "mask", "data", "cmp", "id",
];
const RSP: [&str; 6] = ["id", "kind", "mask", "data", "src", "merged"];

/// Scopes of the fences that operations need beside the L1, by their own scope (CU, GPU, system).
#[derive(Clone, Copy, Debug)]
pub(super) struct Beyond {
    release: [Option<u8>; 3],
    acquire: [Option<u8>; 3],
}

impl Beyond {
    /// The rules of a fabric.
    pub fn of(hardware: &dyn Hardware) -> Beyond {
        Beyond {
            release: [0, 1, 2].map(|scope| hardware.release_fence(scope)),
            acquire: [0, 1, 2].map(|scope| hardware.acquire_fence(scope)),
        }
    }

    /// The fence that an access needs: a release when the L1 has answered it, an acquire before the L1 gets it.
    fn fence(&self, access: &LineAccess) -> Option<Fence> {
        let (table, acquire) = match access.op {
            CuOp::Rel => (&self.release, false),
            CuOp::Acq => (&self.acquire, true),
            _ => return None,
        };
        table[usize::from(access.scope).min(2)].map(|scope| Fence { scope, acquire })
    }
}

/// What waits for fences at a [`Seat`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Waits {
    /// Releases that the L1 has not yet answered, and the scopes of the fences that follow.
    releases: Vec<(u16, u8)>,
    /// Acquires whose fence is not complete.
    acquires: Vec<LineAccess>,
    /// Acquires that the L1 gets next.
    ready: VecDeque<LineAccess>,
    /// Releases whose fence is complete.
    done: VecDeque<u16>,
    /// The access on offer is the first of `ready`.
    own: bool,
    /// Releases and acquires not yet answered, and when they were taken.
    spans: Vec<(u16, u64)>,
}

/// What a compute unit has to do with beside its L1.
#[derive(Default)]
pub(super) struct Beside<'a> {
    /// What is asked of the node's fences.
    pub asks: Vec<(Fence, Waiter)>,
    /// The surroundings, if they hear of accesses.
    pub around: Option<&'a mut dyn Surroundings>,
    /// What is reached without the fabric, if there is anything.
    pub elsewhere: Option<Elsewhere<'a>>,
}

/// What compute units reach without the fabric.
pub(super) struct Elsewhere<'a> {
    pub outside: &'a mut Outside,
    /// By the program's addresses.
    pub memory: &'a mut Memory,
    /// Physical address of one of the program's.
    pub find: &'a dyn Fn(u64) -> Option<u64>,
}

/// A compute unit, or for a while the host's copy engine, and the channels to its L1.
#[derive(Clone)]
pub(super) struct Seat {
    pub cu: Cu,
    stash: Option<StashPort>,
    gpu: u32,
    number: u32,
    req: Sender<16>,
    rsp: Receiver<6>,
    /// A time that goes with the answer.
    time: Option<OutPort>,
    /// Why the L1 takes nothing, where it tells.
    stall: Option<OutPort>,
    /// Limbs of a line.
    limbs: usize,
    /// Stores of the host waiting for the port, and those sent and not acknowledged.
    pub host: VecDeque<LineAccess>,
    pub host_open: u32,
    /// The next cycle in which something happens here by itself.
    pub next: u64,
    /// The L1 has not taken what it is offered: what [`Seat::stall`] said then.
    refused: Option<u64>,
    beyond: Beyond,
    waits: Waits,
}

/// What changes in a [`Seat`], as it is saved.
#[derive(Serialize, Deserialize)]
pub(super) struct SeatState {
    #[serde(with = "serde_bytes")]
    cu: Vec<u8>,
    stash: Option<StashState>,
    req: SenderState,
    host: VecDeque<LineAccess>,
    host_open: u32,
    next: u64,
    refused: Option<u64>,
    waits: Waits,
}

impl Seat {
    /// What has to be saved.
    pub fn state(&self) -> Result<SeatState, CuError> {
        Ok(SeatState {
            cu: self.cu.save()?,
            stash: self.stash.as_ref().map(StashPort::state),
            req: self.req.state(),
            host: self.host.clone(),
            host_open: self.host_open,
            next: self.next,
            refused: self.refused,
            waits: self.waits.clone(),
        })
    }

    /// Goes on from what [`Seat::state`] gave.
    pub fn resume(&mut self, state: SeatState) -> Result<(), CuError> {
        self.cu.load(&state.cu)?;
        if let (Some(port), Some(state)) = (&mut self.stash, state.stash) {
            port.resume(state);
        }
        self.req.resume(state.req);
        (self.host, self.host_open, self.next) = (state.host, state.host_open, state.next);
        (self.refused, self.waits) = (state.refused, state.waits);
        Ok(())
    }

    /// Compute unit `number` of node `gpu`, of this hardware.
    pub fn new(
        sim: &mut Sim,
        cu: Cu,
        gpu: u32,
        number: u32,
        hardware: &dyn Hardware,
    ) -> Result<Seat, PortError> {
        let name = format!("g{gpu}_cu{number}");
        let req = Sender::new(sim, &format!("{name}_req"), REQ)?;
        let rsp = Receiver::new(sim, &format!("{name}_rsp"), RSP)?;
        let stash = hardware.stash(number);
        let stash = stash.map(|(device, size)| StashPort::new(sim, gpu, device, size)).transpose()?;
        Ok(Seat {
            cu,
            stash,
            gpu,
            number,
            req,
            rsp,
            time: sim.output(&format!("{name}_time")),
            stall: sim.output(&format!("{name}_stall")),
            limbs: hardware.shape().line as usize / 8,
            host: VecDeque::new(),
            host_open: 0,
            next: 0,
            refused: None,
            beyond: Beyond::of(hardware),
            waits: Waits::default(),
        })
    }

    /// Compute unit of its node.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The part of the simulation that has all its ports, if there is one.
    pub fn part(&self, sim: &Sim) -> Option<usize> {
        let told =
            PinList { outputs: self.time.into_iter().chain(self.stall).collect(), ..PinList::default() };
        let stash = self.stash.as_ref().map(StashPort::pins).unwrap_or_default();
        sim.part_with(&self.req.pins().and(self.rsp.pins()).and(told).and(stash))
    }

    /// Whether something happens here in this cycle.
    #[inline]
    pub fn acts(&self, sim: &mut impl Pins) -> bool {
        self.next <= sim.cycle()
            || self.rsp.offered(sim)
            || self.refused.is_some_and(|why| self.req.taken(sim) || self.why(sim) != why)
    }

    /// What the L1 tells of why it takes nothing.
    #[inline]
    fn why(&self, sim: &mut impl Pins) -> u64 {
        self.stall.map_or(0, |port| sim.get(port))
    }

    /// One cycle: answers come in, the access offered goes to the L1, the compute unit ticks. What releases and acquires that the L1 alone cannot
    /// perform ask of the node's fences is added to `beside`.
    pub fn tick(
        &mut self,
        sim: &mut impl Pins,
        beside: &mut Beside,
        translate: &dyn Fn(u64) -> u64,
        observer: &mut impl Observe,
    ) -> Result<(), String> {
        let now = sim.cycle();
        PORTS.begin();
        let mut reply = self.rsp.offered(sim).then(|| self.reply(sim));
        if let Some(reply) = reply.as_ref().filter(|_| observer.checks()) {
            let time = self.time.map(|port| sim.get(port));
            observer.answer(now, (self.gpu, self.number), reply, time);
        }
        let host = !self.host.is_empty() || self.host_open > 0;
        if host {
            self.host_tick(sim, reply.is_some(), beside, observer);
        } else {
            if let Some(stash) = &mut self.stash {
                stash.tick(sim, &mut self.cu, observer);
            }
            self.present(sim, beside, observer);
            CUS.begin();
            if let Some(reply) = &mut reply {
                if let (Some(access), Some(around)) = (self.cu.taken(reply.id), &mut beside.around) {
                    around.answered((self.gpu, self.number), access, &mut reply.data);
                }
                self.answer(reply, now, &mut beside.asks, observer);
            }
            if let Some(elsewhere) = &mut beside.elsewhere {
                self.hear(elsewhere.outside, reply.as_ref(), now, observer);
            }
            while let Some(id) = self.waits.done.pop_front() {
                self.give(&acknowledgement(id), now, observer);
            }
            self.cu.tick(now, translate, observer).map_err(|e| e.to_string())?;
        }
        let outside = beside.elsewhere.as_ref().map(|elsewhere| &*elsewhere.outside);
        let (held, due) = outside.map_or((0, u64::MAX), |outside| self.held(outside));
        // The L1's port wakes the seat: when an access is answered, and when one is taken or refused for another
        // reason than before. The host and the stash have ports of their own.
        let open = |stash: &StashPort| stash.driving() || self.cu.outstanding() > held;
        let waits = outside.is_some_and(|outside| outside.waits((self.gpu, self.number)));
        let alone = !host && outside.is_none();
        self.refused = (alone && self.req.offering()).then(|| self.why(sim));
        let offers = self.req.driving() || self.cu.untaken() > 0 && !waits;
        let busy = host || offers && self.refused.is_none() || self.stash.as_ref().is_some_and(open);
        let own = || self.cu.next_event(now + 1).unwrap_or(u64::MAX);
        self.next = if busy { now + 1 } else { own().min(due.max(now + 1)) };
        Ok(())
    }

    /// An answer of the host comes in; an access that the L1 has answered completely is over.
    fn hear(
        &mut self,
        outside: &mut Outside,
        reply: Option<&LineReply>,
        now: u64,
        observer: &mut impl Observe,
    ) {
        let unit = (self.gpu, self.number);
        if let Some(reply) = reply.filter(|reply| self.cu.taken(reply.id).is_none()) {
            outside.done(unit, reply.id);
        }
        if let Some(reply) = outside.answer(unit, now) {
            observer.host_answer(now, unit, &reply);
            self.give(&reply, now, observer);
        }
    }

    /// Accesses for which nothing has to be done in every cycle, and when the first of them is answered.
    fn held(&self, outside: &Outside) -> (usize, u64) {
        let unit = (self.gpu, self.number);
        let (open, due) = outside.held(unit);
        (open + if outside.waits(unit) { self.cu.untaken() } else { 0 }, due)
    }

    /// The next access goes to the host, waits for its page, or (false) goes on to the L1.
    fn leave(&mut self, sim: &mut impl Pins, beside: &mut Beside, observer: &mut impl Observe) -> bool {
        let (now, unit) = (sim.cycle(), (self.gpu, self.number));
        let Some(Elsewhere { outside, memory, find }) = &mut beside.elsewhere else { return false };
        let Some(access) = self.cu.offer(now) else { return false };
        match outside.claim(unit, access, now, memory, find) {
            Claim::Own => return false,
            Claim::Line(line) => {
                self.cu.readdress(line);
                return false;
            }
            Claim::Wait => self.cu.refused(now, Structural::Other),
            Claim::Taken => {
                observer.host_request(now, unit, access);
                self.cu.accepted(now, observer);
                self.cu.refused(now, Structural::Bank);
            }
        }
        self.req.rest(sim);
        true
    }

    /// Offers the L1 an acquire whose fence is complete, else the compute unit's next access; one that needs a fence first is kept here.
    fn present(&mut self, sim: &mut impl Pins, beside: &mut Beside, observer: &mut impl Observe) {
        let now = sim.cycle();
        if self.waits.own || (!self.req.offering() && !self.waits.ready.is_empty()) {
            let access = &self.waits.ready[0];
            self.waits.own = !offer(&mut self.req, sim, access, self.limbs);
            self.cu.refused(now, self.blocks(sim, !self.waits.own));
            if !self.waits.own {
                let access = &self.waits.ready[0];
                let issuer = self.cu.issuer(access.id);
                observer.request(now, (self.gpu, self.number), access, issuer.as_ref());
                self.waits.ready.pop_front();
            }
            return;
        }
        if self.leave(sim, beside, observer) {
            return;
        }
        let Some(access) = self.cu.offer(now) else { return self.req.rest(sim) };
        let fence = self.beyond.fence(access);
        match fence {
            Some(fence) if fence.acquire => {
                let access = access.clone();
                self.req.rest(sim);
                beside.asks.push((fence, Waiter::Cu { cu: self.number, id: access.id }));
                self.waits.spans.push((access.id, now));
                self.waits.acquires.push(access);
                self.cu.accepted(now, observer);
                self.cu.refused(now, Structural::Bank);
            }
            _ if offer(&mut self.req, sim, access, self.limbs) => {
                let issuer = self.cu.issuer(access.id);
                observer.request(now, (self.gpu, self.number), access, issuer.as_ref());
                self.waits.releases.extend(fence.map(|fence| (access.id, fence.scope)));
                if matches!(access.op, CuOp::Rel | CuOp::Acq) {
                    self.waits.spans.push((access.id, now));
                }
                if let Some(around) = &mut beside.around {
                    around.taken((self.gpu, self.number), access);
                }
                self.cu.accepted(now, observer);
                self.cu.refused(now, Structural::Bank);
            }
            _ => self.cu.refused(now, self.blocks(sim, false)),
        }
    }

    /// What keeps another access from the L1 in this cycle, in which it has `taken` one or not.
    fn blocks(&self, sim: &mut impl Pins, taken: bool) -> Structural {
        match self.stall {
            _ if taken => Structural::Bank,
            Some(_) => Structural::of_status(self.why(sim)),
            None => Structural::Other,
        }
    }

    /// The L1 answers: the compute unit gets it, or a fence follows.
    fn answer(
        &mut self,
        reply: &LineReply,
        now: u64,
        asks: &mut Vec<(Fence, Waiter)>,
        observer: &mut impl Observe,
    ) {
        match self.waits.releases.iter().position(|(id, _)| *id == reply.id) {
            Some(place) => {
                let (id, scope) = self.waits.releases.remove(place);
                asks.push((Fence { scope, acquire: false }, Waiter::Cu { cu: self.number, id }));
            }
            None => self.give(reply, now, observer),
        }
    }

    /// The compute unit gets an answer; the checks learn what a release or acquire has done.
    fn give(&mut self, reply: &LineReply, now: u64, observer: &mut impl Observe) {
        if let Some(place) = self.waits.spans.iter().position(|(id, _)| *id == reply.id) {
            let (_, start) = self.waits.spans.remove(place);
            if let Some(access) = self.cu.taken(reply.id) {
                let acquire = access.op == CuOp::Acq;
                observer.synchronised((self.gpu, self.number), acquire, access.scope, (start, now));
            }
        }
        self.cu.reply(reply, now, observer);
    }

    /// The fence that access `id` waits for is complete.
    pub fn fenced(&mut self, fence: Fence, id: u16, now: u64) {
        self.next = now;
        if !fence.acquire {
            return self.waits.done.push_back(id);
        }
        if let Some(place) = self.waits.acquires.iter().position(|access| access.id == id) {
            self.waits.ready.push_back(self.waits.acquires.remove(place));
        }
    }

    fn host_tick(
        &mut self,
        sim: &mut impl Pins,
        answered: bool,
        beside: &mut Beside,
        observer: &mut impl Observe,
    ) {
        match self.host.front() {
            Some(access) => {
                if offer(&mut self.req, sim, access, self.limbs) {
                    observer.request(sim.cycle(), (self.gpu, self.number), access, None);
                    if let Some(around) = &mut beside.around {
                        around.taken((self.gpu, self.number), access);
                    }
                    self.host.pop_front();
                    self.host_open += 1;
                }
            }
            None => self.req.rest(sim),
        }
        if answered {
            self.host_open -= 1;
        }
    }

    fn reply(&self, sim: &impl Pins) -> LineReply {
        let word = |number| self.rsp.field(sim, number)[0];
        let mut data = [0; 16];
        data[..self.limbs].copy_from_slice(self.rsp.field(sim, 3));
        let mask = match self.rsp.field(sim, 2) {
            [low, high] => u128::from(*low) | u128::from(*high) << 64,
            limbs => u128::from(limbs[0]),
        };
        LineReply {
            id: word(0) as u16,
            kind: word(1) as u8,
            mask,
            data,
            src: word(4) as u8,
            merged: word(5) == 1,
        }
    }
}

/// The answer to a release whose fence is complete.
fn acknowledgement(id: u16) -> LineReply {
    LineReply { id, kind: KIND_ACK, mask: 0, data: [0; 16], src: 0, merged: false }
}

fn offer(req: &mut Sender<16>, sim: &mut impl Pins, a: &LineAccess, limbs: usize) -> bool {
    let one = |v: bool| [u64::from(v)];
    let byte = |v: u8| [u64::from(v)];
    let mask = [a.mask as u64, (a.mask >> 64) as u64];
    // A relaxed atomic access, done at the LLC: the L1 gives it an MSHR and keeps no copy.
    let (class, hint) =
        if a.dma { (Class::N as u8, Hint::word(Request::ReqWt).bits()) } else { (a.class, a.hint) };
    req.offer(
        sim,
        [
            &[a.op.encoding()],
            &one(a.sync),
            &byte(a.sem),
            &byte(a.scope),
            &one(a.remote),
            &byte(class),
            &one(a.region),
            &byte(hint),
            &one(a.want_ack),
            &[a.amo.encoding()],
            &one(a.sgn),
            &[a.line],
            &mask[..limbs / 8],
            &a.data[..limbs],
            &[a.cmp],
            &[u64::from(a.id)],
        ],
    )
}
