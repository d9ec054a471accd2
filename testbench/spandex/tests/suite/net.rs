//! The mesh of Spandex, and the rails between meshes: every message arrives once, where it should, whatever the back-pressure; hops take their time and messages their flits; no virtual network waits for another.

use std::collections::BTreeSet;
use std::sync::Arc;
use weft_blocks::common::grid::Grid;
use weft_blocks::common::join::{pass_in, pass_out};
use weft_rtl::area::area;
use weft_rtl::prelude::*;
use weft_spandex::msg::{Fwd, FwdOp, Req, ReqOp, Rsp, RspOp, Wb};
use weft_spandex::net::link::LinkParams;
use weft_spandex::net::router::BLOCK;
use weft_spandex::net::{Net, NetParams, Stations};
use weft_spandex::params::Spandex;
use weft_spandex_bench::bench::mail::Mail;
use weft_spandex_bench::bench::{Bench, Msg};

/// Hands messages on between a station's channels and the outside: `x_NAME` for each.
fn post(name: &str, s: &Spandex, bank: bool) -> Arc<Module> {
    fn relay<T: Data<Shape = Spandex>>(from: &str, to: &str, s: &Spandex) {
        let (input, out) = (in_channel::<T>(from, s), out_channel::<T>(to, s));
        when(input.valid & out.free, || {
            out.send(&input.msg);
            input.take();
        });
    }
    Module::build(name, ModuleKind::Block, || {
        if bank {
            relay::<Req>("req", "x_req", s);
            relay::<Wb>("wb", "x_wb", s);
            relay::<Rsp>("rsp_in", "x_rsp_in", s);
            relay::<Fwd>("x_fwd", "fwd", s);
            relay::<Rsp>("x_rsp", "rsp", s);
        } else {
            relay::<Req>("x_req", "req", s);
            relay::<Wb>("x_wb", "wb", s);
            relay::<Rsp>("x_rsp_out", "rsp_out", s);
            relay::<Fwd>("x_fwd_out", "fwd_out", s);
            relay::<Fwd>("fwd", "x_fwd", s);
            relay::<Rsp>("rsp", "x_rsp", s);
        }
    })
    .expect("legal")
}

struct World {
    mail: Mail,
    s: Spandex,
    p: NetParams,
}

/// Four CPU cores, six CUs and four banks on a mesh.
fn world(columns: u32, rows: u32, hop: u32, ni: u32, seed: u64) -> World {
    let s = small();
    let p = NetParams { hop, ni, ..NetParams::spread(&s, Grid { columns, rows }) };
    world_of(s, p, seed)
}

/// Four GPUs, each with a core, two CUs and two banks on a mesh of these columns and two rows.
fn four_gpus(columns: u32, link: LinkParams, seed: u64) -> World {
    let s = Spandex { cus: 8, banks: 8, gpus: 4, home_shift: 20, ..small() };
    let spread = NetParams::spread(&s, Grid { columns, rows: 2 });
    world_of(s, NetParams { link: Some(link), ..spread }, seed)
}

fn small() -> Spandex {
    Spandex {
        cpus: 4,
        cus: 6,
        sharers: 4,
        banks: 4,
        addr_bits: 32,
        mshrs: 8,
        sb: 8,
        wbb: 4,
        tbes: 4,
        ..Spandex::default()
    }
}

fn world_of(s: Spandex, p: NetParams, seed: u64) -> World {
    let net = Net::new(&s, &p).expect("legal");
    let (device, bank) = (post("device_post", &s, false), post("bank_post", &s, true));
    let module = Module::build(&format!("mail_{}", p.name_part()), ModuleKind::Fabric, || {
        let many = |name: &str, module: &Arc<Module>, n: u32| -> Vec<InstanceRef> {
            (0..n).map(|i| instance(&format!("{name}{i}"), module)).collect()
        };
        let stations =
            Stations { devices: many("device", &device, s.devs()), banks: many("bank", &bank, s.banks) };
        for (d, part) in stations.devices.iter().enumerate() {
            pass_in::<Req>(part, "x_req", &format!("d{d}_req"), &s);
            pass_in::<Wb>(part, "x_wb", &format!("d{d}_wb"), &s);
            pass_in::<Rsp>(part, "x_rsp_out", &format!("d{d}_rsp_out"), &s);
            pass_in::<Fwd>(part, "x_fwd_out", &format!("d{d}_fwd_out"), &s);
            pass_out::<Fwd>(part, "x_fwd", &format!("d{d}_fwd"), &s);
            pass_out::<Rsp>(part, "x_rsp", &format!("d{d}_rsp"), &s);
        }
        for (b, part) in stations.banks.iter().enumerate() {
            pass_out::<Req>(part, "x_req", &format!("b{b}_req"), &s);
            pass_out::<Wb>(part, "x_wb", &format!("b{b}_wb"), &s);
            pass_out::<Rsp>(part, "x_rsp_in", &format!("b{b}_rsp_in"), &s);
            pass_in::<Fwd>(part, "x_fwd", &format!("b{b}_fwd"), &s);
            pass_in::<Rsp>(part, "x_rsp", &format!("b{b}_rsp"), &s);
        }
        net.wire(&s, &stations);
    })
    .expect("legal");
    let mut b = Bench::new(&module, seed);
    for d in 0..s.devs() {
        b.source::<Req>(&format!("d{d}_req"), &s);
        b.source::<Wb>(&format!("d{d}_wb"), &s);
        b.source::<Rsp>(&format!("d{d}_rsp_out"), &s);
        b.source::<Fwd>(&format!("d{d}_fwd_out"), &s);
        b.sink::<Fwd>(&format!("d{d}_fwd"), &s);
        b.sink::<Rsp>(&format!("d{d}_rsp"), &s);
    }
    for bank in 0..s.banks {
        b.sink::<Req>(&format!("b{bank}_req"), &s);
        b.sink::<Wb>(&format!("b{bank}_wb"), &s);
        b.sink::<Rsp>(&format!("b{bank}_rsp_in"), &s);
        b.source::<Fwd>(&format!("b{bank}_fwd"), &s);
        b.source::<Rsp>(&format!("b{bank}_rsp"), &s);
    }
    World { mail: Mail::new(b, "line"), s, p }
}

impl World {
    /// Sends a message with so many words of data; its number. `from`, `to` are nodes of the system.
    fn send(&mut self, net: &str, from: u32, to: u32, words: u32) -> u64 {
        let (devs, number) = (self.s.devs(), self.mail.next);
        let mask = (1u64 << words) - 1;
        let base = [("line", number), ("mask", mask), ("dst", u64::from(to))];
        let fields = |op: Option<u64>| -> Vec<(&'static str, u64)> {
            base.into_iter().chain(op.map(|op| ("op", op))).collect()
        };
        let (out, into, msg) = match net {
            "req" => {
                let op = if words == 0 { ReqOp::ReqV } else { ReqOp::ReqWt };
                let msg = Msg::of::<Req>(&self.s, &fields(Some(op as u64)));
                (format!("d{from}_req"), format!("b{}_req", to - devs), msg)
            }
            "wb" => {
                (format!("d{from}_wb"), format!("b{}_wb", to - devs), Msg::of::<Wb>(&self.s, &fields(None)))
            }
            "fwd" => {
                let op = if words == 0 { FwdOp::ReqO } else { FwdOp::ReqWt };
                let msg = Msg::of::<Fwd>(&self.s, &fields(Some(op as u64)));
                let out =
                    if from < devs { format!("d{from}_fwd_out") } else { format!("b{}_fwd", from - devs) };
                (out, format!("d{to}_fwd"), msg)
            }
            _ => {
                let op = if words == 0 { RspOp::RspO } else { RspOp::RspV };
                let msg = Msg::of::<Rsp>(&self.s, &[&fields(Some(op as u64))[..], &[("extra", 0)]].concat());
                let out =
                    if from < devs { format!("d{from}_rsp_out") } else { format!("b{}_rsp", from - devs) };
                let into = if to < devs { format!("d{to}_rsp") } else { format!("b{}_rsp_in", to - devs) };
                (out, into, msg)
            }
        };
        self.mail.post(&out, into, msg)
    }

    /// Cycles of one message alone.
    fn alone(&mut self, net: &str, from: u32, to: u32, words: u32) -> u64 {
        let number = self.send(net, from, to, words);
        self.mail.drain();
        self.mail.took[&number]
    }
}

#[test]
fn every_message_arrives_once_where_it_should() {
    for (seed, (columns, rows, hop, ni)) in
        [(3, 2, 3, 0), (2, 2, 1, 2), (1, 1, 3, 0), (5, 1, 8, 3)].into_iter().enumerate()
    {
        everywhere(world(columns, rows, hop, ni, seed as u64));
    }
}

/// Links of few bytes, and of few places, are full all the time.
#[test]
fn every_message_arrives_across_gpus() {
    let links = [(3, 5, 20, 16), (1, 16, 2, 1), (2, 1, 7, 2)];
    for (seed, (columns, bytes, latency, credits)) in links.into_iter().enumerate() {
        everywhere(four_gpus(columns, LinkParams { bytes, latency, credits }, seed as u64));
    }
}

/// Messages of all lengths between all nodes.
fn everywhere(mut w: World) {
    let (devs, nodes) = (w.s.devs(), w.s.nodes());
    for round in 0..1_500u64 {
        if round % 100 == 0 {
            let chance = [0.1, 0.5, 1.0][(round / 100 % 3) as usize];
            w.mail.b.sinks.values_mut().for_each(|sink| sink.chance = chance);
        }
        // A mixture that needs no random numbers of its own: every pair of nodes, every length.
        let pick = |n: u64| {
            (round.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(n.wrapping_mul(0xbf58_476d_1ce4_e5b9))
                >> 33) as u32
        };
        let words = pick(1) % 17;
        match round % 4 {
            0 => w.send("req", pick(2) % devs, devs + pick(3) % w.s.banks, words),
            1 => w.send("wb", pick(2) % devs, devs + pick(3) % w.s.banks, words.max(1)),
            2 => w.send("fwd", pick(2) % nodes, pick(3) % devs, words),
            _ => w.send("rsp", pick(2) % nodes, pick(3) % nodes, words),
        };
        w.mail.step();
    }
    w.mail.drain();
    assert_eq!(w.mail.took.len(), 1_500);
}

/// A message takes a router's cycle and `hop` for each hop, whatever its length, beside what is fixed.
#[test]
fn hops_take_their_time() {
    for hop in [1, 3] {
        let mut w = world(4, 3, hop, 0, 7);
        let mut fixed = Vec::new();
        w.alone("wb", 4, 10, 1);
        for (from, to) in [(4, 10), (4, 13), (9, 10), (5, 12), (0, 11)] {
            let hops = w.p.hops(from, to);
            let cycles = w.alone("wb", from, to, 16);
            fixed.push(cycles - u64::from(hops * hop));
        }
        // Where two devices stand at a node, merging them takes a cycle.
        let (least, most) = (fixed.iter().min().expect("some"), fixed.iter().max().expect("some"));
        assert!(most - least <= 1, "{hop}: {fixed:?}");
    }
}

/// Injection waits, as long as it is said.
#[test]
fn the_interface_takes_its_time() {
    let cycles = |ni| world(2, 1, 3, ni, 8).alone("req", 4, 12, 0);
    assert_eq!(cycles(20) - cycles(0), 20);
}

/// A line of 16 words is five flits: so often a link carries one.
#[test]
fn messages_occupy_links_by_their_flits() {
    let mut w = world(5, 1, 3, 0, 9);
    for (words, flits) in [(0, 1), (1, 2), (4, 2), (5, 3), (16, 5)] {
        let first = w.mail.next;
        (0..40).for_each(|_| {
            w.send("req", 8, w.s.devs(), words);
        });
        let begun = w.mail.b.sim.cycle();
        w.mail.drain();
        let cycles = w.mail.b.sim.cycle() - begun;
        let expected = w.mail.took[&first] + 39 * flits;
        assert!(
            cycles.abs_diff(expected) <= 2,
            "{words} words: {cycles} cycles of 40 messages, not {expected}"
        );
    }
}

/// Two networks on one link: each gets half of it.
#[test]
fn networks_share_a_link() {
    let mut w = world(5, 1, 3, 0, 10);
    (0..40).for_each(|_| {
        w.send("req", 8, w.s.devs(), 16);
        w.send("wb", 8, w.s.devs(), 16);
    });
    let begun = w.mail.b.sim.cycle();
    w.mail.drain();
    let cycles = w.mail.b.sim.cycle() - begun;
    assert!((400..460).contains(&cycles), "{cycles} cycles for 80 messages of 5 flits");
    for race in ["nets_meet", "link_is_busy"] {
        assert!(w.mail.b.counted(&format!("spandex.race.router_{race}")) > 0, "{race}");
    }
}

/// One network that nobody takes from is full from end to end; the three others run through the same links.
#[test]
fn no_network_waits_for_another() {
    let mut w = world(5, 1, 3, 0, 11);
    let devs = w.s.devs();
    for blocked in ["req", "fwd", "wb", "rsp"] {
        let (from, bank, device) = (8, devs, 4);
        let to = |net: &str| if matches!(net, "req" | "wb") { bank } else { device };
        let sink = match blocked {
            "req" | "wb" => format!("b0_{blocked}"),
            _ => format!("d4_{blocked}"),
        };
        w.mail.b.sink_mut(&sink).chance = 0.0;
        (0..60).for_each(|_| {
            w.send(blocked, from, to(blocked), 1);
        });
        (0..400).for_each(|_| w.mail.step());
        let stuck = w.mail.sent.len();
        assert_eq!(stuck, 60, "{blocked} is blocked");
        for other in ["req", "fwd", "wb", "rsp"].into_iter().filter(|net| *net != blocked) {
            (0..20).for_each(|_| {
                w.send(other, from, to(other), 16);
            });
        }
        let passed = |w: &World| w.mail.b.counted("spandex.race.router_blocked_is_passed");
        let before = passed(&w);
        (0..2_000).for_each(|_| w.mail.step());
        assert_eq!(w.mail.sent.len(), 60, "the others arrive while {blocked} is blocked");
        assert!(passed(&w) > before, "on the links where it waits");
        w.mail.drain();
    }
}

/// To another GPU a message takes its hops, one of which is the crossing, and both links their latency and the time of its bytes.
#[test]
fn links_between_gpus_take_their_time() {
    for (bytes, latency, columns) in [(5, 20, 2), (16, 70, 2), (10, 140, 3)] {
        let mut w = four_gpus(columns, LinkParams { bytes, latency, credits: 16 }, 13);
        let (devs, banks) = (w.s.devs(), w.s.banks);
        w.alone("wb", 0, devs, 1);
        let mut seen = BTreeSet::new();
        for (device, bank) in (w.s.cpus..devs).flat_map(|d| (0..banks).map(move |b| (d, b))) {
            let (from, to) = (w.p.places[device as usize], w.p.places[(devs + bank) as usize]);
            let (hops, crosses) = (w.p.distance(from, to), w.p.crosses(from, to));
            for (words, length) in [(4, 32), (16, 80)] {
                let link = 2 * (latency + (length / bytes).max(1)) + CROSSING;
                let way = if crosses { link + 3 * (hops - 1) } else { 3 * hops };
                seen.insert(w.alone("wb", device, devs + bank, words) - u64::from(way));
            }
        }
        // Router, split and port; where a core stands too, requests are merged, which takes a cycle.
        assert_eq!(Vec::from_iter(seen), [3, 4], "{bytes} {latency}");
    }
}

/// Of the crossing itself: the router at the row's end, and the switch.
const CROSSING: u32 = 2;

/// The rails carry a network while another, which nobody takes from in one GPU, is full from end to end.
#[test]
fn no_network_waits_for_another_across_gpus() {
    let mut w = four_gpus(2, LinkParams { bytes: 8, latency: 10, credits: 4 }, 14);
    let devs = w.s.devs();
    // A CU of GPU 0; a bank and a CU of GPU 3, which stand at one router.
    let (from, bank, device) = (4, devs + 6, 10);
    assert!(w.p.crosses(w.p.places[from as usize], w.p.places[bank as usize]));
    for blocked in ["req", "fwd", "wb", "rsp"] {
        let to = |net: &str| if matches!(net, "req" | "wb") { bank } else { device };
        let sink = if to(blocked) == bank { format!("b6_{blocked}") } else { format!("d10_{blocked}") };
        w.mail.b.sink_mut(&sink).chance = 0.0;
        (0..100).for_each(|_| {
            w.send(blocked, from, to(blocked), 1);
        });
        (0..2_000).for_each(|_| w.mail.step());
        assert_eq!(w.mail.sent.len(), 100, "{blocked} is blocked");
        for other in ["req", "fwd", "wb", "rsp"].into_iter().filter(|net| *net != blocked) {
            (0..20).for_each(|_| {
                w.send(other, from, to(other), 16);
            });
        }
        (0..4_000).for_each(|_| w.mail.step());
        assert_eq!(w.mail.sent.len(), 100, "the others arrive while {blocked} is blocked");
        w.mail.drain();
    }
}

#[test]
fn a_network_without_traffic_sleeps() {
    let mut w = world(3, 2, 3, 1, 12);
    w.alone("req", 4, 10, 3);
    w.mail.b.falls_asleep(60);
}

#[test]
fn networks_that_cannot_be_built_are_refused() {
    let s = Spandex::default();
    let p = NetParams::spread(&s, Grid { columns: 4, rows: 4 });
    assert_eq!(p.places[..4], [0, 2, 4, 6], "CPU cores stand at even nodes");
    for bad in [
        NetParams { hop: 0, ..p.clone() },
        NetParams { hop: 9, ..p.clone() },
        NetParams { ni: 65, ..p.clone() },
        NetParams { grid: Grid { columns: 17, rows: 1 }, ..p.clone() },
        NetParams { grid: Grid { columns: 2, rows: 2 }, ..p.clone() },
        NetParams { places: p.places[1..].to_vec(), ..p.clone() },
        NetParams { link: Some(LinkParams { bytes: 16, latency: 70, credits: 8 }), ..p.clone() },
        NetParams { controllers: vec![0, 3, 12], ..p },
    ] {
        let error = Net::new(&s, &bad).map(|_| ()).expect_err("illegal").to_string();
        assert!(error.contains("legal:"), "{error}");
    }
}

/// The router by name is that of the published places.
#[test]
fn the_router_is_a_block() {
    let info = weft_spandex::blocks().into_iter().find(|b| b.name == BLOCK).expect("listed");
    let (s, grid) = (Spandex::default(), Grid { columns: 4, rows: 4 });
    let published = info.with(&[]).expect("legal");
    assert_eq!(published.name, NetParams::spread(&s, grid).router(&s).expect("legal").name);
    // Of each port which input of each network and which network is served next, the flits that are left, and of each network two messages that came and one on its way out.
    let messages = width_of::<Req>(&s) + width_of::<Fwd>(&s) + width_of::<Wb>(&s) + width_of::<Rsp>(&s);
    let handshakes = 4 * 4;
    let bits = 5 * u64::from(4 * 3 + 2 + s.flit_bits() + handshakes + 3 * messages);
    assert_eq!((area(&published).total_bits, area(&published).memory_bits), (bits, 0));
    for set in [&[("columns", "1"), ("rows", "16"), ("cus", "64")][..], &[("columns", "16"), ("rows", "1")]] {
        weft_rtl::lower::flatten(&info.with(set).expect("legal")).expect("flattens");
    }
    assert!(published.port("gpu").is_none(), "one GPU");
    let four = info.with(&[("gpus", "4")]).expect("legal");
    let gpu = four.ports().find(|(_, port)| port.name == "gpu");
    assert_eq!(gpu.map(|(_, port)| port.width), Some(2));
    weft_rtl::lower::flatten(&four).expect("flattens");
}

#[test]
fn gpus_that_cannot_be_built_are_refused() {
    let s = Spandex { cus: 8, banks: 8, gpus: 4, home_shift: 20, ..small() };
    let link = Some(LinkParams { bytes: 16, latency: 70, credits: 8 });
    let p = NetParams { link, ..NetParams::spread(&s, Grid { columns: 2, rows: 2 }) };
    assert!(Net::new(&s, &p).is_ok());
    assert_eq!((s.unit(1), s.unit(4), s.unit(11)), ((1, 0), (0, 1), (3, 2)), "the first GPU's first");
    assert_eq!(NetParams::corners(p.grid, 4, 2), [0, 3, 4, 7, 8, 11, 12, 15]);
    for (s, p, words) in [
        (Spandex { gpus: 3, ..s.clone() }, p.clone(), "gpus = 3"),
        (Spandex { cpus: 6, ..s.clone() }, p.clone(), "cpus = 6"),
        (Spandex { cus: 6, ..s.clone() }, p.clone(), "cus = 6"),
        (Spandex { banks: 2, ..s.clone() }, p.clone(), "banks = 2"),
        (Spandex { home_shift: 31, ..s.clone() }, p.clone(), "home_shift = 31"),
        (s.clone(), NetParams { link: None, ..p.clone() }, "link = None"),
        (s.clone(), NetParams { controllers: vec![0, 1, 2, 3], ..p.clone() }, "controllers = [0, 1, 2, 3]"),
        (s, NetParams { places: p.places.iter().map(|place| place + 3).collect(), ..p }, "places = "),
    ] {
        let error = Net::new(&s, &p).map(|_| ()).expect_err(words).to_string();
        assert!(error.contains(words) && error.contains("legal:"), "{error}");
    }
}
