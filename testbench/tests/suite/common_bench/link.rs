//! Plain models for links: message sizes typed from the specification, and the exact timing of one direction.
#![allow(dead_code)]

use crate::common_bench::*;
use rand::Rng;
use rand::rngs::SmallRng;
use std::collections::VecDeque;
use weft_blocks::common::link::LinkParams;
use weft_blocks::msg::*;
use weft_rtl::prelude::*;

/// Bytes of a message on a link (rec.md section 5), by network (0 REQ, 1 RSP, 2 INV).
pub fn bytes(sys: &Sys, network: usize, msg: &Msg) -> u64 {
    let line = u64::from(sys.line);
    match network {
        0 => match msg[leaf::<ReqMsg>(sys, "kind")].low_u64() {
            1 => {
                let mask = &msg[leaf::<ReqMsg>(sys, "mask")];
                let touched = (0..sys.line / 16).filter(|c| (0..16).any(|b| mask.bit(16 * c + b))).count();
                16 + 16 * touched as u64 + if line == 128 { 16 } else { 0 }
            }
            2 => 32,
            _ => 16,
        },
        1 if msg[leaf::<RspMsg>(sys, "kind")].low_u64() == 0 => 16 + line,
        _ => 16,
    }
}

/// A random message of a network; masks are sparse, so that all sizes occur.
pub fn random_on(rng: &mut SmallRng, sys: &Sys, network: usize) -> Msg {
    match network {
        0 => {
            let mut msg = random_msg::<ReqMsg>(rng, sys);
            let mut mask = Bv::zero(sys.line);
            for _ in 0..rng.random_range(0..6) {
                mask.set_bit(rng.random_range(0..sys.line), true);
            }
            msg[leaf::<ReqMsg>(sys, "mask")] = mask;
            msg
        }
        1 => random_msg::<RspMsg>(rng, sys),
        _ => random_msg::<InvMsg>(rng, sys),
    }
}

/// One direction of a link in plain Rust, exact to the cycle.
pub struct LinkModel {
    sys: Sys,
    p: LinkParams,
    queues: [VecDeque<Msg>; 3],
    credits: [u32; 3],
    turn: usize,
    owed: u64,
    /// (cycle of arrival, message) per network.
    flight: [VecDeque<(u64, Msg)>; 3],
    /// Cycles in which credits become usable again.
    returning: [VecDeque<u64>; 3],
    /// The message offered.
    pub held: [Option<Msg>; 3],
    /// Messages taken by the receiver's client.
    pub taken: [Vec<Msg>; 3],
    /// Bytes sent per network.
    pub bytes: [u64; 3],
}

impl LinkModel {
    pub fn new(sys: &Sys, p: LinkParams) -> LinkModel {
        LinkModel {
            sys: sys.clone(),
            p,
            queues: Default::default(),
            credits: p.credits,
            turn: 0,
            owed: 0,
            flight: Default::default(),
            returning: Default::default(),
            held: Default::default(),
            taken: Default::default(),
            bytes: [0; 3],
        }
    }

    pub fn cycle(&mut self, now: u64, arrived: [Option<Msg>; 3], ready: [bool; 3]) {
        for (queue, msg) in self.queues.iter_mut().zip(arrived) {
            queue.extend(msg);
        }
        for (credits, returning) in self.credits.iter_mut().zip(&mut self.returning) {
            while returning.front().is_some_and(|at| *at <= now) {
                returning.pop_front();
                *credits += 1;
            }
        }
        self.send(now);
        let latency = u64::from(self.p.latency);
        for (v, ready) in ready.into_iter().enumerate() {
            if ready && let Some(msg) = self.held[v].take() {
                self.taken[v].push(msg);
            }
            let here = self.flight[v].front().is_some_and(|(at, _)| *at <= now);
            if self.held[v].is_none() && here {
                self.held[v] = self.flight[v].pop_front().map(|(_, msg)| msg);
                self.returning[v].push_back(now + latency + 1);
            }
        }
    }

    fn send(&mut self, now: u64) {
        let rate = u64::from(self.p.bytes_per_cycle);
        if self.owed >= rate {
            self.owed -= rate;
            return;
        }
        let can = |v: &usize| !self.queues[*v].is_empty() && self.credits[*v] > 0;
        let Some(v) = (0..3).map(|k| (self.turn + k) % 3).find(can) else {
            self.owed = 0;
            return;
        };
        let msg = self.queues[v].pop_front().expect("chosen because it is there");
        self.turn = (v + 1) % 3;
        self.credits[v] -= 1;
        let size = bytes(&self.sys, v, &msg);
        self.bytes[v] += size;
        let end = self.owed + size;
        let phits = (end / rate).max(1);
        self.owed = end.saturating_sub(rate);
        // Offered at now + phits + latency: loaded into the output register the cycle before.
        self.flight[v].push_back((now + phits + u64::from(self.p.latency) - 1, msg));
    }
}

/// The published widths with few banks; 128-byte lines on demand.
pub fn system(gpus: u32, line: u32) -> Sys {
    Sys {
        gpus,
        gpms: 1,
        addr_bits: 48,
        line,
        banks: 4,
        l1s: 4,
        l2_mshrs: 16,
        l1_mshrs: 8,
        il: 4096,
        home_shift: 32,
        owners: false,
    }
}
