//! `weft digest`: what moved is told by row and column, written on demand, and nothing else.

use crate::program::{refused, stdout, weft};
use std::path::Path;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testbench/digest/committed");

fn text(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).expect("a table")
}

/// A folder with copies of the committed tables.
fn copies() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for file in ["blocks.csv", "fabrics.csv", "runs.csv"] {
        std::fs::write(folder.path().join(file), text(Path::new(COMMITTED), file)).expect("written");
    }
    folder
}

#[test]
fn a_block_and_a_fabric_are_those_committed() {
    for name in ["fifo", "rec-directory"] {
        let said = stdout(&["digest", "--check", name, "--dir", COMMITTED]);
        assert!(said.contains("3 rows, none moved"), "{said}");
    }
    let rows = stdout(&["digest", "rdma-4gpu-small", "--table", "runs"]);
    assert!(
        rows.contains("rdma-4gpu-small  protocol=rdma  bfs source=karate") && !rows.contains("not verified"),
        "{rows}"
    );
    let said = stdout(&[
        "digest",
        "--check",
        "srsp-64cu-small,protocol=hlrc",
        "--table",
        "runs",
        "--dir",
        COMMITTED,
    ]);
    assert!(
        said.contains("4 rows, none moved"),
        "two programs, on the fabric as it is and under pressure: {said}"
    );
}

#[test]
fn a_row_that_moved_is_named_and_written() {
    let folder = copies();
    let (dir, before) = (folder.path().to_str().expect("text"), text(folder.path(), "blocks.csv"));
    let row = before.lines().find(|line| line.starts_with("fifo,depth=3")).expect("a set of the block");
    let bits = row.rsplit(',').next().expect("storage bits");
    let other = row.strip_suffix(bits).expect("at the end").to_string() + "17";
    std::fs::write(folder.path().join("blocks.csv"), before.replace(row, &other)).expect("written");

    let out = weft(&["digest", "--check", "fifo", "--dir", dir]);
    let said = String::from_utf8(out.stdout).expect("text");
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert_eq!(said.trim_end(), format!("blocks.csv: fifo depth=3 width=65: bits 17 -> {bits}"));
    assert!(String::from_utf8(out.stderr).expect("text").contains("1 rows moved"));

    let said = stdout(&["digest", "--write", "fifo", "--dir", dir]);
    assert!(said.contains("1 moved"), "{said}");
    assert_eq!(text(folder.path(), "blocks.csv"), before, "the other rows stay as they were");
}

#[test]
fn a_new_folder_gets_all_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = stdout(&["digest", "--write", "fifo", "--dir", folder.path().to_str().expect("text")]);
    assert!(said.ends_with("3 rows, 3 moved and are written; review them in the diff\n"), "{said}");
    assert_eq!(text(folder.path(), "blocks.csv").lines().count(), 4, "three rows below their columns");
}

#[test]
fn wrong_input_about_digests_is_one_sentence() {
    refused(&["digest", "fifi"], "nothing in the tables has the name fifi");
    refused(
        &["digest", "rec-4gpu-small,protocol=recc"],
        "no row of that fabric has such keys; legal are those of",
    );
    refused(&["digest", "fifo,depth=3"], "nothing in the tables has the name fifo,depth=3");
    refused(&["digest", "--check", "fifo", "--dir", "/nosuch"], "/nosuch/blocks.csv cannot be read");
    refused(&["digest", "--check", "--write"], "cannot be used with");
    let folder = copies();
    std::fs::write(folder.path().join("blocks.csv"), "a,b\n1,2\n").expect("written");
    refused(
        &["digest", "--check", "fifo", "--dir", folder.path().to_str().expect("text")],
        "has the columns a, b, expected block",
    );
    // One row has no place in a table of other columns.
    refused(
        &["digest", "--write", "fifo", "--dir", folder.path().to_str().expect("text")],
        "`weft digest --write` without names writes the table again",
    );
}
