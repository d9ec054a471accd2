//! Acknowledgements in the hierarchical fence unit: those awaited, a counter for each marker that was sent, and those owed, a bit each.
//!
//! ```text
//!  mark_in, from a node that passes nothing on --------------> receipt owed to the node that it came from
//!  mark_in, passed on to the own GPMs -> counter {origin GPU, serial}: M-1 -> receipt owed to the origin
//!  own marker, GPU scope    -> counter {serial}: M-1 ------------+
//!  own marker, system scope -> counter {serial}: its receivers --+-> this home's acknowledgement owed to every requester that the marker serves
//! ```
//! What is for the own GPU leaves on `rsp_out`, the rest on `far_rsp_out`; each takes one kind after the other.

use super::super::ports::part_out;
use super::Answer;
use super::incoming::Incoming;
use super::marks::Marks;
use super::params::{HierFenceParams, Part};
use super::scope::Which;
use crate::common::arbiter::RoundRobin;
use crate::msg::*;
use weft_rtl::prelude::*;

/// For each of some numbers how many are still to come: bit k of all counters lies in `NAME_bitK`.
struct Awaited {
    name: &'static str,
    count: u32,
    bits: Vec<Reg<Bits>>,
}

impl Awaited {
    /// `numbers` counters that begin with `count`.
    fn new(name: &'static str, numbers: u32, count: u32) -> Awaited {
        let bits = (0..bits_for(u64::from(count) + 1))
            .map(|k| {
                reg::<Bits>(&format!("{name}_bit{k}"), numbers)
                    .doc("Acknowledgements still to come, this bit of each counter.")
            })
            .collect();
        Awaited { name, count, bits }
    }

    /// Numbers for which something is to come.
    fn open(&self) -> Bits {
        self.bits.iter().map(|b| b.get()).reduce(|a, b| a | b).expect("a counter has bits")
    }

    /// From now on `begins` await their count; one of `comes` has come. Both have one bit set or none. True if that was its last.
    fn step(&self, begins: Bits, comes: Bits) -> Bool {
        self.each(begins, comes).any().named(&format!("{}_last", self.name))
    }

    /// The same of any number of counters at once: those whose last has come.
    fn each(&self, begins: Bits, comes: Bits) -> Bits {
        let (name, open) = (self.name, self.open());
        let above = self.bits[1..].iter().map(|b| b.get()).reduce(|a, b| a | b);
        let one = self.bits[0].get() & above.map_or(!lit_bv(Bv::zero(open.width())), |above| !above);
        let mut borrow = comes;
        let changes = (begins | comes).any();
        for (k, bit) in self.bits.iter().enumerate() {
            let now = bit.get();
            let more = if self.count >> k & 1 == 1 { begins } else { lit_bv(Bv::zero(open.width())) };
            when(changes, || bit.set((now ^ borrow) | more));
            borrow = borrow & !now;
        }
        assert_always(
            &format!("{name}_expected"),
            (comes & !open).none(),
            "an acknowledgement comes for a marker that waits for one",
        );
        assert_always(
            &format!("{name}_begins_once"),
            (begins & open).none(),
            "a marker is sent when the one before it, of the same origin and serial, is acknowledged",
        );
        comes & one
    }
}

/// Acknowledgements of one kind that are owed.
struct Owed {
    name: &'static str,
    bits: Reg<Bits>,
}

impl Owed {
    fn new(name: &'static str, width: u32) -> Owed {
        Owed { name, bits: reg::<Bits>(name, width) }
    }

    fn get(&self) -> Bits {
        self.bits.get()
    }

    fn follow(&self, new: Bits, gone: Bits) {
        when((new | gone).any(), || self.bits.set((self.bits.get() & !gone) | new));
        assert_always(
            &format!("{}_once", self.name),
            (self.bits.get() & new).none(),
            "what is owed is sent before it is owed again",
        );
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sys)]
struct Says {
    #[width(p.node_bits())]
    dst: Bits,
    #[width(SERIAL_BITS)]
    serial: Bits,
    #[width(p.node_bits())]
    origin: Bits,
    #[width(2)]
    order: Bits,
    /// Of a home's to its leader: the GPU for which it is.
    #[width(bits_for(u64::from(p.gpus)))]
    requester: Bits,
}

/// Those of one kind that one port may send, and what the chosen one says.
struct Kind<'a> {
    /// Its place in [`Acks::all`].
    of: usize,
    waits: Bits,
    says: Box<dyn Fn(Bits) -> Says + 'a>,
}

/// What was sent in a cycle.
struct Sent {
    /// Of each kind, by its place, the bit that was.
    gone: Vec<(usize, Bits)>,
    any: Bool,
    /// A message waits for the network.
    stands: Bool,
}

/// Sends one of `kinds` on `port` if it is free: the kinds in turn, and those of a kind in turn.
fn send(p: &HierFenceParams, port: &str, kinds: &[Kind]) -> Sent {
    let out = part_out::<RspMsg, Answer>(port, &p.sys);
    let turns: Vec<RoundRobin> = kinds
        .iter()
        .enumerate()
        .map(|(k, kind)| RoundRobin::new(&format!("{port}_turn{k}"), kind.waits.width()))
        .collect();
    let picks: Vec<_> = turns.iter().zip(kinds).map(|(turn, kind)| turn.pick(kind.waits)).collect();
    let turn = RoundRobin::new(&format!("{port}_turn"), kinds.len() as u32);
    let pick = turn.pick(pack_bools(&picks.iter().map(|pick| pick.any).collect::<Vec<_>>()));
    let go = (pick.any & out.free).named(&format!("{port}_leaves"));
    let says: Vec<Says> = kinds.iter().zip(&picks).map(|(kind, pick)| (kind.says)(pick.index)).collect();
    when(go, || {
        turn.granted(pick.index);
        let Says { dst, serial, origin, order, requester } = select(&says, pick.index);
        let about = if p.follows() { cat(&[requester, origin, serial]) } else { cat(&[origin, serial]) };
        out.send(&Answer {
            src: p.home_bits(),
            dst,
            id: order.zext(p.sys.l2_id_bits()),
            data: about.zext(p.sys.data_bits()),
        });
    });
    let gone = picks.iter().zip(&turns).zip(kinds).enumerate().map(|(k, ((of_kind, turn), kind))| {
        let here = go & pick.index.eq(k as u64);
        when(here, || turn.granted(of_kind.index));
        (kind.of, of_kind.one_hot(kind.waits.width()) & here.repeat(kind.waits.width()))
    });
    Sent { gone: gone.collect(), any: go, stands: out.waiting & !out.free }
}

/// Markers whose last acknowledgement has come in a cycle.
pub(super) struct Complete {
    /// Requesters that an own marker has served: GPMs of the own GPU for GPU scope, nodes, or GPUs where
    /// their GPMs join, for system scope.
    home: [Bits; 2],
    /// One that was passed on; which, [`Incoming`] says.
    passed: Bool,
    /// At a leader: GPUs whose markers all homes of this one have acknowledged, the own one left out.
    relayed: Bits,
    /// This node is among the requesters: this home's acknowledgements, for the engines of GPU and system scope.
    pub own: [Bool; 2],
}

/// Acknowledgements awaited and owed.
pub(super) struct Acks {
    /// Of own markers by serial; of those passed on by {origin GPU, serial}.
    gpu_awaited: Option<Awaited>,
    sys_awaited: Option<Awaited>,
    passed_awaited: Option<Awaited>,
    /// At a leader, by GPU: homes of the own one that have not acknowledged.
    relay_awaited: Option<Awaited>,
    /// To GPMs that asked this one for a far drain or a drop.
    far: Option<Owed>,
    drops: Option<Owed>,
    /// This home's to requesters, by GPM or node.
    gpu_home: Option<Owed>,
    sys_home: Option<Owed>,
    /// Of others' markers by {origin, serial}, the origin a GPM or a node.
    gpu_receipts: Option<Owed>,
    sys_receipts: Option<Owed>,
    /// A leader's, to GPMs that have joined and to other leaders by GPU.
    joined: Option<Owed>,
    relayed: Option<Owed>,
}

impl Acks {
    pub fn new(p: &HierFenceParams) -> Acks {
        let (slots, nodes, serials) = (p.gpm_slots(), p.sys.nodes(), p.serials());
        let owed = |there: bool, name, width| there.then(|| Owed::new(name, width));
        let awaited = |part, name, n, count| p.has(part).then(|| Awaited::new(name, n, count));
        let (gpu, sys, near) = (p.has(Part::GpuMarks), p.has(Part::Markers), p.has(Part::NearAsks));
        Acks {
            gpu_awaited: awaited(Part::GpuMarks, "gpu_awaited", serials, p.sys.gpms - 1),
            sys_awaited: awaited(Part::Markers, "sys_awaited", serials, p.receivers()),
            passed_awaited: awaited(Part::Forwards, "passed_awaited", p.sys.gpus * serials, p.sys.gpms - 1),
            relay_awaited: p.leads().then(|| Awaited::new("relay_awaited", p.sys.gpus, p.sys.gpms)),
            far: owed(near && p.has(Part::FarDrains), "far_answers", slots),
            drops: owed(near && p.has(Part::FarDrops), "drop_answers", slots),
            gpu_home: owed(gpu, "gpu_home_acks", slots),
            sys_home: owed(sys && !p.leads(), "sys_home_acks", p.sys_requesters()),
            gpu_receipts: owed(gpu, "gpu_receipts", slots * serials),
            sys_receipts: owed(sys, "sys_receipts", nodes * serials),
            joined: owed(p.leads(), "joined_acks", slots),
            relayed: owed(p.leads() && p.sys.gpus > 1, "relay_acks", p.sys.gpus),
        }
    }

    /// Serials of own markers, of GPU and of system scope, that not all receivers have acknowledged.
    pub fn open(&self) -> [Option<Bits>; 2] {
        [&self.gpu_awaited, &self.sys_awaited].map(|awaited| awaited.as_ref().map(Awaited::open))
    }

    /// Counts what comes for markers that this node has sent or passed on.
    /// `relayed`: GPUs for which the homes of this one begin to be asked.
    pub fn awaited(&self, p: &HierFenceParams, i: &Incoming, marks: &Marks, relayed: Bits) -> Complete {
        let no = bool_lit(false);
        let comes = p.serial_bit(i.ack_serial);
        let own = |awaited: &Option<Awaited>, which: Which, receipt: Bool| {
            awaited
                .as_ref()
                .map_or(no, |awaited| awaited.step(marks.sent(p, which), comes & receipt.repeat(p.serials())))
        };
        let last = [
            own(&self.gpu_awaited, Which::Gpu, i.receipts[0]),
            own(&self.sys_awaited, Which::Sys, i.receipts[1]),
        ];
        let passed = self.passed_awaited.as_ref().map_or(no, |awaited| {
            let numbers = p.sys.gpus * p.serials();
            let number = |origin: Bits, serial: Bits| p.marker_number(p.sys.gpu_of(origin), serial);
            let sent = hot(i.foreign, number(i.mark_msg.origin, i.mark_msg.serial), numbers);
            awaited.step(sent, hot(i.passed, number(i.ack_origin, i.ack_serial), numbers))
        });
        if self.passed_awaited.is_some() {
            cover(
                "hmg.race.gpu_home_waits_for_gpms",
                i.passed & !passed,
                "a GPM has acknowledged what was passed on to it, others have not",
            );
        }
        let served = |which: Which, last: Bool| {
            let served = marks.served(p, which, i.ack_serial);
            served & last.repeat(served.width())
        };
        let home = [served(Which::Gpu, last[0]), served(Which::Sys, last[1])];
        let relays = self.relay_awaited.as_ref().map(|awaited| awaited.each(relayed, i.relayed | home[1]));
        let own_sys = match relays {
            Some(relays) => relays.bit(p.sys.gpu_of_node(p.home)),
            None if p.joined() => no,
            None => home[1].bit(p.home),
        };
        let relayed = relays.map_or(lit_bv(Bv::zero(p.sys.gpus)), |relays| relays & !p.own_gpu());
        Complete { home, passed, relayed, own: [home[0].bit(p.sys.gpm_of_node(p.home)), own_sys] }
    }

    /// Takes what is owed from now on and sends what it can, to both sides. `served`: GPMs for which the
    /// banks have done what they asked, far drains and drops, and those whose joined release is complete.
    pub fn answer(&self, p: &HierFenceParams, i: &Incoming, complete: &Complete, served: [Bits; 3]) {
        let near_sent = if p.has(Part::NearAsks) {
            send(p, "rsp_out", &self.near(p))
        } else {
            silent_out_channel::<RspMsg>("rsp_out", &p.sys);
            Sent { gone: Vec::new(), any: bool_lit(false), stands: bool_lit(false) }
        };
        let far_sent = if p.has(Part::FarAsks) {
            send(p, "far_rsp_out", &self.far(p))
        } else {
            silent_out_channel::<RspMsg>("far_rsp_out", &p.sys);
            Sent { gone: Vec::new(), any: bool_lit(false), stands: bool_lit(false) }
        };
        if p.has(Part::NearAsks) && p.has(Part::FarAsks) {
            cover(
                "hmg.race.acks_pass_those_to_other_gpus",
                near_sent.any & far_sent.stands,
                "an acknowledgement leaves inside the GPU while one to another GPU cannot",
            );
        }
        self.settle(&Acks::newly(p, i, complete, served), &near_sent.gone, &far_sent.gone);
    }

    /// What is owed, in a fixed order.
    fn all(&self) -> [&Option<Owed>; 8] {
        let Acks { far, drops, gpu_home, sys_home, gpu_receipts, sys_receipts, joined, relayed, .. } = self;
        [far, drops, gpu_home, gpu_receipts, sys_home, sys_receipts, joined, relayed]
    }

    /// What is owed from now on, in the order of [`Acks::all`].
    fn newly(p: &HierFenceParams, i: &Incoming, complete: &Complete, served: [Bits; 3]) -> [Bits; 8] {
        let (slots, nodes, serials) = (p.gpm_slots(), p.sys.nodes(), p.serials());
        let receipt = i.mark & !i.foreign;
        let HierMark { serial, origin, sys } = i.mark_msg;
        let received = hot(receipt & sys, p.marker_number(origin, serial), nodes * serials);
        let passed = hot(complete.passed, p.marker_number(i.ack_origin, i.ack_serial), nodes * serials);
        let gpm = p.marker_number(p.sys.gpm_of(origin), serial);
        let [far, drops, joined] = served;
        let own = if p.joined() { lit_bv(Bv::zero(p.sys.gpus)) } else { p.node_mask(&[p.home]) };
        [
            far,
            drops,
            complete.home[0] & !p.own_gpm(bool_lit(true)),
            hot(receipt & !sys, gpm, slots * serials),
            complete.home[1] & !own,
            received | passed,
            joined,
            complete.relayed,
        ]
    }

    /// Enters what is new and takes out what has gone on both ports.
    fn settle(&self, new: &[Bits; 8], near: &[(usize, Bits)], far: &[(usize, Bits)]) {
        for (at, (owed, new)) in self.all().into_iter().zip(new).enumerate() {
            let Some(owed) = owed else { continue };
            let none = lit_bv(Bv::zero(owed.get().width()));
            let gone =
                |list: &[(usize, Bits)]| list.iter().find(|(of, _)| *of == at).map_or(none, |(_, g)| *g);
            owed.follow(*new, gone(near) | gone(far));
        }
    }

    /// A home's acknowledgement of a whole marker.
    fn of_home(p: &HierFenceParams, dst: Bits, order: FenceOrder) -> Says {
        let (serial, requester) = (lit(0, SERIAL_BITS), Acks::nobody(p));
        Says { dst, serial, origin: p.home_bits(), order: enum_lit(order).bits(), requester }
    }

    /// No GPU is named.
    fn nobody(p: &HierFenceParams) -> Bits {
        lit(0, bits_for(u64::from(p.sys.gpus)))
    }

    /// Those of [`Acks::all`] at `of` that are for GPMs of the own GPU, if there are any.
    fn by_gpm<'a>(&'a self, p: &'a HierFenceParams, of: usize, order: FenceOrder) -> Option<Kind<'a>> {
        let owed = self.all()[of].as_ref()?;
        let says = move |gpm: Bits| Acks::of_home(p, p.node_of_gpm(gpm.resize(p.sys.gpm_bits())), order);
        Some(Kind { of, waits: owed.get(), says: Box::new(says) })
    }

    /// What leaves for GPMs of the own GPU.
    fn near<'a>(&'a self, p: &'a HierFenceParams) -> Vec<Kind<'a>> {
        let (low, bits) = (p.sys.gpm_bits(), p.sys.node_bits());
        let mut kinds: Vec<Kind> = Vec::new();
        kinds.extend(self.by_gpm(p, 0, FenceOrder::DrainFar));
        kinds.extend(self.by_gpm(p, 1, FenceOrder::DropFar));
        kinds.extend(self.by_gpm(p, 2, FenceOrder::MarkGpu));
        if let Some(owed) = &self.gpu_receipts {
            let says = move |number: Bits| {
                let (gpm, serial) = p.marker_of(number, low);
                let (origin, order) = (p.node_of_gpm(gpm), enum_lit(FenceOrder::MarkGpu).bits());
                Says { dst: origin, serial, origin, order, requester: Acks::nobody(p) }
            };
            kinds.push(Kind { of: 3, waits: owed.get(), says: Box::new(says) });
        }
        if let Some(home) = &self.sys_home {
            let to_requester = move |node: Bits| Acks::of_home(p, node, FenceOrder::MarkSys);
            let to_leader = move |gpu: Bits| {
                let leader = lit(u64::from(p.leader()), bits);
                let requester = gpu.resize(bits_for(u64::from(p.sys.gpus)));
                Says { requester, ..Acks::of_home(p, leader, FenceOrder::MarkSys) }
            };
            kinds.push(if p.joined() {
                Kind { of: 4, waits: home.get(), says: Box::new(to_leader) }
            } else {
                let waits = home.get() & p.node_mask(&p.near());
                Kind { of: 4, waits, says: Box::new(to_requester) }
            });
        }
        if let Some(receipts) = &self.sys_receipts {
            let says = move |number: Bits| {
                let (origin, serial) = p.marker_of(number, bits);
                // The marker of another GPU's home came from the own GPU's home for the same lines.
                let dst = if p.has(Part::Forwards) { p.node_of_gpm(p.sys.gpm_of(origin)) } else { origin };
                let order = enum_lit(FenceOrder::MarkSys).bits();
                Says { dst, serial, origin, order, requester: Acks::nobody(p) }
            };
            let waits = receipts.get() & Acks::rows(p, |origin| p.receipt_is_near(origin));
            kinds.push(Kind { of: 5, waits, says: Box::new(says) });
        }
        kinds.extend(self.by_gpm(p, 6, FenceOrder::MarkSys));
        kinds
    }

    /// What leaves for other GPUs.
    fn far<'a>(&'a self, p: &'a HierFenceParams) -> Vec<Kind<'a>> {
        let Some(receipts) = &self.sys_receipts else { return Vec::new() };
        let mut kinds: Vec<Kind> = Vec::new();
        if let Some(home) = self.sys_home.as_ref().filter(|_| !p.joined()) {
            let to_requester = move |node: Bits| Acks::of_home(p, node, FenceOrder::MarkSys);
            let waits = home.get() & !p.node_mask(&p.near());
            kinds.push(Kind { of: 4, waits, says: Box::new(to_requester) });
        }
        let to_origin = move |number: Bits| {
            let (origin, serial) = p.marker_of(number, p.sys.node_bits());
            let order = enum_lit(FenceOrder::MarkSys).bits();
            Says { dst: origin, serial, origin, order, requester: Acks::nobody(p) }
        };
        let waits = receipts.get() & Acks::rows(p, |origin| !p.receipt_is_near(origin));
        kinds.push(Kind { of: 5, waits, says: Box::new(to_origin) });
        if let Some(relayed) = &self.relayed {
            let to_leader = move |gpu: Bits| {
                let low = lit(0, p.sys.gpm_bits());
                let leader = cat(&[gpu.resize(p.sys.node_bits() - p.sys.gpm_bits()), low]);
                Acks::of_home(p, leader, FenceOrder::MarkSys)
            };
            kinds.push(Kind { of: 7, waits: relayed.get(), says: Box::new(to_leader) });
        }
        kinds
    }

    /// All markers of some origins.
    fn rows(p: &HierFenceParams, takes: impl Fn(u32) -> bool) -> Bits {
        let serials = p.serials();
        let mut mask = Bv::zero(p.sys.nodes() * serials);
        for origin in p.sys.all_nodes().into_iter().filter(|origin| takes(*origin)) {
            (0..serials).for_each(|serial| mask.set_bit(origin * serials + serial, true));
        }
        lit_bv(mask)
    }
}

/// The bit of this number, if `yes`.
fn hot(yes: Bool, number: Bits, width: u32) -> Bits {
    number.one_hot(width) & yes.repeat(width)
}
