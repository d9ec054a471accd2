//! `mesi-llc` below CPU L1s and the GPU L2 of the model.

use crate::against_model::around::{Around, Beside};
use crate::against_model::convert::{decode, encode, wide, words};
use rand::Rng;
use weft_bench::seeds::missed_faults;
use weft_hmesi_bench::bench::{Bench, Msg};
use weft_hmesi_bench::golden::msg::Packet;
use weft_hmesi_bench::golden::system::{Block, Event, SystemParams};
use weft_spandex::bank::Bank;
use weft_spandex::hmesi::mesi_llc::{MesiLlcFault, MesiLlcParams, mesi_llc};
use weft_spandex::hmesi::msg::{HFwd, HReq, HRsp, HWb};
use weft_spandex::msg::{MemReq, MemRsp};
use weft_spandex::params::Spandex;
use weft_spandex_bench::golden::device::Kind::{self, DeNovo, Gpu, Mesi};

struct World {
    p: MesiLlcParams,
    b: Bench,
    around: Around,
    /// Reads of memory: when, TBE, line.
    reads: Vec<(u64, u64, u32)>,
}

fn params(cpus: u32, cus: u32, line: u32, ways: u32, tbes: u32) -> MesiLlcParams {
    let s = Spandex {
        cpus,
        cus,
        sharers: cpus,
        addr_bits: 32,
        line,
        banks: 1,
        mshrs: 64,
        sb: 2,
        wbb: 3,
        tbes,
        ..Spandex::default()
    };
    MesiLlcParams::published(s).sized(|b| Bank { size: 2 * ways * line, ways, stalls: 4, ..b })
}

impl World {
    fn new(p: &MesiLlcParams, kinds: &[Kind], seed: u64) -> World {
        let s = &p.bank.s;
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
        let around = Around::new(model, Block::L3(0), &lines, false, &mut b.rng);
        World { p: p.clone(), b, around, reads: Vec::new() }
    }
    /// What the bank has sent.
    fn look(&mut self, now: u64) {
        while let Some((_, m)) = self.b.received("mem_req") {
            let line = m.get("line") as u32;
            if m.get("write") == 1 {
                let data = words(&self.p.bank.s, m.wide("data"));
                self.around.see(now, &Event::Write(line, data));
                self.around.system.write_memory(line, data);
            } else {
                self.around.see(now, &Event::Read(line));
                self.reads.push((now + self.b.rng.random_range(1..=self.around.delay), m.get("tbe"), line));
            }
        }
        for network in ["fwd", "rsp"] {
            while let Some((_, m)) = self.b.received(network) {
                let packet = Packet::Mesi(decode(&self.p.bank.s, network, &m));
                self.around.sent(now, packet, packet);
            }
        }
    }
}

impl Beside for World {
    const CALM: u32 = 100;

    fn parts(&mut self) -> (&mut Bench, &mut Around) {
        (&mut self.b, &mut self.around)
    }

    fn step(&mut self) {
        let (now, s) = (self.b.sim.cycle(), &self.p.bank.s);
        self.around.step(&mut self.b, |packet| {
            let Packet::Mesi(msg) = packet else { panic!("{packet:?} to the L3") };
            let (network, msg) = encode(s, msg);
            (if network == "rsp" { "rsp_in" } else { network }, msg)
        });
        while let Some(at) = self.reads.iter().position(|read| read.0 <= now) {
            let (_, tbe, line) = self.reads.swap_remove(at);
            let data = self.around.system.memory(line);
            // The answer names no line, and memory answers are always taken.
            self.around.see(now, &Event::Memory(line, data));
            self.b.send("mem_rsp", Msg::of::<MemRsp>(s, &[("tbe", tbe)]).with("data", wide(s, &data)));
        }
        self.b.step();
        self.around.taken(&mut self.b);
        self.look(now);
    }

    fn owes(&self) -> bool {
        !self.reads.is_empty()
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
    World::new(&p, kinds, seed).settle();
}

#[test]
fn an_l3_bank_sends_what_the_model_may_send() {
    (0..16).for_each(|seed| run(seed, MesiLlcFault::None));
}
#[test]
fn long_an_l3_bank_sends_what_the_model_may_send() {
    (1_000..1_400).for_each(|seed| run(seed, MesiLlcFault::None));
}

#[test]
fn faults_of_an_l3_bank_are_caught() {
    let all = MesiLlcFault::WORDS.iter().map(|w| w.0).filter(|fault| *fault != MesiLlcFault::None);
    assert_eq!(missed_faults(0..24, MesiLlcFault::None, all, |fault, seed| run(seed, fault)), []);
}
