use super::*;

const TEXT: &str = r#"
system = "tiny"
about = "a"
source = "s"

[[figure]]
name = "speedup"
title = "t"
sweep = "rec-smoke"
all = { metric = "cycles", to = { protocol = "baseline" }, show = "speedup", rows = ["atax"] }
[[figure.row]]
what = "REC"
over = { protocol = "rec", entries = "32" }
published = 1.25
printed = "+25%"
[[figure.row]]
what = "misses"
metric = "l2_misses"
show = "value"
over = { protocol = ["rec", "baseline"] }
published = [1, 2]
[[figure.row]]
what = "bits"
block = "rec-directory"
figure = "entry_bits"
published = 103
[[figure.order]]
what = "speed"
ranks = [["REC"], ["misses", "bits"]]

[[missing]]
what = "power"
published = "3%"
not_measured = "see figure `speedup`"
"#;

fn parsed() -> Published {
    Published::parse(TEXT, "tiny.toml").unwrap_or_else(|e| panic!("{e:#}"))
}

#[test]
fn rows_have_the_keys_that_all_share_unless_they_have_their_own() {
    let figure = &parsed().figures[0];
    let [rec, misses, bits] = &figure.rows()[..] else { panic!("three rows") };
    assert_eq!(
        (rec.metric.as_deref(), rec.show(), rec.printed()),
        (Some("cycles"), Show::Speedup, "+25%".into())
    );
    assert_eq!(rec.to, Some(Points::from([("protocol".into(), Labels::One("baseline".into()))])));
    assert_eq!((misses.metric.as_deref(), misses.show()), (Some("l2_misses"), Show::Value));
    assert!(
        misses.to.is_none() && misses.rows.as_deref() == Some(&["atax".to_string()]),
        "a value has no reference"
    );
    assert_eq!(misses.printed(), "1 to 2");
    assert!(!bits.of_runs() && bits.metric.is_none(), "a number of hardware takes no metric of runs");
}

#[test]
fn mistakes_are_told_with_their_place() {
    let refused = |from: &str, to: &str, said: &str| {
        assert!(TEXT.contains(from), "{from}");
        let text =
            Published::parse(&TEXT.replacen(from, to, 1), "tiny.toml").expect_err("refused").to_string();
        assert!(text.starts_with("tiny.toml:") && text.contains(said) && !text.contains('\n'), "{text}");
    };
    refused("title = \"t\"", "titel = \"t\"", "titel");
    refused("published = 1.25", "published = \"1.25\"", "tiny.toml:14");
    refused("what = \"misses\"", "what = \"REC\"", "is there twice");
    refused("block = \"rec-directory\"", "", "is of runs: give over");
    refused(
        "block = \"rec-directory\"",
        "block = \"rec-directory\"\nmetric = \"cycles\"",
        "one of metric, parts, block, states",
    );
    refused("show = \"value\"", "show = \"ratio\"\nto = { protocol = \"rec\" }\nstates = \"base\"", "one of");
    refused("see figure `speedup`", "see figure `optimised`", "names figure optimised, which is not there");
    refused("printed = \"+25%\"", "note = \"as figure `speed`\"", "names figure speed,");
    refused("ranks = [[\"REC\"]", "ranks = [[\"HMG\"]", "HMG, which is no row");
}

#[test]
fn a_range_is_compared_at_its_nearest_end() {
    let range = Value::Range([2.0, 4.0]);
    assert_eq!([1.0, 3.0, 5.0].map(|measured| range.nearest(measured)), [2.0, 3.0, 4.0]);
    assert_eq!(Value::Number(1.5).nearest(9.0), 1.5);
}
