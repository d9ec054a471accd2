//! Channels of a block under test, and hits for the ledger.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::sync::Arc;
use weft_bench::{Checked, patient};
use weft_blocks::msg::Sys;
use weft_engine::{InPort, OutPort, Sim};
use weft_rtl::ir::{Module, ProbeKind};
use weft_testbench::ledger::{self, ledger};

/// A fresh simulation of a block.
pub fn sim(module: &Arc<Module>) -> Checked {
    Checked::new(module)
}

/// A channel that the bench sends on; a message stays offered until it is taken.
pub struct Sender {
    valid: InPort,
    ready: OutPort,
    leaves: Vec<InPort>,
    offered: bool,
}

impl Sender {
    pub fn new(sim: &Sim, name: &str, leaves: &[&str]) -> Sender {
        Sender {
            valid: sim.input(&format!("{name}_valid")).unwrap(),
            ready: sim.output(&format!("{name}_ready")).unwrap(),
            leaves: leaves.iter().map(|l| sim.input(&format!("{name}_{l}")).unwrap()).collect(),
            offered: false,
        }
    }

    pub fn idle(&self) -> bool {
        !self.offered
    }

    pub fn offer(&mut self, sim: &mut Sim, values: &[u64]) {
        assert!(!self.offered && values.len() == self.leaves.len());
        for (port, value) in self.leaves.iter().zip(values) {
            sim.set(*port, *value);
        }
        sim.set(self.valid, 1);
        self.offered = true;
    }

    /// Whether the message offered is taken in this cycle; call once per cycle, before the step.
    pub fn taken(&mut self, sim: &mut Sim) -> bool {
        let taken = self.offered && sim.get(self.ready) == 1;
        self.offered &= !taken;
        taken
    }

    /// To be called after the step: withdraws `valid` after a transfer.
    pub fn after(&self, sim: &mut Sim) {
        if !self.offered {
            sim.set(self.valid, 0);
        }
    }
}

/// A channel that the bench receives on.
pub struct Receiver {
    valid: OutPort,
    ready: InPort,
    leaves: Vec<OutPort>,
    patient: bool,
}

impl Receiver {
    pub fn new(sim: &Sim, name: &str, leaves: &[&str]) -> Receiver {
        Receiver {
            valid: sim.output(&format!("{name}_valid")).unwrap(),
            ready: sim.input(&format!("{name}_ready")).unwrap(),
            leaves: leaves.iter().map(|l| sim.output(&format!("{name}_{l}")).unwrap()).collect(),
            patient: patient(name, 0),
        }
    }

    /// Drives ready for this cycle and returns the message transferred in it.
    pub fn take(&self, sim: &mut Sim, ready: bool) -> Option<Vec<u64>> {
        let offered = sim.get(self.valid) == 1;
        sim.set(self.ready, u64::from(ready && (offered || !self.patient)));
        let here = ready && offered;
        here.then(|| self.leaves.iter().map(|l| sim.get(*l)).collect())
    }
}

/// No assertion may have failed.
pub fn assert_sound(sim: &Sim) {
    assert!(sim.failures().is_empty(), "assertions failed: {:?}", sim.failures());
}

/// Cover counts of a simulation by ledger identifier.
pub fn covers(sim: &Sim) -> BTreeMap<String, u64> {
    sim.probes().filter(|p| p.kind == ProbeKind::Cover).map(|p| (p.name.to_string(), p.count)).collect()
}

/// Adds counts to what other runs of the test have collected.
pub fn add(into: &mut BTreeMap<String, (u64, u64)>, from: BTreeMap<String, u64>, seed: u64) {
    for (id, count) in from.into_iter().filter(|(_, c)| *c > 0) {
        let slot = into.entry(id).or_insert((0, seed));
        slot.0 += count;
        slot.1 = slot.1.min(seed);
    }
}

/// Writes hits for the ledger and checks that each is known to it.
pub fn publish(test: &str, hits: &BTreeMap<String, (u64, u64)>) {
    let mut ledger = ledger();
    for (id, (count, seed)) in hits {
        ledger.hit(id, *count, *seed, test).unwrap();
    }
    ledger::publish(test, hits).unwrap();
}

/// Message widths of a small system.
pub fn small_sys(gpus: u32, banks: u32) -> Sys {
    module_sys(gpus, 1, banks)
}

/// The same of one whose GPUs are made of GPMs.
pub fn module_sys(gpus: u32, gpms: u32, banks: u32) -> Sys {
    Sys {
        gpus,
        gpms,
        addr_bits: 40,
        line: 64,
        banks,
        l1s: 2,
        l2_mshrs: 8,
        l1_mshrs: 4,
        il: 256,
        home_shift: 30,
        owners: false,
    }
}

/// Ledger entries of `block` that name hierarchical systems.
pub fn entries_of_planes(block: &str) -> Vec<String> {
    let all = weft_testbench::ledger::all_entries().into_iter();
    let of = |id: &str| id.starts_with("hmg.") || id.starts_with("gpu_vi.");
    all.filter(|e| e.block == block && of(&e.id)).map(|e| e.id).collect()
}

/// Every ledger entry of `block` is among `hits`, except those that `others` names.
pub fn assert_all_hit(block: &str, hits: &BTreeMap<String, (u64, u64)>, others: &[&str]) {
    let never: Vec<String> = weft_testbench::ledger::all_entries()
        .into_iter()
        .filter(|e| e.block == block && !hits.contains_key(&e.id) && !others.contains(&e.id.as_str()))
        .map(|e| e.id)
        .collect();
    assert!(never.is_empty(), "never hit: {never:?}");
}
