//! How much of the host's memory a run takes, before it.

use weft_workload::{Array, Program};

/// The program itself, the tables of a fabric and its machine code: measured on the built-in fabrics, which have 60 to 110 MB.
const BASE: u64 = 80 << 20;

/// States of the hardware: the present one, and two to go back to when a check fails.
const STATES: u64 = 3;

/// Copies of the program's arrays: the program's own, the memory of the fabric, and what the scoreboard of values takes for its contents.
const COPIES: u64 = 3;

/// Bytes that the scoreboard keeps for a byte that is written in the present kernel: of a word its value, writer and cycle.
const WRITTEN: u64 = 4;

/// Bytes of the host's memory that a run takes. Programs whose kernels write one word many times take more: the scoreboard keeps
/// each of these writes, some 24 bytes, until the end of the kernel, for a wave that races may still see any of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Of the hardware, whatever the program.
    pub hardware: u64,
    /// Of the program's arrays and the checks of their values, if a kernel writes all of them.
    pub data: u64,
}

impl Footprint {
    /// Of a program on hardware whose state has so many bytes.
    pub fn new(state_bytes: u64, program: &dyn Program) -> Footprint {
        let arrays: u64 = program.arrays().iter().map(Array::bytes).sum();
        Footprint { hardware: BASE + STATES * state_bytes, data: (COPIES + WRITTEN) * arrays }
    }

    /// All of it.
    pub fn bytes(&self) -> u64 {
        self.hardware + self.data
    }
}
