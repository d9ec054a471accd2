//! Which mutants were caught by what, by kind, and those that were not.

use super::record::Row;
use crate::failure::{Failure, Outcome, say};
use serde_json::{Value, json};
use weft_rtl::mutant::Kind;

/// How many of the mutants that are other hardware were caught, and how many there are.
pub fn caught(rows: &[Row]) -> (usize, usize) {
    let other = || rows.iter().filter(|row| !row.is_equivalent());
    (other().filter(|row| row.is_caught()).count(), other().count())
}

/// The mutants of one kind, or of all.
struct Count {
    name: &'static str,
    all: usize,
    equivalent: usize,
    undecided: usize,
    /// Caught by each catcher.
    by: Vec<usize>,
    /// Not in what a catcher runs.
    absent: Vec<usize>,
    any: usize,
}

impl Count {
    fn of(name: &'static str, rows: &[&Row], catchers: &[&str]) -> Count {
        let count = |f: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| f(row)).count();
        let ends = |f: fn(super::End) -> bool| {
            let of = |c: &&str| count(&|row| row.caught.get(*c).copied().is_some_and(f));
            catchers.iter().map(of).collect()
        };
        Count {
            name,
            all: rows.len(),
            equivalent: count(&|row| row.is_equivalent()),
            undecided: count(&|row| row.verdict == "undecided"),
            by: ends(|end| end.is_caught()),
            absent: ends(|end| end == super::End::Absent),
            any: count(&|row| row.is_caught() && !row.is_equivalent()),
        }
    }

    fn other(&self) -> usize {
        self.all - self.equivalent
    }
}

fn counts(rows: &[Row], catchers: &[&str]) -> Vec<Count> {
    let of = |name: &'static str| {
        let here: Vec<&Row> = rows.iter().filter(|row| row.kind == name).collect();
        (!here.is_empty()).then(|| Count::of(name, &here, catchers))
    };
    let all: Vec<&Row> = rows.iter().collect();
    Kind::NAMES.into_iter().filter_map(of).chain([Count::of("all", &all, catchers)]).collect()
}

/// Prints the table, and the survivors.
///
/// # Errors
/// Standard output that is gone.
pub fn print(block: &str, rows: &[Row], catchers: &[&str], json: bool) -> Outcome {
    let counts = counts(rows, catchers);
    if json {
        let value = as_json(block, rows, catchers, &counts);
        return say(serde_json::to_string_pretty(&value).map_err(Failure::check)?);
    }
    let wide = |name: &&str| name.len().max(6) + 2;
    let head: String = catchers.iter().map(|c| format!("{c:>w$}", w = wide(c))).collect();
    say(format!("{:<14}{:>9}{:>12}{:>11}{head}{:>8}", "kind", "mutants", "equivalent", "undecided", "any"))?;
    let line = |c: &Count, name: &str, cells: Vec<String>, any: String| {
        let cells: String =
            catchers.iter().zip(cells).map(|(c, cell)| format!("{cell:>w$}", w = wide(c))).collect();
        say(format!("{name:<14}{:>9}{:>12}{:>11}{cells}{any:>8}", c.all, c.equivalent, c.undecided))
    };
    for c in &counts {
        line(c, c.name, c.by.iter().map(usize::to_string).collect(), c.any.to_string())?;
    }
    if let Some(all) = counts.last() {
        let share = |n: &usize| format!("{:.1} %", 100.0 * *n as f64 / all.other().max(1) as f64);
        let cells: String =
            catchers.iter().zip(&all.by).map(|(c, n)| format!("{:>w$}", share(n), w = wide(c))).collect();
        say(format!("{:<46}{cells}{:>8}", "of those that are not equivalent", share(&all.any)))?;
        for (catcher, absent) in catchers.iter().zip(&all.absent).filter(|(_, absent)| **absent > 0) {
            say(format!("{catcher}: {absent} have no place in the modules that it runs"))?;
        }
    }
    survivors(rows)
}

fn survivors(rows: &[Row]) -> Outcome {
    let mut left = rows.iter().filter(|row| !row.is_equivalent() && !row.is_caught()).peekable();
    if left.peek().is_some() {
        say("\nsurvivors")?;
    }
    left.try_for_each(|row| {
        let seen = match row.about.as_str() {
            "" => "no difference was found, and none excluded".to_string(),
            about => format!("differs at {about} of random stimulus"),
        };
        say(format!("    {}\n        {}; {seen}", row.mutant, row.place))
    })
}

fn as_json(block: &str, rows: &[Row], catchers: &[&str], counts: &[Count]) -> Value {
    let of = |c: &Count, numbers: &[usize]| -> Value {
        let named = catchers.iter().zip(numbers).map(|(name, n)| (name.to_string(), json!(n)));
        json!({
            "kind": c.name, "mutants": c.all, "equivalent": c.equivalent, "undecided": c.undecided,
            "caught": named.collect::<serde_json::Map<_, _>>(), "any": c.any,
        })
    };
    json!({
        "block": block,
        "kinds": counts.iter().map(|c| of(c, &c.by)).collect::<Vec<_>>(),
        "mutants": rows,
    })
}
