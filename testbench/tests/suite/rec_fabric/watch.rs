//! Looks into the hardware for races that no block and no port can tell: they take the sender's side of an Inv and the receiver's.

use crate::rec_fabric::stress::Hits;
use std::collections::{HashMap, VecDeque};
use weft_blocks::fabric::FabricParams;
use weft_blocks::msg::{Cause, DirOp};
use weft_engine::Sim;
use weft_rtl::prelude::HwEnum;

/// `Class::Inv` of a bank's stage 1.
const INV: u64 = 0;

/// An Inv on its way.
struct Sent {
    cycle: u64,
    evict: bool,
}

/// An Inv in stage 1 of a bank.
struct Landing {
    gpu: u32,
    line: u64,
    unit: String,
    /// Times that an Inv has found the line valid, and waiting for its fill.
    before: [u64; 2],
}

/// What has been sent and read, by line and GPU.
#[derive(Default)]
pub struct Watch {
    sent: HashMap<(u64, u32), VecDeque<Sent>>,
    read: HashMap<(u64, u32), u64>,
    landing: Vec<Landing>,
    pub hits: Hits,
}

fn field(sim: &Sim, unit: &str, register: &str) -> u64 {
    let path = format!("{unit}.{register}");
    sim.peek(&path).and_then(|v| v.to_u64()).unwrap_or_else(|| panic!("no register {path}"))
}

fn counts(sim: &Sim, unit: &str) -> [u64; 2] {
    ["l2req.V.Inv", "l2req.P.Inv"]
        .map(|id| sim.probes().filter(|p| p.unit == unit && p.name == id).map(|p| p.count).sum())
}

impl Watch {
    /// Before a clock edge: messages that this edge moves.
    pub fn before(&mut self, sim: &Sim, p: &FabricParams) {
        for g in 0..p.sys.gpus {
            for b in 0..p.sys.banks {
                let (bank, dir) = (format!("gpu{g}.bank{b}"), format!("gpu{g}.dir{b}"));
                self.read_request(sim, &bank, &dir);
                if field(sim, &dir, "inv_valid")
                    & field(sim, &format!("gpu{g}.egress"), &format!("slice{b}_ready"))
                    == 1
                {
                    self.invalidation(sim, &dir, p.sys.gpus);
                }
                if field(sim, &bank, "s1_valid") == 1 && field(sim, &bank, "s1_class") == INV {
                    let line = field(sim, &bank, "s1_req_line");
                    let before = counts(sim, &bank);
                    self.landing.push(Landing { gpu: g, line, unit: bank, before });
                }
            }
        }
    }

    fn read_request(&mut self, sim: &Sim, bank: &str, dir: &str) {
        if field(sim, bank, "dir_req_valid") & field(sim, dir, "req_ready") == 1
            && field(sim, bank, "dir_req_op") == DirOp::RdRem.encoding()
        {
            let by = (field(sim, bank, "dir_req_line"), field(sim, bank, "dir_req_src") as u32);
            self.read.insert(by, sim.cycle());
        }
    }

    fn invalidation(&mut self, sim: &Sim, dir: &str, gpus: u32) {
        let (line, dest) = (field(sim, dir, "inv_line"), field(sim, dir, "inv_dest"));
        let evict = field(sim, dir, "inv_cause") == Cause::Evict.encoding();
        for g in (0..gpus).filter(|g| dest >> g & 1 == 1) {
            self.sent.entry((line, g)).or_default().push_back(Sent { cycle: sim.cycle(), evict });
        }
    }

    /// After the clock edge: what the Invs in the banks have met.
    pub fn after(&mut self, sim: &Sim) {
        for landing in std::mem::take(&mut self.landing) {
            let by = (landing.line, landing.gpu);
            let sent =
                self.sent.get_mut(&by).and_then(VecDeque::pop_front).expect("an Inv that lands was sent");
            let now = counts(sim, &landing.unit);
            // The directory has taken a read of this GPU after it had sent the Inv.
            let fresh = self.read.get(&by).is_some_and(|cycle| *cycle > sent.cycle);
            let mut hit = |id: &str| *self.hits.entry(id.into()).or_default() += 1;
            if fresh && sent.evict && now[0] > landing.before[0] {
                hit("rec.race.late_evict_inv_drops_fresh_copy");
            }
            if fresh && now[1] > landing.before[1] {
                hit("rec.race.over_poison");
            }
        }
    }
}
