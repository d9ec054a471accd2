//! Numbers beside what is published of them: two bars that lie side by side for each, with their numbers at the ends. A published range is a bar from its least to its most.
//!
//! ```text
//!   REC over the baseline  |########        1.252 (+25.2%)
//!                          |::::::::::      +32.7%
//! ```

use super::style::*;
use anyhow::Error;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Width of the picture.
const WIDTH: i32 = 860;

/// Height of a bar, and of a pair with the space to the next.
const BAR: i32 = 15;
const PAIR: i32 = 44;

/// Room at the right for the numbers.
const NUMBERS: i32 = 150;

/// Labels are cut into lines of this width.
const LABEL: i32 = 270;

/// A range whose most is so many times what else there is, is open upwards.
const OPEN: f64 = 5.0;

/// Height of labels and numbers.
const SMALL: i32 = 12;

/// A number and what is published of it.
pub struct Pair {
    /// Of what.
    pub label: String,
    /// Measured.
    pub measured: f64,
    /// Least and most of what is published, if it is a number; both the same if it is no range.
    pub published: Option<[f64; 2]>,
    /// Both as words.
    pub words: [String; 2],
}

/// Draws pairs. All are relative if `axis` says to what: then these words stand below, and a line at 1.
///
/// # Errors
/// A drawing that fails.
pub fn picture(title: &str, pairs: &[Pair], axis: Option<&str>) -> Result<String, Error> {
    fonts();
    let entries = ["measured", "published"].iter().enumerate();
    let entries: Vec<Entry> =
        entries.map(|(series, label)| Entry { label: (*label).into(), series, mean: false }).collect();
    let above = used(WIDTH as u32, title, &entries)? + 8;
    let below = above + PAIR * pairs.len() as i32;
    let mut svg = String::new();
    {
        let size = (WIDTH as u32, (below + if axis.is_some() { 56 } else { 40 }) as u32);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE).map_err(wrong)?;
        head(&root, title, &entries, &|area, (x, y), entry| {
            area.draw(&Rectangle::new([(x + 8, y - 6), (x + 22, y + 6)], fill(entry.series))).map_err(wrong)
        })?;
        draw(&root, pairs, axis, (above, below))?;
        root.present().map_err(wrong)?;
    }
    Ok(svg)
}

fn fill(series: usize) -> ShapeStyle {
    // Published is grey: a measure, not a rival.
    if series == 0 { colour(0).filled() } else { colour(6).filled() }
}

/// The largest number that an axis has to show: not the most of a range that is open upwards, as "all gain" is.
fn top(pairs: &[Pair]) -> f64 {
    let of = |pair: &Pair| {
        let [least, most] = pair.published.unwrap_or([pair.measured; 2]);
        let known = pair.measured.max(least);
        if most <= OPEN * known.max(1.0) { known.max(most) } else { known }
    };
    pairs.iter().map(of).fold(f64::MIN_POSITIVE, f64::max)
}

fn draw(root: &Area, pairs: &[Pair], axis: Option<&str>, (above, below): (i32, i32)) -> Result<(), Error> {
    let labels = pairs.iter().map(|pair| lines(&pair.label)).collect::<Result<Vec<_>, Error>>()?;
    let widths = labels.iter().flatten().map(|line| width(line, SMALL)).collect::<Result<Vec<_>, Error>>()?;
    let left = 30 + widths.into_iter().max().unwrap_or(0);
    let right = WIDTH - NUMBERS;
    let marks = steps(0.0, top(pairs), 5);
    let end = marks[marks.len() - 1];
    let at = |value: f64| left + (f64::from(right - left) * (value / end).clamp(0.0, 1.0)).round() as i32;
    for value in &marks {
        root.draw(&PathElement::new([(at(*value), above), (at(*value), below)], GRID)).map_err(wrong)?;
        let style = text_at(SMALL, HPos::Center, VPos::Top);
        root.draw(&Text::new(mark(*value, marks[1] - marks[0]), (at(*value), below + 8), style))
            .map_err(wrong)?;
    }
    if let Some(words) = axis {
        let style = text_at(SMALL, HPos::Center, VPos::Top);
        root.draw(&Text::new(words.to_string(), ((left + right) / 2, below + 28), style)).map_err(wrong)?;
    }
    if axis.is_some() && end > 1.0 {
        root.draw(&PathElement::new([(at(1.0), above), (at(1.0), below)], INK.mix(0.7))).map_err(wrong)?;
    }
    for ((number, pair), label) in pairs.iter().enumerate().zip(&labels) {
        let y = above + PAIR * number as i32 + (PAIR - 2 * BAR) / 2;
        let middle = y + BAR - (label.len() as i32 - 1) * (SMALL + 3) / 2;
        for (line, words) in label.iter().enumerate() {
            let style = text_at(SMALL, HPos::Right, VPos::Center);
            let place = (left - 10, middle + line as i32 * (SMALL + 3));
            root.draw(&Text::new(words.clone(), place, style)).map_err(wrong)?;
        }
        let measured = Some([pair.measured; 2]);
        for (series, value) in [measured, pair.published].into_iter().enumerate() {
            let Some([least, most]) = value else { continue };
            let y = y + BAR * series as i32;
            let (begin, end) = (if least < most { at(least) } else { left }, at(most));
            root.draw(&Rectangle::new([(begin, y + 1), (end, y + BAR - 1)], fill(series))).map_err(wrong)?;
            // Lines across the plane end beside the number.
            let (x, wide) = (end + 4, width(&pair.words[series], SMALL)? + 4);
            let behind = [(x, y + 1), (x + wide, y + BAR - 1)];
            root.draw(&Rectangle::new(behind, WHITE.filled())).map_err(wrong)?;
            let style = text_at(SMALL, HPos::Left, VPos::Center);
            root.draw(&Text::new(pair.words[series].clone(), (end + 6, y + BAR / 2), style))
                .map_err(wrong)?;
        }
    }
    root.draw(&PathElement::new([(left, above), (left, below)], INK)).map_err(wrong)
}

/// A label in as many lines as it needs.
fn lines(label: &str) -> Result<Vec<String>, Error> {
    let mut lines: Vec<String> = Vec::new();
    for word in label.split_whitespace() {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match (longer, lines.last_mut()) {
            (Some(line), Some(last)) if width(&line, SMALL)? <= LABEL => *last = line,
            _ => lines.push(word.into()),
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(measured: f64, published: Option<f64>) -> Pair {
        ranged(measured, published.map(|number| [number; 2]))
    }

    fn ranged(measured: f64, published: Option<[f64; 2]>) -> Pair {
        Pair { label: "REC".into(), measured, published, words: ["1.252".into(), "+32.7%".into()] }
    }

    /// Widths of the rectangles of a series.
    fn widths(svg: &str, series: usize) -> Vec<i32> {
        let RGBColor(r, g, b) = if series == 0 { colour(0) } else { colour(6) };
        let colour = format!("fill=\"#{r:02X}{g:02X}{b:02X}\"");
        let number = |line: &str| line.split(" width=\"").nth(1)?.split('"').next()?.parse().ok();
        svg.lines()
            .filter(|line| line.contains("<rect") && line.contains(&colour))
            .filter_map(number)
            .collect()
    }

    #[test]
    fn bars_are_as_long_as_their_numbers_and_have_their_words() {
        let svg = picture("t", &[pair(1.0, Some(2.0)), pair(1.5, None)], Some("speedup over RDMA"));
        let svg = svg.expect("drawn");
        let (measured, published) = (widths(&svg, 0), widths(&svg, 1));
        // The first of each is that of the legend.
        assert!((measured.len(), published.len()) == (3, 2), "{measured:?} {published:?}");
        assert!(
            (published[1] - 2 * measured[1]).abs() <= 1 && measured[2] > measured[1],
            "{measured:?} {published:?}"
        );
        for word in ["REC", "1.252", "+32.7%", "measured", "published", "speedup over RDMA"] {
            assert!(svg.contains(&format!("\n{word}\n")), "{word} is missing");
        }
    }

    #[test]
    fn a_range_begins_at_its_least_and_an_open_one_does_not_stretch_the_axis() {
        let pairs = [pair(1.0, Some(4.0)), ranged(0.5, Some([2.0, 4.0])), ranged(0.5, Some([1.0, 100.0]))];
        assert_eq!(top(&pairs), 4.0);
        let published = widths(&picture("t", &pairs, None).expect("drawn"), 1);
        assert!((published[1] - 2 * published[2]).abs() <= 1, "half of the way from 0 to 4: {published:?}");
        assert!((4 * published[3] - 3 * published[1]).abs() <= 4, "from 1 to the end: {published:?}");
    }

    #[test]
    fn long_labels_are_cut_into_lines() {
        let label = "share of evictions among the invalidations that drop a line, in the baseline";
        let cut = lines(label).expect("measured");
        assert!(cut.len() == 2 && cut.join(" ") == label, "{cut:?}");
    }
}
