//! Fabrics of every protocol elaborate, with their ports, and refuse what does not fit.

use std::sync::Arc;
use weft_blocks::directory::protocols::ALL;
use weft_blocks::fabric::{ClosedParams, FabricParams, Protocol, closed_fabric, rec_fabric};
use weft_rtl::ir::Module;

fn names(module: &Module) -> Vec<&str> {
    module.ports().map(|(_, s)| s.name.as_str()).collect()
}

#[test]
fn every_protocol_elaborates_with_its_ports() {
    for protocol in ALL.iter().copied() {
        let name = protocol.name();
        let module = rec_fabric(&FabricParams::scaled(protocol)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let ports = names(&module);
        for port in ["g3_cu1_req_data", "g0_mem1_rsp_valid", "g2_fence_done_seq", "g1_cu0_stall"] {
            assert!(ports.contains(&port), "{name} has no {port}");
        }
        let ideal = ports.contains(&"g0_b1_dir_req_line");
        assert_eq!(ideal, protocol == Protocol::IDEAL);
    }
}

#[test]
fn every_protocol_elaborates_over_gpms() {
    for protocol in ALL.iter().copied() {
        let name = protocol.name();
        let mut p = FabricParams::scaled(protocol);
        (p.sys.gpus, p.sys.gpms, p.sys.banks, p.sys.l1s) = (2, 2, 2, 1);
        let module = rec_fabric(&p).unwrap_or_else(|e| panic!("{name}: {e}"));
        let ports = names(&module);
        assert!(ports.contains(&"g3_cu0_req_data"), "{name} has four nodes");
        assert_eq!(ports.contains(&"g0_b1_dir_req_line"), p.outside_directory(), "{name}");
        assert!(!p.outside_directory());
        let links = module.instances.iter().filter(|i| i.name.contains("switch_l")).count();
        assert!(p.planes() && links > 0, "{name} has a switch for each GPU's own messages");
    }
}

#[test]
fn other_sizes_elaborate() {
    let scaled = FabricParams::scaled(Protocol::REC);
    let mut eight = scaled.clone();
    (eight.sys.gpus, eight.links, eight.inv_rate) = (8, 2, 2);
    let mut wide = scaled.clone();
    (wide.sys.line, wide.range, wide.sys.banks, wide.sys.l1s) = (128, 2048, 1, 1);
    let six = FabricParams { links: 6, ..scaled.clone() };
    for p in [eight, wide, six, FabricParams::published(Protocol::REC)] {
        rec_fabric(&p).unwrap_or_else(|e| panic!("{p:?}: {e}"));
    }
    closed_fabric(&ClosedParams::bench()).unwrap_or_else(|e| panic!("{e}"));
}

/// Every instance below a module, itself included.
fn walk(module: &Arc<Module>, seen: &mut Vec<Arc<Module>>) {
    seen.push(module.clone());
    module.instances.iter().for_each(|i| walk(&i.module, seen));
}

#[test]
fn equal_modules_are_built_once() {
    let mut p = FabricParams::scaled(Protocol::REC);
    p.links = 2;
    let closed = ClosedParams { fabric: p.clone(), ..ClosedParams::bench() };
    for top in [rec_fabric(&p), closed_fabric(&closed)] {
        let mut all = Vec::new();
        walk(&top.unwrap_or_else(|e| panic!("{e}")), &mut all);
        let mut by_name = std::collections::HashMap::new();
        for module in &all {
            let first = by_name.entry(&module.name).or_insert(module);
            assert!(Arc::ptr_eq(first, module), "{} is built twice", module.name);
        }
        assert!(by_name.len() < all.len() / 2);
    }
}

#[test]
fn what_does_not_fit_is_refused_with_the_legal_range() {
    let scaled = FabricParams::scaled(Protocol::REC);
    let refuse = |change: &dyn Fn(&mut FabricParams), words: &[&str]| {
        let mut p = scaled.clone();
        change(&mut p);
        let text = rec_fabric(&p).unwrap_err().to_string();
        for word in words {
            assert!(text.contains(word), "{word} is not in: {text}");
        }
    };
    refuse(&|p| p.sys.banks = 3, &["banks = 3", "1, 2, 4"]);
    refuse(&|p| p.links = 9, &["links = 9", "1..8"]);
    refuse(&|p| p.sys.home_shift = 47, &["home_shift = 47"]);
    refuse(&|p| p.range = 96, &["range"]);
    refuse(&|p| p.dir_entries = 100, &["entries"]);
    refuse(&|p| p.l1_ways = 3, &["ways = 3"]);
    let ideal = ClosedParams { fabric: FabricParams::scaled(Protocol::IDEAL), ..ClosedParams::bench() };
    let text = closed_fabric(&ideal).unwrap_err().to_string();
    assert!(text.contains("protocol = ideal"), "{text}");
}
