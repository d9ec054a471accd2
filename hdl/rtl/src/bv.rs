//! Values of any width.

use bitvec::prelude::{BitVec, Lsb0};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A two-state value of a fixed width in bits; bit 0 is the least significant. Limbs are 64 bits wide, least significant
/// first, and bits above the width are always zero.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Bv(BitVec<u64, Lsb0>);

impl Bv {
    /// Zero of `width` bits.
    pub fn zero(width: u32) -> Bv {
        Bv(BitVec::repeat(false, width as usize))
    }

    /// All ones of `width` bits.
    pub fn ones(width: u32) -> Bv {
        Bv::from_limbs(&vec![u64::MAX; limbs_for(width)], width)
    }

    /// The low `width` bits of `value`; higher bits are cut off.
    pub fn from_u64(value: u64, width: u32) -> Bv {
        Bv::from_limbs(&[value], width)
    }

    /// The low `width` bits of `value`; higher bits are cut off.
    pub fn from_u128(value: u128, width: u32) -> Bv {
        Bv::from_limbs(&[value as u64, (value >> 64) as u64], width)
    }

    /// A value from limbs, least significant first; missing limbs are zero, higher bits are cut off.
    pub fn from_limbs(limbs: &[u64], width: u32) -> Bv {
        let count = limbs_for(width);
        let mut raw: Vec<u64> = (0..count).map(|i| limbs.get(i).copied().unwrap_or(0)).collect();
        if let Some(last) = raw.last_mut() {
            *last &= top_mask(width);
        }
        let mut bits = BitVec::from_vec(raw);
        bits.truncate(width as usize);
        Bv(bits)
    }

    /// Parses a number in hexadecimal digits without prefix.
    pub fn from_hex(digits: &str, width: u32) -> Option<Bv> {
        let mut limbs = vec![0u64; limbs_for(width).max(digits.len().div_ceil(16))];
        for (i, c) in digits.bytes().rev().enumerate() {
            limbs[i / 16] |= u64::from((c as char).to_digit(16)?) << (4 * (i % 16));
        }
        let value = Bv::from_limbs(&limbs, width);
        let fits = (0..limbs.len()).all(|i| value.limbs().get(i).copied().unwrap_or(0) == limbs[i]);
        fits.then_some(value)
    }

    /// Width in bits.
    pub fn width(&self) -> u32 {
        self.0.len() as u32
    }

    /// The limbs, least significant first; bits above the width are zero.
    #[inline]
    pub fn limbs(&self) -> &[u64] {
        self.0.as_raw_slice()
    }

    /// Bit `index`; false above the width.
    pub fn bit(&self, index: u32) -> bool {
        self.0.get(index as usize).is_some_and(|b| *b)
    }

    /// Sets bit `index`, which must lie below the width.
    pub fn set_bit(&mut self, index: u32, value: bool) {
        self.0.set(index as usize, value);
    }

    /// The low 64 bits.
    pub fn low_u64(&self) -> u64 {
        self.limbs().first().copied().unwrap_or(0)
    }

    /// The value when it fits 64 bits.
    pub fn to_u64(&self) -> Option<u64> {
        self.limbs().iter().skip(1).all(|&l| l == 0).then(|| self.low_u64())
    }

    /// True when every bit is zero.
    pub fn is_zero(&self) -> bool {
        self.limbs().iter().all(|&l| l == 0)
    }

    /// `width` bits from bit `lo` on; bits above the value are zero.
    pub fn slice(&self, lo: u32, width: u32) -> Bv {
        let mut out = Bv::zero(width);
        for i in 0..width {
            if self.bit(lo + i) {
                out.set_bit(i, true);
            }
        }
        out
    }

    /// Joins parts, the first one least significant.
    pub fn concat(parts: &[Bv]) -> Bv {
        let mut bits: BitVec<u64, Lsb0> = BitVec::new();
        for part in parts {
            bits.extend_from_bitslice(&part.0);
        }
        let width = bits.len() as u32;
        bits.set_uninitialized(false);
        Bv::from_limbs(bits.as_raw_slice(), width)
    }
}

/// Limbs of 64 bits that a value of `width` bits takes.
#[inline]
pub const fn limbs_for(width: u32) -> usize {
    (width as usize).div_ceil(64)
}

/// Mask of the used bits in the highest limb of a value of `width` bits.
#[inline]
pub const fn top_mask(width: u32) -> u64 {
    match width % 64 {
        0 => u64::MAX,
        rest => (1 << rest) - 1,
    }
}

/// Bits needed to hold the numbers `0..count`; at least 1.
pub fn bits_for(count: u64) -> u32 {
    if count <= 2 { 1 } else { 64 - (count - 1).leading_zeros() }
}

impl fmt::LowerHex for Bv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.width().div_ceil(4).max(1);
        for i in (0..digits).rev() {
            let limb = self.limbs().get((i / 16) as usize).copied().unwrap_or(0);
            write!(f, "{:x}", (limb >> (4 * (i % 16))) & 15)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Bv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}'h{self:x}", self.width())
    }
}

impl fmt::Display for Bv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
