//! Groups of bars that are made of parts: the colour tells the part, a word under each bar which one it is.
//!
//! ```text
//!   ##        parts from the bottom in the order of the legend
//!   ##  ::
//!   ::  ::
//!   GD  DD    bars of a group
//!    SPM      the group
//! ```

use super::super::summary::{Cell, Panel, Show, Summary};
use super::bars::limit;
use super::frame::Frame;
use super::style::*;
use anyhow::Error;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// Height of the plane.
const PLANE: i32 = 270;

/// Width of a bar, with the space to the next one.
const BAR: f64 = 18.0;

/// Space between two bars, and at either end of a group.
const GAP: f64 = 3.0;
const EDGE: f64 = 9.0;

/// Units of the picture beside the plane.
const BESIDE: u32 = 100;

/// Size of the words under bars and of the numbers over them.
const SMALL: i32 = 11;

/// A bar.
pub struct Bar {
    /// The word under it.
    pub label: String,
    /// Its parts from the bottom, or that there is nothing to draw, and why.
    pub parts: Result<Vec<f64>, &'static str>,
    /// The number over it; none, if the axis says enough.
    pub number: Option<String>,
}

/// A picture of bars.
pub struct Stacked {
    /// Headline.
    pub title: String,
    /// What is counted upwards.
    pub y_label: String,
    /// What parts are called, in order.
    pub parts: Vec<String>,
    /// Each with its name.
    pub groups: Vec<(String, Vec<Bar>)>,
    /// A line across at 1.
    pub relative: bool,
    /// The last group is set apart by a line.
    pub mean: bool,
}

impl Stacked {
    /// A table with parts: a group for each row, and one for the means.
    pub fn new(summary: &Summary, panel: &Panel) -> Stacked {
        let relative = summary.show != Show::Value;
        let bar = |label: &String, whole: Cell, parts: Vec<Cell>, number: bool| Bar {
            label: label.clone(),
            parts: match whole {
                Cell::Failed => Err("failed"),
                Cell::Missing => Err("missing"),
                _ => parts.into_iter().map(|cell| cell.value().ok_or("-")).collect(),
            },
            number: whole.value().filter(|_| number && relative).map(|value| format!("{value:.2}")),
        };
        let group = |row: usize, cells: &[Cell]| {
            let bars = panel.columns.iter().zip(cells).enumerate().map(|(column, (label, whole))| {
                bar(label, *whole, panel.parts.iter().map(|part| part.rows[row][column]).collect(), false)
            });
            bars.collect::<Vec<Bar>>()
        };
        let mut groups: Vec<(String, Vec<Bar>)> = panel
            .rows
            .iter()
            .enumerate()
            .map(|(row, (name, cells))| (name.clone(), group(row, cells)))
            .collect();
        let means = panel.columns.iter().zip(&panel.mean).enumerate().map(|(column, (label, whole))| {
            bar(label, *whole, panel.parts.iter().map(|part| part.mean[column]).collect(), true)
        });
        groups.push((mean_word(summary.average).into(), means.collect()));
        Stacked {
            title: titled(&summary.title, &panel.heading),
            y_label: summary.y_label.clone(),
            parts: panel.parts.iter().map(|part| part.label.clone()).collect(),
            groups,
            relative,
            mean: true,
        }
    }

    /// Draws it.
    ///
    /// # Errors
    /// A drawing that fails.
    pub fn picture(&self) -> Result<String, Error> {
        fonts();
        let widths = self.groups.iter().map(|group| self.wide(group)).collect::<Result<Vec<f64>, Error>>()?;
        let wide = (widths.iter().sum::<f64>() as u32 + BESIDE).max(620);
        // Groups share what the least width of a picture leaves over.
        let scale = f64::from(wide - BESIDE) / widths.iter().sum::<f64>();
        let edges: Vec<f64> = std::iter::once(0.0)
            .chain(widths.iter().scan(0.0, |sum, width| {
                *sum += width * scale;
                Some(*sum)
            }))
            .collect();
        let entries: Vec<Entry> = self.entries();
        let above = used(wide, &self.title, &entries)? + 26;
        let below = self.under()? + 34;
        let mut svg = String::new();
        {
            let size = (wide, (above + PLANE + below) as u32);
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            root.fill(&WHITE).map_err(wrong)?;
            head(&root, &self.title, &entries, &|area, (x, y), entry| {
                let corners = [(x + 8, y - 6), (x + 22, y + 6)];
                area.draw(&Rectangle::new(corners, colour(entry.series).filled())).map_err(wrong)?;
                area.draw(&Rectangle::new(corners, INK.stroke_width(1))).map_err(wrong)
            })?;
            let sums = self.groups.iter().flat_map(|(_, bars)| bars).filter_map(Bar::sum);
            let (top, _) = limit(sums.collect());
            let x = (0.0, edges[edges.len() - 1]);
            let frame = Frame::new(&root, (above, below), x, &steps(0.0, top, 5))?;
            self.draw(&root, &frame, &edges)?;
            root.present().map_err(wrong)?;
        }
        Ok(svg)
    }

    fn entries(&self) -> Vec<Entry> {
        let parts = self.parts.iter().enumerate();
        parts.map(|(series, label)| Entry { label: label.clone(), series, mean: false }).collect()
    }

    /// Width of a group: of its bars, and of its name.
    fn wide(&self, (name, bars): &(String, Vec<Bar>)) -> Result<f64, Error> {
        let word = f64::from(width(name, TEXT)?) + 12.0;
        Ok((bars.len() as f64 * BAR + 2.0 * EDGE).max(word))
    }

    /// Room for the words under bars.
    fn under(&self) -> Result<i32, Error> {
        let mut labels = self.groups.iter().flat_map(|(_, bars)| bars).map(|bar| width(&bar.label, SMALL));
        labels.try_fold(0, |most, label| Ok(most.max(label? + 8)))
    }

    fn draw(&self, root: &Area, frame: &Frame, edges: &[f64]) -> Result<(), Error> {
        if self.relative && frame.top() > 1.0 {
            frame.line(&[(0.0, 1.0), (edges[edges.len() - 1], 1.0)], INK.mix(0.6))?;
        }
        let under = self.under()?;
        for ((name, bars), edge) in self.groups.iter().zip(edges.windows(2)) {
            let middle = (edge[0] + edge[1]) / 2.0;
            for (at, bar) in bars.iter().enumerate() {
                let left = middle + (at as f64 - bars.len() as f64 / 2.0) * BAR;
                bar.draw(root, frame, left)?;
            }
            frame.under(middle, under + 9, name)?;
            frame.tick(edge[0])?;
        }
        if self.mean {
            frame.upright(edges[edges.len() - 2], INK)?;
        }
        frame.close(&self.y_label)
    }
}

impl Bar {
    fn sum(&self) -> Option<f64> {
        self.parts.as_ref().ok().map(|parts| parts.iter().sum())
    }

    /// The bar and its words, with its space beginning at `left`.
    fn draw(&self, root: &Area, frame: &Frame, left: f64) -> Result<(), Error> {
        let (from, to) = (left + GAP / 2.0, left + BAR - GAP / 2.0);
        let mut below = 0.0;
        for (series, part) in self.parts.iter().flatten().enumerate() {
            let above = (below + part).min(frame.top());
            let corners = [frame.at(from, below), frame.at(to, above)];
            root.draw(&Rectangle::new(corners, colour(series).filled())).map_err(wrong)?;
            below = above;
        }
        if below > 0.0 {
            let corners = [frame.at(from, 0.0), frame.at(to, below)];
            root.draw(&Rectangle::new(corners, INK.stroke_width(1))).map_err(wrong)?;
        }
        let (x, bottom) = frame.at(left + BAR / 2.0, 0.0);
        let style = || upwards(SMALL, HPos::Right, VPos::Center);
        root.draw(&Text::new(self.label.clone(), (x, bottom + 6), style())).map_err(wrong)?;
        let cut = self.sum().filter(|sum| *sum > frame.top() * 1.000_001);
        let over = match (&self.parts, cut) {
            (Err(why), _) => Some(why.to_string()),
            (Ok(_), Some(sum)) if self.number.is_none() => Some(mark(sum, sum / 100.0)),
            _ => self.number.clone(),
        };
        let Some(over) = over else { return Ok(()) };
        let (x, y) = frame.at(left + BAR / 2.0, below);
        // Lines across the plane end beside the number.
        let behind = [(x - SMALL / 2, y - 5 - width(&over, SMALL)?), (x + SMALL / 2, y - 2)];
        root.draw(&Rectangle::new(behind, WHITE.filled())).map_err(wrong)?;
        let style = upwards(SMALL, HPos::Left, VPos::Center);
        root.draw(&Text::new(over, (x, y - 3), style)).map_err(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacked(second: Result<Vec<f64>, &'static str>) -> Stacked {
        let bar = |label: &str, parts| Bar { label: label.into(), parts, number: None };
        let bars = vec![bar("GD", Ok(vec![0.25, 0.75])), bar("DD", second)];
        Stacked {
            title: "t".into(),
            y_label: "y".into(),
            parts: vec!["idle".into(), "busy".into()],
            groups: vec![("spm".into(), bars)],
            relative: true,
            mean: false,
        }
    }

    /// Rectangles of a colour, as heights.
    fn heights(svg: &str, series: usize) -> Vec<i32> {
        let RGBColor(r, g, b) = colour(series);
        let fill = format!("fill=\"#{r:02X}{g:02X}{b:02X}\"");
        let number = |line: &str| line.split("height=\"").nth(1)?.split('"').next()?.parse().ok();
        svg.lines().filter(|line| line.contains("<rect") && line.contains(&fill)).filter_map(number).collect()
    }

    #[test]
    fn parts_are_as_high_as_their_share_and_legend_and_words_are_there() {
        let svg = stacked(Ok(vec![0.1, 0.3])).picture().expect("drawn");
        let (idle, busy) = (heights(&svg, 0), heights(&svg, 1));
        // The first of each is that of the legend; the plane is 1 high.
        assert!(
            (idle[1] - PLANE / 4).abs() <= 1 && (busy[1] - 3 * PLANE / 4).abs() <= 1,
            "{idle:?} {busy:?}"
        );
        assert!(
            (idle[2] - PLANE / 10).abs() <= 1 && (busy[2] - 3 * PLANE / 10).abs() <= 1,
            "{idle:?} {busy:?}"
        );
        for word in ["GD", "DD", "spm", "idle", "busy", "t", "y"] {
            assert!(svg.contains(&format!("\n{word}\n")), "{word} is missing");
        }
    }

    #[test]
    fn a_failed_run_is_a_word_in_the_place_of_a_bar() {
        let svg = stacked(Err("failed")).picture().expect("drawn");
        assert!(svg.contains("\nfailed\n") && heights(&svg, 0).len() == 2, "{svg}");
    }
}
