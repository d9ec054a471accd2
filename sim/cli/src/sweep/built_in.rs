//! Sweeps that come with the program.

/// Name and text of each.
pub const SWEEPS: &[(&str, &str)] = &[
    ("rec-smoke", include_str!("../../../fabrics/sweeps/rec-smoke.toml")),
    ("rec-protocols", include_str!("../../../fabrics/sweeps/rec-protocols.toml")),
];
