//! Measured beside published, in words where they differ.

use super::measure::Measured;
use super::published::{Order, Row, Show, Value};
use std::collections::BTreeSet;

/// What of published is not yet far from measured: two thirds to one and a half.
const NEAR: std::ops::RangeInclusive<f64> = (2.0 / 3.0)..=1.5;

/// Ratios nearer to 1 than this are on neither side of it, and rows nearer to one another in no order.
const EVEN: f64 = 0.01;

/// Measured as a part of published; none where nothing is published.
pub fn ratio(row: &Row, measured: f64) -> Option<f64> {
    let published = row.published?.nearest(measured);
    Some(if measured == published { 1.0 } else { measured / published }).filter(|ratio| ratio.is_finite())
}

/// How far measured is from published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Near, or nothing is published.
    Near,
    /// Off by more than a third.
    Far,
    /// On the other side of 1: faster where slower is published, or the other way round.
    Other,
}

/// Judges a row.
pub fn verdict(row: &Row, measured: f64) -> Verdict {
    let side = |value: f64| {
        if (value - 1.0).abs() <= EVEN {
            0
        } else if value > 1.0 {
            1
        } else {
            -1
        }
    };
    let sides = |value: Value| match value {
        Value::Number(number) => Some((side(measured), side(number))),
        Value::Range([_, most]) if most <= 1.0 => Some((side(measured), -1)),
        Value::Range([least, _]) if least >= 1.0 => Some((side(measured), 1)),
        Value::Range(_) => None,
    };
    let relative = row.of_runs() && row.show() != Show::Value;
    let across =
        row.published.and_then(sides).filter(|_| relative).is_some_and(|(own, other)| own * other < 0);
    match ratio(row, measured) {
        _ if across => Verdict::Other,
        Some(ratio) if !NEAR.contains(&ratio) => Verdict::Far,
        _ => Verdict::Near,
    }
}

/// A number as tables show it.
pub fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if value.fract() == 0.0 && size < 1e9 => format!("{value:.0}"),
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 0.0995 => format!("{value:.3}"),
        _ => format!("{value:.5}"),
    }
}

/// A measured number in the form in which the publication prints its own.
fn as_printed(row: &Row, value: f64) -> String {
    let printed = row.printed();
    let printed = printed.trim_start_matches("at most ");
    match printed.contains('%') {
        true if printed.starts_with(['+', '-']) => {
            format!("{} ({:+.1}%)", number(value), (value - 1.0) * 100.0)
        }
        true if printed.starts_with(|c: char| c.is_ascii_digit()) => format!("{:.1}%", value * 100.0),
        _ => number(value),
    }
}

/// A measured number as its row is printed, and of how many programs it is, if not of all.
pub fn shown(row: &Row, measured: &Measured) -> Option<String> {
    let number = as_printed(row, measured.value?);
    Some(measured.part().map_or(number.clone(), |part| format!("{number}, {part}")))
}

/// The sentence of a row that differs; none for one that does not.
pub fn sentence(row: &Row, measured: &Measured, counters: &[(String, f64, Option<f64>)]) -> Option<String> {
    let verdict = verdict(row, measured.value?);
    let (ratio, printed) = (ratio(row, measured.value?)?, row.printed());
    let (what, value) = (&row.what, shown(row, measured)?);
    let how = match verdict {
        Verdict::Near => return None,
        Verdict::Far => format!("{what}: measured {value}, published {printed}, {} times it", number(ratio)),
        Verdict::Other => format!("{what}: measured {value}, published {printed}, the other side of 1"),
    };
    let counted = counters.iter().filter(|(_, over, to)| *over != 0.0 || to.is_some_and(|to| to != 0.0));
    let mut told: Vec<&(String, f64, Option<f64>)> = counted.collect();
    let change = |(_, over, to): &(String, f64, Option<f64>)| match to {
        Some(to) if *over > 0.0 && *to > 0.0 => (over / to).ln().abs(),
        Some(to) if *over != *to => f64::INFINITY,
        _ => 0.0,
    };
    told.sort_by(|a, b| change(b).total_cmp(&change(a)));
    let counter = |(name, over, to): &&(String, f64, Option<f64>)| match to {
        None => format!("`{name}` {}", number(*over)),
        Some(to) if *to == 0.0 => format!("`{name}` {} to 0", number(*over)),
        Some(to) => format!("`{name}` {} to {} ({} times)", number(*over), number(*to), number(over / to)),
    };
    let told: Vec<String> = told.iter().map(counter).collect();
    Some(match told.is_empty() {
        true => format!("{how}."),
        false => format!("{how}. Counters: {}.", told.join(", ")),
    })
}

/// A published order beside the measured one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// As published.
    pub published: String,
    /// The same names as measured, and of how many programs, if not of all.
    pub measured: String,
    /// Pairs that are the other way round; each as a sentence.
    pub turned: Vec<String>,
}

/// Judges an order by each name's number, which says of how many programs it is, if not of all; none if a name has none.
pub fn order(order: &Order, measured: impl Fn(&str) -> Option<(f64, Option<String>)>) -> Option<Ordered> {
    let parts: BTreeSet<String> = order.ranks.iter().flatten().filter_map(|name| measured(name)?.1).collect();
    let value = |name: &str| Some(measured(name)?.0);
    let sign = if order.rising { -1.0 } else { 1.0 };
    let sort = if order.rising { " < " } else { " > " };
    let ranks: Vec<Vec<(&String, f64)>> = order
        .ranks
        .iter()
        .map(|rank| rank.iter().map(|name| Some((name, value(name)?))).collect::<Option<Vec<_>>>())
        .collect::<Option<Vec<_>>>()?;
    let mut turned = Vec::new();
    for (at, rank) in ranks.iter().enumerate() {
        for (first, ahead) in rank {
            for (second, behind) in ranks[at + 1..].iter().flatten() {
                if sign * (behind - ahead) > EVEN * ahead.abs().max(behind.abs()) {
                    turned.push(format!(
                        "{}: {second} ({}) is before {first} ({}), published the other way round",
                        order.what,
                        number(*behind),
                        number(*ahead)
                    ));
                }
            }
        }
    }
    let mut all: Vec<&(&String, f64)> = ranks.iter().flatten().collect();
    all.sort_by(|a, b| (sign * b.1).total_cmp(&(sign * a.1)));
    let measured = all.iter().map(|(name, value)| format!("{name} {}", number(*value)));
    let published = order.ranks.iter().map(|rank| rank.join(", "));
    let measured = [measured.collect::<Vec<_>>().join(sort)].into_iter().chain(parts);
    Some(Ordered {
        published: published.collect::<Vec<_>>().join(sort),
        measured: measured.collect::<Vec<_>>().join(", "),
        turned,
    })
}

#[cfg(test)]
mod tests {
    use super::super::published::{Labels, Points};
    use super::*;

    fn of_all(value: f64) -> Measured {
        Measured { value: Some(value), ..Measured::default() }
    }

    fn row(published: f64) -> Row {
        Row {
            what: "REC".into(),
            metric: Some("cycles".into()),
            to: Some(Points::from([("protocol".into(), Labels::One("baseline".into()))])),
            show: Some(Show::Speedup),
            published: Some(Value::Number(published)),
            ..Row::default()
        }
    }

    #[test]
    fn near_has_no_words_and_a_third_or_the_other_side_of_1_has() {
        assert_eq!(sentence(&row(1.3), &of_all(1.2), &[]), None);
        assert_eq!(verdict(&row(1.3), 0.9), Verdict::Other, "slower where faster is published");
        assert_eq!(verdict(&row(1.005), 0.9), Verdict::Near, "even is on neither side");
        let wins = |range| Row { published: Some(Value::Range(range)), ..row(1.0) };
        assert_eq!(verdict(&wins([0.3, 0.99]), 1.03), Verdict::Other, "loses where a win is published");
        assert_eq!(verdict(&wins([1.0, 100.0]), 0.9), Verdict::Other);
        assert_eq!(verdict(&wins([0.95, 1.05]), 1.1), Verdict::Near, "published on both sides");
        assert_eq!(verdict(&row(3.0), 2.01), Verdict::Near);
        assert_eq!(verdict(&row(3.0), 1.99), Verdict::Far);
        assert_eq!(verdict(&row(2.0), 3.01), Verdict::Far);
        let words = sentence(&row(3.0), &of_all(1.5), &[]).expect("far");
        assert_eq!(words, "REC: measured 1.500, published 3, 0.500 times it.");
        let printed = Row { printed: Some("+200%".into()), ..row(3.0) };
        let words = sentence(&printed, &of_all(1.5), &[]).expect("far");
        assert_eq!(words, "REC: measured 1.500 (+50.0%), published +200%, 0.500 times it.");
        let programs = [Some(1.5), Some(1.5), None].map(|value| ("program".to_string(), value));
        let part = Measured { value: Some(1.5), workloads: programs.into(), missing: 1 };
        let words = sentence(&printed, &part, &[]).expect("far");
        assert_eq!(words, "REC: measured 1.500 (+50.0%), 2 of 3, published +200%, 0.500 times it.");
    }

    #[test]
    fn counters_that_changed_most_come_first() {
        let counters = [
            ("same".to_string(), 10.0, Some(10.0)),
            ("halved".to_string(), 5.0, Some(10.0)),
            ("gone".to_string(), 0.0, Some(7.0)),
            ("nowhere".to_string(), 0.0, Some(0.0)),
        ];
        let words = sentence(&row(3.0), &of_all(0.9), &counters).expect("the other side");
        assert!(words.starts_with("REC: measured 0.900, published 3, the other side of 1. Counters: "));
        let told = "`gone` 0 to 7 (0 times), `halved` 5 to 10 (0.500 times), `same` 10 to 10 (1 times).";
        assert!(words.ends_with(told), "{words}");
    }

    #[test]
    fn an_order_tells_each_pair_that_is_turned() {
        let wanted = Order {
            what: "speed".into(),
            ranks: vec![vec!["ideal".into(), "REC".into()], vec!["2x".into()], vec!["baseline".into()]],
            rising: false,
        };
        let of_part = |part: Option<&str>, name: &str| {
            let value = match name {
                "ideal" => 1.2,
                "REC" => 1.3,
                "2x" => 0.95,
                "baseline" => 1.0,
                _ => return None,
            };
            Some((value, part.filter(|_| name != "baseline").map(str::to_string)))
        };
        let value = |name: &str| of_part(None, name);
        let found = order(&wanted, value).expect("all are known");
        assert_eq!(found.published, "ideal, REC > 2x > baseline");
        assert_eq!(found.measured, "REC 1.300 > ideal 1.200 > baseline 1 > 2x 0.950");
        assert_eq!(found.turned, ["speed: baseline (1) is before 2x (0.950), published the other way round"]);
        let part = order(&wanted, |name| of_part(Some("4 of 20"), name)).expect("all are known");
        assert_eq!(part.measured, format!("{}, 4 of 20", found.measured));
        assert_eq!((part.published, part.turned), (found.published, found.turned));
        assert_eq!(order(&wanted, |_| None), None);
        let rising = Order { rising: true, ..wanted };
        assert_eq!(order(&rising, value).expect("all are known").turned.len(), 4, "the least is to be first");
    }
}
