//! A figure from its file and results: table, words, pictures.

use super::explored::Explored;
use super::fact;
use super::measure::{Asked, Measured};
use super::published::{Figure, Order, Row, Show, Value};
use super::words::{self, Ordered, Verdict};
use crate::document::Block;
use crate::sweep::plan::{Plan, count, points};
use crate::sweep::plot;
use crate::sweep::summary::Summary;
use crate::sweep::tier::Tier;
use anyhow::{Context, Error};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::path::Path;

/// A row with what was measured.
pub struct RowDone {
    /// The row.
    pub row: Row,
    /// The number.
    pub measured: Measured,
    /// Why there is none, or that it differs.
    pub words: Option<String>,
}

/// A figure with what was measured.
pub struct FigureDone {
    /// Its file.
    pub figure: Figure,
    /// Its rows.
    pub rows: Vec<RowDone>,
    /// Its orders, each with its name.
    pub orders: Vec<(String, Ordered)>,
    /// Tables and pictures of its sweep, by summary.
    pub shown: Vec<(String, Vec<Block>)>,
    /// Runs that it has.
    pub runs: Runs,
    /// Size of the runs; none of hardware alone, nor of a sweep that does not say it.
    pub tier: Option<Tier>,
    /// Where its runs are from, if they were not made for it.
    pub recorded: Option<String>,
}

/// How many runs a figure has, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// That it needs.
    pub needed: usize,
    /// That nobody has made.
    pub missing: usize,
    /// That failed or gave a wrong result.
    pub failed: usize,
}

/// Runs that a figure needs: those of its rows, and those that its pictures show.
///
/// # Errors
/// A picture that its sweep has not.
pub fn wanted(figure: &Figure, plan: &Plan) -> Result<BTreeSet<usize>, Error> {
    let mut all = BTreeSet::new();
    for row in figure.rows().iter().filter(|row| row.of_runs()) {
        // What a tier has not is told in the report.
        all.extend(Asked::new(row, plan).map(|asked| asked.runs(plan)).unwrap_or_default());
    }
    for name in &figure.pictures {
        let summary = picture(figure, name, plan)?;
        let shown: BTreeSet<&String> =
            summary.shown.iter().map(|row| &plan.sweep.axes[summary.rows].points[*row].label).collect();
        let is_shown = |number: &usize| {
            let labels: Vec<String> = points(&plan.sweep, *number).iter().map(|p| p.label.clone()).collect();
            shown.contains(&plan.sweep.workload(&labels))
        };
        all.extend((0..count(&plan.sweep)).filter(is_shown));
    }
    Ok(all)
}

fn picture<'a>(figure: &Figure, name: &str, plan: &'a Plan) -> Result<&'a Summary, Error> {
    let found = plan.summaries.iter().find(|summary| summary.name == name);
    found.with_context(|| format!("figure {}: {} has no summary {name}", figure.name, plan.sweep.name))
}

impl FigureDone {
    /// Measures a figure; of one with a sweep, from these results. Pictures go into folder `pictures` of `out`, if there is one.
    ///
    /// # Errors
    /// A number of hardware that there is not, a picture that cannot be written.
    pub fn new(
        figure: &Figure,
        results: Option<(&Plan, &[Option<Vec<String>>])>,
        explored: &mut Explored,
        out: Option<&Path>,
    ) -> Result<FigureDone, Error> {
        let rows = figure.rows().into_iter().map(|row| done(row, results, explored));
        let rows = rows.collect::<Result<Vec<_>, Error>>()?;
        let reference = figure.reference();
        let value = |name: &str| match rows.iter().find(|done| done.row.what == name) {
            Some(done) => Some((done.measured.value?, done.measured.part())),
            None => (reference.as_deref() == Some(name)).then_some((1.0, None)),
        };
        let ordered = |order: &Order| Some((order.what.clone(), words::order(order, value)?));
        let orders = figure.orders.iter().filter_map(ordered).collect();
        let mut shown = Vec::new();
        let mut runs = Runs::default();
        if let Some((plan, results)) = results {
            for name in &figure.pictures {
                let blocks = summary(picture(figure, name, plan)?, plan, results, out)?;
                shown.push((name.clone(), blocks));
            }
            let status = plan.column("status");
            let numbers = wanted(figure, plan)?;
            let count = |of: &dyn Fn(Option<&Vec<String>>) -> bool| {
                numbers.iter().filter(|number| of(results[**number].as_ref())).count()
            };
            runs = Runs {
                needed: numbers.len(),
                missing: count(&|row| row.is_none()),
                failed: count(&|row| row.is_some_and(|cells| cells[status] != "ok")),
            };
        }
        let tier = results.and_then(|(plan, _)| plan.sweep.tier);
        Ok(FigureDone { figure: figure.clone(), rows, orders, shown, runs, tier, recorded: None })
    }

    /// A figure without any number.
    pub fn unmade(figure: &Figure) -> FigureDone {
        let row = |row| RowDone { row, measured: Measured::default(), words: None };
        FigureDone {
            figure: figure.clone(),
            rows: figure.rows().into_iter().map(row).collect(),
            orders: Vec::new(),
            shown: Vec::new(),
            runs: Runs::default(),
            tier: None,
            recorded: Some("No run of it is recorded.".into()),
        }
    }

    /// Sentences: rows and orders that differ.
    pub fn words(&self) -> Vec<String> {
        let mut last = String::new();
        let rows = self.rows.iter().filter_map(|done| done.words.clone()).map(|words| {
            // Rows of other metrics of the same runs have the same counters.
            match words.split_once(" Counters: ") {
                Some((head, counters)) if counters == last => format!("{head} Counters as above."),
                Some((_, counters)) => {
                    last = counters.to_string();
                    words
                }
                None => words,
            }
        });
        let rows: Vec<String> = rows.collect();
        let rows = rows.into_iter();
        rows.chain(self.orders.iter().flat_map(|(_, ordered)| ordered.turned.clone())).collect()
    }

    /// Rows that are measured and published, and how many of them are near.
    pub fn near(&self) -> (usize, usize) {
        let judged: Vec<bool> = self.rows.iter().filter_map(RowDone::near).collect();
        (judged.len(), judged.iter().filter(|near| **near).count())
    }

    /// The comparison: a line for each row.
    pub fn table(&self) -> Option<Vec<Vec<String>>> {
        if self.rows.is_empty() {
            return None;
        }
        let head = ["", "measured", "published", "measured / published", "note"].map(str::to_string).to_vec();
        let line = |done: &RowDone| {
            let measured = done.measured.value;
            let ratio = measured.and_then(|value| words::ratio(&done.row, value));
            vec![
                done.row.what.clone(),
                done.shown().unwrap_or_else(|| "-".into()),
                done.row.printed(),
                ratio.map_or("-".into(), |ratio| format!("{ratio:.2}")),
                done.row.note.clone().unwrap_or_default(),
            ]
        };
        let mut lines: Vec<Vec<String>> = [head].into_iter().chain(self.rows.iter().map(line)).collect();
        if self.rows.iter().all(|done| done.row.note.is_none()) {
            lines.iter_mut().for_each(|line| line.truncate(4));
        }
        Some(lines)
    }

    /// The record of a figure.
    pub fn json(&self) -> Json {
        let row = |done: &RowDone| {
            let value = done.measured.value;
            let workloads: serde_json::Map<String, Json> =
                done.measured.workloads.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            json!({
                "what": done.row.what,
                "measured": value,
                "published": done.row.printed(),
                "ratio": value.and_then(|value| words::ratio(&done.row, value)),
                "near": done.near(),
                "words": done.words,
                "workloads": workloads,
                "workloads_missing": done.measured.missing,
            })
        };
        let order = |(what, ordered): &(String, Ordered)| json!({ "what": what, "published": ordered.published, "measured": ordered.measured, "turned": ordered.turned });
        let files = self.shown.iter().flat_map(|(_, blocks)| blocks).filter_map(|block| match block {
            Block::Picture { file, .. } => Some(file.clone()),
            _ => None,
        });
        json!({
            "name": self.figure.name,
            "title": self.figure.title,
            "sweep": self.figure.sweep,
            "tier": self.tier.map(Tier::name),
            "runs": self.runs.needed,
            "missing": self.runs.missing,
            "failed": self.runs.failed,
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "orders": self.orders.iter().map(order).collect::<Vec<_>>(),
            "pictures": files.collect::<Vec<_>>(),
        })
    }

    /// The comparison as a picture; none for fewer than two rows with a number.
    ///
    /// # Errors
    /// A drawing that fails.
    pub fn bars(&self) -> Result<Option<String>, Error> {
        let bar = |done: &RowDone| {
            let measured = done.measured.value?;
            Some(plot::pairs::Pair {
                label: done.row.what.clone(),
                measured,
                published: done.row.published.map(Value::ends),
                words: [done.shown()?, done.row.printed()],
            })
        };
        let bars: Vec<_> = self.rows.iter().filter_map(bar).collect();
        if bars.iter().filter(|bar| bar.published.is_some()).count() < 2 {
            return Ok(None);
        }
        let title = match self.tier {
            Some(tier) => format!("{} (tier {})", self.figure.title, tier.name()),
            None => self.figure.title.clone(),
        };
        plot::pairs::picture(&title, &bars, self.axis().as_deref()).map(Some)
    }

    /// What the numbers of all rows are to, in words; none if some are no ratios.
    fn axis(&self) -> Option<String> {
        if !self.rows.iter().all(|done| done.row.of_runs() && done.row.show() != Show::Value) {
            return None;
        }
        let speedup = self.rows.iter().all(|done| done.row.show() == Show::Speedup);
        let to = self.figure.reference();
        Some(match (speedup, to) {
            (true, Some(to)) => format!("speedup over {to}"),
            (true, None) => "speedup".into(),
            (false, Some(to)) => format!("ratio to {to}"),
            (false, None) => "ratio".into(),
        })
    }
}

impl RowDone {
    /// The number as its publication prints such, and of how many workloads it is if some have not been run.
    pub fn shown(&self) -> Option<String> {
        words::shown(&self.row, &self.measured)
    }

    /// Whether measured is near published; none if there is nothing to compare.
    pub fn near(&self) -> Option<bool> {
        words::ratio(&self.row, self.measured.value?)?;
        Some(words::verdict(&self.row, self.measured.value?) == Verdict::Near)
    }
}

/// Measures a row.
fn done(
    row: Row,
    results: Option<(&Plan, &[Option<Vec<String>>])>,
    explored: &mut Explored,
) -> Result<RowDone, Error> {
    if !row.of_runs() {
        let value = Some(fact::measure(&row, explored)?);
        let measured = Measured { value, ..Measured::default() };
        let words = words::sentence(&row, &measured, &[]);
        return Ok(RowDone { row, measured, words });
    }
    let (plan, rows) =
        results.with_context(|| format!("row {:?} is of runs and there are none", row.what))?;
    Ok(match Asked::new(&row, plan) {
        Err(lacking) => {
            let words = Some(format!("{}: not measured, {lacking}.", row.what));
            RowDone { row, measured: Measured::default(), words }
        }
        Ok(asked) => {
            let measured = asked.measure(plan, rows);
            let words = match measured.value {
                None => Some(format!(
                    "{}: no number, for a run failed or is missing, or there was nothing to count.",
                    row.what
                )),
                Some(_) => words::sentence(&row, &measured, &asked.counters(plan, rows)),
            };
            RowDone { row, measured, words }
        }
    })
}

/// Tables and pictures of a summary.
fn summary(
    summary: &Summary,
    plan: &Plan,
    rows: &[Option<Vec<String>>],
    out: Option<&Path>,
) -> Result<Vec<Block>, Error> {
    let panels = summary.panels(&plan.sweep, rows, plan.column("status"));
    let files = match out {
        Some(out) => plot::draw(&plan.sweep, summary, &panels, &out.join("pictures"))?,
        None => Vec::new(),
    };
    let mut blocks = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "svg")) {
        let svg = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.file_name().map(|name| name.to_string_lossy().to_string()).unwrap_or_default();
        blocks.push(Block::Picture { file: format!("pictures/{name}"), alt: summary.title.clone(), svg });
    }
    for panel in &panels {
        let (title, lines) = summary.lines(&plan.sweep, panel);
        blocks.push(Block::Text(format!("{}: {title}", summary.title)));
        blocks.push(Block::Table(lines));
    }
    Ok(blocks)
}
