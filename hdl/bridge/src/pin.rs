//! Values and pins: rust-hdl signals as a simulation of Weft reads and drives them.

use rust_hdl_core::bits::{Bit, Bits};
use rust_hdl_core::bitvec::BitVec;
use rust_hdl_core::direction::{In, Out};
use rust_hdl_core::logic::Logic;
use rust_hdl_core::signal::Signal;
use rust_hdl_core::signed::Signed;
use rust_hdl_core::synth::Synth;

/// A type of rust-hdl signals that a port of a Weft block can have: one bit, a vector, or a type of your own that says how it is encoded.
pub trait PortValue: Synth {
    /// Writes the encoding into limbs of 64 bits, least significant first; bits above [`Synth::BITS`] are zero.
    fn to_limbs(self, limbs: &mut [u64]);

    /// The value of an encoding.
    fn from_limbs(limbs: &[u64]) -> Self;
}

impl PortValue for Bit {
    fn to_limbs(self, limbs: &mut [u64]) {
        limbs[0] = u64::from(self);
    }

    fn from_limbs(limbs: &[u64]) -> Bit {
        limbs[0] & 1 == 1
    }
}

impl<const N: usize> PortValue for Bits<N> {
    fn to_limbs(self, limbs: &mut [u64]) {
        if N <= 64 {
            limbs[0] = self.into();
            return;
        }
        limbs.fill(0);
        (0..N).filter(|bit| self.get_bit(*bit)).for_each(|bit| limbs[bit / 64] |= 1 << (bit % 64));
    }

    fn from_limbs(limbs: &[u64]) -> Bits<N> {
        if N <= 64 {
            return limbs[0].into();
        }
        let bits: [bool; N] = std::array::from_fn(|bit| limbs[bit / 64] >> (bit % 64) & 1 == 1);
        Bits::Long(BitVec::from(bits))
    }
}

impl<const N: usize> PortValue for Signed<N> {
    fn to_limbs(self, limbs: &mut [u64]) {
        self.inner().to_limbs(limbs);
    }

    fn from_limbs(limbs: &[u64]) -> Signed<N> {
        rust_hdl_core::signed::signed_cast(Bits::from_limbs(limbs))
    }
}

/// Which way a pin looks, seen from the block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PinDirection {
    /// `Signal<In, _>`.
    In,
    /// `Signal<Out, _>`.
    Out,
}

/// A signal of a rust-hdl block that stands for a port. Made by [`weft_block!`](crate::weft_block); there is no need to implement it.
pub trait Pin {
    /// Which way it looks.
    fn direction() -> PinDirection
    where
        Self: Sized;

    /// Width in bits.
    fn width() -> u32
    where
        Self: Sized;

    /// Reads an input into limbs; an output stays silent.
    fn sample(&self, limbs: &mut [u64]);

    /// Drives an output; an input stays as it is.
    fn show(&mut self, limbs: &[u64]);

    /// Tells rust-hdl's checks that an output is driven.
    fn claim(&mut self);
}

impl<T: PortValue> Pin for Signal<In, T> {
    fn direction() -> PinDirection {
        PinDirection::In
    }

    fn width() -> u32 {
        T::BITS as u32
    }

    fn sample(&self, limbs: &mut [u64]) {
        self.val().to_limbs(limbs);
    }

    fn show(&mut self, _limbs: &[u64]) {}

    fn claim(&mut self) {}
}

impl<T: PortValue> Pin for Signal<Out, T> {
    fn direction() -> PinDirection {
        PinDirection::Out
    }

    fn width() -> u32 {
        T::BITS as u32
    }

    fn sample(&self, _limbs: &mut [u64]) {}

    fn show(&mut self, limbs: &[u64]) {
        self.next = T::from_limbs(limbs);
    }

    fn claim(&mut self) {
        self.connect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back<T: PortValue>(limbs: &[u64]) {
        let mut again = vec![u64::MAX; limbs.len()];
        T::from_limbs(limbs).to_limbs(&mut again);
        assert_eq!(again, limbs, "{} bits", T::BITS);
    }

    #[test]
    fn values_survive_the_way_there_and_back() {
        there_and_back::<Bit>(&[1]);
        there_and_back::<Bits<1>>(&[1]);
        there_and_back::<Bits<31>>(&[0x7fff_fffe]);
        there_and_back::<Bits<32>>(&[0x8000_0001]);
        there_and_back::<Bits<33>>(&[0x1_0000_0003]);
        there_and_back::<Bits<64>>(&[0x8000_0000_0000_0005]);
        there_and_back::<Bits<65>>(&[0xdead_beef_0123_4567, 1]);
        there_and_back::<Bits<200>>(&[u64::MAX, 0, 0x0123_4567_89ab_cdef, 0xa5]);
        there_and_back::<Signed<12>>(&[0xfff]);
    }

    #[test]
    fn a_vector_keeps_the_order_of_its_bits() {
        let value = Bits::<70>::from_limbs(&[1 << 63, 0b10_0001]);
        let set: Vec<usize> = (0..70).filter(|bit| value.get_bit(*bit)).collect();
        assert_eq!(set, [63, 64, 69]);
        assert_eq!(Signed::<8>::from_limbs(&[0xff]).bigint(), (-1).into());
    }
}
