//! Parameters of a fabric of GPUs with RDMA engines.

use super::msg::Rdma;
use super::pcie::PcieParams;
use crate::choice::{Coherence, Consistency, WrspData};
use crate::fabric::BANK_HIT;
use crate::l1::L1Params;
use crate::l2::{L2Params, Policy};
use crate::params::fingerprint;
use weft_blocks::registry::BlockError;

/// Everything that fixes a fabric.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RdmaFabricParams {
    /// Counts, message widths, MSHRs, engines.
    pub rdma: Rdma,
    /// Bytes of an L1.
    pub l1_size: u32,
    /// Ways of an L1.
    pub l1_ways: u32,
    /// Cycles of an L1 hit.
    pub l1_latency: u32,
    /// Requests that wait in an L1 for lines under way.
    pub l1_pool: u32,
    /// Bytes of an L2 bank.
    pub l2_size: u32,
    /// Ways of an L2 bank.
    pub l2_ways: u32,
    /// Cycles of an L2 hit, at least the 3 of the bank alone.
    pub l2_latency: u32,
    /// Requests that wait in a bank for lines under way.
    pub l2_pool: u32,
    /// Writes whose answer carries the line.
    pub wrsp_data: WrspData,
    /// Bytes per cycle and direction of a GPU's link.
    pub link_bpc: u32,
    /// Cycles through the switch.
    pub switch_latency: u32,
    /// Cycles through a GPU's crossbars.
    pub crossbar_latency: u32,
    /// Places in the switch per GPU, for requests and for responses.
    pub credits: [u32; 2],
}

impl Default for RdmaFabricParams {
    /// The published system.
    fn default() -> RdmaFabricParams {
        RdmaFabricParams {
            rdma: Rdma::default(),
            l1_size: 16 << 10,
            l1_ways: 4,
            l1_latency: 60,
            l1_pool: 16,
            l2_size: 256 << 10,
            l2_ways: 16,
            l2_latency: 10,
            l2_pool: 64,
            wrsp_data: WrspData::Partial,
            link_bpc: 32,
            switch_latency: 140,
            crossbar_latency: 2,
            credits: [64, 64],
        }
    }
}

impl RdmaFabricParams {
    /// The L1s.
    pub fn l1(&self) -> L1Params {
        L1Params {
            size: self.l1_size,
            ways: self.l1_ways,
            latency: self.l1_latency,
            pool: self.l1_pool,
            ..L1Params::published(self.rdma.gpu(), Consistency::Rc, Coherence::None)
        }
    }

    /// The L2 banks.
    pub fn l2(&self) -> L2Params {
        L2Params {
            size: self.l2_size,
            ways: self.l2_ways,
            pool: self.l2_pool,
            wrsp_data: self.wrsp_data,
            home: Some(self.rdma.tsm.addr_bits),
            ..L2Params::write_back(self.rdma.bank())
        }
    }

    /// The switch.
    pub fn switch(&self) -> PcieParams {
        PcieParams {
            rdma: self.rdma.clone(),
            link_bpc: self.link_bpc,
            latency: self.switch_latency,
            credits: self.credits,
        }
    }

    /// The part of a module's name that tells fabrics apart: equal for equal modules.
    pub fn tag(&self) -> String {
        format!("{:016x}", fingerprint(&format!("{self:?}")))
    }

    /// Checks every value, and what does not fit together.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        let t = &self.rdma.tsm;
        let within = |key: &str, value: u32, lo: u32, hi: u32| {
            let good = (lo..=hi).contains(&value);
            check(good, key, value, "it lies outside", &format!("{lo}..{hi}"))
        };
        let power = |key: &str, value: u32, lo: u32, hi: u32| {
            let good = value.is_power_of_two() && (lo..=hi).contains(&value);
            check(
                good,
                key,
                value,
                "it is no power of two in the range",
                &format!("power of two, {lo}..{hi}"),
            )
        };
        power("gpus", t.gpus, 2, 16)?;
        within("cus", t.cus, 1, 128)?;
        power("banks", t.banks, 1, 16)?;
        within("il", t.il, 6, 24)?;
        within("addr_bits", t.addr_bits, 32, 64)?;
        within("l1_mshrs", t.l1_mshrs, 1, 64)?;
        within("l2_mshrs", t.l2_mshrs, 1, 256)?;
        self.rdma.validate("rdma-fabric")?;
        self.l1().validate().map_err(|e| renamed(e, "l1"))?;
        self.l2().validate(Policy::Back).map_err(|e| renamed(e, "l2"))?;
        within("l2_latency", self.l2_latency, BANK_HIT, 1000)?;
        within("crossbar_latency", self.crossbar_latency, 1, 64)?;
        self.switch().validate().map_err(|e| renamed(e, "switch"))
    }
}

/// An error of a part, with the keys of the fabric.
fn renamed(error: BlockError, part: &str) -> BlockError {
    let BlockError::Illegal { key, value, problem, legal, .. } = error else { return error };
    let own = matches!(key.as_str(), "size" | "ways" | "pool" | "latency");
    let key = if own { format!("{part}_{key}") } else { key };
    BlockError::Illegal { block: "rdma-fabric".into(), key, value, problem, legal }
}

fn check(good: bool, key: &str, value: u32, problem: &str, legal: &str) -> Result<(), BlockError> {
    if good {
        return Ok(());
    }
    let (block, key, value) = ("rdma-fabric".into(), key.into(), value.to_string());
    Err(BlockError::Illegal { block, key, value, problem: problem.into(), legal: legal.into() })
}
