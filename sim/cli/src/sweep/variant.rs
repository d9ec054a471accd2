//! The other tiers of a sweep. The file itself is of one, `tier = "middle"`; tables `[small]`, `[middle]` and `[published]` say what the others change.

use super::file::{Axis, SweepFile, Variant};
use super::programs::Asked;
use super::read::{fixed, max_cycles, read_axis, read_summary, workloads};
use super::source::{At, Section, Source};
use super::tier::Tier;
use anyhow::{Error, anyhow};
use std::path::Path;

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
