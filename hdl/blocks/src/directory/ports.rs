//! Ports of the fence units that carry a network's message of which only a few leaves matter, and ports that are there for the interface only.

use crate::msg::*;
use weft_rtl::prelude::*;

/// A receiving channel of message `M` of which only the leaves of `T` are looked at.
pub(super) fn part_in<M: Data<Shape = Sys>, T: Data<Shape = Sys>>(name: &str, sys: &Sys) -> InChannel<T> {
    for leaf in others::<M, T>(name, sys) {
        unused_input(&input::<Bits>(&leaf.name, leaf.width));
    }
    in_channel::<T>(name, sys)
}

/// The same where every message is taken in the cycle in which it comes: always ready, without a buffer. Whether a message is there, and the message.
pub(super) fn part_taken<M: Data<Shape = Sys>, T: Data<Shape = Sys>>(name: &str, sys: &Sys) -> (Bool, T) {
    for leaf in others::<M, T>(name, sys) {
        unused_input(&input::<Bits>(&leaf.name, leaf.width));
    }
    output::<Bool>(&format!("{name}_ready"), ()).set(true);
    (input::<Bool>(&format!("{name}_valid"), ()), input::<T>(name, sys.clone()))
}

/// A sending channel of message `M` that carries the leaves of `T`; its kind is Fence, all else is zero.
pub(super) fn part_out<M: Data<Shape = Sys>, T: Data<Shape = Sys>>(name: &str, sys: &Sys) -> OutChannel<T> {
    let kind = format!("{name}_kind");
    for leaf in others::<M, T>(name, sys) {
        let value = if leaf.name == kind { ReqKind::Fence.encoding() } else { 0 };
        output::<Bits>(&leaf.name, leaf.width).set(lit_bv(Bv::from_u64(value, leaf.width)));
    }
    out_channel::<T>(name, sys)
}

fn others<M: Data<Shape = Sys>, T: Data<Shape = Sys>>(name: &str, sys: &Sys) -> Vec<Leaf> {
    let known: Vec<String> = leaves_of::<T>(sys, name).into_iter().map(|l| l.name).collect();
    leaves_of::<M>(sys, name).into_iter().filter(|l| !known.contains(&l.name)).collect()
}
