//! The tables of a sweep file.

use super::contest::no_classes;
use super::file::{Axis, ContestText, Point, SPECIAL, Setting, SummaryText, argument};
use super::source::{At, Section, Source};
use super::tier::Tier;
use anyhow::Error;
use std::collections::BTreeMap;
use std::path::Path;
use toml::de::{DeTable, DeValue};
use weft_fabric::config::{Place, all_keys, nearest, text_of};
use weft_workload::trace::{is_trace, short_name};

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

pub(super) fn read_contest<'a>(source: Source<'a>, table: At<&'a DeTable<'a>>) -> Result<ContestText, Error> {
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
