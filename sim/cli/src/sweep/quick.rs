//! Variants of a sweep, the same question at another size: `[quick]` in its file, `--quick` on the command line, a smaller one; and `[published]`, which `weft reproduce --published` makes, the published
//! one where that of the sweep itself is smaller.

use super::file::{
    Axis, Setting, SummaryText, SweepFile, fixed, max_cycles, read_axis, read_summary, workloads,
};
use super::source::{Section, Source};
use anyhow::{Error, anyhow};

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
    /// Reads the table of this name, if it is there.
    ///
    /// # Errors
    /// The first mistake with its line.
    pub(super) fn read(source: Source, top: &Section, name: &str) -> Result<Option<Variant>, Error> {
        let Some(table) = top.tables(name)?.into_iter().next() else { return Ok(None) };
        let known = ["fabric", "seed", "max_cycles", "workloads", "set", "axis", "summary"];
        let section = Section::new(source, table.place, table.value, &known)?;
        let mut axes: Vec<Axis> = workloads(source, &section)?.into_iter().collect();
        for axis in section.tables("axis")? {
            axes.push(read_axis(source, axis)?);
        }
        let mut summaries = Vec::new();
        for summary in section.tables("summary")? {
            summaries.push(read_summary(source, summary)?);
        }
        Ok(Some(Variant {
            fixed: fixed(source, &section)?,
            max_cycles: max_cycles(&section)?,
            axes,
            summaries,
        }))
    }
}

impl SweepFile {
    /// The quick variant, whose results have a name of their own.
    ///
    /// # Errors
    /// A sweep without one; an axis that the sweep does not have.
    pub fn into_quick(mut self) -> Result<SweepFile, Error> {
        let Some(quick) = self.quick.take() else {
            return Err(anyhow!(
                "--quick: {} has no quick variant; leave --quick out, or write [quick] with fabric, workloads or axes into its file",
                self.name
            ));
        };
        self.changed(quick, "quick")
    }

    /// The variant of the published size, whose results have a name of their own.
    ///
    /// # Errors
    /// A sweep without one; an axis that the sweep does not have.
    pub fn into_published(mut self) -> Result<SweepFile, Error> {
        let Some(published) = self.published.take() else {
            return Err(anyhow!("{} has no variant of the published size", self.name));
        };
        self.changed(published, "published")
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
        self.check()?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const TEXT: &str = r#"
name = "t"
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
[quick]
fabric = "rec-4gpu-small"
workloads = [{ workload = "gemm", n = 16 }]
max_cycles = 1000
[quick.set]
link_bytes = 6
line = 64
[[quick.axis]]
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
    fn a_quick_sweep_is_the_same_with_what_it_changes() {
        let sweep = parse(TEXT).expect("sound");
        assert_eq!(labels(&sweep), [vec!["gemm", "fir"], vec!["1", "2"], vec!["baseline", "rec"]]);
        let quick = sweep.into_quick().expect("there is one");
        assert_eq!(labels(&quick), [vec!["gemm"], vec!["4"], vec!["baseline", "rec"]]);
        let fixed: Vec<(&str, &str)> =
            quick.fixed.iter().map(|s| (s.key.as_str(), s.value.value.as_str())).collect();
        assert_eq!(fixed, [("fabric", "rec-4gpu-small"), ("link_bytes", "6"), ("line", "64")]);
        assert_eq!((quick.name.as_str(), quick.max_cycles), ("t-quick", 1000));
        let said = quick.into_quick().expect_err("it has none itself").to_string();
        assert!(said.contains("t-quick has no quick variant"), "{said}");
    }

    #[test]
    fn mistakes_are_found_without_quick_being_asked_for() {
        for (from, to, said) in [
            ("max_cycles = 1000", "name = \"u\"", "t.toml line 16: there is no key name"),
            (
                "\"entries\"\nvalues = [4]",
                "\"range\"\nvalues = [4]",
                "t.toml line 20: [quick] has an axis range",
            ),
            ("line = 64", "protocol = \"rec\"", "key protocol is already fixed at t.toml line 19"),
        ] {
            assert!(TEXT.contains(from), "{from}");
            let text = parse(&TEXT.replacen(from, to, 1)).expect_err(to).to_string();
            assert!(text.contains(said), "{text}");
        }
    }
}
