//! Runs that several ranks share, here threads of one process: whatever the fabric, the program and the number of
//! ranks and threads, the report is that of one rank with one thread.

use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use weft_fabric::config::FabricConfig;
use weft_fabric::ranks::{Link, dismiss};
use weft_fabric::run::{FabricRun, RankCost, RunOptions};
use weft_workload::Program;

/// What ranks have sent and nobody has taken.
#[derive(Debug, Default)]
struct Post {
    letters: Mutex<BTreeMap<usize, VecDeque<Vec<u64>>>>,
    /// By sender and receiver.
    talk: Mutex<BTreeMap<(usize, usize), VecDeque<Vec<u8>>>>,
    broken: AtomicBool,
}

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
        self.post.letters.lock().expect("whole").entry(part).or_default().push_back(letter.to_vec());
    }

    fn collect(&self, part: usize, letter: &mut Vec<u64>) -> bool {
        let next = self.post.letters.lock().expect("whole").entry(part).or_default().pop_front();
        next.map(|next| *letter = next).is_some()
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

impl Subject {
    fn begin(&self, threads: usize, link: Option<Rank>) -> FabricRun {
        let mut config = FabricConfig::load(self.fabric).expect("built in");
        self.changes.iter().for_each(|change| config.set(change).unwrap_or_else(|e| panic!("{e}")));
        let mut params: BTreeMap<String, String> =
            self.params.iter().map(|(key, value)| ((*key).to_string(), value.clone())).collect();
        config.offer(self.workload, &mut params);
        let program = weft_workload::build(self.workload, &params, None).unwrap_or_else(|e| panic!("{e}"));
        let program: Arc<dyn Program> = Arc::from(program);
        let ranks = link.map(|link| Arc::new(link) as Arc<dyn Link>);
        let options = RunOptions { threads, ranks, ..RunOptions::default() };
        FabricRun::new(&config, program, &options).unwrap_or_else(|e| panic!("{self:?}: {e}"))
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

    /// The same of a run that ranks share.
    fn shared(&self, ranks: usize, threads: usize) -> (serde_json::Value, Option<RankCost>) {
        let post = Arc::new(Post::default());
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
    fn ranks_agree_with_one_process(subject in subjects(), ranks in 2usize..=4, threads in 1usize..=2) {
        let (alone, _) = Subject::report(subject.begin(1, None));
        let (shared, cost) = subject.shared(ranks, threads);
        prop_assert_eq!(alone, shared);
        // Rank 0 has not done everything by itself, unless nodes cannot be shared out.
        let even = 4usize.is_multiple_of(ranks * threads) || subject.fabric.starts_with("hmg");
        let windows = cost.map_or(0, |cost| cost.windows);
        prop_assert!(windows > 0 || !even, "no window was shared");
    }
}
