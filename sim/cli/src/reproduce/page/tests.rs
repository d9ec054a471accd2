//! Marks of a page, and what is put behind them.

use super::*;
use crate::reproduce::published::Published;

const PUBLISHED: &str = r#"
system = "rec"
about = "ranges"
source = "a publication"
[[figure]]
name = "speedup"
title = "Speedup"
sweep = "rec-protocols"
all = { metric = "cycles", to = { protocol = "baseline" }, show = "speedup" }
row = [
    { what = "REC", headline = "REC over the baseline", over = { protocol = "rec" }, published = 1.3, printed = "+30%" },
    { what = "ideal", over = { protocol = "ideal" }, published = 1.4 },
]
"#;

/// The figure at each tier, with these numbers of its rows.
fn tables(numbers: [[Option<f64>; 2]; 3]) -> Tables<'static> {
    let published = Published::parse(PUBLISHED, "rec.toml").unwrap_or_else(|e| panic!("{e:#}"));
    let at = |(tier, numbers): (Tier, [Option<f64>; 2])| {
        let mut figure = FigureDone::unmade(&published.figures[0]);
        for (row, number) in figure.rows.iter_mut().zip(numbers) {
            row.measured.value = number;
        }
        (tier, vec![SystemDone { published: published.clone(), figures: vec![figure], whole: true, tier }])
    };
    let tiers = Tier::ALL.into_iter().zip(numbers).map(at).collect();
    Tables { tiers, records: Path::new("no-records") }
}

fn page(mark: &str) -> String {
    format!("# Results\n\nBy hand.\n\n<!-- weft: {mark} -->\n\nold\n\n<!-- weft: end -->\n\nMore by hand.\n")
}

/// What stands between the marks.
fn filled(tables: &Tables, mark: &str) -> String {
    let page = page(mark);
    let text = tables.fill(&page).unwrap_or_else(|e| panic!("{e:#}"));
    let (head, rest) = text.split_once(" -->\n").expect("a mark");
    let (own, tail) = rest.split_once("<!-- weft: end -->").expect("an end");
    assert!(head.starts_with("# Results\n\nBy hand.\n") && tail == "\n\nMore by hand.\n", "{text}");
    assert_eq!(tables.fill(&text).expect("filled before"), text, "a second time changes nothing");
    own.trim().to_string()
}

#[test]
fn a_figure_shows_the_tiers_that_have_numbers_and_is_judged_by_the_last() {
    let tables = tables([[Some(0.9), Some(1.3)], [Some(1.25), Some(2.5)], [None, None]]);
    let rows = "| REC | +30% | 0.900 (-10.0%) | 1.250 (+25.0%) | holds |\n| ideal | 1.4 | 1.300 | 2.500 | direction only |";
    assert_eq!(
        filled(&tables, "figure rec speedup"),
        format!(
            "|  | published | tier small | tier middle | verdict |\n| --- | ---: | ---: | ---: | ---: |\n{rows}"
        )
    );
    let verdicts = filled(&tables, "verdicts");
    assert!(
        verdicts
            .ends_with("| **rec** REC over the baseline | +30% | 0.900 (-10.0%) | 1.250 (+25.0%) | holds |")
    );
    assert!(!verdicts.contains("ideal"), "{verdicts}");
}

#[test]
fn a_tier_that_lacks_programs_says_so_and_is_not_judged_by() {
    let mut tables = tables([[Some(1.25), None], [Some(2.5), Some(0.9)], [None, None]]);
    for row in &mut tables.tiers[1].1[0].figures[0].rows {
        row.measured.workloads =
            vec![("a".into(), None), ("b".into(), None), ("c".into(), row.measured.value)];
        row.measured.missing = 2;
    }
    let text = filled(&tables, "figure rec speedup");
    assert!(text.contains("| REC | +30% | 1.250 (+25.0%) | 2.500 (+150.0%), 1 of 3 | holds |"), "{text}");
    // Where there is nothing else, the verdict is of the part.
    assert!(text.contains("| ideal | 1.4 | - | 0.900, 1 of 3 | turned round in part |"), "{text}");
}

#[test]
fn a_number_on_the_other_side_of_1_is_turned_round() {
    let tables = tables([[Some(0.9), None], [None, None], [None, None]]);
    let text = filled(&tables, "figure rec speedup");
    assert!(text.contains("| REC | +30% | 0.900 (-10.0%) | turned round |"), "{text}");
    assert!(text.contains("| ideal | 1.4 | - | not recorded |"), "{text}");
}

#[test]
fn marks_that_name_nothing_are_refused_with_their_line() {
    let tables = tables([[None; 2]; 3]);
    for (mark, problem) in [
        ("figure rec speed", "there is no figure speed of rec"),
        ("figure hmg speedup", "there is no figure speedup of hmg"),
        ("tables", "a mark is verdicts"),
        ("summary rec speedup cycles large", "there is no tier large"),
    ] {
        let error = tables.fill(&page(mark)).expect_err(mark).to_string();
        assert!(error.starts_with("line 5: ") && error.contains(problem), "{error}");
    }
    let open = page("verdicts").replace("<!-- weft: end -->", "");
    assert!(tables.fill(&open).expect_err("open").to_string().contains("it has no end"));
}
