//! Memory controllers at places of the mesh, between the LLC banks and the ports of memory.
//!
//! ```text
//!  bank 0 -- hops --+                                    +-- hops -- bank 0
//!  bank 4 -- hops --+-- merge -- memC_req    memC_rsp ---+-- hops -- bank 4
//!  ...              |                                    |   ...
//! ```
//! Lines are interleaved over controllers as over banks, so a bank has one controller: bank `b` has number `b mod n` of `n` controllers. Each GPU has its own. Between a bank and its controller a message takes as many
//! hops as they are apart.
//!
//! Decision: these messages have wires of their own and count as no traffic. Section 2 has four virtual networks and section 10 no class for memory; and the published time of memory is that of
//! an idle mesh. The controller takes requests in turn, one per cycle.

use super::NetParams;
use crate::msg::{ControllerRsp, MemReq, MemRsp};
use crate::params::Spandex;
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_blocks::common::crossbar::crossbar;
use weft_blocks::common::join::{pass_in, pass_out};
use weft_blocks::common::wait::Wait;
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;

/// Modules between banks and controllers.
pub(crate) struct Memory {
    /// Of each bank.
    controllers: Vec<u32>,
    /// Hops from each bank to its controller.
    hops: Vec<u32>,
    /// By hops: to the controller and back.
    ways: BTreeMap<u32, (Wait, Wait)>,
    merge: Arc<Module>,
    split: Arc<Module>,
}

impl Memory {
    /// The modules of a network with controllers; `None` without.
    ///
    /// # Errors
    /// What [`NetParams::validate`] refuses of them.
    pub fn of(s: &Spandex, p: &NetParams) -> Result<Option<Memory>, BlockError> {
        p.validate_controllers(s)?;
        if p.controllers.is_empty() { Ok(None) } else { Memory::new(s, p).map(Some) }
    }

    fn new(s: &Spandex, p: &NetParams) -> Result<Memory, BlockError> {
        let controllers: Vec<u32> = (0..s.banks).map(|b| p.controller_of(s, b)).collect();
        let hop =
            |(b, c): (usize, &u32)| p.distance(p.places[s.devs() as usize + b], p.controllers[*c as usize]);
        let hops: Vec<u32> = controllers.iter().enumerate().map(hop).collect();
        let name = |what: &str, n: u32| format!("spandex_memory_{what}{n}_{}", s.name_part());
        let way = |h: u32| {
            let req = Wait::new::<MemReq>("spandex-net", &name("req", p.hop * h), p.hop * h, s)?;
            let rsp = Wait::new::<MemRsp>("spandex-net", &name("rsp", p.hop * h), p.hop * h, s)?;
            Ok((h, (req, rsp)))
        };
        let each = s.banks / p.controllers.len() as u32;
        let fits = |made: Result<Arc<Module>, ElabErrors>| {
            made.map_err(|errors| BlockError::Elab { block: "spandex-net".into(), errors })
        };
        Ok(Memory {
            ways: hops.iter().map(|h| way(*h)).collect::<Result<_, BlockError>>()?,
            merge: fits(crossbar::<MemReq>(&name("merge", each), each, 1, s, |_| lit(0, 1)))?,
            split: fits(split(&name("split", each), s, each))?,
            controllers,
            hops,
        })
    }

    /// Places them, with ports `memC_req` and `memC_rsp`.
    fn wire(&self, s: &Spandex, banks: &[InstanceRef]) {
        let last = self.controllers.iter().max().copied().unwrap_or(0);
        for c in 0..=last {
            let merge = instance(&format!("memory_merge{c}"), &self.merge);
            let split = instance(&format!("memory_split{c}"), &self.split);
            for (i, b) in (0..s.banks).filter(|b| self.controllers[*b as usize] == c).enumerate() {
                let (req, rsp) = &self.ways[&self.hops[b as usize]];
                let bank = &banks[b as usize];
                let names = (format!("memory_req{b}"), format!("memory_rsp{b}"));
                req.join::<MemReq>(&names.0, (bank, "mem_req"), (&merge, &format!("in{i}")), s);
                rsp.join::<MemRsp>(&names.1, (&split, &format!("out{i}")), (bank, "mem_rsp"), s);
            }
            pass_out::<MemReq>(&merge, "out0", &format!("mem{c}_req"), s);
            pass_in::<ControllerRsp>(&split, "in", &format!("mem{c}_rsp"), s);
        }
    }
}

/// Ports of memory: those of controllers, or without any those of banks.
pub(crate) fn memories(s: &Spandex, memory: Option<&Memory>, banks: &[InstanceRef]) {
    if let Some(memory) = memory {
        return memory.wire(s, banks);
    }
    for (b, bank) in banks.iter().enumerate() {
        pass_out::<MemReq>(bank, "mem_req", &format!("mem{b}_req"), s);
        pass_in::<MemRsp>(bank, "mem_rsp", &format!("mem{b}_rsp"), s);
    }
}

/// Gives answers to the banks of a controller, `each` of them.
fn split(name: &str, s: &Spandex, each: u32) -> Result<Arc<Module>, ElabErrors> {
    Module::build(name, ModuleKind::Block, || {
        doc("Answers of a memory controller, to its banks.");
        param("banks", each);
        let from = in_channel::<ControllerRsp>("in", s);
        // The upper bits of a bank's number tell the banks of a controller apart.
        let (index, low) = (each.trailing_zeros(), (s.banks_each() / each).trailing_zeros());
        let ControllerRsp { bank, tbe, data } = from.msg;
        for i in 0..each {
            let out = out_channel::<MemRsp>(&format!("out{i}"), s);
            let mine = if index == 0 { bool_lit(true) } else { bank.slice(low, index).eq(u64::from(i)) };
            when(from.valid & mine & out.free, || {
                out.send(&MemRsp { tbe, data });
                from.take();
            });
        }
        if index == 0 || low > 0 || s.gpus > 1 {
            unused_input(&bank);
        }
    })
}
