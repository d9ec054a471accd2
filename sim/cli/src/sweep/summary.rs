//! Tables of a metric: a row per workload, a column per value of an axis, means at the bottom.

use super::columns::Column;
use super::file::{SummaryText, SweepFile};
use super::source::At;
use anyhow::{Error, anyhow};
use std::collections::BTreeMap;
use weft_fabric::config::{Place, closest};

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
    /// Axis of the columns.
    pub columns: usize,
    /// Place of the metric among the columns of the results.
    pub at: usize,
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

/// Results by place in the product of the axes.
pub(super) struct Runs<'a> {
    pub sweep: &'a SweepFile,
    /// Of the results, in order of the product.
    pub rows: &'a [Option<Vec<String>>],
    /// Place of the status among their columns.
    pub status: usize,
}

impl Runs<'_> {
    /// A column of the run whose value on each axis is given.
    pub fn cell(&self, points: &[usize], column: usize) -> Cell {
        let axes = points.iter().zip(&self.sweep.axes);
        let number = axes.fold(0, |n, (point, axis)| n * axis.points.len() + point);
        let ended = |cells: &&Vec<String>| ["ok", "stale"].contains(&cells[self.status].as_str());
        match self.rows[number].as_ref().filter(ended) {
            None => Cell::Failed,
            Some(cells) => cells[column].parse().map_or(Cell::Undefined, Cell::Value),
        }
    }

    /// Each combination of the axes that are neither rows nor columns of a table: its names with values, and its first place.
    pub fn corners(&self, rows: usize, columns: usize) -> Vec<(Vec<(String, String)>, Vec<usize>)> {
        let axes = &self.sweep.axes;
        let others: Vec<usize> = (0..axes.len()).filter(|axis| ![rows, columns].contains(axis)).collect();
        let count: usize = others.iter().map(|axis| axes[*axis].points.len()).product();
        let corner = |number: usize| {
            let (mut points, mut rest) = (vec![0; axes.len()], number);
            for axis in others.iter().rev() {
                points[*axis] = rest % axes[*axis].points.len();
                rest /= axes[*axis].points.len();
            }
            let named =
                |axis: &usize| (axes[*axis].name.clone(), axes[*axis].points[points[*axis]].label.clone());
            (others.iter().map(named).collect(), points)
        };
        (0..count).map(corner).collect()
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
        let at = column_of(text.keys.get("metric"), &text.place, columns)?;
        let metric = &columns[at];
        let reference = reference(text, sweep, axis)?;
        let default = match (reference.is_empty(), metric.name == "cycles") {
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
        let plots = [("bars", PlotKind::Bars), ("lines", PlotKind::Lines), ("none", PlotKind::None)];
        let plot = choice(text, "plot", &plots)?;
        if let Some(given) = text.keys.get("plot").filter(|_| plot == Some(PlotKind::Lines) && !numeric) {
            return Err(given.error(format!(
                "plot = lines needs numbers, and axis {} has {}; use plot = bars",
                sweep.axes[axis].name, sweep.axes[axis].points[0].label
            )));
        }
        let get = |key: &str| text.keys.get(key).map(|at| at.value.clone());
        let averages = [("geometric", Average::Geometric), ("arithmetic", Average::Arithmetic)];
        let common = if show == Show::Value { Average::Arithmetic } else { Average::Geometric };
        let y_label = quantity(metric, show, &reference_words(sweep, &reference));
        let x_label = with_unit(&sweep.axes[axis].name, key_unit(sweep, axis, columns));
        Ok(Summary {
            name: get("name").unwrap_or_else(|| metric.name.clone()),
            rows,
            columns: axis,
            at,
            reference,
            show,
            plot: plot.unwrap_or(if numeric { PlotKind::Lines } else { PlotKind::Bars }),
            title: get("title").unwrap_or_else(|| sweep.about.clone()),
            average: choice(text, "mean", &averages)?.unwrap_or(common),
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
                let mut cell = |row: usize, column: usize| {
                    (points[self.rows], points[self.columns]) = (row, column);
                    self.cell(&points, &|points| runs.cell(points, self.at))
                };
                let table: Vec<Vec<Cell>> = (0..size(self.rows))
                    .map(|row| (0..size(self.columns)).map(|column| cell(row, column)).collect())
                    .collect();
                self.panel(sweep, heading, table)
            })
            .collect()
    }

    fn panel(&self, sweep: &SweepFile, heading: Vec<(String, String)>, table: Vec<Vec<Cell>>) -> Panel {
        let labels = |axis: usize| sweep.axes[axis].points.iter().map(|point| point.label.clone());
        let columns: Vec<String> = labels(self.columns).collect();
        let of =
            |column: usize| table.iter().filter_map(move |row| row[column].value()).collect::<Vec<f64>>();
        Panel {
            heading,
            geomean: (0..columns.len()).map(|column| geomean(&of(column))).collect(),
            mean: (0..columns.len()).map(|column| mean(&of(column))).collect(),
            columns,
            rows: labels(self.rows).zip(table).collect(),
        }
    }

    /// The shown number of a run, whose value on each axis is given.
    fn cell(&self, points: &[usize], measured: &impl Fn(&[usize]) -> Cell) -> Cell {
        let own = measured(points);
        if self.show == Show::Value {
            return own;
        }
        let mut base = points.to_vec();
        self.reference.iter().for_each(|(axis, point)| base[*axis] = *point);
        let (over, under) = match (own, measured(&base)) {
            (Cell::Value(own), Cell::Value(base)) if self.show == Show::Speedup => (base, own),
            (Cell::Value(own), Cell::Value(base)) => (own, base),
            (Cell::Failed, _) | (_, Cell::Failed) => return Cell::Failed,
            _ => return Cell::Undefined,
        };
        if under == 0.0 { Cell::Undefined } else { Cell::Value(over / under) }
    }

    /// The table as text: a heading, the rows, the means.
    pub fn text(&self, sweep: &SweepFile, panel: &Panel) -> String {
        let mut title = self.y_label.clone();
        for (name, value) in &panel.heading {
            title.push_str(&format!(", {name} = {value}"));
        }
        let mut lines: Vec<Vec<String>> = Vec::new();
        let head = format!("{} \\ {}", sweep.axes[self.rows].name, sweep.axes[self.columns].name);
        lines.push([head].into_iter().chain(panel.columns.iter().cloned()).collect());
        let means = [("geometric mean", &panel.geomean), ("arithmetic mean", &panel.mean)];
        let rows = panel.rows.iter().map(|(label, cells)| (label.as_str(), cells));
        for (label, cells) in rows.chain(means) {
            lines
                .push([label.to_string()].into_iter().chain(cells.iter().map(|c| self.number(*c))).collect());
        }
        let mut text = aligned(&title, &lines);
        let zero =
            panel.geomean.contains(&Cell::Undefined) && panel.mean.iter().any(|cell| cell.value().is_some());
        if zero {
            text.push_str("\n- for a geometric mean: a value is 0\n");
        }
        let notes = [
            (Cell::Failed, "failed: the run or its reference did not end"),
            (Cell::Undefined, "-: a ratio to 0, or nothing to count"),
        ];
        for (cell, note) in notes {
            if panel.rows.iter().any(|(_, cells)| cells.contains(&cell)) {
                text.push_str(&format!("\n{note}; the means are over the others\n"));
            }
        }
        text
    }

    fn number(&self, cell: Cell) -> String {
        match cell {
            Cell::Value(value) if self.show != Show::Value => format!("{value:.3}"),
            Cell::Value(value) if value.fract() == 0.0 => format!("{value:.0}"),
            Cell::Value(value) if value.abs() >= 1000.0 => format!("{value:.0}"),
            Cell::Value(value) => format!("{value:.4}"),
            Cell::Failed => "failed".into(),
            Cell::Undefined => "-".into(),
        }
    }
}

/// What a table shows, with its unit.
fn quantity(metric: &Column, show: Show, to: &str) -> String {
    let name = metric.name.replace('_', " ");
    match show {
        Show::Value => with_unit(&name, &metric.unit),
        Show::Ratio => format!("{name} relative to {to}"),
        Show::Speedup if metric.name == "cycles" => format!("speedup over {to}"),
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

/// A table that is aligned and also Markdown.
pub(super) fn aligned(title: &str, lines: &[Vec<String>]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    let mut text = format!("{title}\n\n");
    for (at, line) in lines.iter().enumerate() {
        let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        text.push_str(&format!("| {} |\n", cells.collect::<Vec<_>>().join(" | ")));
        if at == 0 {
            let rule = widths.iter().enumerate().map(|(column, width)| match column {
                0 => "-".repeat(*width),
                _ => format!("{}:", "-".repeat(width.saturating_sub(1).max(1))),
            });
            text.push_str(&format!("| {} |\n", rule.collect::<Vec<_>>().join(" | ")));
        }
    }
    text
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
        let remedy = match closest(&given.value, numeric().map(|column| column.name.as_str())) {
            Some(near) => format!("the nearest is {near}"),
            None => "`weft sweep FILE --columns` shows all".into(),
        };
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
            let known = list(points.iter().map(|point| point.label.as_str()));
            value.error(format!(
                "relative_to = {} is no value of axis {}; legal: {known}",
                value.value, sweep.axes[axis].name
            ))
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
