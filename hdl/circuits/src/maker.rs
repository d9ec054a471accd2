//! A module in the making: the values that there are, and those that go out.

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use weft_rtl::ir::NodeId;
use weft_rtl::prelude::*;

/// Widest value in bits.
pub const WIDEST: u32 = 200;

/// Widths at the limits of words and limbs.
const WIDTHS: [u32; 19] = [1, 1, 1, 2, 3, 7, 8, 15, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 200];

/// Bits of values that go out together.
const TOGETHER: u32 = 256;

/// What one module is made with.
pub struct Maker {
    pub rng: SmallRng,
    /// All values so far.
    pool: Vec<Bits>,
    /// Values that something reads.
    used: BTreeSet<NodeId>,
    /// Names given.
    names: u32,
}

impl Maker {
    /// A generator of its own, drawn from another one.
    pub fn new(rng: &mut SmallRng) -> Maker {
        Maker { rng: SmallRng::from_rng(rng), pool: Vec::new(), used: BTreeSet::new(), names: 0 }
    }

    /// One of `count` chances.
    pub fn one_in(&mut self, count: u32) -> bool {
        self.rng.random_range(0..count) == 0
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.rng.random_range(0..bound)
    }

    /// One of these.
    pub fn choose<T: Copy>(&mut self, list: &[T]) -> T {
        *list.choose(&mut self.rng).expect("not empty")
    }

    /// A name that is not taken.
    pub fn name(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("{stem}{}", self.names)
    }

    /// A width from 1 to [`WIDEST`].
    pub fn width(&mut self) -> u32 {
        if self.one_in(3) { 1 + self.below(WIDEST) } else { self.choose(&WIDTHS) }
    }

    /// Adds a value; of one that is too wide a part.
    pub fn add(&mut self, value: Bits) {
        let value = match value.width().checked_sub(WIDEST) {
            Some(more) if more > 0 => {
                let lo = self.below(more + 1);
                value.slice(lo, WIDEST)
            }
            _ => value,
        };
        self.pool.push(value);
    }

    fn take(&mut self, value: Bits) -> Bits {
        self.used.insert(value.node());
        value
    }

    /// A value; the last ones are the likeliest, so that expressions become deep.
    pub fn any(&mut self) -> Bits {
        let from = if self.one_in(2) { self.pool.len().saturating_sub(6) } else { 0 };
        let at = self.rng.random_range(from..self.pool.len());
        self.take(self.pool[at])
    }

    /// A value of this width.
    pub fn of(&mut self, width: u32) -> Bits {
        if self.one_in(12) {
            return self.constant(width);
        }
        let same: Vec<Bits> = self.pool.iter().filter(|value| value.width() == width).copied().collect();
        match same.choose(&mut self.rng) {
            Some(value) if self.rng.random_bool(0.6) => self.take(*value),
            _ => self.any().resize(width),
        }
    }

    fn constant(&mut self, width: u32) -> Bits {
        let limbs: [u64; 4] = self.rng.random();
        match self.below(4) {
            0 => lit_bv(Bv::ones(width)),
            1 => {
                let mut one = Bv::zero(width);
                one.set_bit(self.below(width), true);
                lit_bv(one)
            }
            _ => lit_bv(Bv::from_limbs(&limbs, width)),
        }
    }

    /// Two values of one width.
    pub fn pair(&mut self) -> (Bits, Bits) {
        let a = if self.one_in(2) {
            self.any()
        } else {
            let width = self.width();
            self.of(width)
        };
        let b = self.of(a.width());
        // Two of one are seldom of interest.
        (a, if b.node() == a.node() { self.of(a.width()) } else { b })
    }

    /// A truth value.
    pub fn flag(&mut self) -> Bool {
        let a = self.any();
        match self.below(5) {
            0 => a.bit(self.below(a.width())),
            1 => a.eq(self.of(a.width())),
            2 => a.lt(self.of(a.width())),
            3 => a.parity(),
            _ => a.any(),
        }
    }

    /// What nothing reads, in registers.
    pub fn outputs(&mut self) {
        let unread: Vec<Bits> =
            self.pool.iter().filter(|value| !self.used.contains(&value.node())).copied().collect();
        let mut groups: Vec<Vec<Bits>> = vec![Vec::new()];
        let mut bits = 0;
        for value in unread {
            bits += value.width();
            if bits > TOGETHER {
                bits = value.width();
                groups.push(Vec::new());
            }
            groups.last_mut().expect("never empty").push(value);
        }
        for (number, group) in groups.iter().enumerate() {
            let value = if group.is_empty() { self.any() } else { pack(group) };
            output_reg::<Bits>(&format!("out{number}"), value.width()).set(value);
        }
    }

    /// Outputs of a part: without a register, or with one.
    pub fn part_outputs(&mut self) {
        for number in 0..1 + self.below(3) {
            let (value, name) = (self.any(), format!("out{number}"));
            if self.one_in(3) {
                output_reg::<Bits>(&name, value.width()).set(value);
            } else {
                output::<Bits>(&name, value.width()).set(value);
            }
        }
    }
}
