//! What the bench sends to the bank.

use super::world::Rates;
use super::{ATOM, Bench, Place, RD, Rand, Request, WR, Waiting, pick};
use rand::Rng;
use weft_blocks::msg::{Ask, Gives, HomeAnswer, ReqKind};
use weft_rtl::prelude::HwEnum;
use weft_testbench::golden::moesi::msg::{Answer, Asks, Grant, Msg, Packet, SliceOp};

/// How hard the surroundings press.
#[derive(Clone, Copy)]
pub struct Mood {
    pub local: f64,
    pub loads: f64,
    pub stores: f64,
    /// Most requests are for this line of each set.
    pub hot: Option<u8>,
    pub others: f64,
    pub other_loads: f64,
    pub replace: f64,
    /// Steps of the golden parts in a cycle, for each set.
    pub steps: u32,
    /// Messages of other nodes come: REQ, INV, RSP, slice, memory.
    pub remote: f64,
    pub inv: f64,
    pub rsp: f64,
    pub dir: f64,
    pub mem: f64,
    /// Outputs are taken: to L1s, REQ, RSP, slice, memory.
    pub ready: [f64; 5],
    pub fence: f64,
}

impl Mood {
    pub fn calm() -> Mood {
        Mood {
            local: 0.0,
            loads: 0.5,
            stores: 0.7,
            hot: None,
            others: 0.5,
            other_loads: 0.5,
            replace: 0.02,
            steps: 2,
            remote: 1.0,
            inv: 1.0,
            rsp: 1.0,
            dir: 1.0,
            mem: 1.0,
            ready: [1.0; 5],
            fence: 0.0,
        }
    }

    pub fn draw(rng: &mut Rand) -> Mood {
        let mut of = |values: &[f64]| *pick(values, rng).expect("some");
        let press = [1.0, 1.0, 0.5, 0.2, 0.04];
        let ready = [0; 5].map(|_| of(&[1.0, 1.0, 0.5, 0.2, 0.04, 0.0]));
        Mood {
            local: of(&[1.0, 0.7, 0.3, 0.05]),
            loads: of(&[0.8, 0.5, 0.2, 0.0, 1.0]),
            stores: of(&[0.7, 1.0, 0.0]),
            hot: None,
            others: of(&[1.0, 0.5, 0.1, 0.0]),
            other_loads: of(&[0.9, 0.5, 0.2]),
            replace: of(&[0.0, 0.01, 0.05, 0.3]),
            steps: of(&[1.0, 2.0, 4.0]) as u32,
            remote: of(&press),
            inv: of(&press),
            rsp: of(&press),
            dir: of(&press),
            mem: of(&press),
            ready,
            fence: of(&[0.0, 0.01, 0.05]),
        }
        .hotter(rng)
    }

    fn hotter(self, rng: &mut Rand) -> Mood {
        let hot = rng.random_bool(0.3).then(|| rng.random_range(0..super::LINES));
        let fast = rng.random_bool(0.4);
        let Mood { local, loads, stores, others, other_loads, replace, fence, .. } = self;
        let some = Mood { local, loads, stores, hot, others, other_loads, replace, fence, ..Mood::calm() };
        if fast { Mood { steps: 4, ..some } } else { Mood { hot, ..self } }
    }

    pub(super) fn rates(&self, quiet: bool) -> Rates {
        let issue = if quiet { 0.0 } else { self.others };
        Rates { issue, loads: self.other_loads, replace: if quiet { 0.0 } else { self.replace } }
    }
}

/// A message that is offered and not taken.
pub enum Offer {
    Local(Waiting),
    Remote(usize, Packet),
    /// With the requester's transaction number, and the link.
    Inv(usize, Packet, u64, u64),
    /// Whether from memory.
    Rsp(usize, Packet, bool),
    Memory,
    /// With the number of the home side's place.
    Slice(usize, SliceOp, Answer, u64),
    Fence(u64),
    Order,
}

/// Inputs, with what says that something is in their receiving ends. Commands come first: what is taken
/// in the same cycle counts.
const CHANNELS: [(&str, &str, &str); 8] = [
    ("fence_cmd", "fence_cmd_skid0_valid", "fence_cmd_skid1_valid"),
    ("local_req", "local_req_skid0_valid", "local_req_skid1_valid"),
    ("remote_req", "remote_req_skid0_valid", "remote_req_skid1_valid"),
    ("inv", "inv_skid0_valid", "inv_skid1_valid"),
    ("rsp_in", "rsp_in_skid0_valid", "rsp_in_skid1_valid"),
    ("dir_rsp", "dir_rsp_skid0_valid", "dir_rsp_skid1_valid"),
    ("mem_rsp", "mem_rsp_skid0_valid", "mem_rsp_skid1_valid"),
    ("order", "order_skid0_valid", "order_skid1_valid"),
];

impl Bench {
    fn free(&mut self, channel: &'static str, rate: f64) -> bool {
        !self.offers.contains_key(channel) && self.rng.random_bool(rate)
    }

    fn offer(&mut self, channel: &'static str, offer: Offer) {
        self.set(&format!("{channel}_valid"), 1);
        self.offers.insert(channel, offer);
    }

    /// The channels whose message is taken in this cycle.
    pub(super) fn taken(&mut self) -> Vec<&'static str> {
        let channels: Vec<&'static str> = self.offers.keys().copied().collect();
        channels.into_iter().filter(|channel| self.get(&format!("{channel}_ready")) == 1).collect()
    }

    /// Messages in the receiving ends.
    pub(super) fn held(&self) -> [u64; 8] {
        CHANNELS.map(|(_, first, second)| self.peek(first) + self.peek(second))
    }

    /// What the bank has taken from its receiving ends in the cycle that has ended; `held`: what they
    /// held before.
    pub(super) fn look_inside(&mut self, held: &[u64; 8]) {
        self.drains_now = false;
        let now = self.held();
        for (i, (channel, ..)) in CHANNELS.into_iter().enumerate() {
            let inside = self.inside.entry(channel).or_default();
            if inside.len() as u64 > now[i] {
                assert!(inside.len() as u64 == now[i] + 1 && now[i] <= held[i], "{channel}: one in a cycle");
                let offer = inside.pop_front().expect("some");
                self.accepted(offer);
            }
        }
    }

    pub(super) fn offer_all(&mut self) {
        let mood = self.mood;
        if !self.quiet && self.free("local_req", mood.local) {
            self.draw_local();
        }
        if self.free("remote_req", mood.remote) {
            self.offer_remote();
        }
        if self.free("inv", mood.inv) {
            self.offer_inv();
        }
        if self.free("rsp_in", mood.rsp) {
            self.offer_rsp();
        }
        if self.free("dir_rsp", mood.dir) {
            self.offer_answer();
        }
        if self.free("mem_rsp", mood.mem) && !self.reads.is_empty() {
            let at = self.rng.random_range(0..self.reads.len());
            let (id, bytes) = self.reads.swap_remove(at);
            self.set("mem_rsp_id", id);
            self.set_bytes("mem_rsp_data", &bytes);
            self.offer("mem_rsp", Offer::Memory);
        }
        if !self.quiet && self.fence.is_none() && self.rng.random_bool(mood.fence) {
            let op = u64::from(self.rng.random_bool(0.4));
            self.command(op);
        }
        if !self.quiet && self.dues.ordered.is_none() && self.free("order", mood.fence) {
            let requester = self.node(0);
            self.set("order_requester", requester);
            self.dues.ordered = Some(requester);
            self.offer("order", Offer::Order);
        }
    }

    /// A command of the fence unit: 0 drain, 1 flush.
    pub fn command(&mut self, op: u64) {
        self.set("fence_cmd_op", op);
        self.fence = Some(op);
        self.offer("fence_cmd", Offer::Fence(op));
    }

    fn draw_local(&mut self) {
        let set = self.rng.random_range(0..self.worlds.len());
        let hot = self.mood.hot.filter(|_| self.rng.random_bool(0.6));
        let line = hot.unwrap_or_else(|| self.rng.random_range(0..super::LINES));
        let kind = if self.rng.random_bool(self.mood.loads) {
            RD
        } else if self.rng.random_bool(self.mood.stores) {
            WR
        } else {
            ATOM
        };
        self.offer_local((set, line), kind);
    }

    /// A request of an L1 with random bytes; false if no transaction number is free.
    pub fn offer_local(&mut self, place: Place, kind: u64) -> bool {
        let l1 = self.rng.random_range(0..u64::from(self.p.sys.l1s));
        let mut ids = 0..u64::from(self.p.sys.l1_mshrs);
        let Some(id) = ids.find(|id| !self.running.contains(&(l1, *id))) else { return false };
        let request = self.request(place, kind);
        let serial = self.serial;
        self.serial += 1;
        let number = self.counts.entry(place).or_default();
        let waiting = Waiting { request, l1, id, serial, number: *number };
        *number += 1;
        self.drive_local(&waiting);
        self.running.insert((l1, id));
        self.offer("local_req", Offer::Local(waiting));
        true
    }

    fn request(&mut self, place: Place, kind: u64) -> Request {
        let (bytes, rng) = (self.p.sys.line as usize, &mut self.rng);
        let mut data: Vec<u8> = (0..bytes).map(|_| rng.random()).collect();
        let mut mask = vec![false; bytes];
        let mut compare = rng.random();
        match kind {
            WR if rng.random_bool(0.3) => mask.fill(true),
            WR => mask.iter_mut().for_each(|m| *m = rng.random_bool(0.3)),
            ATOM => {
                let size = if rng.random_bool(0.5) { 4 } else { 8 };
                let at = rng.random_range(0..bytes / size) * size;
                mask[at..at + size].fill(true);
                // What is compared is often right, and operands often tie.
                let known = &self.worlds[place.0].bytes[usize::from(place.1)];
                let word = &known.last().expect("a version")[at..at + size];
                if rng.random_bool(0.5) {
                    compare = word.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte));
                    data[at..at + size].copy_from_slice(word);
                    data[at] ^= u8::from(rng.random_bool(0.5));
                }
            }
            _ => {}
        }
        Request {
            kind,
            line: self.line_at(place),
            mask,
            data,
            amo: self.rng.random_range(0..11),
            signed: self.rng.random(),
            compare,
            cacheable: true,
            epoch: 0,
            scope: self.rng.random_range(0..3),
        }
    }

    fn drive_local(&mut self, waiting: &Waiting) {
        let request = &waiting.request;
        self.set("local_req_kind", request.kind);
        self.set("local_req_line", request.line);
        self.set_mask("local_req_mask", &request.mask);
        self.set_bytes("local_req_data", &request.data);
        self.set("local_req_amo", request.amo);
        self.set("local_req_sgn", u64::from(request.signed));
        self.set("local_req_cmp", request.compare);
        self.set("local_req_scope", request.scope);
        self.set("local_req_l1", waiting.l1);
        self.set("local_req_id", waiting.id);
    }

    /// A message of one of the sets: a random one, or the oldest.
    fn draw<T>(&mut self, fifo: bool, of: impl Fn(&mut super::World) -> &mut Vec<T>) -> Option<(usize, T)> {
        let first = self.rng.random_range(0..self.worlds.len());
        for i in 0..self.worlds.len() {
            let set = (first + i) % self.worlds.len();
            let messages = of(&mut self.worlds[set]);
            if !messages.is_empty() {
                let at = if fifo { 0 } else { self.rng.random_range(0..messages.len()) };
                return Some((set, messages.remove(at)));
            }
        }
        None
    }

    fn offer_remote(&mut self) {
        let Some((set, packet)) = self.draw(false, |world| &mut world.req) else { return };
        let place = (set, packet.line);
        let data = match packet.msg {
            Msg::Put(data) => data.map(|version| self.worlds[set].version(packet.line, version).clone()),
            _ => None,
        };
        let id = self.rng.random_range(0..u64::from(self.p.sys.l2_mshrs));
        self.remote_ids.insert((place, packet.from), id);
        let put = matches!(packet.msg, Msg::Put(_));
        let bytes = self.p.sys.line as usize;
        self.set("remote_req_kind", if put { WR } else { RD });
        self.set("remote_req_src", self.node(packet.from));
        self.set("remote_req_dst", u64::from(self.p.home));
        self.set("remote_req_line", self.line_at(place));
        self.set("remote_req_id", id);
        self.set("remote_req_owner_exclusive", u64::from(packet.msg == Msg::GetM));
        self.set_mask("remote_req_mask", &vec![data.is_some(); bytes]);
        self.set_bytes("remote_req_data", &data.unwrap_or_else(|| vec![0; bytes]));
        self.offer("remote_req", Offer::Remote(set, packet));
    }

    fn offer_inv(&mut self) {
        let Some((set, packet)) = self.draw(false, |world| &mut world.inv) else { return };
        let (ask, requester) = match packet.msg {
            Msg::Inv => (Ask::Inv, 0),
            Msg::FwdS(requester) => (Ask::FwdS, requester),
            Msg::FwdM(requester) => (Ask::FwdM, requester),
            _ => (Ask::Recall, 0),
        };
        let id = self.rng.random_range(0..u64::from(self.p.sys.l2_mshrs));
        let (link, cause) = (self.rng.random_range(0..4), self.rng.random_range(0..2));
        self.set("inv_line", self.line_at((set, packet.line)));
        self.set("inv_cause", cause);
        self.set("inv_grp", 0);
        self.set("inv_link", link);
        self.set("inv_owner_ask", ask.encoding());
        self.set("inv_owner_requester", self.node(requester));
        self.set("inv_owner_id", id);
        self.offer("inv", Offer::Inv(set, packet, id, link));
    }

    fn offer_rsp(&mut self) {
        let Some((set, packet)) = self.draw(false, |world| &mut world.rsp) else { return };
        let place = (set, packet.line);
        let (gives, data, id) = match packet.msg {
            Msg::Data(grant, data) => {
                let gives = match grant {
                    Grant::S => Gives::Shared,
                    Grant::E => Gives::Exclusive,
                    Grant::M => Gives::Modified,
                };
                (gives, data, self.own_ids[&place])
            }
            Msg::PutAck => (Gives::Put, None, self.put_ids[&place]),
            Msg::Back(data) => (Gives::Back, data, self.rng.random_range(0..4)),
            other => panic!("{other:?} is not for the bank"),
        };
        let bytes = data.map(|version| self.worlds[set].version(packet.line, version).clone());
        let (kind, dram) = (if data.is_some() { RD } else { WR }, self.rng.random());
        let none = vec![self.rng.random(); self.p.sys.line as usize];
        self.set("rsp_in_kind", kind);
        self.set("rsp_in_src", self.node(packet.from));
        self.set("rsp_in_dst", u64::from(self.p.home));
        self.set("rsp_in_bank", self.number);
        self.set("rsp_in_id", id);
        self.set("rsp_in_from_dram", u64::from(dram));
        self.set("rsp_in_owner_gives", gives.encoding());
        self.set("rsp_in_owner_line", self.line_at(place));
        self.set_bytes("rsp_in_data", &bytes.unwrap_or(none));
        self.offer("rsp_in", Offer::Rsp(set, packet, dram));
    }

    fn offer_answer(&mut self) {
        let Some((set, (op, answer))) = self.draw(true, |world| &mut world.answers) else { return };
        let place = (set, op.line);
        let of_home = |entry: &(&u64, &(usize, SliceOp))| *entry.1 == (set, op);
        let id = match op.asks {
            Asks::ReadHome | Asks::OwnHome => self.slice_ids[&place],
            _ => *self.home_ops.iter().find(of_home).expect("an operation of the home side").0,
        };
        self.home_ops.remove(&id);
        let says = match answer {
            Answer::Alone => HomeAnswer::Alone,
            Answer::Home => HomeAnswer::Home,
            Answer::Keep => HomeAnswer::Keep,
            Answer::Forwarded => HomeAnswer::Forwarded,
            Answer::Taken => HomeAnswer::Taken,
            Answer::Stale => HomeAnswer::Stale,
        };
        self.set("dir_rsp_id", id);
        self.set("dir_rsp_owner_answer", says.encoding());
        self.offer("dir_rsp", Offer::Slice(set, op, answer, id));
    }

    /// The bank has taken a message.
    pub(super) fn accepted(&mut self, offer: Offer) {
        match offer {
            Offer::Local(waiting) => {
                // A drain that begins in this very cycle waits for it, too.
                if waiting.request.kind != RD {
                    self.unperformed.insert(waiting.serial);
                    if self.drains_now {
                        self.before_drain.insert(waiting.serial);
                        self.meetings += 1;
                    }
                }
                assert!(self.incoming.replace(waiting).is_none(), "a request is taken into a full slot");
            }
            Offer::Remote(set, packet) => self.remotes.push_back((set, packet)),
            Offer::Inv(set, packet, id, link) => self.probes.push_back((set, packet, id, link)),
            Offer::Rsp(set, packet, dram) => self.landing(set, packet, dram),
            Offer::Slice(set, op, answer, number) => self.slice_answers(set, op, answer, number),
            Offer::Fence(op) => {
                if op == 0 {
                    self.before_drain = self.unperformed.clone();
                    self.drains_now = true;
                }
                self.dues.fence = Some(op);
            }
            Offer::Memory | Offer::Order => {}
        }
    }
}

/// Number of a kind of request.
pub fn ack_kind() -> u64 {
    ReqKind::Ack.encoding()
}
