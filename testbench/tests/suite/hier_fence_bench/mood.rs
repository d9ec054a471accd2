//! How fast what surrounds the units is.

use rand::Rng;
use rand::rngs::SmallRng;

/// How fast everything is, redrawn now and then.
#[derive(Clone, Copy)]
pub struct Mood {
    pub start: f64,
    pub acquire: f64,
    pub write: f64,
    /// Writes move, lanes deliver, invalidations are applied, fence messages arrive.
    pub write_moves: f64,
    pub lane: f64,
    pub apply: f64,
    pub net: f64,
    pub bank: f64,
    pub ready: f64,
    /// Nothing moves between GPUs.
    pub far_blocked: bool,
    /// Invalidations that GPU homes have passed on stand still.
    pub held: bool,
    /// Requests of this node stand still.
    pub mute: Option<u32>,
    /// Ends of fences are not taken.
    pub untold: bool,
}

impl Mood {
    pub fn draw(rng: &mut SmallRng) -> Mood {
        let mut pick = |from: &[f64]| from[rng.random_range(0..from.len())];
        Mood {
            start: pick(&[0.002, 0.02, 0.3]),
            acquire: pick(&[0.0, 0.2, 0.5]),
            write: pick(&[0.0, 0.1, 0.4]),
            write_moves: pick(&[0.05, 0.3, 1.0]),
            lane: pick(&[0.1, 0.5, 1.0]),
            apply: pick(&[0.1, 0.5, 1.0]),
            net: pick(&[0.1, 0.5, 1.0]),
            bank: pick(&[0.1, 0.5, 1.0]),
            ready: pick(&[0.2, 0.6, 1.0]),
            far_blocked: false,
            held: false,
            mute: None,
            untold: false,
        }
    }

    pub fn open() -> Mood {
        Mood {
            start: 0.0,
            acquire: 0.0,
            write: 0.0,
            write_moves: 1.0,
            lane: 1.0,
            apply: 1.0,
            net: 1.0,
            bank: 1.0,
            ready: 1.0,
            far_blocked: false,
            held: false,
            mute: None,
            untold: false,
        }
    }
}
