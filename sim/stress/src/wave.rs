//! Operations of a wave, drawn.

use crate::hand_over::HandOver;
use crate::roles::{CELL, Role, Roles};
use crate::{Ground, Shape};
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::BTreeSet;
use weft_litmus::model::drf::Level;
use weft_workload::op::{Addrs, AmoKind, Class, Hint, Hinted, Request, Scope, Sem, Token, Unit};
use weft_workload::trace::op::{TraceAccess, TraceOp, TraceValue};

/// Results that a wave may wait for at once.
const TOKENS: u32 = 16;
/// Operations of a step of a hand-over, about.
const STEP: u32 = 6;
/// Share of operations that are such a step in a kernel that hands over.
const HANDED: u8 = 224;

/// With a share of 256.
pub(crate) fn share(rng: &mut SmallRng, of_256: u8) -> bool {
    rng.random::<u8>() < of_256
}

/// Only paired accesses order anything.
fn ordering(access: TraceAccess, sem: Sem) -> TraceAccess {
    let sem = if access.class == Class::P { sem } else { Sem::Relaxed };
    TraceAccess { sem, ..access }
}

/// A wave under way.
pub(crate) struct Drawn<'a> {
    rng: &'a mut SmallRng,
    shape: &'a Shape,
    ground: &'a Ground,
    roles: Roles<'a>,
    hand_over: Option<&'a HandOver>,
    unit: u32,
    number: u32,
    ops: Vec<TraceOp>,
    /// Results that it has not waited for.
    open: BTreeSet<Token>,
    next: Token,
}

impl<'a> Drawn<'a> {
    /// Wave `number` of a unit.
    pub fn new(
        rng: &'a mut SmallRng,
        shape: &'a Shape,
        roles: Roles<'a>,
        hand_over: Option<&'a HandOver>,
        (unit, number): (u32, u32),
    ) -> Drawn<'a> {
        let (ops, open, ground) = (Vec::new(), BTreeSet::new(), roles.ground);
        Drawn { rng, shape, ground, roles, hand_over, unit, number, ops, open, next: 0 }
    }

    /// Its operations, without the end.
    pub fn draw(mut self) -> Vec<TraceOp> {
        let most = if self.hand_over.is_some() {
            self.shape.operations.div_ceil(STEP)
        } else {
            self.shape.operations
        };
        let count = self.rng.random_range(1..=most);
        for number in 0..count {
            // All waves of a block have the same barriers.
            let barriers = |upto: u32| upto * self.shape.barriers / count;
            for _ in barriers(number)..barriers(number + 1) {
                self.ops.push(TraceOp::Barrier);
            }
            match self.hand_over.filter(|_| share(self.rng, HANDED)) {
                Some(hand_over) => self.hand(hand_over),
                None => self.operation(),
            }
        }
        self.wait();
        self.ops
    }

    /// A step of handing data over: the one that hands over stores and releases; others acquire, wait and load.
    fn hand(&mut self, hand_over: &'a HandOver) {
        let flag = self.flag(hand_over);
        let from = (self.unit, self.number) == hand_over.from;
        if !from {
            match self.rng.random::<bool>() {
                true => self.acquire(flag.clone()),
                false => self.amo(flag.clone(), &[Sem::Acquire, Sem::AcquireRelease]),
            }
            self.wait();
        }
        // What is stored last is what may come too late: it is loaded first.
        let lines = &hand_over.lines;
        if from {
            let first = self.rng.random_range(0..lines.len());
            lines[first..].iter().for_each(|line| self.whole(*line, hand_over.word, true));
        } else {
            let count = self.rng.random_range(1..=lines.len().min(3));
            lines.iter().rev().take(count).for_each(|line| self.whole(*line, hand_over.word, false));
        }
        if from {
            match self.rng.random::<bool>() {
                true => self.release(flag),
                false => self.amo(flag, &[Sem::Release, Sem::AcquireRelease]),
            }
        }
    }

    /// The flag of a hand-over, for one lane.
    fn flag(&mut self, hand_over: &HandOver) -> TraceAccess {
        let lane =
            if self.unit < self.ground.cores { 0 } else { self.rng.random_range(0..self.ground.lanes) };
        let mut list = vec![0; self.ground.lanes as usize];
        list[lane as usize] = hand_over.flag;
        let data = TraceAccess::data(hand_over.size, Addrs::Lanes(list), 1 << lane);
        TraceAccess { class: Class::P, hint: self.hint(Hinted::Atomic), ..data }
    }

    fn operation(&mut self) {
        let Shape { pauses, pause, fences, synchronise, stores, awaits, .. } = *self.shape;
        if share(self.rng, pauses) {
            let latency = self.rng.random_range(1..=pause);
            self.ops.push(TraceOp::Compute { unit: Unit::Alu, latency, token: None, needs: Vec::new() });
        }
        if self.ground.coherent && share(self.rng, fences) {
            let sem = [Sem::Acquire, Sem::Release, Sem::AcquireRelease][self.rng.random_range(0..3)];
            let scope = [Scope::Cu, Scope::Gpu, Scope::Sys][self.rng.random_range(0..3)];
            self.ops.push(TraceOp::Fence { sem, scope });
        }
        if self.ground.coherent && share(self.rng, synchronise) {
            self.synchronise();
        } else {
            let store = share(self.rng, stores);
            self.data(store);
        }
        if share(self.rng, awaits) {
            self.wait();
        }
    }

    fn wait(&mut self) {
        if !self.open.is_empty() {
            let tokens = std::mem::take(&mut self.open).into_iter().collect();
            self.ops.push(TraceOp::Await { tokens });
        }
    }

    /// A name for a result, which nobody waits for.
    fn token(&mut self) -> Token {
        let token = self.next;
        self.next = (token + 1) % TOKENS;
        if self.open.remove(&token) {
            self.ops.push(TraceOp::Await { tokens: vec![token] });
        }
        self.open.insert(token);
        token
    }

    fn line(&mut self) -> u64 {
        let line = self.rng.random_range(0..self.shape.lines);
        self.shape.address(line, self.ground.line)
    }

    /// Lanes that an access may have.
    fn lanes(&mut self) -> Vec<u32> {
        if self.unit < self.ground.cores {
            return vec![0];
        }
        let [one, few, _] = self.shape.lanes;
        let (drawn, all) = (self.rng.random::<u8>(), self.ground.lanes);
        if drawn < one {
            vec![self.rng.random_range(0..all)]
        } else if drawn - one < few {
            let mask: u64 = self.rng.random::<u64>() & self.rng.random::<u64>();
            (0..all).filter(|lane| mask >> lane & 1 == 1).collect()
        } else {
            (0..all).collect()
        }
    }

    /// Addresses of these lanes, each a word of `size` bytes of its own that may be accessed so: one behind the other, or anywhere.
    fn addresses(&mut self, size: u64, lanes: &[u32], fits: impl Fn(&Self, u64) -> bool) -> (Vec<u64>, u64) {
        let dense = self.rng.random::<bool>();
        let (mut line, words) = (self.line(), self.ground.line / size);
        let mut word = self.rng.random_range(0..words);
        let (mut list, mut mask, mut taken) = (vec![0; self.ground.lanes as usize], 0, BTreeSet::new());
        for lane in lanes {
            let addr = line + word * size;
            if fits(self, addr) && taken.insert(addr) {
                list[*lane as usize] = addr;
                mask |= 1 << lane;
            }
            if dense && word + 1 < words {
                word += 1;
            } else {
                line = self.line();
                word = if dense { 0 } else { self.rng.random_range(0..words) };
            }
        }
        (list, mask)
    }

    fn data(&mut self, store: bool) {
        let size = [4, 4, 4, 8, 1, 2][self.rng.random_range(0..6)];
        let lanes = self.lanes();
        let (list, mask) = self.addresses(size, &lanes, |of, addr| of.is_data(addr, size));
        self.access_data(size, list, mask, store);
    }

    /// Every word of a line by a lane of its own, as far as there are lanes; this word alone by a CPU core.
    fn whole(&mut self, line: u64, word: u64, store: bool) {
        let (size, core) = (4, self.unit < self.ground.cores);
        let (mut list, mut mask) = (vec![0; self.ground.lanes as usize], 0);
        for (lane, at) in list.iter_mut().enumerate().take((self.ground.line / size) as usize) {
            let word = if core { word } else { lane as u64 };
            *at = self.shape.address(line, self.ground.line) + word * size;
            let takes_part = self.is_data(*at, size) && !(core && lane > 0);
            mask |= u64::from(takes_part) << lane;
        }
        self.access_data(size, list, mask, store);
    }

    /// Whether a word may be loaded and stored as data.
    fn is_data(&self, addr: u64, size: u64) -> bool {
        match self.roles.of(addr) {
            Role::Data => true,
            // From outside of its scope that would be a heterogeneous race, whose values nobody promises.
            role @ Role::Synchronise { data, size: word, .. } => {
                data && size == u64::from(word) && self.roles.reached(role, self.unit) == Some(false)
            }
        }
    }

    fn access_data(&mut self, size: u64, list: Vec<u64>, mask: u64, store: bool) {
        if mask == 0 {
            return;
        }
        let hint = self.hint(if store { Hinted::Store } else { Hinted::Load });
        let access = TraceAccess { hint, ..TraceAccess::data(size as u8, Addrs::Lanes(list), mask) };
        if store {
            self.ops.push(TraceOp::Store { access, value: TraceValue::Unique });
        } else {
            let token = self.token();
            self.ops.push(TraceOp::Load { token, access });
        }
    }

    /// A load, store or atomic that synchronises, on cells of one role.
    fn synchronise(&mut self) {
        let lanes = self.lanes();
        // The first cell that is found says what the others are to be like.
        let found = (0..32).find_map(|_| {
            let addr = self.line() + self.rng.random_range(0..self.ground.line / CELL) * CELL;
            let role = self.roles.of(addr);
            self.roles.reached(role, self.unit).map(|remote| (role, remote))
        });
        let Some((Role::Synchronise { size, scope, .. }, remote)) = found else {
            return self.data(false);
        };
        let fits = |of: &Self, addr: u64| match of.roles.of(addr) {
            Role::Data => false,
            role @ Role::Synchronise { size: s, scope: c, .. } => {
                (s, c) == (size, scope) && of.roles.reached(role, of.unit) == Some(remote)
            }
        };
        let (list, mask) = self.addresses(u64::from(size), &lanes, fits);
        if mask == 0 {
            return;
        }
        let class = if remote { Class::P } else { self.class() };
        let scope = if remote { Scope::Gpu } else { scope };
        let hint = self.hint(Hinted::Atomic);
        let data = TraceAccess::data(size, Addrs::Lanes(list), mask);
        let access = TraceAccess { class, scope, remote, hint, ..data };
        match self.rng.random_range(0..4) {
            0 => self.acquire(access),
            1 => self.release(access),
            _ => self.amo(access, &[Sem::Acquire, Sem::Release, Sem::AcquireRelease]),
        }
    }

    fn acquire(&mut self, access: TraceAccess) {
        let (token, access) = (self.token(), ordering(access, Sem::Acquire));
        self.ops.push(TraceOp::Load { token, access });
    }

    fn release(&mut self, access: TraceAccess) {
        self.ops.push(TraceOp::Store { access: ordering(access, Sem::Release), value: TraceValue::Unique });
    }

    /// An atomic that orders one of these.
    fn amo(&mut self, access: TraceAccess, sems: &[Sem]) {
        let (token, sem) = (self.token(), sems[self.rng.random_range(0..sems.len())]);
        let access = ordering(access, sem);
        let kinds = [AmoKind::Add, AmoKind::Exch, AmoKind::Cas, AmoKind::Or, AmoKind::Max, AmoKind::Inc];
        let kind = kinds[self.rng.random_range(0..kinds.len())];
        let value = match self.rng.random::<bool>() {
            true => TraceValue::Unique,
            false => TraceValue::Const(self.rng.random_range(0..4)),
        };
        let compare = if kind == AmoKind::Cas { self.rng.random_range(0..4) } else { 0 };
        self.ops.push(TraceOp::Amo { token, access, kind, value, compare });
    }

    /// A request that an access asks for, perhaps none.
    fn hint(&mut self, on: Hinted) -> Hint {
        if self.shape.hints == 0 || !share(self.rng, self.shape.hints) {
            return Hint::default();
        }
        let request = |request| [Hint::word(request), Hint::line(request)];
        let fit: Vec<Hint> =
            Request::ALL.into_iter().flat_map(request).filter(|hint| hint.fits(on)).collect();
        fit[self.rng.random_range(0..fit.len())]
    }

    fn class(&mut self) -> Class {
        let classes: &[Class] = match self.ground.level {
            Level::Sc | Level::Drf0 => &[Class::P],
            Level::Drf1 => &[Class::P, Class::U],
            Level::DrfRlx => &[Class::P, Class::P, Class::U, Class::C, Class::N],
        };
        classes[self.rng.random_range(0..classes.len())]
    }
}
