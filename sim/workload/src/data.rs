//! Input data by rule: the same for the same seed on every machine and in every version.

/// A 64-bit number that depends on all three arguments in every bit (SplitMix64's finaliser).
pub fn mix(seed: u64, stream: u64, index: u64) -> u64 {
    let mut z = seed
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(stream.wrapping_mul(0xd1b5_4a32_d192_ed03))
        .wrapping_add(index.wrapping_add(1).wrapping_mul(0xbf58_476d_1ce4_e5b9));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A single-precision number in [0.5, 1.5), so that no product or sum of a program vanishes or cancels.
pub fn unit(seed: u64, stream: u64, index: u64) -> f32 {
    0.5 + (mix(seed, stream, index) >> 40) as f32 / (1u32 << 24) as f32
}

/// `count` numbers of [`unit()`].
pub fn units(seed: u64, stream: u64, count: usize) -> Vec<f32> {
    (0..count as u64).map(|i| unit(seed, stream, i)).collect()
}

/// Little-endian bytes of single-precision numbers.
pub fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Little-endian bytes of 32-bit numbers.
pub fn u32_bytes(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Single-precision numbers from little-endian bytes.
pub fn f32_values(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}
