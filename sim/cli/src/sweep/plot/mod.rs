//! Pictures of a sweep's tables, as SVG and as PNG made from the same SVG. Fonts come with the program, so that a machine without any draws the same.

mod bars;
mod frame;
mod lines;
pub mod pairs;
pub mod stacked;
mod style;

use super::file::SweepFile;
use super::summary::{Panel, PlotKind, Summary};
use anyhow::{Context, Error, anyhow};
use resvg::{tiny_skia, usvg};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use weft_output::Output;

/// Dots of the PNG per unit of the SVG.
const SCALE: f32 = 2.0;

/// Draws the picture of a summary, or one for each of its tables; gives the files written.
///
/// # Errors
/// A picture that cannot be written.
pub fn draw(
    sweep: &SweepFile,
    summary: &Summary,
    panels: &[Panel],
    out: &Path,
) -> Result<Vec<PathBuf>, Error> {
    style::fonts();
    let name = format!("{}-{}", sweep.name, summary.name);
    match summary.plot {
        PlotKind::None => Ok(Vec::new()),
        PlotKind::Lines => write(out, &name, &lines::picture(sweep, summary, panels)?),
        PlotKind::Bars | PlotKind::Stacked => {
            let mut files = Vec::new();
            for panel in panels {
                let values: String =
                    panel.heading.iter().map(|(_, value)| format!("-{}", slug(value))).collect();
                let svg = match summary.plot {
                    PlotKind::Stacked => stacked::Stacked::new(summary, panel).picture()?,
                    _ => bars::picture(summary, panel)?,
                };
                files.extend(write(out, &format!("{name}{values}"), &svg)?);
            }
            Ok(files)
        }
    }
}

/// A value as a part of a file's name.
fn slug(value: &str) -> String {
    let letters = value.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' });
    letters.collect()
}

/// Writes a picture as SVG and as PNG into a folder; gives the files written.
///
/// # Errors
/// A picture that cannot be written.
pub fn write(out: &Path, name: &str, svg: &str) -> Result<Vec<PathBuf>, Error> {
    let (vector, dots) = (out.join(format!("{name}.svg")), out.join(format!("{name}.png")));
    weft_output::write(&vector, svg.as_bytes())?;
    weft_output::write(&dots, &png(svg)?)?;
    Ok(vec![vector, dots])
}

/// Writes a picture, as SVG or as the PNG that the path's end asks for.
///
/// # Errors
/// A picture that cannot be written.
pub fn save(svg: &str, mut file: Output) -> Result<(), Error> {
    let dots = file.path().extension().is_some_and(|e| e == "png");
    let bytes = if dots { png(svg)? } else { svg.into() };
    file.write_all(&bytes).map_err(|cause| file.failed(&cause))?;
    file.commit()?;
    Ok(())
}

/// The dots of an SVG.
fn png(svg: &str) -> Result<Vec<u8>, Error> {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    let options = usvg::Options {
        fontdb: Arc::new(fonts),
        font_family: "DejaVu Sans".into(),
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(svg, &options).context("the picture is no SVG")?;
    let size = tree.size().to_int_size().scale_by(SCALE).context("the picture is too large")?;
    let mut dots = tiny_skia::Pixmap::new(size.width(), size.height())
        .ok_or_else(|| anyhow!("no memory for a picture of {}x{} dots", size.width(), size.height()))?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut dots.as_mut());
    dots.encode_png().context("cannot make a PNG")
}
