//! The mesh of a hierarchical system: every message of the eight virtual networks arrives once, where it should; none waits for another; flits.

use std::sync::Arc;
use weft_blocks::common::grid::Grid;
use weft_blocks::common::join::{pass_in, pass_out};
use weft_rtl::prelude::*;
use weft_spandex::hmesi::msg::{HFwd, HReq, HRsp, HRspOp, HWb};
use weft_spandex::hmesi::net::{HNet, HStations, spread};
use weft_spandex::msg::{Fwd, Req, Rsp, Wb};
use weft_spandex::net::NetParams;
use weft_spandex::params::Spandex;
use weft_spandex_bench::bench::mail::Mail;
use weft_spandex_bench::bench::{Bench, Msg};

/// Channels of a kind of station: name, direction (true: towards the network), message.
type Channels = &'static [(&'static str, bool, Kind)];

#[derive(Clone, Copy)]
enum Kind {
    Req,
    Fwd,
    Wb,
    Rsp,
    HReq,
    HFwd,
    HWb,
    HRsp,
}

const CPU: Channels = &[
    ("req", true, Kind::HReq),
    ("wb", true, Kind::HWb),
    ("rsp_out", true, Kind::HRsp),
    ("fwd", false, Kind::HFwd),
    ("rsp", false, Kind::HRsp),
];
const CU: Channels = &[
    ("req", true, Kind::Req),
    ("wb", true, Kind::Wb),
    ("rsp_out", true, Kind::Rsp),
    ("fwd_out", true, Kind::Fwd),
    ("fwd", false, Kind::Fwd),
    ("rsp", false, Kind::Rsp),
];
const L2: Channels = &[
    ("req", false, Kind::Req),
    ("wb", false, Kind::Wb),
    ("rsp_in", false, Kind::Rsp),
    ("fwd", true, Kind::Fwd),
    ("rsp", true, Kind::Rsp),
    ("l3_req", true, Kind::HReq),
    ("l3_wb", true, Kind::HWb),
    ("l3_rsp_out", true, Kind::HRsp),
    ("l3_fwd", false, Kind::HFwd),
    ("l3_rsp", false, Kind::HRsp),
];
const L3: Channels = &[
    ("req", false, Kind::HReq),
    ("wb", false, Kind::HWb),
    ("rsp_in", false, Kind::HRsp),
    ("fwd", true, Kind::HFwd),
    ("rsp", true, Kind::HRsp),
];

/// Does something with a channel of the kind's message type.
macro_rules! of_kind {
    ($kind:expr, $f:ident ( $($arg:expr),* )) => {
        match $kind {
            Kind::Req => $f::<Req>($($arg),*),
            Kind::Fwd => $f::<Fwd>($($arg),*),
            Kind::Wb => $f::<Wb>($($arg),*),
            Kind::Rsp => $f::<Rsp>($($arg),*),
            Kind::HReq => $f::<HReq>($($arg),*),
            Kind::HFwd => $f::<HFwd>($($arg),*),
            Kind::HWb => $f::<HWb>($($arg),*),
            Kind::HRsp => $f::<HRsp>($($arg),*),
        }
    };
}

fn relay<T: Data<Shape = Spandex>>(from: &str, to: &str, s: &Spandex) {
    let (input, out) = (in_channel::<T>(from, s), out_channel::<T>(to, s));
    when(input.valid & out.free, || {
        out.send(&input.msg);
        input.take();
    });
}

/// Hands messages on between a station's channels and the outside: `x_NAME` for each.
fn post(name: &str, s: &Spandex, channels: Channels) -> Arc<Module> {
    Module::build(name, ModuleKind::Block, || {
        for (channel, out, kind) in channels {
            let outer = format!("x_{channel}");
            let (from, to) = if *out { (outer.as_str(), *channel) } else { (*channel, outer.as_str()) };
            of_kind!(kind, relay(from, to, s));
        }
    })
    .expect("legal")
}

fn outer_in<T: Data<Shape = Spandex>>(part: &InstanceRef, inner: &str, outer: &str, s: &Spandex) {
    pass_in::<T>(part, inner, outer, s);
}
fn outer_out<T: Data<Shape = Spandex>>(part: &InstanceRef, inner: &str, outer: &str, s: &Spandex) {
    pass_out::<T>(part, inner, outer, s);
}
fn source<T: Data<Shape = Spandex>>(b: &mut Bench, name: &str, s: &Spandex) {
    b.source::<T>(name, s);
}
fn sink<T: Data<Shape = Spandex>>(b: &mut Bench, name: &str, s: &Spandex) {
    b.sink::<T>(name, s);
}
fn message<T: Data<Shape = Spandex>>(s: &Spandex, fields: &[(&str, u64)]) -> Msg {
    Msg::of::<T>(s, fields)
}

/// A station: its name, node and channels.
type Station = (String, u32, Channels);

fn stations(s: &Spandex) -> Vec<Station> {
    let device = |d: u32| (format!("d{d}"), d, if d < s.cpus { CPU } else { CU });
    let l2 = |b: u32| (format!("m{b}"), s.l2_node(b), L2);
    let l3 = |b: u32| (format!("t{b}"), s.l3_node(b), L3);
    (0..s.devs()).map(device).chain((0..s.banks).map(l2)).chain((0..s.banks).map(l3)).collect()
}

/// Four CPU cores, six CUs and four banks of each level on a mesh.
fn system(columns: u32, rows: u32, hop: u32) -> (Spandex, NetParams, Arc<Module>) {
    let base = Spandex { cpus: 4, cus: 6, sharers: 4, banks: 4, addr_bits: 32, ..Spandex::default() };
    let s = Spandex { mshrs: 8, sb: 8, wbb: 4, tbes: 4, ..base };
    let p = NetParams { hop, ni: 1, ..spread(&s, Grid { columns, rows }) };
    let net = HNet::new(&s, &p).expect("legal");
    let kinds = [("cpu", CPU), ("cu", CU), ("l2", L2), ("l3", L3)];
    let posts = kinds.map(|(name, channels)| post(&format!("{name}_post"), &s, channels));
    let module = Module::build(&format!("h_mail_{}", p.name_part()), ModuleKind::Fabric, || {
        let parts: Vec<InstanceRef> = stations(&s)
            .iter()
            .map(|(name, node, channels)| {
                let kind = match *node {
                    n if n < s.cpus => 0,
                    n if n < s.devs() => 1,
                    n if n < s.l3_node(0) => 2,
                    _ => 3,
                };
                let part = instance(&format!("post_{name}"), &posts[kind]);
                for (channel, out, of) in *channels {
                    let (inner, outer) = (format!("x_{channel}"), format!("{name}_{channel}"));
                    if *out {
                        of_kind!(of, outer_in(&part, &inner, &outer, &s));
                    } else {
                        of_kind!(of, outer_out(&part, &inner, &outer, &s));
                    }
                }
                part
            })
            .collect();
        let (devices, banks) = parts.split_at(s.devs() as usize);
        let (l2s, l3s) = banks.split_at(s.banks as usize);
        let all = HStations { devices: devices.to_vec(), l2s: l2s.to_vec(), l3s: l3s.to_vec() };
        net.wire(&s, &all);
    })
    .expect("legal");
    (s, p, module)
}

struct World {
    mail: Mail,
    s: Spandex,
    stations: Vec<Station>,
}

impl World {
    fn new(columns: u32, rows: u32, hop: u32, seed: u64) -> World {
        let (s, _, module) = system(columns, rows, hop);
        let mut b = Bench::new(&module, seed);
        let stations = stations(&s);
        for (name, _, channels) in &stations {
            for (channel, out, kind) in *channels {
                let port = format!("{name}_{channel}");
                if *out {
                    of_kind!(kind, source(&mut b, &port, &s));
                } else {
                    of_kind!(kind, sink(&mut b, &port, &s));
                }
            }
        }
        World { mail: Mail::new(b, "line"), s, stations }
    }

    /// Sends a message out of a station's channel to another's.
    fn send(&mut self, (from, out): (u32, &str), (to, into): (u32, &str)) {
        let number = self.mail.next;
        let (name, _, channels) = self.stations[from as usize].clone();
        let kind = channels.iter().find(|c| c.0 == out && c.1).expect("a channel").2;
        let op = match kind {
            Kind::HRsp => [HRspOp::DataM, HRspOp::InvAck][number as usize % 2] as u64,
            _ => 0,
        };
        let dst = u64::from(self.stations[to as usize].1);
        let fields = [("line", number), ("dst", dst), ("op", op), ("mask", 0), ("dirty", number % 2)];
        let has = |name: &str| match kind {
            Kind::Req | Kind::Fwd | Kind::Rsp => !matches!(name, "dirty"),
            Kind::Wb => !matches!(name, "op"),
            Kind::HReq | Kind::HFwd => !matches!(name, "mask" | "dirty"),
            Kind::HWb => !matches!(name, "op" | "mask"),
            Kind::HRsp => !matches!(name, "mask"),
        };
        let fields: Vec<(&str, u64)> = fields.into_iter().filter(|f| has(f.0)).collect();
        let msg = of_kind!(kind, message(&self.s, &fields));
        let sink = format!("{}_{into}", self.stations[to as usize].0);
        self.mail.post(&format!("{name}_{out}"), sink, msg);
    }
}

/// Pairs of channels, by sort of station: 0 CPU, 1 CU, 2 L2, 3 L3.
const WAYS: [((u32, &str), (u32, &str)); 19] = [
    ((0, "req"), (3, "req")),
    ((2, "l3_req"), (3, "req")),
    ((0, "wb"), (3, "wb")),
    ((2, "l3_wb"), (3, "wb")),
    ((3, "fwd"), (0, "fwd")),
    ((3, "fwd"), (2, "l3_fwd")),
    ((0, "rsp_out"), (0, "rsp")),
    ((0, "rsp_out"), (2, "l3_rsp")),
    ((0, "rsp_out"), (3, "rsp_in")),
    ((2, "l3_rsp_out"), (0, "rsp")),
    ((2, "l3_rsp_out"), (3, "rsp_in")),
    ((3, "rsp"), (0, "rsp")),
    ((3, "rsp"), (2, "l3_rsp")),
    ((1, "req"), (2, "req")),
    ((1, "wb"), (2, "wb")),
    ((1, "fwd_out"), (1, "fwd")),
    ((2, "fwd"), (1, "fwd")),
    ((1, "rsp_out"), (2, "rsp_in")),
    ((2, "rsp"), (1, "rsp")),
];

fn pick(w: &World, sort: u32, number: u64) -> u32 {
    let (first, count) = match sort {
        0 => (0, w.s.cpus),
        1 => (w.s.cpus, w.s.cus),
        2 => (w.s.devs(), w.s.banks),
        _ => (w.s.devs() + w.s.banks, w.s.banks),
    };
    first + (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as u32 % count
}

#[test]
fn every_message_arrives_once_where_it_should() {
    for (seed, (columns, rows, hop)) in [(3, 2, 3), (2, 2, 1), (1, 1, 3), (5, 1, 8)].into_iter().enumerate() {
        let mut w = World::new(columns, rows, hop, seed as u64);
        for round in 0..1_500u64 {
            if round % 100 == 0 {
                let chance = [0.1, 0.5, 1.0][(round / 100 % 3) as usize];
                w.mail.b.sinks.values_mut().for_each(|sink| sink.chance = chance);
            }
            let ((from, out), (to, into)) = WAYS[round as usize % WAYS.len()];
            let ends = (pick(&w, from, round), pick(&w, to, round + 7_777));
            w.send((ends.0, out), (ends.1, into));
            w.mail.step();
        }
        w.mail.drain();
        assert_eq!(w.mail.took.len(), 1_500);
    }
}

/// One network that nobody takes from is full from end to end; all others run through the same links.
#[test]
fn no_network_waits_for_another() {
    let mut w = World::new(4, 1, 3, 11);
    // From the third column to the first: CPU 1 to CPU 0, CU 2 to CU 0, bank 2 to bank 0.
    let (cpus, devs, banks) = (w.s.cpus, w.s.devs(), w.s.banks);
    let end = |sort: u32, last: bool| match sort {
        0 => u32::from(last),
        1 => cpus + 2 * u32::from(last),
        2 => devs + 2 * u32::from(last),
        _ => devs + banks + 2 * u32::from(last),
    };
    // One way of each network.
    let ways = [0, 2, 4, 11, 13, 14, 15, 18].map(|i: usize| WAYS[i]);
    for blocked in 0..ways.len() {
        let send = |w: &mut World, way: usize| {
            let ((from, out), (to, into)) = ways[way];
            w.send((end(from, true), out), (end(to, false), into));
        };
        let (to, into) = ways[blocked].1;
        let sink = format!("{}_{into}", w.stations[end(to, false) as usize].0);
        w.mail.b.sink_mut(&sink).chance = 0.0;
        (0..60).for_each(|_| send(&mut w, blocked));
        (0..400).for_each(|_| w.mail.step());
        assert_eq!(w.mail.sent.len(), 60, "{sink} is blocked");
        for other in (0..ways.len()).filter(|other| *other != blocked) {
            (0..20).for_each(|_| send(&mut w, other));
        }
        (0..4_000).for_each(|_| w.mail.step());
        assert_eq!(w.mail.sent.len(), 60, "the others arrive while {sink} is blocked");
        w.mail.drain();
    }
}

#[test]
fn networks_that_cannot_be_built_are_refused() {
    let s = Spandex::default();
    let p = spread(&s, Grid { columns: 4, rows: 4 });
    assert_eq!(p.places.len() as u32, s.h_nodes());
    assert_eq!(p.places[s.l2_node(5) as usize], p.places[s.l3_node(5) as usize], "bank b with bank b");
    for bad in [NetParams { hop: 0, ..p.clone() }, NetParams { places: p.places[1..].to_vec(), ..p }] {
        let error = HNet::new(&s, &bad).map(|_| ()).expect_err("illegal").to_string();
        assert!(error.contains("legal:"), "{error}");
    }
}
