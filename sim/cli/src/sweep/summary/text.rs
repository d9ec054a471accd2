//! Tables as text.

use super::super::file::SweepFile;
use super::{Cell, Panel, Show, Summary};

impl Summary {
    /// What a table shows and for which values of the other axes, and its lines: a heading, the rows, the means.
    pub fn lines(&self, sweep: &SweepFile, panel: &Panel) -> (String, Vec<Vec<String>>) {
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
        (title, lines)
    }

    /// The table as text.
    pub fn text(&self, sweep: &SweepFile, panel: &Panel) -> String {
        let (title, lines) = self.lines(sweep, panel);
        let mut text = aligned(&title, &lines);
        if !panel.parts.is_empty() {
            text.push_str(&format!("\n{}", self.shares(sweep, panel)));
        }
        let zero =
            panel.geomean.contains(&Cell::Undefined) && panel.mean.iter().any(|cell| cell.value().is_some());
        if zero {
            text.push_str("\n- for a geometric mean: a value is 0\n");
        }
        let notes = [
            (Cell::Failed, "failed: the run or its reference did not end"),
            (Cell::Missing, "missing: the run or its reference has not been made"),
            (Cell::Undefined, "-: a ratio to 0, or nothing to count"),
        ];
        for (cell, note) in notes {
            if panel.rows.iter().any(|(_, cells)| cells.contains(&cell)) {
                text.push_str(&format!("\n{note}; the means are over the others\n"));
            }
        }
        text
    }

    /// The means of the parts of a sum over the rows.
    fn shares(&self, sweep: &SweepFile, panel: &Panel) -> String {
        let head = format!("part \\ {}", sweep.axes[self.columns].name);
        let mut lines: Vec<Vec<String>> =
            vec![[head].into_iter().chain(panel.columns.iter().cloned()).collect()];
        for part in &panel.parts {
            let cells = part.mean.iter().map(|cell| self.number(*cell));
            lines.push([part.label.clone()].into_iter().chain(cells).collect());
        }
        aligned("of these, by part, arithmetic mean", &lines)
    }

    fn number(&self, cell: Cell) -> String {
        match cell {
            Cell::Value(value) if self.show != Show::Value => format!("{value:.3}"),
            Cell::Value(value) if value.fract() == 0.0 => format!("{value:.0}"),
            Cell::Value(value) if value.abs() >= 1000.0 => format!("{value:.0}"),
            Cell::Value(value) => format!("{value:.4}"),
            Cell::Failed => "failed".into(),
            Cell::Missing => "missing".into(),
            Cell::Undefined => "-".into(),
        }
    }
}

/// A table that is aligned and also Markdown.
pub(in super::super) fn aligned(title: &str, lines: &[Vec<String>]) -> String {
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
