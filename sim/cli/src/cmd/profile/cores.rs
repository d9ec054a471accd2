//! What more cores would give: an estimate from the cycles that one thread has clocked.
//!
//! In a window of 64 cycles a thread waits for the one that has most to do, so the time with N cores is that of
//! the busiest of N parts, window by window, and of the letters that parts send each other. What a unit's clock
//! takes is taken to be in proportion to the operations of its module, and what compute units and memories take
//! to be spread like the hardware. Nothing is said of caches and memory that cores have in common, nor of what
//! is done by one thread: steps of the host, looks of checks at the whole fabric.

use weft_engine::{Design, Sim};
use weft_fabric::run::parts;

/// Cycles that threads go through by themselves.
const WINDOW: u64 = 64;

/// Seconds that a letter takes of the thread that sends it and of the one that reads it, on cores with a cache
/// in common.
const LETTER: f64 = 0.2e-6;

/// The cut for a number of cores, and what its parts have had to do.
#[derive(Clone)]
struct Cut {
    cores: usize,
    /// By unit.
    part_of: Vec<u32>,
    /// By part, in the present window.
    loads: Vec<f64>,
    busiest: f64,
    all: f64,
}

/// Counts for several numbers of cores.
#[derive(Clone, Default)]
pub struct Cores {
    cuts: Vec<Cut>,
    /// By unit: what a clock takes, in any unit.
    weights: Vec<f64>,
}

/// What so many cores would give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub cores: usize,
    /// Of all work, what is on the way that takes longest, 0 to 1.
    pub busiest: f64,
    /// Time of one core over that of so many.
    pub speedup: f64,
}

impl Cores {
    /// Begins to count.
    pub fn new(design: &Design, cores: &[usize]) -> Cores {
        let cut = |cores: &usize| {
            let part_of = parts(design, *cores);
            Cut { cores: *cores, part_of, loads: vec![0.0; *cores], busiest: 0.0, all: 0.0 }
        };
        let weight = |ty: usize| design.types[ty].netlist.nodes.len() as f64;
        let weights = design.units.iter().map(|unit| weight(unit.ty)).collect();
        Cores { cuts: cores.iter().map(cut).collect(), weights }
    }

    /// A cycle is clocked next.
    pub fn cycle(&mut self, sim: &Sim) {
        if self.cuts.is_empty() {
            return;
        }
        for unit in sim.awake() {
            for cut in &mut self.cuts {
                cut.loads[cut.part_of[unit] as usize] += self.weights[unit];
            }
        }
        if sim.cycle() % WINDOW == WINDOW - 1 {
            self.cuts.iter_mut().for_each(Cut::end_window);
        }
    }

    /// What is estimated, when one thread took so many seconds for a cycle.
    pub fn estimates(&self, seconds: f64) -> Vec<Estimate> {
        let estimate = |cut: &Cut| {
            let mut cut = cut.clone();
            cut.end_window();
            let busiest = if cut.all > 0.0 { cut.busiest / cut.all } else { 1.0 };
            let letters = LETTER * (cut.cores - 1) as f64;
            Estimate { cores: cut.cores, busiest, speedup: seconds / (seconds * busiest + letters) }
        };
        self.cuts.iter().map(estimate).collect()
    }
}

impl Cut {
    fn end_window(&mut self) {
        self.busiest += self.loads.iter().copied().fold(0.0, f64::max);
        self.all += self.loads.iter().sum::<f64>();
        self.loads.fill(0.0);
    }
}
