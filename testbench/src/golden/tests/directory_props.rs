//! Properties of the directory model under random operations, against references written differently: a flat map of
//! (block, GPU) pairs for the contents, a recency list for the victim.

use crate::golden::dir_table::{DirOp, Found, table};
use crate::golden::directory::{Directory, Outcome};
use crate::golden::evb::{Evb, EvbStall, must_stall};
use crate::golden::params::{DirKind, DirParams, Policy};
use crate::golden::{GpuMask, InvCause, gpus_of, only};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

type Step = (usize, u32, u64);

fn small(kind: DirKind, gpus: u32, home: u32, ways: u32, c: u64, policy: Policy) -> DirParams {
    let base = DirParams::new(kind);
    DirParams {
        gpus,
        home,
        ways,
        banks: 2,
        entries: 2 * u64::from(ways) * c,
        range: 256,
        il: 256,
        policy,
        ..base
    }
}

fn any_small() -> impl Strategy<Value = DirParams> {
    let kind = prop_oneof![Just(DirKind::Perline), Just(DirKind::Group4), Just(DirKind::Rec)];
    let policy = prop_oneof![Just(Policy::Fifo), Just(Policy::Lru)];
    (kind, 2u32..=5, 0u32..5, 1u32..=5, prop_oneof![Just(1u64), Just(2), Just(3)], policy)
        .prop_map(|(kind, gpus, home, ways, c, policy)| small(kind, gpus, home % gpus, ways, c, policy))
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((0usize..4, 0u32..16, 0u64..160), 1..250)
}

fn source(p: &DirParams, pick: u32) -> u32 {
    p.sharer_gpu(pick % p.sharers() + 1)
}

/// Removes from the flat map the copies that the messages of an outcome take away.
fn take_away(p: &DirParams, flat: &mut BTreeSet<(u64, u32)>, out: &Outcome) -> Result<(), TestCaseError> {
    let burst = out.eviction.iter().flat_map(|e| e.burst.iter());
    for inv in burst.chain(out.write_inv.iter()) {
        prop_assert_eq!(inv.grp, p.kind == DirKind::Group4);
        let block = if inv.grp { inv.line / 4 } else { inv.line };
        for gpu in gpus_of(inv.dest) {
            prop_assert!(flat.remove(&(block, gpu)), "an Inv went to {} which held no {:#x}", gpu, block);
        }
    }
    Ok(())
}

fn check_messages(p: &DirParams, op: DirOp, src: u32, out: &Outcome) -> Result<(), TestCaseError> {
    if let Some(inv) = out.write_inv {
        prop_assert_eq!(inv.cause, InvCause::Write);
        prop_assert_eq!(inv.dest & only(p.home), 0, "home is never a destination");
        prop_assert!(op == DirOp::WrLoc || inv.dest & only(src) == 0, "the requester is never invalidated");
    }
    if let Some(ev) = &out.eviction {
        prop_assert!(out.allocated);
        prop_assert_eq!(ev.slots as usize, ev.burst.len());
        prop_assert_eq!(ev.unicasts, ev.burst.iter().map(|i| i.dest.count_ones()).sum::<u32>());
        prop_assert!(ev.burst.windows(2).all(|w| w[0].line < w[1].line), "lowest slot first");
        prop_assert!(ev.burst.iter().all(|i| i.cause == InvCause::Evict && i.dest & only(p.home) == 0));
        prop_assert!(ev.burst.iter().all(|i| p.base(i.line) == ev.victim.base));
    }
    Ok(())
}

proptest! {
    /// The directory holds exactly the pairs (block, GPU) that were recorded and not taken away by a message.
    #[test]
    fn contents_equal_a_flat_map(p in any_small(), steps in steps()) {
        let mut dir = Directory::new(p).unwrap();
        let mut flat = BTreeSet::new();
        let group = p.kind == DirKind::Group4;
        for (op, pick, line) in steps {
            let (op, src) = (DirOp::ALL[op], source(&p, pick));
            let block = if group { line / 4 } else { line };
            let out = dir.op(op, src, line);
            dir.check().map_err(TestCaseError::fail)?;
            check_messages(&p, op, src, &out)?;
            take_away(&p, &mut flat, &out)?;
            match op {
                DirOp::RdRem | DirOp::WrRem => { flat.insert((block, src)); }
                // The requester dropped its copy of the line; a group entry keeps it for the other three.
                DirOp::AtomRem if !group => { flat.remove(&(block, src)); }
                _ => {}
            }
            for l in 0..160 {
                let block = if group { l / 4 } else { l };
                let want: GpuMask = (0..p.gpus).filter(|g| flat.contains(&(block, *g))).map(only).sum();
                prop_assert_eq!(dir.sharers_of(l), want, "line {}", l);
            }
        }
    }

    /// Victims follow a recency list: an invalid way first, else the way that was longest not made youngest.
    #[test]
    fn victims_follow_a_recency_list(p in any_small(), steps in steps()) {
        let mut dir = Directory::new(p).unwrap();
        let mut recency: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        for (op, pick, line) in steps {
            let op = DirOp::ALL[op];
            let before = dir.set(p.place(line));
            let out = dir.op(op, source(&p, pick), line);
            // Oldest first; at reset way 0 is the youngest, so the highest way is the oldest.
            let list = recency.entry(out.place).or_insert_with(|| (0..p.ways).rev().collect());
            let remote = matches!(op, DirOp::RdRem | DirOp::WrRem);
            if out.allocated {
                let free = before.ways.iter().position(|e| !e.valid).map(|w| w as u32);
                prop_assert_eq!(out.way, Some(free.unwrap_or(list[0])));
                prop_assert_eq!(out.eviction.is_some(), free.is_none());
            }
            if let (Some(way), true) = (out.way, out.allocated || (remote && p.policy == Policy::Lru)) {
                list.retain(|w| *w != way);
                list.push(way);
            }
            let by_age: BTreeMap<u32, u32> = dir.set(out.place).ages.iter().zip(0..).map(|(a, w)| (*a, w)).collect();
            prop_assert_eq!(by_age.values().rev().copied().collect::<Vec<_>>(), list.clone());
        }
    }

    /// Without evictions a per-line, a REC and the ideal directory send the same write invalidations.
    #[test]
    fn roomy_directories_equal_the_ideal_one(kind in prop_oneof![Just(DirKind::Perline), Just(DirKind::Rec)], steps in steps()) {
        let roomy = DirParams { entries: 2 * 128, ..small(kind, 4, 2, 128, 1, Policy::Lru) };
        let ideal = DirParams { kind: DirKind::Ideal, ..roomy };
        let (mut real, mut ideal) = (Directory::new(roomy).unwrap(), Directory::new(ideal).unwrap());
        for (op, pick, line) in steps {
            let (op, src) = (DirOp::ALL[op], source(&roomy, pick));
            let (a, b) = (real.op(op, src, line), ideal.op(op, src, line));
            prop_assert!(a.eviction.is_none() && b.eviction.is_none());
            prop_assert_eq!(a.write_inv, b.write_inv);
            prop_assert_eq!(real.sharers_of(line), ideal.sharers_of(line));
            prop_assert_eq!(a.reread, b.reread);
        }
    }

    /// The EVB emits the burst of each victim once, in order, and a write stalls exactly while its slot is pending.
    #[test]
    fn evb_emits_every_burst_once(rate in prop_oneof![Just(1u32), Just(2), Just(4)], steps in steps(), last in any::<bool>()) {
        let p = DirParams { inv_rate: rate, ..small(DirKind::Rec, 4, 1, 2, 1, Policy::Lru) };
        let mut dir = Directory::new(p).unwrap();
        let (mut evb, mut due) = (Evb::new(p), Vec::new());
        for (op, pick, line) in steps {
            let (op, src) = (DirOp::ALL[op], source(&p, pick));
            let waits = due.iter().any(|i: &crate::golden::Inv| i.line == line);
            let stall = evb.stall(op, line, false);
            prop_assert_eq!(stall.is_some(), waits && op != DirOp::RdRem);
            while evb.stall(op, line, true).is_some() {
                let offers = evb.offers();
                prop_assert!(offers.len() <= rate as usize && offers.iter().zip(&due).all(|(a, b)| a == b));
                let inv = if last { offers[offers.len() - 1] } else { offers[0] };
                prop_assert!(evb.accepted(inv));
                // Two entries with one base may hold equal messages: only the older one's is done.
                let done = due.iter().position(|d| *d == inv);
                due.remove(done.expect("only due messages are on offer"));
                prop_assert!(!evb.offers().contains(&inv) || due.contains(&inv), "a message is sent once");
            }
            if let Some(ev) = dir.op(op, src, line).eviction {
                prop_assert!(evb.push(&ev.victim));
                due.extend(ev.burst);
            }
        }
    }
}

#[test]
fn two_evb_entries_with_one_base_hold_a_write_twice() {
    let pending = [(7, vec![0b10, 0]), (9, vec![0b10, 0b10]), (7, vec![0b1000, 0b10])];
    let twice = Some(EvbStall::SlotPending { entries: 2 });
    assert_eq!(must_stall(DirOp::WrLoc, 7, 0, &pending), twice);
    assert_eq!(must_stall(DirOp::AtomRem, 7, 1, &pending), Some(EvbStall::SlotPending { entries: 1 }));
    assert_eq!(must_stall(DirOp::WrRem, 8, 0, &pending), None);
    assert_eq!(must_stall(DirOp::RdRem, 7, 0, &pending), None, "reads proceed");
}

#[test]
fn evb_is_full_at_its_depth() {
    let p = DirParams { evb_depth: 1, ..small(DirKind::Rec, 4, 1, 1, 1, Policy::Lru) };
    let (mut dir, mut evb) = (Directory::new(p).unwrap(), Evb::new(p));
    dir.op(DirOp::RdRem, 0, 0);
    let ev = dir.op(DirOp::RdRem, 0, 16).eviction.expect("one way: the second base evicts");
    assert!(evb.push(&ev.victim) && evb.is_full() && !evb.push(&ev.victim));
    assert_eq!(evb.stall(DirOp::RdRem, 32, true), Some(EvbStall::Full));
    assert_eq!(evb.stall(DirOp::RdRem, 32, false), None);
    assert_eq!(evb.same_base(1), 1);
}

#[test]
fn the_largest_burst_is_48_unicasts_and_240_for_16_gpus() {
    for (gpus, most) in [(4, 48), (16, 240)] {
        let p = DirParams { gpus, ways: 1, banks: 1, entries: 1, ..DirParams::new(DirKind::Rec) };
        let mut dir = Directory::new(p).unwrap();
        for line in 0..16 {
            (1..gpus).for_each(|g| drop(dir.op(DirOp::RdRem, g, line)));
        }
        let ev = dir.op(DirOp::RdRem, 1, 16).eviction.expect("one entry");
        assert_eq!((ev.slots, ev.unicasts), (16, most));
    }
}

#[test]
fn tables_are_complete_and_ids_unique() {
    let mut ids = BTreeSet::new();
    use DirKind::{Group4, Hmg, HmgRec, Ideal, Nhcc, Perline, Rec};
    for kind in [Perline, Group4, Rec, Ideal, Nhcc, Hmg, HmgRec] {
        let founds: &[Found] = if matches!(kind, Rec | HmgRec) {
            &[Found::Miss, Found::SlotEmpty, Found::SlotSet]
        } else {
            &[Found::Miss, Found::SlotSet]
        };
        assert_eq!(table(kind).len(), DirOp::of(kind).len() * founds.len());
        for op in DirOp::of(kind) {
            for found in founds {
                let rows = table(kind).iter().filter(|r| r.op == op && r.found == *found);
                assert_eq!(rows.count(), 1, "{kind:?} {op:?} {found:?}");
            }
        }
        assert!(table(kind).iter().all(|r| r.kind == kind && ids.insert(r.id)));
    }
}
