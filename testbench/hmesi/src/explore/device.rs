//! A CPU core's L1 and its client as one block, with the channels between them as they are in the hardware.

use super::Config;
use std::sync::Arc;
use weft_blocks::common::join::{pass_in, pass_out};
use weft_blocks::msg::{CuReq, CuRsp};
use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;
use weft_spandex::hmesi::client::{ClientParams, hmesi_client};
use weft_spandex::hmesi::msg::{HFwd, HReq, HRsp, HWb};
use weft_spandex::mesi_l1::{MesiL1Params, mesi_l1};
use weft_spandex::mesi_port::{MesiDown, MesiExt, MesiReq, MesiUp};
use weft_spandex_bench::explore::device::mesi_port;

/// A CPU core's L1 and client.
pub(super) fn cpu(c: &Config) -> Result<Arc<Module>, BlockError> {
    let port = mesi_port(&c.cores);
    let s = port.spandex.clone();
    let l1 = mesi_l1(&MesiL1Params { inject: c.cores.faults.mesi_l1, ..MesiL1Params::new(port.clone()) })?;
    let client = hmesi_client(&ClientParams { inject: c.faults.client, ..ClientParams::new(port.clone()) })?;
    Module::build("cpu_device", ModuleKind::Block, || {
        doc("A device to be explored: a CPU core's L1 and its client.");
        let own = input::<Bits>("own", s.dev_bits());
        let (cache, unit) = (instance("cache", &l1), instance("client", &client));
        unit.drive_bits("own", own);
        let cu = s.cu();
        pass_in::<CuReq>(&cache, "cu_req", "cu_req", &cu);
        pass_out::<CuRsp>(&cache, "cu_rsp", "cu_rsp", &cu);
        connect::<MesiReq>(&cache, "l1_req", &unit, "l1_req", &port);
        connect::<MesiUp>(&cache, "l1_up", &unit, "l1_up", &port);
        connect::<MesiDown>(&unit, "l1_down", &cache, "l1_down", &port);
        connect::<MesiExt>(&unit, "ext", &cache, "ext", &port);
        pass_out::<HReq>(&unit, "req", "req", &s);
        pass_out::<HWb>(&unit, "wb", "wb", &s);
        pass_out::<HRsp>(&unit, "rsp_out", "rsp_out", &s);
        pass_in::<HFwd>(&unit, "fwd", "fwd", &s);
        pass_in::<HRsp>(&unit, "rsp", "rsp", &s);
    })
    .map_err(|errors| BlockError::Elab { block: "device".into(), errors })
}
