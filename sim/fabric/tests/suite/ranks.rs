//! Runs that several ranks share, here threads of one process: whatever the fabric, the program and the number of
//! ranks and threads, the report is that of one rank with one thread.

use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use weft_fabric::config::FabricConfig;
use weft_fabric::ranks::Link;
use weft_fabric::run::dismiss;
use weft_fabric::run::{FabricRun, RankCost, RunOptions};
use weft_workload::{Array, Frame, HostStep, Kernel, LoadedValues, Op, Program, Unit, VerifyError};

/// What ranks have sent and nobody has taken.
#[derive(Debug)]
struct Post {
    /// By receiving part, each with the looks after which it is there.
    letters: Mutex<BTreeMap<usize, VecDeque<(u32, Vec<u64>)>>>,
    /// Looks that a letter takes at most.
    slow: u32,
    sent: AtomicU32,
    /// When a letter was last taken.
    taken: Mutex<Instant>,
    /// By sender and receiver.
    talk: Mutex<BTreeMap<(usize, usize), VecDeque<Vec<u8>>>>,
    broken: AtomicBool,
}

/// All ranks wait, or compute, for no longer than this; hardware is compiled before.
const PATIENCE: Duration = Duration::from_secs(200);

/// A rank.
#[derive(Clone, Debug)]
struct Rank {
    post: Arc<Post>,
    rank: usize,
    ranks: usize,
}

impl Link for Rank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn crowded(&self) -> bool {
        true
    }

    fn post(&self, to: usize, part: usize, letter: &[u64]) {
        assert_ne!(to, self.rank, "letters go to other ranks");
        // Some are there at once, others late, whatever came before them.
        let turn = self.post.sent.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9) >> 7;
        let late = turn % (self.post.slow + 1) * (turn >> 8 & 1);
        self.post.letters.lock().expect("whole").entry(part).or_default().push_back((late, letter.to_vec()));
    }

    fn collect(&self, part: usize, letter: &mut Vec<u64>) -> bool {
        let mut letters = self.post.letters.lock().expect("whole");
        let Some((late, _)) = letters.get_mut(&part).and_then(VecDeque::front_mut) else { return false };
        *late = late.saturating_sub(1);
        if *late > 0 {
            return false;
        }
        let next = letters.get_mut(&part).and_then(VecDeque::pop_front);
        *self.post.taken.lock().expect("whole") = Instant::now();
        next.map(|(_, next)| *letter = next).is_some()
    }

    fn send(&self, to: usize, text: &[u8]) {
        let mut talk = self.post.talk.lock().expect("whole");
        talk.entry((self.rank, to)).or_default().push_back(text.to_vec());
    }

    fn receive(&self, from: usize) -> Vec<u8> {
        loop {
            let next =
                self.post.talk.lock().expect("whole").entry((from, self.rank)).or_default().pop_front();
            if let Some(text) = next {
                return text;
            }
            self.wait();
            std::thread::yield_now();
        }
    }

    fn wait(&self) {
        assert!(!self.post.broken.load(Ordering::Relaxed), "another rank has broken");
        let since = self.post.taken.lock().expect("whole").elapsed();
        assert!(since < PATIENCE, "every rank waits for another one");
    }
}

/// A rank that panics is not waited for.
struct Breaks<'a>(&'a Post);

impl Drop for Breaks<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

/// What is run: fabric, changes of its keys, program and its parameters.
#[derive(Clone, Debug)]
struct Subject {
    fabric: &'static str,
    changes: Vec<&'static str>,
    workload: &'static str,
    params: Vec<(&'static str, String)>,
}

/// Of several threads of several ranks one breaks, which all see.
struct Faulty;

impl Program for Faulty {
    fn name(&self) -> &str {
        "faulty"
    }
    fn lanes(&self) -> u32 {
        64
    }
    fn arrays(&self) -> &[Array] {
        &[]
    }
    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        let kernel = Kernel {
            id: 0,
            name: "k".to_owned(),
            blocks: 40,
            cpus: 0,
            waves_per_block: 1,
            lds_bytes: 0,
            args: vec![],
            co_resident: false,
        };
        (index == 0).then_some(HostStep::Launch(kernel))
    }
    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        Frame { kernel: kernel.id, block, wave, ..Frame::default() }
    }
    fn step(&self, frame: &mut Frame, _: &LoadedValues) -> Vec<Op> {
        frame.pc += 1;
        assert!(frame.block != 33 || frame.pc < 3, "work-group 33 is faulty");
        let wait = Op::Compute { unit: Unit::Alu, latency: 50, occupancy: 1, needs: vec![], token: Some(0) };
        if frame.pc < 4 { vec![wait, Op::Await { tokens: vec![0] }] } else { vec![Op::End] }
    }
    fn verify(&self, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        Ok(())
    }
}

impl Subject {
    fn begin(&self, threads: usize, link: Option<Rank>) -> FabricRun {
        let mut config = FabricConfig::load(self.fabric).expect("built in");
        self.changes.iter().for_each(|change| config.set(change).unwrap_or_else(|e| panic!("{e}")));
        if self.workload == "faulty" {
            return Subject::of(&config, Arc::new(Faulty), threads, link);
        }
        let mut params: BTreeMap<String, String> =
            self.params.iter().map(|(key, value)| ((*key).to_string(), value.clone())).collect();
        config.offer(self.workload, &mut params);
        let program = weft_workload::build(self.workload, &params, None).unwrap_or_else(|e| panic!("{e}"));
        Subject::of(&config, Arc::from(program), threads, link)
    }

    fn of(config: &FabricConfig, program: Arc<dyn Program>, threads: usize, link: Option<Rank>) -> FabricRun {
        let ranks = link.map(|link| Arc::new(link) as Arc<dyn Link>);
        let options = RunOptions { threads, ranks, ..RunOptions::default() };
        FabricRun::new(config, program, &options).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The report of a run, and what it cost that there are other ranks.
    fn report(mut run: FabricRun) -> (serde_json::Value, Option<RankCost>) {
        // In pieces: between them rank 0 has the whole run.
        while !run.run_to(run.cycle() + 3000).unwrap_or_else(|e| panic!("{e}")) {}
        let cost = run.rank_cost();
        let report = run.finish().unwrap_or_else(|e| panic!("{e}"));
        let mut report = serde_json::to_value(report).expect("JSON");
        for time in ["wall_seconds", "cycles_per_second"] {
            report[time] = 0.into();
        }
        (report, cost)
    }

    /// The same of a run that ranks share, whose letters take up to so many looks.
    fn shared(&self, ranks: usize, threads: usize, slow: u32) -> (serde_json::Value, Option<RankCost>) {
        let post = Arc::new(Post {
            letters: Mutex::default(),
            slow,
            sent: AtomicU32::new(0),
            taken: Mutex::new(Instant::now()),
            talk: Mutex::default(),
            broken: AtomicBool::new(false),
        });
        let link = |rank| Rank { post: post.clone(), rank, ranks };
        std::thread::scope(|scope| {
            for rank in 1..ranks {
                let (link, post) = (link(rank), &post);
                scope.spawn(move || {
                    let _breaks = Breaks(post);
                    self.begin(threads, Some(link)).serve();
                });
            }
            let _breaks = Breaks(&post);
            let told = Subject::report(self.begin(threads, Some(link(0))));
            dismiss(&link(0));
            told
        })
    }
}

fn subjects() -> impl Strategy<Value = Subject> {
    let fabrics = prop::sample::select(vec![
        ("rec-4gpu-small", vec![]),
        ("rec-4gpu-small", vec!["protocol=hmg-entry"]),
        ("rec-4gpu-small", vec!["placement=first-touch"]),
        ("rec-4gpu-small", vec!["checks=false"]),
        ("hmg-4gpu-small", vec!["gpms=2"]),
        ("tsm-4gpu-small", vec![]),
        ("tsm-4gpu-small", vec!["protocol=wb-nc-rc"]),
        ("rdma-4gpu-small", vec![]),
    ]);
    let programs = prop::sample::select(vec![
        ("mm2", vec![("n", "24")]),
        ("relu", vec![("length", "3000")]),
        ("bfs", vec![("source", "uniform"), ("nodes", "96"), ("edges", "300")]),
        ("nekbone", vec![("elements", "2"), ("iterations", "1")]),
        ("hist", vec![]),
    ]);
    (fabrics, programs).prop_map(|((fabric, changes), (workload, params))| {
        let params = params.into_iter().map(|(key, value)| (key, value.to_string())).collect();
        Subject { fabric, changes, workload, params }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]
    #[test]
    fn ranks_agree_with_one_process(
        subject in subjects(),
        ranks in 2usize..=4,
        threads in 1usize..=2,
        slow in prop::sample::select(vec![0u32, 1, 8]),
    ) {
        let (alone, _) = Subject::report(subject.begin(1, None));
        let (shared, cost) = subject.shared(ranks, threads, slow);
        prop_assert_eq!(alone, shared);
        // Rank 0 has not done everything by itself, unless nodes cannot be shared out.
        let even = 4usize.is_multiple_of(ranks * threads) || subject.fabric.starts_with("hmg");
        let windows = cost.map_or(0, |cost| cost.windows);
        prop_assert!(windows > 0 || !even, "no window was shared");
    }
}

/// A part that is through with what its nodes do waits for the word of one that is not, whenever that one has heard
/// that it waits.
#[test]
fn parts_that_are_through_hear_late_of_those_that_are_not() {
    let subject = Subject {
        fabric: "rec-4gpu-small",
        changes: vec!["protocol=hmg-entry"],
        workload: "nekbone",
        params: vec![("elements", "2".into()), ("iterations", "1".into())],
    };
    let (alone, _) = Subject::report(subject.begin(1, None));
    for slow in [1, 10, 100] {
        assert_eq!(alone, subject.shared(3, 2, slow).0, "letters take up to {slow} looks");
    }
}

/// The other threads of its rank and the other ranks are not left waiting for it.
#[test]
fn a_thread_that_breaks_ends_the_run() {
    let subject =
        Subject { fabric: "rec-4gpu-small", changes: vec![], workload: "faulty", params: Vec::new() };
    let run = || subject.shared(2, 2, 0);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err(), "the run ends well");
}
