//! Random circuits ([`weft_circuits`]) in native code beside the interpreter, Icarus Verilog and Verilator:
//! all outputs, every cycle.
//!
//! ```text
//!    circuits --[pack]--> a fabric of many --native code--> outputs --[peer]--> the same fabric in the interpreter,
//!        ^                                                     |               as Verilog in Icarus and Verilator
//!        |                                                     v
//!    [record]: totals by seed, cycles, peers, sources     [reduce]: what is left of a circuit that differs
//! ```
//!
//! A hundred circuits share one compilation by each peer. What a circuit's inputs are depends on its own
//! number alone, so that it shows the same by itself. Native code and interpreter are besides compared on
//! every register, memory and counter ([`weft_engine::compare`]).

mod pack;
mod peer;
mod record;
mod reduce;
mod stimulus;

pub use peer::Peer;
pub use record::{Record, Row, Subject};
pub use reduce::reduce;

use peer::{Bench, Seen};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use weft_circuits::{Coverage, circuit};
use weft_rtl::ir::Module;
use weft_rtl::mutant::{apply, sites};

/// Circuits that are compiled together.
pub const TOGETHER: u64 = 100;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Seed of circuits and inputs.
    pub seed: u64,
    /// Number of the first circuit.
    pub first: u64,
    /// Circuits.
    pub count: u64,
    /// Cycles of each after reset.
    pub cycles: u64,
    /// What native code is compared with.
    pub with: Vec<Peer>,
    /// Time after which no pack is begun.
    pub budget: Option<Duration>,
    /// Packs at a time.
    pub jobs: usize,
    /// The name of a kind of [`weft_rtl::mutant`]: what the peers get has the first change of this kind that
    /// fits, as if they were wrong.
    pub planted: Option<String>,
    /// Runs that making a circuit small may take.
    pub reduce: u32,
}

/// A circuit that is not the same everywhere, made small.
#[derive(Clone, Debug)]
pub struct Failing {
    /// Its number.
    pub number: u64,
    /// Who differs from native code.
    pub peer: Peer,
    /// What the circuit showed.
    pub fault: String,
    /// What is left of it.
    pub left: Arc<Module>,
    /// What that shows.
    pub shows: String,
    /// Runs that it took.
    pub runs: u32,
}

/// What a campaign has made.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// Circuits that are the same everywhere, from the first on.
    pub circuits: u64,
    /// What has occurred in them.
    pub coverage: Coverage,
    /// The first that is not.
    pub failing: Option<Failing>,
}

/// Circuits and what they are compared with.
pub struct Campaign {
    plan: Plan,
    stop: Arc<AtomicBool>,
}

/// A pack that was compared.
struct Pack {
    first: u64,
    circuits: u64,
    coverage: Coverage,
    /// Number, peer and fault.
    wrong: Option<(u64, Peer, String)>,
}

impl Campaign {
    /// Whoever sets `stop` ends it.
    pub fn new(plan: Plan, stop: Arc<AtomicBool>) -> Campaign {
        Campaign { plan, stop }
    }

    /// Compares the circuits. `told` hears how many are done, with every pack.
    pub fn run(&self, told: &(dyn Fn(u64) + Sync)) -> Made {
        let Plan { first, count, jobs, budget, .. } = self.plan;
        let begun = Instant::now();
        let (next, broken, done) = (AtomicU64::new(0), AtomicBool::new(false), AtomicU64::new(0));
        let packs: Mutex<Vec<Pack>> = Mutex::new(Vec::new());
        let ends = || {
            let late = budget.is_some_and(|budget| begun.elapsed() >= budget);
            late || broken.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed)
        };
        let work = || {
            while !ends() {
                let from = next.fetch_add(TOGETHER, Ordering::Relaxed);
                if from >= count {
                    break;
                }
                let pack = self.pack(first + from, TOGETHER.min(count - from));
                broken.fetch_or(pack.wrong.is_some(), Ordering::Relaxed);
                told(done.fetch_add(pack.circuits, Ordering::Relaxed) + pack.circuits);
                packs.lock().unwrap_or_else(PoisonError::into_inner).push(pack);
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
            for worker in workers {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
        self.sum(packs.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Packs up to the first that is missing or shows a difference.
    fn sum(&self, mut packs: Vec<Pack>) -> Made {
        packs.sort_by_key(|pack| pack.first);
        let mut made = Made::default();
        for pack in packs {
            if pack.first != self.plan.first + made.circuits {
                break;
            }
            made.coverage.join(&pack.coverage);
            if let Some((number, peer, fault)) = pack.wrong {
                made.circuits += number - pack.first;
                made.failing = Some(self.made_small(number, peer, fault));
                break;
            }
            made.circuits += pack.circuits;
        }
        made
    }

    fn pack(&self, first: u64, count: u64) -> Pack {
        let circuits: Vec<Arc<Module>> =
            (first..first + count).map(|number| circuit(self.plan.seed, number)).collect();
        let mut coverage = Coverage::default();
        circuits.iter().for_each(|module| coverage.add(module));
        let wrong = self.compare(first, &circuits, &self.plan.with);
        Pack { first, circuits: count, coverage, wrong }
    }

    /// The first circuit, by its number, that differs for some peer.
    fn compare(&self, first: u64, circuits: &[Arc<Module>], with: &[Peer]) -> Option<(u64, Peer, String)> {
        let others: Vec<Arc<Module>> = circuits.iter().map(|module| self.planted(module)).collect();
        let mut bench = Bench::new(self.plan.seed, first, self.plan.cycles, circuits, &others);
        let mut found: Option<(u64, Peer, String)> = None;
        for peer in with {
            let (at, fault) = match bench.look(*peer) {
                Seen::Same => continue,
                Seen::Differs { circuit, text } => (circuit, text),
                Seen::Refused(text) if circuits.len() == 1 => (0, text),
                Seen::Refused(_) => {
                    // Which circuit it was, they tell by halves.
                    let half = circuits.len() / 2;
                    let second = first + half as u64;
                    let halves = [(first, &circuits[..half]), (second, &circuits[half..])];
                    match halves.iter().find_map(|(first, some)| self.compare(*first, some, &[*peer])) {
                        Some((number, _, text)) => ((number - first) as usize, text),
                        None => continue,
                    }
                }
            };
            let number = first + at as u64;
            if found.as_ref().is_none_or(|(least, ..)| number < *least) {
                found = Some((number, *peer, fault));
            }
        }
        found
    }

    /// What the peers get.
    fn planted(&self, module: &Arc<Module>) -> Arc<Module> {
        let kind = self.plan.planted.as_deref();
        let mutant =
            kind.and_then(|kind| sites(module).into_iter().find(|mutant| mutant.kind.name() == kind));
        match mutant.map(|mutant| apply(module, &mutant)) {
            Some(Ok(changed)) => Arc::new(changed),
            _ => module.clone(),
        }
    }

    /// The circuit made small by the quickest peer that shows the fault.
    fn made_small(&self, number: u64, peer: Peer, fault: String) -> Failing {
        let whole = circuit(self.plan.seed, number);
        let shown = |module: &Arc<Module>, peer: Peer| {
            let found = self.compare(number, std::slice::from_ref(module), &[peer]);
            found.map(|(_, _, text)| text)
        };
        let quick = self.plan.with.iter().copied().filter(|other| *other < peer);
        let mut quick = quick.filter(|other| shown(&whole, *other).is_some_and(|text| alike(&text, &fault)));
        let judge = quick.next().unwrap_or(peer);
        let mut shows = fault.clone();
        let mut fails = |module: &Arc<Module>| {
            let stopped = self.stop.load(Ordering::Relaxed);
            match shown(module, judge).filter(|text| !stopped && alike(text, &fault)) {
                Some(text) => {
                    shows = text;
                    true
                }
                None => false,
            }
        };
        let (left, runs) = reduce(&whole, self.plan.reduce, &mut fails);
        Failing { number, peer, fault, left, shows, runs }
    }
}

/// Whether two faults are of one kind: a refusal is no difference, an unknown value is no other one.
fn alike(one: &str, other: &str) -> bool {
    let kind = |text: &str| {
        let value = text.rsplit(' ').next().unwrap_or_default();
        (text.starts_with("output "), value.contains(['x', 'X']))
    };
    kind(one) == kind(other)
}

#[cfg(test)]
mod tests;
