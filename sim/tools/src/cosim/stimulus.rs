//! Random stimulus that keeps the channel rule: a sender holds valid and message until the receiver is ready.

use super::ports::{Channel, Port, Ports};
use super::random::Xorshift;
use weft_rtl::bv::Bv;

/// Values kept per port so that the same ones come again and again: hits need repetition.
const FAVOURITES: usize = 6;

/// What the ports carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traffic {
    /// Random messages that keep the channel rule.
    Channels,
    /// Random values on every port in every cycle, whatever the channel rule says.
    Raw,
    /// Messages for three quarters of the cycles, then raw values.
    Both,
}

/// What one channel or loose input does during a phase, in 256ths.
#[derive(Clone, Copy)]
struct Density {
    act: u64,
    repeat: u64,
}

/// Draws the inputs of one cycle after the other.
pub(super) struct Stimulus {
    ports: Ports,
    rng: Xorshift,
    /// Values of all inputs in the present cycle.
    pub inputs: Vec<Bv>,
    favourites: Vec<Vec<Bv>>,
    channels: Vec<Density>,
    loose: Vec<Density>,
    left: u64,
}

const ACTIVITY: [u64; 6] = [0, 8, 64, 128, 224, 256];
const REPETITION: [u64; 4] = [0, 128, 230, 250];

impl Stimulus {
    pub fn new(ports: &Ports, seed: u64) -> Stimulus {
        let mut rng = Xorshift::new(seed);
        let favourites = ports.inputs.iter().map(|p| favourites(p, &mut rng)).collect();
        let idle = Density { act: 0, repeat: 0 };
        Stimulus {
            inputs: ports.inputs.iter().map(|p| Bv::zero(p.width)).collect(),
            favourites,
            channels: vec![idle; ports.channels.len()],
            loose: vec![idle; ports.loose.len()],
            ports: ports.clone(),
            rng,
            left: 0,
        }
    }

    /// Draws the next cycle's inputs, given the outputs of the cycle before, which say whether messages were taken.
    pub fn next(&mut self, outputs_before: Option<&[Bv]>) {
        if self.left == 0 {
            self.phase();
        }
        self.left -= 1;
        for at in 0..self.ports.channels.len() {
            let density = self.channels[at];
            match self.ports.channels[at].clone() {
                Channel::OutOf { ready, .. } => {
                    let open = self.rng.chance(density.act);
                    self.inputs[ready] = Bv::from_u64(u64::from(open), 1);
                }
                Channel::Into { valid, ready, message } => {
                    let waits = !self.inputs[valid].is_zero()
                        && outputs_before.is_some_and(|outputs| outputs[ready].is_zero());
                    if waits {
                        continue;
                    }
                    let offer = self.rng.chance(density.act);
                    self.inputs[valid] = Bv::from_u64(u64::from(offer), 1);
                    for leaf in message {
                        self.inputs[leaf] = self.value(leaf, density.repeat);
                    }
                }
            }
        }
        for at in 0..self.ports.loose.len() {
            let density = self.loose[at];
            if self.rng.chance(density.act) {
                let input = self.ports.loose[at];
                self.inputs[input] = self.value(input, density.repeat);
            }
        }
    }

    /// Draws every input anew, of legal encoding but without regard to channels.
    pub fn raw(&mut self) {
        for at in 0..self.inputs.len() {
            let again = self.rng.chance(128);
            self.inputs[at] =
                if again { self.value(at, 256) } else { self.ports.inputs[at].random(&mut self.rng) };
        }
    }

    fn value(&mut self, input: usize, repeat: u64) -> Bv {
        let port = &self.ports.inputs[input];
        if self.rng.chance(repeat) {
            let at = self.rng.below(FAVOURITES as u64) as usize;
            return self.favourites[input][at].clone();
        }
        port.message(&mut self.rng)
    }

    /// Starts a phase: new densities, and now and then other values to come back to.
    fn phase(&mut self) {
        let rng = &mut self.rng;
        self.left = 20 + rng.below(400);
        let mut draw = || Density {
            act: ACTIVITY[rng.below(ACTIVITY.len() as u64) as usize],
            repeat: REPETITION[rng.below(REPETITION.len() as u64) as usize],
        };
        self.channels.iter_mut().chain(&mut self.loose).for_each(|d| *d = draw());
        let rng = &mut self.rng;
        for (port, kept) in self.ports.inputs.iter().zip(&mut self.favourites) {
            if rng.chance(32) {
                *kept = favourites(port, rng);
            }
        }
    }
}

/// Values that come again: random ones, two that differ in one bit, and the extremes.
fn favourites(port: &Port, rng: &mut Xorshift) -> Vec<Bv> {
    let mut out: Vec<Bv> = (0..FAVOURITES).map(|_| port.message(rng)).collect();
    if port.legal.is_empty() && port.varies.is_none() && port.below.is_none() {
        let mut near = out[0].clone();
        let bit = rng.below(u64::from(port.width)) as u32;
        near.set_bit(bit, !near.bit(bit));
        out[1] = near;
        out[2] = Bv::zero(port.width);
        if rng.chance(64) {
            out[3] = Bv::ones(port.width);
        }
    }
    out
}
