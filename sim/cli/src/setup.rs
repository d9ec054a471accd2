//! What a run is a run of: for its text, its JSON, its page, its event log and the tables of sweeps.

use crate::graph;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use weft_fabric::config::FabricConfig;
use weft_fabric::fit::Fitted;
use weft_workload::graph::GraphFacts;

/// Version and commit of this program: `0.1.0 (2e28643a1a0c)`, with `-dirty` behind a commit from which its
/// sources differ.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("WEFT_COMMIT"), ")");

/// A run's program, its parameters and its graph, the keys that differ from the fabric's file, and what
/// made it.
#[derive(Clone, Debug, Serialize)]
pub struct Setup {
    /// Version and commit of the program that made the run.
    pub weft: Weft,
    /// All parameters of the program.
    pub params: Map<String, Value>,
    /// Names of those that the user gave.
    pub params_given: BTreeSet<String>,
    /// Names of those that nobody gave and that the fabric decided.
    pub params_followed: BTreeSet<String>,
    /// Names of those that made no difference: with a graph from a file, those of a random one.
    pub params_unused: BTreeSet<String>,
    /// The graph, if the program works on one.
    pub graph: Option<GraphFacts>,
    /// Keys of the fabric that differ from its file.
    pub changed: BTreeMap<String, Change>,
    /// Seed, if the user gave one.
    pub seed: Option<u64>,
}

/// What made a run.
#[derive(Clone, Debug, Serialize)]
pub struct Weft {
    /// Version.
    pub version: &'static str,
    /// Commit of its sources, with `-dirty` if they differ from it; `unknown` if they were in no
    /// repository.
    pub commit: &'static str,
}

/// The two values of a key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// In the fabric's file, or by default.
    pub file: Value,
    /// In the run.
    pub run: Value,
}

/// A program's parameters, and which of them were given and used.
#[derive(Clone)]
pub struct Params {
    /// All, as text.
    pub all: BTreeMap<String, String>,
    /// Names of those that the user gave.
    pub given: BTreeSet<String>,
    /// Names of those that nobody gave and that the fabric decided.
    pub followed: BTreeSet<String>,
    /// Names of those that make a difference.
    pub used: BTreeSet<String>,
    /// The graph, if the program works on one.
    pub graph: Option<GraphFacts>,
}

impl Params {
    /// Those that make a difference, `name=value`.
    pub fn words(&self) -> String {
        let used = self.all.iter().filter(|(name, _)| self.used.contains(*name));
        used.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    /// Of a program that was built with these parameters given.
    pub fn new(fitted: &Fitted, given: BTreeSet<String>) -> Params {
        let graph = fitted.graph.as_ref().map(graph::facts);
        let followed = fitted.followed.iter().map(|name| name.to_string()).collect();
        Params { all: fitted.params.clone(), given, followed, used: fitted.used.clone(), graph }
    }

    /// Of a trace, which is what it is.
    pub fn of_trace(all: BTreeMap<String, String>) -> Params {
        let used = all.keys().cloned().collect();
        Params { all, used, given: BTreeSet::new(), followed: BTreeSet::new(), graph: None }
    }
}

impl Setup {
    /// What a run is; `original` is the fabric as its file has it.
    pub fn new(params: &Params, config: &FabricConfig, original: &FabricConfig, seed: Option<u64>) -> Setup {
        let unused = params.all.keys().filter(|name| !params.used.contains(*name));
        Setup {
            weft: Weft { version: env!("CARGO_PKG_VERSION"), commit: env!("WEFT_COMMIT") },
            params: params.all.iter().map(|(name, text)| (name.clone(), number(text))).collect(),
            params_given: params.given.clone(),
            params_followed: params.followed.clone(),
            params_unused: unused.cloned().collect(),
            graph: params.graph.clone(),
            changed: changed(config, original),
            seed,
        }
    }

    /// For people: title and text of each row.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        let list = |wanted: &dyn Fn(&String) -> bool| -> String {
            let wanted = self.params.iter().filter(|(name, _)| wanted(name));
            wanted.map(|(name, value)| format!("{name}={}", plain(value))).collect::<Vec<_>>().join(" ")
        };
        let used = |name: &String| !self.params_unused.contains(name);
        let given = |name: &String| self.params_given.contains(name);
        let followed = |name: &String| self.params_followed.contains(name);
        rows.push(("parameters given", list(&|name| used(name) && given(name))));
        rows.push(("parameters from the fabric", list(&|name| used(name) && followed(name))));
        rows.push(("parameters by default", list(&|name| used(name) && !given(name) && !followed(name))));
        rows.push(("parameters given, but not used", list(&|name| !used(name) && given(name))));
        let changed = self
            .changed
            .iter()
            .map(|(key, change)| format!("{key}={} (file: {})", plain(&change.run), plain(&change.file)));
        rows.push(("keys that differ from the file", changed.collect::<Vec<_>>().join(" ")));
        rows.retain(|(_, text)| !text.is_empty());
        rows.push(("made by", format!("weft {VERSION}")));
        rows
    }

    /// All of it as members of a JSON object.
    pub fn members(&self) -> Map<String, Value> {
        match json!(self) {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }
}

/// A parameter as JSON: a number where it is one.
fn number(text: &str) -> Value {
    let whole = text.parse::<u64>().map(Value::from);
    // A fingerprint of digits only is no number.
    let real = || text.parse::<f64>().ok().filter(|_| text.contains('.')).map(Value::from);
    // Only what is written back as it was read is a number.
    let same = |value: &Value| {
        let shown = value.to_string();
        shown == text
    };
    whole.ok().filter(same).or_else(real).unwrap_or_else(|| text.into())
}

/// A JSON value without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// Keys with two values.
pub fn changed(config: &FabricConfig, original: &FabricConfig) -> BTreeMap<String, Change> {
    let change = |key: &'static str| {
        let (file, run) = (original.get(key).unwrap_or(Value::Null), config.get(key)?);
        (file != run).then(|| (key.to_string(), Change { file, run }))
    };
    config.keys().into_iter().filter_map(|key| change(key.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_numbers_and_words_are_words() {
        assert_eq!([number("17"), number("0.85")], [json!(17), json!(0.85)]);
        assert_eq!(
            ["power", "007", "0123456789012345", "99999999999999999999"].map(|text| number(text).is_string()),
            [true; 4]
        );
    }

    #[test]
    fn a_change_has_both_values() {
        let original = FabricConfig::load("rec-4gpu-small").expect("built in");
        let mut config = original.clone();
        config.set("range=512").expect("legal");
        let changed = changed(&config, &original);
        let keys: Vec<&str> = changed.keys().map(String::as_str).collect();
        assert_eq!(keys, ["range"]);
        assert_eq!(changed["range"], Change { file: 1024.into(), run: 512.into() });
    }
}
