//! The plane of a picture with its axes.

use super::style::*;
use anyhow::Error;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

/// A range.
pub type Range = (f64, f64);

/// A plane in which things are drawn by their coordinates.
pub struct Frame<'r, 'a> {
    root: &'r Area<'a>,
    chart: ChartContext<'r, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>,
    x: Range,
    y: Range,
}

impl<'r, 'a> Frame<'r, 'a> {
    /// A plane below `above` and above `below` units of the picture, with a line across at each of `marks`, of which the first and last are its edges.
    ///
    /// # Errors
    /// A drawing that fails.
    pub fn new(
        root: &'r Area<'a>,
        (above, below): (i32, i32),
        x: Range,
        marks: &[f64],
    ) -> Result<Self, Error> {
        let y = (marks[0], marks[marks.len() - 1]);
        let chart = ChartBuilder::on(root)
            .margin_right(22)
            .margin_top(above)
            .margin_bottom(below)
            .margin_left(78)
            .build_cartesian_2d(x.0..x.1, y.0..y.1)
            .map_err(wrong)?;
        let frame = Frame { root, chart, x, y };
        for value in marks {
            frame.line(&[(x.0, *value), (x.1, *value)], GRID)?;
            let (left, height) = frame.at(x.0, *value);
            let style = text_at(TEXT, HPos::Right, VPos::Center);
            let text = mark(*value, marks[1] - marks[0]);
            root.draw(&Text::new(text, (left - 8, height), style)).map_err(wrong)?;
            root.draw(&PathElement::new([(left - 4, height), (left, height)], INK)).map_err(wrong)?;
        }
        Ok(frame)
    }

    /// The place of a pair of coordinates in the picture.
    pub fn at(&self, x: f64, y: f64) -> (i32, i32) {
        self.chart.backend_coord(&(x, y))
    }

    /// Units of the picture from one edge to the other.
    pub fn width(&self) -> f64 {
        f64::from(self.at(self.x.1, 0.0).0 - self.at(self.x.0, 0.0).0)
    }

    /// Largest value.
    pub fn top(&self) -> f64 {
        self.y.1
    }

    /// A line through these places.
    ///
    /// # Errors
    /// A drawing that fails.
    pub fn line(&self, places: &[(f64, f64)], style: impl Into<ShapeStyle>) -> Result<(), Error> {
        let places: Vec<(i32, i32)> = places.iter().map(|(x, y)| self.at(*x, *y)).collect();
        self.root.draw(&PathElement::new(places, style)).map_err(wrong)
    }

    /// Words under the plane.
    ///
    /// # Errors
    /// A drawing that fails.
    pub fn under(&self, x: f64, below: i32, text: &str) -> Result<(), Error> {
        let (x, y) = self.at(x, self.y.0);
        let style = text_at(TEXT, HPos::Center, VPos::Top);
        self.root.draw(&Text::new(text.to_string(), (x, y + below), style)).map_err(wrong)
    }

    /// A mark under the plane.
    ///
    /// # Errors
    /// A drawing that fails.
    pub fn tick(&self, x: f64) -> Result<(), Error> {
        let (x, y) = self.at(x, self.y.0);
        self.root.draw(&PathElement::new([(x, y), (x, y + 5)], INK)).map_err(wrong)
    }

    /// A line from bottom to top.
    ///
    /// # Errors
    /// A drawing that fails.
    pub fn upright(&self, x: f64, colour: RGBColor) -> Result<(), Error> {
        self.line(&[(x, self.y.0), (x, self.y.1)], colour)
    }

    /// The edges, and the name of what is counted upwards.
    ///
    /// # Errors
    /// A drawing that fails.
    pub fn close(&self, y_label: &str) -> Result<(), Error> {
        let ((left, right), (bottom, top)) = (self.x, self.y);
        self.line(&[(left, top), (left, bottom), (right, bottom), (right, top), (left, top)], INK)?;
        let (_, middle) = self.at(left, (bottom + top) / 2.0);
        let style = upwards(TEXT, HPos::Center, VPos::Top);
        self.root.draw(&Text::new(y_label.to_string(), (12, middle), style)).map_err(wrong)
    }
}
