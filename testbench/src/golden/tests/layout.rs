//! Section 3 exactly: golden vectors, storage table, sharer mapping; section 2: set index.

use crate::golden::dir_table::DirOp;
use crate::golden::directory::Directory;
use crate::golden::entry::{EntryFields, bits_of_slot, decode, encode, position_bit, to_hex};
use crate::golden::params::{DirKind, DirParams};
use crate::golden::{Inv, InvCause, only};
use proptest::prelude::*;

const A0: u64 = 0x1234_5340;
const A1: u64 = 0x1234_5380;

fn write_inv(addr: u64, gpu: u32) -> Option<Inv> {
    Some(Inv { line: addr / 64, dest: only(gpu), cause: InvCause::Write, grp: false })
}

#[test]
fn golden_vectors_of_section_3() {
    let p = DirParams::new(DirKind::Rec);
    let mut dir = Directory::new(p).unwrap();
    let steps: [(DirOp, u32, u64, &str, Option<Inv>, &str); 6] = [
        (DirOp::RdRem, 1, A0, "4000048d140030000000000000", None, "rec.RD_REM.base_miss"),
        (DirOp::RdRem, 3, A1, "4000048d140930000000000000", None, "rec.RD_REM.hit_slot_empty"),
        (DirOp::WrRem, 2, A1, "4000048d140530000000000000", write_inv(A1, 3), "rec.WR_REM.hit_slot_set"),
        (DirOp::RdRem, 1, A0, "4000048d140530000000000000", None, "rec.RD_REM.hit_slot_set"),
        (DirOp::WrLoc, 0, A0, "4000048d140500000000000000", write_inv(A0, 1), "rec.WR_LOC.hit_slot_set"),
        (DirOp::WrLoc, 0, A1, "", write_inv(A1, 2), "rec.WR_LOC.hit_slot_set"),
    ];
    for (i, (op, src, addr, hex, inv, row)) in steps.into_iter().enumerate() {
        let out = dir.op(op, src, addr / 64);
        let entry = &dir.set(out.place).ways[0];
        assert_eq!((out.place.bank, out.place.set), (5, 16), "step {i}");
        assert_eq!((out.write_inv, out.row.id), (inv, row), "step {i}");
        assert_eq!(out.hit, i != 0);
        assert_eq!(out.freed, i == 5);
        assert_eq!(out.reread, i == 3);
        if hex.is_empty() {
            assert!(!entry.valid);
        } else {
            assert_eq!(to_hex(&encode(&p, entry)), hex, "step {i}");
            assert_eq!(entry.base, 0x48D14);
        }
        dir.check().unwrap();
    }
}

#[test]
fn golden_vector_bit_numbers() {
    let p = DirParams::new(DirKind::Rec);
    assert_eq!((position_bit(&p, A0), position_bit(&p, A1)), (52, 56));
    assert_eq!(bits_of_slot(&p, A0, only(1)), [52, 53]);
    assert_eq!(bits_of_slot(&p, A1, only(3)), [56, 59]);
    assert_eq!(bits_of_slot(&p, A1, only(2)), [56, 58]);
    assert_eq!((p.slot(A0 / 64), p.slot(A1 / 64)), (13, 14));
}

#[test]
fn monolithic_index_of_the_golden_vector() {
    let p = DirParams { banks: 1, ..DirParams::new(DirKind::Rec) };
    assert_eq!(p.sets(), 1024);
    assert_eq!(p.place(A0 / 64).set, 0x114);
}

/// The table of section 3: (kind, range, line, gpus) -> (tag, position, sharers, total, kB of 8K entries).
#[test]
fn storage_table_of_section_3() {
    use DirKind::{Group4, Perline, Rec};
    let rows: [(DirKind, u64, u64, u32, u32, u32, u32, u32); 13] = [
        (Perline, 1024, 64, 4, 48, 0, 3, 52),
        (Rec, 128, 64, 4, 41, 2, 6, 50),
        (Rec, 256, 64, 4, 40, 4, 12, 57),
        (Rec, 512, 64, 4, 39, 8, 24, 72),
        (Rec, 1024, 64, 4, 38, 16, 48, 103),
        (Rec, 2048, 64, 4, 37, 32, 96, 166),
        (Rec, 4096, 64, 4, 36, 64, 192, 293),
        (Rec, 1024, 64, 8, 38, 16, 112, 167),
        (Rec, 1024, 64, 16, 38, 16, 240, 295),
        (Rec, 2048, 128, 4, 37, 16, 48, 102),
        (Group4, 1024, 64, 4, 48, 0, 3, 52),
        (Perline, 1024, 64, 8, 48, 0, 7, 56),
        (Perline, 1024, 64, 16, 48, 0, 15, 64),
    ];
    for (kind, range, line, gpus, tag, position, sharers, total) in rows {
        let p = DirParams { range, line, gpus, ..DirParams::new(kind) };
        p.validate().unwrap();
        let f = EntryFields::published(&p);
        assert_eq!((f.tag, f.position, f.sharers, f.valid, f.total()), (tag, position, sharers, 1, total));
        // 8192 entries of `total` bits are `total` kB: 8192 / 8 = 1024 bytes per bit.
        assert_eq!(u64::from(f.total()) * p.entries / 8 / 1024, u64::from(total));
        let blank = crate::golden::entry::Entry::empty(p.slots());
        assert_eq!(encode(&p, &blank).len() as u32, total, "layout and count must agree");
        if kind == Rec {
            let formula = 48 - range.ilog2() + (range / line) as u32 * gpus + 1;
            assert_eq!(total, formula);
        }
    }
}

#[test]
fn other_published_ratios_of_section_3() {
    let kb = |entries: u64| {
        let p = DirParams { entries, ..DirParams::new(DirKind::Perline) };
        p.validate().unwrap();
        u64::from(EntryFields::published(&p).total()) * entries / 8 / 1024
    };
    assert_eq!((kb(12 * 8192), kb(6 * 8192), kb(2 * 8192), kb(8192)), (624, 312, 104, 52));
}

#[test]
fn minimal_tags_drop_offset_and_index_bits() {
    let rec = DirParams::new(DirKind::Rec);
    // 48 bits - 10 of the range - 4 of the bank - 6 of 64 sets.
    assert_eq!(EntryFields::minimal(&rec).tag, 28);
    let line = DirParams::new(DirKind::Perline);
    assert_eq!(EntryFields::minimal(&line).tag, 32);
}

#[test]
fn sharer_bits_skip_the_home() {
    for gpus in 2..=16 {
        for home in 0..gpus {
            let p = DirParams { gpus, home, ..DirParams::new(DirKind::Rec) };
            let bits: Vec<u32> = (0..gpus).filter(|g| *g != home).map(|g| p.sharer_bit(g)).collect();
            assert_eq!(bits, (1..gpus).collect::<Vec<_>>(), "k is a dense numbering of the others");
            assert!((0..gpus).filter(|g| *g != home).all(|g| p.sharer_gpu(p.sharer_bit(g)) == g));
        }
    }
    let home0 = DirParams::new(DirKind::Rec);
    assert!((1..4).all(|g| home0.sharer_bit(g) == g), "the paper's examples: home 0, k = g");
}

fn any_params() -> impl Strategy<Value = DirParams> {
    let kind = prop_oneof![Just(DirKind::Perline), Just(DirKind::Group4), Just(DirKind::Rec)];
    let line = prop_oneof![Just(64u64), Just(128)];
    (kind, 2u32..=16, 0u32..16, 32u32..=64, line, 1u32..=6, 0u32..3, 0u32..3, 0u64..8).prop_map(
        |(kind, gpus, home, addr_bits, line, range_log, banks_log, k, c)| {
            let base = DirParams::new(kind);
            let (banks, ways) = (1 << banks_log, 2);
            let entries = u64::from(banks) * u64::from(ways) * ((2 * c + 1) << k);
            let (range, il) = (line << range_log, 8192);
            DirParams { gpus, home: home % gpus, addr_bits, line, range, entries, ways, banks, il, ..base }
        },
    )
}

proptest! {
    /// Packing and unpacking are inverse for every geometry and content.
    #[test]
    fn entries_round_trip(p in any_params(), seed in any::<u64>(), line in any::<u64>(), valid in any::<bool>()) {
        prop_assert_eq!(p.validate(), Ok(()));
        let line = line >> (64 - p.line_addr_bits());
        let legal = (only(p.gpus) - 1) & !only(p.home);
        let slots = (0..p.slots()).map(|i| u128::from(seed.rotate_left(i as u32 * 7)) & legal).collect();
        let entry = crate::golden::entry::Entry { valid, base: p.base(line), slots };
        prop_assert_eq!(decode(&p, &encode(&p, &entry)), Some(entry));
    }

    /// Sets are in range, lines of one entry share a place, and set plus bank plus the quotient name a block uniquely.
    #[test]
    fn places_are_in_range_and_shared_by_an_entry(p in any_params(), line in any::<u64>()) {
        let line = line >> (64 - p.line_addr_bits());
        let place = p.place(line);
        prop_assert!(place.set < p.sets() && place.bank < p.banks);
        let first = p.base(line) * p.lines_per_entry();
        prop_assert!((first..first + p.lines_per_entry()).all(|l| p.place(l) == place));
        // {hi mod c, low k bits} equals a plain modulo by c * 2^k.
        let per_il = p.il / p.line;
        let packed = line / (per_il * u64::from(p.banks)) * per_il + line % per_il;
        prop_assert_eq!(place.set, packed / p.lines_per_entry() % p.sets());
    }
}
