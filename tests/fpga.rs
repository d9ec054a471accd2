//! `scripts/fpga` and `weft area --route`: a small block goes through Yosys, nextpnr and the packer, and both ways count the same kinds of cells.

use crate::program::WEFT;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// The checkout.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the program's crate is in sim/cli")
}

fn text(out: &Output) -> String {
    assert!(
        out.status.success(),
        "{} (scripts/setup installs the tools)",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8_lossy(&out.stdout).into()
}

/// Carries a command out in the checkout, with the tools that `scripts/setup` has installed there.
fn weft(args: &[&str]) -> Output {
    let tools = root().join(".tools/venv/bin");
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default());
    Command::new(WEFT).args(args).env("PATH", path).current_dir(root()).output().expect("the program starts")
}

fn script(args: &[&str]) -> Output {
    let mut command = Command::new(root().join("scripts/fpga"));
    command.args(args).env("WEFT", WEFT).current_dir(root()).output().expect("the script starts")
}

#[test]
fn a_block_goes_to_a_bitstream() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().display().to_string();
    let said = text(&script(&["--out", &out, "fifo", "depth=4", "width=8"]));
    let words: Vec<&str> = said.split_whitespace().collect();
    let before = |unit: &str| -> f64 {
        let at = words.iter().position(|word| *word == unit).unwrap_or_else(|| panic!("no {unit}: {said}"));
        words[at - 1].parse().unwrap_or_else(|_| panic!("{said}"))
    };
    // The queue alone has 49 bits; host port and UART are there, too.
    assert!(before("LUT4") > 200.0 && before("FF") > 100.0, "{said}");
    assert!(before("MHz") > 25.0, "slower than the board's oscillator: {said}");
    let bitstream = std::fs::read(folder.path().join("fifo/fifo.bit")).expect("packed");
    assert_eq!(bitstream.len() as f64, before("bytes"));
    let device = b"LFE5U-85F";
    let head = &bitstream[..bitstream.len().min(300)];
    assert!(head.windows(device.len()).any(|part| part == device), "the head names another device");
    let report = std::fs::read_to_string(folder.path().join("fifo/report.json")).expect("written");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["utilization"]["TRELLIS_FF"]["used"].as_f64(), Some(before("FF")));
}

#[test]
fn a_block_is_placed_and_routed() {
    let words = ["area", "fifo", "--param", "depth=4", "--param", "width=8", "--synth", "ecp5", "--route"];
    let told: Value = serde_json::from_str(&text(&weft(&[&words[..], &["--json"]].concat()))).expect("JSON");
    let routed = &told["routed"];
    assert!(routed["fmax_mhz"].as_f64() > Some(50.0), "{told}");
    // Every register bit is a flip-flop, and so are the registers around the ports.
    let bits = told["register_bits"].as_u64().zip(routed["chain"].as_u64()).map(|(bits, chain)| bits + chain);
    assert!(bits > Some(20) && routed["used"][1].as_u64() >= bits, "{told}");
}

#[test]
fn two_counts_of_one_block_are_explained() {
    let words = ["area", "fifo", "--param", "depth=4", "--param", "width=8"];
    let told = |more: &[&str]| text(&weft(&[&words[..], more].concat()));
    let both = told(&["--synth", "ecp5", "--route"]);
    assert!(both.lines().any(|line| line.trim_start().starts_with("(two mappings: ")), "{both}");
    assert!(!told(&["--synth", "ecp5"]).contains("two mappings"), "one count has nothing to explain");
}

#[test]
fn wrong_words_end_the_script_with_status_2() {
    let wrong = |args: &[&str], cause: &str| {
        let out = script(args);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(cause), "{args:?}: {said}");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().display().to_string();
    wrong(&["--speed"], "unknown option '--speed'");
    wrong(&["--seed", "x"], "--seed x is no whole number");
    wrong(&["--out", &out, "fifo2"], "there is no block fifo2, and no fabric; the nearest is fifo");
    wrong(&["--out", &out, "fifo", "deep=4"], "has no parameter deep");
}
