//! Circuits for testing the exporter: one of each kind of statement and memory, and random expressions.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use weft_rtl::prelude::*;

#[derive(HwEnum, Clone, Copy, PartialEq, Debug)]
enum Phase {
    Idle = 1,
    Look = 2,
    Answer = 5,
}

#[derive(Bundle, Clone)]
#[bundle(shape = Shape)]
struct Request {
    #[width(s.row)]
    row: Bits,
    kind: Enum<Phase>,
    #[width(s.data)]
    data: Bits,
}

#[derive(Clone)]
struct Shape {
    row: u32,
    data: u32,
}
