//! `mesi-l1` on `hmesi-client`, beside CPUs and a GPU L2 of the model, on an L3 of the model. Everybody adds to the same words: besides what the watch judges, no addition may be lost.

use crate::against_model::around::{Around, Beside};
use crate::against_model::convert::{decode, encode};
use rand::Rng;
use rand::seq::IndexedRandom;
use weft_bench::seeds::missed_faults;
use weft_blocks::msg::{AmoOp, CuOp, CuReq, CuRsp};
use weft_hmesi_bench::bench::{Bench, Msg};
use weft_hmesi_bench::golden::msg::Packet;
use weft_hmesi_bench::golden::system::{Block, SystemParams};
use weft_rtl::bv::Bv;
use weft_spandex::hmesi::client::{ClientInject, ClientParams};
use weft_spandex::hmesi::fabric::hmesi_device;
use weft_spandex::hmesi::msg::{HFwd, HReq, HRsp, HWb};
use weft_spandex::mesi_l1::MesiL1Params;
use weft_spandex::mesi_port::MesiPort;
use weft_spandex::params::Spandex;
use weft_spandex_bench::golden::device::Kind::{self, DeNovo, Gpu, Mesi};
use weft_spandex_bench::golden::system::program::{Instr, initial};

struct World {
    s: Spandex,
    b: Bench,
    around: Around,
    lines: Vec<u32>,
    /// Accesses of the core still to come, and those without reply.
    left: u32,
    open: u32,
    id: u64,
    /// Additions of the core.
    added: u64,
}

impl World {
    fn new(l1: &MesiL1Params, client: &ClientParams, kinds: &[Kind], seed: u64) -> World {
        let s = l1.port.spandex.clone();
        let mut b = Bench::new(&hmesi_device(l1, client).unwrap_or_else(|e| panic!("{e}")), seed);
        b.source::<CuReq>("cu_req", &s.cu());
        b.sink::<CuRsp>("cu_rsp", &s.cu());
        b.sink::<HReq>("req", &s);
        b.sink::<HWb>("wb", &s);
        b.sink::<HRsp>("rsp_out", &s);
        b.source::<HFwd>("fwd", &s);
        b.source::<HRsp>("rsp", &s);
        b.set("own", 0);
        let count = b.rng.random_range(1..8);
        let lines: Vec<u32> = (0..count).collect();
        let model = SystemParams {
            words: s.words() as u8,
            lines: [2, b.rng.random_range(1..6)],
            tbes: [3, b.rng.random_range(1..4)],
            entries: (3, 2, 2),
            ..SystemParams::tiny(kinds)
        };
        let around = Around::new(model, Block::Cpu(0), &lines, true, &mut b.rng);
        World { s, b, around, lines, left: 300, open: 0, id: 0, added: 0 }
    }
    /// The core loads or adds.
    fn issue(&mut self) {
        if self.left == 0 || self.open == 4 || !self.b.rng.random_bool(0.2) {
            return;
        }
        let line = u64::from(*self.lines.choose(&mut self.b.rng).expect("some lines"));
        let word = self.b.rng.random_range(0..self.s.words());
        let adds = self.b.rng.random_bool(0.5);
        let op = if adds { CuOp::Amo } else { CuOp::Ld };
        self.id = (self.id + 1) % 64;
        let fields = [
            ("op", op as u64),
            ("id", self.id),
            ("sync", 0),
            ("sem", 0),
            ("class", 0),
            ("want_ack", 1),
            ("sgn", 0),
            ("line", line),
            ("mask", 0xf << (4 * word)),
            ("amo", AmoOp::Add as u64),
        ];
        let ones = vec![Bv::from_u64(1, 32); self.s.words() as usize];
        self.b.send("cu_req", Msg::of::<CuReq>(&self.s.cu(), &fields).with("data", Bv::concat(&ones)));
        (self.left, self.open) = (self.left - 1, self.open + 1);
        self.added += u64::from(adds);
    }
    /// To the end of all programs; then all is in memory.
    fn run(&mut self) {
        self.settle();
        for _ in 0..self.lines.len() + 1 {
            self.around.evict_all(&self.lines);
            self.settle();
        }
        let adds = |instr: &&Instr| matches!(instr, Instr::Amo { amo, .. } if amo.modifies());
        let threads = self.around.system.threads.iter();
        let others: usize = threads.map(|thread| thread.program.iter().filter(adds).count()).sum();
        let words = 0..self.s.words() as usize;
        let sum = |line: &u32| -> u64 {
            let data = self.around.system.memory(*line);
            words.clone().map(|word| u64::from(data.0[word] - initial(word))).sum()
        };
        let sum: u64 = self.lines.iter().map(sum).sum();
        assert_eq!(sum, self.added + others as u64, "additions");
    }
}

impl Beside for World {
    const CALM: u32 = 200;

    fn parts(&mut self) -> (&mut Bench, &mut Around) {
        (&mut self.b, &mut self.around)
    }

    fn step(&mut self) {
        let (now, s) = (self.b.sim.cycle(), &self.s);
        self.around.step(&mut self.b, |packet| {
            let Packet::Mesi(msg) = packet else { panic!("{packet:?} to a CPU") };
            encode(s, msg)
        });
        self.issue();
        self.b.step();
        self.around.taken(&mut self.b);
        while self.b.received("cu_rsp").is_some() {
            self.open -= 1;
        }
        for (channel, network) in [("req", "req"), ("wb", "wb"), ("rsp_out", "rsp")] {
            while let Some((_, m)) = self.b.received(channel) {
                let packet = Packet::Mesi(decode(&self.s, network, &m));
                self.around.sent(now, packet, packet);
            }
        }
    }

    fn owes(&self) -> bool {
        self.left + self.open != 0
    }
}

const KINDS: [&[Kind]; 3] = [&[Mesi, Mesi, Mesi, Gpu], &[Mesi, Mesi, DeNovo, DeNovo], &[Mesi, Gpu, DeNovo]];

fn run(seed: u64, inject: ClientInject) {
    let kinds = KINDS[seed as usize % KINDS.len()];
    let cpus = kinds.iter().filter(|kind| **kind == Mesi).count() as u32;
    let line = [16, 32, 64][seed as usize % 3];
    let spandex = Spandex {
        cpus,
        cus: kinds.len() as u32 - cpus,
        sharers: cpus,
        addr_bits: 32,
        line,
        banks: 1,
        mshrs: [3, 1][seed as usize % 2],
        sb: 6,
        wbb: [2, 1][seed as usize / 2 % 2],
        tbes: 4,
        ..Spandex::default()
    };
    let port = MesiPort { spandex, size: 4 * line, ways: 2 };
    let client = ClientParams { inject, ..ClientParams::new(port.clone()) };
    World::new(&MesiL1Params::new(port), &client, kinds, seed).run();
}

#[test]
fn a_client_sends_what_the_model_may_send() {
    (0..12).for_each(|seed| run(seed, ClientInject::None));
}
#[test]
fn long_a_client_sends_what_the_model_may_send() {
    (1_000..1_400).for_each(|seed| run(seed, ClientInject::None));
}

/// All but copies that are kept too long: they are not seen in what the client sends, but in what its core reads.
#[test]
fn faults_of_a_client_are_caught() {
    let hidden = [ClientInject::None, ClientInject::KeepOnce, ClientInject::KeepCopy, ClientInject::NoInv];
    let all = ClientInject::WORDS.iter().map(|w| w.0).filter(|fault| !hidden.contains(fault));
    assert_eq!(missed_faults(0..24, ClientInject::None, all, |fault, seed| run(seed, fault)), []);
}
