//! Groups of bars, one per workload, and one for the geometric mean, set apart.

use super::super::summary::{Cell, Panel, Show, Summary};
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
    let per_group = (panel.columns.len() as u32 * 13 + 16).max(64);
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
    let named = |(name, value): &(String, String)| format!("{name} = {value}");
    let parts = [summary.title.clone()].into_iter().chain(panel.heading.iter().map(named));
    let title = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    let labels = panel.columns.iter().enumerate();
    let entries: Vec<Entry> =
        labels.map(|(series, label)| Entry { label: label.clone(), series, mean: false }).collect();
    let used = head(root, &title, &entries, &|area, (x, y), entry| {
        let corners = [(x + 8, y - 6), (x + 22, y + 6)];
        area.draw(&Rectangle::new(corners, colour(entry.series).filled())).map_err(wrong)?;
        area.draw(&Rectangle::new(corners, INK.stroke_width(1))).map_err(wrong)
    })?;
    let groups = panel.rows.len() + 1;
    let shown = panel.rows.iter().flat_map(|(_, cells)| cells).chain(panel.average(summary.average));
    let (top, clipped) = limit(shown.filter_map(|cell| cell.value()).collect());
    let marks = steps(0.0, top, 5);
    let (step, top) = (marks[1] - marks[0], marks[marks.len() - 1]);
    let mut chart = ChartBuilder::on(root)
        .margin_right(20)
        .margin_top(used + if clipped { 18 } else { 6 })
        .margin_bottom(44)
        .margin_left(78)
        .build_cartesian_2d(0.0..groups as f64, 0.0..top)
        .map_err(wrong)?;
    for value in &marks {
        let line = [(0.0, *value), (groups as f64, *value)];
        chart.draw_series([PathElement::new(line, GRID)]).map_err(wrong)?;
        let (x, y) = chart.backend_coord(&(0.0, *value));
        let style = text_at(TEXT, HPos::Right, VPos::Center);
        root.draw(&Text::new(mark(*value, step), (x - 8, y), style)).map_err(wrong)?;
        root.draw(&PathElement::new([(x - 4, y), (x, y)], INK)).map_err(wrong)?;
    }
    if summary.show != Show::Value && top > 1.0 {
        let line = PathElement::new([(0.0, 1.0), (groups as f64, 1.0)], INK.mix(0.6));
        chart.draw_series([line]).map_err(wrong)?;
    }
    let (edges, _) = chart.plotting_area().get_pixel_range();
    let group_width = f64::from(edges.end - edges.start) / groups as f64;
    let rows = panel.rows.iter().map(|(label, cells)| (label.as_str(), cells.as_slice()));
    for (group, (label, cells)) in
        rows.chain([(mean_word(summary.average), panel.average(summary.average))]).enumerate()
    {
        let mean = group + 1 == groups;
        for (series, cell) in cells.iter().enumerate() {
            let wide = (FILL / cells.len() as f64).min(WIDEST / group_width);
            let left = group as f64 + 0.5 + (series as f64 - cells.len() as f64 / 2.0) * wide;
            let value = cell.value().unwrap_or(0.0);
            let corners = [(left, 0.0), (left + wide, value.min(top))];
            chart.draw_series([Rectangle::new(corners, colour(series).filled())]).map_err(wrong)?;
            chart.draw_series([Rectangle::new(corners, INK.stroke_width(1))]).map_err(wrong)?;
            let at = chart.backend_coord(&(left + wide / 2.0, value.min(top)));
            annotate(root, at, summary, *cell, mean, value > top)?;
        }
        let (x, y) = chart.backend_coord(&(group as f64 + 0.5, 0.0));
        let style = text_at(TEXT, HPos::Center, VPos::Top);
        root.draw(&Text::new(label.to_string(), (x, y + 9), style)).map_err(wrong)?;
    }
    frame(root, &chart, summary, groups, top)
}

/// The largest value that bars show, and whether some are cut there: one or two that tower over all others hide these.
fn limit(mut values: Vec<f64>) -> (f64, bool) {
    values.sort_by(f64::total_cmp);
    let Some(largest) = values.last().copied() else { return (1.0, false) };
    let common = values[(values.len() - 1) * 9 / 10];
    if common > 0.0 && largest > 3.0 * common { (common * 1.4, true) } else { (largest, false) }
}

/// Numbers over means and cut bars; a cross for a run that failed.
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
        Cell::Value(value) if (mean || cut) && summary.show != Show::Value => format!("{value:.2}"),
        Cell::Value(value) if cut => mark(value, value / 100.0),
        Cell::Undefined if mean => "-".to_string(),
        Cell::Value(_) | Cell::Undefined => return Ok(()),
    };
    let style = upwards(SMALL, HPos::Left, VPos::Center);
    root.draw(&Text::new(text, (x, y - 3), style)).map_err(wrong)
}

type Chart<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

/// Axes, the line before the mean, and the axis' name.
fn frame(root: &Area, chart: &Chart, summary: &Summary, groups: usize, top: f64) -> Result<(), Error> {
    let corner = |x: f64, y: f64| chart.backend_coord(&(x, y));
    let (left, right) = (0.0, groups as f64);
    let axes =
        [corner(left, top), corner(left, 0.0), corner(right, 0.0), corner(right, top), corner(left, top)];
    root.draw(&PathElement::new(axes, INK)).map_err(wrong)?;
    let apart = groups as f64 - 1.0;
    root.draw(&PathElement::new([corner(apart, 0.0), corner(apart, top)], INK)).map_err(wrong)?;
    for group in 1..groups {
        let (x, y) = corner(group as f64, 0.0);
        root.draw(&PathElement::new([(x, y), (x, y + 5)], INK)).map_err(wrong)?;
    }
    let (_, middle) = corner(0.0, top / 2.0);
    let style = upwards(TEXT, HPos::Center, VPos::Top);
    root.draw(&Text::new(summary.y_label.clone(), (12, middle), style)).map_err(wrong)
}
