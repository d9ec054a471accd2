//! The ledger's arithmetic, errors and files; the published list of identifiers.

use super::*;
use std::collections::BTreeSet;
use weft_ledger::Tally;

fn ids_page() -> String {
    let mut text = String::from(
        "# Identifiers of the ledger\n\n\
         Written by the test `the_published_list_is_current` from the golden tables; renew it with `WEFT_BLESS=1`.\n\
         A block's cover points carry these names. `fabric` entries are marked by scoreboards.\n",
    );
    let ledger = super::ledger();
    for block in ledger.blocks() {
        text += &format!("\n## {block}\n\n| id | kind | source | text |\n| --- | --- | --- | --- |\n");
        // By name: in which order hardware declares its observers is no matter of this list.
        let mut of_block: Vec<_> = ledger.entries().iter().filter(|e| e.block == block).collect();
        of_block.sort_by_key(|e| &e.id);
        for e in of_block {
            let kind = if e.kind == EntryKind::Row { "row" } else { "race" };
            text += &format!("| `{}` | {kind} | {} | {} |\n", e.id, e.source, e.text.replace('|', "\\|"));
        }
    }
    text +=
        "\n## Errors\n\nThese pairs assert; they are no ledger entries.\n\n| id | source |\n| --- | --- |\n";
    for (id, source) in error_rows() {
        text += &format!("| `{id}` | {source} |\n");
    }
    text
}

#[test]
fn the_published_list_is_current() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/golden/IDS.md");
    if std::env::var_os("WEFT_BLESS").is_some() {
        std::fs::write(&path, ids_page()).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(
        found == ids_page(),
        "IDS.md differs from the tables: run this test with WEFT_BLESS=1 and read the diff"
    );
}

/// The source is a section of a page in `docs/`, as of protocols that are Weft's own.
fn on_a_page_of_ours(source: &str) -> bool {
    let Some((page, section)) = source.split_once(' ') else { return false };
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page);
    let heading = format!("## {section}. ");
    std::fs::read_to_string(path).is_ok_and(|text| text.lines().any(|line| line.starts_with(&heading)))
}

#[test]
fn identifiers_are_unique_and_sources_are_sections() {
    let entries = all_entries();
    let ids: BTreeSet<_> = entries.iter().map(|e| &e.id).collect();
    assert_eq!(ids.len(), entries.len());
    for e in &entries {
        assert!(e.text.ends_with('.') && !e.text.contains('\n'), "{}", e.id);
        assert!(e.id.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_'), "{}", e.id);
        let race = e.id.contains(".race.");
        assert_eq!(e.kind == EntryKind::Race, race, "{}", e.id);
        let rec = ["2", "3", "4", "4.1", "5", "6", "6.1", "6.2", "7", "8", "8.1", "9"];
        let rec = rec.map(|s| format!("rec.md {s}"));
        let hmg = ["4", "5", "5.1", "5.2", "5.3", "5.4", "6", "8"].map(|s| format!("hmg.md {s}"));
        let mgcc = ["4", "5", "6", "7", "8", "10", "14"].map(|s| format!("mgcc.md {s}"));
        let srsp = ["3", "5", "6", "9"].map(|s| format!("srsp.md {s}"));
        let spandex = ["2", "4", "6", "7", "8", "9"].map(|s| format!("spandex.md {s}"));
        let cu = ["cu-and-consistency.md 8", "denovo-b.md"].map(str::to_string);
        let mut pages = rec.iter().chain(&hmg).chain(&mgcc).chain(&srsp).chain(&spandex).chain(&cu);
        assert!(pages.any(|s| *s == e.source) || on_a_page_of_ours(&e.source), "{}: {}", e.id, e.source);
    }
    let errors = error_rows();
    assert!(errors.iter().all(|(id, _)| !entries.iter().any(|e| e.id == *id)));
    assert_eq!(
        errors.len(),
        2 + 3 + 4 + 2,
        "RdRsp in I and V; fill in I, V and D; Inv in four home states; RdRsp again at a GPU home"
    );
}

#[test]
fn smallest_seed_wins_and_counts_add_up() {
    let mut ledger = super::ledger();
    let id = "rec.RD_REM.base_miss";
    ledger.hit(id, 3, 9, "b").unwrap();
    ledger.hit(id, 0, 1, "nothing happened").unwrap();
    ledger.hit(id, 4, 7, "z").unwrap();
    ledger.hit(id, 1, 7, "c").unwrap();
    assert_eq!(ledger.tally(id), Some(&Tally { count: 8, smallest: Some((7, "c".into())) }));
    let all = ledger.entries().len();
    assert_eq!(ledger.never_hit(None).len(), all - 1);
    assert!(ledger.never_hit(Some("rec-directory")).iter().all(|e| e.id != id && e.block == "rec-directory"));
}

#[test]
fn unknown_identifiers_are_refused_with_their_place() {
    let error = ledger().hit("rec.NOPE", 1, 1, "t").unwrap_err().to_string();
    assert_eq!(
        error,
        "test t: 'rec.NOPE' is no ledger entry: use an identifier from testbench/src/golden/IDS.md"
    );
}

fn hit(id: &str, count: u64, seed: u64) -> Hit {
    Hit { id: id.into(), count, seed, test: "a test::x".into() }
}

#[test]
fn files_merge_in_any_number() {
    let dir = tempfile::tempdir().unwrap();
    let sub = dir.path().join("ledger");
    let first =
        write_hits(&sub, "one", &[hit("fence.IDLE.release", 2, 5), hit("l2home.F.AtomReq", 1, 5)]).unwrap();
    write_hits(&sub, "two::deep", &[hit("fence.IDLE.release", 1, 3)]).unwrap();
    std::fs::write(sub.join("notes.txt"), "not a ledger").unwrap();
    let mut ledger = super::ledger();
    ledger.merge_dir(&sub).unwrap();
    let tally = ledger.tally("fence.IDLE.release").unwrap();
    assert_eq!((tally.count, tally.smallest.clone()), (3, Some((3, "a test::x".into()))));
    assert_eq!(ledger.tally("l2home.F.AtomReq").unwrap().count, 1);
    let text = std::fs::read_to_string(first).unwrap();
    assert_eq!(
        text.lines().next(),
        Some(r#"{"id":"fence.IDLE.release","count":2,"seed":5,"test":"a test::x"}"#)
    );
}

#[test]
fn broken_files_name_file_and_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    std::fs::write(&path, "\n{\"id\":\"rec.NOPE\",\"count\":1,\"seed\":1,\"test\":\"t\"}\n").unwrap();
    let unknown = ledger().merge_dir(dir.path()).unwrap_err().to_string();
    assert!(unknown.contains("x.jsonl:2: 'rec.NOPE' is no ledger entry"), "{unknown}");
    std::fs::write(&path, "{\"id\":1}\n").unwrap();
    let bad = ledger().merge_dir(dir.path()).unwrap_err().to_string();
    assert!(bad.contains("x.jsonl:1: not a ledger line"), "{bad}");
    let absent = ledger().merge_dir(&dir.path().join("none")).unwrap_err().to_string();
    assert!(absent.contains("filled by running the tests"), "{absent}");
}

#[test]
fn render_shows_hits_seed_and_never() {
    let mut ledger =
        Ledger::new(all_entries().into_iter().filter(|e| e.block == "inv-egress").take(2).collect());
    ledger.hit("rec.race.egress_partial_accept", 12, 40, "egress::random").unwrap();
    let expected = "\
entry                                 block             hits         smallest seed  test
rec.race.egress_partial_accept        inv-egress          12                    40  egress::random
rec.race.egress_full_fifo_holds_slice  inv-egress       never
1 of 2 entries hit
";
    let squeeze = |s: &str| {
        let line = |l: &str| l.split_whitespace().collect::<Vec<_>>().join(" ");
        s.lines().map(line).collect::<Vec<_>>()
    };
    assert_eq!(squeeze(&ledger.render(Some("inv-egress"))), squeeze(expected));
    let columns = ledger
        .render(None)
        .lines()
        .take(3)
        .map(|l| l.find("inv-egress").or(l.find("block")))
        .collect::<Vec<_>>();
    assert!(columns.windows(2).all(|w| w[0] == w[1]), "columns are aligned: {columns:?}");
}

#[test]
fn an_entry_never_hit_is_one_sentence() {
    let mut ledger =
        Ledger::new(all_entries().into_iter().filter(|e| e.block == "ideal-directory").collect());
    assert_eq!((ledger.count(None), ledger.count(Some("fabric"))), (8, 0));
    for entry in &all_entries() {
        if entry.block == "ideal-directory" && entry.id != "ideal.RD_REM.hit" {
            ledger.hit(&entry.id, 1, 0, "t").unwrap();
        }
    }
    assert_eq!(
        ledger.complaints(None),
        [
            "ideal.RD_REM.hit (row of ideal-directory, rec.md 8) was never hit: RD_REM of g, hit, s not empty: s |= g."
        ]
    );
    ledger.hit("ideal.RD_REM.hit", 1, 0, "t").unwrap();
    assert!(ledger.complaints(None).is_empty());
}
