//! A sweep file is read and checked.

use super::built_in;
use super::file::{SweepFile, Variant};
use super::programs::Asked;
use super::read::{fixed, max_cycles, own, read_axis, read_contest, read_summary, workloads};
use super::source::{Section, Source};
use super::tier::Tier;
use anyhow::{Error, anyhow};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use weft_fabric::config::Place;

/// Cycles after which a run fails when the file does not say.
const MAX_CYCLES: u64 = 10_000_000_000;

/// Most runs of a sweep: all are built before the first one begins.
const MOST_RUNS: usize = 1_000_000;

impl SweepFile {
    /// A built-in sweep, or the file at a path.
    ///
    /// # Errors
    /// A name that is neither, a file that cannot be read, or a mistake in it.
    pub fn load(name_or_path: &str) -> Result<SweepFile, Error> {
        if let Some((name, text)) = built_in::sweeps().find(|(name, _)| *name == name_or_path) {
            return SweepFile::parse(text, &format!("{name}.toml"), Path::new(""));
        }
        let path = Path::new(name_or_path);
        if path.extension().is_none() && path.components().count() == 1 && !path.exists() {
            let known = built_in::sweeps().map(|(name, _)| *name);
            let remedy = weft_names::remedy(name_or_path, known, "`weft list sweeps` shows all");
            return Err(anyhow!(
                "there is no sweep {name_or_path}; {remedy}, and the path of a TOML file is a sweep, too"
            ));
        }
        let text = std::fs::read_to_string(path)
            .map_err(|e| anyhow!("cannot read the sweep file {name_or_path}: {e}; give a TOML file"))?;
        SweepFile::parse(&text, name_or_path, path.parent().unwrap_or(Path::new("")))
    }

    /// Reads the text of a file that errors call `file`.
    ///
    /// # Errors
    /// The first mistake with its line.
    pub fn parse(text: &str, file: &str, folder: &Path) -> Result<SweepFile, Error> {
        let source = Source { file, text };
        let table = source.parse()?;
        let known = [
            "name",
            "about",
            "fabric",
            "seed",
            "max_cycles",
            "workloads",
            "programs",
            "only",
            "set",
            "axis",
            "summary",
            "contest",
            "tier",
            "small",
            "middle",
            "published",
        ];
        let top = Section::new(source, source.place(0), table.get_ref(), &known)?;
        let name = top.need("name", "give the results a name, as in name = \"entries\"")?;
        if !name.value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
            || name.value.starts_with('.')
        {
            return Err(name.error(format!(
                "name = {} names files; use letters, digits, -, _ and . after a letter or digit",
                name.value
            )));
        }
        let mut sweep = SweepFile {
            name: name.value,
            about: top.text("about")?.map_or_else(String::new, |about| about.value),
            file: file.into(),
            fixed: Vec::new(),
            max_cycles: MAX_CYCLES,
            axes: Vec::new(),
            summaries: Vec::new(),
            contests: Vec::new(),
            tier: own(&top)?,
            others: BTreeMap::new(),
            folder: folder.to_path_buf(),
        };
        if let Some(limit) = max_cycles(&top)? {
            sweep.max_cycles = limit;
        }
        sweep.fixed = fixed(source, &top)?;
        let programs = Asked::read(&top, None)?;
        sweep.axes.extend(match (&programs, sweep.tier) {
            (None, _) => workloads(source, &top)?,
            (Some(asked), Some(tier)) => Some(asked.axis(tier, folder)?),
            (Some(asked), None) => {
                return Err(asked
                    .list
                    .error("programs have inputs by tier; write tier = \"small\" or another"));
            }
        });
        for axis in top.tables("axis")? {
            sweep.axes.push(read_axis(source, axis)?);
        }
        for summary in top.tables("summary")? {
            sweep.summaries.push(read_summary(source, summary)?);
        }
        for contest in top.tables("contest")? {
            sweep.contests.push(read_contest(source, contest)?);
        }
        let list = programs.as_ref().map(|asked| &asked.list);
        for tier in Tier::ALL {
            if let (Some(table), true) = (top.tables(tier.name())?.first(), sweep.tier == Some(tier)) {
                let name = tier.name();
                return Err(
                    table.error(format!("the sweep itself is of tier {name}; leave [{name}] or tier out"))
                );
            }
            let variant = Variant::read(source, &top, tier, list, folder)?;
            sweep.others.extend(variant.map(|variant| (tier, variant)));
        }
        sweep.settle()?;
        for tier in sweep.tiers() {
            sweep.clone().into_tier(tier)?;
        }
        Ok(sweep)
    }

    /// Programs of a list give up the inputs that an axis moves; then everything is checked.
    ///
    /// # Errors
    /// As [`SweepFile::check`].
    pub(super) fn settle(&mut self) -> Result<(), Error> {
        let own = self.axes.iter().filter(|axis| !axis.listed);
        let moved: BTreeSet<String> = own.flat_map(|axis| axis.keys.iter().cloned()).collect();
        for axis in self.axes.iter_mut().filter(|axis| axis.listed) {
            axis.keys.retain(|key| !moved.contains(key));
            axis.points.iter_mut().for_each(|point| point.settings.retain(|s| !moved.contains(&s.key)));
        }
        self.check()
    }

    /// Each key is moved in one place, each axis has its own name, and there is a fabric and a workload.
    fn check(&self) -> Result<(), Error> {
        let mut seen: BTreeMap<&str, String> = BTreeMap::new();
        for setting in &self.fixed {
            seen.insert(&setting.key, format!("fixed at {}", setting.value.place));
        }
        let mut names: BTreeMap<&str, &Place> = BTreeMap::new();
        for axis in &self.axes {
            for key in &axis.keys {
                if let Some(other) = seen.insert(key, format!("moved by the axis at {}", axis.place)) {
                    return Err(anyhow!(
                        "{}: key {key} is already {other}; give it in one place",
                        axis.place
                    ));
                }
            }
            if let Some(other) = names.insert(&axis.name, &axis.place) {
                return Err(anyhow!(
                    "{}: the axis at {other} has the same name {}; give one of them another name",
                    axis.place,
                    axis.name
                ));
            }
            let mut labels: Vec<&str> = axis.points.iter().map(|p| p.label.as_str()).collect();
            labels.sort_unstable();
            if let Some(twice) = labels.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(anyhow!(
                    "{}: axis {} has the value {} twice; leave one out or give labels",
                    axis.place,
                    axis.name,
                    twice[0]
                ));
            }
        }
        let needs = [
            ("fabric", "write fabric = \"rec-4gpu-small\" or another of `weft list fabrics`"),
            ("workload", "write workloads = [\"stencil\", ...] with names of `weft list workloads`"),
        ];
        if let Some((key, remedy)) = needs.iter().find(|(key, _)| !seen.contains_key(key)) {
            return Err(anyhow!("{}: no {key} is given; {remedy}", self.file));
        }
        let runs = self.axes.iter().try_fold(1_usize, |runs, axis| runs.checked_mul(axis.points.len()));
        match runs.filter(|runs| *runs <= MOST_RUNS) {
            Some(_) => Ok(()),
            None => Err(anyhow!(
                "{}: its axes have more than {MOST_RUNS} values in product, each a run; leave axes or values out",
                self.file
            )),
        }
    }
}
