//! The switch between GPUs that reach each other's memories (mgcc.md section 14), cycle by cycle: links of B bytes per cycle and direction, which requests and responses share;
//! a time of flight; per network and GPU a buffer with credits, and one message per cycle to each GPU.

use super::link::Link;
use std::collections::VecDeque;

/// Requests and responses.
pub const NETWORKS: usize = 2;

/// A message with what the switch looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parcel<T> {
    /// Receiver.
    pub dst: usize,
    /// Bytes on a link.
    pub bytes: u64,
    /// What it carries.
    pub load: T,
}

/// A network at one GPU.
#[derive(Clone, Debug)]
struct Side<T> {
    input: VecDeque<Parcel<T>>,
    /// With the cycle from which each may pass the crossbar.
    buffer: VecDeque<(Parcel<T>, u64)>,
    credits: u64,
    /// Cycles in which credits come back.
    returns: VecDeque<u64>,
    /// Source that is first in turn for this GPU.
    turn: usize,
    egress: VecDeque<Parcel<T>>,
    output: Option<Parcel<T>>,
}

/// The switch.
#[derive(Clone, Debug)]
pub struct Pcie<T> {
    up: Vec<Link>,
    down: Vec<Link>,
    nets: [Vec<Side<T>>; NETWORKS],
    latency: u64,
}

/// Rows between the crossbar and a downlink.
const EGRESS: usize = 2;

impl<T: Clone> Pcie<T> {
    /// A switch at rest; `credits` are those of requests and of responses.
    pub fn new(gpus: usize, per_cycle: u64, latency: u64, credits: [u64; NETWORKS]) -> Pcie<T> {
        let links = || vec![Link::new(per_cycle); gpus];
        let side = |credits| Side {
            input: VecDeque::new(),
            buffer: VecDeque::new(),
            credits,
            returns: VecDeque::new(),
            turn: 0,
            egress: VecDeque::new(),
            output: None,
        };
        let nets = credits.map(|credits| (0..gpus).map(|_| side(credits)).collect());
        Pcie { up: links(), down: links(), nets, latency }
    }

    /// A GPU's message is there from this cycle on.
    pub fn offer(&mut self, net: usize, gpu: usize, parcel: Parcel<T>) {
        self.nets[net][gpu].input.push_back(parcel);
    }

    /// What stands at a GPU's port.
    pub fn output(&self, net: usize, gpu: usize) -> Option<&Parcel<T>> {
        self.nets[net][gpu].output.as_ref()
    }

    /// Cycle `now`; `ready`: who takes what stands at its port.
    pub fn cycle(&mut self, now: u64, ready: &[Vec<bool>; NETWORKS]) {
        for (sides, ready) in self.nets.iter_mut().zip(ready) {
            for (side, ready) in sides.iter_mut().zip(ready) {
                if *ready {
                    side.output = None;
                }
                while side.returns.front().is_some_and(|at| *at < now) {
                    side.returns.pop_front();
                    side.credits += 1;
                }
            }
        }
        let crossing: Vec<_> = (0..NETWORKS).map(|net| self.crossing(net, now)).collect();
        self.go_up(now);
        self.go_down();
        for (net, moves) in crossing.into_iter().enumerate() {
            for (from, to) in moves {
                let side = &mut self.nets[net][from];
                side.returns.push_back(now + self.latency);
                let parcel = side.buffer.pop_front().expect("it was there").0;
                let gpus = self.up.len();
                self.nets[net][to].egress.push_back(parcel);
                self.nets[net][to].turn = (from + 1) % gpus;
            }
        }
    }

    /// Sources and receivers of what passes a network's crossbar in this cycle.
    fn crossing(&self, net: usize, now: u64) -> Vec<(usize, usize)> {
        let sides = &self.nets[net];
        let wants = |from: usize, to: usize| {
            sides[from].buffer.front().is_some_and(|(parcel, ripe)| *ripe <= now && parcel.dst == to)
        };
        let with_room = (0..sides.len()).filter(|to| sides[*to].egress.len() < EGRESS);
        let first = |to: usize| {
            let order = (0..sides.len()).map(|k| (sides[to].turn + k) % sides.len());
            order.into_iter().find(|from| wants(*from, to)).map(|from| (from, to))
        };
        with_room.filter_map(first).collect()
    }

    fn go_up(&mut self, now: u64) {
        for gpu in 0..self.up.len() {
            let ask = |side: &Side<T>| side.input.front().filter(|_| side.credits > 0).map(|p| p.bytes);
            let sizes = [0, 1].map(|net| ask(&self.nets[net][gpu]));
            for net in self.up[gpu].cycle(&sizes) {
                let side = &mut self.nets[net][gpu];
                let parcel = side.input.pop_front().expect("it was there");
                side.buffer.push_back((parcel, now + self.latency - 1));
                side.credits -= 1;
            }
        }
    }

    fn go_down(&mut self) {
        for gpu in 0..self.down.len() {
            let ask = |side: &Side<T>| side.egress.front().filter(|_| side.output.is_none()).map(|p| p.bytes);
            let sizes = [0, 1].map(|net| ask(&self.nets[net][gpu]));
            for net in self.down[gpu].cycle(&sizes) {
                let side = &mut self.nets[net][gpu];
                side.output = side.egress.pop_front();
            }
        }
    }
}
