//! Tables of a page that a person writes: the page has marks for them, and they are made from records.
//!
//! `<!-- weft: verdicts -->` is the place of the headlines of all systems, `<!-- weft: figure SYSTEM NAME -->` that
//! of a figure's rows at all tiers, `<!-- weft: inputs SYSTEM NAME -->` that of what its programs bring,
//! `<!-- weft: summary SYSTEM NAME SUMMARY TIER -->` that of a sweep's table; `<!-- weft: end -->` ends each.

use super::figure::{FigureDone, RowDone};
use super::inputs;
use super::report::SystemDone;
use super::words::{Verdict, ratio, verdict};
use crate::document::Block;
use crate::marks;
use crate::sweep::tier::Tier;
use anyhow::{Error, anyhow};
use std::path::Path;

/// A row at a tier.
type At<'a> = (Tier, &'a RowDone);

/// What a page's tables are made of.
pub struct Tables<'a> {
    /// All systems at each tier.
    pub tiers: Vec<(Tier, Vec<SystemDone>)>,
    /// The folder of records.
    pub records: &'a Path,
}

impl Tables<'_> {
    /// The page with its tables made anew; all else stays as it is.
    ///
    /// # Errors
    /// A mark that names nothing, or has no end; with its line.
    pub fn fill(&self, page: &str) -> Result<String, Error> {
        marks::fill(page, |mark| self.blocks(mark))
    }

    fn blocks(&self, mark: &[&str]) -> Result<Vec<Block>, Error> {
        match mark {
            ["verdicts"] => Ok(vec![Block::Table(self.verdicts())]),
            ["figure", system, figure] => Ok(vec![Block::Table(self.rows(system, figure)?)]),
            ["inputs", system, figure] => {
                let figure = &self.figure(system, figure)?[0].1.figure;
                Ok(vec![Block::Table(inputs::table(figure, self.records)?)])
            }
            ["summary", system, figure, summary, tier] => self.summary(system, figure, summary, tier),
            _ => Err(anyhow!(
                "a mark is verdicts, figure SYSTEM NAME, inputs SYSTEM NAME, summary SYSTEM NAME SUMMARY TIER, or end"
            )),
        }
    }

    /// A figure at all tiers.
    fn figure(&self, system: &str, figure: &str) -> Result<Vec<(Tier, &FigureDone)>, Error> {
        let mut found = Vec::new();
        for (tier, systems) in &self.tiers {
            let systems = systems.iter().filter(|done| done.published.system == system);
            let figures = systems.flat_map(|done| &done.figures).filter(|done| done.figure.name == figure);
            found.extend(figures.map(|done| (*tier, done)));
        }
        match found.is_empty() {
            true => Err(anyhow!("there is no figure {figure} of {system}; `weft reproduce list` shows all")),
            false => Ok(found),
        }
    }

    /// The rows of a figure: published, measured at each tier that has a number, and what to say of it.
    fn rows(&self, system: &str, figure: &str) -> Result<Vec<Vec<String>>, Error> {
        let figures = self.figure(system, figure)?;
        let rows = figures[0].1.rows.len();
        let of_row =
            |row: usize| figures.iter().map(|(tier, done)| (*tier, &done.rows[row])).collect::<Vec<At>>();
        let all: Vec<Vec<At>> = (0..rows).map(of_row).collect();
        Ok(table(&all, |row| row.row.what.clone()))
    }

    /// Rows that are headlines, of all systems.
    fn verdicts(&self) -> Vec<Vec<String>> {
        let mut all: Vec<Vec<At>> = Vec::new();
        for (system, done) in self.tiers[0].1.iter().enumerate() {
            for (figure, done) in done.figures.iter().enumerate() {
                let headlines = (0..done.rows.len()).filter(|row| done.rows[*row].row.headline.is_some());
                all.extend(headlines.map(|row| self.at(system, figure, row)));
            }
        }
        let mut lines = table(&all, |row| row.row.headline.clone().unwrap_or_default());
        // The first line of a system says which.
        let mut at = 1;
        for done in &self.tiers[0].1 {
            let rows = done.figures.iter().flat_map(|figure| &figure.rows);
            let own = rows.filter(|row| row.row.headline.is_some()).count();
            if own > 0 {
                lines[at][0] = format!("**{}** {}", done.published.system, lines[at][0]);
            }
            at += own;
        }
        lines
    }

    /// A row at all tiers.
    fn at(&self, system: usize, figure: usize, row: usize) -> Vec<At<'_>> {
        self.tiers.iter().map(|(tier, all)| (*tier, &all[system].figures[figure].rows[row])).collect()
    }

    /// A table of a sweep.
    fn summary(&self, system: &str, figure: &str, summary: &str, tier: &str) -> Result<Vec<Block>, Error> {
        let figures = self.figure(system, figure)?;
        let done = figures.iter().find(|(own, _)| own.name() == tier).map(|(_, done)| done);
        let done = done.ok_or_else(|| anyhow!("there is no tier {tier}; name small, middle or published"))?;
        let is_table = |block: &&Block| !matches!(block, Block::Picture { .. });
        match done.shown.iter().find(|(name, _)| name == summary) {
            Some((_, blocks)) => Ok(blocks.iter().filter(is_table).cloned().collect()),
            None if done.shown.is_empty() => Ok(vec![Block::Text("No run of it is recorded.".into())]),
            None => {
                let known: Vec<&str> = done.shown.iter().map(|(name, _)| name.as_str()).collect();
                Err(anyhow!("there is no summary {summary} in that figure; it has {}", known.join(", ")))
            }
        }
    }
}

/// A line for each row. Numbers of hardware alone, which are of no tier, have a column of their own.
fn table(rows: &[Vec<At>], what: impl Fn(&RowDone) -> String) -> Vec<Vec<String>> {
    let all = || rows.iter().flatten();
    let has = |tier: Tier| {
        all().any(|(own, row)| *own == tier && row.row.of_runs() && row.measured.value.is_some())
    };
    let tiers: Vec<Tier> = Tier::ALL.into_iter().filter(|tier| has(*tier)).collect();
    let hardware = all().any(|(_, row)| !row.row.of_runs());
    let mut head = vec![String::new(), "published".into()];
    head.extend(hardware.then(|| "hardware".into()));
    head.extend(tiers.iter().map(|tier| format!("tier {}", tier.name())));
    head.push("verdict".into());
    let shown = |row: Option<&RowDone>| row.and_then(RowDone::shown).unwrap_or_else(|| "-".into());
    let line = |row: &Vec<At>| {
        let first = row[0].1;
        let mut cells = vec![what(first), first.row.printed()];
        let of_runs = first.row.of_runs();
        cells.extend(hardware.then(|| shown((!of_runs).then_some(first))));
        let at = |tier: &Tier| row.iter().find(|(own, _)| own == tier && of_runs).map(|(_, row)| *row);
        cells.extend(tiers.iter().map(|tier| shown(at(tier))));
        // Some of a figure's programs are not the figure: a larger tier counts when it has all of them.
        let numbers = || row.iter().rev().map(|(_, row)| *row).filter(|row| row.measured.value.is_some());
        let whole = numbers().find(|row| row.measured.part().is_none());
        let part = || numbers().next().map(|row| format!("{} in part", judged(row)).trim_start().to_string());
        let said = whole.map(|row| judged(row).to_string()).or_else(part);
        cells.push(said.unwrap_or_else(|| "not recorded".into()));
        cells
    };
    [head].into_iter().chain(rows.iter().map(line)).collect()
}

/// What to say of a row with a number.
fn judged(done: &RowDone) -> &'static str {
    let value = done.measured.value.unwrap_or(f64::NAN);
    let Some(ratio) = ratio(&done.row, value) else { return "" };
    match verdict(&done.row, value) {
        Verdict::Near if ratio == 1.0 => "equal",
        Verdict::Near => "holds",
        Verdict::Far if !done.row.of_runs() => "differs",
        Verdict::Far => "direction only",
        Verdict::Other => "turned round",
    }
}

#[cfg(test)]
mod tests;
