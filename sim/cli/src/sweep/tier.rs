//! Tiers of a sweep, the same question at three sizes.

use clap::ValueEnum;

/// Sizes at which a question is asked, rising.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Tier {
    /// A scaled fabric and inputs of seconds.
    Small,
    /// The published fabric, and inputs of minutes.
    Middle,
    /// The published fabric and the published inputs.
    Published,
}

impl Tier {
    /// All, rising.
    pub const ALL: [Tier; 3] = [Tier::Small, Tier::Middle, Tier::Published];

    /// As files and the command line call it.
    pub fn name(self) -> &'static str {
        ["small", "middle", "published"][self as usize]
    }

    /// What a reader has to know of it.
    pub fn about(self) -> &'static str {
        match self {
            Tier::Small => "a scaled fabric and inputs of seconds",
            Tier::Middle => "the published fabric, and inputs of minutes",
            Tier::Published => "the published fabric and the published inputs",
        }
    }
}
