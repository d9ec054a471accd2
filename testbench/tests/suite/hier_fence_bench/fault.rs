//! What can go wrong around the units, one kind at a time, for tests that ask whether the checks see it.

use super::world::World;
use rand::Rng;
use rand::rngs::SmallRng;
use weft_testbench::golden::hier_fence::{Ack, Order, Scope};
use weft_testbench::golden::planes::Marker;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Some acknowledgement of a marker is lost.
    AckLost,
    /// Some arrives twice.
    AckTwice,
    /// Some names another home's marker.
    AckOfAnother,
    /// Some of a GPU home names another serial.
    SerialWrong,
    /// When a home's marker has arrived everywhere it also serves those that have asked since that marker began, as if they had been in time for it.
    ServedLate,
    /// Some reaches another node than the marker came from.
    AckAstray,
    /// A marker leaves a lane before the invalidations in front of it.
    MarkerOvertakes,
    /// A marker is announced while invalidations before it are not applied.
    MarkerEarly,
    /// A GPU home hears of its GPMs before they have applied what it has passed on.
    GpuHomeEarly,
    /// Banks say that they have drained, and have not.
    DrainEarly,
    /// The same of what they have passed on to other GPUs.
    FarDrainEarly,
    /// Banks give a marker's token back before the directory has answered older writes.
    TokenEarly,
}

/// How often a single message is struck.
const RATE: f64 = 0.05;

impl World {
    /// This fault strikes now and then.
    pub fn inject(&mut self, fault: Fault) {
        self.fault = Some(fault);
        self.nodes.iter_mut().flat_map(|node| &mut node.banks).for_each(|bank| bank.fault = Some(fault));
    }

    pub(super) fn suffers(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Where an acknowledgement from `src` to `dst` arrives, and what it then says.
    pub(super) fn carried(&mut self, src: u32, dst: u32, ack: Ack, rng: &mut SmallRng) -> Vec<(u32, Ack)> {
        let marker = matches!(ack.order, Order::MarkGpu | Order::MarkSys);
        if self.suffers(Fault::GpuHomeEarly) {
            // Its GPMs' real ones come after those that the fault has made up.
            let passed_on = marker && ![src, dst].contains(&ack.origin);
            return if passed_on { Vec::new() } else { vec![(dst, ack)] };
        }
        if self.suffers(Fault::ServedLate) {
            return if marker && ack.origin == src {
                self.served_late(src, dst, ack)
            } else {
                vec![(dst, ack)]
            };
        }
        if !marker || !rng.random_bool(RATE) {
            return vec![(dst, ack)];
        }
        let all = self.unit.nodes.all();
        let other = |node: u32| all[(all.iter().position(|n| *n == node).expect("a node") + 1) % all.len()];
        match self.fault {
            Some(Fault::AckLost) => Vec::new(),
            Some(Fault::AckTwice) => vec![(dst, ack), (dst, ack)],
            Some(Fault::AckOfAnother) => vec![(dst, Ack { origin: other(ack.origin), ..ack })],
            Some(Fault::SerialWrong) if ack.origin == dst && self.crosses(src, dst) => {
                vec![(dst, Ack { serial: (ack.serial + 1) % self.unit.marks, ..ack })]
            }
            Some(Fault::AckAstray) if other(dst) != src => vec![(other(dst), ack)],
            _ => vec![(dst, ack)],
        }
    }

    /// A home's acknowledgement goes to all who wait there; what it then sends them in earnest is lost.
    fn served_late(&mut self, home: u32, dst: u32, ack: Ack) -> Vec<(u32, Ack)> {
        if self.premature.remove(&(home, dst, ack)) {
            return Vec::new();
        }
        let scope = if ack.order == Order::MarkSys { Scope::Sys } else { Scope::Gpu };
        let at = self.at(home);
        let late = self.nodes[at].golden.marks().unserved(scope).into_iter();
        let late: Vec<u32> =
            late.filter(|node| *node != home && self.premature.insert((home, *node, ack))).collect();
        [dst].into_iter().chain(late).map(|node| (node, ack)).collect()
    }

    /// Acknowledgements that a GPU home gets at once when it passes a marker on: who seems to have sent them.
    pub(super) fn made_up(&self, home: u32, m: Marker) -> Vec<(u32, Ack)> {
        if !self.suffers(Fault::GpuHomeEarly) || m.origin == home {
            return Vec::new();
        }
        let ack = Ack::of(m);
        self.unit.nodes.near(home).into_iter().map(|gpm| (gpm, ack)).collect()
    }
}
