//! Figures of a run that its family declares: name, unit, meaning, value.

use crate::cu::CuObserver;
use crate::run::counter::Counter;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::collections::BTreeMap;

/// Parts that a figure has instead of one number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Names of columns begin with it: `served.l1`.
    pub column: &'static str,
    /// Their names.
    pub names: Vec<&'static str>,
    /// What each is; `{}` stands for its name.
    pub each: &'static str,
}

/// A figure before any run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FigureInfo {
    /// Name in a record.
    pub name: &'static str,
    /// Unit; empty for ratios.
    pub unit: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its parts, if it is no single number.
    pub parts: Option<Parts>,
    /// It is a list, which has no column in a table of runs.
    pub list: bool,
}

/// Name, unit and meaning of a column in a table of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FigureColumn {
    /// Heading.
    pub name: String,
    /// Unit; empty for ratios.
    pub unit: &'static str,
    /// What it holds.
    pub about: String,
}

impl FigureInfo {
    /// Its columns in a table of runs.
    pub fn columns(&self) -> Vec<FigureColumn> {
        let one = |name: String, about: String| FigureColumn { name, unit: self.unit, about };
        match &self.parts {
            _ if self.list => Vec::new(),
            None => vec![one(self.name.into(), self.about.into())],
            Some(parts) => {
                let column =
                    |part: &&str| one(format!("{}.{part}", parts.column), parts.each.replacen("{}", part, 1));
                parts.names.iter().map(column).collect()
            }
        }
    }
}

/// Value of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum FigureValue {
    /// A count.
    Count(u64),
    /// A ratio or rate.
    Real(f64),
    /// A mean; `None` over nothing, which a record gives as 0 and a table leaves empty.
    Mean(Option<f64>),
    /// A count for each part.
    Parts(Vec<(&'static str, u64)>),
    /// Counts in order.
    List(Vec<u64>),
}

impl FigureValue {
    /// The mean of a sum over a number of things.
    pub fn mean(sum: u64, over: u64) -> FigureValue {
        FigureValue::Mean((over > 0).then(|| sum as f64 / over as f64))
    }
}

impl Serialize for FigureValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            FigureValue::Count(count) => count.serialize(serializer),
            FigureValue::Real(real) => real.serialize(serializer),
            FigureValue::Mean(mean) => mean.unwrap_or(0.0).serialize(serializer),
            FigureValue::Parts(parts) => {
                serializer.collect_map(parts.iter().map(|(name, count)| (name, count)))
            }
            FigureValue::List(list) => list.serialize(serializer),
        }
    }
}

/// A figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it is.
    pub info: FigureInfo,
    /// Its value.
    pub value: FigureValue,
}

impl Figure {
    /// Its cells in a table of runs, by column.
    fn cells(&self) -> Vec<(String, String)> {
        let json = |value: &FigureValue| serde_json::to_value(value).unwrap_or_default().to_string();
        let names = self.info.columns().into_iter().map(|column| column.name);
        match &self.value {
            FigureValue::List(_) => Vec::new(),
            FigureValue::Mean(None) => names.map(|name| (name, String::new())).collect(),
            FigureValue::Parts(parts) => {
                names.zip(parts.iter().map(|(_, count)| count.to_string())).collect()
            }
            value => names.map(|name| (name, json(value))).collect(),
        }
    }
}

/// All figures of a run, in the order in which its family declares them. In JSON an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures(pub Vec<Figure>);

impl Figures {
    /// The value of a figure.
    pub fn get(&self, name: &str) -> Option<&FigureValue> {
        self.0.iter().find(|figure| figure.info.name == name).map(|figure| &figure.value)
    }

    /// A count by its name; 0 if there is none of this name.
    pub fn count(&self, name: &str) -> u64 {
        match self.get(name) {
            Some(FigureValue::Count(count)) => *count,
            _ => 0,
        }
    }

    /// A ratio, rate or mean by its name; 0 over nothing, and if there is none of this name.
    pub fn real(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(FigureValue::Real(real)) => *real,
            Some(FigureValue::Mean(mean)) => mean.unwrap_or(0.0),
            _ => 0.0,
        }
    }

    /// All cells in a table of runs, by column.
    pub fn cells(&self) -> BTreeMap<String, String> {
        self.0.iter().flat_map(Figure::cells).collect()
    }
}

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for figure in &self.0 {
            map.serialize_entry(figure.info.name, &figure.value)?;
        }
        map.end()
    }
}

/// What is known at the end of a run beside what a [`Meter`] has seen.
pub struct Seen<'a> {
    /// Cycles of the run.
    pub cycles: u64,
    /// Counters of the blocks and models, as `block.counter`.
    pub counters: &'a BTreeMap<String, Counter>,
    /// Loads and atomics by the `src` of their answer.
    pub served: [u64; 8],
    /// [`super::FamilyCheck::counts`] of all checks of the family, if they are on.
    pub checked: &'a [(&'static str, u64)],
}

impl Seen<'_> {
    /// A counter's value; 0 if no block has one of this name.
    pub fn get(&self, name: &str) -> u64 {
        self.counters.get(name).map_or(0, |counter| counter.value)
    }

    /// How much was checked of this name; `None` when the check is off.
    pub fn checked(&self, name: &str) -> Option<u64> {
        self.checked.iter().find(|(known, _)| *known == name).map(|(_, count)| *count)
    }
}

/// What a family measures beside the counters of blocks and models: it watches all compute units, checks on or off. It is cloned and saved with the run and changes
/// nothing in it.
pub trait Meter: CuObserver + Send {
    /// All figures, in the order of [`super::Family::figures`].
    fn figures(&self, seen: &Seen) -> Figures;

    /// A node's fence unit takes (`start`) or completes a fence of scope 1 (GPU) or 2 (system) in cycle
    /// `now`.
    fn node_fence(&mut self, now: u64, node: u32, start: bool, scope: u8, acquire: bool) {
        let _ = (now, node, start, scope, acquire);
    }

    /// The whole state as bytes; equal states give equal bytes.
    fn save(&self) -> Vec<u8>;

    /// Goes on from what [`Meter::save`] gave for the same fabric; false when the bytes are damaged or of another one.
    #[must_use]
    fn resume(&mut self, bytes: &[u8]) -> bool;

    /// A copy.
    fn boxed(&self) -> Box<dyn Meter>;
}

impl Clone for Box<dyn Meter> {
    fn clone(&self) -> Box<dyn Meter> {
        (**self).boxed()
    }
}
