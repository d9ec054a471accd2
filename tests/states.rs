//! `weft states`: counts and ratios as a table and as CSV, the way to a planted fault, one sentence for each mistake.

use crate::program::{refused, stdout, weft};

#[test]
fn states_are_counted_beside_the_published_ratios() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("states.csv");
    let file = file.to_str().expect("text");
    let args = ["states", "--devices", "2", "--csv", file];
    let text = stdout(&args);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["protocol", "options", "states", "transitions", "depth", "deadlocks", "growth"]);
    let runs = &lines[1..7];
    assert!(runs.iter().all(|run| run[5] == "0"), "no deadlocks:\n{text}");
    let states = |protocol: &str, set: &str| -> f64 {
        let run = runs.iter().find(|run| run[..2] == [protocol, set]).expect("a line");
        run[2].parse().expect("a number")
    };
    for (set, published) in [("base", "slightly < 1"), ("wtfwd", "1.1"), ("opred", "2.1")] {
        let ratio = states("CHI-like", set) / states("Spandex", set);
        let wanted = format!("{set:<22} {ratio:>8.2}  {published}");
        assert!(text.lines().any(|line| line == wanted), "{wanted} is missing:\n{text}");
    }
    let csv = std::fs::read_to_string(file).expect("a table");
    assert_eq!(csv.lines().count(), 7, "{csv}");
    assert!(
        csv.contains(&format!("Spandex,opred,2,false,false,false,{},", states("Spandex", "opred"))),
        "{csv}"
    );
    assert_eq!((text, csv), (stdout(&args), std::fs::read_to_string(file).expect("a table")));
}

#[test]
fn states_are_fewer_under_symmetry_and_more_with_values_and_evictions() {
    let states = |more: &[&str]| -> usize {
        let text = stdout(&[&["states", "--devices", "2", "--options", "opred-owner"], more].concat());
        let line = text.lines().find(|line| line.starts_with("Spandex")).expect("a line").to_string();
        line.split_whitespace().nth(2).expect("states").parse().expect("a number")
    };
    let (plain, values, evict) = (states(&[]), states(&["--values"]), states(&["--evict"]));
    let symmetry = states(&["--symmetry"]);
    assert!(symmetry < plain && plain <= 2 * symmetry && plain < values && plain < evict);
}

#[test]
fn a_planted_fault_ends_in_its_shortest_way_and_status_1() {
    let out = weft(&["states", "--devices", "2", "--options", "base", "--inject", "no_cross", "--rows"]);
    let (text, error) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert_eq!(out.status.code(), Some(1), "{error}");
    assert!(error.starts_with("weft: Spandex, base: unexpected message: "), "{error}");
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    assert!(text.contains("   1  device 0, load ReqS: ReqS to the LLC"), "{text}");
    assert!(text.contains("LLC | O | ReqWB | ByOwner | TakeData, Disown, RspWB to Src | V"), "{text}");
}

#[test]
fn states_refuses_what_it_cannot_do() {
    refused(&["states", "--devices", "5"], "2..=4");
    refused(
        &["states", "--options", "base,chi"],
        "--options chi: there is no such set; there are base, wtfwd, opred, opred-owner",
    );
    refused(&["states", "--inject", "x"], "--inject x: there is no such fault; there are none, nack_lost");
    refused(&["states", "--csv", "/no/such/folder/s.csv"], "cannot write it");
}
