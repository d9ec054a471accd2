//! Groups of bars, one per workload, and one for the geometric mean, set apart.

use super::super::summary::{Cell, Panel, Show, Summary};
use super::frame::Frame;
use super::style::*;
use anyhow::Error;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Height of the picture.
const HEIGHT: u32 = 400;

/// Part of a group's width that its bars fill.
const FILL: f64 = 0.82;

/// Width of a bar at most.
const WIDEST: f64 = 34.0;

/// Size of the numbers over the means.
const SMALL: i32 = 11;

/// Draws a table.
///
/// # Errors
/// A drawing that fails.
pub fn picture(summary: &Summary, panel: &Panel) -> Result<String, Error> {
    let per_group = (panel.columns.len() as u32 * 10 + 16).max(64);
    let size = ((panel.rows.len() as u32 + 1) * per_group + 130, HEIGHT);
    let size = (size.0.max(560), size.1);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE).map_err(wrong)?;
        draw(&root, summary, panel)?;
        root.present().map_err(wrong)?;
    }
    Ok(svg)
}

fn draw(root: &Area, summary: &Summary, panel: &Panel) -> Result<(), Error> {
    let title = titled(&summary.title, &panel.heading);
    let labels = panel.columns.iter().enumerate();
    let entries: Vec<Entry> =
        labels.map(|(series, label)| Entry { label: label.clone(), series, mean: false }).collect();
    let used = head(root, &title, &entries, &|area, (x, y), entry| {
        let corners = [(x + 8, y - 6), (x + 22, y + 6)];
        area.draw(&Rectangle::new(corners, colour(entry.series).filled())).map_err(wrong)?;
        area.draw(&Rectangle::new(corners, INK.stroke_width(1))).map_err(wrong)
    })?;
    let groups = panel.rows.len() + 1;
    let mean = panel.average(summary.average);
    let shown = panel.rows.iter().flat_map(|(_, cells)| cells).chain(mean);
    let (top, cut) = limit(shown.filter_map(|cell| cell.value()).collect());
    // Room for the numbers over the means.
    let top = mean.iter().filter_map(|cell| cell.value()).fold(top, |top, value| top.max(value * 1.13));
    let frame =
        Frame::new(root, (used + if cut { 30 } else { 6 }, 44), (0.0, groups as f64), &steps(0.0, top, 5))?;
    if summary.show != Show::Value && frame.top() > 1.0 {
        frame.line(&[(0.0, 1.0), (groups as f64, 1.0)], INK.mix(0.6))?;
    }
    let rows = panel.rows.iter().map(|(label, cells)| (label.as_str(), cells.as_slice()));
    for (group, (label, cells)) in rows.chain([(mean_word(summary.average), mean)]).enumerate() {
        bars(root, &frame, (group, groups), summary, cells)?;
        frame.under(group as f64 + 0.5, 9, label)?;
        frame.tick(group as f64)?;
    }
    frame.upright(groups as f64 - 1.0, INK)?;
    frame.close(&summary.y_label)
}

/// The bars of a group.
fn bars(
    root: &Area,
    frame: &Frame,
    (group, groups): (usize, usize),
    summary: &Summary,
    cells: &[Cell],
) -> Result<(), Error> {
    let wide = (FILL / cells.len() as f64).min(WIDEST * groups as f64 / frame.width());
    for (series, cell) in cells.iter().enumerate() {
        let left = group as f64 + 0.5 + (series as f64 - cells.len() as f64 / 2.0) * wide;
        let value = cell.value().unwrap_or(0.0);
        let shown = value.min(frame.top());
        let corners = [frame.at(left, 0.0), frame.at(left + wide, shown)];
        root.draw(&Rectangle::new(corners, colour(series).filled())).map_err(wrong)?;
        root.draw(&Rectangle::new(corners, INK.stroke_width(1))).map_err(wrong)?;
        let at = frame.at(left + wide / 2.0, shown);
        annotate(root, at, summary, *cell, group + 1 == groups, value > shown)?;
    }
    Ok(())
}

/// The largest value that bars show, and whether some are cut there: one or two that tower over all others hide these.
pub(super) fn limit(mut values: Vec<f64>) -> (f64, bool) {
    values.sort_by(f64::total_cmp);
    let Some(largest) = values.last().copied() else { return (1.0, false) };
    let common = values[(values.len() - 1) * 9 / 10];
    if common > 0.0 && largest > 3.0 * common { (common * 1.4, true) } else { (largest, false) }
}

/// Numbers over means and cut bars, and a word over a run that failed.
fn annotate(
    root: &Area,
    (x, y): (i32, i32),
    summary: &Summary,
    cell: Cell,
    mean: bool,
    cut: bool,
) -> Result<(), Error> {
    let text = match cell {
        Cell::Failed => "failed".to_string(),
        Cell::Missing => "missing".to_string(),
        Cell::Value(value) if (mean || cut) && summary.show != Show::Value => format!("{value:.2}"),
        Cell::Value(value) if cut => mark(value, value / 100.0),
        Cell::Undefined => "-".to_string(),
        Cell::Value(_) => return Ok(()),
    };
    let style = upwards(SMALL, HPos::Left, VPos::Center);
    root.draw(&Text::new(text, (x, y - 3), style)).map_err(wrong)
}
