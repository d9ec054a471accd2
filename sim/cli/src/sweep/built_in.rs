//! Sweeps that come with the program: those of rec.md sections 12 and 13 and hmg.md section 13 on the small fabrics, minutes to hours each, and one of seconds.
//! The folder holds more, to be named by their paths: those of hmg.md section 14.

/// Name and text of each.
pub const SWEEPS: &[(&str, &str)] = &[
    ("rec-smoke", include_str!("../../../fabrics/sweeps/rec-smoke.toml")),
    ("rec-protocols", include_str!("../../../fabrics/sweeps/rec-protocols.toml")),
    ("rec-range", include_str!("../../../fabrics/sweeps/rec-range.toml")),
    ("rec-entries", include_str!("../../../fabrics/sweeps/rec-entries.toml")),
    ("rec-directory", include_str!("../../../fabrics/sweeps/rec-directory.toml")),
    ("rec-policy", include_str!("../../../fabrics/sweeps/rec-policy.toml")),
    ("rec-l2", include_str!("../../../fabrics/sweeps/rec-l2.toml")),
    ("rec-bandwidth", include_str!("../../../fabrics/sweeps/rec-bandwidth.toml")),
    ("rec-cus", include_str!("../../../fabrics/sweeps/rec-cus.toml")),
    ("rec-gpus", include_str!("../../../fabrics/sweeps/rec-gpus.toml")),
    ("rec-nvidia", include_str!("../../../fabrics/sweeps/rec-nvidia.toml")),
    ("hmg-protocols", include_str!("../../../fabrics/sweeps/hmg-protocols.toml")),
];
