//! Everything of the hierarchical baseline together - MESI L1s and clients, L1s of CUs with translation units, GPU L2 banks, L3 banks - over networks that keep no order: CPU cores and CUs pass locks
//! round, and every word behind them is checked.

use crate::gpu_l2::devices;
use crate::gpu_l2::post;
use weft_spandex::bank::Bank;

use devices::{denovo, gpu, open, put_out};
use post::Post;
use rand::Rng;
use std::sync::Arc;
use weft_blocks::common::join::{pass_in, pass_out};
use weft_blocks::msg::{CuReq, CuRsp};
use weft_rtl::prelude::*;
use weft_spandex::hmesi::client::ClientParams;
use weft_spandex::hmesi::fabric::hmesi_device;
use weft_spandex::hmesi::gpu_l2::{GpuL2Fault, GpuL2Params, gpu_l2};
use weft_spandex::hmesi::mesi_llc::{MesiLlcParams, mesi_llc};
use weft_spandex::hmesi::msg::{HFwd, HReq, HRsp, HWb};
use weft_spandex::mesi_l1::MesiL1Params;
use weft_spandex::mesi_port::MesiPort;
use weft_spandex::msg::{Fwd, MemReq, MemRsp, Req, Rsp, Wb};
use weft_spandex::params::Spandex;
use weft_spandex_bench::bench::locks::{self, Below, Manner};
use weft_spandex_bench::bench::{Bench, Msg};
use weft_spandex_bench::memory::Memory;

type World = locks::World<Outside>;

/// All networks, and the memory.
struct Outside {
    s: Spandex,
    post: Post,
    memory: Memory,
}

impl Outside {
    fn new(s: &Spandex) -> Outside {
        Outside { s: s.clone(), post: Post::new(), memory: Memory::new(s) }
    }

    /// Channel of a node for a message of the L3's networks.
    fn h_channel(s: &Spandex, m: &Msg, what: &str) -> String {
        let (dst, devs, banks) = (m.get("dst"), u64::from(s.devs()), u64::from(s.banks));
        if dst < devs {
            format!("d{dst}_{what}")
        } else if dst < devs + banks {
            format!("l2_{}_l3_{what}", dst - devs)
        } else {
            let what = if what == "rsp" { "rsp_in" } else { what };
            format!("l3_{}_{what}", dst - devs - banks)
        }
    }
}

impl Below for Outside {
    fn connect(&self, b: &mut Bench) {
        let s = &self.s;
        for d in 0..s.cpus {
            b.sink::<HReq>(&format!("d{d}_req"), s);
            b.sink::<HWb>(&format!("d{d}_wb"), s);
            b.sink::<HRsp>(&format!("d{d}_rsp_out"), s);
            b.source::<HFwd>(&format!("d{d}_fwd"), s);
            b.source::<HRsp>(&format!("d{d}_rsp"), s);
        }
        (s.cpus..s.devs()).for_each(|d| open(b, d, s));
        for k in 0..s.banks {
            b.source::<Req>(&format!("l2_{k}_req"), s);
            b.source::<Wb>(&format!("l2_{k}_wb"), s);
            b.source::<Rsp>(&format!("l2_{k}_rsp_in"), s);
            b.sink::<Fwd>(&format!("l2_{k}_fwd"), s);
            b.sink::<Rsp>(&format!("l2_{k}_rsp"), s);
            b.sink::<HReq>(&format!("l2_{k}_l3_req"), s);
            b.sink::<HWb>(&format!("l2_{k}_l3_wb"), s);
            b.sink::<HRsp>(&format!("l2_{k}_l3_rsp_out"), s);
            b.source::<HFwd>(&format!("l2_{k}_l3_fwd"), s);
            b.source::<HRsp>(&format!("l2_{k}_l3_rsp"), s);
            b.source::<HReq>(&format!("l3_{k}_req"), s);
            b.source::<HWb>(&format!("l3_{k}_wb"), s);
            b.source::<HRsp>(&format!("l3_{k}_rsp_in"), s);
            b.sink::<HFwd>(&format!("l3_{k}_fwd"), s);
            b.sink::<HRsp>(&format!("l3_{k}_rsp"), s);
        }
        self.memory.connect(b);
    }

    fn send(&mut self, b: &mut Bench) {
        self.post.deliver(b);
        self.memory.send(b);
    }

    fn take(&mut self, b: &mut Bench, now: u64) {
        let s = self.s.clone();
        let devs = u64::from(s.devs());
        let h = |what: &'static str| {
            let s = s.clone();
            move |m: &Msg| Outside::h_channel(&s, m, what)
        };
        let g = |what: &'static str, bank: &'static str| {
            move |m: &Msg| match m.get("dst") {
                dst if dst < devs => format!("d{dst}_{what}"),
                dst => format!("l2_{}_{bank}", dst - devs),
            }
        };
        for d in 0..s.devs() {
            let of_cpu = d < s.cpus;
            for what in ["req", "wb"] {
                let from = format!("d{d}_{what}");
                if of_cpu {
                    self.post.route(b, &from, h(what));
                } else {
                    self.post.route(b, &from, g(what, what));
                }
            }
            let from = format!("d{d}_rsp_out");
            if of_cpu {
                self.post.route(b, &from, h("rsp"));
            } else {
                self.post.route(b, &from, g("rsp", "rsp_in"));
            }
        }
        for k in 0..s.banks {
            self.post.route(b, &format!("l2_{k}_fwd"), g("fwd", "fwd"));
            self.post.route(b, &format!("l2_{k}_rsp"), g("rsp", "rsp"));
            self.post.route(b, &format!("l2_{k}_l3_req"), h("req"));
            self.post.route(b, &format!("l2_{k}_l3_wb"), h("wb"));
            self.post.route(b, &format!("l2_{k}_l3_rsp_out"), h("rsp"));
            self.post.route(b, &format!("l3_{k}_fwd"), h("fwd"));
            self.post.route(b, &format!("l3_{k}_rsp"), h("rsp"));
        }
        self.memory.take(b, now);
    }

    fn clear(&mut self, line: u64) {
        self.memory.clear(line);
    }

    fn change(&mut self, b: &mut Bench) {
        self.memory.change(b);
        self.post.slow = [2, 10, 30][b.rng.random_range(0..3)];
        for sink in b.sinks.values_mut() {
            sink.chance = [0.3, 1.0][b.rng.random_range(0..2)];
        }
    }
}

fn core(s: &Spandex) -> Arc<Module> {
    let port = MesiPort { spandex: s.clone(), size: 512, ways: 2 };
    hmesi_device(&MesiL1Params::new(port.clone()), &ClientParams::new(port)).expect("legal")
}

/// Cores, then CUs, of which `denovos` are DeNovo devices; small banks.
fn system(s: &Spandex, denovos: u32, fault: GpuL2Fault) -> Arc<Module> {
    let l2 = GpuL2Params { fault, ..GpuL2Params::published(s.clone()) }.sized(|b| Bank {
        size: s.banks * 4 * 64,
        ways: 2,
        stalls: 4,
        ..b
    });
    let l3 = MesiLlcParams::published(s.clone()).sized(|b| Bank {
        size: s.banks * 8 * 64,
        ways: 4,
        stalls: 4,
        ..b
    });
    let (l2, l3) = (gpu_l2(&l2).expect("legal"), mesi_llc(&l3).expect("legal"));
    let (core, gpu, denovo) = (core(s), gpu(s), denovo(s));
    Module::build("hmesi_system_under_test", ModuleKind::Fabric, || {
        for d in 0..s.devs() {
            let module = match d.checked_sub(s.cpus) {
                None => &core,
                Some(cu) if cu < denovos => &denovo,
                Some(_) => &gpu,
            };
            let device = instance(&format!("device{d}"), module);
            pass_in::<CuReq>(&device, "cu_req", &format!("g0_cu{d}_req"), &s.cu());
            pass_out::<CuRsp>(&device, "cu_rsp", &format!("g0_cu{d}_rsp"), &s.cu());
            if d >= s.cpus {
                put_out(&device, d, s);
                continue;
            }
            device.drive_bits("own", lit(u64::from(d), s.dev_bits()));
            pass_out::<HReq>(&device, "req", &format!("d{d}_req"), s);
            pass_out::<HWb>(&device, "wb", &format!("d{d}_wb"), s);
            pass_out::<HRsp>(&device, "rsp_out", &format!("d{d}_rsp_out"), s);
            pass_in::<HFwd>(&device, "fwd", &format!("d{d}_fwd"), s);
            pass_in::<HRsp>(&device, "rsp", &format!("d{d}_rsp"), s);
        }
        (0..s.banks).for_each(|k| banks(s, k, &l2, &l3));
    })
    .expect("legal")
}

/// Bank `k` of either level.
fn banks(s: &Spandex, k: u32, l2: &Arc<Module>, l3: &Arc<Module>) {
    let (l2, l3) = (instance(&format!("l2_bank{k}"), l2), instance(&format!("l3_bank{k}"), l3));
    l2.drive_bits("own", lit(u64::from(s.l2_node(k)), s.h_node_bits()));
    l3.drive_bits("own", lit(u64::from(s.l3_node(k)), s.h_node_bits()));
    let name = |what: &str| format!("l2_{k}_{what}");
    pass_in::<Req>(&l2, "req", &name("req"), s);
    pass_in::<Wb>(&l2, "wb", &name("wb"), s);
    pass_in::<Rsp>(&l2, "rsp_in", &name("rsp_in"), s);
    pass_out::<Fwd>(&l2, "fwd", &name("fwd"), s);
    pass_out::<Rsp>(&l2, "rsp", &name("rsp"), s);
    pass_out::<HReq>(&l2, "l3_req", &name("l3_req"), s);
    pass_out::<HWb>(&l2, "l3_wb", &name("l3_wb"), s);
    pass_out::<HRsp>(&l2, "l3_rsp_out", &name("l3_rsp_out"), s);
    pass_in::<HFwd>(&l2, "l3_fwd", &name("l3_fwd"), s);
    pass_in::<HRsp>(&l2, "l3_rsp", &name("l3_rsp"), s);
    let name = |what: &str| format!("l3_{k}_{what}");
    pass_in::<HReq>(&l3, "req", &name("req"), s);
    pass_in::<HWb>(&l3, "wb", &name("wb"), s);
    pass_in::<HRsp>(&l3, "rsp_in", &name("rsp_in"), s);
    pass_out::<HFwd>(&l3, "fwd", &name("fwd"), s);
    pass_out::<HRsp>(&l3, "rsp", &name("rsp"), s);
    pass_out::<MemReq>(&l3, "mem_req", &format!("mem{k}_req"), s);
    pass_in::<MemRsp>(&l3, "mem_rsp", &format!("mem{k}_rsp"), s);
}

fn small(cpus: u32, cus: u32, tbes: u32) -> Spandex {
    Spandex {
        cpus,
        cus,
        sharers: cpus,
        addr_bits: 32,
        line: 64,
        banks: 2,
        mshrs: 4,
        sb: 4,
        wbb: 2,
        tbes,
        ..Spandex::default()
    }
}

fn world(s: &Spandex, denovos: u32, fault: GpuL2Fault, seed: u64) -> World {
    let work = (5, 10);
    World::new(&system(s, denovos, fault), (s.cu(), s.devs()), Manner::Cmp, work, Outside::new(s), seed)
}

#[test]
fn locks_go_round_between_cores_and_cus_over_networks_without_order() {
    for (cpus, cus, denovos, tbes) in [(2, 2, 0, 2), (2, 2, 2, 2), (1, 3, 3, 4), (3, 1, 1, 3), (2, 3, 1, 4)] {
        let s = small(cpus, cus, tbes);
        let mut w = world(&s, denovos, GpuL2Fault::None, u64::from(10 * cpus + denovos));
        w.run(600_000);
        w.check();
        let all: u64 = w.locks.iter().flat_map(|l| l.sections).sum();
        assert_eq!(all, u64::from(s.devs()) * 10, "critical sections");
        assert!(w.below.memory.written > 0, "lines leave the L3");
    }
}

/// What goes wrong in the GPU L2 shows in the values of programs.
#[test]
fn faults_of_the_gpu_l2_are_noticed() {
    let faults =
        [GpuL2Fault::KeepInvalid, GpuL2Fault::NoRevoke, GpuL2Fault::LostDirty, GpuL2Fault::SilentUpgrade];
    for fault in faults {
        let found = (0..4).find_map(|seed| {
            let mut w = world(&small(2, 2, 3), 1, fault, seed);
            w.run(100_000);
            w.complaint
        });
        println!("{fault:?}: {}", found.unwrap_or_else(|| panic!("{fault:?} is not noticed")));
    }
}
