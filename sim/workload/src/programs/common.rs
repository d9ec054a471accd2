//! What the programs share: threads and lanes, single-precision values, comparison with the host's result.

use super::params::{Legal, ParamSpec};
use crate::data;
use crate::op::{Addrs, LaneMask, Op, Token, Unit};
use crate::program::{Array, VerifyError, full_mask};

/// Ticks of one dependent arithmetic instruction.
pub const ALU_LATENCY: u32 = 4;

/// Parameter `lanes` of every program.
pub const LANES: ParamSpec = ParamSpec {
    name: "lanes",
    default: "64",
    legal: Legal::Integer { min: 1, max: 64 },
    unit: "lanes",
    about: "Lanes of a wave.",
};

/// Parameter `seed` of every program with made-up input.
pub const SEED: ParamSpec = ParamSpec {
    name: "seed",
    default: "1",
    legal: Legal::Integer { min: 0, max: u64::MAX },
    unit: "",
    about: "Chooses the input data.",
};

/// Maps the threads of 1-D or flattened 2-D work-groups to waves and lanes.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    /// Lanes of a wave.
    pub lanes: u32,
    /// Threads of a work-group.
    pub group: u32,
}

impl Threads {
    /// Waves of a work-group.
    pub fn waves(self) -> u32 {
        self.group.div_ceil(self.lanes)
    }

    /// Work-groups for `total` threads.
    pub fn blocks(self, total: u64) -> u32 {
        total.div_ceil(u64::from(self.group)) as u32
    }

    /// Number of a wave's lane 0 among all threads of the launch.
    pub fn first(self, block: u32, wave: u32) -> u64 {
        u64::from(block) * u64::from(self.group) + u64::from(wave * self.lanes)
    }

    /// Lanes of a wave that are threads of its work-group and below `total`.
    pub fn mask(self, block: u32, wave: u32, total: u64) -> LaneMask {
        let in_group = self.group.saturating_sub(wave * self.lanes).min(self.lanes);
        let in_total = total.saturating_sub(self.first(block, wave)).min(u64::from(in_group));
        full_mask(in_total as u32)
    }

    /// Addresses and mask of a wave whose thread `t` of the work-group accesses `address(t)`, or nothing.
    pub fn access(self, wave: u32, address: impl Fn(u32) -> Option<u64>) -> (Addrs, LaneMask) {
        let mut addrs = vec![0; self.lanes as usize];
        let mut mask = 0;
        for lane in 0..self.lanes {
            let thread = wave * self.lanes + lane;
            if let Some(addr) = (thread < self.group).then(|| address(thread)).flatten() {
                addrs[lane as usize] = addr;
                mask |= 1 << lane;
            }
        }
        (Addrs::Lanes(addrs), mask)
    }
}

/// The active lanes, lowest first.
pub fn active(mask: LaneMask) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < 64).then_some(lane)
    })
}

/// Addresses of consecutive 4-byte words, lane 0 at `base`.
pub fn words(base: u64) -> Addrs {
    Addrs::Strided { base, stride: 4 }
}

/// The same address in every lane.
pub fn same(base: u64) -> Addrs {
    Addrs::Strided { base, stride: 0 }
}

/// A lane value as a single-precision number.
#[inline]
pub fn float(value: u64) -> f32 {
    f32::from_bits(value as u32)
}

/// A single-precision number as a lane value.
#[inline]
pub fn lane_value(value: f32) -> u64 {
    u64::from(value.to_bits())
}

/// Appends the time of `count` dependent arithmetic instructions.
pub fn arithmetic(ops: &mut Vec<Op>, count: u64) {
    ops.extend((0..count).map(|_| Op::Compute {
        unit: Unit::Alu,
        latency: ALU_LATENCY,
        occupancy: 0,
        needs: vec![],
        token: None,
    }));
}

/// Waits for tokens `0..count`.
pub fn await_first(count: Token) -> Op {
    Op::Await { tokens: (0..count).collect() }
}

/// First contents of an array of single-precision numbers.
pub fn floats(array: &Array) -> Vec<f32> {
    let mut values = data::f32_values(&array.init);
    values.resize(array.length as usize, 0.0);
    values
}

/// Element of an array as the host sees it.
pub trait Element: Copy + std::fmt::Display {
    /// Bytes in memory.
    const BYTES: usize;

    /// From little-endian bytes.
    fn of(bytes: &[u8]) -> Self;

    /// All bits, so that numbers are told apart that compare as equal.
    fn bits(self) -> u64;
}

macro_rules! element {
    ($type:ty, $bits:expr) => {
        impl Element for $type {
            const BYTES: usize = size_of::<$type>();

            fn of(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$type>()];
                own.copy_from_slice(bytes);
                Self::from_le_bytes(own)
            }

            fn bits(self) -> u64 {
                $bits(self)
            }
        }
    };
}

element!(f32, lane_value);
element!(u32, u64::from);
element!(i32, |v: i32| u64::from(v as u32));
element!(u64, |v: u64| v);

/// Compares an array with the host's, bit for bit: host and wave compute in one order.
pub fn compare<T: Element>(
    program: &str,
    array: &Array,
    expected: &[T],
    memory: &dyn Fn(u64, usize) -> Vec<u8>,
) -> Result<(), VerifyError> {
    let bytes = memory(array.addr, array.bytes() as usize);
    let found: Vec<T> = bytes.chunks_exact(T::BYTES).map(T::of).collect();
    let differ = |i: &usize| found.get(*i).map(|v| v.bits()) != Some(expected[*i].bits());
    let mut wrong = (0..expected.len()).filter(differ);
    let Some(first) = wrong.next() else { return Ok(()) };
    Err(VerifyError {
        program: program.to_owned(),
        array: array.name.clone(),
        index: first as u64,
        found: found.get(first).map_or("missing".to_owned(), T::to_string),
        expected: expected[first].to_string(),
        wrong: 1 + wrong.count() as u64,
        total: expected.len() as u64,
    })
}
