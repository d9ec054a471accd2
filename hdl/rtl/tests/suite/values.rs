//! Values of any width: bits above the width are zero, whatever made the value.

use proptest::prelude::*;
use weft_rtl::bv::{Bv, limbs_for, top_mask};

/// As many limbs as the width takes, nothing above it, and the digits that follow from it.
fn is_clean(value: &Bv, width: u32) {
    assert_eq!(value.width(), width);
    assert_eq!(value.limbs().len(), limbs_for(width), "{value}");
    assert_eq!(value.limbs().last().copied().unwrap_or(0) & !top_mask(width), 0, "{value}");
    let again = Bv::from_limbs(value.limbs(), width);
    assert_eq!((&again, format!("{value:x}")), (value, format!("{again:x}")));
    assert_eq!(Bv::from_hex(&format!("{value:x}"), width).as_ref(), Some(value));
}

#[test]
fn all_ones_are_as_many_as_the_width() {
    assert_eq!(Bv::ones(1).to_string(), "1'h1");
    assert_eq!(Bv::ones(66).to_string(), "66'h3ffffffffffffffff");
    for width in 1..200 {
        let ones = Bv::ones(width);
        is_clean(&ones, width);
        assert_eq!(ones.limbs().iter().map(|limb| limb.count_ones()).sum::<u32>(), width);
    }
}

proptest! {
    #[test]
    fn bits_above_the_width_are_zero(
        width in 1u32..200,
        limbs in prop::collection::vec(any::<u64>(), 0..5),
        low in 0u32..200,
        part in 1u32..200,
        bit: bool,
    ) {
        let value = Bv::from_limbs(&limbs, width);
        is_clean(&value, width);
        is_clean(&Bv::zero(width), width);
        is_clean(&Bv::from_u64(limbs.first().copied().unwrap_or(u64::MAX), width), width);
        is_clean(&Bv::from_u128(u128::MAX - u128::from(low), width), width);
        is_clean(&value.slice(low, part), part);
        is_clean(&Bv::concat(&[value.clone(), Bv::ones(part), value.slice(low, part)]), width + 2 * part);
        let mut changed = Bv::ones(width);
        changed.set_bit(low % width, bit);
        is_clean(&changed, width);
    }
}
