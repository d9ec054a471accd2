//! What a compute unit counts (`cu-and-consistency.md` section 9).

use serde::{Deserialize, Serialize};

use super::port::LineAccess;

/// Classes in the order of their numbers, as they end the names of counters.
const CLASSES: [&str; 7] = ["d", "p", "u", "c", "n", "s", "q"];
/// Scopes in the order of their numbers.
const SCOPES: [&str; 3] = ["cu", "gpu", "sys"];

/// What a release or acquire belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// A paired access.
    Access,
    /// A fence.
    Fence,
    /// The beginning or end of a kernel.
    Kernel,
}

/// How many releases or acquires there were, and cycles from each's acceptance to its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spans {
    /// How many.
    pub count: u64,
    /// Cycles of all of them.
    pub cycles: u64,
}

/// Releases or acquires, by cause and scope.
pub type SpanTable = [[Spans; 3]; 3];

/// Events of a compute unit since it was made. Operations are counted when they issue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CuCounters {
    /// Operations of all kinds.
    pub instructions: u64,
    /// Compute operations.
    pub computes: u64,
    /// Global loads, by effective class (D, P, U, C, N, S, Q).
    pub loads: [u64; 7],
    /// Global stores, by effective class.
    pub stores: [u64; 7],
    /// Global atomics, by effective class.
    pub amos: [u64; 7],
    /// Fences.
    pub fences: u64,
    /// Scratchpad operations.
    pub lds_ops: u64,
    /// Ticks for which scratchpad operations held the load-store unit.
    pub lds_passes: u64,
    /// Mappings executed by waves.
    pub maps: u64,
    /// Line accesses of the DMA engine.
    pub dma_lines: u64,
    /// Passes of waves through the stash.
    pub stash_passes: u64,
    /// Waves that arrived at a barrier.
    pub barriers: u64,
    /// Barriers that opened although a wave of the work-group had ended (a warning, section 1.2).
    pub barriers_short: u64,
    /// Line accesses of loads.
    pub load_lines: u64,
    /// Line accesses of stores.
    pub store_lines: u64,
    /// Line accesses of atomics.
    pub amo_lines: u64,
    /// Releases, by cause and scope. Where the L1 makes the sequence of a paired access they are that access.
    pub releases: SpanTable,
    /// Acquires, likewise.
    pub acquires: SpanTable,
    /// Compare-and-swaps that found another value.
    pub failed_swaps: u64,
    /// Attempts to take a lock, or to be let in, that failed, as the program says of ended waves.
    pub failed_locks: u64,
    /// Answered line accesses of loads and atomics by server, the `src` of their last answer (section 1.1): 0 L1, 1 local
    /// L2, 2 another L1, 3 DRAM of the home, 4 L2 of another GPU, 5 DRAM behind another GPU, 6 middle level, 7 unused.
    pub served: [u64; 8],
    /// Those of `served` that a miss of another access answered.
    pub merged: u64,
    /// Work-groups ended.
    pub blocks: u64,
    /// Ticks in which at least one wave was resident; complete when none is.
    pub active_ticks: u64,
    /// Ticks in which at least one operation issued.
    pub issue_ticks: u64,
}

/// Counters that are one number: name, sentence, value.
type Plain = (&'static str, &'static str, fn(&CuCounters) -> u64);

const PLAIN: &[Plain] = &[
    ("instructions", "operations of all kinds that have issued", |c| c.instructions),
    ("computes", "compute operations", |c| c.computes),
    ("fences", "fences", |c| c.fences),
    ("lds_ops", "scratchpad operations", |c| c.lds_ops),
    ("lds_ticks", "ticks for which scratchpad operations held the load-store unit", |c| c.lds_passes),
    ("maps", "mappings of local memory that waves have executed", |c| c.maps),
    ("dma_lines", "line accesses of DMA engines", |c| c.dma_lines),
    ("barriers", "waves that arrived at a barrier", |c| c.barriers),
    ("barriers_short", "barriers that opened although a wave of the work-group had ended", |c| {
        c.barriers_short
    }),
    ("load_lines", "line accesses of loads", |c| c.load_lines),
    ("store_lines", "line accesses of stores", |c| c.store_lines),
    ("amo_lines", "line accesses of atomics", |c| c.amo_lines),
    ("merged", "line accesses answered by a miss that another one had opened", |c| c.merged),
    ("failed_swaps", "compare-and-swaps that found another value", |c| c.failed_swaps),
    ("failed_locks", "attempts to take a lock or to be let in that failed, in programs that have any", |c| {
        c.failed_locks
    }),
    ("blocks", "work-groups ended", |c| c.blocks),
    ("active_ticks", "ticks in which a wave was resident", |c| c.active_ticks),
    ("issue_ticks", "ticks in which an operation issued", |c| c.issue_ticks),
];

/// Operations on memory: name, in a sentence, by class.
type ByClass = (&'static str, &'static str, fn(&CuCounters) -> &[u64; 7]);

const BY_CLASS: [ByClass; 3] = [
    ("loads", "global loads", |c| &c.loads),
    ("stores", "global stores", |c| &c.stores),
    ("amos", "global atomics", |c| &c.amos),
];

/// Causes with scopes that they occur at.
const CAUSES: [(Cause, &str, &str, &[usize]); 3] = [
    (Cause::Access, "access", "paired accesses", &[0, 1, 2]),
    (Cause::Fence, "fence", "fences", &[1, 2]),
    (Cause::Kernel, "kernel", "the boundaries of kernels", &[2]),
];

impl CuCounters {
    /// All line accesses.
    pub fn line_accesses(&self) -> u64 {
        self.load_lines + self.store_lines + self.amo_lines
    }

    /// Releases of all causes and scopes.
    pub fn all_releases(&self) -> u64 {
        self.releases.as_flattened().iter().map(|spans| spans.count).sum()
    }

    /// The access of a release or acquire, or a paired one whose L1 makes the sequence, has been answered after `cycles`.
    pub(super) fn synchronised(&mut self, cause: Cause, access: &LineAccess, cycles: u64) {
        for (half, table) in [(2, &mut self.releases), (1, &mut self.acquires)] {
            if access.sem & half != 0 {
                let spans = &mut table[cause as usize][usize::from(access.scope)];
                (spans.count, spans.cycles) = (spans.count + 1, spans.cycles + cycles);
            }
        }
    }

    /// All with names and sentences, in the same order for every unit.
    pub fn list(&self) -> Vec<(String, String, u64)> {
        let mut all: Vec<_> = PLAIN
            .iter()
            .map(|(name, about, value)| (name.to_string(), about.to_string(), value(self)))
            .collect();
        for (name, about, values) in BY_CLASS {
            all.extend(CLASSES.iter().zip(values(self)).map(|(class, value)| {
                let about = format!("{about} of effective class {}", class.to_uppercase());
                (format!("{name}_{class}"), about, *value)
            }));
        }
        for (what, table) in [("releases", &self.releases), ("acquires", &self.acquires)] {
            for (cause, name, text, scopes) in CAUSES {
                for (scope, spans) in
                    scopes.iter().map(|scope| (SCOPES[*scope], table[cause as usize][*scope]))
                {
                    let about = format!("{what} of scope {scope} for {text}");
                    let cycles = format!("cycles from the acceptance of {about} to their answers");
                    all.push((format!("{what}_{name}_{scope}"), about, spans.count));
                    all.push((format!("{what}_{name}_{scope}_cycles"), cycles, spans.cycles));
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use weft_blocks::msg::CuOp;

    #[test]
    fn every_counter_has_a_name_of_its_own_and_a_sentence() {
        let list = CuCounters::default().list();
        let names: BTreeSet<&str> = list.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names.len(), list.len());
        assert!(list.iter().all(|(_, about, value)| about.len() > 5 && *value == 0), "{list:?}");
    }

    #[test]
    fn both_halves_of_an_access_are_counted_with_its_scope() {
        let mut counters = CuCounters::default();
        let access = |sem, scope| LineAccess { sem, scope, ..LineAccess::bare(CuOp::Amo) };
        counters.synchronised(Cause::Access, &access(3, 0), 10);
        counters.synchronised(Cause::Access, &access(1, 0), 5);
        counters.synchronised(Cause::Fence, &access(2, 1), 7);
        let list = counters.list();
        let value = |name: &str| list.iter().find(|(known, ..)| known == name).expect("a counter").2;
        assert_eq!([value("releases_access_cu"), value("releases_access_cu_cycles")], [1, 10]);
        assert_eq!([value("acquires_access_cu"), value("acquires_access_cu_cycles")], [2, 15]);
        assert_eq!([value("releases_fence_gpu"), value("releases_fence_gpu_cycles")], [1, 7]);
        assert_eq!(counters.all_releases(), 2);
    }
}
