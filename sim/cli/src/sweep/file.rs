//! The sweep file: what is run, along which axes, and what is shown of it.

use super::built_in;
use super::contest::no_classes;
use super::programs::Asked;
use super::source::{At, Section, Source};
use super::tier::{Tier, Variant, own};
use anyhow::{Error, anyhow};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};
use weft_fabric::config::{Place, all_keys, nearest, text_of};
use weft_workload::trace::{is_trace, short_name};

/// Cycles after which a run fails when the file does not say.
const MAX_CYCLES: u64 = 10_000_000_000;

/// Keys that are none of the fabric's.
pub const SPECIAL: [&str; 7] =
    ["workload", "fabric", "graph", "graph_format", "graph_directed", "graph_limit", "seed"];

/// A key with its value as written.
#[derive(Clone, Debug)]
pub struct Setting {
    /// A key of the fabric, one of [`SPECIAL`], or `param.NAME`.
    pub key: String,
    /// Value and place.
    pub value: At<String>,
}

/// One value of an axis.
#[derive(Clone, Debug)]
pub struct Point {
    /// What tables and pictures call it.
    pub label: String,
    /// Keys and values.
    pub settings: Vec<Setting>,
}

/// A dimension of the product.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name: the key if it has only one.
    pub name: String,
    /// Keys that it moves.
    pub keys: Vec<String>,
    /// Its values.
    pub points: Vec<Point>,
    /// Where it begins.
    pub place: Place,
    /// Its values are those of a list of programs, which leave to other axes what these move.
    pub listed: bool,
}

/// A table and a picture wanted, as written.
#[derive(Clone, Debug)]
pub struct SummaryText {
    /// Where it begins.
    pub place: Place,
    /// Its keys but `relative_to`.
    pub keys: BTreeMap<String, At<String>>,
    /// Workloads that it is about; all, if there are none.
    pub rows: Vec<At<String>>,
    /// Columns that are stacked in the place of one metric.
    pub parts: Vec<At<String>>,
    /// Axis and value; an axis without a name is that of the columns.
    pub relative_to: Vec<(Option<String>, At<String>)>,
}

/// A table of classes against each other wanted, as written.
#[derive(Clone, Debug)]
pub struct ContestText {
    /// Where it begins.
    pub place: Place,
    /// Axis of the classes' values.
    pub columns: Option<At<String>>,
    /// The metric that decides.
    pub by: Option<At<String>>,
    /// Metrics that are shown.
    pub metrics: Vec<At<String>>,
    /// Each class with its values.
    pub classes: Vec<(String, Vec<At<String>>)>,
    /// The class that the others are set against.
    pub relative_to: At<String>,
    /// Headline.
    pub title: Option<String>,
}

/// A sweep as its file describes it; values are not yet checked against the fabric and the programs.
#[derive(Clone, Debug)]
pub struct SweepFile {
    /// Name of the results.
    pub name: String,
    /// A sentence.
    pub about: String,
    /// What errors call the file.
    pub file: String,
    /// Fabric, seed: keys for all runs.
    pub fixed: Vec<Setting>,
    /// Cycles after which a run fails.
    pub max_cycles: u64,
    /// All axes; one of them moves `workload`.
    pub axes: Vec<Axis>,
    /// What is shown.
    pub summaries: Vec<SummaryText>,
    /// Which classes are set against each other.
    pub contests: Vec<ContestText>,
    /// Of which size it is, if it says so.
    pub tier: Option<Tier>,
    /// What other sizes change.
    pub others: BTreeMap<Tier, Variant>,
    /// Folder that paths are relative to.
    pub folder: PathBuf,
}

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
        match needs.iter().find(|(key, _)| !seen.contains_key(key)) {
            Some((key, remedy)) => Err(anyhow!("{}: no {key} is given; {remedy}", self.file)),
            None => Ok(()),
        }
    }

    /// The axis that moves the workload: the rows of every table.
    pub fn rows(&self) -> usize {
        self.axes.iter().position(|axis| axis.keys.iter().any(|key| key == "workload")).unwrap_or(0)
    }
}

/// A whole number of at least 1.
fn whole(text: &At<String>, key: &str, legal: &str) -> Result<u64, Error> {
    let number = text.value.replace('_', "").parse().ok().filter(|n| *n > 0);
    number.ok_or_else(|| text.error(format!("{key} = {} is illegal; legal: {legal}", text.value)))
}

/// `max_cycles = ...`, if it is there.
pub(super) fn max_cycles(top: &Section) -> Result<Option<u64>, Error> {
    let limit = top.text("max_cycles")?;
    limit.map(|limit| whole(&limit, "max_cycles", "a number of cycles of at least 1")).transpose()
}

/// Settings of all runs.
pub(super) fn fixed(source: Source, top: &Section) -> Result<Vec<Setting>, Error> {
    let mut all = Vec::new();
    for key in ["fabric", "seed"] {
        all.extend(top.text(key)?.map(|value| Setting { key: key.into(), value }));
    }
    for table in top.tables("set")? {
        for (key, value) in source.pairs(table.value)? {
            if SPECIAL.contains(&key.as_str()) || key == "workloads" {
                return Err(value.error(format!(
                    "[set] holds keys of the fabric, and {key} is none; write it above [set] or make it an axis"
                )));
            }
            all.push(Setting { key, value });
        }
    }
    Ok(all)
}

/// `workloads = [...]`: names, or tables with arguments.
pub(super) fn workloads(source: Source, top: &Section) -> Result<Option<Axis>, Error> {
    let Some(list) = top.list("workloads")? else { return Ok(None) };
    let mut axis = Axis {
        name: "workload".into(),
        keys: Vec::new(),
        points: Vec::new(),
        place: list.place,
        listed: false,
    };
    for item in list.value {
        let point = match (text_of(item.value), item.value) {
            (Some(name), _) => {
                let value = At { value: name.clone(), place: item.place };
                Point { label: label_of(&name), settings: vec![Setting { key: "workload".into(), value }] }
            }
            (None, DeValue::Table(table)) => {
                let mut label = None;
                let mut settings = Vec::new();
                for (key, value) in source.pairs(table)? {
                    match key.as_str() {
                        "label" => label = Some(value.value),
                        _ => settings.push(argument((key, value))),
                    }
                }
                let name = settings.iter().find(|s| s.key == "workload").map(|s| s.value.value.clone());
                let name = name.ok_or_else(|| {
                    item.error("a workload's table has no name; write { workload = \"stencil\", ... }")
                })?;
                Point { label: label.unwrap_or_else(|| label_of(&name)), settings }
            }
            _ => {
                return Err(item.error(
                    "a workload is neither a name nor a table; write \"stencil\" or { workload = \"stencil\", n = 512 }",
                ));
            }
        };
        axis.points.push(point);
    }
    let keys = axis.points.iter().flat_map(|p| &p.settings).map(|s| s.key.clone());
    axis.keys = keys.collect::<std::collections::BTreeSet<_>>().into_iter().collect();
    Ok(Some(axis))
}

/// An argument of a workload: how its graph is read, or a parameter.
pub(super) fn argument((key, value): (String, At<String>)) -> Setting {
    match key.as_str() {
        "workload" | "graph" | "graph_format" | "graph_directed" | "graph_limit" => Setting { key, value },
        param => Setting { key: format!("param.{param}"), value },
    }
}

/// What a workload is called where it has no label.
fn label_of(name: &str) -> String {
    if is_trace(name) { short_name(Path::new(name)) } else { name.to_string() }
}

/// A table of an axis.
pub(super) fn read_axis<'a>(source: Source<'a>, table: At<&'a DeTable<'a>>) -> Result<Axis, Error> {
    let known = ["name", "key", "keys", "values", "labels"];
    let section = Section::new(source, table.place.clone(), table.value, &known)?;
    let single = section.text("key")?;
    let several = section.texts("keys")?;
    let keys = match (&single, several) {
        (Some(key), None) => vec![key.clone()],
        (None, Some(keys)) => keys,
        (Some(key), Some(_)) => return Err(key.error("an axis has key or keys, not both; leave one out")),
        (None, None) => {
            return Err(
                table.error("an axis has no key; write key = \"protocol\", or keys = [...] for several")
            );
        }
    };
    for key in &keys {
        known_key(key)?;
    }
    let values = section.list("values")?;
    let values = values.ok_or_else(|| table.error("an axis has no values; write values = [...]"))?;
    let mut points = Vec::new();
    for value in values.value {
        points.push(read_point(source, &keys, single.is_some(), value)?);
    }
    if let Some(labels) = section.texts("labels")? {
        if labels.len() != points.len() {
            return Err(labels[0].error(format!(
                "there are {} labels for {} values; give one for each",
                labels.len(),
                points.len()
            )));
        }
        points.iter_mut().zip(labels).for_each(|(point, label)| point.label = label.value);
    }
    let keys: Vec<String> = keys.into_iter().map(|key| key.value).collect();
    let name = section.text("name")?.map_or_else(|| keys.join("+"), |name| name.value);
    Ok(Axis { name, keys, points, place: table.place, listed: false })
}

/// A value of an axis: one text, or a list with one for each key.
fn read_point(
    source: Source,
    keys: &[At<String>],
    single: bool,
    value: At<&DeValue>,
) -> Result<Point, Error> {
    let setting = |key: &At<String>, text: String, place: &Place| Setting {
        key: key.value.clone(),
        value: At { value: text, place: place.clone() },
    };
    match (text_of(value.value), value.value) {
        (Some(text), _) if single => {
            Ok(Point { settings: vec![setting(&keys[0], text.clone(), &value.place)], label: text })
        }
        (None, DeValue::Array(items)) if !single => {
            let texts: Option<Vec<String>> = items.iter().map(|item| text_of(item.get_ref())).collect();
            let texts = texts.filter(|texts| texts.len() == keys.len()).ok_or_else(|| {
                value.error(format!("a value of keys = [...] is no list of {} values", keys.len()))
            })?;
            let label = texts.join(" ");
            let places = items.iter().map(|item| source.place(item.span().start));
            let all = keys.iter().zip(texts).zip(places);
            Ok(Point {
                label,
                settings: all.map(|((key, text), place)| setting(key, text, &place)).collect(),
            })
        }
        _ if single => {
            Err(value.error(format!("a value of key = \"{}\" is no number, string or switch", keys[0].value)))
        }
        _ => Err(value.error("a value of keys = [...] is no list; write [first, second]")),
    }
}

/// Refuses a key that nothing has; whether a program has a parameter is seen later.
fn known_key(key: &At<String>) -> Result<(), Error> {
    let name = key.value.as_str();
    if SPECIAL.contains(&name) || name.starts_with("param.") {
        return Ok(());
    }
    let known = all_keys();
    if known.iter().any(|info| info.name == name) {
        return Ok(());
    }
    let nearest = nearest(name, known.iter().map(|info| info.name));
    Err(key.error(format!(
        "there is no key {name}; {nearest}, and an axis also moves {} and param.NAME",
        SPECIAL.join(", ")
    )))
}

pub(super) fn read_summary<'a>(source: Source<'a>, table: At<&'a DeTable<'a>>) -> Result<SummaryText, Error> {
    let texts = ["columns", "metric", "show", "mean", "plot", "name", "title", "x_label", "y_label"];
    let known: Vec<&str> = texts.iter().copied().chain(["relative_to", "parts", "rows"]).collect();
    let section = Section::new(source, table.place.clone(), table.value, &known)?;
    let mut keys = BTreeMap::new();
    for key in texts {
        keys.extend(section.text(key)?.map(|value| (key.to_string(), value)));
    }
    let found = table.value.iter().find(|(key, _)| *key.get_ref() == "relative_to");
    let relative_to = match found.map(|(_, value)| value.get_ref()) {
        None => Vec::new(),
        Some(DeValue::Table(pairs)) => {
            source.pairs(pairs)?.into_iter().map(|(axis, value)| (Some(axis), value)).collect()
        }
        Some(_) => section.text("relative_to")?.map(|value| (None, value)).into_iter().collect(),
    };
    let parts = section.texts("parts")?.unwrap_or_default();
    let rows = section.texts("rows")?.unwrap_or_default();
    Ok(SummaryText { place: table.place, keys, rows, parts, relative_to })
}

fn read_contest<'a>(source: Source<'a>, table: At<&'a DeTable<'a>>) -> Result<ContestText, Error> {
    let known = ["columns", "by", "metrics", "classes", "relative_to", "title"];
    let section = Section::new(source, table.place.clone(), table.value, &known)?;
    let mut classes = Vec::new();
    for inner in section.tables("classes")? {
        let mut keys: Vec<_> = inner.value.keys().collect();
        keys.sort_by_key(|key| key.span().start);
        let names: Vec<&str> = keys.iter().map(|key| key.get_ref().as_ref()).collect();
        let class = Section::new(source, inner.place, inner.value, &names)?;
        for name in names {
            classes.extend(class.texts(name)?.map(|values| (name.to_string(), values)));
        }
    }
    if classes.is_empty() {
        return Err(no_classes(&table.place));
    }
    Ok(ContestText {
        columns: section.text("columns")?,
        by: section.text("by")?,
        metrics: section.texts("metrics")?.unwrap_or_default(),
        classes,
        relative_to: section.need("relative_to", "name the class that the others are set against")?,
        title: section.text("title")?.map(|title| title.value),
        place: table.place,
    })
}
