//! Tables of the directory blocks against the golden ones, row by row; blocks by name; sentences of refused parameters.

use std::collections::BTreeMap;
use weft_blocks::build;
use weft_blocks::directory;
use weft_blocks::directory::fence;
use weft_blocks::directory::operations::{DirAct, Event, Found as Seen};
use weft_blocks::directory::table::table;
use weft_rtl::value::HwEnum;
use weft_testbench::golden::dir_table::{self, DirOp, Found, Invalidate, Sharers};
use weft_testbench::golden::fence_table::FENCE;
use weft_testbench::golden::params::DirKind;

fn set(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

/// The actions that a golden row asks for.
fn actions(row: &dir_table::DirRow) -> Vec<DirAct> {
    let mut out = Vec::new();
    out.extend(row.allocate.then_some(DirAct::Allocate));
    out.extend(match row.sharers {
        Sharers::Keep => None,
        Sharers::Requester => Some(DirAct::OnlyRequester),
        Sharers::AddRequester => Some(DirAct::AddRequester),
        Sharers::OnlyIfSharer => Some(DirAct::KeepRequester),
        Sharers::Clear => Some(DirAct::Clear),
        Sharers::Remove => Some(DirAct::DropRequester),
    });
    out.extend(match row.inv {
        Invalidate::Nobody => None,
        Invalidate::Others => Some(DirAct::InvOthers),
        Invalidate::Everyone => Some(DirAct::InvAll),
    });
    out.extend(row.touch.then_some(DirAct::Touch));
    let passes_on = row.op.received() && row.inv == Invalidate::Everyone;
    out.extend(passes_on.then_some(DirAct::Forward));
    out.extend((row.op == DirOp::Downgrade).then_some(DirAct::ReportEmpty));
    out
}

#[test]
fn directory_tables_equal_the_golden_ones() {
    let kinds = [
        (directory::DirKind::PERLINE, DirKind::Perline, false),
        (directory::DirKind::GROUP4, DirKind::Group4, false),
        (directory::DirKind::REC, DirKind::Rec, false),
        (directory::DirKind::NHCC, DirKind::Nhcc, false),
        (directory::DirKind::NHCC, DirKind::Nhcc, true),
        (directory::DirKind::HMG, DirKind::Hmg, false),
        (directory::DirKind::HMG, DirKind::Hmg, true),
        (directory::DirKind::HMG_REC, DirKind::HmgRec, false),
        (directory::DirKind::HMG_REC, DirKind::HmgRec, true),
    ];
    for (kind, golden_kind, downgrade) in kinds {
        let (table, golden) = (table(kind, downgrade), dir_table::table(golden_kind));
        let golden: Vec<_> = golden.iter().filter(|row| downgrade || row.op != DirOp::Downgrade).collect();
        assert_eq!(table.faults(), []);
        assert_eq!(table.rows().len(), golden.len());
        for (row, expected) in table.rows().iter().zip(golden) {
            assert_eq!(row.id, expected.id);
            let op = match expected.op {
                DirOp::RdRem => Event::RdRem,
                DirOp::WrRem => Event::WrRem,
                DirOp::WrLoc => Event::WrLoc,
                DirOp::AtomRem => Event::AtomRem,
                DirOp::Downgrade => Event::Downgrade,
                DirOp::InvRecv => Event::RecvWrite,
                DirOp::InvRecvEvict => Event::RecvEvict,
            };
            let found = match expected.found {
                Found::Miss => Seen::Miss,
                Found::SlotEmpty => Seen::SlotEmpty,
                Found::SlotSet => Seen::SlotSet,
            };
            assert_eq!(row.when, [[op.encoding()], [found.encoding()]], "{}", row.id);
            let mut named = row.actions.clone();
            let mut asked = actions(expected);
            named.sort_by_key(|action| action.encoding());
            asked.sort_by_key(|action| action.encoding());
            assert_eq!(named, asked, "{}", row.id);
        }
    }
}

#[test]
fn the_fence_table_equals_the_golden_one() {
    let table = fence::table::table();
    assert_eq!(table.faults(), []);
    assert_eq!(table.rows().len(), FENCE.len());
    for expected in &FENCE {
        let row =
            table.rows().iter().find(|r| r.id == expected.id).unwrap_or_else(|| panic!("{}", expected.id));
        assert_eq!(row.when, vec![vec![expected.state as u64], vec![expected.event as u64]], "{}", row.id);
        let next = if expected.next == expected.state { vec![] } else { vec![expected.next as u64] };
        assert_eq!(row.next, next, "{}", row.id);
    }
}

#[test]
fn blocks_build_by_name() {
    let small = [("banks", "2"), ("l1s", "2"), ("l2_mshrs", "8")];
    for name in ["baseline-directory", "group-directory", "rec-directory"] {
        build(name, &set(&[])).unwrap();
        build(name, &set(&[("gpus", "8"), ("home", "3"), ("entries", "24K"), ("policy", "fifo")])).unwrap();
        build(name, &set(&[("tag_style", "minimal"), ("banks", "16"), ("inv_rate", "4")])).unwrap();
    }
    for name in ["nhcc-directory", "hmg-directory"] {
        build(name, &set(&[])).unwrap();
        build(name, &set(&[("gpus", "16"), ("home", "62"), ("entries", "24K"), ("downgrade", "on")]))
            .unwrap();
        build(name, &set(&[("gpus", "1"), ("gpms", "8"), ("home", "7"), ("group", "1")])).unwrap();
        build(name, &set(&[("gpms", "1"), ("tag_style", "minimal"), ("banks", "16"), ("group", "8")]))
            .unwrap();
    }
    let rec = "hmg-rec-directory";
    build(rec, &set(&[])).unwrap();
    build(rec, &set(&[("gpus", "16"), ("home", "62"), ("entries", "24K"), ("downgrade", "on")])).unwrap();
    build(rec, &set(&[("gpus", "1"), ("gpms", "8"), ("home", "7"), ("range", "128")])).unwrap();
    build(rec, &set(&[("gpms", "1"), ("tag_style", "minimal"), ("banks", "16"), ("range", "4096")])).unwrap();
    for name in ["inv-egress", "inv-ingress", "fence-unit"] {
        build(name, &set(&[])).unwrap();
        build(name, &set(&small)).unwrap();
        build(name, &set(&[("gpus", "2"), ("home", "1"), ("banks", "1")])).unwrap();
    }
    build("fence-unit", &set(&[("flush", "off")])).unwrap();
}

#[test]
fn illegal_parameters_are_refused_with_their_range() {
    let sentence = |name, pairs: &[(&str, &str)]| build(name, &set(pairs)).unwrap_err().to_string();
    assert_eq!(
        sentence("rec-directory", &[("range", "64")]),
        "parameter range = 64 of block rec-directory: a range smaller than two lines of 64 bytes: use baseline-directory; \
         legal: power of two, 2 to 64 lines, at most il"
    );
    let cases = [
        ([("range", "768")], "power of two in 128..4096"),
        ([("range", "8192")], "power of two in 128..4096"),
        ([("ways", "7")], "it does not divide into banks * ways = 7"),
        ([("ways", "129")], "it lies outside 1..128"),
        ([("entries", "8712")], "1089 sets per bank are not c * 2^k with c odd and at most 15"),
        ([("gpus", "17")], "it lies outside 2..16"),
        ([("home", "4")], "there are only 4 GPUs"),
        ([("inv_rate", "3")], "it is not 1, 2 or 4"),
        ([("evb_depth", "9")], "it lies outside 1..8"),
        ([("line", "96")], "lines have 64 or 128 bytes"),
        ([("il", "192")], "it must be a power of two of at least 4 lines, 256 bytes"),
        ([("il", "512")], "it is larger than il = 512: a range must not straddle two slices"),
        ([("banks", "3")], "it is no power of two"),
        ([("policy", "random")], "it is not known"),
    ];
    for (pairs, text) in cases {
        let got = sentence("rec-directory", &pairs);
        assert!(got.contains(text) && got.contains("legal: "), "{got}");
    }
    assert!(sentence("inv-egress", &[("links", "17")]).contains("it lies outside 1..16"));
    assert!(sentence("fence-unit", &[("flush", "maybe")]).contains("legal: on, off"));
}

#[test]
fn illegal_hierarchies_are_refused_with_their_range() {
    let sentence = |name, pairs: &[(&str, &str)]| build(name, &set(pairs)).unwrap_err().to_string();
    assert_eq!(
        sentence("hmg-directory", &[("gpus", "16"), ("gpms", "5")]),
        "parameter gpms = 5 of block hmg-directory: 16 GPUs of 5 GPMs make 80 nodes, which lies outside 2..64; \
         legal: 1..8, 2..64 nodes in all"
    );
    let cases: [(&[(&str, &str)], &str); 11] = [
        (&[("gpus", "17")], "it lies outside 1..16; legal: 1..16, 2..64 nodes in all"),
        (&[("gpms", "9")], "it lies outside 1..8"),
        (&[("gpus", "1"), ("gpms", "1")], "1 GPUs of 1 GPMs make 1 nodes, which lies outside 2..64"),
        (&[("gpms", "3"), ("home", "3")], "there is no node 3 among 4 GPUs of 3 GPMs"),
        (&[("group", "3")], "3 is not 1, 2, 4 or 8; legal: 1, 2, 4, 8"),
        (&[("group", "8"), ("il", "512")], "it must be a power of two of at least 8 lines, 1024 bytes"),
        (&[("ways", "65")], "it lies outside 1..64"),
        (&[("downgrade", "maybe")], "it is not known; legal: on, off"),
        (&[("home_shift", "45")], "the node number above it lies outside the address"),
        (&[("home_shift", "12"), ("banks", "16")], "a node's memory does not reach all its banks"),
        (&[("entries", "12289")], "it does not divide into banks * ways = 12"),
    ];
    for name in ["nhcc-directory", "hmg-directory"] {
        for (pairs, text) in cases {
            let got = sentence(name, pairs);
            assert!(got.contains(text) && got.contains("legal: "), "{got}");
        }
    }
    assert!(build("hmg-directory", &set(&[("range", "512")])).is_err(), "ranges are REC's");
    assert!(build("hmg-rec-directory", &set(&[("group", "4")])).is_err(), "groups are HMG's");
    assert_eq!(
        sentence("hmg-rec-directory", &[("range", "64")]),
        "parameter range = 64 of block hmg-rec-directory: a range smaller than two lines of 64 bytes: use hmg-directory with group = 1; \
         legal: power of two, 2 to 64 lines, at most il"
    );
    let both: [(&[(&str, &str)], &str); 5] = [
        (&[("range", "768")], "power of two in 128..4096"),
        (&[("il", "512")], "it is larger than il = 512: a range must not straddle two slices"),
        (&[("gpms", "9")], "it lies outside 1..8"),
        (&[("gpms", "3"), ("home", "3")], "there is no node 3 among 4 GPUs of 3 GPMs"),
        (&[("ways", "65")], "it lies outside 1..64"),
    ];
    for (pairs, text) in both {
        let got = sentence("hmg-rec-directory", pairs);
        assert!(got.contains(text) && got.contains("legal: "), "{got}");
    }
}

#[test]
fn event_codes_are_those_of_operations_and_causes() {
    use weft_blocks::msg::{Cause, DirOp};
    let ops = [
        (Event::RdRem, DirOp::RdRem),
        (Event::WrRem, DirOp::WrRem),
        (Event::WrLoc, DirOp::WrLoc),
        (Event::AtomRem, DirOp::AtomRem),
        (Event::Downgrade, DirOp::Downgrade),
    ];
    for (event, op) in ops {
        assert_eq!(event.encoding(), op.encoding());
    }
    for (event, cause) in [(Event::RecvWrite, Cause::Write), (Event::RecvEvict, Cause::Evict)] {
        assert_eq!(event.encoding(), 8 + cause.encoding());
    }
}
