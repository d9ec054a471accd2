//! Programs with CPU threads: free of data races in every order tried, and what section 8 and 10 of spandex.md ask of
//! them.

use crate::small::cpu_gpu as small;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use proptest::prelude::*;
use small::CPU_GPU;
use weft_workload::graph::{self, Graph};
use weft_workload::ideal::{IdealRun, Order, Races, run_checked};
use weft_workload::op::Hint;
use weft_workload::program::{Array, Frame, HostStep, Kernel, LoadedValues, Program, VerifyError};
use weft_workload::{Class, Op, Request, WorkloadError, build, workloads};

const ORDERS: [Order; 6] =
    [Order::Forward, Order::Reverse, Order::Mixed(1), Order::Mixed(2), Order::Mixed(3), Order::Mixed(4)];

fn settings(list: &[(&str, &str)]) -> BTreeMap<String, String> {
    list.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

fn try_make(name: &str, list: &[(&str, &str)]) -> Result<Box<dyn Program>, WorkloadError> {
    build(name, &settings(list), None)
}

fn make(name: &str, list: &[(&str, &str)]) -> Box<dyn Program> {
    try_make(name, list).unwrap_or_else(|e| panic!("{e}"))
}

/// The small settings of a program, with others before them.
fn with(name: &str, own: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let small = CPU_GPU.iter().find(|s| s.0 == name).unwrap_or_else(|| panic!("{name}")).1;
    let rest = small.iter().filter(|(key, _)| own.iter().all(|(k, _)| k != key));
    own.iter().chain(rest).copied().collect()
}

fn has(name: &str, key: &str) -> bool {
    workloads().iter().any(|w| w.name == name && w.params.iter().any(|p| p.name == key))
}

fn verified(program: &dyn Program, order: Order) -> (IdealRun, Races) {
    let name = program.name().to_owned();
    let (done, races) = run_checked(program, order).unwrap_or_else(|e| panic!("{name}: {e}"));
    program.verify(&|addr, count| done.memory.read(addr, count)).unwrap_or_else(|e| panic!("{order:?}: {e}"));
    (done, races)
}

#[test]
fn no_program_races_in_any_order() {
    for &(name, _) in CPU_GPU {
        for (key, value) in [("lanes", "32"), ("lanes", "7"), ("atomics", "paired"), ("privatise", "on")] {
            if !has(name, key) {
                continue;
            }
            let program = make(name, &with(name, &[(key, value)]));
            for order in ORDERS {
                let races = verified(&*program, order).1;
                assert!(races.list.is_empty(), "{order:?}: {}", races.list[0]);
            }
        }
    }
}

/// A program whose paired accesses have become of another class.
struct Weakened {
    program: Box<dyn Program>,
    class: Class,
}

impl Program for Weakened {
    fn name(&self) -> &str {
        self.program.name()
    }
    fn lanes(&self) -> u32 {
        self.program.lanes()
    }
    fn arrays(&self) -> &[Array] {
        self.program.arrays()
    }
    fn host_step(&self, index: usize, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        self.program.host_step(index, memory)
    }
    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        self.program.start(kernel, block, wave)
    }
    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let mut ops = self.program.step(frame, values);
        for op in &mut ops {
            if let Op::Load { access, .. } | Op::Store { access, .. } | Op::Amo { access, .. } = op
                && access.class == Class::P
            {
                access.class = self.class;
            }
        }
        ops
    }
    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        self.program.verify(memory)
    }
}

/// Paired accesses of these order nothing but one another: blocks of the input are read-only, bins commute.
const NOTHING_TO_ORDER: [&str; 2] = ["hsti", "flex-odwtd"];

#[test]
fn without_its_paired_accesses_every_program_races() {
    for &(name, list) in CPU_GPU {
        let races = |class| {
            let program = Weakened { program: make(name, list), class };
            ORDERS.into_iter().map(|order| verified(&program, order).1.count).sum::<u64>()
        };
        let expected = !NOTHING_TO_ORDER.contains(&name);
        assert_eq!(races(Class::U) > 0, expected, "{name} with unpaired synchronisation");
        assert!(races(Class::D) > 0, "{name} with synchronisation by plain data");
    }
}

#[test]
fn classes_are_those_of_the_study() {
    for &(name, _) in CPU_GPU.iter().filter(|(name, _)| has(name, "atomics")) {
        let classes = |value| {
            let program = Watched::new(make(name, &with(name, &[("atomics", value)])));
            verified(&program, Order::Forward);
            let classes = program.seen().into_iter().map(|s| s.class);
            classes.filter(|class| class != "D").collect::<BTreeSet<_>>()
        };
        assert_eq!(classes("as-is"), BTreeSet::from(["C", "P"].map(str::to_owned)), "{name}");
        assert_eq!(classes("paired"), BTreeSet::from(["P".to_owned()]), "{name}");
    }
}

/// An access: what it does to which array, whether a CPU thread makes it, its class and hint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    what: String,
    cpu: bool,
    class: String,
    hint: u8,
}

/// A program, and which accesses it makes.
struct Watched {
    program: Box<dyn Program>,
    seen: Mutex<BTreeSet<Seen>>,
}

impl Watched {
    fn new(program: Box<dyn Program>) -> Self {
        Self { program, seen: Mutex::default() }
    }

    fn seen(&self) -> BTreeSet<Seen> {
        self.seen.lock().expect("no thread has panicked").clone()
    }

    /// Accesses with a hint.
    fn hints(&self) -> BTreeSet<(String, bool, u8)> {
        self.seen().into_iter().filter(|s| s.hint != 0).map(|s| (s.what, s.cpu, s.hint)).collect()
    }
}

impl Program for Watched {
    fn name(&self) -> &str {
        self.program.name()
    }
    fn lanes(&self) -> u32 {
        self.program.lanes()
    }
    fn arrays(&self) -> &[Array] {
        self.program.arrays()
    }
    fn host_step(&self, index: usize, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        self.program.host_step(index, memory)
    }
    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        let mut frame = self.program.start(kernel, block, wave);
        // The last variable is the watcher's.
        frame.vars.push(u64::from(kernel.on_cpu(block)));
        frame
    }
    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let cpu = frame.vars.pop().unwrap_or(0);
        let ops = self.program.step(frame, values);
        frame.vars.push(cpu);
        for op in &ops {
            if let Op::Load { access, .. } | Op::Store { access, .. } | Op::Amo { access, .. } = op {
                let addr = access.addrs.at(access.mask.trailing_zeros());
                let array = self.arrays().iter().find(|a| (a.addr..a.addr + a.bytes()).contains(&addr));
                let kind = if matches!(op, Op::Load { .. }) { "load" } else { "store" };
                let what = format!("{kind} {}", array.map_or("?", |a| &a.name));
                let seen =
                    Seen { what, cpu: cpu == 1, class: format!("{:?}", access.class), hint: access.hint };
                self.seen.lock().expect("no thread has panicked").insert(seen);
            }
        }
        ops
    }
    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        self.program.verify(memory)
    }
}

#[test]
fn hints_are_those_of_the_table_and_change_no_result() {
    use Request::{ReqO, ReqOData, ReqS, ReqV, ReqWt, ReqWtFwd};
    let (word, line) = (Hint::word, Hint::line);
    let table: [(&str, Vec<(&str, bool, Hint)>); 4] = [
        (
            "flex-vs",
            vec![
                ("load A", true, line(ReqS)),
                ("load B", true, word(ReqV)),
                ("store A", false, word(ReqWt)),
                ("load B", false, line(ReqV)),
                ("store B", false, word(ReqO)),
            ],
        ),
        (
            "flex-owt",
            vec![
                ("load B", true, line(ReqOData)),
                ("store B", true, line(ReqO)),
                ("store A", true, word(ReqWtFwd)),
                ("load A", false, line(ReqOData)),
                ("store A", false, line(ReqO)),
                ("store B", false, word(ReqWtFwd)),
            ],
        ),
        (
            "flex-odwtd",
            vec![
                ("store B", true, line(ReqOData)),
                ("store A", true, word(ReqOData)),
                ("store A", false, line(ReqOData)),
                ("store B", false, word(ReqOData)),
            ],
        ),
        (
            "indirection",
            vec![
                ("load A", true, line(ReqOData)),
                ("store B", true, word(ReqWtFwd)),
                ("load B", false, line(ReqOData)),
                ("store A", false, word(ReqWtFwd)),
            ],
        ),
    ];
    for (name, expected) in table {
        let (on, off) = (with(name, &[("hints", "on")]), with(name, &[("hints", "off")]));
        let (on, off) = (Watched::new(make(name, &on)), Watched::new(make(name, &off)));
        let memories = [&on, &off].map(|program| verified(program, Order::Forward).0.memory);
        assert_eq!(memories[0], memories[1], "{name}");
        assert!(off.hints().is_empty(), "{name}");
        let expected: BTreeSet<_> =
            expected.iter().map(|(a, cpu, h)| (a.to_string(), *cpu, h.bits())).collect();
        assert_eq!(on.hints(), expected, "{name}");
    }
    let through = Watched::new(make("flex-odwtd", &with("flex-odwtd", &[("sparse_request", "through")])));
    verified(&through, Order::Forward);
    let requests: BTreeSet<_> = through.hints().into_iter().map(|h| h.2).collect();
    assert_eq!(requests, BTreeSet::from([line(ReqOData).bits(), word(ReqWt).bits()]));
}

#[test]
fn one_side_is_enough_where_the_algorithm_allows() {
    for name in ["bc", "hsti", "pr", "trns"] {
        for side in ["cpu_threads", "blocks"] {
            let program = make(name, &with(name, &[(side, "0")]));
            ORDERS.iter().for_each(|order| assert!(verified(&*program, *order).1.list.is_empty()));
        }
        let error = try_make(name, &with(name, &[("cpu_threads", "0"), ("blocks", "0")]));
        assert_eq!(
            error.err().map(|e| e.to_string()),
            Some(format!(
                "workload {name}: blocks = 0 is illegal, expected at least 1 where cpu_threads is 0"
            ))
        );
    }
    for name in ["flex-odwtd", "flex-owt", "flex-vs", "indirection", "reuse-o", "reuse-s", "rsct"] {
        let error = |side| try_make(name, &with(name, &[(side, "0")])).err().map(|e| e.to_string());
        let sentence =
            |side, most| format!("workload {name}: {side} = 0 is illegal, expected a whole number 1..{most}");
        assert_eq!(error("cpu_threads"), Some(sentence("cpu_threads", 64)));
        assert_eq!(error("blocks"), Some(sentence("blocks", 4096)));
    }
    assert!(
        try_make("tqh", &[("cpu_threads", "2")]).is_err() && try_make("tqh", &[("blocks", "0")]).is_err()
    );
}

#[test]
fn sizes_that_leave_no_room_are_one_sentence() {
    let sentence = |name, list: &[(&str, &str)]| try_make(name, list).err().map(|e| e.to_string());
    assert_eq!(
        sentence("indirection", &[("n", "100")]).as_deref(),
        Some(
            "workload indirection: n = 100 is illegal, expected a multiple of tile_rows = 8 and of tile_columns = 32"
        )
    );
    assert_eq!(
        sentence("flex-owt", &[("sparse", "1537")]).as_deref(),
        Some(
            "workload flex-owt: sparse = 1537 is illegal, expected at most 1536, so that cores access words of their own in lines of their own"
        )
    );
    assert_eq!(
        sentence("reuse-s", &[("shared", "1"), ("written", "11")]).as_deref(),
        Some(
            "workload reuse-s: written = 11 is illegal, expected at most 10, so that each core has words of its own in different lines"
        )
    );
    assert_eq!(
        sentence("bc", &[("sources", "3396")]).as_deref(),
        Some(
            "workload bc: sources = 3396 is illegal, expected at most 3395 on this graph, so that sums fit 32 bits"
        )
    );
}

/// Betweenness of the vertices from one source, in real numbers, as Brandes defines it.
fn brandes(graph: &Graph, source: usize) -> Vec<f64> {
    let n = graph.vertices() as usize;
    let near = |v: usize| graph.out().row(v as u32).iter().map(|u| *u as usize);
    let (mut dist, mut paths, mut part) = (vec![usize::MAX; n], vec![0.0; n], vec![0.0; n]);
    (dist[source], paths[source]) = (0, 1.0);
    let mut order = vec![source];
    let mut at = 0;
    while at < order.len() {
        let v = order[at];
        at += 1;
        for w in near(v) {
            if dist[w] == usize::MAX {
                dist[w] = dist[v] + 1;
                order.push(w);
            }
            if dist[w] == dist[v] + 1 {
                paths[w] += paths[v];
            }
        }
    }
    for &v in order.iter().rev() {
        for w in near(v).filter(|w| dist[*w] == dist[v] + 1) {
            part[v] += paths[v] / paths[w] * (1.0 + part[w]);
        }
    }
    part[source] = 0.0;
    part
}

#[test]
fn betweenness_is_that_of_real_numbers() {
    for source in ["karate", "power"] {
        let graph = graph::bundled(source).expect("is bundled");
        let program = make("bc", &[("source", source), ("blocks", "2"), ("cpu_threads", "2")]);
        let memory = verified(&*program, Order::Forward).0.memory;
        let words = |name: &str| -> Vec<u32> {
            let array = program.arrays().iter().find(|a| a.name == name).expect("is there");
            (0..array.length).map(|i| memory.word(array.at(i), 4) as u32).collect()
        };
        let origin = words("dist").iter().position(|d| *d == 0).expect("the source");
        let expected = brandes(&graph, origin);
        // Fraction bits: 31 less those of the number of vertices, at most 16.
        let one = f64::from(1u32 << (31 - (64 - u64::from(graph.vertices()).leading_zeros())).min(16));
        for (v, (found, expected)) in words("bc").into_iter().zip(expected).enumerate() {
            let found = f64::from(found) / one;
            assert!((found - expected).abs() < 1e-2 * (1.0 + expected), "{source} {v}: {found}, {expected}");
        }
    }
}

#[test]
fn path_counts_beyond_32_bits_are_scaled() {
    // A chain of 40 diamonds: 2^40 shortest paths from one end to the other.
    let edges: Vec<(u32, u32)> =
        (0..40).flat_map(|i| [(0, 1), (0, 2), (1, 3), (2, 3)].map(|(a, b)| (3 * i + a, 3 * i + b))).collect();
    let graph = Graph::undirected(121, &edges, None);
    for seed in ["1", "2", "3"] {
        let list = settings(&[("seed", seed), ("cpu_threads", "2"), ("blocks", "2"), ("group", "10")]);
        let program = build("bc", &list, Some(&graph)).expect("builds");
        let memory = verified(&*program, Order::Mixed(1)).0.memory;
        let array = |name| program.arrays().iter().find(|a| a.name == name).expect("is there");
        let dist = array("dist");
        let origin = (0..121).position(|v| memory.word(dist.at(v), 4) == 0).expect("the source");
        for (v, expected) in (0..).zip(brandes(&graph, origin)) {
            let found = memory.word(array("bc").at(v), 4) as f64 / f64::from(1 << 16);
            assert!((found - expected).abs() < 0.1, "seed {seed} vertex {v}: {found}, {expected}");
        }
    }
}

#[test]
fn ranks_sum_to_one() {
    let program = make("pr", &[("iterations", "20")]);
    let memory = verified(&*program, Order::Forward).0.memory;
    let rank = program.arrays().iter().find(|a| a.name == "rank0").expect("is there");
    let sum: f64 =
        (0..rank.length).map(|v| f64::from(f32::from_bits(memory.word(rank.at(v), 4) as u32))).sum();
    assert!((sum - 1.0).abs() < 1e-3, "{sum}");
}

#[test]
fn most_of_the_vectors_support_the_good_models() {
    let program = make("rsct", &[]);
    let memory = verified(&*program, Order::Forward).0.memory;
    let count = program.arrays().iter().find(|a| a.name == "count").expect("is there");
    let found = memory.word(count.addr, 4);
    assert!((16..112).contains(&found), "{found} of 128 models are candidates");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_team_verifies_without_races(which in 0..CPU_GPU.len(), cpus in 1..6u64, blocks in 1..6u64, lanes in 1..=64u64,
                                       group in 1..80u64, nodes in 1..60u64, seed: u64, order: u64) {
        let name = CPU_GPU[which].0;
        let nodes = nodes.to_string();
        let numbers = [("blocks", blocks), ("lanes", lanes), ("group", group), ("seed", seed)];
        let mut own: Vec<(&str, String)> = numbers.map(|(key, value)| (key, value.to_string())).to_vec();
        // The one that fills the queues of tqh stays alone.
        own.push(("cpu_threads", if name == "tqh" { 1 } else { cpus }.to_string()));
        own.extend([("source", "uniform".to_owned()), ("nodes", nodes.clone()), ("edges", nodes)]);
        own.retain(|(key, _)| has(name, key));
        let rest = CPU_GPU[which].1.iter().filter(|(key, _)| own.iter().all(|(k, _)| k != key));
        let all = rest.map(|(k, v)| (k.to_string(), v.to_string()));
        let all: BTreeMap<_, _> = all.chain(own.iter().map(|(k, v)| (k.to_string(), v.clone()))).collect();
        let program = match build(name, &all, None) {
            Ok(program) => program,
            // One core's tile may be too small for the words that another accesses in it.
            Err(WorkloadError::Illegal { name: key, .. }) if key == "sparse" || key == "written" => return Ok(()),
            Err(error) => panic!("{error}"),
        };
        let races = verified(&*program, Order::Mixed(order)).1;
        prop_assert!(races.list.is_empty(), "{name} {all:?}: {}", races.list[0]);
    }
}
