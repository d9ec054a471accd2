//! Figures of rec.md section 11 and hmg.md section 12, each over the whole run and fabric.

use super::DirectoryMeter;
use crate::family::FigureValue::{Count, List, Real};
use crate::family::{Figure, FigureInfo, FigureValue, Figures, Parts, Seen};

/// Kinds of messages with their bytes on a link (rec.md section 5); a RdRsp has a line more, a WrReq what it carries.
const KINDS: [(&str, u64); 12] = [
    ("rdreq", 16),
    ("wrreq", 16),
    ("atomreq", 32),
    ("down", 16),
    ("rdrsp", 16),
    ("wrack", 16),
    ("atomrsp", 16),
    ("inv", 16),
    ("fencereq", 16),
    ("invfence", 16),
    ("fenceack", 16),
    ("invack", 16),
];

/// Kinds of fence messages, and the bytes of each.
const FENCES: [&str; 3] = ["fencereq", "invfence", "fenceack"];
const FENCE_BYTES: u64 = 16;

/// Servers by the `src` of a [`weft_blocks::msg::CuRsp`].
const SERVERS: [&str; 6] = ["l1", "l2", "gpu_l2", "gpu_dram", "far_l2", "far_dram"];

/// What the figures are made of.
struct Run<'a> {
    meter: &'a DirectoryMeter,
    seen: &'a Seen<'a>,
}

/// Name, unit, meaning and value of a figure.
type Row = (&'static str, &'static str, &'static str, fn(&Run) -> FigureValue);

const FIGURES: &[Row] = &[
    ("l2_accesses", "accesses", "demand accesses to L2 banks", |r| Count(r.get("bank.l2_accesses"))),
    (
        "l2_misses",
        "misses",
        "demand accesses that find no valid line and join no open miss, without first references",
        |r| Count(r.misses().saturating_sub(r.meter.cold)),
    ),
    (
        "l2_cold_misses",
        "misses",
        "first references to a line in an L2, of those that can miss: loads on their way, stores at home",
        |r| Count(r.meter.cold.min(r.misses())),
    ),
    ("l2_miss_rate", "", "L2 misses with first references over accesses", |r| {
        Real(mean(r.misses(), r.get("bank.l2_accesses")))
    }),
    ("write_invalidations", "invalidations", "invalidations caused by writes that dropped a copy", |r| {
        Count(r.by_write())
    }),
    (
        "evict_invalidations",
        "invalidations",
        "invalidations caused by directory evictions that dropped a copy",
        |r| Count(r.by_eviction()),
    ),
    (
        "evict_share",
        "",
        "share of evictions in the invalidations that dropped a copy; empty without any",
        |r| FigureValue::mean(r.by_eviction(), r.by_eviction() + r.by_write()),
    ),
    (
        "false_positive_invalidations",
        "lines",
        "copies of other lines than the written one that group invalidations dropped",
        |r| Count(r.get("bank.l2_inv_false_positive")),
    ),
    (
        "inter_gpu_transactions",
        "messages",
        "requests and invalidations that left a GPU, without fence messages",
        |r| Count(r.requests() + r.sent("msgs_inv")),
    ),
    (
        "inter_gpu_transactions_with_fences",
        "messages",
        "requests and invalidations that left a GPU, with requests and markers of fences",
        |r| Count(r.requests() + r.sent("msgs_inv") + r.sent("msgs_fencereq") + r.sent("msgs_invfence")),
    ),
    ("inter_gpu_requests", "messages", "requests that left a GPU", |r| Count(r.requests())),
    ("inter_gpu_messages", "messages", "all messages that left a GPU", |r| {
        Count(KINDS.iter().map(|(kind, _)| r.sent(&format!("msgs_{kind}"))).sum())
    }),
    ("inter_gpu_bytes", "bytes", "bytes on all links from the GPUs", |r| Count(r.bytes())),
    ("inter_gpu_bytes_without_fences", "bytes", "bytes that left a GPU, without fence messages", |r| {
        Count(r.bytes().saturating_sub(FENCE_BYTES * r.fences()))
    }),
    (
        "inter_gpu_fence_messages",
        "messages",
        "requests, markers and acknowledgements of fences that left a GPU",
        |r| Count(r.fences()),
    ),
    (
        "inter_gpu_fence_bytes",
        "bytes",
        "bytes of requests, markers and acknowledgements of fences that left a GPU",
        |r| Count(FENCE_BYTES * r.fences()),
    ),
    ("bytes_by_kind", "bytes", "bytes on all links from the GPUs by kind of message", |r| r.bytes_by_kind()),
    ("invalidation_gbps", "GB/s", "bytes of invalidations per second on these links", |r| {
        Real(r.gbps(r.sent("bytes_inv")))
    }),
    ("coalesced_lines", "lines", "lines per evicted directory entry; empty without any", |r| {
        FigureValue::mean(r.get("dir.evicted_slots"), r.get("dir.evictions"))
    }),
    (
        "coalesced_histogram",
        "entries",
        "evicted directory entries that had 1, 2, 3... lines; empty where an entry has only one sharer vector",
        |r| {
            let had = (1..).map(|lines| r.seen.counters.get(&format!("dir.evicted_with_{lines}_slots")));
            List(had.map_while(|c| c.map(|c| c.value)).collect())
        },
    ),
    (
        "l2_lookup_cycles",
        "cycles",
        "mean cycles that a request waits at the head of an L2 bank's queues, without the lookup",
        |r| Real(mean(r.get("bank.l2_lookup_wait"), r.get("bank.l2_accesses"))),
    ),
    (
        "invalidations_per_store",
        "lines",
        "lines dropped per store or atomic that finds a sharer to invalidate; empty without any",
        |r| FigureValue::mean(r.by_write(), r.get("dir.write_invs")),
    ),
    (
        "invalidations_per_eviction",
        "lines",
        "lines dropped per evicted directory entry; empty without any",
        |r| FigureValue::mean(r.by_eviction(), r.get("dir.evictions")),
    ),
    (
        "node_invalidation_gbps",
        "GB/s",
        "bytes of invalidations per second on all links that leave a node",
        |r| Real(r.gbps(r.get("link_tx.bytes_inv"))),
    ),
    (
        "directory_occupancy",
        "",
        "valid directory entries over all, where the check of directory precision has looked",
        |r| Real(r.occupancy()),
    ),
    (
        "gpu_releases",
        "releases",
        "releases of GPU scope that fence units have carried out, those taken together as one",
        |r| Count(r.meter.releases.times().count),
    ),
    (
        "gpu_release_cycles",
        "cycles",
        "cycles of these releases, from the fence unit's start to its end",
        |r| Count(r.meter.releases.times().cycles),
    ),
    (
        "gpu_release_atomic_cycles",
        "cycles",
        "of these, cycles until the last atomic before the release on a line of another GPU, which the GPU home may have had to fetch, was answered",
        |r| Count(r.meter.releases.times().atomics),
    ),
    ("inter_gpu_loads", "loads", "loads that another GPU answers, each with a request of its own", |r| {
        Count(r.meter.sharing.leaving().0)
    }),
    (
        "redundant_inter_gpu_loads",
        "",
        "share of these whose line another GPM of the same GPU loads too; empty without any",
        |r| {
            let (loads, redundant) = r.meter.sharing.leaving();
            FigureValue::mean(redundant, loads)
        },
    ),
    ("served", "accesses", "loads and atomics by who answered them, line by line", |r| {
        FigureValue::Parts(SERVERS.into_iter().zip(r.seen.served).collect())
    }),
];

/// What every run has.
pub(in crate::family::directory) fn infos() -> Vec<FigureInfo> {
    let info = |(name, unit, about, _): &Row| FigureInfo {
        name,
        unit,
        about,
        parts: match *name {
            "bytes_by_kind" => Some(Parts {
                column: "bytes",
                names: KINDS.iter().map(|(kind, _)| *kind).collect(),
                each: "bytes of {} messages on all links from the GPUs",
            }),
            "served" => Some(Parts {
                column: "served",
                names: SERVERS.to_vec(),
                each: "loads and atomics, line by line, answered by {}",
            }),
            _ => None,
        },
        list: *name == "coalesced_histogram",
    };
    FIGURES.iter().map(info).collect()
}

/// What a run has measured.
pub(super) fn figures(meter: &DirectoryMeter, seen: &Seen) -> Figures {
    let run = Run { meter, seen };
    let values = FIGURES.iter().map(|(_, _, _, value)| value(&run));
    Figures(infos().into_iter().zip(values).map(|(info, value)| Figure { info, value }).collect())
}

/// What a person wants to know first.
pub(in crate::family::directory) fn summary(m: &Figures) -> Vec<(&'static str, String)> {
    vec![
        ("L2 accesses", m.count("l2_accesses").to_string()),
        ("L2 misses", format!("{} and {} first references", m.count("l2_misses"), m.count("l2_cold_misses"))),
        ("evict-initiated invalidations", m.count("evict_invalidations").to_string()),
        ("write-initiated invalidations", m.count("write_invalidations").to_string()),
        (
            "inter-GPU transactions",
            format!("{} ({} requests)", m.count("inter_gpu_transactions"), m.count("inter_gpu_requests")),
        ),
        (
            "inter-GPU bytes",
            format!("{} ({} of fences)", m.count("inter_gpu_bytes"), m.count("inter_gpu_fence_bytes")),
        ),
        ("lines per evicted directory entry", format!("{:.2}", m.real("coalesced_lines"))),
    ]
}

fn mean(sum: u64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum as f64 / count as f64 }
}

impl Run<'_> {
    fn get(&self, name: &str) -> u64 {
        self.seen.get(name)
    }

    /// First references included.
    fn misses(&self) -> u64 {
        ["local_home", "local_away", "remote"].iter().map(|n| self.get(&format!("bank.l2_misses_{n}"))).sum()
    }

    fn by_write(&self) -> u64 {
        self.get("bank.l2_inv_hit_write")
    }

    fn by_eviction(&self) -> u64 {
        self.get("bank.l2_inv_hit_evict")
    }

    /// What leaves a GPU: by its own links, or, where its GPMs have links of their own, by its switch's way out.
    fn sent(&self, name: &str) -> u64 {
        let sys = &self.meter.params.sys;
        match sys.gpms {
            1 => self.get(&format!("link_tx.{name}")),
            _ => (0..sys.gpus).map(|gpu| self.get(&format!("gpu{gpu}_switch_uplink.{name}"))).sum(),
        }
    }

    fn requests(&self) -> u64 {
        self.sent("msgs_rdreq") + self.sent("msgs_wrreq") + self.sent("msgs_atomreq")
    }

    fn bytes(&self) -> u64 {
        ["req", "rsp", "inv"].iter().map(|n| self.sent(&format!("bytes_{n}"))).sum()
    }

    fn fences(&self) -> u64 {
        FENCES.iter().map(|kind| self.sent(&format!("msgs_{kind}"))).sum()
    }

    fn bytes_by_kind(&self) -> FigureValue {
        let line = u64::from(self.meter.params.sys.line);
        let bytes = |(kind, size): (&'static str, u64)| {
            let each = size + if kind == "rdrsp" { line } else { 0 };
            match kind {
                "wrreq" => (kind, self.sent("bytes_wrreq")),
                _ => (kind, self.sent(&format!("msgs_{kind}")) * each),
            }
        };
        FigureValue::Parts(KINDS.into_iter().map(bytes).collect())
    }

    /// Bytes of the whole run per second, in GB/s.
    fn gbps(&self, bytes: u64) -> f64 {
        let seconds = self.seen.cycles as f64 / (self.meter.clock_ghz * 1e9);
        bytes as f64 / seconds.max(1e-12) / 1e9
    }

    /// Valid entries over all, where the check of precision has looked.
    fn occupancy(&self) -> f64 {
        let p = &self.meter.params;
        let (Some(checks), Some(entries)) = (self.seen.checked("checks"), self.seen.checked("entries"))
        else {
            return 0.0;
        };
        let all = p.dir(0).map_or(0, |dir| u64::from(dir.entries) * u64::from(p.sys.nodes()));
        mean(entries, checks * all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Counter;
    use serde_json::Value;
    use std::collections::BTreeMap;
    use weft_blocks::fabric::{FabricParams, Protocol};

    fn number(value: &Value) -> u64 {
        value.as_u64().expect("a count")
    }

    /// A meter that has seen what a record tells of.
    fn meter(record: &Value) -> DirectoryMeter {
        let protocol = Protocol::from_name(record["protocol"].as_str().expect("a name")).expect("known");
        let mut params = FabricParams::scaled(protocol);
        (params.sys.gpus, params.sys.gpms) = (number(&record["gpus"]) as u32, number(&record["gpms"]) as u32);
        params.sys.line = number(&record["line"]) as u32;
        let clock = record["clock_ghz"].as_f64().expect("a rate");
        let mut meter = DirectoryMeter::new(&params, clock);
        meter.cold = number(&record["metrics"]["l2_cold_misses"]);
        let loads = number(&record["metrics"]["inter_gpu_loads"]);
        let share = record["metrics"]["redundant_inter_gpu_loads"].as_f64().expect("a share");
        let redundant = (share * loads as f64).round() as u64;
        for line in 0..loads {
            meter.sharing.load(0, line, true);
            if line < redundant {
                meter.sharing.load(1, line, false);
            }
        }
        meter
    }

    #[test]
    fn figures_are_those_that_runs_have_recorded() {
        let records: Vec<Value> = serde_json::from_str(include_str!("recorded.json")).expect("JSON");
        let mut empty = Vec::new();
        for record in &records {
            let counter = |(name, value): (&String, &Value)| {
                (name.clone(), Counter { value: number(value), about: String::new() })
            };
            let counters: BTreeMap<String, Counter> =
                record["counters"].as_object().expect("an object").iter().map(counter).collect();
            let metrics = &record["metrics"];
            let mut served = [0; 8];
            SERVERS.iter().zip(&mut served).for_each(|(name, of)| *of = number(&metrics["served"][name]));
            let cycles = number(&record["cycles"]);
            let figures =
                figures(&meter(record), &Seen { cycles, counters: &counters, served, checked: &[] });
            // Read back as the records were: reading a number may round its last digit.
            let shown = serde_json::to_string(&figures).expect("plain data");
            assert_eq!(&serde_json::from_str::<Value>(&shown).expect("JSON"), metrics);
            let cells = figures.cells();
            assert_eq!(cells["inter_gpu_bytes"], metrics["inter_gpu_bytes"].to_string());
            assert_eq!(cells["bytes.rdrsp"], metrics["bytes_by_kind"]["rdrsp"].to_string());
            assert_eq!(cells["served.far_l2"], metrics["served"]["far_l2"].to_string());
            empty.push(cells["redundant_inter_gpu_loads"].is_empty());
        }
        assert_eq!(empty, [true, false], "a mean over nothing has no cell");
    }

    #[test]
    fn occupancy_is_a_mean_of_all_looks() {
        let meter = DirectoryMeter::new(&FabricParams::scaled(Protocol::REC), 1.0);
        let counters = BTreeMap::new();
        let checked = [("checks", 2), ("entries", 1024)];
        let seen = Seen { cycles: 1, counters: &counters, served: [0; 8], checked: &checked };
        // Four directories of 256 entries.
        assert_eq!(figures(&meter, &seen).real("directory_occupancy"), 0.5);
    }
}
