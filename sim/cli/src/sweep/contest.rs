//! Classes of values against each other: in each row the best value of a class stands for it.

use super::columns::Column;
use super::file::{ContestText, SweepFile};
use super::summary::{Runs, aligned, axis_of_columns, column_of, list};
use anyhow::{Error, anyhow};

/// A table wanted, checked: of each class the value with the lowest deciding metric, and all metrics of these values relative to the reference class.
#[derive(Clone, Debug)]
pub struct Contest {
    columns: usize,
    by: usize,
    metrics: Vec<usize>,
    names: Vec<String>,
    classes: Vec<Class>,
    /// Which class the others are set against.
    reference: usize,
    title: String,
}

#[derive(Clone, Debug)]
struct Class {
    name: String,
    /// Values of the columns' axis.
    points: Vec<usize>,
}

/// Who stands for a class in a row, or that a run of the class has failed.
type Winner = Option<usize>;

impl Contest {
    /// All contests of a sweep.
    ///
    /// # Errors
    /// An axis, value, class or metric that there is not.
    pub fn all(sweep: &SweepFile, columns: &[Column]) -> Result<Vec<Contest>, Error> {
        sweep.contests.iter().map(|text| Contest::new(text, sweep, columns)).collect()
    }

    fn new(text: &ContestText, sweep: &SweepFile, columns: &[Column]) -> Result<Contest, Error> {
        let axis = axis_of_columns(text.columns.as_ref(), &text.place, sweep)?;
        let by = column_of(text.by.as_ref(), &text.place, columns)?;
        let mut metrics: Vec<usize> = Vec::new();
        for metric in &text.metrics {
            metrics.push(column_of(Some(metric), &text.place, columns)?);
        }
        if metrics.is_empty() {
            metrics.push(by);
        }
        let points = &sweep.axes[axis].points;
        let mut classes = Vec::new();
        for (name, values) in &text.classes {
            let point = |value: &super::source::At<String>| {
                points.iter().position(|point| point.label == value.value).ok_or_else(|| {
                    let known = points.iter().map(|point| point.label.as_str());
                    let remedy = weft_names::choice(&value.value, known);
                    value.error(format!(
                        "class {name} has {}, which is no value of axis {}; {remedy}",
                        value.value, sweep.axes[axis].name
                    ))
                })
            };
            let points = values.iter().map(point).collect::<Result<Vec<usize>, Error>>()?;
            classes.push(Class { name: name.clone(), points });
        }
        let reference = classes.iter().position(|class| class.name == text.relative_to.value);
        let reference = reference.filter(|_| classes.len() > 1).ok_or_else(|| {
            let known = list(classes.iter().map(|class| class.name.as_str()));
            text.relative_to.error(format!(
                "relative_to = {} needs a class of this name and another beside it; there are {known}",
                text.relative_to.value
            ))
        })?;
        Ok(Contest {
            columns: axis,
            by,
            names: metrics.iter().map(|metric| columns[*metric].name.replace('_', " ")).collect(),
            metrics,
            classes,
            reference,
            title: sweep.titled(
                &text.title.clone().unwrap_or_else(|| {
                    format!("lowest {} of each class", columns[by].name.replace('_', " "))
                }),
            ),
        })
    }

    /// The tables as text, one for each combination of the axes that are neither rows nor columns, from the rows of the results in order of the product.
    pub fn texts(&self, sweep: &SweepFile, rows: &[Option<Vec<String>>], status: usize) -> Vec<String> {
        let runs = Runs { sweep, rows, status };
        let table = |(heading, points): (Vec<(String, String)>, Vec<usize>)| {
            let others = heading.iter().map(|(name, value)| format!(", {name} = {value}"));
            let title = [self.title.clone()].into_iter().chain(others).collect::<String>();
            let at = |row: usize, column: usize, metric: usize| {
                let mut points = points.clone();
                (points[sweep.rows()], points[self.columns]) = (row, column);
                runs.cell(&points, metric).value()
            };
            self.text(sweep, &title, &at)
        };
        runs.corners(sweep.rows(), self.columns).into_iter().map(table).collect()
    }

    /// The value of a class with the lowest deciding metric; none if a run of the class has failed.
    fn winner(&self, class: &Class, of: &impl Fn(usize, usize) -> Option<f64>) -> Winner {
        let mut best: Option<(f64, usize)> = None;
        for point in &class.points {
            let value = of(*point, self.by)?;
            if best.is_none_or(|(lowest, _)| value < lowest) {
                best = Some((value, *point));
            }
        }
        best.map(|(_, point)| point)
    }

    fn text(
        &self,
        sweep: &SweepFile,
        title: &str,
        at: &impl Fn(usize, usize, usize) -> Option<f64>,
    ) -> String {
        let points = &sweep.axes[self.columns].points;
        let others: Vec<usize> = (0..self.classes.len()).filter(|class| *class != self.reference).collect();
        let to = &self.classes[self.reference].name;
        let mut head = vec![sweep.axes[sweep.rows()].name.clone()];
        head.extend(self.classes.iter().map(|class| class.name.clone()));
        for class in &others {
            head.extend(self.names.iter().map(|name| format!("{name}: {}/{to}", self.classes[*class].name)));
        }
        let mut lines = vec![head];
        let mut columns: Vec<Vec<f64>> = vec![Vec::new(); others.len() * self.metrics.len()];
        for (row, point) in sweep.axes[sweep.rows()].points.iter().enumerate() {
            let of = |column: usize, metric: usize| at(row, column, metric);
            let winners: Vec<Winner> = self.classes.iter().map(|class| self.winner(class, &of)).collect();
            let mut line = vec![point.label.clone()];
            line.extend(winners.iter().map(|w| w.map_or("failed".into(), |p| points[p].label.clone())));
            let pairs =
                others.iter().flat_map(|class| self.metrics.iter().map(move |metric| (*class, *metric)));
            for ((class, metric), column) in pairs.zip(&mut columns) {
                let value = |class: usize| winners[class].and_then(|point| of(point, metric));
                let ratio = value(class).zip(value(self.reference)).filter(|(_, base)| *base != 0.0);
                line.push(ratio.map_or("-".into(), |(own, base)| format!("{:.3}", own / base)));
                column.extend(ratio.map(|(own, base)| own / base));
            }
            lines.push(line);
        }
        let summed: [(&str, fn(&[f64]) -> f64); 2] = [
            ("mean", |all| all.iter().sum::<f64>() / all.len() as f64),
            ("lowest", |all| all.iter().copied().fold(f64::INFINITY, f64::min)),
        ];
        for (name, sum) in summed {
            let mut line = vec![name.to_string()];
            line.extend(self.classes.iter().map(|_| String::new()));
            let cell = |all: &Vec<f64>| if all.is_empty() { "-".into() } else { format!("{:.3}", sum(all)) };
            line.extend(columns.iter().map(cell));
            lines.push(line);
        }
        aligned(title, &lines)
    }
}

impl ContestText {
    /// Why it cannot be made any more when values of an axis are left out; none if it can.
    pub fn lost(&self, axis: &str, default: Option<&str>, gone: &[&str]) -> Option<String> {
        let columns = self.columns.as_ref().map(|at| at.value.as_str()).or(default);
        if columns != Some(axis) {
            return None;
        }
        let mut values = self.classes.iter().flat_map(|(_, values)| values);
        let value = values.find(|value| gone.contains(&value.value.as_str()))?;
        Some(format!("{}: contest left out, {axis} = {} is not in this part", self.place, value.value))
    }
}

/// The error of a contest without classes.
pub(super) fn no_classes(place: &weft_fabric::config::Place) -> Error {
    anyhow!(
        "{place}: a contest has no classes; write classes = {{ first = [\"a\", \"b\"], second = [\"c\"] }}"
    )
}

#[cfg(test)]
mod tests;
