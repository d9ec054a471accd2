//! Times of single accesses to a Spandex system at rest, beside those of the published one (spandex.md section 1, Table 5.6).

use weft_blocks::msg::CuOp;
use weft_engine::{Design, Options, Sim};
use weft_fabric::config::FabricConfig;
use weft_fabric::family::Surroundings;
use weft_fabric::memory::Memory;
use weft_rtl::prelude::*;

/// A system at rest.
struct Bench {
    sim: Sim,
    around: Box<dyn Surroundings>,
    banks: u64,
    /// Lines not touched yet: the next one of each bank.
    next: u64,
    /// Beginning of the ports of each device.
    ports: Vec<String>,
}

/// CPU cores of the published system; CUs follow.
const CORES: u64 = 8;
/// All of its devices.
const DEVICES: u64 = 24;

impl Bench {
    fn new(changes: &[&str]) -> Bench {
        Bench::of("spandex-soc", changes, (0..DEVICES).map(|d| format!("g0_cu{d}_")).collect())
    }

    /// Four GPUs; CPU cores first, then CUs, those of the first GPU first.
    fn four_gpus(changes: &[&str]) -> Bench {
        let port = |d: u64| match d.checked_sub(CORES) {
            None => format!("g{}_cu{}_", d / 2, d % 2),
            Some(cu) => format!("g{}_cu{}_", cu / 16, 2 + cu % 16),
        };
        Bench::of("spandex-4gpu", changes, (0..CORES + 4 * 16).map(port).collect())
    }

    fn of(fabric: &str, changes: &[&str], ports: Vec<String>) -> Bench {
        let mut config = FabricConfig::load(fabric).expect("built in");
        changes.iter().for_each(|change| config.set(change).unwrap_or_else(|e| panic!("{e}")));
        let hardware = config.hardware();
        let module = hardware.module().unwrap_or_else(|e| panic!("{e}"));
        let design = Design::new(&module, Options::default()).unwrap_or_else(|e| panic!("{e}"));
        let mut sim = Sim::new(&design);
        let around = hardware.surroundings(&mut sim, Memory::new()).unwrap_or_else(|e| panic!("{e}"));
        for port in &ports {
            let ready = sim.input(&format!("{port}rsp_ready")).expect("a port of a device");
            sim.set(ready, 1);
        }
        let mut bench = Bench { sim, around, banks: 16, next: 0, ports };
        bench.settle();
        bench
    }

    fn step(&mut self) {
        self.around.tick(&mut self.sim).map_err(|p| p.text).expect("legal at the ports");
        self.sim.step();
        assert!(self.sim.failures().is_empty(), "{:?}", self.sim.failures());
    }

    fn settle(&mut self) {
        while !(self.sim.asleep() && self.around.is_idle()) {
            self.step();
        }
    }

    fn get(&mut self, name: &str) -> u64 {
        let port = self.sim.output(name).unwrap_or_else(|| panic!("{name}"));
        self.sim.get(port)
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.sim.input(name).unwrap_or_else(|| panic!("{name}"));
        self.sim.set(port, value);
    }

    /// Cycles from the one in which the L1 of a device takes an access to the first word of a line until that in which it answers; everything rests afterwards.
    fn access(&mut self, device: u64, op: CuOp, line: u64) -> u64 {
        let port = self.ports[device as usize].clone();
        for (field, value) in
            [("op", op.encoding()), ("line", line), ("mask", 0xf), ("want_ack", 1), ("valid", 1)]
        {
            self.set(&format!("{port}req_{field}"), value);
        }
        while self.get(&format!("{port}req_ready")) == 0 {
            self.step();
        }
        let begun = self.sim.cycle();
        self.step();
        self.set(&format!("{port}req_valid"), 0);
        while self.get(&format!("{port}rsp_valid")) == 0 {
            self.step();
        }
        let took = self.sim.cycle() - begun;
        self.settle();
        took
    }

    /// A line of a bank that nobody has touched.
    fn line(&mut self, bank: u64) -> u64 {
        self.next += 1;
        // Sets of L1s and banks change with every line.
        self.next * self.banks + bank
    }
}

/// Where a device and a bank stand: cores on even nodes of the 4 x 4 mesh, a CU and a bank on every one.
fn hops(from: u64, to: u64) -> u64 {
    (from % 4).abs_diff(to % 4) + (from / 4).abs_diff(to / 4)
}

fn place(device: u64) -> u64 {
    if device < CORES { 2 * device } else { device - CORES }
}

/// A bank's controller is at a corner.
fn corner(bank: u64) -> u64 {
    [0, 15, 3, 12][bank as usize % 4]
}

/// Cycles of an access are those until its answer leaves the L1; the register at its port is not one of them. A CU has its answer two cycles earlier than a core, whose translation unit
/// gathers the line first, and one more at a node without a core, where no requests are merged.
fn told(cycles: u64, device: u64) -> u64 {
    let early = if device < CORES { 0 } else { 2 + place(device) % 2 };
    cycles - 1 + early
}

/// What was measured.
#[derive(Debug, Default)]
struct Seen(Vec<u64>);

impl Seen {
    fn range(&self) -> (u64, u64) {
        (*self.0.iter().min().expect("measured"), *self.0.iter().max().expect("measured"))
    }

    /// The middle of the range is that of the published one, to a cycle.
    fn is_like(&self, least: u64, most: u64) {
        let (low, high) = self.range();
        assert!((low + high).abs_diff(least + most) <= 2, "{low}..{high} beside {least}..{most}");
    }
}

#[test]
fn hits_of_every_device_take_a_cycle() {
    let mut b = Bench::new(&[]);
    for device in 0..DEVICES {
        let line = b.line(device % 16);
        b.access(device, CuOp::Ld, line);
        assert_eq!(b.access(device, CuOp::Ld, line) - 1, 1, "device {device}");
    }
}

/// 27 cycles and 6 per hop: the request's and the answer's.
#[test]
fn hits_in_the_llc() {
    let mut b = Bench::new(&[]);
    let mut seen = Seen::default();
    for (device, bank) in (0..DEVICES).flat_map(|d| (0..16).map(move |b| (d, b))) {
        let line = b.line(bank);
        // A reader that keeps nothing in the LLC but the line.
        let other = if device == CORES { CORES + 1 } else { CORES };
        b.access(other, CuOp::Ld, line);
        let cycles = told(b.access(device, CuOp::Ld, line), device);
        assert_eq!(cycles, 27 + 6 * hops(place(device), bank), "device {device} bank {bank}");
        seen.0.push(cycles);
    }
    assert_eq!(seen.range(), (27, 63));
    seen.is_like(29, 61);
}

/// 33 cycles and 3 per hop: to the bank, to the owner, to the reader.
#[test]
fn hits_in_the_l1_of_another_core() {
    let mut b = Bench::new(&[]);
    let mut seen = Seen::default();
    let pairs = (0..CORES).flat_map(|owner| (0..DEVICES).map(move |reader| (owner, reader)));
    for (owner, reader) in pairs.filter(|(owner, reader)| owner != reader) {
        // At the reader, as far from it as can be, and anywhere.
        for bank in [place(reader), 15 - place(reader), (owner + 5 * reader) % 16] {
            let line = b.line(bank);
            b.access(owner, CuOp::St, line);
            let cycles = told(b.access(reader, CuOp::Ld, line), reader);
            let (from, to) = (place(reader), place(owner));
            let all = hops(from, bank) + hops(bank, to) + hops(to, from);
            assert_eq!(cycles, 33 + 3 * all, "owner {owner} reader {reader} bank {bank}");
            seen.0.push(cycles);
        }
    }
    // The published 83 would be 33 + 3 * 17 hops; the way round three nodes of a 4 x 4 mesh has 12 at most.
    assert_eq!(seen.range(), (33, 69));
}

/// 194 cycles, 6 per hop to the bank, and 6 per hop from there to the controller at a corner.
#[test]
fn misses_of_all_caches() {
    let mut b = Bench::new(&[]);
    let mut seen = Seen::default();
    for (device, bank) in (0..DEVICES).flat_map(|d| (0..16).map(move |b| (d, b))) {
        let line = b.line(bank);
        let cycles = told(b.access(device, CuOp::Ld, line), device);
        let all = hops(place(device), bank) + hops(bank, corner(bank));
        assert_eq!(cycles, 194 + 6 * all, "device {device} bank {bank}");
        seen.0.push(cycles);
    }
    assert_eq!(seen.range(), (194, 266));
    seen.is_like(197, 261);
}

/// A controller gives a line in four cycles: reads of its banks that come to it at once are answered so far apart, those of several controllers at once.
#[test]
fn a_controller_is_shared_by_its_banks() {
    let waits = |banks: [u64; 4]| {
        let mut b = Bench::new(&[]);
        for bank in banks {
            let (device, line) = (CORES + bank, b.line(bank));
            for (field, value) in [("op", CuOp::Ld.encoding()), ("line", line), ("mask", 0xf), ("valid", 1)] {
                b.set(&format!("g0_cu{device}_req_{field}"), value);
            }
        }
        b.step();
        banks.iter().for_each(|bank| b.set(&format!("g0_cu{}_req_valid", CORES + bank), 0));
        b.settle();
        let counters = b.around.counters();
        assert_eq!(counters["dram.reads"].value, 4);
        counters["dram.wait_cycles"].value
    };
    // Banks 1, 5, 9, 13 are one column, at the distances 5, 4, 3, 2 from their corner; 3, 12, 0 and 15 have the four corners.
    let (together, apart) = (waits([1, 5, 9, 13]), waits([3, 2, 0, 1]));
    assert!(together > 0 && apart == 0, "{together} {apart}");
}

/// Cycles of the crossing to another GPU beside those of hops inside meshes: half of the latency and the bytes' time on either side of the switch, the router at the row's end, and the switch.
fn crossing(latency: u64, bytes: u64, length: u64) -> u64 {
    latency + 2 * (length / bytes).max(1) + 2
}

/// A CU and a bank of other GPUs: the request, a header, and the answer, a header and 16 words, cross links; each has hops to the end of the row and back.
#[test]
fn hits_and_misses_of_other_gpus() {
    for (latency, bytes) in [(280, 10), (60, 16)] {
        let changes = [format!("link_latency={latency}"), format!("link_bytes={bytes}")];
        let mut b = Bench::four_gpus(&[&changes[0], &changes[1]]);
        let (there, back) = (crossing(latency, bytes, 16), crossing(latency, bytes, 80));
        for (cu, bank) in [(0, 16), (5, 63), (18, 0), (40, 62), (63, 21), (33, 33), (2, 9)] {
            let ((gpu, place), (home, at)) = ((cu / 16, cu % 16), (bank / 16, bank % 16));
            // Bytes of a GPU's memory: 1 GB.
            let line = b.line(at) + (home << 24);
            let (hops, links) = if gpu == home {
                (hops(place, at), 0)
            } else {
                (3 - place % 4 + 3 - at % 4 + (place / 4).abs_diff(at / 4), there + back)
            };
            // As in the SoC, but cores stand at the nodes 0 and 2 of a GPU only.
            let told = |cycles: u64| cycles - 1 + 2 + u64::from(![0, 2].contains(&place));
            let cycles = told(b.access(CORES + cu, CuOp::Ld, line));
            let corner = self::hops(at, corner(at));
            assert_eq!(cycles, 194 + 6 * (hops + corner) + links, "CU {cu} bank {bank}: from memory");
            let other = CORES + (cu + 1) % 64;
            let line = b.line(at) + (home << 24);
            b.access(other, CuOp::Ld, line);
            let cycles = told(b.access(CORES + cu, CuOp::Ld, line));
            assert_eq!(cycles, 27 + 6 * hops + links, "CU {cu} bank {bank}: from the LLC");
        }
    }
}

/// A hierarchical system (HMG): the same places, a GPU L2 bank beside each L3 bank.
const HIERARCHY: &[&str] = &["protocol=h-mesi-gpu"];

/// As [`told`]: requests of CUs and cores have networks of their own, so that a CU has its answer three cycles earlier at every node.
fn told_h(cycles: u64, device: u64) -> u64 {
    if device < CORES { cycles - 1 } else { cycles - 1 + 3 }
}

/// From a GPU L2 bank to the L3 bank beside it and back, beside a hit in the L2; at even nodes, where a core's client stands too, merging their requests takes a cycle.
fn beyond(bank: u64) -> u64 {
    28 - bank % 2
}

/// Hits in the GPU L2 are as far as those in a flat LLC.
#[test]
fn hits_in_the_gpu_l2() {
    let mut b = Bench::new(HIERARCHY);
    let mut seen = Seen::default();
    for (device, bank) in (CORES..DEVICES).flat_map(|d| (0..16).map(move |b| (d, b))) {
        let line = b.line(bank);
        b.access(if device == CORES { CORES + 1 } else { CORES }, CuOp::Ld, line);
        let cycles = told_h(b.access(device, CuOp::Ld, line), device);
        assert_eq!(cycles, 27 + 6 * hops(place(device), bank), "device {device} bank {bank}");
        assert_eq!(b.access(device, CuOp::Ld, line) - 1, 1, "device {device}: in its L1");
        seen.0.push(cycles);
    }
    assert_eq!(seen.range(), (27, 63));
    seen.is_like(29, 61);
}

/// Two cores share the line. A core has it from the L3 as from a flat LLC; a CU misses the GPU L2 first, and waits longer than it would at a flat LLC.
#[test]
fn hits_in_the_l3() {
    let mut b = Bench::new(HIERARCHY);
    let (mut cores, mut cus) = (Seen::default(), Seen::default());
    for (device, bank) in (0..DEVICES).flat_map(|d| (0..16).map(move |b| (d, b))) {
        let line = b.line(bank);
        b.access((device + 1) % CORES, CuOp::Ld, line);
        b.access((device + 2) % CORES, CuOp::Ld, line);
        let cycles = told_h(b.access(device, CuOp::Ld, line), device);
        let flat = 27 + 6 * hops(place(device), bank);
        if device < CORES {
            assert_eq!(cycles, flat, "core {device} bank {bank}");
            cores.0.push(cycles);
        } else {
            assert_eq!(cycles, flat + beyond(bank), "device {device} bank {bank}");
            cus.0.push(cycles);
        }
    }
    cores.is_like(29, 61);
    // The published 52..100 are 18 ways of 2.67 cycles. Bank and L3 bank stand at one node (section 9): so there are 12.
    assert_eq!((cores.range(), cus.range()), ((27, 63), (54, 91)));
}

/// The same of memory: a CU's miss goes through both levels.
#[test]
fn misses_of_both_levels() {
    let mut b = Bench::new(HIERARCHY);
    let (mut cores, mut cus) = (Seen::default(), Seen::default());
    for (device, bank) in (0..DEVICES).flat_map(|d| (0..16).map(move |b| (d, b))) {
        let line = b.line(bank);
        let cycles = told_h(b.access(device, CuOp::Ld, line), device);
        let flat = 194 + 6 * (hops(place(device), bank) + hops(bank, corner(bank)));
        if device < CORES {
            assert_eq!(cycles, flat, "core {device} bank {bank}");
            cores.0.push(cycles);
        } else {
            assert_eq!(cycles, flat + beyond(bank), "device {device} bank {bank}");
            cus.0.push(cycles);
        }
    }
    cores.is_like(197, 261);
    // The published 222..306 are 31 ways of 2.67 cycles; here there are 24, as at the cores.
    assert_eq!((cores.range(), cus.range()), ((194, 266), (222, 293)));
}

/// A core's dirty line: 32 cycles and 3 per hop to the bank, to the owner and to the reader; a CU has it by way of the GPU L2. Owner, reader and bank are never all at one node.
#[test]
fn hits_in_the_l1_of_another_core_of_a_hierarchy() {
    let mut b = Bench::new(HIERARCHY);
    let (mut cores, mut cus) = (Seen::default(), Seen::default());
    let pairs = (0..CORES).flat_map(|owner| (0..DEVICES).map(move |reader| (owner, reader)));
    for (owner, reader) in pairs.filter(|(owner, reader)| owner != reader) {
        for bank in [place(reader), 15 - place(reader), (owner + 5 * reader) % 16] {
            let line = b.line(bank);
            b.access(owner, CuOp::St, line);
            let cycles = told_h(b.access(reader, CuOp::Ld, line), reader);
            let (near, far) = (hops(place(reader), bank), hops(bank, place(owner)));
            if reader < CORES {
                let all = near + far + hops(place(owner), place(reader));
                assert_eq!(cycles, 32 + 3 * all, "owner {owner} reader {reader} bank {bank}");
                cores.0.push(cycles);
            } else {
                let there = 32 + 6 * (near + far);
                assert_eq!(cycles, there + beyond(bank), "owner {owner} reader {reader} bank {bank}");
                cus.0.push(cycles);
            }
        }
    }
    assert_eq!((cores.range(), cus.range().0), ((38, 68), 60));
}

/// The flat GPU of cu-and-consistency.md section 4: a core and 15 CUs, each at a node of its own. Of the L2 and of memory the middles of the ranges are those of the published ones, to the two or three cycles
/// by which L1s differ.
#[test]
fn hits_and_misses_of_the_flat_gpu() {
    let mut b = Bench::of("flat-gpu", &[], (0..16).map(|d| format!("g0_cu{d}_")).collect());
    let (mut hits, mut misses) = (Seen::default(), Seen::default());
    // From nowhere to the opposite corner.
    for (device, bank) in (0..16).flat_map(|d| [d, 15 - d, (5 * d + 3) % 16].map(|b| (d, b))) {
        let line = b.line(bank);
        let missed = b.access(device, CuOp::Ld, line) - 1;
        let all = 6 * (hops(device, bank) + hops(bank, corner(bank)));
        assert!((189..=194).contains(&(missed - all)), "device {device} bank {bank}: {missed}");
        misses.0.push(missed);
        let line = b.line(bank);
        b.access((device + 1) % 15 + 1, CuOp::Ld, line);
        let hit = b.access(device, CuOp::Ld, line) - 1;
        assert!((22..=27).contains(&(hit - 6 * hops(device, bank))), "device {device} bank {bank}: {hit}");
        hits.0.push(hit);
    }
    println!("L2 {:?}, memory {:?}", hits.range(), misses.range());
    let near = |(low, high): (u64, u64), sum: u64| assert!((low + high).abs_diff(sum) <= 6, "{low}..{high}");
    near(hits.range(), 29 + 61);
    near(misses.range(), 197 + 261);
}
