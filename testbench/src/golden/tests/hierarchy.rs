//! The directories whose nodes are GPMs: nodes and sharer bits, storage by the formulas, properties under random operations.

use crate::golden::dir_table::DirOp;
use crate::golden::directory::{Directory, Outcome};
use crate::golden::entry::{EntryFields, bits_of_slot, decode, encode};
use crate::golden::params::{DirKind, DirParams};
use crate::golden::{GpuMask, InvCause, gpus_of, only};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn small(kind: DirKind, gpus: u32, gpms: u32, pick: usize, group: u64) -> DirParams {
    let base = DirParams { gpus, gpms, group, range: 256, downgrade: true, ..DirParams::new(kind) };
    let nodes = base.nodes();
    DirParams { home: nodes[pick % nodes.len()], ways: 2, banks: 1, entries: 4, home_shift: 20, ..base }
}

fn any_small(kind: impl Strategy<Value = DirKind>) -> impl Strategy<Value = DirParams> {
    let group = prop_oneof![Just(1u64), Just(2), Just(4), Just(8)];
    (kind, 1u32..=5, 1u32..=5, 0usize..25, group)
        .prop_filter("two nodes", |(_, gpus, gpms, ..)| gpus * gpms > 1)
        .prop_map(|(kind, gpus, gpms, pick, group)| small(kind, gpus, gpms, pick, group))
}

fn any_kind() -> impl Strategy<Value = DirKind> {
    prop_oneof![Just(DirKind::Nhcc), Just(DirKind::Hmg), Just(DirKind::HmgRec)]
}

/// What sharers are recorded for: the line in an entry for a range, else the group.
fn block(p: &DirParams, line: u64) -> u64 {
    if p.ranges() { line } else { p.base(line) }
}

/// Operation, source, line, and whether the line is homed in the next GPU (two levels only).
type Step = (usize, usize, u64, bool);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((0usize..7, 0usize..32, 0u64..96, any::<bool>()), 1..200)
}

/// The step as a request that can come to this directory, if it can.
fn legal(p: &DirParams, (op, src, number, away): Step) -> Option<(DirOp, u32, u64)> {
    let op = DirOp::ALL[op];
    let nodes = p.nodes();
    let homes: Vec<u32> = nodes.iter().copied().filter(|n| p.gpm(*n) == p.gpm(p.home)).collect();
    let away = away && p.two_level() && p.gpus > 1;
    let home = if away { homes[(p.gpu(p.home) as usize + 1) % homes.len()] } else { p.home };
    let line = u64::from(home) << (p.home_shift - p.line.ilog2()) | number;
    if !DirOp::of(p.kind).contains(&op) || op.received() && !away {
        return None;
    }
    if op == DirOp::WrLoc || op.received() {
        return Some((op, p.home, line));
    }
    let src = nodes[src % nodes.len()];
    let asks = src != p.home || op == DirOp::Downgrade;
    (asks && (!away || p.gpu(src) == p.gpu(p.home))).then_some((op, src, line))
}

/// Takes away what the messages of an outcome take away; every message must find something.
fn take_away(p: &DirParams, flat: &mut BTreeSet<(u64, u32)>, out: &Outcome) -> Result<(), TestCaseError> {
    let burst = out.eviction.iter().flat_map(|e| e.burst.iter());
    for inv in burst.chain(out.write_inv.iter()) {
        prop_assert_eq!(inv.grp, p.grouped());
        prop_assert!(inv.dest & only(p.home) == 0 && inv.dest != 0);
        for node in gpus_of(inv.dest) {
            prop_assert!(p.nodes().contains(&node), "{} is no node", node);
            prop_assert!(flat.remove(&(block(p, inv.line), node)), "an Inv went to {} for nothing", node);
        }
    }
    Ok(())
}

proptest! {
    /// The directory holds exactly the pairs (group or line, whom to tell) that were recorded and not taken away.
    #[test]
    fn contents_equal_a_flat_map(p in any_small(any_kind()), steps in steps()) {
        let mut dir = Directory::new(p).unwrap();
        let mut flat: BTreeSet<(u64, u32)> = BTreeSet::new();
        let mut lines = BTreeSet::new();
        for (op, src, line) in steps.into_iter().filter_map(|s| legal(&p, s)) {
            lines.insert(line);
            let out = dir.op(op, src, line);
            dir.check().map_err(TestCaseError::fail)?;
            take_away(&p, &mut flat, &out)?;
            let whom = (block(&p, line), if p.kind == DirKind::Nhcc || p.gpu(src) == p.gpu(p.home) {
                src
            } else {
                // Another GPU is told at its GPM of the home's number.
                p.nodes().into_iter().find(|n| p.gpu(*n) == p.gpu(src) && p.gpm(*n) == p.gpm(p.home)).unwrap()
            });
            match op {
                // REC: the requester has dropped its copy of the line and is not retained.
                DirOp::AtomRem if p.ranges() => { flat.remove(&whom); }
                DirOp::RdRem | DirOp::WrRem | DirOp::AtomRem => { flat.insert(whom); }
                DirOp::Downgrade => { flat.remove(&whom); }
                DirOp::WrLoc | DirOp::InvRecv | DirOp::InvRecvEvict => {}
            }
            let left = flat.iter().any(|(of, _)| *of == block(&p, line));
            prop_assert_eq!(out.empty, op == DirOp::Downgrade && !left);
            let forwards = op.received() && out.write_inv.is_some();
            let cause = if op == DirOp::InvRecvEvict { InvCause::Evict } else { InvCause::Write };
            prop_assert!(out.write_inv.is_none_or(|i| i.cause == cause));
            prop_assert!(!forwards || !left, "forward Inv to all sharers -> I");
            for line in &lines {
                let pairs = flat.iter().filter(|(of, _)| *of == block(&p, *line));
                let want: GpuMask = pairs.map(|(_, node)| only(*node)).sum();
                prop_assert_eq!(dir.sharers_of(*line), want, "line {:#x}", line);
            }
        }
    }

    /// Without evictions HMG's system home records exactly the GPMs of the own GPU and the GPUs of what NHCC records, and tells them.
    #[test]
    fn the_hierarchy_is_a_projection_of_the_flat_directory(p in any_small(Just(DirKind::Nhcc)), steps in steps()) {
        let roomy = DirParams { entries: 128, ways: 64, ..p };
        let (mut flat, mut hier) = (Directory::new(roomy).unwrap(), Directory::new(DirParams { kind: DirKind::Hmg, ..roomy }).unwrap());
        let project = |mask: GpuMask| gpus_of(mask).map(|n| only(hier_as(&roomy, n))).fold(0, |a, b| a | b);
        for (op, src, line) in steps.into_iter().filter_map(|s| legal(&roomy, s)).filter(|s| s.0 != DirOp::Downgrade) {
            let (a, b) = (flat.op(op, src, line), hier.op(op, src, line));
            prop_assert!(a.eviction.is_none() && b.eviction.is_none());
            prop_assert_eq!(project(flat.sharers_of(line)), hier.sharers_of(line));
            let told = a.write_inv.map_or(0, |i| project(i.dest));
            // A writer's GPU is not told of what other GPMs of that GPU held: its own home has seen the store.
            let writer = if op == DirOp::WrLoc { 0 } else { only(hier_as(&roomy, src)) };
            prop_assert_eq!(told & !writer, b.write_inv.map_or(0, |i| i.dest));
        }
    }

    /// Packing and unpacking are inverse, and the sharer bits are as many as the formula says.
    #[test]
    fn entries_round_trip(p in any_small(any_kind()), seed in any::<u128>(), number in 0u64..4096) {
        let legal: GpuMask = p.recordable().into_iter().map(only).sum();
        prop_assert_eq!(legal.count_ones(), p.sharers());
        let slots: Vec<GpuMask> = (0..p.slots()).map(|i| seed.rotate_left(29 * i as u32) & legal).collect();
        let entry = crate::golden::entry::Entry { valid: true, base: number, slots };
        let bits = encode(&p, &entry);
        let parts = if p.ranges() { 48 - 8 + 4 * (1 + p.sharers()) } else { 48 + p.sharers() };
        prop_assert_eq!(bits.len() as u32, parts + 1);
        prop_assert_eq!(decode(&p, &bits), Some(entry));
    }
}

proptest! {
    /// Without evictions HMG with one line per entry and REC under it record and tell the same, but for who asks for an atomic.
    #[test]
    fn ranges_in_two_levels_are_hmg_line_by_line(p in any_small(Just(DirKind::HmgRec)), steps in steps()) {
        let roomy = DirParams { entries: 512, ways: 128, group: 1, ..p };
        let (mut rec, mut hmg) = (Directory::new(roomy).unwrap(), Directory::new(DirParams { kind: DirKind::Hmg, ..roomy }).unwrap());
        let mut forgotten = BTreeSet::new();
        for (op, src, line) in steps.into_iter().filter_map(|s| legal(&roomy, s)) {
            let (a, b) = (rec.op(op, src, line), hmg.op(op, src, line));
            prop_assert!(a.eviction.is_none() && b.eviction.is_none());
            let who = only(roomy.recorded_as(src));
            let gone: GpuMask = forgotten.iter().filter(|(l, _)| *l == line).map(|(_, n)| *n).sum();
            let told = |out: &Outcome| out.write_inv.map_or(0, |i| i.dest);
            prop_assert_eq!(told(&a), told(&b) & !gone);
            forgotten.retain(|(l, n)| *l != line || op == DirOp::RdRem && *n != who || op == DirOp::Downgrade && *n != who);
            if op == DirOp::AtomRem {
                forgotten.insert((line, who));
            }
            let gone: GpuMask = forgotten.iter().filter(|(l, _)| *l == line).map(|(_, n)| *n).sum();
            prop_assert_eq!(rec.sharers_of(line), hmg.sharers_of(line) & !gone);
        }
    }
}

fn hier_as(p: &DirParams, node: u32) -> u32 {
    DirParams { kind: DirKind::Hmg, ..*p }.recorded_as(node)
}

#[test]
fn with_one_gpm_per_gpu_both_are_the_group_directory_but_for_atomics() {
    let group = DirParams { banks: 1, ways: 2, entries: 4, ..DirParams::new(DirKind::Group4) };
    let like = |kind| DirParams { gpms: 1, line: 64, ..DirParams { kind, ..group } };
    let mut dirs = [group, like(DirKind::Nhcc), like(DirKind::Hmg)].map(|p| Directory::new(p).unwrap());
    let mut state = 1u64;
    for _ in 0..4000 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let op = DirOp::ALL[(state >> 40) as usize % 3];
        let (src, line) = ((state >> 48) as u32 % 3 + 1, (state >> 33) % 64);
        let [a, b, c] = [0, 1, 2].map(|i| {
            let out = dirs[i].op(op, src, line);
            (out.write_inv, out.eviction.map(|e| e.burst), out.hit, out.way)
        });
        assert_eq!(a, b);
        assert_eq!(a, c);
    }
}

#[test]
fn storage_of_section_3() {
    let of = |kind| EntryFields::published(&DirParams::new(kind));
    assert_eq!((of(DirKind::Hmg).total(), of(DirKind::Nhcc).total()), (55, 64));
    assert_eq!(u64::from(of(DirKind::Hmg).total()) * 12288 / 8, 84_480);
    let covered = 12288 * 4 * 128;
    assert_eq!(covered, 6 << 20, "it covers 6 MB");
}

/// rec.md section 8.1: A - log2 R + n * (M + N - 1) + 1.
#[test]
fn storage_of_ranges_in_two_levels() {
    let p = DirParams::new(DirKind::HmgRec);
    p.validate().unwrap();
    let fields = EntryFields::published(&p);
    assert_eq!((fields.tag, fields.position + fields.sharers, fields.valid), (38, 112, 1));
    assert_eq!(fields.total(), 151);
    for (gpus, gpms, range, total) in
        [(2, 2, 1024, 38 + 48 + 1), (4, 4, 128, 41 + 14 + 1), (1, 8, 4096, 36 + 512 + 1)]
    {
        let p = DirParams { gpus, gpms, range, ..p };
        assert_eq!(EntryFields::published(&p).total(), total);
    }
}

#[test]
fn sharer_bits_are_the_gpms_then_the_gpus() {
    let p = DirParams { home: 6, ..DirParams::new(DirKind::Hmg) };
    assert_eq!(p.recordable(), [4, 5, 7, 2, 10, 14], "GPMs 0, 1, 3 of GPU 1; GPUs 0, 2, 3 at GPM 2");
    let rec = DirParams { home: 6, ..DirParams::new(DirKind::HmgRec) };
    assert_eq!(rec.recordable(), p.recordable());
    // Slot 13 of 7 bits: the position, GPM 3 and GPU 2, whatever GPM of it asks.
    let mask = [7, 9].map(|n| only(rec.recorded_as(n))).iter().sum();
    assert_eq!(bits_of_slot(&rec, 0x340, mask), [91, 91 + 3, 91 + 5]);
    let three = DirParams { gpus: 2, gpms: 3, home: 5, ..DirParams::new(DirKind::Nhcc) };
    assert_eq!(three.nodes(), [0, 1, 2, 4, 5, 6], "numbers of a GPU are rounded up to a power of two");
    assert_eq!(three.recordable(), [0, 1, 2, 4, 6]);
}
