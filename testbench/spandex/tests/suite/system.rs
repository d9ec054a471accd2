//! Devices around a bank of the LLC, all of them hardware; the network, which keeps no order, and the memory are the bench's.

use crate::words::LINE;
use rand::Rng;
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_bench::{Bench, Msg};
use weft_blocks::common::join::{pass_in, pass_out};
use weft_rtl::bv::Bv;
use weft_rtl::prelude::*;
use weft_spandex::llc::{LlcParams, spandex_llc};
use weft_spandex::msg::{Fwd, MemReq, MemRsp, Req, Rsp, Wb};
use weft_spandex::params::Spandex;

/// Devices `dev_0` and so on, and a bank `home`; `pins`: those of a device's CU.
pub fn system(
    name: &str,
    llc: &LlcParams,
    devices: &[Arc<Module>],
    pins: impl Fn(&InstanceRef, usize),
) -> Arc<Module> {
    let s = &llc.bank.s;
    let bank = spandex_llc(llc).expect("legal");
    Module::build(name, ModuleKind::Fabric, || {
        for (d, module) in devices.iter().enumerate() {
            let dev = instance(&format!("dev_{d}"), module);
            dev.drive_bits("own", lit(d as u64, s.dev_bits()));
            let name = |what: &str| format!("d{d}_{what}");
            pins(&dev, d);
            pass_out::<Req>(&dev, "req", &name("req"), s);
            pass_out::<Wb>(&dev, "wb", &name("wb"), s);
            pass_out::<Rsp>(&dev, "rsp_out", &name("rsp_out"), s);
            pass_out::<Fwd>(&dev, "fwd_out", &name("fwd_out"), s);
            pass_in::<Fwd>(&dev, "fwd", &name("fwd"), s);
            pass_in::<Rsp>(&dev, "rsp", &name("rsp"), s);
        }
        let bank = instance("home", &bank);
        bank.drive_bits("own", lit(u64::from(s.devs()), s.node_bits()));
        pass_in::<Req>(&bank, "req", "bank_req", s);
        pass_in::<Wb>(&bank, "wb", "bank_wb", s);
        pass_in::<Rsp>(&bank, "rsp_in", "bank_rsp_in", s);
        pass_in::<MemRsp>(&bank, "mem_rsp", "bank_mem_rsp", s);
        pass_out::<Rsp>(&bank, "rsp", "bank_rsp", s);
        pass_out::<Fwd>(&bank, "fwd", "bank_fwd", s);
        pass_out::<MemReq>(&bank, "mem_req", "bank_mem_req", s);
    })
    .expect("legal")
}

/// The network and the memory.
pub struct Network {
    s: Spandex,
    post: Vec<(u64, String, Msg)>,
    memory: BTreeMap<u64, Bv>,
    /// Longest delay of most messages.
    pub slow: u64,
    /// Destinations and operations of messages that are kept back.
    pub hold: Vec<(&'static str, u64)>,
}

impl Network {
    /// An empty network.
    pub fn new(s: &Spandex, slow: u64) -> Network {
        Network { s: s.clone(), post: Vec::new(), memory: BTreeMap::new(), slow, hold: Vec::new() }
    }

    /// Takes its place at the ports of all devices and of the bank; it keeps back some outputs of devices.
    pub fn connect(b: &mut Bench, s: &Spandex, kept: &[&str]) {
        for d in 0..s.devs() {
            let name = |what: &str| format!("d{d}_{what}");
            b.sink::<Req>(&name("req"), s);
            b.sink::<Wb>(&name("wb"), s);
            b.sink::<Rsp>(&name("rsp_out"), s);
            b.sink::<Fwd>(&name("fwd_out"), s);
            b.source::<Fwd>(&name("fwd"), s);
            b.source::<Rsp>(&name("rsp"), s);
            kept.iter().for_each(|out| b.sink_mut(&name(out)).chance = 0.7);
        }
        b.source::<Req>("bank_req", s);
        b.source::<Wb>("bank_wb", s);
        b.source::<Rsp>("bank_rsp_in", s);
        b.source::<MemRsp>("bank_mem_rsp", s);
        b.sink::<Rsp>("bank_rsp", s);
        b.sink::<Fwd>("bank_fwd", s);
        b.sink::<MemReq>("bank_mem_req", s);
    }

    /// Sends a message to a channel.
    pub fn later(&mut self, b: &mut Bench, to: String, m: Msg) {
        // Now and then a message takes so long that whole critical sections lie between.
        let long = if b.rng.random_bool(0.03) { 10 * self.slow } else { self.slow };
        let due = b.sim.cycle() + b.rng.random_range(1..=long);
        self.post.push((due, to, m));
    }

    /// Takes requests, write-backs and answers of a device that are not `kept`, which sees all of them.
    pub fn device(&mut self, b: &mut Bench, d: usize, mut kept: impl FnMut(&str, &Msg) -> bool) {
        for (out, to) in [("req", "bank_req"), ("wb", "bank_wb"), ("rsp_out", "bank_rsp_in")] {
            while let Some((_, m)) = b.received(&format!("d{d}_{out}")) {
                if kept(out, &m) {
                    continue;
                }
                let device =
                    Some(m.get("dst")).filter(|dst| out == "rsp_out" && *dst < u64::from(self.s.devs()));
                let to = device.map_or(to.into(), |dst| format!("d{dst}_rsp"));
                self.later(b, to, m);
            }
        }
    }

    /// Takes what the bank sends, to devices and to memory; `seen`: forwards.
    pub fn bank(&mut self, b: &mut Bench, mut seen: impl FnMut(&Msg)) {
        for (out, to) in [("bank_rsp", "rsp"), ("bank_fwd", "fwd")] {
            while let Some((_, m)) = b.received(out) {
                if out == "bank_fwd" {
                    seen(&m);
                }
                let to = format!("d{}_{to}", m.get("dst"));
                self.later(b, to, m);
            }
        }
        while let Some((_, m)) = b.received("bank_mem_req") {
            let line = m.get("line");
            if m.get("write") == 1 {
                self.memory.insert(line, m.wide("data").clone());
            } else {
                let data = self.memory.get(&line).cloned().unwrap_or_else(|| Bv::zero(8 * LINE as u32));
                let rsp = Msg::of::<MemRsp>(&self.s, &[("tbe", m.get("tbe"))]).with("data", data);
                self.later(b, "bank_mem_rsp".into(), rsp);
            }
        }
    }

    /// Messages arrive that are due.
    pub fn deliver(&mut self, b: &mut Bench, now: u64) {
        let mut i = 0;
        while i < self.post.len() {
            let (due, to, m) = &self.post[i];
            let held = self.hold.iter().any(|h| h.0 == to && m.0.contains_key("op") && m.get("op") == h.1);
            if *due <= now && !held {
                let (_, to, m) = self.post.swap_remove(i);
                b.send(&to, m);
            } else {
                i += 1;
            }
        }
    }

    /// Nothing is under way.
    pub fn idle(&self) -> bool {
        self.post.is_empty()
    }
}
