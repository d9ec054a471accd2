//! Sizes of a system, and what lies between its banks and slices.

use super::msg::{Action, Line, Net, Node, Packet, SliceOp, Version};
use super::slips::Slip;

/// Sizes of a system.
#[derive(Clone, Copy, Debug)]
pub struct Params {
    /// Nodes, at most 4.
    pub nodes: u8,
    /// Lines, at most 8.
    pub lines: u8,
    /// The home of each line.
    pub homes_of: [Node; 8],
    /// Frames of a bank, all in one set.
    pub ways: usize,
    /// MSHRs of a bank.
    pub mshrs: usize,
    /// Places of the write-back buffer.
    pub writebacks: usize,
    /// Places of the home side's table.
    pub homes: usize,
    /// Entries of a slice, all in one set.
    pub entries: usize,
    /// Rows of the pending table.
    pub pending: usize,
    /// Places of the slice's queue.
    pub queue: usize,
    /// Messages of one node that RSP holds; 0: any number.
    pub rsp_room: usize,
    /// Messages of one slice that INV holds; 0: any number.
    pub inv_room: usize,
    /// Messages of one node that REQ holds; 0: any number.
    pub req_room: usize,
    /// Messages of a link of INV and of RSP keep their order, and a home takes its requests one after the
    /// other: one that must wait holds all behind it.
    pub ordered: bool,
    /// Copies and entries are replaced at any moment, else only where a frame or a way is wanted.
    pub replaces: bool,
    /// Banks and slices do at once what they may: only programs, replacements and networks choose. For
    /// systems that are else too large.
    pub eager: bool,
    /// Fixed programs note what their loads get.
    pub record: bool,
    /// Operations of a node that may be under way together.
    pub outstanding: usize,
    /// Operations of each node; 255: no end.
    pub ops: u8,
    /// Nodes release.
    pub releases: bool,
    /// One thing done wrong.
    pub slip: Option<Slip>,
}

impl Params {
    /// The smallest system: one line and room for it.
    pub fn tiny(nodes: u8, lines: u8) -> Params {
        Params {
            nodes,
            lines,
            homes_of: [0; 8],
            ways: usize::from(lines),
            mshrs: 2,
            writebacks: 1,
            homes: 4,
            entries: usize::from(lines),
            pending: 2,
            queue: 4,
            rsp_room: 0,
            inv_room: 0,
            req_room: 0,
            ordered: false,
            replaces: true,
            eager: false,
            record: false,
            outstanding: 2,
            ops: 2,
            releases: false,
            slip: None,
        }
    }

    /// The home of a line.
    pub fn home(&self, line: Line) -> Node {
        self.homes_of[usize::from(line)]
    }
}

/// What lies between the parts: networks, memory, and what the checks must know.
#[derive(Clone, Debug)]
pub struct Fabric {
    /// Messages under way, the oldest first.
    pub net: Vec<Packet>,
    /// Memory by line.
    pub memory: Vec<Version>,
    /// How many stores to each line have been performed.
    pub latest: Vec<Version>,
    /// What banks and slices have done and nobody has carried out yet: empty between steps.
    pub out: Vec<Action>,
    /// A Put that has waited behind a row is performed in this step.
    pub put_behind: Option<SliceOp>,
    /// What is wrong.
    pub wrong: Option<String>,
}

impl Fabric {
    /// Memory of zeros, and nothing under way.
    pub fn new(p: &Params) -> Fabric {
        let zero = vec![0; usize::from(p.lines)];
        let (memory, latest) = (zero.clone(), zero);
        Fabric { net: Vec::new(), memory, latest, out: Vec::new(), put_behind: None, wrong: None }
    }

    /// Sends a message.
    pub fn send(&mut self, packet: Packet) {
        self.out.push(Action::Send(packet));
    }

    /// What was done since the last call, in order.
    pub fn take(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.out)
    }

    /// A network takes one more message of a node.
    pub fn room(&self, net: Net, node: Node, p: &Params) -> bool {
        let room = match net {
            Net::Req => p.req_room,
            Net::Inv => p.inv_room,
            Net::Rsp => p.rsp_room,
        };
        let of = |packet: &Packet| packet.from == node && packet.msg.net() == net;
        let sent = self.net.iter().filter(|packet| of(packet)).count();
        let new = self.out.iter().filter(|act| matches!(act, Action::Send(packet) if of(packet)));
        room == 0 || sent + new.count() < room
    }

    /// Something is wrong: the first is kept.
    pub fn fail(&mut self, what: String) {
        self.wrong.get_or_insert(what);
    }
}
