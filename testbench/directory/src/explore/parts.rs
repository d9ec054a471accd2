//! The modules of a node, with the parameters that the fabric gives them (`weft_blocks::fabric`).

use std::sync::Arc;
use weft_blocks::cache::l1::l1_cache;
use weft_blocks::directory::egress::{EgressParams, FarReach, inv_egress};
use weft_blocks::directory::fence::{FenceParams, fence_unit};
use weft_blocks::directory::hier_fence::{FenceScheme, HierFenceParams, hier_fence_unit};
use weft_blocks::directory::ingress::{IngressParams, inv_ingress};
use weft_blocks::directory::{DirParams, directory};
use weft_blocks::fabric::{FabricInject, FabricParams};
use weft_blocks::registry::{BlockError, elaborated};
use weft_rtl::prelude::Module;

/// Groups whose Invs a slice with acknowledged Invs awaits at once.
const PENDING: u32 = 2;

/// The modules of one node.
pub(super) struct Modules {
    pub l1: Arc<Module>,
    pub bank: Arc<Module>,
    pub slice: Option<Arc<Module>>,
    pub egress: Arc<Module>,
    pub ingress: Arc<Module>,
    pub fence: Arc<Module>,
}

impl Modules {
    /// Those of a node.
    pub fn new(p: &FabricParams, node: u32) -> Result<Modules, BlockError> {
        let sys = || p.sys.clone();
        let (links, planes) = (p.node_links(), p.planes());
        let slices = p.sys.banks * p.inv_ports();
        let direct = matches!(p.fence_scheme(), Some(FenceScheme::Flat { .. } | FenceScheme::Drain { .. }));
        let far = if direct { FarReach::All } else { FarReach::SameGpm };
        let egress = EgressParams { sys: sys(), home: node, links, slices, planes, far };
        let ingress = IngressParams { sys: sys(), home: node, links, planes, far, acks: p.acked() };
        let early = p.inject == FabricInject::FenceEarlyDone;
        let fence = match p.fence_scheme() {
            Some(scheme) => {
                let marks = if direct { 1 } else { HierFenceParams::MARKS };
                hier_fence_unit(&HierFenceParams { sys: sys(), home: node, scheme, marks, early })
            }
            None => fence_unit(&FenceParams { sys: sys(), home: node, flush: p.release_l2_flush, early }),
        };
        let kind = p.protocol.bank();
        Ok(Modules {
            l1: l1_cache(&p.l1())?,
            bank: elaborated(kind.info.name, (kind.build)(&p.l2(node)))?,
            slice: slice(p, node)?,
            egress: elaborated("inv-egress", inv_egress(&egress))?,
            ingress: elaborated("inv-ingress", inv_ingress(&ingress))?,
            fence: elaborated("fence-unit", fence)?,
        })
    }
}

fn slice(p: &FabricParams, node: u32) -> Result<Option<Arc<Module>>, BlockError> {
    let smaller = |of: DirParams| DirParams { pending: PENDING, ..of };
    p.dir(node).map(|of| elaborated("directory", directory(&smaller(of)))).transpose()
}
