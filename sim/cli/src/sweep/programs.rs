//! The programs of a system with their inputs by tier, one list for all of its sweeps: figures of a system differ
//! in what they vary, and in nothing else. An input that an axis of a sweep moves is left to it.
//!
//! ```toml
//! about = "..."
//!
//! [[program]]
//! label = "ATAX"
//! workload = "atax"
//! small = { rows = 512, columns = 256 }     # a tier that is not there does not have the program
//! middle = { rows = 2048, columns = 1024 }
//! set = { placement = "page_rr" }           # keys of the fabric that belong to the program
//! why = "..."                               # the reason of what is set
//! ```
//!
//! What belongs to a program at one tier only is written there: `middle = { rows = 2048, set.page = "64K" }`.

use super::file::{Axis, Point, Setting, argument};
use super::source::{At, Section, Source};
use super::tier::Tier;
use anyhow::{Error, anyhow};
use std::collections::BTreeSet;
use std::path::Path;
use toml::de::DeTable;

/// Name and text of each list.
pub const LISTS: &[(&str, &str)] = &[
    ("rec", include_str!("../../../fabrics/programs/rec.toml")),
    ("hmg", include_str!("../../../fabrics/programs/hmg.toml")),
    ("mgcc", include_str!("../../../fabrics/programs/mgcc.toml")),
    ("dnn-step", include_str!("../../../fabrics/programs/dnn-step.toml")),
    ("srsp", include_str!("../../../fabrics/programs/srsp.toml")),
    ("hlrc", include_str!("../../../fabrics/programs/hlrc.toml")),
    ("spandex", include_str!("../../../fabrics/programs/spandex.toml")),
    ("flat", include_str!("../../../fabrics/programs/flat.toml")),
];

/// What a table of a sweep says of its programs.
pub struct Asked {
    /// A list's name, or the path of a TOML file.
    pub list: At<String>,
    /// Labels of the programs that are taken; all unless given.
    pub only: Option<Vec<At<String>>>,
}

impl Asked {
    /// `programs` and `only`; a table without the first goes on with the list of the sweep itself.
    ///
    /// # Errors
    /// `only` without a list; a list beside workloads.
    pub fn read(section: &Section, own: Option<&At<String>>) -> Result<Option<Asked>, Error> {
        let named = section.text("programs")?;
        let (only, workloads) = (section.texts("only")?, section.list("workloads")?);
        if let (Some(list), Some(_)) = (&named, &workloads) {
            return Err(list.error("programs and workloads say the same in two ways; leave one out"));
        }
        if workloads.is_some() {
            return match only {
                None => Ok(None),
                Some(only) => {
                    Err(only[0].error("only chooses among programs = \"...\", not among workloads"))
                }
            };
        }
        match (named.or(own.cloned()), only) {
            (Some(list), only) => Ok(Some(Asked { list, only })),
            (None, Some(only)) => Err(only[0].error("only chooses among programs; write programs = \"rec\"")),
            (None, None) => Ok(None),
        }
    }

    /// The workloads of a tier; paths are relative to `folder`.
    ///
    /// # Errors
    /// A list that is not there, a mistake in it, a program that it does not have in this tier.
    pub fn axis(&self, tier: Tier, folder: &Path) -> Result<Axis, Error> {
        let name = &self.list.value;
        let built_in = LISTS.iter().find(|(list, _)| list == name);
        let (file, text) = match built_in {
            Some((_, text)) => (format!("programs/{name}.toml"), text.to_string()),
            None if name.ends_with(".toml") => {
                let path = folder.join(name);
                let text = std::fs::read_to_string(&path).map_err(|e| {
                    self.list
                        .error(format!("cannot read the programs {}: {e}; give a TOML file", path.display()))
                })?;
                (path.display().to_string(), text)
            }
            None => {
                let remedy = weft_names::choice(name, LISTS.iter().map(|(list, _)| *list));
                return Err(self.list.error(format!(
                    "there is no list of programs {name}; {remedy}, and the path of a TOML file is one, too"
                )));
            }
        };
        let points = points(Source { file: &file, text: &text }, tier)?;
        let labels: Vec<String> = points.iter().map(|point| point.label.clone()).collect();
        if let Some(unknown) = self.only.iter().flatten().find(|only| !labels.contains(&only.value)) {
            return Err(unknown.error(format!(
                "{file} has no program {} of tier {}; it has {}",
                unknown.value,
                tier.name(),
                labels.join(", ")
            )));
        }
        let taken = |point: &Point| match &self.only {
            None => true,
            Some(only) => only.iter().any(|only| only.value == point.label),
        };
        let points: Vec<Point> = points.into_iter().filter(taken).collect();
        if points.is_empty() {
            return Err(self.list.error(format!("{file} has no program of tier {}", tier.name())));
        }
        let keys: BTreeSet<String> =
            points.iter().flat_map(|point| &point.settings).map(|setting| setting.key.clone()).collect();
        let (name, place) = ("workload".into(), self.list.place.clone());
        Ok(Axis { name, keys: keys.into_iter().collect(), points, place, listed: true })
    }
}

/// The programs of a list that a tier has.
fn points(source: Source, tier: Tier) -> Result<Vec<Point>, Error> {
    let table = source.parse()?;
    let top = Section::new(source, source.place(0), table.get_ref(), &["about", "program"])?;
    let mut points = Vec::new();
    for program in top.tables("program")? {
        points.extend(point(source, program, tier)?);
    }
    Ok(points)
}

fn point(source: Source, table: At<&DeTable>, tier: Tier) -> Result<Option<Point>, Error> {
    let known = ["label", "workload", "small", "middle", "published", "set", "why"];
    let section = Section::new(source, table.place, table.value, &known)?;
    let workload = section.need("workload", "name the program, as in workload = \"atax\"")?;
    let label = section.text("label")?.map_or_else(|| workload.value.clone(), |label| label.value);
    let mut settings = vec![Setting { key: "workload".into(), value: workload }];
    let Some(inputs) = section.tables(tier.name())?.into_iter().next() else { return Ok(None) };
    for set in section.tables("set")?.into_iter().chain(source.below(inputs.value, "set")?) {
        let pairs = source.pairs(set.value)?;
        if section.text("why")?.is_none() {
            return Err(anyhow!("{}: {label} sets keys of the fabric; say why = \"...\"", set.place));
        }
        settings.extend(pairs.into_iter().map(|(key, value)| Setting { key, value }));
    }
    let arguments = inputs.value.iter().filter(|(key, _)| key.get_ref() != "set");
    settings.extend(source.pairs(arguments)?.into_iter().map(argument));
    Ok(Some(Point { label, settings }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::file::SweepFile;

    const SWEEP: &str = r#"
name = "t"
tier = "middle"
fabric = "rec-4gpu"
programs = "rec"
only = ["ATAX"]
[[axis]]
key = "protocol"
values = ["baseline", "rec"]
[small]
fabric = "rec-4gpu-small"
only = ["FIR", "ST"]
[published]
"#;

    fn parse(text: &str) -> Result<SweepFile, Error> {
        SweepFile::parse(text, "t.toml", Path::new(""))
    }

    fn rows(sweep: &SweepFile) -> Vec<&str> {
        sweep.axes[sweep.rows()].points.iter().map(|point| point.label.as_str()).collect()
    }

    #[test]
    fn a_tier_has_its_inputs_and_its_choice_of_the_programs() {
        let sweep = parse(SWEEP).expect("sound");
        assert_eq!(rows(&sweep), ["ATAX"]);
        let inputs = &sweep.axes[0].points[0].settings;
        assert!(inputs.iter().any(|s| s.key == "param.rows" && s.value.value == "2048"), "{inputs:?}");
        assert_eq!(rows(&sweep.clone().into_tier(Tier::Small).expect("there is one")), ["FIR", "ST"]);
        assert_eq!(rows(&sweep.into_tier(Tier::Published).expect("there is one")).len(), 12);
    }

    #[test]
    fn an_axis_takes_the_place_of_an_input() {
        let text = SWEEP.replacen("\"protocol\"", "\"param.rows\"", 1);
        let text = text.replacen("[\"baseline\", \"rec\"]", "[512, 1024]", 1);
        let sweep = parse(&text).expect("sound");
        let rows = &sweep.axes[sweep.rows()];
        assert!(!rows.keys.contains(&"param.rows".to_string()), "{:?}", rows.keys);
        assert!(rows.keys.contains(&"param.columns".to_string()), "{:?}", rows.keys);
        assert!(rows.points[0].settings.iter().all(|setting| setting.key != "param.rows"));
        let again = format!("{text}\n[published.set]\n\"param.columns\" = 4\n");
        let said = parse(&again).expect_err("fixed and an input").to_string();
        assert!(said.contains("key param.columns is already fixed"), "{said}");
    }

    #[test]
    fn every_list_says_what_it_sets_and_has_all_tiers() {
        for (name, text) in LISTS {
            for tier in Tier::ALL {
                let file = format!("{name}.toml");
                let points = points(Source { file: &file, text }, tier).unwrap_or_else(|e| panic!("{e:#}"));
                assert!(!points.is_empty(), "{name} has no program of tier {}", tier.name());
            }
        }
        let set = "[[program]]\nworkload = \"fir\"\nsmall = {}\nset = { placement = \"block\" }\n";
        let said =
            points(Source { file: "p.toml", text: set }, Tier::Small).expect_err("no reason").to_string();
        assert!(said.starts_with("p.toml line 4: fir sets keys of the fabric; say why"), "{said}");
        let reason = format!("{set}why = \"a\"\n");
        let none = points(Source { file: "p.toml", text: &reason }, Tier::Middle);
        assert!(none.is_ok_and(|points| points.is_empty()), "a program may lack a tier");
    }

    /// MB of the programs of the HMG publication (hmg.md, section 11).
    const FOOTPRINTS: [(&str, u64); 20] = [
        ("AlexNet", 812),
        ("bfs", 26),
        ("CoMD", 313),
        ("cuSolver", 1600),
        ("GoogLeNet", 1150),
        ("HPGMG", 1320),
        ("lstm", 710),
        ("MiniAMR", 1800),
        ("MiniContact", 246),
        ("mst", 83),
        ("namd", 72),
        ("Nekbone", 178),
        ("nw", 2000),
        ("overfeat", 618),
        ("pathfinder", 1490),
        ("resnet", 3200),
        ("RNN DGRAD", 29),
        ("RNN FW", 40),
        ("RNN WGRAD", 38),
        ("snap", 3440),
    ];

    #[test]
    fn programs_of_hmg_have_as_many_pages_as_published() {
        let mut wrong = Vec::new();
        for tier in [Tier::Middle, Tier::Published] {
            let mut sweep =
                SweepFile::load("hmg-protocols").expect("built in").into_tier(tier).expect("there");
            sweep.keep_only("protocol=hmg").expect("there");
            // These two have gigabytes, as published.
            let large = tier == Tier::Published;
            let looked =
                FOOTPRINTS.iter().filter(|(label, _)| !(large && ["nw", "pathfinder"].contains(label)));
            let labels: Vec<&str> = looked.map(|(label, _)| *label).collect();
            sweep.keep_only(&format!("workload={}", labels.join(","))).expect("all are there");
            for run in crate::sweep::plan::runs(&sweep).unwrap_or_else(|e| panic!("{e:#}")) {
                let data = crate::sweep::columns::data_bytes(&run);
                let (_, footprint) =
                    FOOTPRINTS.iter().find(|(label, _)| *label == run.labels[0]).expect("there");
                let page = f64::from(2 << 20) * data as f64 / (footprint * 1_000_000) as f64;
                // The middle tier has the scaled variant of hmg.md, section 9.
                let page = if large { 1 << (page.log2().round() as u32).clamp(12, 21) } else { 4096 };
                let given = run.config.get("page").map(|page| page.to_string());
                if given != Some(page.to_string()) {
                    wrong.push(format!("{}, {}: {page} for {data} bytes", run.labels[0], tier.name()));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (from, to, said) in [
            (
                "programs = \"rec\"",
                "programs = \"wreck\"",
                "t.toml line 5: there is no list of programs wreck",
            ),
            (
                "programs = \"rec\"",
                "programs = \"none.toml\"",
                "t.toml line 5: cannot read the programs none.toml",
            ),
            ("\"ATAX\"", "\"atax\"", "t.toml line 6: programs/rec.toml has no program atax of tier middle"),
            ("programs = \"rec\"", "workloads = [\"fir\"]", "t.toml line 6: only chooses among programs"),
            ("tier = \"middle\"", "", "t.toml line 5: programs have inputs by tier"),
            (
                "only = [\"ATAX\"]",
                "workloads = [\"fir\"]",
                "t.toml line 5: programs and workloads say the same",
            ),
        ] {
            assert!(SWEEP.contains(from), "{from}");
            let text = parse(&SWEEP.replacen(from, to, 1)).expect_err(to).to_string();
            assert!(text.contains(said), "{text}");
        }
    }
}
