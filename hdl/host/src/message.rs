//! A message whose leaves are known at run time only: what the ports of a finished block say.

use weft_rtl::data::join_name;
use weft_rtl::prelude::*;

/// A message of any channel; its shape is the list of its leaves, whose names are those behind the channel's.
#[derive(Clone)]
pub struct Message(Vec<Bits>);

impl Message {
    /// All leaves joined, the first one least significant, with zeros above up to `width`.
    #[track_caller]
    pub(crate) fn packed(&self, width: u32) -> Bits {
        if self.0.is_empty() { lit_bv(Bv::zero(width)) } else { pack(&self.0).resize(width) }
    }

    /// The leaves of a vector that holds them joined.
    #[track_caller]
    pub(crate) fn of_packed(leaves: &[Leaf], packed: Bits) -> Message {
        let mut low = 0;
        let part = |leaf: &Leaf| {
            low += leaf.width;
            packed.slice(low - leaf.width, leaf.width)
        };
        Message(leaves.iter().map(part).collect())
    }
}

impl Data for Message {
    type Shape = Vec<Leaf>;

    fn leaves(shape: &Vec<Leaf>, prefix: &str, out: &mut Vec<Leaf>) {
        out.extend(shape.iter().map(|leaf| Leaf { name: join_name(prefix, &leaf.name), ..leaf.clone() }));
    }

    fn from_leaves(shape: &Vec<Leaf>, leaves: &mut dyn Iterator<Item = Bits>) -> Message {
        Message(shape.iter().map(|_| leaves.next().expect("as many values as leaves")).collect())
    }

    fn to_leaves(&self, out: &mut Vec<Bits>) {
        out.extend(&self.0);
    }

    fn with_leaves(&self, leaves: &mut dyn Iterator<Item = Bits>) -> Message {
        Message(self.0.iter().map(|_| leaves.next().expect("as many values as leaves")).collect())
    }
}
