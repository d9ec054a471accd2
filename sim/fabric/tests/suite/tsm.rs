//! Programs on small TSM fabrics, in every protocol, with all checks on: the results are the host's own, and faults are noticed.

use crate::small;

use std::sync::Arc;
use weft_engine::{BackendKind, Design};
use weft_fabric::config::FabricConfig;
use weft_fabric::run::{FabricError, FabricRun, Identity, RunOptions, RunReport, design};
use weft_workload::Program;

/// Programs whose work-groups hand values on inside a kernel through lines that an L1 may have read before: without coherence their results may be
/// stale, and are then counted so. All others are right in every protocol, for kernels are boundaries without coherence too.
const HAND_ON: [&str; 1] = ["namd"];

const PROTOCOLS: [&str; 4] = ["wb-nc-rc", "wt-nc-rc", "wt-c-rc", "wt-c-sc"];

/// Hardware with its configuration: two GPUs of two compute units with caches of a few lines, or as `changes` say.
struct Fabric {
    config: FabricConfig,
    design: Arc<Design>,
}

const TINY: [&str; 13] = [
    "gpus=2",
    "cus=2",
    "banks=2",
    "l1_size=1K",
    "l2_size=8K",
    "il=256",
    "l1_latency=6",
    "link_latency=12",
    "dram_latency=10",
    "tsu_latency=6",
    "trk=8",
    "l2_mshrs=8",
    "l2_pool=8",
];

impl Fabric {
    fn new(protocol: &str, changes: &[&str]) -> Fabric {
        let mut config = FabricConfig::load("tsm-4gpu-small").expect("built in");
        let protocol = format!("protocol={protocol}");
        for change in TINY.iter().chain(&[protocol.as_str()]).chain(changes) {
            config.set(change).unwrap_or_else(|e| panic!("{e}"));
        }
        let design = design(&config, &RunOptions::default()).unwrap_or_else(|e| panic!("{protocol}: {e}"));
        Fabric { config, design }
    }

    fn start(&self, workload: &str, given: &[(&str, &str)]) -> FabricRun {
        let mut params = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        self.config.offer(workload, &mut params);
        let program = weft_workload::build(workload, &params, None).unwrap_or_else(|e| panic!("{e}"));
        let program: Arc<dyn Program> = Arc::from(program);
        FabricRun::on(&self.config, &self.design, program, &RunOptions::default())
            .unwrap_or_else(|e| panic!("{workload}: {e}"))
    }

    fn try_run(&self, workload: &str, given: &[(&str, &str)]) -> Result<RunReport, FabricError> {
        let mut run = self.start(workload, given);
        assert!(run.run_to(3_000_000)?, "{workload}: no end");
        run.finish()
    }

    fn run(&self, workload: &str, given: &[(&str, &str)]) -> RunReport {
        let at = format!("{}, {workload}", self.config.get("protocol").expect("a key of this family"));
        let report = self.try_run(workload, given).unwrap_or_else(|e| panic!("{at}: {e}"));
        let may_be_stale = at.contains("-nc-") && HAND_ON.contains(&workload);
        assert!(report.verified || may_be_stale && report.stale, "{at}: {:?}", report.difference);
        report
    }
}

const XTREME: &[(&str, &str)] = &[("kilobytes", "4"), ("repeat", "2")];

#[test]
fn a_program_with_every_protocol() {
    let mut cycles = Vec::new();
    for protocol in PROTOCOLS {
        let fabric = Fabric::new(protocol, &[]);
        let report = fabric.run("xtreme3", XTREME);
        let m = &report.metrics;
        assert!(m.count("l1_reads") > 0 && m.count("dram_reads") > 0 && m.real("l1_acal") > 6.0);
        let coherent = protocol.contains("-c-");
        assert_eq!(m.count("tsu_allocations") > 0, coherent, "{protocol}");
        assert_eq!(m.count("l2_write_backs") > 0, protocol == "wb-nc-rc", "{protocol}");
        assert_eq!(m.count("stale"), 0, "{protocol}: kernels are boundaries without coherence too");
        cycles.push(report.cycles);
    }
    assert!(cycles[3] > cycles[2], "sequential consistency takes longer: {cycles:?}");
}

/// G-TSC on one GPU beside MGCC: the same programs, their bytes between L1s and L2 (mgcc.md section 14).
#[test]
fn one_gpu_under_gtsc_and_mgcc() {
    let mut requests = Vec::new();
    for protocol in ["gtsc", "wt-c-rc"] {
        let fabric = Fabric::new(protocol, &["gpus=1", "blocks=4"]);
        let report = fabric.run("xtreme2", XTREME);
        fabric.run("bfs", &[("source", "karate")]);
        let bytes = |way: &str| -> u64 {
            let classes = ["rd", "wr", "amo"].map(|class| format!("l2_bytes_{way}_{class}"));
            let of = |name: &String| {
                report.counters.iter().filter(|c| c.0.ends_with(name)).map(|c| c.1.value).sum::<u64>()
            };
            classes.iter().map(of).sum()
        };
        println!("{protocol}: {} bytes of requests, {} of answers", bytes("l1_req"), bytes("l1_rsp"));
        requests.push((bytes("l1_req"), bytes("l1_rsp")));
    }
    assert!(requests.iter().all(|(up, down)| *up > 0 && *down > 0));
    assert!(requests[1].0 < requests[0].0, "requests of MGCC are smaller: {requests:?}");
    let mut config = FabricConfig::load("tsm-4gpu-small").expect("built in");
    config.set("protocol=gtsc").expect("a protocol");
    let error = design(&config, &RunOptions::default()).err().expect("four GPUs").to_string();
    assert!(error.contains("gpus"), "{error}");
}

/// A difference is excused by stale words that were counted, and by nothing else.
#[test]
fn what_is_not_counted_is_not_stale() {
    for checks in ["checks=true", "checks=false"] {
        let fabric = Fabric::new("wt-nc-rc", &[checks]);
        let report =
            fabric.try_run("namd", &[("atoms", "8"), ("gpus", "2")]).expect("no failure of the hardware");
        assert!(!report.verified, "{checks}: caches without coherence hand on stale sums here");
        assert_eq!(report.stale, report.metrics.count("stale") > 0, "{checks}");
        assert_eq!(report.stale, checks == "checks=true", "{checks}");
    }
}

#[test]
fn waves_that_synchronise_inside_a_kernel() {
    for protocol in ["wt-c-rc", "wt-c-sc"] {
        let fabric = Fabric::new(protocol, &["blocks=4"]);
        fabric.run("cusolver", &[("tiles", "3")]);
        fabric.run("bfs", &[("source", "karate")]);
    }
}

/// Reads that find another GPU's write of their line in service take its line, under SC and nowhere else; programs
/// whose work-groups share no line within a kernel have none.
#[test]
fn reads_are_merged_with_writes_where_lines_are_read_while_others_write_them() {
    let shared = [("blocks", "32"), ("group", "32"), ("iterations", "6")];
    let counts = [("wt-c-sc", "auto"), ("wt-c-sc", "off"), ("wt-c-rc", "auto")].map(|(protocol, merge)| {
        let fabric = Fabric::new(protocol, &[&format!("merge_raw={merge}"), "dram_latency=100"]);
        let read = |workload, given| {
            let m = fabric.run(workload, given).metrics;
            [m.count("merged_reads"), m.count("dram_reads")]
        };
        [read("seqlocks", &shared), read("xtreme3", XTREME)]
    });
    let [[[merged, _], own], [[off, _], _], [[rc, _], _]] = counts;
    assert!(merged > 0 && [off, rc, own[0]] == [0; 3] && own[1] > 0, "{counts:?}");
}

#[test]
fn clocks_roll_over_while_programs_run() {
    let fabric = Fabric::new("wt-c-rc", &["ts=7", "tsu_scale=1/8", "il=64"]);
    let report = fabric.run("xtreme1", &[("kilobytes", "4"), ("repeat", "10")]);
    let m = &report.metrics;
    assert!(m.count("rolls") >= 3 && m.count("sweep_cycles") > 0, "{} rolls", m.count("rolls"));
    assert!((64..128).contains(&m.count("largest_stamp")), "{}", m.count("largest_stamp"));
}

/// Clocks as short as they may be, with leases that use an epoch up after a few grants.
#[test]
fn short_clocks_begin_again_at_0() {
    let mut state = 7u64;
    let mut next = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % bound
    };
    let mut wrapped = 0;
    for _ in 0..8 {
        let (ts, eb) = (6 + next(2), 3 + next(2));
        let (rd, wr) = (1 + next(1 << (ts - 2)), 1 + next(1 << (ts - 2)));
        let keys = [
            format!("ts={ts}"),
            format!("rd_lease={rd}"),
            format!("wr_lease={wr}"),
            format!("eb={eb}"),
            format!("cts={}", ts + eb),
        ];
        let changes: Vec<&str> =
            ["tsu_scale=1/8", "il=64"].into_iter().chain(keys.iter().map(String::as_str)).collect();
        let report = Fabric::new("wt-c-rc", &changes).run("xtreme1", &[("kilobytes", "4"), ("repeat", "10")]);
        wrapped += u64::from(report.metrics.count("rolls") > 1 << eb);
    }
    assert!(wrapped >= 2, "epochs began again at 0 in {wrapped} runs");
}

#[test]
fn a_run_goes_on_from_the_middle() {
    for protocol in ["wt-c-rc", "wb-nc-rc"] {
        let fabric = Fabric::new(protocol, &[]);
        let whole = fabric.run("xtreme2", XTREME);
        let mut first = fabric.start("xtreme2", XTREME);
        first.run_to(whole.cycles / 2).expect("right so far");
        let path = std::path::Path::new("unused");
        let program = weft_workload::build("xtreme2", &Default::default(), None).expect("legal");
        let identity = Identity::new(
            &fabric.config,
            program.as_ref(),
            Default::default(),
            BackendKind::Native,
            None,
            None,
        );
        let snapshot = first.snapshot(path, identity).expect("plain state");
        let mut second = fabric.start("xtreme2", XTREME);
        second.resume(&snapshot).expect("of this fabric");
        assert!(second.run_to(whole.cycles + 10).expect("right"));
        let report = second.finish().expect("right");
        assert_eq!((report.cycles, &report.metrics), (whole.cycles, &whole.metrics), "{protocol}");
    }
}

/// Published slips, each on a fabric and with a program that it harms: protocol, changes, program.
const SLIPS: [(&str, &str, &[&str], &str); 6] = [
    ("lit_mwts", "wt-c-rc", &[], "xtreme3"),
    ("lit_no_ts", "wt-c-sc", &[], "xtreme1"),
    ("lit_read_cts", "wt-c-sc", &["il=64"], "mt"),
    ("lit_brts", "wt-c-rc", &["il=64"], "xtreme3"),
    ("lit_no_floor", "wt-c-rc", &["il=64", "tsu_scale=1/8"], "xtreme1"),
    ("lit_reinit", "wt-c-sc", &["il=64", "ts=7"], "xtreme1"),
];

#[test]
fn slips_of_the_published_listings_are_noticed() {
    for (slip, protocol, changes, workload) in SLIPS {
        let inject = format!("inject={slip}");
        let changes: Vec<&str> = changes.iter().copied().chain([inject.as_str()]).collect();
        let given: &[(&str, &str)] =
            if workload == "mt" { &[("n", "75")] } else { &[("kilobytes", "4"), ("repeat", "10")] };
        let result = Fabric::new(protocol, &changes).try_run(workload, given);
        let text = result.err().map_or("nothing is noticed".into(), |error| error.to_string());
        assert!(text.contains("logical time"), "{slip}, {workload}: {text}");
    }
}

#[test]
fn long_every_program_under_gtsc() {
    for changes in [&["gpus=1"][..], &["gpus=1", "ts=7", "rd_lease=3"]] {
        let fabric = Fabric::new("gtsc", changes);
        for (workload, given) in small::SMALL {
            fabric.run(workload, given);
        }
    }
}

/// But for `lock`, whose work-groups hand plain data on inside a kernel: nothing keeps it coherent in the other protocols.
#[test]
fn long_every_program_with_every_protocol() {
    for protocol in PROTOCOLS {
        let fabric = Fabric::new(protocol, &[]);
        let coherent = protocol.starts_with("wt-c");
        for (workload, given) in small::SMALL.iter().filter(|(name, _)| coherent || *name != "lock") {
            fabric.run(workload, given);
        }
    }
}
