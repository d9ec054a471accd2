//! Memory channels at the ports of a fabric, by the part of the simulation that has the ports: parts go on
//! side by side, their channels with them.

use crate::family::Transfer;
use crate::memory::{Lines, Memory, SharedMemory};
use weft_engine::{OutPort, Part, PinList, Pins, Sim};

/// A memory channel and its ports.
pub(crate) trait Lane: Clone + Send + 'static {
    /// Number of the channel.
    fn number(&self) -> usize;

    /// The port that shows a request.
    fn request(&self) -> OutPort;

    /// All its ports.
    fn pins(&self) -> PinList;

    /// First cycle in which it must act even if the unit behind its port rests.
    fn due(&self) -> Option<u64>;

    /// Acts in the present cycle. Returns the request taken.
    fn tick(&mut self, pins: &mut impl Pins, memory: &mut impl Lines) -> Option<Transfer>;

    /// Number of the answer that is taken in this cycle.
    fn answered(&self) -> Option<u64>;

    /// What changes in it, as bytes.
    fn state(&self) -> Vec<u8>;

    /// Goes on from what [`Lane::state`] gave; false when it is of another fabric.
    #[must_use]
    fn resume(&mut self, state: &[u8]) -> bool;
}

/// The channels of a part.
pub trait PartLanes: Send {
    /// They act in the present cycle; returns the next one in which they must act even if every unit sleeps.
    fn tick(&mut self, part: &mut Part) -> Option<u64>;

    /// Their transfers in the present cycle.
    fn transfers(&self) -> &[Transfer];

    /// What changes in them, by channel.
    fn states(&self) -> Vec<Vec<u8>>;

    /// They go on from what [`PartLanes::states`] gave; false when it is of another fabric.
    #[must_use]
    fn resume(&mut self, states: &[Vec<u8>]) -> bool;
}

/// The memory channels of a fabric by part of the simulation.
pub struct ByPart<'a> {
    /// Those of a part, with its number.
    pub lanes: Vec<(usize, &'a mut dyn PartLanes)>,
    /// The memory behind them.
    pub memory: SharedMemory,
    /// Number of the channel that a line belongs to.
    pub channel_of: Box<dyn Fn(u64) -> usize + Send + Sync + 'a>,
}

#[derive(Clone)]
struct Group<L> {
    part: usize,
    lanes: Vec<L>,
    memory: SharedMemory,
    /// Those of the last cycle, by channel.
    transfers: Vec<Transfer>,
}

/// All memory channels of a fabric and the memory behind them.
pub(crate) struct Lanes<L> {
    groups: Vec<Group<L>>,
    pub memory: SharedMemory,
    /// Each has all its ports in one part.
    apart: bool,
    transfers: Vec<Transfer>,
}

impl<L: Clone> Clone for Lanes<L> {
    /// A copy has a memory of its own.
    fn clone(&self) -> Lanes<L> {
        let memory = self.memory.copy();
        let mut groups = self.groups.clone();
        groups.iter_mut().for_each(|group| group.memory = memory.alias());
        Lanes { groups, memory, apart: self.apart, transfers: self.transfers.clone() }
    }
}

impl<L: Lane> Lanes<L> {
    /// Those channels, numbered in this order.
    pub fn new(sim: &Sim, lanes: Vec<L>, memory: Memory) -> Lanes<L> {
        let apart = lanes.iter().all(|lane| sim.part_with(&lane.pins()).is_some());
        let memory = SharedMemory::new(memory);
        let mut groups: Vec<Group<L>> = Vec::new();
        for lane in lanes {
            let part = lane.request().part();
            match groups.iter_mut().find(|group| group.part == part) {
                Some(group) => group.lanes.push(lane),
                None => {
                    let (lanes, memory, transfers) = (vec![lane], memory.alias(), Vec::new());
                    groups.push(Group { part, lanes, memory, transfers });
                }
            }
        }
        Lanes { groups, memory, apart, transfers: Vec::new() }
    }

    /// The channels in the order of their numbers.
    pub fn in_order(&self) -> Vec<&L> {
        let mut lanes: Vec<&L> = self.groups.iter().flat_map(|group| &group.lanes).collect();
        lanes.sort_by_key(|lane| lane.number());
        lanes
    }

    /// The same, to be changed.
    pub fn in_order_mut(&mut self) -> Vec<&mut L> {
        let mut lanes: Vec<&mut L> = self.groups.iter_mut().flat_map(|group| &mut group.lanes).collect();
        lanes.sort_by_key(|lane| lane.number());
        lanes
    }

    /// All of them, in any order.
    pub fn all(&self) -> impl Iterator<Item = &L> {
        self.groups.iter().flat_map(|group| &group.lanes)
    }

    /// All act in the present cycle; returns the next one in which one must act even if every unit sleeps.
    pub fn tick(&mut self, sim: &mut Sim) -> Option<u64> {
        let mut memory = self.memory.lock();
        let mut due = None;
        for Group { lanes, transfers, .. } in &mut self.groups {
            due = due.into_iter().chain(tick(lanes, sim, &mut *memory, transfers)).min();
        }
        drop(memory);
        self.gather();
        due
    }

    /// [`Lanes::by_part`] is possible.
    pub fn are_apart(&self) -> bool {
        self.apart
    }

    /// The channels of each part.
    pub fn by_part(&mut self) -> Vec<(usize, &mut dyn PartLanes)> {
        self.groups.iter_mut().map(|group| (group.part, group as &mut dyn PartLanes)).collect()
    }

    /// All channels have acted in the present cycle.
    fn gather(&mut self) {
        self.transfers.clear();
        self.groups.iter().for_each(|group| self.transfers.extend(&group.transfers));
        if self.groups.len() > 1 {
            self.transfers.sort_by_key(Transfer::channel);
        }
    }

    /// Transfers of the last cycle, by channel.
    pub fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }
}

impl<L: Lane> PartLanes for Group<L> {
    fn tick(&mut self, part: &mut Part) -> Option<u64> {
        tick(&mut self.lanes, part, &mut self.memory, &mut self.transfers)
    }

    fn transfers(&self) -> &[Transfer] {
        &self.transfers
    }

    fn states(&self) -> Vec<Vec<u8>> {
        self.lanes.iter().map(Lane::state).collect()
    }

    fn resume(&mut self, states: &[Vec<u8>]) -> bool {
        self.lanes.len() == states.len()
            && self.lanes.iter_mut().zip(states).all(|(lane, state)| lane.resume(state))
    }
}

fn tick<L: Lane>(
    lanes: &mut [L],
    pins: &mut impl Pins,
    memory: &mut impl Lines,
    transfers: &mut Vec<Transfer>,
) -> Option<u64> {
    let now = pins.cycle();
    let mut due: Option<u64> = None;
    transfers.clear();
    for lane in lanes {
        // A rested unit's outputs are what they were when the lane acted last.
        if lane.due().is_some_and(|cycle| cycle <= now) || pins.may_change(lane.request()) {
            transfers.extend(lane.tick(pins, memory));
            let channel = lane.number();
            transfers.extend(lane.answered().map(|id| Transfer::Answer { channel, id }));
        }
        due = due.into_iter().chain(lane.due()).min();
    }
    due
}
