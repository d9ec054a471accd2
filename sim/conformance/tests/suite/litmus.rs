//! Litmus tests on small fabrics: nothing that a model forbids, and the weak behaviour that the hardware is meant to have.

use crate::common;

use common::{all, campaign, named, search, weak};
use std::path::Path;
use weft_conformance::Plan;
use weft_litmus::program::{Layout, Placement};
use weft_litmus::read::read;
use weft_litmus::test::Test;

/// Runs of a test in the default suite: an end seldom seen is for `weft litmus`, with more of them.
const RUNS: u32 = 6;

fn public() -> Vec<Test> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus/tests/public");
    let list = std::fs::read_to_string(folder.join("expected.csv")).expect("the list of tests");
    let files = list.lines().skip(1).filter_map(|row| row.split(',').next());
    let text = |file| std::fs::read_to_string(folder.join(file)).expect("a test of the list");
    files.map(|file| read(&text(file)).expect(file)).collect()
}

/// A test per fabric, protocol and model: nothing that the model forbids is seen in any test of the library.
macro_rules! keeps_its_model {
    ($($name:ident: $fabric:literal, $keys:expr;)*) => {$(
        #[test]
        fn $name() {
            weak(&campaign($fabric, &$keys), &all(), RUNS);
        }
    )*};
}

keeps_its_model! {
    spandex_gpu_drf0: "spandex-soc-small", ["protocol=s-gpu-gpu", "model=drf0"];
    spandex_gpu_drf1: "spandex-soc-small", ["protocol=s-gpu-gpu", "model=drf1"];
    spandex_gpu_drfrlx: "spandex-soc-small", ["protocol=s-gpu-gpu", "model=drfrlx"];
    spandex_mesi_gpu_drfrlx: "spandex-soc-small", ["protocol=s-mesi-gpu", "model=drfrlx"];
    spandex_mesi_denovo_drfrlx: "spandex-soc-small", ["protocol=s-mesi-denovo", "model=drfrlx"];
    spandex_denovo_drfrlx: "spandex-soc-small", ["protocol=s-denovo-denovo", "model=drfrlx"];
    spandex_flex_drfrlx: "spandex-soc-small", ["protocol=s-flex", "model=drfrlx"];
    hierarchy_gpu_drf0: "spandex-soc-small", ["protocol=h-mesi-gpu", "model=drf0"];
    hierarchy_denovo_drfrlx: "spandex-soc-small", ["protocol=h-mesi-denovo", "model=drfrlx"];
    flat_dd_ro: "flat-gpu-small", ["protocol=s-denovo-denovo", "ro_regions=true"];
    flat_gpu_drfrlx_scopes: "flat-gpu-small", ["model=drfrlx", "scopes=true"];
    srsp_drf0: "srsp-64cu-small", ["model=drf0"];
    srsp_drfrlx: "srsp-64cu-small", ["model=drfrlx"];
}

#[test]
fn timestamps_keep_drf0() {
    let paired: Vec<Test> = all().into_iter().filter(|t| t.name.ends_with(".P")).collect();
    weak(&campaign("tsm-4gpu-small", &[]), &paired, RUNS);
}

#[test]
fn public_tests_end_as_their_languages_say() {
    weak(&campaign("spandex-soc-small", &["protocol=s-gpu-gpu", "model=drfrlx"]), &public(), 30);
}

/// Data races and an acquire that is only unpaired show in the end (section 6).
#[test]
fn weak_behaviour_is_seen() {
    let names = ["MP.D", "SB.D", "LB.D", "R.D", "S.D", "MPg.DU", "MPg.DN"];
    for protocol in ["protocol=s-gpu-gpu", "protocol=s-denovo-denovo"] {
        let plan = Plan { runs: 900, ..Plan::default() };
        let shown =
            search(&campaign("spandex-soc-small", &[protocol, "model=drfrlx"]), &named(&names), &plan);
        assert_eq!(shown.len(), names.len(), "{protocol}: only {shown:?} of {names:?}");
    }
}

/// GH and DH: the tests of scopes, on as many CUs as they ask for. What one scope does not order is seen out of order: on GH a store of CU scope stays in its L1, on DH an acquire of CU scope leaves old
/// copies.
#[test]
fn scopes_order_what_they_include_and_no_more() {
    let scoped: Vec<Test> =
        all().into_iter().filter(|t| t.name.split('.').next().is_some_and(|n| n.ends_with('s'))).collect();
    assert!(scoped.len() > 8, "{} tests of scopes", scoped.len());
    let on = |keys: &[&str]| campaign("flat-gpu-small", &[&["cus=4", "scopes=true"], keys].concat());
    let (gh, dh) = (on(&[]), on(&["protocol=s-denovo-denovo"]));
    for (fabric, names) in [(&gh, ["MPs.sys-cu", "SBs.cu-other"]), (&dh, ["MPs.cu-other", "MPs.sys-cu"])] {
        weak(fabric, &scoped, 60);
        let shown = search(fabric, &named(&names), &Plan { runs: 400, ..Plan::default() });
        assert_eq!(shown, names, "not seen");
    }
}

/// So do relaxed atomics, though a single LLC performs them all: where one has a longer way than the next.
#[test]
fn relaxed_atomics_overtake_each_other() {
    let names = ["SB.N", "LB.N", "2+2W.N"];
    for (protocol, runs) in [("protocol=s-gpu-gpu", 4000), ("protocol=s-denovo-denovo", 600)] {
        let plan =
            Plan { runs, placements: vec![Placement::Cus], layouts: vec![Layout::Lines], ..Plan::default() };
        let fabric = campaign("spandex-soc-small", &[protocol, "model=drfrlx"]);
        let shown = search(&fabric, &named(&names), &plan);
        assert_eq!(shown.len(), names.len(), "{protocol}: only {shown:?} of {names:?}");
    }
}
