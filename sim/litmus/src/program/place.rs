//! Where the threads of a test run on a machine (cu-and-consistency.md section 6, harness).

use crate::test::{Instr, Test};
use std::fmt;
use std::str::FromStr;
use weft_workload::data::mix;
use weft_workload::op::Scope;

/// What of a machine decides where threads can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// CPU cores.
    pub cores: u32,
    /// GPMs of all GPUs; GPUs, where they have none.
    pub nodes: u32,
    /// Nodes of a GPU.
    pub gpms: u32,
    /// CUs of a node, those used by tests.
    pub cus: u32,
    /// Waves of a CU.
    pub waves: u32,
    /// Bytes of a line.
    pub line: u32,
    /// A word may be accessed plainly and by atomics of different CUs in one kernel, in any order.
    pub mixed: bool,
    /// L1s follow hints: in half of the runs every access has one, drawn, which changes no result.
    pub hints: bool,
}

impl Machine {
    /// GPUs.
    pub fn gpus(&self) -> u32 {
        self.nodes / self.gpms
    }

    /// Work-groups of a kernel that has one on every core and CU.
    pub fn blocks(&self) -> u32 {
        self.cores + self.nodes * self.cus
    }
}

/// How far apart threads are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Placement {
    /// On one CU.
    Cu,
    /// On CUs of one GPM, or of one GPU without GPMs.
    Cus,
    /// On GPMs of one GPU.
    Gpms,
    /// On different GPUs.
    Gpus,
    /// On CPU cores and CUs in turns.
    Cpu,
}

impl Placement {
    /// All, from near to far.
    pub const ALL: [Placement; 5] =
        [Placement::Cu, Placement::Cus, Placement::Gpms, Placement::Gpus, Placement::Cpu];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Placement::Cu => "cu",
            Placement::Cus => "cus",
            Placement::Gpms => "gpms",
            Placement::Gpus => "gpus",
            Placement::Cpu => "cpu",
        }
    }

    /// Whether a machine has such places.
    fn exists(self, m: &Machine) -> bool {
        match self {
            Placement::Cu => true,
            Placement::Cus => m.cus > 1,
            Placement::Gpms => m.gpms > 1,
            Placement::Gpus => m.gpus() > 1,
            Placement::Cpu => m.cores > 0,
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Placement {
    type Err = String;

    fn from_str(word: &str) -> Result<Placement, String> {
        let names = || Placement::ALL.map(Placement::name).join(", ");
        Placement::ALL
            .into_iter()
            .find(|p| p.name() == word)
            .ok_or_else(|| format!("{word:?} is no placement; there are {}", names()))
    }
}

/// Which threads must share a CU or a GPU, because the test's scopes count on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// Of each thread, which group of a CU it is in.
    cu: Vec<usize>,
    /// Of each group of a CU, which group of a GPU it is in.
    gpu: Vec<usize>,
}

fn attrs(test: &Test) -> impl Iterator<Item = &crate::test::Attr> {
    test.threads.iter().flat_map(|t| &t.code).filter_map(|instr| match instr {
        Instr::Load { attr, .. }
        | Instr::Store { attr, .. }
        | Instr::StoreExclusive { attr, .. }
        | Instr::Rmw { attr, .. }
        | Instr::Fence { attr } => Some(attr),
        Instr::Barrier(_) | Instr::Set { .. } | Instr::Branch { .. } => None,
    })
}

/// Some access of the test has a scope narrower than the system.
pub(super) fn scoped(test: &Test) -> bool {
    attrs(test).any(|attr| attr.scope != Scope::Sys)
}

impl Groups {
    /// Groups of a test. Where no scope is narrower than the system, or where scopes are not honoured, each thread is free.
    pub fn new(test: &Test, scopes: bool) -> Groups {
        let bound = scopes && scoped(test);
        let bound = bound || test.locs.iter().any(|loc| loc.local);
        if !bound {
            let all: Vec<usize> = (0..test.threads.len()).collect();
            return Groups { cu: all.clone(), gpu: all };
        }
        let (mut cus, mut gpus, mut groups) = (Vec::new(), Vec::new(), Groups { cu: vec![], gpu: vec![] });
        for thread in &test.threads {
            let place = thread.place;
            let cu = cus.iter().position(|p| *p == place).unwrap_or_else(|| {
                cus.push(place);
                let gpu = (place.cpu, place.gpu);
                let at = gpus.iter().position(|g| *g == gpu).unwrap_or_else(|| {
                    gpus.push(gpu);
                    gpus.len() - 1
                });
                groups.gpu.push(at);
                cus.len() - 1
            });
            groups.cu.push(cu);
        }
        groups
    }

    /// The work-group (its number in a kernel of [`Machine::blocks`]) of each thread in one run of the test; `None` where the machine, or the groups, leave no such place.
    /// Groups may share what they need not share: scopes reach further then.
    pub fn place(&self, m: &Machine, how: Placement, seed: u64) -> Option<Vec<u32>> {
        let several = match how {
            Placement::Cu => true,
            Placement::Gpus => self.gpu.iter().any(|g| *g != self.gpu[0]),
            _ => self.gpu.len() > 1,
        };
        if !several || !how.exists(m) {
            return None;
        }
        let draw = |n: u32, stream: u64| (mix(seed, stream, 0) % u64::from(n)) as u32;
        let (gpu, gpm, cu) = (draw(m.gpus(), 1), draw(m.gpms, 2), draw(m.cus, 3));
        let block = |gpu: u32, gpm: u32, cu: u32| {
            m.cores + ((gpu % m.gpus()) * m.gpms + gpm % m.gpms) * m.cus + cu % m.cus
        };
        // A group on a CPU core is alone there; every second group has one, if it can.
        let alone = |g: usize| self.cu.iter().filter(|c| **c == g).count() == 1;
        let on_core = |g: usize, turn: u32| {
            how == Placement::Cpu && g as u32 % 2 == turn && g as u32 / 2 < m.cores && alone(g)
        };
        let first = draw(2, 4);
        let turn = [first, 1 - first].into_iter().find(|turn| (0..self.gpu.len()).any(|g| on_core(g, *turn)));
        if how == Placement::Cpu && turn.is_none() {
            return None;
        }
        let of_group = |g: usize| {
            let n = g as u32;
            match how {
                Placement::Cpu if turn.is_some_and(|turn| on_core(g, turn)) => n / 2,
                Placement::Cu => block(gpu, gpm, cu),
                Placement::Cus | Placement::Cpu => block(gpu, gpm, cu + n),
                Placement::Gpms => block(gpu, gpm + n, cu + n / m.gpms),
                Placement::Gpus => block(gpu + self.gpu[g] as u32, gpm + n, cu + n),
            }
        };
        Some(self.cu.iter().map(|g| of_group(*g)).collect())
    }
}
