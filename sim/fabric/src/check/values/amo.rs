//! Atomics: what they compute, and whether the old values of a kernel's atomics on one word form a chain.

use super::page::Map;
use super::rule::Old;
use weft_blocks::msg::AmoOp;

/// Value that an atomic leaves in a word of `size` (4 or 8) bytes (cu-and-consistency.md section 1).
pub fn amo_result(op: AmoOp, signed: bool, old: u64, operand: u64, compare: u64, size: u32) -> u64 {
    let mask = if size == 8 { u64::MAX } else { 0xffff_ffff };
    let (old, operand, compare) = (old & mask, operand & mask, compare & mask);
    let less = match (signed, size) {
        (false, _) => old < operand,
        (true, 8) => (old as i64) < operand as i64,
        (true, _) => (old as u32 as i32) < operand as u32 as i32,
    };
    let result = match op {
        AmoOp::Add => old.wrapping_add(operand),
        AmoOp::Sub => old.wrapping_sub(operand),
        AmoOp::Inc => {
            if old >= operand {
                0
            } else {
                old + 1
            }
        }
        AmoOp::Dec => {
            if old == 0 || old > operand {
                operand
            } else {
                old - 1
            }
        }
        AmoOp::And => old & operand,
        AmoOp::Or => old | operand,
        AmoOp::Xor => old ^ operand,
        AmoOp::Min => {
            if less {
                old
            } else {
                operand
            }
        }
        AmoOp::Max => {
            if less {
                operand
            } else {
                old
            }
        }
        AmoOp::Exch => operand,
        AmoOp::Cas => {
            if old == compare {
                operand
            } else {
                old
            }
        }
        AmoOp::Fadd32 => {
            let sum = f32::from_bits(old as u32) + f32::from_bits(operand as u32);
            u64::from(sum.to_bits())
        }
    };
    result & mask
}

/// An atomic of a chain: the value found and the value left.
pub(super) type Step = (u64, u64);

/// Why atomics are no chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// A value was found by more atomics than put it there.
    FoundTooOften { value: u64, found: u64, put: u64 },
    /// Atomics that only follow one another, never the value before the kernel.
    Detached { value: u64 },
}

#[derive(Clone, Copy, Default)]
struct Node {
    found: u64,
    put: u64,
}

/// Values with how often each was found and put by atomics; sorted.
fn nodes(steps: &[Step]) -> Vec<(u64, Node)> {
    let mut nodes: Map<u64, Node> = Map::default();
    for (old, new) in steps {
        nodes.entry(*old).or_default().found += 1;
        nodes.entry(*new).or_default().put += 1;
    }
    let mut list: Vec<(u64, Node)> = nodes.into_iter().collect();
    list.sort_unstable_by_key(|(value, _)| *value);
    list
}

/// Whether the atomics, and nothing else, can have happened one after the other, beginning with a value that `first` allows. Returns the values that
/// may be the last, at least one.
///
/// Values are the nodes and atomics the edges of a graph; an order exists exactly if the graph has a path over every edge once.
pub(super) fn chain(steps: &[Step], first: &dyn Fn(u64) -> bool) -> Result<Vec<u64>, Broken> {
    let nodes = nodes(steps);
    let surplus = nodes.iter().find(|(_, n)| n.found > n.put).map(|(value, _)| *value);
    // As often found as put: a circle, which ends where it began, at any of its values.
    let circle = || nodes.iter().map(|(value, _)| *value).filter(|value| first(*value));
    let starts = surplus.map_or_else(|| circle().collect(), |value| vec![value]);
    let Some(start) = starts.first().copied() else { return Err(Broken::Detached { value: nodes[0].0 }) };
    let given = |value: u64| u64::from(value == start && first(start));
    let mut end = start;
    for (value, n) in &nodes {
        let put = n.put + given(*value);
        if n.found > put {
            return Err(Broken::FoundTooOften { value: *value, found: n.found, put });
        }
        if put > n.found {
            end = *value;
        }
    }
    match unreached(steps, &nodes, start) {
        Some(value) => Err(Broken::Detached { value }),
        None if surplus.is_none() => Ok(starts),
        None => Ok(vec![end]),
    }
}

/// A value that no path from `start`, in any direction, reaches.
fn unreached(steps: &[Step], nodes: &[(u64, Node)], start: u64) -> Option<u64> {
    let place = |value: u64| nodes.binary_search_by_key(&value, |(v, _)| *v).expect("a node for every value");
    let mut group: Vec<usize> = (0..nodes.len()).collect();
    fn root(group: &mut [usize], mut i: usize) -> usize {
        while group[i] != i {
            group[i] = group[group[i]];
            i = group[i];
        }
        i
    }
    for (old, new) in steps {
        let (a, b) = (root(&mut group, place(*old)), root(&mut group, place(*new)));
        group[a] = b;
    }
    let own = root(&mut group, place(start));
    (0..nodes.len()).find(|i| root(&mut group, *i) != own).map(|i| nodes[i].0)
}

/// Whether atomics mixed with plain writes of the same bytes can be explained: no value is found more often than it was put there. `puts`
/// are the values of the plain writes.
pub(super) fn mixed(steps: &[Step], puts: &[u64], first: &dyn Fn(u64) -> bool) -> Result<(), Broken> {
    let mut free = 1;
    for (value, n) in nodes(steps) {
        let stores = puts.iter().filter(|v| **v == value).count() as u64;
        let put = n.put + stores;
        let before = if n.found > put && first(value) { std::mem::take(&mut free) } else { 0 };
        if n.found > put + before {
            return Err(Broken::FoundTooOften { value, found: n.found, put: put + before });
        }
    }
    Ok(())
}

/// Whether a word of 4 or 8 bytes, given by the states of its halves before the kernel, may have had this value.
pub(super) fn first_of(halves: &[Old], value: u64) -> bool {
    halves.iter().enumerate().all(|(i, old)| old.allows(0xf, (value >> (32 * i)) as u32))
}
