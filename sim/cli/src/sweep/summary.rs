//! Tables of a metric: a row per workload, a column per value of an axis, means at the bottom.

mod parts;
mod runs;
mod text;

pub(crate) use runs::Runs;
pub(super) use text::aligned;

use super::columns::{Column, is_time};
use super::file::{Axis, SummaryText, SweepFile};
use super::source::At;
use anyhow::{Error, anyhow};
use parts::Measure;
use std::collections::BTreeMap;
use weft_fabric::config::Place;

/// How a value stands to the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// As measured.
    Value,
    /// Value over reference.
    Ratio,
    /// Reference over value.
    Speedup,
}

/// Which mean the picture shows; tables have both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// Of ratios.
    Geometric,
    /// Of amounts.
    Arithmetic,
}

/// What picture is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotKind {
    /// Groups of bars, one per workload and one for the geometric mean.
    Bars,
    /// The same, each bar made of the parts of a sum, and its label under it.
    Stacked,
    /// Lines over a numeric axis.
    Lines,
    /// None.
    None,
}

/// A table and a picture wanted, checked.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Name of the picture, unique in the sweep.
    pub name: String,
    /// Axis of the rows.
    pub rows: usize,
    /// Its values that have a row.
    pub shown: Vec<usize>,
    /// Axis of the columns.
    pub columns: usize,
    /// Places of the metric, or of the parts whose sum it is, among the columns of the results.
    pub at: Vec<usize>,
    /// What these parts are called; empty for a metric.
    pub parts: Vec<String>,
    /// Axes that are fixed in the reference, each with its value; empty without a reference.
    pub reference: Vec<(usize, usize)>,
    /// How.
    pub show: Show,
    /// Picture.
    pub plot: PlotKind,
    /// Headline.
    pub title: String,
    /// The mean that the picture shows.
    pub average: Average,
    /// Under the picture.
    pub x_label: String,
    /// Beside the picture.
    pub y_label: String,
}

/// A number of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    /// As shown.
    Value(f64),
    /// The run or its reference failed.
    Failed,
    /// The run or its reference has not been made.
    Missing,
    /// A ratio to 0, a mean over nothing, or something that the run's hardware does not count.
    Undefined,
}

impl Cell {
    /// The number, if there is one.
    pub fn value(self) -> Option<f64> {
        if let Cell::Value(value) = self { Some(value) } else { None }
    }
}

/// A table: one for each combination of the axes that are neither rows nor columns.
#[derive(Clone, Debug)]
pub struct Panel {
    /// These axes with their values, `name = value`; empty if there are none.
    pub heading: Vec<(String, String)>,
    /// Values of the columns' axis.
    pub columns: Vec<String>,
    /// Values of the rows' axis with their cells.
    pub rows: Vec<(String, Vec<Cell>)>,
    /// Geometric mean of each column over the cells that have a number; none if one of them is 0.
    pub geomean: Vec<Cell>,
    /// Arithmetic mean of each column over the cells that have a number.
    pub mean: Vec<Cell>,
    /// Of a sum, its parts.
    pub parts: Vec<Part>,
}

/// A part of the sum that a table shows, relative to what the sum is relative to: parts add up to it.
#[derive(Clone, Debug)]
pub struct Part {
    /// What it is called.
    pub label: String,
    /// Cells of each row.
    pub rows: Vec<Vec<Cell>>,
    /// Arithmetic mean of each column over the cells that have a number.
    pub mean: Vec<Cell>,
}

impl Panel {
    /// The mean that a picture shows.
    pub fn average(&self, average: Average) -> &[Cell] {
        match average {
            Average::Geometric => &self.geomean,
            Average::Arithmetic => &self.mean,
        }
    }
}

impl Summary {
    /// All summaries of a sweep; without any, the cycles over the first axis that is not the rows'.
    ///
    /// # Errors
    /// An axis, value or metric that there is not.
    pub fn all(sweep: &SweepFile, columns: &[Column]) -> Result<Vec<Summary>, Error> {
        let cycles = SummaryText {
            place: sweep.axes[sweep.rows()].place.clone(),
            keys: BTreeMap::new(),
            rows: Vec::new(),
            parts: Vec::new(),
            relative_to: Vec::new(),
        };
        let wanted = if sweep.summaries.is_empty() { vec![cycles] } else { sweep.summaries.clone() };
        let mut all: Vec<Summary> = Vec::new();
        for text in &wanted {
            let summary = Summary::new(text, sweep, columns)?;
            if all.iter().any(|other| other.name == summary.name) {
                return Err(anyhow!(
                    "{}: two summaries are called {}; give one of them another name = \"...\"",
                    text.place,
                    summary.name
                ));
            }
            all.push(summary);
        }
        Ok(all)
    }

    fn new(text: &SummaryText, sweep: &SweepFile, columns: &[Column]) -> Result<Summary, Error> {
        let rows = sweep.rows();
        let axis = axis_of_columns(text.keys.get("columns"), &text.place, sweep)?;
        let Measure { at, parts, name, unit } = Measure::of(text, columns)?;
        let reference = reference(text, sweep, axis)?;
        let default = match (reference.is_empty(), is_time(&name)) {
            (true, _) => Show::Value,
            (false, true) => Show::Speedup,
            (false, false) => Show::Ratio,
        };
        let shows = [("value", Show::Value), ("ratio", Show::Ratio), ("speedup", Show::Speedup)];
        let show = choice(text, "show", &shows)?.unwrap_or(default);
        if let Some(given) = text.keys.get("show").filter(|_| (show == Show::Value) != reference.is_empty()) {
            return Err(given.error(match show {
                Show::Value => "show = value has no use for relative_to; leave one of them out",
                _ => "show is relative and relative_to is not given; say to what",
            }));
        }
        let numeric = numbers(sweep, axis).is_some();
        let plot = plot(text, &sweep.axes[axis], numeric, !parts.is_empty())?;
        let get = |key: &str| text.keys.get(key).map(|at| at.value.clone());
        let averages = [("geometric", Average::Geometric), ("arithmetic", Average::Arithmetic)];
        let additive = show == Show::Value || !parts.is_empty();
        let common = if additive { Average::Arithmetic } else { Average::Geometric };
        let average = choice(text, "mean", &averages)?.unwrap_or(common);
        parts::additive(text, show, average)?;
        let y_label = quantity(&name, &unit, show, &reference_words(sweep, &reference));
        let x_label = with_unit(&sweep.axes[axis].name, key_unit(sweep, axis, columns));
        Ok(Summary {
            name: get("name").unwrap_or(name),
            rows,
            shown: shown(text, &sweep.axes[rows])?,
            columns: axis,
            at,
            parts,
            reference,
            show,
            plot,
            title: sweep.titled(&get("title").unwrap_or_else(|| sweep.about.clone())),
            average,
            x_label: get("x_label").unwrap_or(x_label),
            y_label: get("y_label").unwrap_or(y_label),
        })
    }

    /// The tables, from the rows of the results in order of the product.
    pub fn panels(&self, sweep: &SweepFile, rows: &[Option<Vec<String>>], status: usize) -> Vec<Panel> {
        let runs = Runs { sweep, rows, status };
        let size = |axis: usize| sweep.axes[axis].points.len();
        runs.corners(self.rows, self.columns)
            .into_iter()
            .map(|(heading, mut points)| {
                let mut table = |columns: &[usize]| -> Vec<Vec<Cell>> {
                    let mut cell = |row: usize, column: usize| {
                        (points[self.rows], points[self.columns]) = (row, column);
                        self.cell(&runs, &points, columns)
                    };
                    let mut line =
                        |row: &usize| (0..size(self.columns)).map(|column| cell(*row, column)).collect();
                    self.shown.iter().map(&mut line).collect()
                };
                let whole = table(&self.at);
                let parts = self.parts.iter().zip(&self.at);
                let parts = parts.map(|(label, at)| Part::new(label, table(&[*at]))).collect();
                self.panel(sweep, heading, whole, parts)
            })
            .collect()
    }

    fn panel(
        &self,
        sweep: &SweepFile,
        heading: Vec<(String, String)>,
        table: Vec<Vec<Cell>>,
        parts: Vec<Part>,
    ) -> Panel {
        let label = |axis: usize, point: usize| sweep.axes[axis].points[point].label.clone();
        let columns: Vec<String> =
            (0..sweep.axes[self.columns].points.len()).map(|point| label(self.columns, point)).collect();
        Panel {
            heading,
            geomean: over_rows(&table, geomean),
            mean: over_rows(&table, mean),
            columns,
            rows: self.shown.iter().map(|row| label(self.rows, *row)).zip(table).collect(),
            parts,
        }
    }

    /// The shown number of a run, whose value on each axis is given: of these columns, relative to the whole.
    fn cell(&self, runs: &Runs, points: &[usize], columns: &[usize]) -> Cell {
        let own = runs.sum(points, columns);
        if self.show == Show::Value {
            return own;
        }
        let mut base = points.to_vec();
        self.reference.iter().for_each(|(axis, point)| base[*axis] = *point);
        let (over, under) = match (own, runs.sum(&base, &self.at)) {
            (Cell::Value(own), Cell::Value(base)) if self.show == Show::Speedup => (base, own),
            (Cell::Value(own), Cell::Value(base)) => (own, base),
            (Cell::Failed, _) | (_, Cell::Failed) => return Cell::Failed,
            (Cell::Missing, _) | (_, Cell::Missing) => return Cell::Missing,
            _ => return Cell::Undefined,
        };
        if under == 0.0 { Cell::Undefined } else { Cell::Value(over / under) }
    }
}

/// The workloads that a summary is about.
fn shown(text: &SummaryText, axis: &Axis) -> Result<Vec<usize>, Error> {
    let place = |label: &At<String>| {
        axis.points.iter().position(|point| point.label == label.value).ok_or_else(|| {
            let known = axis.points.iter().map(|point| point.label.as_str());
            let remedy = weft_names::choice(&label.value, known);
            label.error(format!("rows has {}, which is no workload of the sweep; {remedy}", label.value))
        })
    };
    if text.rows.is_empty() {
        return Ok((0..axis.points.len()).collect());
    }
    text.rows.iter().map(place).collect()
}

/// What picture is wanted of an axis, whose values may be numbers, and of a metric, which may have parts.
fn plot(text: &SummaryText, axis: &Axis, numeric: bool, parts: bool) -> Result<PlotKind, Error> {
    let plots = [
        ("bars", PlotKind::Bars),
        ("stacked", PlotKind::Stacked),
        ("lines", PlotKind::Lines),
        ("none", PlotKind::None),
    ];
    let plot = choice(text, "plot", &plots)?;
    let given = |kind: PlotKind| text.keys.get("plot").filter(|_| plot == Some(kind));
    if let Some(given) = given(PlotKind::Lines).filter(|_| !numeric) {
        return Err(given.error(format!(
            "plot = lines needs numbers, and axis {} has {}; use plot = bars",
            axis.name, axis.points[0].label
        )));
    }
    if let Some(given) = given(PlotKind::Stacked).filter(|_| !parts) {
        return Err(given.error(
            "plot = stacked needs parts; write parts = [\"gsi_no_stall\", ...] in the place of metric",
        ));
    }
    Ok(plot.unwrap_or(match (parts, numeric) {
        (true, _) => PlotKind::Stacked,
        (false, true) => PlotKind::Lines,
        (false, false) => PlotKind::Bars,
    }))
}

/// A mean of each column of a table over the cells that have a number.
fn over_rows(table: &[Vec<Cell>], mean: fn(&[f64]) -> Cell) -> Vec<Cell> {
    let of = |column: usize| table.iter().filter_map(|row| row[column].value()).collect::<Vec<f64>>();
    (0..table.first().map_or(0, Vec::len)).map(|column| mean(&of(column))).collect()
}

/// What a table shows, with its unit.
fn quantity(metric: &str, unit: &str, show: Show, to: &str) -> String {
    let name = metric.replace('_', " ");
    match show {
        Show::Value => with_unit(&name, unit),
        Show::Ratio => format!("{name} relative to {to}"),
        Show::Speedup if is_time(metric) => format!("speedup over {to}"),
        Show::Speedup => format!("{name} of {to} over own"),
    }
}

/// The unit of an axis that moves one key of the fabric.
fn key_unit<'a>(sweep: &SweepFile, axis: usize, columns: &'a [Column]) -> &'a str {
    match sweep.axes[axis].keys.as_slice() {
        [key] => columns.iter().find(|column| column.name == *key).map_or("", |column| &column.unit),
        _ => "",
    }
}

/// A name with its unit, unless it ends with it.
fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() || name.ends_with(unit) { name.into() } else { format!("{name} ({unit})") }
}

fn geomean(values: &[f64]) -> Cell {
    if values.is_empty() || values.iter().any(|value| *value <= 0.0) {
        return Cell::Undefined;
    }
    Cell::Value((values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

fn mean(values: &[f64]) -> Cell {
    if values.is_empty() {
        Cell::Undefined
    } else {
        Cell::Value(values.iter().sum::<f64>() / values.len() as f64)
    }
}

/// One of the words that a key may have.
fn choice<T: Copy>(text: &SummaryText, key: &str, words: &[(&str, T)]) -> Result<Option<T>, Error> {
    let Some(given) = text.keys.get(key) else { return Ok(None) };
    match words.iter().find(|(word, _)| *word == given.value) {
        Some((_, choice)) => Ok(Some(*choice)),
        None => Err(given.error(format!(
            "{key} = {} is illegal; legal: {}",
            given.value,
            list(words.iter().map(|w| w.0))
        ))),
    }
}

/// Words with commas between them.
pub(super) fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

/// The axis of the columns: the one named, or the first that is not the rows'.
pub(super) fn axis_of_columns(
    given: Option<&At<String>>,
    place: &Place,
    sweep: &SweepFile,
) -> Result<usize, Error> {
    let rows = sweep.rows();
    let others = || (0..sweep.axes.len()).filter(|axis| *axis != rows);
    let Some(given) = given else {
        return others().next().ok_or_else(|| {
            anyhow!("{place}: there is no axis beside the workloads; add [[axis]] with key and values")
        });
    };
    let found = others().find(|axis| sweep.axes[*axis].name == given.value);
    found.ok_or_else(|| {
        let known = list(others().map(|axis| sweep.axes[axis].name.as_str()));
        given.error(format!("columns = {} is no axis beside the workloads; legal: {known}", given.value))
    })
}

/// The place of a metric among the columns of the results: of the one named, or of the cycles.
pub(super) fn column_of(
    given: Option<&At<String>>,
    place: &Place,
    columns: &[Column],
) -> Result<usize, Error> {
    let cycles = At { value: "cycles".to_string(), place: place.clone() };
    let given = given.unwrap_or(&cycles);
    let numeric = || columns.iter().filter(|column| column.numeric);
    if !numeric().any(|column| column.name == given.value) {
        let known = numeric().map(|column| column.name.as_str());
        let remedy = weft_names::remedy(&given.value, known, "`weft sweep FILE --columns` shows all");
        return Err(
            given.error(format!("metric = {} is no numeric column of the results; {remedy}", given.value))
        );
    }
    Ok(columns.iter().position(|column| column.name == given.value).unwrap_or(0))
}

/// The axes that the reference fixes, with the value of each.
fn reference(text: &SummaryText, sweep: &SweepFile, columns: usize) -> Result<Vec<(usize, usize)>, Error> {
    let mut fixed = Vec::new();
    for (name, value) in &text.relative_to {
        let axis = match name {
            None => columns,
            Some(name) => sweep.axes.iter().position(|axis| axis.name == *name).ok_or_else(|| {
                let known = list(sweep.axes.iter().map(|axis| axis.name.as_str()));
                value.error(format!("relative_to names {name}, which is no axis; legal: {known}"))
            })?,
        };
        let points = &sweep.axes[axis].points;
        let point = points.iter().position(|point| point.label == value.value).ok_or_else(|| {
            let known = points.iter().map(|point| point.label.as_str());
            let remedy = weft_names::choice(&value.value, known);
            let name = &sweep.axes[axis].name;
            value.error(format!("relative_to = {} is no value of axis {name}; {remedy}", value.value))
        })?;
        fixed.push((axis, point));
    }
    Ok(fixed)
}

fn reference_words(sweep: &SweepFile, reference: &[(usize, usize)]) -> String {
    let label = |(axis, point): &(usize, usize)| sweep.axes[*axis].points[*point].label.as_str();
    match reference {
        [single] => label(single).to_string(),
        several => {
            let words = several.iter().map(|fixed| format!("{} {}", sweep.axes[fixed.0].name, label(fixed)));
            words.collect::<Vec<_>>().join(", ")
        }
    }
}

/// The values of an axis as numbers, if all are: suffixes K, M, G are powers of 1024, a final x (as in `2x`) is left out.
pub fn numbers(sweep: &SweepFile, axis: usize) -> Option<Vec<f64>> {
    let number = |label: &str| {
        let plain = label.trim_end_matches('x').replace('_', "");
        let scale = match plain.chars().last()? {
            'K' | 'k' => 1024.0,
            'M' => 1024.0 * 1024.0,
            'G' => 1024.0 * 1024.0 * 1024.0,
            _ => 1.0,
        };
        let value: f64 = plain.trim_end_matches(['K', 'k', 'M', 'G']).parse().ok()?;
        Some(value * scale).filter(|value| value.is_finite())
    };
    sweep.axes[axis].points.iter().map(|point| number(&point.label)).collect()
}

#[cfg(test)]
mod tests;
