//! The report of a system, or of all.

use super::figure::FigureDone;
use super::published::Published;
use crate::document::{Block, html, markdown};
use crate::sweep::plot;
use crate::sweep::tier::Tier;
use anyhow::Error;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

/// Schema of the record.
pub const SCHEMA: &str = "weft-reproduce-1";

/// A system with what was measured.
pub struct SystemDone {
    /// Its file.
    pub published: Published,
    /// Figures that were asked for.
    pub figures: Vec<FigureDone>,
    /// Whether these are all.
    pub whole: bool,
    /// Size of the runs that was asked for.
    pub tier: Tier,
}

impl SystemDone {
    /// The report, its headings from this depth on; pictures of comparisons are written.
    ///
    /// # Errors
    /// A picture that cannot be drawn or written.
    pub fn blocks(&self, depth: u8, out: &Path) -> Result<Vec<Block>, Error> {
        let system = &self.published.system;
        let mut blocks = vec![
            Block::Heading(depth, format!("{system}: {}", self.published.about)),
            Block::Text(format!(
                "Published: {}. Tier {}: {}.",
                self.published.source,
                self.tier.name(),
                self.tier.about()
            )),
        ];
        for done in &self.figures {
            let figure = &done.figure;
            blocks.push(Block::Heading(depth + 1, format!("{} ({system} {})", figure.title, figure.name)));
            if let Some(recorded) = &done.recorded {
                blocks.push(Block::Text(recorded.clone()));
            } else if let Some(sweep) = &figure.sweep {
                let some = |count: usize, what: &str| match count {
                    0 => String::new(),
                    _ => format!(" {count} of them {what}."),
                };
                let failed = some(done.runs.failed, "failed or gave a wrong result");
                let missing = some(done.runs.missing, "are missing");
                let tier = match done.tier {
                    Some(tier) => format!(" --tier {}", tier.name()),
                    None => String::new(),
                };
                let other = match done.tier == Some(self.tier) {
                    true => String::new(),
                    false => format!(", which has no tier {}", self.tier.name()),
                };
                blocks.push(Block::Text(format!(
                    "{} runs of `weft sweep {sweep}{tier}`{other}.{missing}{failed}",
                    done.runs.needed
                )));
            }
            if let Some(says) = &figure.says {
                blocks.push(Block::Text(format!("Published: {says}.")));
            }
            if let Some(svg) = done.bars()? {
                let name = format!("{system}-{}", figure.name);
                plot::write(&out.join("pictures"), &name, &svg)?;
                blocks.push(Block::Picture {
                    file: format!("pictures/{name}.svg"),
                    alt: figure.title.clone(),
                    svg,
                });
            }
            blocks.extend(done.table().map(Block::Table));
            for (what, ordered) in &done.orders {
                let (published, measured) = (&ordered.published, &ordered.measured);
                blocks.push(Block::Text(format!(
                    "Order of {what}: published {published}; measured {measured}."
                )));
            }
            let words = done.words();
            if !words.is_empty() {
                blocks.push(Block::List(words));
            }
            if let Some(see) = &figure.see {
                blocks.push(Block::Text(format!("Reasons: RESULTS.md, {see}.")));
            }
            blocks.extend(done.shown.iter().flat_map(|(_, blocks)| blocks.clone()));
        }
        if self.whole && !self.published.missing.is_empty() {
            blocks.push(Block::Heading(depth + 1, format!("Published and not measured ({system})")));
            let head = ["", "published", "why not"].map(str::to_string).to_vec();
            let line = |m: &super::published::Missing| {
                vec![m.what.clone(), m.published.clone(), m.not_measured.clone()]
            };
            blocks.push(Block::Table(
                [head].into_iter().chain(self.published.missing.iter().map(line)).collect(),
            ));
        }
        Ok(blocks)
    }

    /// The record.
    pub fn json(&self) -> Json {
        let missing = self.published.missing.iter();
        let missing: Vec<Json> = missing
            .map(|m| json!({ "what": m.what, "published": m.published, "not_measured": m.not_measured }))
            .collect();
        json!({
            "schema": SCHEMA,
            "system": self.published.system,
            "about": self.published.about,
            "source": self.published.source,
            "tier": self.tier.name(),
            "figures": self.figures.iter().map(FigureDone::json).collect::<Vec<_>>(),
            "missing": missing,
        })
    }

    /// Figures, rows that are compared, and those that are near.
    fn counts(&self) -> [usize; 3] {
        self.figures.iter().fold([self.figures.len(), 0, 0], |[figures, all, near], done| {
            let (more, fine) = done.near();
            [figures, all + more, near + fine]
        })
    }
}

/// Writes the report of one system, or of one of its figures: Markdown, one page of HTML, and the record; gives the files.
///
/// # Errors
/// A file that cannot be written.
pub fn write(done: &SystemDone, name: &str, out: &Path) -> Result<Vec<PathBuf>, Error> {
    let blocks = done.blocks(1, out)?;
    let title = format!("{name}: measured beside published");
    let record = serde_json::to_string_pretty(&done.json())?;
    let texts = [("md", markdown(&blocks)), ("html", html(&title, &blocks)), ("json", format!("{record}\n"))];
    let mut files = Vec::new();
    for (end, text) in texts {
        let path = out.join(format!("{name}.{end}"));
        weft_output::write(&path, text.as_bytes())?;
        files.push(path);
    }
    Ok(files)
}

/// Writes the report of all systems: `index.md`, and `report.html`, which holds everything; gives the files.
///
/// # Errors
/// A file that cannot be written.
pub fn write_all(all: &[SystemDone], out: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut blocks = vec![
        Block::Heading(1, "Published results beside measured ones".into()),
        Block::Text(
            "Every headline number and every sweep of the publications: measured on the register-transfer hardware, published, and their ratio. A row is near when measured is two thirds to one \
             and a half of published and on the same side of 1; where it is not, counters of both sides follow. Every run is checked against the host's own computation."
                .into(),
        ),
    ];
    let head = ["system", "about", "figures", "compared", "near", "differ"].map(str::to_string).to_vec();
    let line = |done: &SystemDone| {
        let [figures, compared, near] = done.counts();
        let numbers = [figures, compared, near, compared - near].map(|n| n.to_string());
        [vec![done.published.system.clone(), done.published.about.clone()], numbers.to_vec()].concat()
    };
    let mut index = blocks.clone();
    let table = Block::Table([head].into_iter().chain(all.iter().map(line)).collect());
    blocks.push(table.clone());
    index.push(table);
    let mut links = Vec::new();
    for done in all {
        blocks.extend(done.blocks(2, out)?);
        let system = &done.published.system;
        links.push(format!("[{system}]({system}.md): {}", done.published.about));
        let words: Vec<String> = done.figures.iter().flat_map(FigureDone::words).collect();
        index.push(Block::Heading(2, format!("{system}: what differs")));
        index.push(match words.is_empty() {
            true => Block::Text("Nothing.".into()),
            false => Block::List(words),
        });
    }
    index.insert(3, Block::List(links));
    let title = "Published results beside measured ones";
    let mut files = Vec::new();
    for (name, text) in [("index.md", markdown(&index)), ("report.html", html(title, &blocks))] {
        let path = out.join(name);
        weft_output::write(&path, text.as_bytes())?;
        files.push(path);
    }
    Ok(files)
}
