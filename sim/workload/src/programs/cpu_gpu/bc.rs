//! BC: betweenness centrality by Brandes' algorithm, vertices split over CPU threads and work-groups.
//!
//! ```text
//! per source:  dist = none, rho = 0, sigma = 0, except dist[source] = 0, rho[source] = 1, top[0] = 1
//!   for d = 0, 1...  until top[d + 1] == 0:
//!     expand:   v with dist[v] == d:  for w near v with dist[w] none:  rho[w] += share(v)            (atomic)
//!     advance:  w with dist[w] none and rho[w] != 0:  dist[w] = d + 1;  top[d + 1] max= rho[w]       (atomic)
//!   for d = deepest ..= 1:
//!     back:     v with dist[v] == d:  bc[v] += sigma[v];  for w near v with dist[w] == d - 1:
//!                                     sigma[w] += share(w) / rho[v] * (1 + sigma[v])                 (atomic)
//! ```
//! The public program sets `dist[w]` while other threads read it; here its owner sets it in a phase of its own, when its
//! path count has become other than zero. That makes `dist` plain data without races.
//!
//! Sums are whole numbers, so that their order does not matter. Path counts grow exponentially: `share(v)` is `rho[v]`
//! divided by a power of two, rounded up, that keeps the next level's counts below 2^32; it follows from the level's
//! greatest count `top[d]` and the graph's greatest degree. Only ratios of neighbouring levels enter the result.
//! `bc-gpu` is the same without CPU threads, as part of the study of relaxed atomics (`cu-and-consistency.md` section 7):
//! whether there is a next level is said by a flag of its own, `changed[d + 1]`, which orders nothing; the barrier does.
//!
//! `sigma` and `bc` have a fixed point that keeps them below 2^31.

use super::super::common::SEED;
use super::super::graphs::{self, EDGES, NODES, NONE, SOURCE};
use super::super::params::{Params, size};
use super::super::round::{Atomic, Order, Round};
use super::super::simt::{Memory, Thread};
use super::super::steal::work::Rows;
use super::super::{WorkloadError, WorkloadInfo};
use super::phases::{At, InPhases, Phases, Step, barrier};
use super::team::{ATOMICS, GROUP, LANES, Team, blocks, cpu_threads};
use super::walk::{REGISTERS as WALK, S_NEAR, S_OWN, Walk, own};
use crate::data;
use crate::graph::Graph;
use crate::op::{AmoKind, Class, Scope};
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "bc",
    about: "Betweenness centrality on CPU threads and CUs together: a search by levels, then dependencies backwards (Pannotia BC as in Spandex, whose graph olesnik is not public; wing or 4elt, given as a file, stands for it).",
    params: &[
        cpu_threads("8", 0, "CPU threads; vertices are split evenly over them and the work-groups."),
        blocks("64", 0, "Work-groups."),
        SOURCE,
        NODES,
        EDGES,
        size("sources", "1", 1 << 20, "vertices", "Vertices from which a search starts, drawn by the seed."),
        ATOMICS,
        GROUP,
        LANES,
        SEED,
    ],
    published: &[],
    takes_graph: true,
    make: |params, graph| Ok(InPhases::boxed(Bc::new(params, graph)?)),
};

/// Without CPU threads, in the study of relaxed atomics.
pub const RELAXED: WorkloadInfo = WorkloadInfo {
    name: "bc-gpu",
    about: "Betweenness centrality on CUs with commutative additions in fixed point and a non-ordering flag for each level (relaxed-atomics study, BC; after Pannotia).",
    params: &[
        blocks("12", 1, "Work-groups; vertices are split evenly over them."),
        SOURCE,
        NODES,
        EDGES,
        size("sources", "1", 1 << 20, "vertices", "Vertices from which a search starts, drawn by the seed."),
        ATOMICS,
        GROUP,
        LANES,
        SEED,
    ],
    published: &[("blocks", "45")],
    ..INFO
};

/// Registers: what a phase does, its level, the number of the source, the vertex, its share or what its dependency is multiplied with, and its path count.
const R_KIND: usize = WALK;
const R_LEVEL: usize = WALK + 1;
const R_SOURCE: usize = WALK + 2;
const R_VERTEX: usize = WALK + 3;
const R_ACC: usize = WALK + 4;
const R_RHO: usize = WALK + 5;
const R_STATE: usize = WALK + 6;
/// The greatest count of the level whose counts are shared.
const R_TOP: usize = WALK + 7;
const REGISTERS: u64 = WALK as u64 + 8;

/// What a phase does; after `ADVANCE` its level says whether another `EXPAND` or `BACK` follows.
const INIT: u64 = 0;
const EXPAND: u64 = 1;
const ADVANCE: u64 = 2;
const CHOOSE: u64 = 3;
const BACK: u64 = 4;

/// States of a thread in a phase: what it has loaded, or that it walks over its vertex's neighbours.
const BEGIN: u64 = 0;
const TOP: u64 = 1;
const LOOKED: u64 = 2;
const OWN: u64 = 3;
const WALKS: u64 = 4;

const S_TOP: u64 = S_OWN;
const S_DIST: u64 = S_OWN + 1;
const S_RHO: u64 = S_OWN + 2;
const S_SIGMA: u64 = S_OWN + 3;
const S_BC: u64 = S_OWN + 4;
const S_PUT: u64 = S_OWN + 5;
const S_PUT2: u64 = S_OWN + 6;
const S_PUT3: u64 = S_OWN + 7;
/// Whether the level has vertices.
const S_CHANGED: u64 = S_OWN + 9;
const S_PUT5: u64 = S_OWN + 10;
const S_PUT4: u64 = S_OWN + 8;

/// Betweenness of one graph.
#[derive(Clone, Debug)]
pub struct Bc {
    team: Team,
    rows: Rows,
    sources: Vec<u64>,
    /// Bits of the greatest degree.
    degree_bits: u32,
    /// Fraction bits of `sigma` and `bc`.
    fraction: u32,
    barrier: Option<usize>,
    walk: Walk,
    dist: usize,
    rho: usize,
    sigma: usize,
    bc: usize,
    top: usize,
    /// By level, in the study of relaxed atomics.
    changed: Option<usize>,
}

/// Bits of a whole number.
fn bits(n: u64) -> u32 {
    u64::BITS - n.leading_zeros()
}

impl Bc {
    /// Builds the program on `graph`, or on the graph that the parameters name.
    pub fn new(params: &Params, graph: Option<&Graph>) -> Result<Self, WorkloadError> {
        let mut team = Team::new(params.workload(), params, params.integer("group"))?;
        let graph = graphs::chosen(params, graph);
        let rows = Rows::undirected(&graph);
        let n = u64::from(graph.vertices());
        let (count, seed) = (params.integer("sources"), params.integer("seed"));
        let most = (1 << 24) / n;
        if count > most {
            let legal = format!("at most {most} on this graph, so that sums fit 32 bits");
            return Err(params.illegal("sources", legal));
        }
        let degree = rows.offsets.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0);
        let walk = Walk::new(&mut team.base, &rows);
        let [dist, rho, sigma, bc] = ["dist", "rho", "sigma", "bc"].map(|name| team.base.zeros(name, n));
        let top = team.base.zeros("top", n + 1);
        let relaxed = params.workload() == RELAXED.name;
        let changed = relaxed.then(|| team.base.zeros("changed", n));
        let barrier = barrier(&mut team);
        Ok(Self {
            team,
            rows,
            sources: (0..count).map(|i| data::mix(seed, 5, i) % n).collect(),
            degree_bits: bits(u64::from(degree)),
            fraction: (31 - bits(n * count)).min(16),
            barrier,
            walk,
            dist,
            rho,
            sigma,
            bc,
            top,
            changed,
        })
    }

    fn vertices(&self) -> u64 {
        self.rows.offsets.len() as u64 - 1
    }

    /// What a vertex with `rho` paths hands to each neighbour of the next level, where `top` is the greatest count of its level.
    fn share(&self, rho: u64, top: u64) -> u64 {
        let shift = (bits(top) + self.degree_bits).saturating_sub(31);
        rho.div_ceil(1 << shift)
    }

    /// 1 + sigma.
    fn plus_one(&self, sigma: u64) -> u64 {
        (1 << self.fraction) + sigma
    }

    /// Accesses the flag of a level, if there are such.
    fn flag(&self, io: &mut Round, slot: u64, what: Atomic, level: u64, value: u64) {
        if let Some(changed) = self.changed.filter(|_| level < self.vertices()) {
            let order = Order::relaxed(Class::N, Scope::Sys);
            io.atomic(slot, what, 4, order, self.team.base.at(changed, level), value);
        }
    }

    fn init(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        let Some(v) = own(&self.team, t, self.vertices(), r[R_VERTEX]) else { return Step::Phase };
        let base = &self.team.base;
        let source = self.sources[r[R_SOURCE] as usize] == v;
        io.store(S_PUT, base.at(self.dist, v), if source { 0 } else { u64::from(NONE) });
        io.store(S_PUT2, base.at(self.rho, v), u64::from(source));
        io.store(S_PUT3, base.at(self.sigma, v), 0);
        io.store(S_PUT4, base.at(self.top, v), u64::from(v == 0));
        self.flag(io, S_PUT5, Atomic::Store, v, 0);
        r[R_VERTEX] += 1;
        Step::Next
    }

    fn advance(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        let base = &self.team.base;
        let v = own(&self.team, t, self.vertices(), r[R_VERTEX]);
        if r[R_STATE] == LOOKED {
            if let Some(v) = v {
                let rho = t.bits(S_RHO);
                if t.bits(S_DIST) == u64::from(NONE) && rho != 0 {
                    io.store(S_PUT, base.at(self.dist, v), r[R_LEVEL] + 1);
                    let top = base.at(self.top, r[R_LEVEL] + 1);
                    self.team.update(io, S_PUT2, AmoKind::Max, top, rho);
                    self.flag(io, S_PUT3, Atomic::Store, r[R_LEVEL] + 1, 1);
                }
            }
            r[R_VERTEX] += 1;
        }
        let Some(v) = own(&self.team, t, self.vertices(), r[R_VERTEX]) else { return Step::Phase };
        io.load(S_DIST, base.at(self.dist, v));
        io.load(S_RHO, base.at(self.rho, v));
        r[R_STATE] = LOOKED;
        Step::Next
    }

    /// `EXPAND`, or `BACK`, which differ in what a vertex of the level does.
    fn level(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        let (base, back) = (&self.team.base, r[R_KIND] == BACK);
        let Some(v) = own(&self.team, t, self.vertices(), r[R_VERTEX]) else { return Step::Phase };
        match r[R_STATE] {
            LOOKED if t.bits(S_DIST) != r[R_LEVEL] => self.look(t, r, io),
            LOOKED => {
                io.load(S_RHO, base.at(self.rho, v));
                if back {
                    io.load(S_SIGMA, base.at(self.sigma, v));
                    io.load(S_BC, base.at(self.bc, v));
                }
                r[R_STATE] = OWN;
                Step::Next
            }
            OWN => {
                r[R_RHO] = t.bits(S_RHO);
                r[R_ACC] = if back {
                    io.store(S_PUT, base.at(self.bc, v), t.bits(S_BC) + t.bits(S_SIGMA));
                    self.plus_one(t.bits(S_SIGMA))
                } else {
                    self.share(r[R_RHO], r[R_TOP])
                };
                r[R_STATE] = WALKS;
                Step::Next
            }
            WALKS => {
                if self.neighbours(t, v, r, io) {
                    return self.look(t, r, io);
                }
                Step::Next
            }
            _ => {
                io.load(S_DIST, base.at(self.dist, v));
                (r[R_STATE], r[R_TOP]) = (LOOKED, t.bits(S_TOP));
                Step::Next
            }
        }
    }

    /// Goes on with the thread's next vertex.
    fn look(&self, t: &Thread, r: &mut [u64], io: &mut Round) -> Step {
        r[R_VERTEX] += 1;
        let Some(v) = own(&self.team, t, self.vertices(), r[R_VERTEX]) else { return Step::Phase };
        io.load(S_DIST, self.team.base.at(self.dist, v));
        r[R_STATE] = LOOKED;
        Step::Next
    }

    fn neighbours(&self, t: &Thread, v: u64, r: &mut [u64], io: &mut Round) -> bool {
        let (base, back) = (&self.team.base, r[R_KIND] == BACK);
        let (level, rho, acc, top) = (r[R_LEVEL], r[R_RHO], r[R_ACC], r[R_TOP]);
        let near = |i: u64, u: u64, io: &mut Round| {
            io.load(S_NEAR + 4 * i, base.at(self.dist, u));
            if back {
                io.load(S_NEAR + 4 * i + 1, base.at(self.rho, u));
            }
        };
        let take = |i: u64, u: u64, io: &mut Round| {
            let dist = t.bits(S_NEAR + 4 * i);
            if back && dist + 1 == level {
                let share = self.share(t.bits(S_NEAR + 4 * i + 1), top);
                let sigma = base.at(self.sigma, u);
                self.team.update(io, S_NEAR + 4 * i + 2, AmoKind::Add, sigma, share * acc / rho);
            } else if !back && dist == u64::from(NONE) {
                self.team.update(io, S_NEAR + 4 * i + 3, AmoKind::Add, base.at(self.rho, u), acc);
            }
        };
        self.walk.round(base, t, v, &mut r[..WALK], io, near, take)
    }

    /// What comes after a phase.
    fn next(&self, r: &mut [u64]) -> Step {
        match (r[R_KIND], r[R_LEVEL]) {
            (INIT, _) => (r[R_KIND], r[R_LEVEL]) = (EXPAND, 0),
            (EXPAND, _) => r[R_KIND] = ADVANCE,
            (ADVANCE, level) => (r[R_KIND], r[R_LEVEL]) = (CHOOSE, level + 1),
            (_, 2..) => r[R_LEVEL] -= 1,
            _ => return self.next_source(r),
        }
        Step::Phase
    }

    fn next_source(&self, r: &mut [u64]) -> Step {
        r[R_SOURCE] += 1;
        r[R_KIND] = INIT;
        if r[R_SOURCE] < self.sources.len() as u64 { Step::Phase } else { Step::End }
    }

    /// Address of the greatest count of the level whose counts are shared, or that says whether there is such a level.
    fn top_at(&self, r: &[u64]) -> u64 {
        self.team.base.at(self.top, r[R_LEVEL] - u64::from(r[R_KIND] == BACK))
    }

    /// Which phase follows `ADVANCE`, when the count of the level after it is there; a step if none does with this source.
    fn choose(&self, t: &Thread, r: &mut [u64]) -> Option<Step> {
        let there = match self.changed {
            Some(_) if r[R_LEVEL] < self.vertices() => t.bits(S_CHANGED),
            _ => t.bits(S_TOP),
        };
        match (there, r[R_LEVEL]) {
            (0, 1) => return Some(self.next_source(r)),
            (0, level) => (r[R_KIND], r[R_LEVEL], r[R_STATE]) = (BACK, level - 1, BEGIN),
            _ => r[R_KIND] = EXPAND,
        }
        None
    }

    /// The host's search and dependencies from one source.
    fn search(&self, source: u64, sums: &mut [u32]) -> [Vec<u32>; 4] {
        let n = self.vertices() as usize;
        let (mut dist, mut rho, mut sigma, mut top) =
            (vec![NONE; n], vec![0u32; n], vec![0u32; n], vec![0u32; n + 1]);
        (dist[source as usize], rho[source as usize], top[0]) = (0, 1, 1);
        let mut levels = vec![vec![source as usize]];
        while let Some(level) = levels.last().filter(|level| !level.is_empty()) {
            let depth = levels.len();
            let mut next = vec![];
            for &v in level {
                let share = self.share(u64::from(rho[v]), u64::from(top[depth - 1]));
                for (w, _) in self.rows.of(v) {
                    if dist[w] == NONE {
                        dist[w] = depth as u32;
                        next.push(w);
                    }
                    if dist[w] == depth as u32 {
                        rho[w] += share as u32;
                    }
                }
            }
            top[depth] = next.iter().map(|w| rho[*w]).max().unwrap_or(0);
            levels.push(next);
        }
        for &v in levels[1..].iter().rev().flatten() {
            sums[v] += sigma[v];
            for (w, _) in self.rows.of(v) {
                if dist[w].checked_add(1) == Some(dist[v]) {
                    let share = self.share(u64::from(rho[w]), u64::from(top[dist[w] as usize]));
                    let part = share * self.plus_one(u64::from(sigma[v])) / u64::from(rho[v]);
                    sigma[w] += part as u32;
                }
            }
        }
        [dist, rho, sigma, top]
    }
}

impl Phases for Bc {
    fn team(&self) -> &Team {
        &self.team
    }

    fn barrier(&self) -> Option<usize> {
        self.barrier
    }

    fn registers(&self) -> u64 {
        REGISTERS
    }

    fn round(&self, t: &Thread, at: At, r: &mut [u64], io: &mut Round) -> Step {
        if at.step == 0 {
            (r[R_STATE], r[R_VERTEX]) = (BEGIN, 0);
        }
        let chosen = r[R_KIND] == CHOOSE && r[R_STATE] == TOP;
        if let Some(step) = chosen.then(|| self.choose(t, r)).flatten() {
            return step;
        }
        let step = match r[R_KIND] {
            INIT => self.init(t, r, io),
            ADVANCE => self.advance(t, r, io),
            _ if r[R_STATE] == BEGIN => {
                io.load(S_TOP, self.top_at(r));
                if r[R_KIND] == CHOOSE {
                    self.flag(io, S_CHANGED, Atomic::Load, r[R_LEVEL], 0);
                }
                r[R_STATE] = TOP;
                Step::Next
            }
            _ => self.level(t, r, io),
        };
        if step == Step::Phase { self.next(r) } else { step }
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let mut sums = vec![0; self.vertices() as usize];
        let mut last = Default::default();
        for source in &self.sources {
            last = self.search(*source, &mut sums);
        }
        let base = &self.team.base;
        let [dist, rho, sigma, top] = &last;
        base.check(self.dist, dist, memory)?;
        base.check(self.rho, rho, memory)?;
        base.check(self.sigma, sigma, memory)?;
        base.check(self.top, top, memory)?;
        if let Some(changed) = self.changed {
            let flag = |level: usize| u32::from(level > 0 && top[level] != 0);
            let flags: Vec<u32> = (0..self.vertices() as usize).map(flag).collect();
            base.check(changed, &flags, memory)?;
        }
        base.check(self.bc, &sums, memory)
    }
}
