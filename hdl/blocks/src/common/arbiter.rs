//! Arbiters: who goes first among several requests.
//!
//! # Picture
//!
//! `round-robin-arbiter`:
//!
#![doc = include_str!("../../pictures/round-robin-arbiter.svg")]
//!
//! `oldest-first-arbiter`:
//!
#![doc = include_str!("../../pictures/oldest-first-arbiter.svg")]

use super::fifo::wrapping_next;
use weft_rtl::prelude::*;

/// An arbiter's choice.
#[derive(Clone, Copy)]
pub struct Pick {
    /// Some request is there.
    pub any: Bool,
    /// Number of the request chosen, meaningful while `any`.
    pub index: Bits,
}

impl Pick {
    /// The choice as a vector of `n` bits; zero without a request.
    #[track_caller]
    pub fn one_hot(self, n: u32) -> Bits {
        self.index.one_hot(n) & self.any.repeat(n)
    }
}

/// Round-robin arbiter over `n` requests: the first request at or after the place behind the last one granted. A request that stays is granted
/// after at most `n - 1` others.
pub struct RoundRobin {
    n: u32,
    next: Reg<Bits>,
}

impl RoundRobin {
    /// Declares the arbiter's state, a number called `NAME_next`.
    #[track_caller]
    pub fn new(name: &str, n: u32) -> RoundRobin {
        RoundRobin { n, next: reg::<Bits>(&format!("{name}_next"), bits_for(u64::from(n))) }
    }

    /// The choice among `requests` (one bit each).
    #[track_caller]
    pub fn pick(&self, requests: Bits) -> Pick {
        if self.n == 1 {
            return Pick { any: requests.any(), index: lit(0, 1) };
        }
        let from_next = requests & lit_bv(Bv::ones(self.n)).shl_by(self.next.get());
        let index = mux(from_next.any(), from_next.lowest_set(), requests.lowest_set());
        Pick { any: requests.any(), index }
    }

    /// Puts the request granted last in the order; call it under the condition that it was granted.
    #[track_caller]
    pub fn granted(&self, index: Bits) {
        self.next.set(wrapping_next(index, self.n));
    }
}

/// Oldest-first arbiter over `n` requests: an age matrix, row `i` holding one bit for each request that came before `i`.
pub struct OldestFirst {
    n: u32,
    before: Vec<Reg<Bits>>,
}

impl OldestFirst {
    /// Declares the matrix, rows `NAME_before0`...; `arrive` has a bit for each request that becomes the youngest at the clock edge. Those that
    /// arrive together are ordered by number.
    #[track_caller]
    pub fn new(name: &str, n: u32, arrive: Bits) -> OldestFirst {
        let before: Vec<Reg<Bits>> =
            (0..n).map(|i| reg::<Bits>(&format!("{name}_before{i}"), n).field("replacement")).collect();
        when(arrive.any(), || {
            for i in 0..n {
                let others = lit_bv(Bv::ones(n)) & !u64_bit(i, n);
                let lower = low_ones(i, n);
                let row = &before[i as usize];
                // What arrives with it and has a higher number is younger.
                let young = (others & !arrive) | (lower & arrive);
                row.set(mux(arrive.bit(i), young, row.get() & !arrive));
            }
        });
        OldestFirst { n, before }
    }

    /// The choice among `requests` (one bit each): the one that arrived first.
    #[track_caller]
    pub fn pick(&self, requests: Bits) -> Pick {
        let first: Vec<Bool> = (0..self.n)
            .map(|i| requests.bit(i) & (self.before[i as usize].get() & requests).none())
            .collect();
        Pick { any: requests.any(), index: pack_bools(&first).lowest_set() }
    }
}

fn u64_bit(i: u32, n: u32) -> Bits {
    lit(u64::from(i), bits_for(u64::from(n))).one_hot(n)
}

fn low_ones(count: u32, n: u32) -> Bits {
    let limbs: Vec<u64> = (0..n.div_ceil(64))
        .map(|limb| match count.saturating_sub(64 * limb) {
            0 => 0,
            bits if bits >= 64 => u64::MAX,
            bits => (1 << bits) - 1,
        })
        .collect();
    lit_bv(Bv::from_limbs(&limbs, n))
}

/// How the arbiter blocks choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// In turn.
    RoundRobin,
    /// By arrival.
    OldestFirst,
}

/// An arbiter as a block: channels `in0`..., channel `out`, one message per cycle.
///
/// # Errors
/// A number of inputs outside 1..256.
pub fn arbiter<T: Data>(
    name: &str,
    order: Order,
    n: u32,
    shape: &T::Shape,
) -> Result<Arc<Module>, ElabErrors> {
    Module::build(name, ModuleKind::Block, || {
        doc("Merges several channels into one.");
        param("inputs", n);
        if !(1..=256).contains(&n) {
            elab_error(format!("an arbiter of {n} inputs; legal: 1..256"));
            return;
        }
        let ins: Vec<InChannel<T>> = (0..n).map(|i| in_channel::<T>(&format!("in{i}"), shape)).collect();
        let out = out_channel::<T>("out", shape);
        let valid: Vec<Bool> = ins.iter().map(|c| c.valid).collect();
        let requests = pack_bools(&valid).named("requests");
        let go = out.free & requests.any();
        let pick = match order {
            Order::RoundRobin => {
                let turn = RoundRobin::new("turn", n);
                let pick = turn.pick(requests);
                when(go, || turn.granted(pick.index));
                pick
            }
            Order::OldestFirst => by_arrival(n, requests, go),
        };
        when(go, || {
            switch_bits(pick.index, |arms| {
                for (i, channel) in ins.iter().enumerate() {
                    arms.case(i as u64, || {
                        channel.take();
                        out.send(&channel.msg);
                    });
                }
            });
        });
    })
}

/// The oldest-first choice, where a message is as old as its time at the head of its channel.
fn by_arrival(n: u32, requests: Bits, go: Bool) -> Pick {
    let waiting = reg::<Bits>("waiting", n).doc("Requests whose age is recorded.");
    let arrive = wire::<Bits>("arrive", n);
    let ages = OldestFirst::new("age", n, arrive.get());
    let fresh = requests & !waiting.get();
    arrive.set(fresh);
    // Recorded ones are older than those seen now for the first time; among the latter the lowest number is first.
    let old = ages.pick(waiting.get());
    let index = mux(old.any, old.index, fresh.lowest_set());
    let leaves = index.one_hot(n) & go.repeat(n);
    waiting.set(requests & !leaves);
    Pick { any: requests.any(), index }
}
