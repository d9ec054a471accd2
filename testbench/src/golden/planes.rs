//! Models of `inv_egress` and `inv_ingress` in a fabric with two planes (hmg.md section 6): one plane connects the GPMs of a GPU, the other one the GPMs of
//! the same number in all GPUs, or, without GPU homes, all nodes of different GPUs.
//!
//! [`PlaneEgress`] asks of the hardware what the fence needs: order per channel and destination, nothing lost or repeated, and a marker behind every
//! message taken before it, in every lane that it is for. [`PlaneIngress`] says what may be delivered and announced.

use super::{Inv, gpus_of, only};
use std::collections::{BTreeMap, VecDeque};

/// How the nodes of a hierarchical system are numbered: {GPU, GPM}, the GPM in as many bits as it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// GPUs.
    pub gpus: u32,
    /// GPMs of a GPU.
    pub gpms: u32,
}

impl Nodes {
    fn bits(self) -> u32 {
        u32::BITS - (self.gpms - 1).leading_zeros()
    }

    /// GPU and GPM of a node.
    pub fn parts(self, node: u32) -> (u32, u32) {
        (node >> self.bits(), node & ((1 << self.bits()) - 1))
    }

    /// Number of a node.
    pub fn node(self, gpu: u32, gpm: u32) -> u32 {
        gpu << self.bits() | gpm
    }

    /// All nodes, in order.
    pub fn all(self) -> Vec<u32> {
        (0..self.gpus).flat_map(|gpu| (0..self.gpms).map(move |gpm| self.node(gpu, gpm))).collect()
    }

    /// The other GPMs of a node's GPU.
    pub fn near(self, node: u32) -> Vec<u32> {
        let same = |other: &u32| *other != node && self.parts(*other).0 == self.parts(node).0;
        self.all().into_iter().filter(same).collect()
    }

    /// The same GPM of the other GPUs.
    pub fn far(self, node: u32) -> Vec<u32> {
        let same = |other: &u32| *other != node && self.parts(*other).1 == self.parts(node).1;
        self.all().into_iter().filter(same).collect()
    }
}

/// A fence marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Marker {
    /// Which of those of its home and scope that are in flight.
    pub serial: u32,
    /// The home whose Invs it follows.
    pub origin: u32,
    /// Of system scope, else of GPU scope.
    pub sys: bool,
}

/// Where a message of the egress comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// A directory slice's own Invs.
    Slice(usize),
    /// Invs that the slice of a bank passes on.
    Recv(usize),
}

/// A message of the INV network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// An invalidation; `dest` holds the node that it is for.
    Inv(Inv),
    /// A fence marker.
    Marker(Marker),
}

#[derive(Clone, Copy, Debug)]
enum Due {
    Inv(Channel, Inv),
    Marker(Marker),
}

/// What is due in each lane of an egress with planes, in the order of acceptance.
#[derive(Clone, Debug)]
pub struct PlaneEgress {
    nodes: Nodes,
    home: u32,
    lanes: BTreeMap<u32, VecDeque<Due>>,
}

impl PlaneEgress {
    /// Empty lanes to all nodes that `home` reaches; `all`: every node of the other GPUs, not only those of its GPM number.
    pub fn new(nodes: Nodes, home: u32, all: bool) -> Self {
        let far = if all { nodes.all() } else { nodes.far(home) };
        let reach = nodes.near(home).into_iter().chain(far).filter(|node| *node != home);
        PlaneEgress { nodes, home, lanes: reach.map(|node| (node, VecDeque::new())).collect() }
    }

    /// The link towards a node: 0 inside the GPU, 1 to others.
    pub fn link_to(&self, node: u32) -> usize {
        usize::from(self.nodes.parts(node).0 != self.nodes.parts(self.home).0)
    }

    /// A message is taken.
    ///
    /// # Errors
    /// It is for a node that this egress does not reach, or is passed on to another GPU.
    pub fn took(&mut self, channel: Channel, inv: Inv) -> Result<(), String> {
        for node in gpus_of(inv.dest) {
            if matches!(channel, Channel::Recv(_)) && self.link_to(node) == 1 {
                return Err(format!("an Inv is passed on to node {node} of another GPU"));
            }
            let lane = self.lanes.get_mut(&node).ok_or_else(|| format!("node {node} is not reached"))?;
            lane.push_back(Due::Inv(channel, Inv { dest: only(node), ..inv }));
        }
        Ok(())
    }

    /// A marker is taken.
    pub fn took_marker(&mut self, marker: Marker) {
        let own = marker.origin == self.home;
        let home = self.home;
        let here = self.nodes.parts(home).0;
        for (node, lane) in &mut self.lanes {
            if self.nodes.parts(*node).0 == here || (own && marker.sys) {
                lane.push_back(Due::Marker(marker));
            }
        }
    }

    /// A message leaves for a node.
    ///
    /// # Errors
    /// It leaves on the wrong link, was not due, overtook a message of its channel, or is a marker that overtook a message.
    pub fn left(&mut self, link: usize, node: u32, message: Message) -> Result<(), String> {
        if self.link_to(node) != link {
            return Err(format!("a message for node {node} left on link {link}"));
        }
        let lane = self.lanes.get_mut(&node).ok_or_else(|| format!("node {node} is not reached"))?;
        let at = match message {
            Message::Inv(inv) => {
                let same = |d: &Due| matches!(d, Due::Inv(_, i) if *i == inv);
                let at = lane.iter().position(same).ok_or_else(|| format!("{inv:?} was not due"))?;
                let Due::Inv(channel, _) = lane[at] else { unreachable!("found above") };
                let earlier = |d: &&Due| matches!(d, Due::Inv(c, _) if *c == channel);
                if let Some(old) = lane.range(..at).find(earlier) {
                    return Err(format!("{inv:?} overtook {old:?}"));
                }
                at
            }
            Message::Marker(marker) => {
                let same = |d: &Due| matches!(d, Due::Marker(m) if *m == marker);
                let at = lane.iter().position(same).ok_or_else(|| format!("{marker:?} was not due"))?;
                if let Some(old) = lane.range(..at).find(|d| matches!(d, Due::Inv(..))) {
                    return Err(format!("{marker:?} overtook {old:?}"));
                }
                at
            }
        };
        lane.remove(at);
        Ok(())
    }

    /// Messages due to nodes behind a link.
    pub fn due_on(&self, link: usize) -> usize {
        self.lanes.iter().filter(|(node, _)| self.link_to(**node) == link).map(|(_, l)| l.len()).sum()
    }

    /// Whether a marker has not left everywhere yet.
    pub fn pending(&self, marker: Marker) -> bool {
        self.lanes.values().flatten().any(|d| matches!(d, Due::Marker(m) if *m == marker))
    }
}

/// The two inputs of an ingress with planes.
#[derive(Clone, Debug, Default)]
pub struct PlaneIngress {
    inputs: [VecDeque<Message>; 2],
    unapplied: [u32; 2],
}

impl PlaneIngress {
    /// A message arrives on a link.
    pub fn push(&mut self, link: usize, message: Message) {
        self.inputs[link].push_back(message);
    }

    /// True while the head of a link is a marker that an earlier Inv of that link holds back.
    pub fn held(&self, link: usize) -> bool {
        matches!(self.inputs[link].front(), Some(Message::Marker(_))) && self.unapplied[link] > 0
    }

    /// Takes the head of a link: an Inv for its bank, or a marker to be announced; nothing if there is none or it is held.
    pub fn take(&mut self, link: usize) -> Option<Message> {
        if self.held(link) {
            return None;
        }
        let message = self.inputs[link].pop_front()?;
        self.unapplied[link] += u32::from(matches!(message, Message::Inv(_)));
        Some(message)
    }

    /// An Inv of a link has been applied and, where it had to be, passed on.
    ///
    /// # Errors
    /// None of that link is outstanding.
    pub fn applied(&mut self, link: usize) -> Result<(), String> {
        let left = self.unapplied[link].checked_sub(1);
        self.unapplied[link] = left.ok_or_else(|| format!("link {link} has no Inv to apply"))?;
        Ok(())
    }
}
