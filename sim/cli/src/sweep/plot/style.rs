//! What all pictures share: fonts, colours, the strip with title and legend, the marks of the axes.

use super::super::summary::Average;
use anyhow::{Error, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, FontTransform};
use std::sync::Once;

/// Where pictures are drawn.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Fonts in order of preference; all have the widths of the first, which comes with the program.
const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// Height of common text.
pub const TEXT: i32 = 14;

/// Height of the headline.
const HEADLINE: i32 = 17;

/// Lines of axes.
pub const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);

/// Lines of the grid.
pub const GRID: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);

/// Colours that people with any kind of colour vision tell apart, also in print (after P. Tol).
const COLOURS: [RGBColor; 9] = [
    RGBColor(0x44, 0x77, 0xaa),
    RGBColor(0xee, 0x66, 0x77),
    RGBColor(0x22, 0x88, 0x33),
    RGBColor(0xcc, 0xbb, 0x44),
    RGBColor(0x66, 0xcc, 0xee),
    RGBColor(0xaa, 0x33, 0x77),
    RGBColor(0xbb, 0xbb, 0xbb),
    RGBColor(0x99, 0x66, 0x33),
    RGBColor(0x33, 0x33, 0x66),
];

/// Makes the fonts known to the drawing crate.
pub fn fonts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (style, bytes) in
            [(FontStyle::Normal, dejavu::sans::regular()), (FontStyle::Bold, dejavu::sans::bold())]
        {
            // Fails only for bytes that are no font, which every test of a picture would show.
            let _ = plotters::style::register_font(FAMILY, style, bytes);
        }
    });
}

/// The colour of a series. Those after the last colour begin anew in lighter shades, so that no two series of up to three times as many look the same.
pub fn colour(series: usize) -> RGBColor {
    let RGBColor(r, g, b) = COLOURS[series % COLOURS.len()];
    let white = [0, 50, 75][(series / COLOURS.len()).min(2)];
    let lighter = |part: u8| (u32::from(part) + (255 - u32::from(part)) * white / 100) as u8;
    RGBColor(lighter(r), lighter(g), lighter(b))
}

/// A font of common text.
pub fn font(size: i32) -> TextStyle<'static> {
    (FAMILY, size).into_font().color(&INK)
}

/// Common text whose given corner or side is where it is drawn.
pub fn text_at(size: i32, h: HPos, v: VPos) -> TextStyle<'static> {
    font(size).pos(Pos::new(h, v))
}

/// Text that runs upwards.
pub fn upwards(size: i32, h: HPos, v: VPos) -> TextStyle<'static> {
    (FAMILY, size).into_font().transform(FontTransform::Rotate270).color(&INK).pos(Pos::new(h, v))
}

/// What a picture calls its mean.
pub fn mean_word(average: Average) -> &'static str {
    match average {
        Average::Geometric => "geomean",
        Average::Arithmetic => "mean",
    }
}

/// The error of a drawing.
pub fn wrong(error: impl std::fmt::Display) -> Error {
    anyhow!("cannot draw the picture: {error}")
}

/// Width of a text.
pub fn width(text: &str, size: i32) -> Result<i32, Error> {
    let (width, _) = font(size).font.box_size(text).map_err(wrong)?;
    Ok(width as i32)
}

/// An entry of the legend.
pub struct Entry {
    /// Its words.
    pub label: String,
    /// Series, for colour and mark.
    pub series: usize,
    /// Thick and black: the mean.
    pub mean: bool,
}

fn headline() -> TextStyle<'static> {
    let style = (FAMILY, HEADLINE).into_font().style(FontStyle::Bold).color(&INK);
    style.pos(Pos::new(HPos::Center, VPos::Top))
}

/// A title in as many lines as it needs.
fn wrapped(title: &str, most: i32) -> Result<Vec<String>, Error> {
    let mut lines: Vec<String> = Vec::new();
    for word in title.split_whitespace() {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        let fits =
            |line: &String| headline().font.box_size(line).map(|(w, _)| (w as i32) <= most).map_err(wrong);
        match longer {
            Some(line) if fits(&line)? => *lines.last_mut().ok_or_else(|| wrong("no line"))? = line,
            _ => lines.push(word.into()),
        }
    }
    Ok(lines)
}

/// A headline with the values of the axes that a picture has fixed.
pub fn titled(title: &str, heading: &[(String, String)]) -> String {
    let named = heading.iter().map(|(name, value)| format!("{name} = {value}"));
    let parts = [title.to_string()].into_iter().chain(named);
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Entries in lines of a picture of this width, each with its place and the width of the line.
type Rows<'a> = Vec<(i32, Vec<(&'a Entry, i32)>)>;

fn rows(full: i32, entries: &[Entry]) -> Result<Rows<'_>, Error> {
    let mut rows: Rows = vec![(0, Vec::new())];
    for entry in entries {
        let need = 30 + width(&entry.label, TEXT)? + 22;
        if rows.last().is_some_and(|(used, row)| used + need > full - 40 && !row.is_empty()) {
            rows.push((0, Vec::new()));
        }
        if let Some((used, row)) = rows.last_mut() {
            row.push((entry, *used));
            *used += need;
        }
    }
    rows.retain(|(_, row)| !row.is_empty());
    Ok(rows)
}

/// The height that [`head`] will use in a picture of this width.
pub fn used(full: u32, title: &str, entries: &[Entry]) -> Result<i32, Error> {
    let full = full as i32;
    let (title, legend) = (wrapped(title, full - 40)?.len() as i32, rows(full, entries)?.len() as i32);
    Ok(22 + title * (HEADLINE + 5) + legend * (TEXT + 9))
}

/// Draws title and legend over the picture, the entries in as many centred lines as they need; gives the height used.
pub fn head(
    area: &Area,
    title: &str,
    entries: &[Entry],
    mark: &dyn Fn(&Area, (i32, i32), &Entry) -> Result<(), Error>,
) -> Result<i32, Error> {
    let (w, _) = area.dim_in_pixel();
    let full = w as i32;
    let mut y = 14;
    for line in wrapped(title, full - 40)? {
        area.draw(&Text::new(line, (full / 2, y), headline())).map_err(wrong)?;
        y += HEADLINE + 5;
    }
    y += 8;
    for (used, row) in rows(full, entries)? {
        let left = (full - used + 22) / 2;
        for (entry, x) in row {
            mark(area, (left + x, y + TEXT / 2), entry)?;
            let style = text_at(TEXT, HPos::Left, VPos::Center);
            area.draw(&Text::new(entry.label.clone(), (left + x + 30, y + TEXT / 2), style))
                .map_err(wrong)?;
        }
        y += TEXT + 9;
    }
    Ok(y)
}

/// Round steps of an axis from `from` (or below it) to `to` or above: the values of the marks.
pub fn steps(from: f64, to: f64, about: usize) -> Vec<f64> {
    // Where all values are one, steps are as for the way from 0 to it.
    let size = from.abs().max(to.abs());
    let span = if to - from > 1e-9 * size { to - from } else { size.max(f64::MIN_POSITIVE) };
    let raw = span / about as f64;
    let unit = 10f64.powf(raw.log10().floor());
    let step =
        [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|m| m * unit).find(|s| *s >= raw * 0.999).unwrap_or(unit);
    let (first, last) = ((from / step + 1e-9).floor() as i64, (to / step - 1e-9).ceil() as i64);
    (first..=last.max(first + 1)).map(|n| n as f64 * step).collect()
}

/// A number as a mark of an axis whose marks are `step` apart.
pub fn mark(value: f64, step: f64) -> String {
    let (scaled, suffix, scale) = match value.abs().max(step) {
        top if top >= 1e9 => (value / 1e9, "G", 1e9),
        top if top >= 1e6 => (value / 1e6, "M", 1e6),
        top if top >= 1e4 => (value / 1e3, "k", 1e3),
        _ => (value, "", 1.0),
    };
    let whole = |number: f64| (number - number.round()).abs() < 1e-6;
    let digits = (0..6).find(|d| whole((step / scale) * 10f64.powi(*d))).unwrap_or(6);
    if value == 0.0 { "0".into() } else { format!("{scaled:.0$}{suffix}", digits as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_cover_the_range() {
        assert_eq!(steps(0.0, 1.37, 5), [0.0, 0.5, 1.0, 1.5]);
        assert_eq!(steps(0.0, 100.0, 5), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(steps(0.0, 0.0, 5).len(), 2);
        assert_eq!(steps(12_000.0, 12_000.0, 5), [10_000.0, 12_500.0]);
        assert_eq!(steps(-3.0, -3.0, 5), [-3.0, -2.0]);
    }

    #[test]
    fn marks_are_as_short_as_their_step_allows() {
        assert_eq!(mark(0.5, 0.25), "0.50");
        assert_eq!(mark(1.0, 0.5), "1.0");
        assert_eq!(mark(1.05, 1.05 - 1.0), "1.05", "a step with an error of rounding");
        assert_eq!(mark(150_000.0, 50_000.0), "150k");
        assert_eq!(mark(2_500_000.0, 500_000.0), "2.5M");
        assert_eq!(mark(20.0, 20.0), "20");
    }

    #[test]
    fn series_beyond_the_colours_have_shades_of_their_own() {
        let all: Vec<RGBColor> = (0..3 * COLOURS.len()).map(colour).collect();
        for (at, one) in all.iter().enumerate() {
            assert!(!all[..at].contains(one), "series {at} looks like one before it");
        }
        assert_eq!(all[..COLOURS.len()], COLOURS);
    }

    #[test]
    fn the_fonts_that_come_along_are_fonts() {
        fonts();
        assert!(width("weft", TEXT).expect("measured") > 20);
    }
}
