//! A family for tests, the smallest that has everything which the directory family does not: one memory for all nodes, no fence units, a time beside each answer,
//! something that kernels hand on, checks and figures of its own.

mod around;
mod check;
mod tests;

use super::{
    Family, FamilyCheck, Figure, FigureInfo, FigureValue, Figures, Fold, Hardware, HostSide, Link, Links,
    Meter, Promises, Seen, Shape, Surroundings,
};
use crate::check::CheckError;
use crate::config::{Common, ConfigError, FabricConfig, K, KeyInfo, Legal, keys};
use crate::cu::{CuMode, CuObserver, Who};
use crate::memory::Memory;
use crate::run::FabricError;
use std::sync::Arc;
use weft_blocks::msg::{CuReq, CuRsp, Sys};
use weft_blocks::registry::BlockError;
use weft_engine::{Design, Sim};
use weft_rtl::prelude::*;

keys! {
    /// Keys of the toy family.
    ToyKeys {
        Memory {
            delay: u32 = 5, "cycles", Legal::Within(1, 100), "time of an access";
        }
    }
}

impl Family for ToyKeys {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn common(&self) -> Common {
        Common { gpus: 2, cus: 2, dram_bytes: 64 * K, ..Common::default() }
    }

    fn adapt(&self, key: &mut KeyInfo) {
        if key.name == "gpus" {
            key.legal = Legal::Power(1, 4);
        }
    }

    fn check(&self, config: &FabricConfig) -> Result<(), ConfigError> {
        config.ensure(config.common.gpms == 1, "gpms", "a toy has no modules", "1")
    }

    fn hardware(&self, config: &FabricConfig) -> Arc<dyn Hardware> {
        Arc::new(Toy { common: config.common.clone(), delay: u64::from(self.delay) })
    }

    fn figures(&self) -> Vec<FigureInfo> {
        [("loads", "accesses"), ("timed", "answers"), ("handed", "kernels")]
            .map(|(name, unit)| FigureInfo { name, unit, about: "what it says", parts: None, list: false })
            .into()
    }

    fn summary(&self, figures: &Figures) -> Vec<(&'static str, String)> {
        vec![("loads", figures.count("loads").to_string())]
    }
}

struct Toy {
    common: Common,
    delay: u64,
}

impl Toy {
    /// Widths of the messages at the ports of compute units.
    fn sys(&self) -> Sys {
        let common = &self.common;
        Sys {
            gpus: common.gpus,
            gpms: 1,
            addr_bits: common.addr_bits,
            line: common.line,
            banks: 1,
            l1s: common.cus,
            l2_mshrs: 4,
            l1_mshrs: 4,
            il: 4096,
            home_shift: 30,
            owners: false,
        }
    }
}

impl Hardware for Toy {
    /// A register on each way between a compute unit and the memory, and a count of answers as their time.
    fn module(&self) -> Result<Arc<Module>, BlockError> {
        let (sys, shape) = (self.sys(), self.shape());
        let units = (0..shape.nodes).flat_map(|n| (0..shape.cus).map(move |c| format!("g{n}_cu{c}")));
        let built = Module::build(&self.tag(), ModuleKind::Block, || {
            for unit in units {
                let (req, ask) = (
                    in_channel::<CuReq>(&format!("{unit}_req"), &sys),
                    out_channel::<CuReq>(&format!("{unit}_ask"), &sys),
                );
                when(req.valid & ask.free, || {
                    req.take();
                    ask.send(&req.msg);
                });
                let (tell, rsp) = (
                    in_channel::<CuRsp>(&format!("{unit}_tell"), &sys),
                    out_channel::<CuRsp>(&format!("{unit}_rsp"), &sys),
                );
                let time = output_reg::<Bits>(&format!("{unit}_time"), 64);
                when(tell.valid & rsp.free, || {
                    tell.take();
                    rsp.send(&tell.msg);
                    time.set(time.get() + 1);
                });
            }
        });
        built.map_err(|errors| BlockError::Elab { block: "toy".into(), errors })
    }

    fn tag(&self) -> String {
        format!("toy_g{}_c{}", self.common.gpus, self.common.cus)
    }

    fn shape(&self) -> Shape {
        let Common { gpus, cus, line, dram_bytes, .. } = self.common;
        Shape {
            nodes: gpus,
            gpms: 1,
            cus,
            cores: 0,
            line,
            homes: 1,
            home_bytes: u64::from(gpus) * dram_bytes,
        }
    }

    fn links(&self) -> Links {
        let link = Link { bytes: 16, latency: 50 };
        Links { gpus: link, host: Some(HostSide { link, fault_cycles: 300, page: 8192 }) }
    }

    fn mode(&self) -> CuMode {
        CuMode { acks: true, ..self.common.mode(false) }
    }

    fn promises(&self) -> Promises {
        Promises { values: crate::family::ValueRule::Elsewhere, memory: true }
    }

    fn has_fences(&self) -> bool {
        false
    }

    fn release_fence(&self, scope: u8) -> Option<u8> {
        (scope > 0).then_some(scope)
    }

    fn acquire_fence(&self, scope: u8) -> Option<u8> {
        (scope > 0).then_some(scope)
    }

    fn fold(&self) -> Option<Fold> {
        Some(Arc::new(|told: &[u64]| told.iter().sum()))
    }

    fn surroundings(&self, sim: &mut Sim, memory: Memory) -> Result<Box<dyn Surroundings>, FabricError> {
        Ok(Box::new(around::Around::new(sim, &self.shape(), self.delay, memory)?))
    }

    fn checks(&self, _: &Design) -> Result<Vec<Box<dyn FamilyCheck>>, CheckError> {
        Ok(vec![Box::new(check::Times::default())])
    }

    fn meter(&self) -> Box<dyn Meter> {
        Box::new(Loads(0))
    }
}

/// Counts loads.
#[derive(Clone)]
struct Loads(u64);

impl CuObserver for Loads {
    fn load(&mut self, _: &Who, _: u64, _: u128, _: &[u64; 16], _: u64, _: u64) {
        self.0 += 1;
    }
}

impl Meter for Loads {
    fn figures(&self, seen: &Seen) -> Figures {
        let value = |name| match name {
            "loads" => self.0,
            name => seen.checked(name).unwrap_or(0),
        };
        let figure = |info: FigureInfo| Figure { value: FigureValue::Count(value(info.name)), info };
        Figures(ToyKeys::default().figures().into_iter().map(figure).collect())
    }

    fn save(&self) -> Vec<u8> {
        self.0.to_le_bytes().into()
    }

    fn resume(&mut self, bytes: &[u8]) -> bool {
        let loaded = bytes.try_into().map(u64::from_le_bytes);
        self.0 = loaded.unwrap_or(0);
        loaded.is_ok()
    }

    fn boxed(&self) -> Box<dyn Meter> {
        Box::new(self.clone())
    }
}
