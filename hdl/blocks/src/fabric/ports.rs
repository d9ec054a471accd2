//! Channels through a fabric module's boundary.

use weft_rtl::prelude::*;

/// Takes an instance's receiving channel `inner` to the fabric's boundary as `outer`.
#[track_caller]
pub(super) fn export_in<T: Data>(outer: &str, inst: &InstanceRef, inner: &str, shape: &T::Shape) {
    let valid = input::<Bits>(&format!("{outer}_valid"), 1);
    inst.drive_bits(&format!("{inner}_valid"), valid);
    for (from, to) in leaves_of::<T>(shape, outer).iter().zip(leaves_of::<T>(shape, inner)) {
        let value = input::<Bits>(&from.name, from.width);
        inst.drive_bits(&to.name, value);
    }
    output::<Bits>(&format!("{outer}_ready"), 1).set(inst.out_bits(&format!("{inner}_ready")));
}

/// Takes an instance's sending channel `inner` to the fabric's boundary as `outer`.
#[track_caller]
pub(super) fn export_out<T: Data>(outer: &str, inst: &InstanceRef, inner: &str, shape: &T::Shape) {
    output::<Bits>(&format!("{outer}_valid"), 1).set(inst.out_bits(&format!("{inner}_valid")));
    for (to, from) in leaves_of::<T>(shape, outer).iter().zip(leaves_of::<T>(shape, inner)) {
        output::<Bits>(&to.name, to.width).set(inst.out_bits(&from.name));
    }
    let ready = input::<Bits>(&format!("{outer}_ready"), 1);
    inst.drive_bits(&format!("{inner}_ready"), ready);
}

/// A receiving channel on which nothing ever comes.
#[track_caller]
pub(super) fn silence<T: Data>(inst: &InstanceRef, inner: &str, shape: &T::Shape) {
    inst.drive_bits(&format!("{inner}_valid"), lit(0, 1));
    for leaf in leaves_of::<T>(shape, inner) {
        inst.drive_bits(&leaf.name, lit_bv(Bv::zero(leaf.width)));
    }
}
