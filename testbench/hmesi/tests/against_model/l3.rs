//! `mesi-llc` below CPU L1s and the GPU L2 of the model.

use crate::around::Around;
use crate::convert::{decode, encode, wide, words};
use rand::Rng;
use weft_hmesi_bench::bench::{Bench, Msg};
use weft_hmesi_bench::golden::msg::Packet;
use weft_hmesi_bench::golden::system::{Block, Event, SystemParams};
use weft_spandex::hmesi::mesi_llc::{MesiLlcFault, MesiLlcParams, mesi_llc};
use weft_spandex::hmesi::msg::{HFwd, HReq, HRsp, HWb};
use weft_spandex::msg::{MemReq, MemRsp};
use weft_spandex::params::Spandex;
use weft_spandex_bench::golden::device::Kind::{self, DeNovo, Gpu, Mesi};

struct World {
    p: MesiLlcParams,
    b: Bench,
    around: Around,
    /// Messages on their way to the bank: when, channel, message, and what the model calls it.
    post: Vec<(u64, &'static str, Msg)>,
    /// Reads of memory by TBE.
    reads: Vec<(u64, u64, u32)>,
    tag: u16,
    delay: u64,
}

fn params(cpus: u32, cus: u32, line: u32, ways: u32, tbes: u32) -> MesiLlcParams {
    let s =
        Spandex { cpus, cus, sharers: cpus, addr_bits: 32, line, banks: 1, mshrs: 64, sb: 2, wbb: 3, tbes };
    MesiLlcParams { size: 2 * ways * line, ways, stalls: 4, ..MesiLlcParams::published(s) }
}

impl World {
    fn new(p: &MesiLlcParams, kinds: &[Kind], seed: u64) -> World {
        let s = &p.s;
        let mut b = Bench::new(&mesi_llc(p).unwrap_or_else(|e| panic!("{e}")), seed);
        b.source::<HReq>("req", s);
        b.source::<HWb>("wb", s);
        b.source::<HRsp>("rsp_in", s);
        b.source::<MemRsp>("mem_rsp", s);
        b.sink::<HRsp>("rsp", s);
        b.sink::<HFwd>("fwd", s);
        b.sink::<MemReq>("mem_req", s);
        b.set("own", u64::from(s.l3_node(0)));
        let count = b.rng.random_range(1..8);
        let lines: Vec<u32> = (0..count).collect();
        let model = SystemParams {
            words: s.words() as u8,
            lines: [3, 1],
            entries: (4, 4, 2),
            ..SystemParams::tiny(kinds)
        };
        let around = Around::new(model, Block::L3(0), &lines, 60, &mut b.rng);
        World { p: p.clone(), b, around, post: Vec::new(), reads: Vec::new(), tag: 0, delay: 20 }
    }
    fn step(&mut self) {
        let now = self.b.sim.cycle();
        self.around.step(&mut self.b.rng);
        for packet in std::mem::take(&mut self.around.system.outbox) {
            let Packet::Mesi(mut msg) = packet else { continue };
            self.tag = (self.tag + 1) % 64;
            msg.tag = self.tag;
            let (network, msg) = encode(&self.p.s, &msg);
            let channel = if network == "rsp" { "rsp_in" } else { network };
            let due = now + self.b.rng.random_range(0..=self.delay);
            self.post.push((due, channel, msg));
        }
        while let Some(at) = self.post.iter().position(|post| post.0 <= now) {
            let (_, channel, msg) = self.post.swap_remove(at);
            self.b.send(channel, msg);
        }
        while let Some(at) = self.reads.iter().position(|read| read.0 <= now) {
            let (_, tbe, line) = self.reads.swap_remove(at);
            let data = self.around.system.memory(line);
            let answer = Msg::of::<MemRsp>(&self.p.s, &[("tbe", tbe), ("line", 0)][..1]);
            // The answer names no line: the watch hears of it with its request.
            self.around.see(now, &Event::Memory(line, data));
            self.b.send("mem_rsp", answer.with("data", wide(&self.p.s, &data)));
        }
        self.b.step();
        self.look(now);
    }
    /// What the bank has taken and sent.
    fn look(&mut self, now: u64) {
        for (channel, network) in [("req", "req"), ("wb", "wb"), ("rsp_in", "rsp")] {
            if let Some(m) = self.b.taken(channel) {
                let packet = Packet::Mesi(decode(&self.p.s, network, &m));
                self.around.see(now, &Event::Taken(packet));
            }
        }
        while let Some((_, m)) = self.b.received("mem_req") {
            let line = m.get("line") as u32;
            if m.get("write") == 1 {
                let data = words(&self.p.s, m.wide("data"));
                self.around.see(now, &Event::Write(line, data));
                self.around.system.write_memory(line, data);
            } else {
                self.around.see(now, &Event::Read(line));
                self.reads.push((now + self.b.rng.random_range(1..=self.delay), m.get("tbe"), line));
            }
        }
        for network in ["fwd", "rsp"] {
            while let Some((_, m)) = self.b.received(network) {
                let packet = Packet::Mesi(decode(&self.p.s, network, &m));
                self.around.see(now, &Event::Sent(packet));
                self.around.system.inject(packet);
            }
        }
    }
    /// To the end of all programs.
    fn run(&mut self) {
        let mut calm = 0;
        for cycle in 0..400_000u64 {
            if cycle % 500 == 0 {
                self.delay = [1, 20, 100][self.b.rng.random_range(0..3)];
                self.around.rate = [0.1, 0.5, 1.0][self.b.rng.random_range(0..3)];
                let chance = [0.2, 1.0][self.b.rng.random_range(0..2)];
                self.b.sinks.values_mut().for_each(|sink| sink.chance = chance);
            }
            self.step();
            let quiet = self.around.system.done()
                && self.post.is_empty()
                && self.reads.is_empty()
                && self.b.sources.values().all(|source| source.queue.is_empty());
            calm = if quiet { calm + 1 } else { 0 };
            if calm == 100 {
                if let Err(wrong) = self.around.watches.rest() {
                    panic!("at rest: {wrong}");
                }
                return;
            }
        }
        panic!("no end: {:#?}", self.around.system);
    }
}

const KINDS: [&[Kind]; 4] = [
    &[Mesi, Mesi, Mesi, Gpu, DeNovo],
    &[Mesi, Mesi, DeNovo, DeNovo],
    &[Mesi, Gpu, Gpu],
    &[Mesi, Mesi, Mesi, Mesi, Gpu],
];

fn run(seed: u64, fault: MesiLlcFault) {
    let kinds = KINDS[seed as usize % KINDS.len()];
    let cpus = kinds.iter().filter(|kind| **kind == Mesi).count() as u32;
    let cus = kinds.len() as u32 - cpus;
    let (line, ways, tbes) =
        ([16, 8, 64][seed as usize % 3], [2, 4][seed as usize % 2], [1, 3][seed as usize / 2 % 2]);
    let p = MesiLlcParams { fault, ..params(cpus, cus, line, ways, tbes) };
    World::new(&p, kinds, seed).run();
}

#[test]
fn an_l3_bank_sends_what_the_model_may_send() {
    (0..24).for_each(|seed| run(seed, MesiLlcFault::None));
}
#[test]
fn long_an_l3_bank_sends_what_the_model_may_send() {
    (1_000..1_400).for_each(|seed| run(seed, MesiLlcFault::None));
}

#[test]
fn faults_of_an_l3_bank_are_caught() {
    for (fault, word) in MesiLlcFault::WORDS.iter().filter(|fault| fault.0 != MesiLlcFault::None) {
        let caught = (0..24).any(|seed| std::panic::catch_unwind(|| run(seed, *fault)).is_err());
        assert!(caught, "{word} is not caught");
    }
}
