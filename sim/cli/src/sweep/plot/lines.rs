//! Lines over a numeric axis: the geometric mean of each value of the other axes, or each workload and their mean.

use super::super::file::SweepFile;
use super::super::summary::{Average, Cell, Panel, Summary, numbers};
use super::style::*;
use anyhow::Error;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Size of the picture.
const SIZE: (u32, u32) = (680, 430);

/// A line.
struct Line {
    entry: Entry,
    cells: Vec<Cell>,
}

/// Draws a summary's tables into one picture.
///
/// # Errors
/// A drawing that fails.
pub fn picture(sweep: &SweepFile, summary: &Summary, panels: &[Panel]) -> Result<String, Error> {
    let lines = lines(panels, summary.average);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(wrong)?;
        let at = places(&numbers(sweep, summary.columns).unwrap_or_default());
        let labels = panels.first().map_or(&[][..], |panel| &panel.columns);
        draw(&root, summary, &lines, &at, labels)?;
        root.present().map_err(wrong)?;
    }
    Ok(svg)
}

fn lines(panels: &[Panel], average: Average) -> Vec<Line> {
    let line = |series: usize, label: String, cells: &[Cell], mean: bool| Line {
        entry: Entry { label, series, mean },
        cells: cells.to_vec(),
    };
    match panels {
        [single] if single.heading.is_empty() => {
            let rows = single.rows.iter().enumerate();
            let mut all: Vec<Line> =
                rows.map(|(series, (label, cells))| line(series, label.clone(), cells, false)).collect();
            all.push(line(all.len(), mean_word(average).into(), single.average(average), true));
            all
        }
        several => several
            .iter()
            .enumerate()
            .map(|(series, panel)| {
                let values: Vec<&str> = panel.heading.iter().map(|(_, value)| value.as_str()).collect();
                line(series, values.join(", "), panel.average(average), false)
            })
            .collect(),
    }
}

/// Where values stand: by their logarithm if each is about a multiple of the one before, else by themselves.
fn places(values: &[f64]) -> Vec<f64> {
    let doubles = values.windows(2).all(|pair| pair[0] > 0.0 && (1.5..=4.01).contains(&(pair[1] / pair[0])));
    if doubles { values.iter().map(|v| v.log2()).collect() } else { values.to_vec() }
}

fn draw(root: &Area, summary: &Summary, lines: &[Line], at: &[f64], labels: &[String]) -> Result<(), Error> {
    let entries = lines.iter().map(|l| Entry { label: l.entry.label.clone(), ..l.entry });
    let entries: Vec<Entry> = entries.collect();
    let used = head(root, &summary.title, &entries, &|area, (x, y), entry| {
        area.draw(&PathElement::new([(x, y), (x + 26, y)], stroke(entry))).map_err(wrong)?;
        dot(area, (x + 13, y), entry)
    })?;
    let values = lines.iter().flat_map(|line| &line.cells).filter_map(|cell| cell.value());
    let (low, high) = values.fold((f64::MAX, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
    // From 0 unless that would press all lines into the upper half.
    let from = if low > 0.6 * high && low < f64::MAX { low } else { 0.0 };
    let marks = steps(from, if high > 0.0 { high } else { 1.0 }, 6);
    let (step, bottom, top) = (marks[1] - marks[0], marks[0], marks[marks.len() - 1]);
    let (first, last) = at.iter().fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(*x), b.max(*x)));
    let edge = ((last - first) * 0.04).max(0.05);
    let mut chart = ChartBuilder::on(root)
        .margin_right(24)
        .margin_top(used + 6)
        .margin_bottom(62)
        .margin_left(78)
        .build_cartesian_2d(first - edge..last + edge, bottom..top)
        .map_err(wrong)?;
    for value in &marks {
        let line = [(first - edge, *value), (last + edge, *value)];
        chart.draw_series([PathElement::new(line, GRID)]).map_err(wrong)?;
        let (x, y) = chart.backend_coord(&(first - edge, *value));
        let style = text_at(TEXT, HPos::Right, VPos::Center);
        root.draw(&Text::new(mark(*value, step), (x - 8, y), style)).map_err(wrong)?;
        root.draw(&PathElement::new([(x - 4, y), (x, y)], INK)).map_err(wrong)?;
    }
    for (x, label) in at.iter().zip(labels) {
        chart.draw_series([PathElement::new([(*x, bottom), (*x, top)], GRID)]).map_err(wrong)?;
        let (x, y) = chart.backend_coord(&(*x, bottom));
        let style = text_at(TEXT, HPos::Center, VPos::Top);
        root.draw(&Text::new(label.clone(), (x, y + 9), style)).map_err(wrong)?;
        root.draw(&PathElement::new([(x, y), (x, y + 4)], INK)).map_err(wrong)?;
    }
    let corner = |x: f64, y: f64| chart.backend_coord(&(x, y));
    let (left, right) = (first - edge, last + edge);
    let axes = [
        corner(left, top),
        corner(left, bottom),
        corner(right, bottom),
        corner(right, top),
        corner(left, top),
    ];
    root.draw(&PathElement::new(axes, INK)).map_err(wrong)?;
    for line in lines {
        // A line is broken where a run failed.
        for piece in pieces(line, at) {
            let dots: Vec<(i32, i32)> = piece.iter().map(|(x, y)| corner(*x, *y)).collect();
            root.draw(&PathElement::new(dots.clone(), stroke(&line.entry))).map_err(wrong)?;
            dots.into_iter().try_for_each(|at| dot(root, at, &line.entry))?;
        }
    }
    let (middle, under) = corner((first + last) / 2.0, bottom);
    let style = text_at(TEXT, HPos::Center, VPos::Top);
    root.draw(&Text::new(summary.x_label.clone(), (middle, under + 34), style)).map_err(wrong)?;
    let (_, middle) = corner(first, (bottom + top) / 2.0);
    let style = upwards(TEXT, HPos::Center, VPos::Top);
    let y_label = match lines.iter().any(|line| line.entry.mean) {
        true => summary.y_label.clone(),
        false => format!("{}, {}", summary.y_label, mean_word(summary.average)),
    };
    root.draw(&Text::new(y_label, (12, middle), style)).map_err(wrong)
}

/// Stretches of a line between places without a number.
fn pieces(line: &Line, at: &[f64]) -> Vec<Vec<(f64, f64)>> {
    let mut all = vec![Vec::new()];
    for (x, cell) in at.iter().zip(&line.cells) {
        match (cell.value(), all.last_mut()) {
            (Some(value), Some(piece)) => piece.push((*x, value)),
            _ => all.push(Vec::new()),
        }
    }
    all.retain(|piece| !piece.is_empty());
    all
}

fn stroke(entry: &Entry) -> ShapeStyle {
    if entry.mean { BLACK.stroke_width(3) } else { colour(entry.series).stroke_width(2) }
}

/// A dot of a shape of the series' own, so that lines are told apart without colour too.
fn dot(area: &Area, (x, y): (i32, i32), entry: &Entry) -> Result<(), Error> {
    let fill = if entry.mean { BLACK.filled() } else { colour(entry.series).filled() };
    let drawn = match entry.series % 4 {
        _ if entry.mean => area.draw(&Circle::new((x, y), 5, fill)),
        0 => area.draw(&Circle::new((x, y), 4, fill)),
        1 => area.draw(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], fill)),
        2 => area.draw(&Polygon::new([(x, y - 5), (x + 5, y + 4), (x - 5, y + 4)], fill)),
        _ => area.draw(&Polygon::new([(x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)], fill)),
    };
    drawn.map_err(wrong)
}
