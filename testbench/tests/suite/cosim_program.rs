//! Units of fabrics that run programs: what their neighbours sent is replayed on their Verilog.
//!
//! By default a third of the cycles that `scripts/test --all` takes.
//!
//! Random messages may ask a block for what was never written; its neighbours do not. So an unknown value at an output is a failure here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use weft_blocks::directory::protocols;
use weft_fabric::config::FabricConfig;
use weft_tools::cosim::{CosimOptions, With, cosim_recorded, record_program};
use weft_workload::Program;

const TSM: &[&str] =
    &["gpus=2", "cus=2", "l1_size=1K", "l2_size=8K", "il=256", "l2_mshrs=64", "l2_pool=64", "link_bytes=4"];
const HMG: &[&str] = &["gpus=2", "gpms=2", "cus=2", "l1_size=2K", "l2_size=16K"];

fn program(config: &FabricConfig, name: &str) -> Arc<dyn Program> {
    let mut params = BTreeMap::new();
    config.offer(name, &mut params);
    Arc::from(weft_workload::build(name, &params, None).expect("legal"))
}

/// Of how many cycles one is taken by default.
const SHORT: u64 = 3;

/// The first cycles of a program, in which more than `transfers` messages pass each unit's channels.
fn agrees(fabric: &str, changes: &[&[&str]], workload: &str, units: &[&str], cycles: u64, transfers: u64) {
    let config = config(fabric, changes);
    let program = program(&config, workload);
    agrees_at(&config, program, units, cycles, transfers);
}

fn config(fabric: &str, changes: &[&[&str]]) -> FabricConfig {
    let mut config = FabricConfig::load(fabric).expect("built in");
    changes.iter().copied().flatten().for_each(|change| config.set(change).expect("a key"));
    config
}

fn agrees_at(config: &FabricConfig, program: Arc<dyn Program>, units: &[&str], cycles: u64, transfers: u64) {
    let recorded = record_program(config, program, units, cycles).unwrap_or_else(|e| panic!("{e}"));
    for (unit, (module, run)) in units.iter().zip(recorded) {
        assert!(run.transfers > transfers, "{unit}: only {} transfers", run.transfers);
        let folder = tempfile::tempdir().expect("a folder");
        let options =
            CosimOptions { strict: true, ..CosimOptions::new(&module, With::Icarus, folder.path()) };
        let report =
            cosim_recorded(&module, &run, Duration::ZERO, &options).unwrap_or_else(|e| panic!("{e}"));
        println!("{unit}: {report}");
        assert_eq!((report.cycles, report.unknown), (run.cycles(), None));
    }
}

macro_rules! cosim_of {
    ($($test:ident: $units:ident;)*) => {
        $(#[test] fn $test() { $units(SHORT); })*

        #[test]
        fn long_cosim_of_units() {
            $($units(1);)*
        }
    };
}

cosim_of! {
    cosim_units_of_mgcc: mgcc;
    cosim_units_with_write_back: write_back;
    cosim_units_of_gtsc: gtsc;
    cosim_units_with_acknowledged_invs: acknowledged;
    cosim_units_of_rdma: rdma;
    cosim_units_of_spandex: spandex_gpu;
    cosim_units_of_spandex_with_denovo: spandex_denovo;
    cosim_units_of_spandex_with_flex: spandex_flex;
    cosim_units_of_h_mesi: h_mesi;
    cosim_a_router_of_spandex: spandex_router;
    cosim_units_of_spandex_between_gpus: spandex_between_gpus;
}

fn mgcc(share: u64) {
    for protocol in ["protocol=wt-c-rc", "protocol=wt-c-sc", "protocol=wt-nc-rc"] {
        let units = ["gpu0.l1_0", "gpu0.bank0"];
        agrees("tsm-4gpu-small", &[TSM, &[protocol]], "pagerank", &units, 10_000 / share, 500 / share);
    }
}

fn write_back(share: u64) {
    agrees(
        "tsm-4gpu-small",
        &[TSM, &["protocol=wb-nc-rc"]],
        "pagerank",
        &["gpu0.bank0"],
        10_000 / share,
        500 / share,
    );
}

fn gtsc(share: u64) {
    let one: &[&str] = &["gpus=1", "protocol=gtsc"];
    let units = ["gpu0.l1_0", "gpu0.bank0"];
    agrees("tsm-4gpu-small", &[TSM, one], "pagerank", &units, 10_000 / share, 500 / share);
}

/// Of every protocol whose directories have rows for what is not acknowledged.
fn acknowledged(share: u64) {
    let units = ["gpu0_gpm0.dir0", "gpu0_gpm0.bank0", "gpu0_gpm0.egress", "gpu0_gpm0.ingress"];
    for protocol in protocols::all().filter(|of| of.directory().is_some_and(|kind| kind.acked)) {
        let named = format!("protocol={}", protocol.name());
        agrees("hmg-4gpu-small", &[HMG, &[&named]], "hpgmg", &units, 20_000 / share, 5 / share);
    }
}

/// Each unit that MGPU-RDMA has of its own, and its home bank, among neighbours that keep the protocol.
fn rdma(share: u64) {
    const RDMA: &[&str] = &[
        "gpus=2",
        "cus=2",
        "l1_size=1K",
        "l2_size=8K",
        "il=256",
        "rdma_entries=8",
        "link_bytes=32",
        "placement=page_rr",
        "page=512",
        "host_link_bytes=0",
    ];
    let units = ["gpu0.engine", "gpu0.bank0", "gpu0.dram_port0", "switch"];
    agrees("rdma-4gpu-small", &[RDMA], "pagerank", &units, 8_000 / share, 100 / share);
}

/// L1s, translation units and banks of two cores and three CUs, in a program in which all of them write to the same lines.
fn spandex_gpu(share: u64) {
    spandex(
        share,
        "s-mesi-gpu",
        &[],
        &["bank0", "device0.cache", "device0.tu", "device2.cache", "device2.tu"],
    );
    spandex(share, "s-gpu-gpu", &[], &["bank0", "device0.cache"]);
}

fn spandex_denovo(share: u64) {
    spandex(share, "s-denovo-denovo", &[], &["bank0", "device0.cache", "device0.tu", "device2.cache"]);
    spandex(share, "s-denovo-gpu", &[], &["device0.cache"]);
}

fn spandex_flex(share: u64) {
    spandex(share, "s-flex", &[], &["bank0", "device0.cache", "device2.tu"]);
    spandex(share, "s-flex-pred", &["opred=table"], &["device0.tu", "device2.cache"]);
}

/// The hierarchical baseline: the L3, the CPU cores' clients, the GPU L2.
fn h_mesi(share: u64) {
    spandex(share, "h-mesi-gpu", &[], &["l3_bank0", "l2_bank0", "device0.cache", "device0.client"]);
    spandex(share, "h-mesi-denovo", &[], &["l2_bank0", "device2.cache"]);
}

fn spandex_router(share: u64) {
    spandex(share, "s-mesi-gpu", &[], &["router0"]);
}

fn spandex(share: u64, protocol: &str, changes: &[&str], units: &[&str]) {
    const SMALL: &[&str] = &[
        "cus=3",
        "banks=2",
        "l1_size=1K",
        "l1_ways=2",
        "l1_mshrs=4",
        "l1_sb=4",
        "l1_wbb=2",
        "llc_size=8K",
        "llc_ways=4",
        "llc_tbes=4",
        "llc_stalls=6",
        "gpu_l2_size=4K",
        "gpu_l2_ways=4",
        "dram_latency=20",
    ];
    let config = config("spandex-soc-small", &[SMALL, &[&format!("protocol={protocol}")], changes]);
    agrees_at(&config, histogram(&config, "3"), units, 8_000 / share, 100 / share);
}

/// A program in which cores and CUs write to the same lines.
fn histogram(config: &FabricConfig, blocks: &str) -> Arc<dyn Program> {
    let given = [("cpu_threads", "2"), ("blocks", blocks), ("values", "3001"), ("chunk", "100")];
    let mut params = given.map(|(k, v)| (k.to_string(), v.to_string())).into();
    config.offer("hsti", &mut params);
    Arc::from(weft_workload::build("hsti", &params, None).expect("legal"))
}

/// What a message between two GPUs passes: the router at the end of a row, both ends of a link, and the switch.
fn spandex_between_gpus(share: u64) {
    const GPUS: &[&str] = &[
        "gpus=2",
        "cpus=2",
        "cus=1",
        "banks=1",
        "mesh=2",
        "mesh_rows=1",
        "llc_size=64K",
        "link_latency=20",
        "dram_latency=20",
    ];
    let config = config("spandex-4gpu-small", &[GPUS]);
    let units = ["router1", "link_tx0", "switch_rx1", "req_switch0", "rsp_switch0"];
    agrees_at(&config, histogram(&config, "2"), &units, 8_000 / share, 20 / share);
}
