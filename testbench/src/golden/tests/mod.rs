//! Tests of the golden models against the numbers and sentences of the specification.

mod directory_props;
mod egress;
mod fence;
mod hierarchy;
mod l2;
mod l2_hier;
mod layout;
mod parameters;
mod protocol;
mod slice;
