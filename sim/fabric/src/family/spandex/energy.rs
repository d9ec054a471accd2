//! Energy proxy and traffic by kind of access (`cu-and-consistency.md` section 9): events of a run, weighed.
//!
//! | component | event | counted as |
//! | --- | --- | --- |
//! | core | an operation of a wave of a CU | `cu.instructions` |
//! | scratchpad | an access of its banks, one for each pass of an operation | `cu.lds_ticks` |
//! | L1 | a line access of its CU or CPU core; a request or revocation that the LLC forwards to it | `l1_loads`, `l1_stores`, `l1_atomics`, `llc_forwards`, `llc_rvko` |
//! | L2 | a request or write-back that an LLC bank takes; of a hierarchical system, a bank of either level | `llc_requests` |
//! | network | a flit over a link of a mesh | `flit_hops` |
//!
//! DRAM and the filling of lines have no part. A spinning wave pays for each attempt.

use super::SpandexKeys;
use crate::cu::CuObserver;
use crate::family::counted::Counted;
use crate::family::{Figure, FigureInfo, FigureValue, Figures, Meter, Parts, Seen};

/// Units for each event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Energy {
    pub instruction: u64,
    pub lds: u64,
    pub l1: u64,
    pub llc: u64,
    pub hop: u64,
}

/// Components, in the order of [`Energy::parts`].
const COMPONENTS: [&str; 5] = ["core", "scratchpad", "l1", "l2", "network"];

/// Kinds of access with the classes of traffic ([`super::metrics::CLASSES`]) that they send.
const KINDS: [(&str, &[&str]); 5] = [
    ("read", &["flits_reqv", "flits_reqs"]),
    ("write", &["flits_reqwt", "flits_reqo"]),
    ("atomic", &["flits_reqwt_data", "flits_reqo_data"]),
    ("write_back", &["flits_reqwb"]),
    ("probe", &["flits_probe"]),
];

impl Energy {
    /// As the keys say.
    pub fn new(keys: &SpandexKeys) -> Energy {
        Energy {
            instruction: keys.energy_instruction.into(),
            lds: keys.energy_lds.into(),
            l1: keys.energy_l1.into(),
            llc: keys.energy_llc.into(),
            hop: keys.energy_hop.into(),
        }
    }

    /// Energy of each component.
    fn parts(&self, figures: &Figures, seen: &Seen) -> [u64; COMPONENTS.len()] {
        let sum = |names: &[&str]| names.iter().map(|name| figures.count(name)).sum::<u64>();
        let l1 = sum(&["l1_loads", "l1_stores", "l1_atomics", "llc_forwards", "llc_rvko"]);
        [
            self.instruction * seen.get("cu.instructions"),
            self.lds * seen.get("cu.lds_ticks"),
            self.l1 * l1,
            self.llc * sum(&["llc_requests"]),
            self.hop * sum(&["flit_hops"]),
        ]
    }
}

/// What every run has beside the counted figures.
pub(super) fn infos() -> [FigureInfo; 3] {
    let about = "energy proxy: events of waves, scratchpads, L1s, LLC banks and mesh, each times its key energy_...; only ratios mean something";
    let plain = FigureInfo { name: "energy", unit: "units", about, parts: None, list: false };
    let parts = Parts {
        column: "energy",
        names: COMPONENTS.to_vec(),
        each: "of the energy proxy, that of component {}",
    };
    let by = FigureInfo {
        name: "energy_by",
        about: "energy proxy by component",
        parts: Some(parts),
        ..plain.clone()
    };
    let parts = Parts {
        column: "traffic",
        names: KINDS.iter().map(|(kind, _)| *kind).collect(),
        each: "flit-hops of {}: read is ReqV and ReqS, write ReqWT and ReqO, atomic ReqWT+data and ReqO+data (stores of MESI L1s too), write_back ReqWB, probe Inv and RvkO",
    };
    let traffic = FigureInfo {
        name: "traffic",
        unit: "flits",
        about: "flit-hops by kind of access",
        parts: Some(parts),
        list: false,
    };
    [plain, by, traffic]
}

/// The figures of the family.
#[derive(Clone)]
pub(super) struct SpandexMeter {
    pub counted: Counted,
    pub energy: Energy,
}

impl CuObserver for SpandexMeter {}

impl Meter for SpandexMeter {
    fn figures(&self, seen: &Seen) -> Figures {
        let mut all = self.counted.figures(seen);
        let energy = self.energy.parts(&all, seen);
        let sum = |names: &[&str]| names.iter().map(|name| all.count(name)).sum::<u64>();
        let values = [
            FigureValue::Count(energy.iter().sum()),
            FigureValue::Parts(COMPONENTS.into_iter().zip(energy).collect()),
            FigureValue::Parts(KINDS.iter().map(|(kind, classes)| (*kind, sum(classes))).collect()),
        ];
        all.0.extend(infos().into_iter().zip(values).map(|(info, value)| Figure { info, value }));
        all
    }

    fn save(&self) -> Vec<u8> {
        self.counted.save()
    }

    fn resume(&mut self, bytes: &[u8]) -> bool {
        self.counted.resume(bytes)
    }

    fn boxed(&self) -> Box<dyn Meter> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::metrics::{CLASSES, counted};
    use super::*;
    use crate::run::Counter;
    use std::collections::BTreeMap;

    /// Prime numbers of events, so that no two sums are alike by accident.
    const EVENTS: [(&str, u64); 25] = [
        ("cu.instructions", 1009),
        ("cu.lds_ticks", 503),
        ("cache.gpu_l1_loads", 101),
        ("cache.denovo_l1_loads", 3),
        ("cache.gpu_l1_stores", 53),
        ("cache.gpu_l1_atomics", 29),
        ("cache.denovo_l1_syncs", 2),
        ("bank.llc_forwards", 17),
        ("bank.llc_rvko", 5),
        ("bank.llc_entered", 199),
        ("bank.llc_ReqWB", 7),
        ("l2_bank.gpu_l2_entered", 41),
        ("l2_bank.gpu_l2_ReqWB", 11),
        ("l3_bank.mesi_llc_entered", 13),
        ("router.link1_busy", 401),
        ("router.link4_busy", 59),
        ("network.flits_reqv", 1),
        ("network.flits_reqs", 20),
        ("network.flits_reqwt", 300),
        ("network.flits_reqo", 4000),
        ("network.flits_reqwt_data", 50_000),
        ("network.flits_reqo_data", 600_000),
        ("network.flits_reqwb", 7_000_000),
        ("network.flits_probe", 80_000_000),
        ("dram.reads", 1_000_000),
    ];

    fn figures(energy: Energy) -> Figures {
        let counter = |(name, value): (&str, u64)| (name.into(), Counter { value, about: String::new() });
        let counters: BTreeMap<String, Counter> = EVENTS.into_iter().map(counter).collect();
        let seen = Seen { cycles: 9, counters: &counters, served: [0; 8], checked: &[] };
        SpandexMeter { counted: counted(), energy }.figures(&seen)
    }

    #[test]
    fn energy_is_the_weighed_sum_of_the_events() {
        let published = Energy::new(&SpandexKeys::default());
        assert_eq!(published, Energy { instruction: 20, lds: 6, l1: 10, llc: 40, hop: 5 });
        let cells = figures(published).cells();
        // 1009 * 20, 503 * 6, (101 + 3 + 53 + 29 + 2 + 17 + 5) * 10, (199 + 7 + 41 + 11 + 13) * 40, (401 + 59) * 5
        let parts =
            [("core", 20_180), ("scratchpad", 3_018), ("l1", 2_100), ("l2", 10_840), ("network", 2_300)];
        for (part, value) in parts {
            assert_eq!(cells[&format!("energy.{part}")], value.to_string(), "{part}");
        }
        assert_eq!(cells["energy"], "38438");
        let alone = Energy { instruction: 0, lds: 0, l1: 0, llc: 0, hop: 7 };
        assert_eq!(figures(alone).cells()["energy"], "3220", "460 flit-hops of 7 units");
    }

    #[test]
    fn every_class_of_traffic_belongs_to_one_kind_of_access() {
        let cells = figures(Energy::new(&SpandexKeys::default())).cells();
        let kinds = [
            ("read", 21),
            ("write", 4_300),
            ("atomic", 650_000),
            ("write_back", 7_000_000),
            ("probe", 80_000_000),
        ];
        for (kind, value) in kinds {
            assert_eq!(cells[&format!("traffic.{kind}")], value.to_string(), "{kind}");
        }
        let mut sorted: Vec<&str> = KINDS.iter().flat_map(|(_, classes)| *classes).copied().collect();
        let mut all = CLASSES.map(|(figure, _)| figure);
        sorted.sort_unstable();
        all.sort_unstable();
        assert_eq!(sorted, all);
    }
}
