//! `gpu-l2` between GPU L1s of the model and an L3 of the model with CPUs.

use crate::against_model::around::{Around, Beside};
use crate::against_model::convert::{decode, encode};
use crate::against_model::gpu;
use rand::Rng;
use weft_bench::seeds::missed_faults;
use weft_hmesi_bench::bench::Bench;
use weft_hmesi_bench::golden::msg::Packet;
use weft_hmesi_bench::golden::system::{Block, SystemParams};
use weft_spandex::bank::Bank;
use weft_spandex::hmesi::gpu_l2::{GpuL2Fault, GpuL2Params, gpu_l2};
use weft_spandex::hmesi::msg::{HFwd, HReq, HRsp, HWb};
use weft_spandex::llc::RvkoGran;
use weft_spandex::msg::{Fwd, Req, Rsp, Wb};
use weft_spandex::params::Spandex;
use weft_spandex_bench::golden::device::Kind::{self, DeNovo, Gpu, Mesi};
use weft_spandex_bench::golden::msg::Op;

struct World {
    p: GpuL2Params,
    b: Bench,
    around: Around,
}

impl World {
    fn new(p: &GpuL2Params, kinds: &[Kind], seed: u64) -> World {
        let s = &p.bank.s;
        let mut b = Bench::new(&gpu_l2(p).unwrap_or_else(|e| panic!("{e}")), seed);
        b.source::<Req>("req", s);
        b.source::<Wb>("wb", s);
        b.source::<Rsp>("rsp_in", s);
        b.source::<HFwd>("l3_fwd", s);
        b.source::<HRsp>("l3_rsp", s);
        b.sink::<Rsp>("rsp", s);
        b.sink::<Fwd>("fwd", s);
        b.sink::<HReq>("l3_req", s);
        b.sink::<HWb>("l3_wb", s);
        b.sink::<HRsp>("l3_rsp_out", s);
        b.set("own", u64::from(s.l2_node(0)));
        let count = b.rng.random_range(1..8);
        let lines: Vec<u32> = (0..count).collect();
        let model = SystemParams {
            words: s.words() as u8,
            lines: [1, b.rng.random_range(1..6)],
            tbes: [2, b.rng.random_range(1..4)],
            entries: (3, 2, 2),
            revoke_lines: p.rvko == RvkoGran::Line,
            flex_rsp: p.flex,
            ..SystemParams::tiny(kinds)
        };
        let around = Around::new(model, Block::L2(0), &lines, false, &mut b.rng);
        World { p: p.clone(), b, around }
    }
}

impl Beside for World {
    const CALM: u32 = 200;

    fn parts(&mut self) -> (&mut Bench, &mut Around) {
        (&mut self.b, &mut self.around)
    }

    fn step(&mut self) {
        let (now, s, flex) = (self.b.sim.cycle(), &self.p.bank.s, self.p.flex);
        self.around.step(&mut self.b, |packet| match packet {
            Packet::Gpu(msg) => {
                // A bank without extras passes on no wish for them.
                if let Op::ReqV { flex: wish } = &mut msg.op {
                    *wish &= flex;
                }
                gpu::encode(s, msg)
            }
            Packet::Mesi(msg) => {
                let (network, msg) = encode(s, msg);
                (if network == "fwd" { "l3_fwd" } else { "l3_rsp" }, msg)
            }
        });
        self.b.step();
        self.around.taken(&mut self.b);
        for channel in ["fwd", "rsp"] {
            while let Some((_, m)) = self.b.received(channel) {
                let msg = gpu::decode(&self.p.bank.s, channel, &m);
                self.around.sent(now, Packet::Gpu(gpu::judged(&msg)), Packet::Gpu(msg));
            }
        }
        for (channel, network) in [("l3_req", "req"), ("l3_wb", "wb"), ("l3_rsp_out", "rsp")] {
            while let Some((_, m)) = self.b.received(channel) {
                let packet = Packet::Mesi(decode(&self.p.bank.s, network, &m));
                self.around.sent(now, packet, packet);
            }
        }
    }
}

const KINDS: [&[Kind]; 4] = [
    &[Mesi, Mesi, Gpu, DeNovo, DeNovo],
    &[Mesi, DeNovo, DeNovo],
    &[Mesi, Gpu, Gpu],
    &[Mesi, Mesi, Mesi, DeNovo, Gpu],
];

fn run(seed: u64, fault: GpuL2Fault) {
    let kinds = KINDS[seed as usize % KINDS.len()];
    let cpus = kinds.iter().filter(|kind| **kind == Mesi).count() as u32;
    let (line, ways, tbes) =
        ([16, 32, 64][seed as usize % 3], [2, 4][seed as usize % 2], [2, 4][seed as usize / 2 % 2]);
    let s = Spandex {
        cpus,
        cus: kinds.len() as u32 - cpus,
        sharers: 0,
        addr_bits: 32,
        line,
        banks: 1,
        mshrs: 4,
        sb: 4,
        wbb: 3,
        tbes,
        ..Spandex::default()
    };
    let rvko = if seed % 5 < 2 { RvkoGran::Word } else { RvkoGran::Line };
    let p = GpuL2Params { rvko, flex: !seed.is_multiple_of(3), fault, ..GpuL2Params::published(s) }
        .sized(|b| Bank { size: 2 * ways * line, ways, stalls: 4, ..b });
    World::new(&p, kinds, seed).settle();
}

#[test]
fn a_gpu_l2_bank_sends_what_the_model_may_send() {
    (0..8).for_each(|seed| run(seed, GpuL2Fault::None));
}
#[test]
fn long_a_gpu_l2_bank_sends_what_the_model_may_send() {
    (1_000..1_400).for_each(|seed| run(seed, GpuL2Fault::None));
}

/// All but use-once data that is kept: an Inv must overtake data on its way to the bank, which is too rare here.
#[test]
fn faults_of_a_gpu_l2_bank_are_caught() {
    let hidden = [GpuL2Fault::None, GpuL2Fault::KeepOnce];
    let all = GpuL2Fault::WORDS.iter().map(|w| w.0).filter(|fault| !hidden.contains(fault));
    assert_eq!(missed_faults(0..24, GpuL2Fault::None, all, |fault, seed| run(seed, fault)), []);
}
