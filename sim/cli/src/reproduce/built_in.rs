//! Published results that come with the program.

use super::published::Published;
use anyhow::{Error, anyhow};

/// Name and text of each system, in the order of the report.
pub const SYSTEMS: &[(&str, &str)] = &[
    ("rec", include_str!("../../../fabrics/published/rec.toml")),
    ("hmg", include_str!("../../../fabrics/published/hmg.toml")),
    ("mgcc", include_str!("../../../fabrics/published/mgcc.toml")),
    ("dnn-step", include_str!("../../../fabrics/published/dnn-step.toml")),
    ("srsp", include_str!("../../../fabrics/published/srsp.toml")),
    ("spandex", include_str!("../../../fabrics/published/spandex.toml")),
    ("flat", include_str!("../../../fabrics/published/flat.toml")),
];

/// Systems by name; `all` of them, or one.
///
/// # Errors
/// A name that none has.
pub fn load(name: &str) -> Result<Vec<Published>, Error> {
    let chosen: Vec<_> = SYSTEMS.iter().filter(|(system, _)| name == "all" || *system == name).collect();
    if chosen.is_empty() {
        let known = SYSTEMS.iter().map(|(system, _)| *system);
        let remedy = weft_names::choice(name, ["all"].into_iter().chain(known));
        return Err(anyhow!("there are no published results of {name}; {remedy}"));
    }
    chosen.into_iter().map(|(system, text)| Published::parse(text, &format!("{system}.toml"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::explored::Explored;
    use crate::reproduce::fact;
    use crate::reproduce::measure::Asked;
    use crate::reproduce::published::Figure;
    use crate::sweep::columns::{Column, columns};
    use crate::sweep::contest::Contest;
    use crate::sweep::file::SweepFile;
    use crate::sweep::plan::Plan;
    use crate::sweep::summary::Summary;
    use crate::sweep::tier::Tier;
    use std::collections::{BTreeMap, BTreeSet};
    use weft_fabric::config::FabricConfig;
    use weft_fabric::run::Survey;

    /// A plan without its runs: what the fabrics' own protocols count, for elaborating every configuration takes minutes.
    fn plan(sweep: SweepFile, counted: &mut BTreeMap<String, BTreeMap<String, String>>) -> Plan {
        let mut configs = Vec::new();
        let mut counters = BTreeMap::new();
        let fabrics = sweep.axes.iter().flat_map(|axis| axis.points.iter().flat_map(|point| &point.settings));
        for setting in sweep.fixed.iter().chain(fabrics).filter(|setting| setting.key == "fabric") {
            let config = FabricConfig::load(&setting.value.value).unwrap_or_else(|e| panic!("{e}"));
            let survey = counted
                .entry(config.name.clone())
                .or_insert_with(|| Survey::new(&config).unwrap_or_else(|e| panic!("{e}")).counters);
            counters.extend(survey.clone());
            configs.push(config);
        }
        let fabrics: Vec<&FabricConfig> = configs.iter().collect();
        let columns: Vec<Column> = columns(&sweep, &fabrics, &counters);
        let summaries = Summary::all(&sweep, &columns).unwrap_or_else(|e| panic!("{e:#}"));
        let contests: Vec<Contest> = Vec::new();
        Plan { sweep, runs: Vec::new(), columns, summaries, contests }
    }

    fn named(figure: &Figure, plan: &Plan, small: bool) {
        for picture in &figure.pictures {
            let there = plan.summaries.iter().any(|summary| summary.name == *picture);
            assert!(there, "figure {}: {} has no summary {picture}", figure.name, plan.sweep.name);
        }
        for row in figure.rows().iter().filter(|row| row.of_runs()) {
            let asked = Asked::new(row, plan)
                .unwrap_or_else(|e| panic!("figure {}, {:?}: {e}", figure.name, row.what));
            let wanted = row.rows.as_ref().map_or(plan.sweep.axes[plan.sweep.rows()].points.len(), Vec::len);
            assert!(
                small || asked.rows.len() == wanted,
                "figure {}, {:?}: a workload is not there",
                figure.name,
                row.what
            );
        }
    }

    #[test]
    fn every_published_file_names_what_there_is() {
        let mut counted = BTreeMap::new();
        for published in load("all").unwrap_or_else(|e| panic!("{e:#}")) {
            assert!(!published.figures.is_empty(), "{}", published.system);
            for figure in &published.figures {
                let Some(name) = &figure.sweep else {
                    // Those of states take seconds each; the program's own test of `states` has them.
                    for row in figure.rows().iter().filter(|row| row.states.is_none()) {
                        let measured = fact::measure(row, &mut Explored::default())
                            .unwrap_or_else(|e| panic!("{:?}: {e:#}", row.what));
                        assert!(measured > 0.0, "{}, {:?}", figure.name, row.what);
                    }
                    continue;
                };
                let sweep = SweepFile::load(name).unwrap_or_else(|e| panic!("{e:#}"));
                named(figure, &plan(sweep.clone(), &mut counted), sweep.tier == Some(Tier::Small));
                for tier in sweep.tiers() {
                    let of_tier = sweep.clone().into_tier(tier).unwrap_or_else(|e| panic!("{e:#}"));
                    named(figure, &plan(of_tier, &mut counted), tier == Tier::Small);
                }
            }
        }
    }

    /// Keys that a sweep sets for all of its runs, because they are what its figure is about.
    const SET: [(&str, &[&str]); 11] = [
        ("rec-cus", &["cus_per_sa"]),
        ("rec-directory", &["protocol"]),
        ("rec-nvidia", &["line", "range", "cus", "l1_size", "l2_size"]),
        ("tsm-gtsc", &["gpus"]),
        ("tsm-options", &["protocol"]),
        ("dnn-calls", &["gpus"]),
        ("dnn-links", &["gpus"]),
        ("dnn-step", &["gpus"]),
        ("srsp-choices", &["protocol"]),
        ("srsp-closes", &["protocol"]),
        ("hlrc-choices", &["protocol"]),
    ];

    /// Systems with what their sweeps' names begin with: two studies of the same system have fabrics of their own.
    const COMPARED: [(&str, &str); 8] = [
        ("rec", ""),
        ("hmg", ""),
        ("mgcc", ""),
        ("dnn-step", ""),
        ("srsp", "srsp-"),
        ("srsp", "hlrc-"),
        ("spandex", ""),
        ("flat", "flat-"),
    ];

    /// Sweeps whose programs are of no list: a matrix product at several sizes; traces as they were recorded;
    /// microbenchmarks at several sizes, on a fabric whose L1s they outgrow; Spandex on four GPUs.
    const ALONE: [&str; 4] = ["dnn-remote", "traces", "spandex-sizes", "spandex-gpus"];

    /// What a program is given in a sweep, but for what the sweep varies.
    struct Inputs {
        given: BTreeMap<String, String>,
        varied: BTreeSet<String>,
        sweep: String,
    }

    impl Inputs {
        fn assert_same(&self, other: &Inputs, label: &str) {
            let varied: BTreeSet<&String> = self.varied.union(&other.varied).collect();
            let fixed = |inputs: &Inputs| -> Vec<String> {
                let fixed = inputs.given.iter().filter(|(key, _)| !varied.contains(key));
                fixed.map(|(key, value)| format!("{key} = {value}")).collect()
            };
            assert_eq!(fixed(self), fixed(other), "{label} of {} and {}", self.sweep, other.sweep);
        }
    }

    /// The same program has the same inputs and keys in all figures of a system, on the same fabric.
    #[test]
    fn figures_of_a_system_differ_only_in_what_they_vary() {
        for (system, begins) in COMPARED {
            let published = load(system).unwrap_or_else(|e| panic!("{e:#}")).remove(0);
            let mut names: Vec<String> = published.figures.into_iter().filter_map(|f| f.sweep).collect();
            names.sort();
            names.dedup();
            names.retain(|name| !ALONE.contains(&name.as_str()) && name.starts_with(begins));
            for tier in Tier::ALL {
                let mut known: BTreeMap<String, Inputs> = BTreeMap::new();
                let mut fabric: Option<(String, String)> = None;
                for name in &names {
                    let sweep = SweepFile::load(name).unwrap_or_else(|e| panic!("{e:#}"));
                    let sweep = sweep.into_tier(tier).unwrap_or_else(|e| panic!("{e:#}"));
                    let own = SET.iter().find(|(sweep, _)| sweep == name).map_or(&[][..], |(_, keys)| keys);
                    for setting in sweep.fixed.iter().filter(|setting| !own.contains(&setting.key.as_str())) {
                        assert_eq!(setting.key, "fabric", "{name} sets {}", setting.key);
                        let same = fabric.get_or_insert((setting.value.value.clone(), name.clone()));
                        assert_eq!(same.0, setting.value.value, "fabrics of {} and {name}", same.1);
                    }
                    let rows = sweep.rows();
                    let others = sweep.axes.iter().enumerate().filter(|(axis, _)| *axis != rows);
                    let varied: BTreeSet<String> =
                        others.flat_map(|(_, axis)| axis.keys.iter().cloned()).collect();
                    for point in &sweep.axes[rows].points {
                        let given = point.settings.iter();
                        let given = given.map(|setting| (setting.key.clone(), setting.value.value.clone()));
                        let inputs =
                            Inputs { given: given.collect(), varied: varied.clone(), sweep: name.clone() };
                        match known.get(&point.label) {
                            Some(same) => same.assert_same(&inputs, &point.label),
                            None => drop(known.insert(point.label.clone(), inputs)),
                        }
                    }
                }
                assert!(known.len() >= 2, "{system} has programs of tier {}", tier.name());
            }
        }
    }

    #[test]
    fn every_published_number_of_storage_is_met() {
        let systems = load("all").unwrap_or_else(|e| panic!("{e:#}"));
        let figures =
            systems.iter().flat_map(|system| &system.figures).filter(|figure| figure.name == "storage");
        let rows: Vec<_> = figures.flat_map(Figure::rows).collect();
        assert!(rows.len() > 15, "{}", rows.len());
        for row in rows {
            let measured = fact::measure(&row, &mut Explored::default())
                .unwrap_or_else(|e| panic!("{:?}: {e:#}", row.what));
            let published = row.published.expect("a number").nearest(measured);
            // Shares are published with two digits, all else exactly.
            let near = if published < 1.0 { 0.05 * published } else { 0.0 };
            assert!((measured - published).abs() <= near, "{:?}: {measured} for {published}", row.what);
        }
    }

    #[test]
    fn figures_and_sections_are_named_where_they_can_be_found() {
        let results = concat!(env!("CARGO_MANIFEST_DIR"), "/../../RESULTS.md");
        let results = std::fs::read_to_string(results).expect("RESULTS.md");
        let headings: Vec<&str> = results
            .lines()
            .filter(|line| line.starts_with('#'))
            .map(|line| line.trim_start_matches(['#', ' ']))
            .collect();
        let mut named = 0;
        for published in load("all").unwrap_or_else(|e| panic!("{e:#}")) {
            for text in published.texts() {
                named += text.matches("figure `").count();
                let bare = text.replace("figure `", "");
                assert!(
                    !bare.contains("figure "),
                    "{}: {text}: put the name in backquotes",
                    published.system
                );
            }
            for see in published.figures.iter().filter_map(|figure| figure.see.as_deref()) {
                let there = headings
                    .iter()
                    .any(|heading| *heading == see || heading.starts_with(&format!("{see} (")));
                assert!(there, "{}: RESULTS.md has no section {see}", published.system);
            }
        }
        assert!(named >= 3, "{named}");
    }

    #[test]
    fn systems_are_called_as_their_files_and_others_are_refused() {
        for (name, _) in SYSTEMS {
            let found = load(name).unwrap_or_else(|e| panic!("{e:#}"));
            assert_eq!((found.len(), found[0].system.as_str()), (1, *name));
        }
        let text = load("hrm").expect_err("refused").to_string();
        assert!(text.contains("hrm") && text.contains("rec, hmg, mgcc"), "{text}");
    }
}
