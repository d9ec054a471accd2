//! Channels of a part that are channels of the block around it.

use weft_rtl::prelude::*;

/// The part's receiving channel `port` becomes the block's receiving channel `name`.
#[track_caller]
pub fn pass_in<T: Data>(part: &InstanceRef, port: &str, name: &str, shape: &T::Shape) {
    part.drive_bits(&format!("{port}_valid"), input::<Bool>(&format!("{name}_valid"), ()).bits());
    let (inner, outer) = (message_name::<T>(port, shape), message_name::<T>(name, shape));
    part.drive::<T>(&inner, shape, input::<T>(&outer, shape.clone()));
    output::<Bool>(&format!("{name}_ready"), ()).set(part.out::<Bool>(&format!("{port}_ready"), &()));
}

/// The part's sending channel `port` becomes the block's sending channel `name`.
#[track_caller]
pub fn pass_out<T: Data>(part: &InstanceRef, port: &str, name: &str, shape: &T::Shape) {
    output::<Bool>(&format!("{name}_valid"), ()).set(part.out::<Bool>(&format!("{port}_valid"), &()));
    let (inner, outer) = (message_name::<T>(port, shape), message_name::<T>(name, shape));
    output::<T>(&outer, shape.clone()).set(part.out::<T>(&inner, shape));
    part.drive_bits(&format!("{port}_ready"), input::<Bool>(&format!("{name}_ready"), ()).bits());
}

/// A receiving channel on which nothing ever comes.
#[track_caller]
pub fn silence<T: Data>(part: &InstanceRef, port: &str, shape: &T::Shape) {
    part.drive_bits(&format!("{port}_valid"), lit(0, 1));
    for leaf in leaves_of::<T>(shape, &message_name::<T>(port, shape)) {
        part.drive_bits(&leaf.name, lit_bv(Bv::zero(leaf.width)));
    }
}
