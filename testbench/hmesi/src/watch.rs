//! Judges what a block sends, message by message, against a golden model that may choose.
//!
//! A bench tells what the block has taken and what it has sent. When the block processes what it has taken, in which order, and what it does on its own account are not to be seen from outside, so
//! a [`Watch`] keeps all states in which the model could be: what it has taken and not processed, and what it owes. A message that none of them can send is wrong. One watch judges one line, as lines
//! are independent of each other in all but the space they compete for.
//!
//! | machine | judges | on its own account |
//! | --- | --- | --- |
//! | [`Home`] | an L3 bank | evicts |
//! | [`Peer`] | a client, CPU or GPU L2, without data that it has written | reads, writes, evicts |
//! | [`Middle`] | a bank of the GPU L2 on both sides | evicts |

use crate::golden::client::table::{Act, Event, State};
use crate::golden::client::{Entry, Place};
use crate::golden::l2::{L2, L2Params};
use crate::golden::l3::{L3, L3Params, Line, Out};
use crate::golden::msg::{Msg, Node, Op, Packet};
use crate::golden::system;
use std::collections::HashSet;
use std::hash::Hash;
use std::rc::Rc;
use weft_spandex_bench::golden::msg::{Data, Node as GpuNode, Vn};
use weft_spandex_bench::golden::system::explore::key;

/// A model of one line.
pub trait Machine: Clone + Hash {
    /// What it takes.
    type In: Copy + Hash + PartialEq + std::fmt::Debug;
    /// What it sends.
    type Out: Copy + Hash + PartialEq + std::fmt::Debug;
    /// Takes a message; none if it must wait or cannot be.
    fn take(&self, input: &Self::In) -> Option<(Self, Vec<Self::Out>)>;
    /// What it may do on its own account.
    fn moves(&self) -> Vec<(Self, Vec<Self::Out>)>;
    /// Whether something sent is what it owes.
    fn fits(owed: &Self::Out, sent: &Self::Out) -> bool {
        owed == sent
    }
    /// Nothing is under way.
    fn idle(&self) -> bool;
}

/// A state in which the model could be.
#[derive(Clone, Hash)]
struct Could<M: Machine> {
    model: M,
    /// Taken, not processed.
    taken: Vec<M::In>,
    /// Not sent yet.
    owed: Vec<M::Out>,
}

/// States at most that are looked at for one message.
const LIMIT: usize = 20_000;

/// All states in which the model could be.
#[derive(Clone)]
pub struct Watch<M: Machine> {
    could: Vec<Could<M>>,
}

impl<M: Machine> Watch<M> {
    /// In this state.
    pub fn new(model: M) -> Watch<M> {
        Watch { could: vec![Could { model, taken: Vec::new(), owed: Vec::new() }] }
    }
    /// The block has taken a message.
    pub fn took(&mut self, input: M::In) {
        self.could.iter_mut().for_each(|could| could.taken.push(input));
    }
    /// The block has sent a message; what is wrong with it.
    pub fn sent(&mut self, out: &M::Out) -> Result<(), String> {
        let found = self.search(|could| {
            let at = could.owed.iter().position(|owed| M::fits(owed, out))?;
            let mut rest = could.clone();
            rest.owed.remove(at);
            Some(rest)
        });
        if found.is_empty() {
            return Err(format!("{out:?} cannot be sent"));
        }
        self.could = found;
        Ok(())
    }
    /// The block is idle and has nothing more to send; what is missing.
    pub fn rest(&mut self) -> Result<(), String> {
        let found = self.search(|could| {
            let rest = could.taken.is_empty() && could.owed.is_empty() && could.model.idle();
            rest.then(|| could.clone())
        });
        if found.is_empty() {
            let could = self.could.first();
            let (taken, owed) =
                could.map_or((Vec::new(), Vec::new()), |could| (could.taken.clone(), could.owed.clone()));
            return Err(format!("not processed {taken:?}, not sent {owed:?}"));
        }
        self.could = found;
        Ok(())
    }
    /// The first states on each way that pass.
    fn search(&self, pass: impl Fn(&Could<M>) -> Option<Could<M>>) -> Vec<Could<M>> {
        let mut seen = HashSet::new();
        let mut kept = HashSet::new();
        let mut found = Vec::new();
        let mut queue: std::collections::VecDeque<Could<M>> = self.could.iter().cloned().collect();
        while let Some(could) = queue.pop_front() {
            if seen.len() > LIMIT || !seen.insert(key(&could)) {
                continue;
            }
            if let Some(rest) = pass(&could) {
                if kept.insert(key(&rest)) {
                    found.push(rest);
                }
                continue;
            }
            for (at, input) in could.taken.iter().enumerate() {
                if could.taken[..at].contains(input) {
                    continue;
                }
                if let Some((model, out)) = could.model.take(input) {
                    let mut taken = could.taken.clone();
                    taken.remove(at);
                    queue.push_back(could.after(model, taken, out));
                }
            }
            for (model, out) in could.model.moves() {
                queue.push_back(could.after(model, could.taken.clone(), out));
            }
        }
        found
    }
}

impl<M: Machine> Could<M> {
    fn after(&self, model: M, taken: Vec<M::In>, out: Vec<M::Out>) -> Could<M> {
        let mut owed = self.owed.clone();
        owed.extend(out);
        Could { model, taken, owed }
    }
}

/// What an L3 bank takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HomeIn {
    /// A message.
    Msg(Msg),
    /// Memory returns the line.
    Memory(Data),
}
/// What an L3 bank sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HomeOut {
    /// A message.
    Msg(Msg),
    /// Memory is read.
    Read,
    /// Memory is written.
    Write(Data),
}

/// A line of an L3 bank.
#[derive(Clone, Hash)]
pub struct Home {
    l3: L3,
    line: u32,
}

impl Home {
    /// Of this bank, absent.
    pub fn new(bank: u8, line: u32) -> Home {
        let p = L3Params { lines: 1, tbes: 1, stalls: usize::MAX, slip: None };
        Home { l3: L3::new(bank, Rc::new(p)), line }
    }
    /// Present without upper copies.
    pub fn warm(mut self, data: Data) -> Home {
        self.l3.insert(Line::new(self.line, data));
        self
    }
    fn after(mut l3: L3, line: u32) -> Option<(Home, Vec<HomeOut>)> {
        l3.cover = Default::default();
        let out = l3.take_out().into_iter().map(|out| match out {
            Out::Msg(msg) => HomeOut::Msg(msg),
            Out::Read(_) => HomeOut::Read,
            Out::Write(_, data) => HomeOut::Write(data),
        });
        let out = out.collect();
        l3.take_faults().is_empty().then_some((Home { l3, line }, out))
    }
}

impl Machine for Home {
    type In = HomeIn;
    type Out = HomeOut;
    fn take(&self, input: &HomeIn) -> Option<(Home, Vec<HomeOut>)> {
        let mut l3 = self.l3.clone();
        let took = match input {
            HomeIn::Memory(data) => {
                l3.memory(self.line, data);
                true
            }
            HomeIn::Msg(msg) => match msg.op.vn() {
                Vn::Req => l3.req(msg),
                Vn::Wb => l3.wb(msg),
                _ => {
                    l3.rsp(msg);
                    true
                }
            },
        };
        if took { Home::after(l3, self.line) } else { None }
    }
    fn moves(&self) -> Vec<(Home, Vec<HomeOut>)> {
        let mut l3 = self.l3.clone();
        let made = l3.evict(self.line);
        made.then(|| Home::after(l3, self.line)).flatten().into_iter().collect()
    }
    fn idle(&self) -> bool {
        self.l3.idle()
    }
}

/// A line at a client, of which data that the client has written is not known.
#[derive(Clone, Copy, Hash)]
pub struct Peer {
    place: Place,
    line: u32,
    entry: Entry,
    dirty: bool,
    /// None: written here.
    data: Option<Data>,
}

/// A message whose data may be anything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PeerOut {
    /// The message.
    pub msg: Msg,
    /// Its data is known.
    pub known: bool,
}

impl Peer {
    /// Absent.
    pub fn new(client: u8, banks: u8, line: u32) -> Peer {
        Peer { place: Place { client, banks }, line, entry: Entry::default(), dirty: false, data: None }
    }
    fn event(mut self, event: Event, cause: Option<&Msg>) -> Option<(Peer, Vec<PeerOut>)> {
        let was = self.entry.state;
        let (acts, next) = self.entry.cell(event, None);
        if acts == [Act::Never] || acts == [Act::Wait] {
            return None;
        }
        let dirty = self.dirty || was == State::M;
        self.entry.state = next;
        let data = self.data.unwrap_or_default();
        let known = self.data.is_some();
        let messages = acts.iter().filter_map(|act| self.place.message(*act, self.line, &data, dirty, cause));
        let out = messages.map(|msg| PeerOut { msg, known }).collect();
        self.dirty = next == State::Mi && dirty;
        match next {
            State::M => self.data = None,
            State::I | State::Is | State::Isi | State::Ii => self.data = None,
            _ => {}
        }
        Some((self, out))
    }
}

impl Machine for Peer {
    type In = Msg;
    type Out = PeerOut;
    fn take(&self, msg: &Msg) -> Option<(Peer, Vec<PeerOut>)> {
        let mut next = *self;
        let event = next.entry.receive(&msg.op, None);
        if msg.op.has_data() {
            next.data = Some(msg.data);
        }
        next.event(event, Some(msg))
    }
    fn moves(&self) -> Vec<(Peer, Vec<PeerOut>)> {
        let acts = |event| self.entry.cell(event, None).0;
        let own = [Event::Load, Event::Store, Event::Replace].into_iter();
        let real = own.filter(|event| {
            acts(*event) != [Act::Join] && (*event != Event::Load || acts(*event) != [Act::Hit])
        });
        real.filter_map(|event| self.event(event, None)).collect()
    }
    fn fits(owed: &PeerOut, sent: &PeerOut) -> bool {
        let msg = if owed.known { owed.msg } else { Msg { data: sent.msg.data, ..owed.msg } };
        let own = matches!(msg.op, Op::GetS | Op::GetM | Op::Put { .. });
        Msg { tag: if own { sent.msg.tag } else { msg.tag }, ..msg } == sent.msg
    }
    fn idle(&self) -> bool {
        !self.entry.open()
    }
}

/// A line of a bank of the GPU L2.
#[derive(Clone, Hash)]
pub struct Middle {
    l2: L2,
    line: u32,
}

impl Middle {
    /// Of this bank, absent; what the bank has for limits does not matter.
    pub fn new(bank: u8, line: u32, p: &L2Params) -> Middle {
        let mut p = p.clone();
        (p.lines, p.bank.tbes, p.bank.stalls, p.slip) = (1, 8, usize::MAX, None);
        Middle { l2: L2::new(bank, Rc::new(p)), line }
    }
    fn after(mut l2: L2, line: u32) -> Option<(Middle, Vec<Packet>)> {
        l2.cover = Default::default();
        let out = l2.take_out();
        l2.take_faults().is_empty().then_some((Middle { l2, line }, out))
    }
}

impl Machine for Middle {
    type In = Packet;
    type Out = Packet;
    fn take(&self, input: &Packet) -> Option<(Middle, Vec<Packet>)> {
        let mut l2 = self.l2.clone();
        let took = match input {
            Packet::Mesi(msg) if msg.op.vn() == Vn::Fwd => l2.fwd(msg),
            Packet::Mesi(msg) => {
                l2.l3_rsp(msg);
                true
            }
            Packet::Gpu(msg) => match msg.op.vn() {
                Vn::Req => l2.req(msg),
                Vn::Wb => {
                    l2.wb(msg);
                    true
                }
                _ => {
                    l2.rsp(msg);
                    true
                }
            },
        };
        if took { Middle::after(l2, self.line) } else { None }
    }
    fn moves(&self) -> Vec<(Middle, Vec<Packet>)> {
        let mut l2 = self.l2.clone();
        let made = l2.evict(self.line);
        made.then(|| Middle::after(l2, self.line)).flatten().into_iter().collect()
    }
    fn fits(owed: &Packet, sent: &Packet) -> bool {
        match (owed, sent) {
            (Packet::Mesi(owed), Packet::Mesi(sent)) => {
                let own = matches!(owed.op, Op::GetS | Op::GetM | Op::Put { .. });
                Msg { tag: if own { sent.tag } else { owed.tag }, ..*owed } == *sent
            }
            _ => owed == sent,
        }
    }
    fn idle(&self) -> bool {
        self.l2.idle()
    }
}

/// The watch of everybody in a system: messages are handed to those that they concern.
pub struct Watches {
    cpus: u8,
    banks: u8,
    l2: L2Params,
    initial: Box<dyn Fn(u32) -> Option<Data>>,
    homes: std::collections::BTreeMap<u32, Watch<Home>>,
    peers: std::collections::BTreeMap<(u8, u32), Watch<Peer>>,
    middles: std::collections::BTreeMap<u32, Watch<Middle>>,
}

impl Watches {
    /// Of a system; `initial`: lines that are in the L3 at first.
    pub fn new(
        cpus: u8,
        banks: u8,
        l2: L2Params,
        initial: impl Fn(u32) -> Option<Data> + 'static,
    ) -> Watches {
        let initial = Box::new(initial);
        Watches {
            cpus,
            banks,
            l2,
            initial,
            homes: Default::default(),
            peers: Default::default(),
            middles: Default::default(),
        }
    }
    fn home(&mut self, line: u32) -> &mut Watch<Home> {
        let (banks, initial) = (u32::from(self.banks), &self.initial);
        self.homes.entry(line).or_insert_with(|| {
            let home = Home::new((line % banks) as u8, line);
            Watch::new(match initial(line) {
                Some(data) => home.warm(data),
                None => home,
            })
        })
    }
    fn peer(&mut self, client: u8, line: u32) -> &mut Watch<Peer> {
        let banks = self.banks;
        self.peers.entry((client, line)).or_insert_with(|| Watch::new(Peer::new(client, banks, line)))
    }
    fn middle(&mut self, line: u32) -> &mut Watch<Middle> {
        let (banks, l2) = (u32::from(self.banks), &self.l2);
        self.middles.entry(line).or_insert_with(|| Watch::new(Middle::new((line % banks) as u8, line, l2)))
    }
    /// What is wrong with it.
    pub fn see(&mut self, event: &system::Event) -> Result<(), String> {
        match event {
            system::Event::Memory(line, data) => {
                self.home(*line).took(HomeIn::Memory(*data));
                Ok(())
            }
            system::Event::Read(line) => self.home(*line).sent(&HomeOut::Read),
            system::Event::Write(line, data) => self.home(*line).sent(&HomeOut::Write(*data)),
            system::Event::Taken(packet) => {
                self.taken(packet);
                Ok(())
            }
            system::Event::Sent(packet) => self.sent(packet),
        }
    }
    fn taken(&mut self, packet: &Packet) {
        match packet {
            Packet::Mesi(msg) => match msg.dst {
                Node::L3(_) => self.home(msg.line).took(HomeIn::Msg(*msg)),
                Node::Client(client) => {
                    self.peer(client, msg.line).took(*msg);
                    if client == self.cpus {
                        self.middle(msg.line).took(*packet);
                    }
                }
            },
            Packet::Gpu(msg) => {
                if let GpuNode::Bank(_) = msg.dst {
                    self.middle(msg.line).took(*packet);
                }
            }
        }
    }
    fn sent(&mut self, packet: &Packet) -> Result<(), String> {
        match packet {
            Packet::Mesi(msg) => match msg.src {
                Node::L3(_) => self.home(msg.line).sent(&HomeOut::Msg(*msg)),
                Node::Client(client) => {
                    self.peer(client, msg.line).sent(&PeerOut { msg: *msg, known: true })?;
                    if client == self.cpus { self.middle(msg.line).sent(packet) } else { Ok(()) }
                }
            },
            Packet::Gpu(msg) => match msg.src {
                GpuNode::Bank(_) => self.middle(msg.line).sent(packet),
                GpuNode::Dev(_) => Ok(()),
            },
        }
    }
    /// Everything is idle; what is missing.
    pub fn rest(&mut self) -> Result<(), String> {
        self.homes.values_mut().try_for_each(Watch::rest)?;
        self.peers.values_mut().try_for_each(Watch::rest)?;
        self.middles.values_mut().try_for_each(Watch::rest)
    }
}
