//! The random numbers of co-simulation: the same sequence in Rust and in the C++ of the benchmark.

/// Marsaglia's xorshift of 64 bits (shifts 13, 7, 17).
#[derive(Clone, Debug)]
pub struct Xorshift(u64);

impl Xorshift {
    /// A generator; any seed is allowed.
    pub fn new(seed: u64) -> Xorshift {
        // The state must not be zero; nearby seeds are spread apart.
        Xorshift(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03 | 1)
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `bound`, which must not be zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        (self.draw() >> 16) % bound
    }

    /// True in `of256` of 256 draws.
    pub fn chance(&mut self, of256: u64) -> bool {
        (self.draw() >> 24) & 255 < of256
    }

    /// Starting state for a copy of the generator in another language.
    pub(super) fn state(&self) -> u64 {
        self.0
    }
}
