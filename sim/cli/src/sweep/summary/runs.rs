//! Results by their place in the product of the axes.

use super::super::file::SweepFile;
use super::Cell;

/// Results by place in the product of the axes.
pub(crate) struct Runs<'a> {
    pub sweep: &'a SweepFile,
    /// Of the results, in order of the product.
    pub rows: &'a [Option<Vec<String>>],
    /// Place of the status among their columns.
    pub status: usize,
}

impl Runs<'_> {
    /// Place in the product of the run whose value on each axis is given.
    pub fn number(&self, points: &[usize]) -> usize {
        let axes = points.iter().zip(&self.sweep.axes);
        axes.fold(0, |n, (point, axis)| n * axis.points.len() + point)
    }

    /// A column of the run whose value on each axis is given.
    pub fn cell(&self, points: &[usize], column: usize) -> Cell {
        let number = self.number(points);
        let ended = |cells: &&Vec<String>| ["ok", "stale"].contains(&cells[self.status].as_str());
        let Some(row) = &self.rows[number] else { return Cell::Missing };
        match Some(row).filter(ended) {
            None => Cell::Failed,
            Some(cells) => cells[column].parse().map_or(Cell::Undefined, Cell::Value),
        }
    }

    /// The sum of several columns.
    pub fn sum(&self, points: &[usize], columns: &[usize]) -> Cell {
        let add = |sum: Cell, column: &usize| match (sum, self.cell(points, *column)) {
            (Cell::Value(sum), Cell::Value(more)) => Cell::Value(sum + more),
            (Cell::Failed, _) | (_, Cell::Failed) => Cell::Failed,
            (Cell::Missing, _) | (_, Cell::Missing) => Cell::Missing,
            _ => Cell::Undefined,
        };
        columns.iter().fold(Cell::Value(0.0), add)
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
