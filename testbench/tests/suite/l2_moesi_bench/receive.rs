//! What the bank sends, against what the golden bank has sent.

use super::offer::ack_kind;
use super::{Bench, Place, RD, WR, Waiting};
use rand::Rng;
use std::collections::VecDeque;
use weft_blocks::msg::{Gives, HomeOp};
use weft_rtl::prelude::HwEnum;
use weft_testbench::golden::moesi::msg::{Action, Asks, Grant, Msg, Net, Packet, SliceOp};

/// An answer that an L1 waits for; a store's has no bytes.
#[derive(Debug)]
pub struct Answered {
    kind: u64,
    l1: u64,
    id: u64,
    bytes: Option<Vec<u8>>,
    src: u64,
}

impl Answered {
    pub(super) fn store(of: &Waiting) -> Answered {
        Answered { kind: of.request.kind, l1: of.l1, id: of.id, bytes: None, src: 1 }
    }

    pub(super) fn read(of: &Waiting, bytes: Vec<u8>, src: u64) -> Answered {
        Answered { kind: of.request.kind, l1: of.l1, id: of.id, bytes: Some(bytes), src }
    }
}

/// What memory is asked.
#[derive(Debug, PartialEq, Eq)]
pub enum Memory {
    Read(u64, u64),
    Write(u64, Vec<u8>),
}

/// A message on RSP.
#[derive(Debug, PartialEq, Eq)]
struct Response {
    kind: u64,
    dst: u64,
    gives: u64,
    id: Option<u64>,
    line: Option<u64>,
    dram: bool,
    bytes: Vec<u8>,
}

/// What the golden bank has sent and the hardware has not.
#[derive(Default)]
pub struct Dues {
    pub local: Vec<Answered>,
    pub req: VecDeque<(usize, Packet)>,
    rsp: Vec<(usize, Packet, Response)>,
    pub memory: Vec<Memory>,
    dir: VecDeque<(usize, SliceOp)>,
    done: Vec<(usize, Action)>,
    /// Links of INV messages, and the Ack that goes with it.
    pub invs: VecDeque<(u64, Option<(usize, Packet)>)>,
    pub ordered: Option<u64>,
    pub fence: Option<u64>,
    /// A set whose arrays are looked at at the end of the cycle.
    pub compare: Option<usize>,
}

impl Dues {
    pub(super) fn first(&self) -> Option<String> {
        let local = self.local.first().map(|due| format!("{due:?}"));
        let req = self.req.front().map(|due| format!("{due:?}"));
        let rsp = self.rsp.first().map(|due| format!("{:?}", due.1));
        let memory = self.memory.first().map(|due| format!("{due:?}"));
        let dir = self.dir.front().map(|due| format!("{due:?}"));
        let done = self.done.first().map(|due| format!("{due:?}"));
        let invs = self.invs.front().map(|due| format!("{due:?}"));
        let ordered = self.ordered.map(|_| "a marker".to_string());
        local.or(req).or(rsp).or(memory).or(dir).or(done).or(invs).or(ordered)
    }
}

impl Bench {
    /// Notes what the golden bank has done: the hardware must do the same. `id`: the requester's
    /// transaction, `dram`: memory is read for it.
    pub(super) fn note(&mut self, set: usize, actions: Vec<Action>, id: u64, dram: bool) {
        for action in actions {
            match action {
                Action::Send(packet) if packet.msg.net() == Net::Req => {
                    self.dues.req.push_back((set, packet))
                }
                Action::Send(packet) => {
                    let response = self.response(set, packet, id, dram);
                    self.dues.rsp.push((set, packet, response));
                }
                Action::Ask(op) => self.dues.dir.push_back((set, op)),
                other => self.dues.done.push((set, other)),
            }
        }
    }

    fn response(&self, set: usize, packet: Packet, id: u64, dram: bool) -> Response {
        let number = self.line_at((set, packet.line));
        let (gives, data, id, line) = match packet.msg {
            Msg::Data(Grant::S, data) => (Gives::Shared, data, Some(id), None),
            Msg::Data(Grant::E, data) => (Gives::Exclusive, data, Some(id), None),
            Msg::Data(Grant::M, data) => (Gives::Modified, data, Some(id), None),
            Msg::PutAck => (Gives::Put, None, Some(id), None),
            Msg::Back(data) => (Gives::Back, data, None, Some(number)),
            Msg::Done => (Gives::Done, None, None, None),
            other => panic!("{other:?} is no answer of a bank"),
        };
        let mut bytes = vec![0; self.p.sys.line as usize];
        if let Some(version) = data {
            bytes.clone_from(self.worlds[set].version(packet.line, version));
        }
        let mut kind = if data.is_some() { RD } else { WR };
        if packet.msg == Msg::Done {
            kind = ack_kind();
            bytes[..8].copy_from_slice(&number.to_le_bytes());
        }
        let (dst, gives) = (self.node(packet.to), gives.encoding());
        Response { kind, dst, gives, id, line, dram, bytes }
    }

    /// Whether a message leaves on a channel in this cycle.
    fn leaves_on(&mut self, channel: &str, ready: bool) -> bool {
        self.set(&format!("{channel}_ready"), u64::from(ready));
        ready && self.get(&format!("{channel}_valid")) == 1
    }

    pub(super) fn take_all(&mut self) {
        let ready = self.mood.ready.map(|rate| self.rng.random_bool(rate));
        if self.leaves_on("local_rsp", ready[0]) {
            self.take_local();
        }
        if self.leaves_on("req_out", ready[1]) {
            self.take_req();
        }
        if self.leaves_on("rsp_out", ready[2]) {
            self.take_rsp();
        }
        let takes = |b: &Bench| b.dues.dir.front().is_none_or(|(set, _)| b.worlds[*set].slice_takes());
        if self.leaves_on("dir_req", ready[3] && takes(self)) {
            self.take_dir();
        }
        if self.leaves_on("mem_req", ready[4]) {
            self.take_memory();
        }
        // These are always taken.
        if self.leaves_on("done", true) {
            self.take_done();
        }
        if self.leaves_on("inv_done", true) {
            let link = self.get("inv_done_link");
            let (due, ack) = self.dues.invs.pop_front().expect("an INV message was carried out");
            assert_eq!(link, due, "link of an INV message");
            if let Some((set, ack)) = ack {
                self.worlds[set].post(ack);
            }
        }
        if self.leaves_on("ordered", true) {
            let requester = self.get("ordered_requester");
            assert_eq!(self.dues.ordered.take(), Some(requester), "a marker");
        }
        if self.leaves_on("fence_done", true) {
            self.take_fence();
        }
    }

    fn take_local(&mut self) {
        let [kind, l1, id] = ["kind", "l1", "id"].map(|leaf| self.get(&format!("local_rsp_{leaf}")));
        let due = self.dues.local.iter().position(|due| (due.kind, due.l1, due.id) == (kind, l1, id));
        let at = due.unwrap_or_else(|| panic!("L1 {l1} has an answer to {id} that is not due"));
        let due = self.dues.local.remove(at);
        let src = self.get("local_rsp_src");
        if let Some(bytes) = due.bytes {
            assert_eq!(self.get_bytes("local_rsp_data"), bytes, "seed {}: L1 {l1}, {id}", self.seed);
        }
        assert_eq!(src, due.src, "who has sent what L1 {l1} asked for");
        assert!(self.running.remove(&(l1, id)), "an answer to nothing");
        self.answered += 1;
    }

    fn take_req(&mut self) {
        let names = ["kind", "src", "dst", "line", "id", "owner_exclusive"];
        let [kind, src, dst, line, id, exclusive] = names.map(|leaf| self.get(&format!("req_out_{leaf}")));
        let front = self.dues.req.pop_front();
        let (set, packet) = front.unwrap_or_else(|| panic!("a request of {line:x} that is not due"));
        let place = (set, packet.line);
        let sees = (self.line_at(place), self.node(packet.to), u64::from(self.p.home));
        assert_eq!((line, dst, src), sees, "{packet:?}");
        if let Msg::Put(data) = packet.msg {
            let bytes = self.p.sys.line;
            assert_eq!(kind, WR, "{packet:?}");
            let whole = if data.is_some() { bytes } else { 0 };
            assert_eq!(self.get_count("req_out_mask"), whole, "{packet:?}");
            if let Some(version) = data {
                let due = self.worlds[set].version(packet.line, version).clone();
                assert_eq!(self.get_bytes("req_out_data"), due, "{packet:?}");
            }
            assert!(id < 8, "a place of the buffer");
            self.put_ids.insert(place, id);
        } else {
            let due = (RD, u64::from(packet.msg == Msg::GetM));
            assert_eq!((kind, exclusive), due, "{packet:?}");
            self.own_id(place, id);
        }
        self.worlds[set].post(packet);
    }

    /// The number of an own request: none under way has the same.
    fn own_id(&mut self, place: Place, id: u64) {
        assert!(id < u64::from(self.p.mshr_quota()), "number {id} is one of the home side");
        let twice = self.own_ids.values().find(|number| **number == id);
        assert_eq!(twice, None, "a number is given twice");
        self.own_ids.insert(place, id);
    }

    fn take_rsp(&mut self) {
        let names = ["kind", "dst", "owner_gives", "id", "owner_line", "from_dram", "src", "bank"];
        let [kind, dst, gives, id, line, dram, src, bank] =
            names.map(|leaf| self.get(&format!("rsp_out_{leaf}")));
        let bytes = self.get_bytes("rsp_out_data");
        self.allow_data_with_back((kind, gives, line), &bytes);
        let found = self.dues.rsp.iter().position(|(_, _, due)| {
            (due.kind, due.dst, due.gives, due.dram) == (kind, dst, gives, dram == 1)
                && due.id.is_none_or(|due| due == id)
                && due.line.is_none_or(|due| due == line)
                && due.bytes == bytes
        });
        let at = found.unwrap_or_else(|| {
            let due: Vec<_> = self.dues.rsp.iter().map(|due| (due.1, due.2.id)).collect();
            panic!("seed {}: to {dst}: kind {kind} gives {gives} id {id} is not due: {due:?}", self.seed)
        });
        assert_eq!((src, bank), (u64::from(self.p.home), self.number), "who sends");
        let (set, packet, _) = self.dues.rsp.remove(at);
        self.worlds[set].post(packet);
    }

    /// A line in the buffer that was clean, and was read there by another node, comes back without data
    /// from the golden bank and with memory's from the hardware, as from the array. Both are right.
    fn allow_data_with_back(&mut self, (kind, gives, line): (u64, u64, u64), bytes: &[u8]) {
        if (kind, gives) != (RD, Gives::Back.encoding()) {
            return;
        }
        let clean = |packet: &Packet| packet.msg == Msg::Back(None);
        let due = self.dues.rsp.iter_mut().find(|due| due.2.line == Some(line) && clean(&due.1));
        let Some((set, packet, due)) = due else { return };
        let world = &self.worlds[*set];
        let version = world.f.memory[usize::from(packet.line)];
        assert_eq!(world.version(packet.line, version), bytes, "a line that comes back is memory's");
        packet.msg = Msg::Back(Some(version));
        (due.kind, due.bytes) = (RD, bytes.to_vec());
        self.clean_backs += 1;
    }

    fn take_dir(&mut self) {
        let names = ["src", "line", "id", "owner_op", "owner_id", "owner_alone"];
        let [src, line, id, asks, theirs, alone] = names.map(|leaf| self.get(&format!("dir_req_{leaf}")));
        let front = self.dues.dir.pop_front();
        let (set, op) = front.unwrap_or_else(|| panic!("the slice is asked for {line:x}, and need not be"));
        let place = (set, op.line);
        let due = match op.asks {
            Asks::GetS => HomeOp::GetS,
            Asks::GetM => HomeOp::GetM,
            Asks::Put => HomeOp::Put,
            Asks::ReadHome => HomeOp::ReadHome,
            Asks::OwnHome => HomeOp::OwnHome,
        };
        let sees = (self.node(op.src), self.line_at(place), due.encoding());
        assert_eq!((src, line, asks), sees, "{op:?}");
        if matches!(op.asks, Asks::ReadHome | Asks::OwnHome) {
            assert_eq!(theirs, id, "{op:?}");
            self.own_id(place, id);
            self.slice_ids.insert(place, id);
        } else {
            let of_it = (self.remote_ids[&(place, op.src)], u64::from(op.alone));
            assert_eq!((theirs, alone), of_it, "{op:?}");
            let first = u64::from(self.p.mshr_quota());
            assert!((first..u64::from(self.p.sys.l2_mshrs)).contains(&id), "number {id} is one of an MSHR");
            let old = self.home_ops.insert(id, (set, op));
            assert!(old.is_none() && !self.turns.contains_key(&id), "number {id} is given twice");
        }
        self.worlds[set].tell_slice(Action::Ask(op));
    }

    fn take_memory(&mut self) {
        let [write, line, id] = ["write", "line", "id"].map(|leaf| self.get(&format!("mem_req_{leaf}")));
        let bytes = self.get_bytes("mem_req_data");
        let asked = match write {
            1 => Memory::Write(line, bytes.clone()),
            _ => Memory::Read(line, id),
        };
        let at = self.dues.memory.iter().position(|due| *due == asked);
        let at = at.unwrap_or_else(|| {
            let due: Vec<_> = self.dues.memory.iter().collect();
            panic!("seed {}: write {write} of {line:x}, id {id}: not due: {due:x?}", self.seed)
        });
        self.dues.memory.remove(at);
        if write == 1 {
            self.memory.insert(line, bytes);
        } else {
            self.reads.push((id, self.memory[&line].clone()));
        }
    }

    fn take_done(&mut self) {
        let (line, written) = (self.get("done_line"), self.get("done_written") == 1);
        let place = self.place_of(line);
        let fits = |(set, action): &(usize, Action)| match action {
            Action::Done(line) => (*set, *line) == place && !written,
            Action::Written(line) | Action::Back(line) => (*set, *line) == place && written,
            _ => false,
        };
        let at = self.dues.done.iter().position(fits);
        let at = at.unwrap_or_else(|| panic!("the slice is told {place:?}, {written}: {:?}", self.dues.done));
        let (set, action) = self.dues.done.remove(at);
        let served = self.serving.as_ref().is_some_and(|s| s.place == place && !s.results.is_empty());
        assert!(!served || written, "Done of {place:?}, and something waits that may be performed");
        self.worlds[set].tell_slice(action);
    }

    fn take_fence(&mut self) {
        let op = self.get("fence_done_op");
        assert_eq!(self.dues.fence.take(), Some(op), "a command has ended");
        if op == 0 {
            let left: Vec<_> = self.before_drain.intersection(&self.unperformed).collect();
            assert!(left.is_empty(), "seed {}: a drain ends before stores {left:?}", self.seed);
            self.fences[2] += u64::from(!self.before_drain.is_empty());
        }
        self.fences[op as usize] += 1;
        self.fence = None;
    }
}
