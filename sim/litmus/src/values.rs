//! Values that the reads of a test may find, and the paths that its threads have with them.

use crate::paths::{Bounds, Domain, EnumError, FRESH, Kind, Path, accesses, paths_of};
use crate::test::{Expr, Instr, Test};
use std::collections::{BTreeMap, BTreeSet};
use weft_workload::op::Class;

/// Paths of every thread, with every value that some write can leave.
///
/// A value that takes more writes to its location than any execution has is left out: else counters would
/// count for ever.
///
/// # Errors
/// As [`paths_of`].
pub fn all_paths(test: &Test, bounds: Bounds) -> Result<Vec<Vec<Path>>, EnumError> {
    let (mut domain, paths) = written(test, Bounds { quantum: false, ..bounds })?;
    one_size(test, &paths)?;
    if !bounds.quantum {
        return Ok(paths);
    }
    for (loc, values) in domain.iter_mut().enumerate() {
        let class = |instr: &Instr| match instr {
            Instr::Load { attr, .. } | Instr::Store { attr, .. } | Instr::Rmw { attr, .. } => attr.class,
            _ => Class::D,
        };
        if accesses(test, loc).any(|instr| class(instr) == Class::Q) {
            values.extend([0, 1, FRESH].map(|value| (value, 0)));
        }
    }
    (0..test.threads.len()).map(|t| paths_of(test, t, &domain, bounds)).collect()
}

/// Refuses accesses of different sizes to one location.
fn one_size(test: &Test, paths: &[Vec<Path>]) -> Result<(), EnumError> {
    let mut sizes = vec![0; test.locs.len()];
    for event in paths.iter().flatten().flat_map(|path| &path.events).filter(|e| e.kind != Kind::Fence) {
        let (known, bytes) = (&mut sizes[event.loc], event.attr.bytes);
        if bytes != 0 && *known != 0 && bytes != *known {
            let (test, loc) = (test.name.clone(), test.locs[event.loc].name.clone());
            return Err(EnumError::Sizes { test, loc, bytes: *known, other: bytes });
        }
        *known = bytes.max(*known);
    }
    Ok(())
}

/// Values that writes can leave, and the paths that they are found on.
fn written(test: &Test, bounds: Bounds) -> Result<(Domain, Vec<Vec<Path>>), EnumError> {
    let mut domain: Domain = test.locs.iter().map(|loc| BTreeMap::from([(loc.init, 0)])).collect();
    if bounds.thin_air {
        let named = numbers(test);
        domain.iter_mut().for_each(|values| values.extend(named.iter().map(|value| (*value, 0))));
    }
    let mut rounds = 0;
    loop {
        let threads = 0..test.threads.len();
        let paths = threads.map(|t| paths_of(test, t, &domain, bounds)).collect::<Result<Vec<_>, _>>()?;
        let most: Vec<u32> = (0..test.locs.len()).map(|loc| most_writes(&paths, loc)).collect();
        let mut grown = false;
        for path in paths.iter().flatten() {
            for (n, event) in path.events.iter().enumerate().filter(|(_, e)| e.kind == Kind::Write) {
                let depth = depth(path, n, &domain);
                let known = domain[event.loc].get(&event.value).is_some_and(|before| *before <= depth);
                if !known && depth <= most[event.loc] {
                    domain[event.loc].insert(event.value, depth);
                    grown = true;
                }
            }
        }
        rounds += 1;
        // A chain of values over several locations is no longer than all writes together.
        if !grown || rounds > most.iter().sum::<u32>() {
            return Ok((domain, paths));
        }
    }
}

/// Numbers that a test names in its stores, computations and condition.
fn numbers(test: &Test) -> BTreeSet<i64> {
    fn of(expr: &Expr, see: &mut BTreeSet<i64>) {
        match expr {
            Expr::Const(value) => {
                see.insert(*value);
            }
            Expr::Addr(_) | Expr::Reg(_) => {}
            Expr::Bin(_, a, b) => [a, b].into_iter().for_each(|part| of(part, see)),
            Expr::Select(a, b, c) => [a, b, c].into_iter().for_each(|part| of(part, see)),
        }
    }
    let mut named = BTreeSet::new();
    test.condition.numbers(&mut |value| {
        named.insert(value);
    });
    for instr in test.threads.iter().flat_map(|thread| &thread.code) {
        match instr {
            Instr::Store { value, .. }
            | Instr::StoreExclusive { value, .. }
            | Instr::Set { value, .. }
            | Instr::Rmw { value, .. } => of(value, &mut named),
            Instr::Load { .. } | Instr::Fence { .. } | Instr::Barrier(_) | Instr::Branch { .. } => {}
        }
    }
    named
}

/// Most writes to a location in one execution.
fn most_writes(paths: &[Vec<Path>], loc: usize) -> u32 {
    let of =
        |path: &Path| path.events.iter().filter(|e| e.kind == Kind::Write && e.loc == loc).count() as u32;
    paths.iter().map(|thread| thread.iter().map(of).max().unwrap_or(0)).sum()
}

/// Writes to its own location that the value of a path's write takes, itself included.
fn depth(path: &Path, write: usize, domain: &Domain) -> u32 {
    let event = &path.events[write];
    let own = event.read.map_or(0, |read| 1 << read);
    let from = path
        .events
        .iter()
        .enumerate()
        .filter(|(n, e)| (event.data | own) >> n & 1 == 1 && e.loc == event.loc);
    1 + from.filter_map(|(_, e)| domain[e.loc].get(&e.value)).max().copied().unwrap_or(0)
}
