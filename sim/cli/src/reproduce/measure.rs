//! The number of a row, from the results of its sweep.

use super::published::{Labels, Mean, Points, Row, Show};
use crate::sweep::plan::Plan;
use crate::sweep::summary::Runs;
use std::collections::BTreeSet;

/// A row by places among axes and columns.
pub struct Asked {
    /// Columns whose sum it is.
    pub at: Vec<usize>,
    per: Option<usize>,
    by: usize,
    /// One for each combination of the further axes' values.
    corners: Vec<Corner>,
    /// Values of the workloads' axis.
    pub rows: Vec<usize>,
    show: Show,
    mean: Mean,
    /// Name and place of the counters that explain.
    pub explain: Vec<(String, usize)>,
}

/// Candidates of both sides, each the value of every axis; that of the workloads is set later.
struct Corner {
    /// Values of the further axes, if they have several.
    label: String,
    over: Vec<Vec<usize>>,
    to: Option<Vec<Vec<usize>>>,
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The number; none if a run of it has failed or nothing was to count.
    pub value: Option<f64>,
    /// Of each workload.
    pub workloads: Vec<(String, Option<f64>)>,
    /// Workloads that the number is without, since a run of theirs has not been made.
    pub missing: usize,
}

impl Measured {
    /// Of how many of its workloads a number is, if not of all.
    pub fn part(&self) -> Option<String> {
        let all = self.workloads.len();
        (self.value.is_some() && self.missing > 0).then(|| format!("{} of {all}", all - self.missing))
    }
}

impl Asked {
    /// Finds what a row names.
    ///
    /// # Errors
    /// An axis, value, workload or column that this sweep has not in its tier.
    pub fn new(row: &Row, plan: &Plan) -> Result<Asked, String> {
        let column = |name: &String| {
            let place = plan.columns.iter().position(|c| c.name == *name && c.numeric);
            place.ok_or_else(|| format!("{} has no numeric column {name}", plan.sweep.name))
        };
        let parts = row.parts.clone().or(row.metric.clone().map(|metric| vec![metric])).unwrap_or_default();
        let axis = plan.sweep.rows();
        let labels = &plan.sweep.axes[axis].points;
        let workload = |label: &String| {
            let place = labels.iter().position(|point| point.label == *label);
            place.ok_or_else(|| format!("{label} is not among its workloads"))
        };
        let rows = match &row.rows {
            None => (0..labels.len()).collect(),
            Some(rows) => {
                let mut there: Vec<usize> = rows.iter().filter_map(|label| workload(label).ok()).collect();
                there.dedup();
                if there.is_empty() {
                    return Err(format!(
                        "none of its workloads ({}) is in {}",
                        rows.join(", "),
                        plan.sweep.name
                    ));
                }
                there
            }
        };
        let corners = row.at.as_ref().map_or(Ok(vec![Points::new()]), |at| combinations(at, plan))?;
        let several = corners.len() > 1;
        let corner = |more: Points| {
            let labels = more.values().filter_map(|labels| match labels {
                Labels::One(label) => Some(label.as_str()),
                Labels::Best(_) => None,
            });
            let label = if several { labels.collect::<Vec<_>>().join(", ") } else { String::new() };
            let over = candidates(row.over.as_ref().unwrap_or(&Points::new()), &more, plan)?;
            let to = row.to.as_ref().map(|to| candidates(to, &more, plan)).transpose()?;
            Ok::<Corner, String>(Corner { label, over, to })
        };
        let explain = row.explain.clone().unwrap_or_default();
        Ok(Asked {
            at: parts.iter().map(column).collect::<Result<_, _>>()?,
            per: row.per.as_ref().map(column).transpose()?,
            by: column(&row.by.clone().unwrap_or("cycles".into()))?,
            corners: corners.into_iter().map(corner).collect::<Result<_, _>>()?,
            rows,
            show: row.show(),
            mean: row.mean.unwrap_or(Mean::Arithmetic),
            explain: explain
                .iter()
                .map(|name| column(name).map(|at| (name.clone(), at)))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Numbers of the runs that it needs.
    pub fn runs(&self, plan: &Plan) -> BTreeSet<usize> {
        let both = |corner: &'_ Corner| {
            corner.over.iter().chain(corner.to.iter().flatten()).cloned().collect::<Vec<_>>()
        };
        let sides: Vec<Vec<usize>> = self.corners.iter().flat_map(both).collect();
        let runs = Runs { sweep: &plan.sweep, rows: &[], status: 0 };
        sides
            .iter()
            .flat_map(|points| self.rows.iter().map(|row| runs.number(&with(points, plan, *row))))
            .collect()
    }

    /// The number.
    pub fn measure(&self, plan: &Plan, rows: &[Option<Vec<String>>]) -> Measured {
        let runs = Runs { sweep: &plan.sweep, rows, status: plan.column("status") };
        let own = |side: &[Vec<usize>], row: usize| {
            let points = self.best(side, plan, &runs, row)?;
            let sum = runs.sum(&points, &self.at).value()?;
            match self.per {
                None => Some(sum),
                Some(per) => runs.cell(&points, per).value().filter(|per| *per != 0.0).map(|per| sum / per),
            }
        };
        let of = |corner: &Corner, row: usize| {
            let over = own(&corner.over, row)?;
            let Some(to) = &corner.to else { return Some(over) };
            let to = own(to, row)?;
            let (a, b) = if self.show == Show::Speedup { (to, over) } else { (over, to) };
            (b != 0.0).then(|| a / b)
        };
        let labels = &plan.sweep.axes[plan.sweep.rows()].points;
        let name = |corner: &Corner, row: usize| match corner.label.as_str() {
            "" => labels[row].label.clone(),
            more => format!("{}, {more}", labels[row].label),
        };
        let places = self.corners.iter().flat_map(|corner| self.rows.iter().map(move |row| (corner, *row)));
        let workloads: Vec<_> =
            places.clone().map(|(corner, row)| (name(corner, row), of(corner, row))).collect();
        let values: Vec<f64> = workloads.iter().filter_map(|(_, value)| *value).collect();
        let made = |points: &Vec<usize>, row| rows[runs.number(&with(points, plan, row))].is_some();
        let whole = |corner: &Corner, row| {
            corner.over.iter().chain(corner.to.iter().flatten()).all(|points| made(points, row))
        };
        let missing = places.filter(|(corner, row)| !whole(corner, *row)).count();
        Measured { value: mean(self.mean, &values), workloads, missing }
    }

    /// Each counter that explains, summed over the workloads, of both sides; not those that the fabric of a side does not have.
    pub fn counters(&self, plan: &Plan, rows: &[Option<Vec<String>>]) -> Vec<(String, f64, Option<f64>)> {
        let runs = Runs { sweep: &plan.sweep, rows, status: plan.column("status") };
        let value = |side: &[Vec<usize>], row: usize, column: usize| {
            runs.cell(&self.best(side, plan, &runs, row)?, column).value()
        };
        let places: Vec<(&Corner, usize)> =
            self.corners.iter().flat_map(|corner| self.rows.iter().map(move |row| (corner, *row))).collect();
        let both = |(name, column): &(String, usize)| {
            let over = sum(places.iter().map(|(corner, row)| value(&corner.over, *row, *column)))?;
            if places.iter().all(|(corner, _)| corner.to.is_none()) {
                return Some((name.clone(), over, None));
            }
            let to = |(corner, row): &(&Corner, usize)| value(corner.to.as_ref()?, *row, *column);
            Some((name.clone(), over, Some(sum(places.iter().map(to))?)))
        };
        self.explain.iter().filter_map(both).collect()
    }

    /// The candidate with the lowest deciding column in a workload; none if a run of them has failed.
    fn best(&self, side: &[Vec<usize>], plan: &Plan, runs: &Runs, row: usize) -> Option<Vec<usize>> {
        let mut best: Option<(f64, Vec<usize>)> = None;
        for points in side {
            let points = with(points, plan, row);
            let value = if side.len() == 1 { 0.0 } else { runs.cell(&points, self.by).value()? };
            if best.as_ref().is_none_or(|(lowest, _)| value < *lowest) {
                best = Some((value, points));
            }
        }
        best.map(|(_, points)| points)
    }
}

/// Places with another workload.
fn with(points: &[usize], plan: &Plan, row: usize) -> Vec<usize> {
    let mut points = points.to_vec();
    points[plan.sweep.rows()] = row;
    points
}

/// Every combination of values of the further axes; `*` stands for all values of an axis.
fn combinations(at: &Points, plan: &Plan) -> Result<Vec<Points>, String> {
    let mut all = vec![Points::new()];
    for (name, labels) in at {
        let axis = plan.sweep.axes.iter().find(|axis| axis.name == *name);
        let axis = axis.ok_or_else(|| format!("{} has no axis {name}", plan.sweep.name))?;
        let labels: Vec<String> = match labels {
            Labels::One(label) if label == "*" => axis.points.iter().map(|p| p.label.clone()).collect(),
            Labels::One(label) => vec![label.clone()],
            Labels::Best(labels) => labels.clone(),
        };
        let with = |points: &Points, label: &String| {
            let mut points = points.clone();
            points.insert(name.clone(), Labels::One(label.clone()));
            points
        };
        all = all
            .iter()
            .flat_map(|points| labels.iter().map(|label| with(points, label)).collect::<Vec<_>>())
            .collect();
    }
    Ok(all)
}

/// Every combination of the values named, as places on all axes.
fn candidates(points: &Points, more: &Points, plan: &Plan) -> Result<Vec<Vec<usize>>, String> {
    let sweep = &plan.sweep;
    if let Some(unknown) =
        points.keys().chain(more.keys()).find(|name| !sweep.axes.iter().any(|a| a.name == **name))
    {
        return Err(format!("{} has no axis {unknown}", sweep.name));
    }
    let mut all = vec![Vec::new()];
    for (at, axis) in sweep.axes.iter().enumerate() {
        let named = points.get(&axis.name).or(more.get(&axis.name));
        let labels: Vec<usize> = match named {
            _ if at == sweep.rows() => vec![0],
            None if axis.points.len() == 1 => vec![0],
            None => return Err(format!("axis {} of {} has several values; name one", axis.name, sweep.name)),
            Some(labels) => {
                let labels = match labels {
                    Labels::One(label) => std::slice::from_ref(label),
                    Labels::Best(labels) => labels.as_slice(),
                };
                let place = |label: &String| {
                    let place = axis.points.iter().position(|point| point.label == *label);
                    place.ok_or_else(|| format!("{} = {label} is not in {}", axis.name, sweep.name))
                };
                labels.iter().map(place).collect::<Result<_, _>>()?
            }
        };
        let longer = |head: &Vec<usize>| {
            labels.iter().map(|label| [head.as_slice(), &[*label]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    Ok(all)
}

/// The sum of what there is; none if there is nothing, which is not 0.
fn sum(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.flatten().reduce(|sum, value| sum + value)
}

/// A mean over what there is.
fn mean(kind: Mean, values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    match kind {
        Mean::Arithmetic => Some(values.iter().sum::<f64>() / n),
        Mean::Geometric if values.iter().any(|value| *value <= 0.0) => None,
        Mean::Geometric => Some((values.iter().map(|value| value.ln()).sum::<f64>() / n).exp()),
        Mean::Greatest => values.iter().copied().reduce(f64::max),
        Mean::Least => values.iter().copied().reduce(f64::min),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_a_fabric_does_not_have_is_not_0() {
        assert_eq!(sum([None, None].into_iter()), None);
        assert_eq!(sum([Some(2.0), None, Some(3.0)].into_iter()), Some(5.0));
        assert_eq!(sum([Some(0.0)].into_iter()), Some(0.0));
    }
}
