//! `weft circuits`: a record that goes on, a planted fault made small and shown again, one sentence for each mistake.

use crate::program::{refused, stdout, weft};

#[test]
fn a_campaign_goes_on_where_its_record_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_string();
    let (whole, parts) = (path("whole.csv"), path("parts.csv"));
    let run = |count: &str, record: &str| {
        stdout(&["circuits", "--cycles", "20", "--seed", "3", "--count", count, "--record", record])
    };
    let text = run("150", &whole);
    assert_eq!(
        text,
        "seed 3: 150 circuits of 20 cycles, 150 in all: native code is the same as interpreter\n"
    );
    run("30", &parts);
    let rows = |record: &str| std::fs::read_to_string(record).expect("a record");
    assert_ne!(rows(&parts), rows(&whole));
    let text = run("150", &parts);
    assert!(text.starts_with("seed 3: 120 circuits of 20 cycles, 150 in all"), "{text}");
    assert_eq!(rows(&parts), rows(&whole));
    let table = stdout(&["circuits", "--cycles", "1", "--count", "20", "--coverage"]);
    assert!(table.contains("20 circuits") && table.contains("register of an enumeration"), "{table}");
}

#[test]
fn a_wrong_peer_is_seen_and_its_circuit_printed() {
    let out = weft(&["circuits", "--planted", "swapped", "--with", "iverilog", "--reduce", "150"]);
    assert_eq!(out.status.code(), Some(1));
    let (said, error) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(said.contains(" runs this is left of it, which shows: output "), "{said}");
    assert!(said.contains("\nmodule circuit_1_") && said.contains("endmodule"), "{said}");
    let command = error.trim_end().rsplit("differs: weft ").next().expect("a command");
    assert!(command.contains("--planted swapped --only "), "{error}");
    let words: Vec<&str> = command.split(' ').chain(["--reduce", "0"]).collect();
    assert_eq!(weft(&words).status.code(), Some(1), "{command}");
    let at = words.iter().position(|word| *word == "--planted").expect("a fault is planted");
    stdout(&[&words[..at], &words[at + 2..]].concat());
}

#[test]
fn mistakes_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = folder.path().join("other.csv");
    std::fs::write(&other, "a,b\n1,2\n").expect("written");
    let other = other.to_str().expect("text");
    for (args, told) in [
        (vec!["circuits", "--count", "0"], "a whole number from 1 is expected"),
        (vec!["circuits", "--with", "modelsim"], "interpreter, iverilog, verilator"),
        (vec!["circuits", "--record", other], "is no record of circuits"),
        (vec!["circuits", "--planted", "bent"], "swapped"),
        (vec!["circuits", "--only", "3", "--jobs", "2"], "--jobs"),
    ] {
        refused(&args, told);
    }
}
