//! Lines over a numeric axis: the geometric mean of each value of the other axes, or each workload and their mean.

use super::super::file::SweepFile;
use super::super::summary::{Average, Cell, Panel, Summary, numbers};
use super::frame::Frame;
use super::style::*;
use anyhow::Error;
use plotters::prelude::*;

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

/// Where values stand: by their logarithm if each is two to four times the one before, else by themselves.
fn places(values: &[f64]) -> Vec<f64> {
    let doubles = values.windows(2).all(|pair| pair[0] > 0.0 && (1.9..=4.1).contains(&(pair[1] / pair[0])));
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
    // From 0 unless that would press lines that differ into the upper half.
    let from = if low > 0.6 * high && low < high { low } else { 0.0 };
    let high = if high > 0.0 { high + 0.04 * (high - from) } else { 1.0 };
    let marks = steps(from, high, 6);
    let (first, last) = at.iter().fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(*x), b.max(*x)));
    let edge = ((last - first) * 0.04).max(0.05);
    let frame = Frame::new(root, (used + 6, 62), (first - edge, last + edge), &marks)?;
    for (x, label) in at.iter().zip(labels) {
        frame.upright(*x, GRID)?;
        frame.under(*x, 9, label)?;
        frame.tick(*x)?;
    }
    frame.under((first + last) / 2.0, 34, &summary.x_label)?;
    let y_label = match lines.iter().any(|line| line.entry.mean) {
        true => summary.y_label.clone(),
        false => format!("{}, {}", summary.y_label, mean_word(summary.average)),
    };
    frame.close(&y_label)?;
    for line in lines {
        // A line is broken where a run failed.
        for piece in pieces(line, at) {
            frame.line(&piece, stroke(&line.entry))?;
            piece.iter().try_for_each(|(x, y)| dot(root, frame.at(*x, *y), &line.entry))?;
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_double_stand_at_equal_distances_and_others_by_their_size() {
        assert_eq!(places(&[64.0, 128.0, 256.0, 1024.0]), [6.0, 7.0, 8.0, 10.0]);
        assert_eq!(places(&[4.0, 6.0, 8.0]), [4.0, 6.0, 8.0]);
        assert_eq!(places(&[1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0]), [1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
        assert_eq!(places(&[0.0, 1.0, 2.0]), [0.0, 1.0, 2.0]);
    }

    #[test]
    fn a_line_is_broken_where_a_run_failed() {
        let cells = vec![Cell::Value(1.0), Cell::Failed, Cell::Value(2.0), Cell::Value(3.0)];
        let line = Line { entry: Entry { label: String::new(), series: 0, mean: false }, cells };
        assert_eq!(pieces(&line, &[0.0, 1.0, 2.0, 3.0]), [vec![(0.0, 1.0)], vec![(2.0, 2.0), (3.0, 3.0)]]);
    }
}
