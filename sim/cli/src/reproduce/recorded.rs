//! Comparisons from records, without a run.

use super::explored::Explored;
use super::figure::FigureDone;
use super::page::Tables;
use super::published::{Figure, Published};
use super::report::SystemDone;
use crate::sweep::file::SweepFile;
use crate::sweep::record::Record;
use crate::sweep::tier::Tier;
use anyhow::Error;
use std::path::Path;

/// Which sweep is meant by a name; none where it is not there in the size asked for.
type Find<'a> = dyn Fn(&str) -> Result<Option<SweepFile>, Error> + 'a;

/// Figures from a folder of records.
pub struct Recorded<'a> {
    /// The folder.
    pub records: &'a Path,
    /// Where pictures are drawn; nowhere if none.
    pub out: Option<&'a Path>,
}

impl Recorded<'_> {
    /// Figures; those of a sweep that has no record have no numbers.
    ///
    /// # Errors
    /// A record that cannot be read or was changed.
    pub fn figures(
        &self,
        figures: &[Figure],
        explored: &mut Explored,
        find: &Find,
    ) -> Result<Vec<FigureDone>, Error> {
        let mut done = Vec::new();
        for figure in figures {
            let Some(name) = &figure.sweep else {
                done.push(FigureDone::new(figure, None, explored, self.out)?);
                continue;
            };
            let record = find(name)?.map(|sweep| Record::read(self.records, sweep)).transpose()?.flatten();
            let Some(record) = record else {
                done.push(FigureDone::unmade(figure));
                continue;
            };
            let results = Some((&record.plan, record.rows.as_slice()));
            let mut figure = FigureDone::new(figure, results, explored, self.out)?;
            figure.recorded = Some(record.told(name));
            done.push(figure);
        }
        Ok(done)
    }
}

/// A page with its tables made anew from a folder of records, of all systems at all tiers.
///
/// # Errors
/// A record that cannot be read or was changed; a mark in the page that names nothing.
pub fn page(
    systems: &[Published],
    records: &Path,
    explored: &mut Explored,
    text: &str,
) -> Result<String, Error> {
    let recorded = Recorded { records, out: None };
    let mut all = Vec::new();
    for tier in Tier::ALL {
        let mut done = Vec::new();
        for published in systems {
            let find = |name: &str| {
                let sweep = SweepFile::load(name)?;
                sweep.tiers().contains(&tier).then(|| sweep.into_tier(tier)).transpose()
            };
            // Numbers of hardware alone are of no tier.
            let figures = match tier == Tier::ALL[0] {
                true => recorded.figures(&published.figures, explored, &find)?,
                false => {
                    let of_runs = |figure: &Figure| match figure.sweep {
                        None => Ok(FigureDone::unmade(figure)),
                        Some(_) => {
                            let one = std::slice::from_ref(figure);
                            recorded.figures(one, explored, &find).map(|mut done| done.remove(0))
                        }
                    };
                    published.figures.iter().map(of_runs).collect::<Result<_, Error>>()?
                }
            };
            done.push(SystemDone { published: published.clone(), figures, whole: true, tier });
        }
        all.push((tier, done));
    }
    Tables { tiers: all, records }.fill(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::built_in::load;

    /// `weft reproduce all --recorded --page RESULTS.md` makes them anew.
    #[test]
    fn tables_of_the_results_are_those_of_the_records() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let records = root.join("records");
        let text = std::fs::read_to_string(root.join("RESULTS.md")).expect("RESULTS.md");
        let systems = load("all").unwrap_or_else(|e| panic!("{e:#}"));
        let mut explored = Explored::open(&records, false).expect("readable");
        let filled = page(&systems, &records, &mut explored, &text).unwrap_or_else(|e| panic!("{e:#}"));
        let differs = text.lines().zip(filled.lines()).find(|(old, new)| old != new);
        assert!(filled == text, "RESULTS.md is not what the records give: {differs:?}");
        assert!(text.matches("<!-- weft: ").count() > 6, "tables stand in RESULTS.md");
    }
}
