//! Tests of the golden models against the numbers and sentences of the specification.

mod directory_props;
mod layout;
mod parameters;
