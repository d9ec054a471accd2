//! A block behind its host port: exported for a board, and asked through the same port on the engine.

use crate::program::{refused, stdout};
use serde_json::Value;
use std::path::Path;

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}

#[test]
fn a_board_gets_its_top_module_constraints_and_the_numbers_of_its_frames() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let text = stdout(&["export", "pa-tbl", "--board", "ulx3s-85f", "--out", &out.display().to_string()]);
    assert!(text.trim_end().ends_with("; top module top"), "{text}");
    let read = |name: &str| std::fs::read_to_string(out.join(name)).expect("a file");
    let list = read("files.f");
    assert!(list.lines().any(|l| l == "top.v") && list.lines().any(|l| l == "pa_tbl_16x46.v"), "{list}");
    list.lines().for_each(|name| assert!(out.join(name).is_file(), "{name}"));
    let constraints = read("ulx3s-85f.lpf");
    let top = read("top.v");
    for port in ["clk_25mhz", "ftdi_txd", "ftdi_rxd", "fire1"] {
        assert!(constraints.contains(&format!("LOCATE COMP \"{port}\"")) && top.contains(port), "{port}");
    }
    let interface = read("interface.txt");
    assert!(
        interface.contains("0  channel into the block   req") && interface.contains("op[2] word[46]"),
        "{interface}"
    );
    let port = read("host_port_pa_tbl_16x46.v");
    let signature = interface.split("signature ").nth(1).and_then(|rest| rest.get(..8)).expect("a signature");
    assert!(port.contains(signature), "the hardware has signature {signature}");
}

#[test]
fn requests_are_answered_on_the_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "# two owed promotions, one lookup\nreq op=INSERT word=0x10\nreq op=INSERT word=17\n\nreq op=LOOK word=16\nreq op=CLEAR\nreq word=16\n";
    let requests = file(folder.path(), "requests.txt", text);
    let said = stdout(&["host", "pa-tbl", "--param", "entries=2", "--requests", &requests]);
    let hits = ["hit=0", "hit=0", "hit=1", "hit=0", "hit=0"];
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), hits.len(), "{said}");
    for (line, hit) in lines.iter().zip(hits) {
        assert!(line.starts_with(&format!("rsp {hit} overflows=")), "{said}");
    }
    // Nothing was free for what a lookup of a third address would insert.
    assert!(lines[2].ends_with("overflows=0") && lines[3].ends_with("overflows=1"), "{said}");
}

#[test]
fn what_cannot_be_asked_or_exported_is_one_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out").display().to_string();
    refused(
        &["export", "fifo", "--board", "icebreaker", "--out", &out],
        "there is no board icebreaker; there is ulx3s-85f",
    );
    refused(&["export", "fifo", "--board", "ulx3s-85f", "--baud", "9000000", "--out", &out], "9000000 baud");
    refused(&["export", "switch", "--host", "--out", &out], "a host port numbers at most 120");
    assert!(!Path::new(&out).exists(), "nothing is written");
    for (text, part) in [
        ("req op=LOOK\nask op=1\n", "line 2: pa_tbl_16x46 has no channel into the block ask; it has req"),
        ("req op=Found\n", "line 1: Found is no number"),
        ("req op=4\n", "line 1: 4 does not fit 2 bits"),
        ("req line=4\n", "line 1: req of pa_tbl_16x46 has no field line"),
        ("req op\n", "line 1: op: expected FIELD=VALUE"),
        ("count?\n", "has no output count; it has none"),
    ] {
        refused(&["host", "pa-tbl", "--requests", &file(folder.path(), "bad.txt", text)], part);
    }
    let good = file(folder.path(), "good.txt", "req\n");
    refused(&["host", "pa-tbl", "--requests", "/no/such/file"], "cannot read /no/such/file");
    refused(&["host", "pa-tbl", "--requests", &good, "--device", "/no/such/tty"], "cannot open /no/such/tty");
}

/// The SRAMs of a directory as a part of those of a GPU's L2: the bits are 4.7 % (843 776 and ages, of 2 MB with tags); CACTI 7 gave the publication 3.94 % of the area.
#[test]
fn srams_are_estimated_and_set_beside_those_of_a_cache() {
    let json: Value =
        serde_json::from_str(&stdout(&["area", "rec-directory", "--sram", "--beside", "l2-bank", "--json"]))
            .expect("JSON");
    let srams = json["srams"].as_array().expect("a list");
    let mm2 = |m: &Value| m["estimate"]["area_mm2"].as_f64().expect("a number");
    assert!(srams.len() >= 2 && srams.iter().all(|m| mm2(m) > 0.0), "{srams:?}");
    let beside = &json["beside"];
    assert_eq!(
        (beside["block"].as_str(), beside["copies"].as_u64(), beside["slices"].as_u64()),
        (Some("l2-bank"), Some(16), Some(1))
    );
    for ratio in ["area_ratio", "leakage_ratio"] {
        let value = beside[ratio].as_f64().expect("a number");
        assert!((0.02..0.08).contains(&value), "{ratio} {value}");
    }
    let text = stdout(&["area", "rec-directory", "--sram", "--beside", "l2-bank"]);
    assert!(text.contains("SRAMs x 1 beside those of l2-bank x 16: area "), "{text}");
    refused(&["area", "rec-directory", "--beside", "lr-tbl"], "lr-tbl has no SRAM to set beside");
}
