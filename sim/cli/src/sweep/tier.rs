//! Tiers of a sweep, the same question at three sizes. The file itself is of one tier, `tier = "middle"`; tables
//! `[small]`, `[middle]` and `[published]` say what the others change.

use super::file::{
    Axis, Setting, SummaryText, SweepFile, fixed, max_cycles, read_axis, read_summary, workloads,
};
use super::programs::Asked;
use super::source::{At, Section, Source};
use anyhow::{Error, anyhow};
use clap::ValueEnum;
use std::path::Path;

/// Sizes at which a question is asked, rising.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Tier {
    /// A scaled fabric and inputs of seconds.
    Small,
    /// The published fabric, and inputs of minutes.
    Middle,
    /// The published fabric and the published inputs.
    Published,
}

impl Tier {
    /// All, rising.
    pub const ALL: [Tier; 3] = [Tier::Small, Tier::Middle, Tier::Published];

    /// As files and the command line call it.
    pub fn name(self) -> &'static str {
        ["small", "middle", "published"][self as usize]
    }

    /// What a reader has to know of it.
    pub fn about(self) -> &'static str {
        match self {
            Tier::Small => "a scaled fabric and inputs of seconds",
            Tier::Middle => "the published fabric, and inputs of minutes",
            Tier::Published => "the published fabric and the published inputs",
        }
    }
}

/// What the file itself is.
///
/// # Errors
/// A word that is no tier.
pub(super) fn own(top: &Section) -> Result<Option<Tier>, Error> {
    let Some(text) = top.text("tier")? else { return Ok(None) };
    let found = Tier::ALL.into_iter().find(|tier| tier.name() == text.value);
    found.map(Some).ok_or_else(|| {
        text.error(format!("tier = {} is none; a sweep is small, middle or published", text.value))
    })
}

/// What a variant changes.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Fabric, seed, keys.
    fixed: Vec<Setting>,
    /// Cycles after which a run fails, if others than usual.
    max_cycles: Option<u64>,
    /// Axes in the place of those of the same name; the workloads are one.
    axes: Vec<Axis>,
    /// Summaries in the place of all of the sweep's, for references that have other values.
    summaries: Vec<SummaryText>,
}

impl Variant {
    /// Reads the table of a tier, if it is there; `list` is the one from which the sweep itself takes its programs.
    ///
    /// # Errors
    /// The first mistake with its line.
    pub(super) fn read(
        source: Source,
        top: &Section,
        tier: Tier,
        list: Option<&At<String>>,
        folder: &Path,
    ) -> Result<Option<Variant>, Error> {
        let Some(table) = top.tables(tier.name())?.into_iter().next() else { return Ok(None) };
        let known =
            ["fabric", "seed", "max_cycles", "workloads", "programs", "only", "set", "axis", "summary"];
        let section = Section::new(source, table.place, table.value, &known)?;
        let mut axes: Vec<Axis> = match Asked::read(&section, list)? {
            Some(asked) => vec![asked.axis(tier, folder)?],
            None => workloads(source, &section)?.into_iter().collect(),
        };
        for axis in section.tables("axis")? {
            axes.push(read_axis(source, axis)?);
        }
        let mut summaries = Vec::new();
        for summary in section.tables("summary")? {
            summaries.push(read_summary(source, summary)?);
        }
        let (fixed, max_cycles) = (fixed(source, &section)?, max_cycles(&section)?);
        Ok(Some(Variant { fixed, max_cycles, axes, summaries }))
    }
}

impl SweepFile {
    /// Tiers that it has, rising.
    pub fn tiers(&self) -> Vec<Tier> {
        let has = |tier: &Tier| self.tier == Some(*tier) || self.others.contains_key(tier);
        Tier::ALL.into_iter().filter(has).collect()
    }

    /// A headline with the tier, if it is known.
    pub fn titled(&self, title: &str) -> String {
        match self.tier {
            Some(tier) => format!("{title} (tier {})", tier.name()),
            None => title.to_string(),
        }
    }

    /// The sweep of a tier. If it is not the file's own, its results have a name of their own.
    ///
    /// # Errors
    /// A tier that there is not; an axis that the sweep does not have.
    pub fn into_tier(mut self, tier: Tier) -> Result<SweepFile, Error> {
        if self.tier == Some(tier) {
            return Ok(self);
        }
        let Some(variant) = self.others.remove(&tier) else {
            let (name, tiers) = (tier.name(), self.tiers());
            let known: Vec<&str> = tiers.iter().map(|tier| tier.name()).collect();
            let known = match known.is_empty() {
                true => "it says of no tier what it is".to_string(),
                false => format!("it has {}", known.join(", ")),
            };
            return Err(anyhow!(
                "--tier {name}: {} is not there in this size, {known}; leave --tier out, or write [{name}] with \
                 fabric, workloads or axes into its file",
                self.name
            ));
        };
        self.tier = Some(tier);
        self.changed(variant, tier.name())
    }

    /// The sweep of this tier, or, if it has none, as the file is.
    ///
    /// # Errors
    /// As [`SweepFile::into_tier`].
    pub fn at(self, tier: Tier) -> Result<SweepFile, Error> {
        if self.tiers().contains(&tier) { self.into_tier(tier) } else { Ok(self) }
    }

    fn changed(mut self, variant: Variant, name: &str) -> Result<SweepFile, Error> {
        self.name = format!("{}-{name}", self.name);
        self.max_cycles = variant.max_cycles.unwrap_or(self.max_cycles);
        for setting in variant.fixed {
            match self.fixed.iter_mut().find(|known| known.key == setting.key) {
                Some(known) => *known = setting,
                None => self.fixed.push(setting),
            }
        }
        for axis in variant.axes {
            let names: Vec<&str> = self.axes.iter().map(|axis| axis.name.as_str()).collect();
            let Some(place) = names.iter().position(|name| *name == axis.name) else {
                return Err(anyhow!(
                    "{}: [{name}] has an axis {}, which the sweep does not have; its axes are {}",
                    axis.place,
                    axis.name,
                    names.join(", ")
                ));
            };
            self.axes[place] = axis;
        }
        if !variant.summaries.is_empty() {
            self.summaries = variant.summaries;
        }
        self.settle()?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const TEXT: &str = r#"
name = "t"
tier = "middle"
fabric = "rec-4gpu"
workloads = ["gemm", "fir"]
[set]
link_bytes = 12
[[axis]]
key = "entries"
values = [1, 2]
[[axis]]
key = "protocol"
values = ["baseline", "rec"]
[small]
fabric = "rec-4gpu-small"
workloads = [{ workload = "gemm", n = 16 }]
max_cycles = 1000
[small.set]
link_bytes = 6
line = 64
[[small.axis]]
key = "entries"
values = [4]
"#;

    fn labels(sweep: &SweepFile) -> Vec<Vec<&str>> {
        sweep.axes.iter().map(|axis| axis.points.iter().map(|p| p.label.as_str()).collect()).collect()
    }

    fn parse(text: &str) -> Result<SweepFile, Error> {
        SweepFile::parse(text, "t.toml", Path::new(""))
    }

    #[test]
    fn a_tier_is_the_same_with_what_it_changes() {
        let sweep = parse(TEXT).expect("sound");
        assert_eq!(labels(&sweep), [vec!["gemm", "fir"], vec!["1", "2"], vec!["baseline", "rec"]]);
        let small = sweep.clone().into_tier(Tier::Small).expect("there is one");
        assert_eq!(labels(&small), [vec!["gemm"], vec!["4"], vec!["baseline", "rec"]]);
        let fixed: Vec<(&str, &str)> =
            small.fixed.iter().map(|s| (s.key.as_str(), s.value.value.as_str())).collect();
        assert_eq!(fixed, [("fabric", "rec-4gpu-small"), ("link_bytes", "6"), ("line", "64")]);
        assert_eq!((small.name.as_str(), small.max_cycles), ("t-small", 1000));
        let said = sweep.clone().into_tier(Tier::Published).expect_err("it has none").to_string();
        assert!(said.contains("t is not there in this size, it has small, middle;"), "{said}");
        assert_eq!(small.titled("a"), "a (tier small)");
        let name = |tier| sweep.clone().at(tier).expect("there is one").name;
        assert_eq!([Tier::Small, Tier::Middle, Tier::Published].map(name), ["t-small", "t", "t"]);
    }

    #[test]
    fn mistakes_are_found_without_a_tier_being_asked_for() {
        for (from, to, said) in [
            ("\"middle\"", "\"quick\"", "t.toml line 3: tier = quick is none"),
            ("\"middle\"", "\"small\"", "t.toml line 14: the sweep itself is of tier small"),
            ("max_cycles = 1000", "name = \"u\"", "t.toml line 17: there is no key name"),
            (
                "\"entries\"\nvalues = [4]",
                "\"range\"\nvalues = [4]",
                "t.toml line 21: [small] has an axis range",
            ),
            ("line = 64", "protocol = \"rec\"", "key protocol is already fixed at t.toml line 20"),
        ] {
            assert!(TEXT.contains(from), "{from}");
            let text = parse(&TEXT.replacen(from, to, 1)).expect_err(to).to_string();
            assert!(text.contains(said), "{text}");
        }
    }
}
