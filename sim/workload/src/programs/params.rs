//! Parameters of programs.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use thiserror::Error;

/// Values that a parameter may have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Legal {
    /// A whole number.
    Integer {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A real number.
    Real {
        /// Smallest.
        min: f64,
        /// Largest.
        max: f64,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
}

impl fmt::Display for Legal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer { min, max } => write!(f, "a whole number {min}..{max}"),
            Self::Real { min, max } => write!(f, "a number {min}..{max}"),
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
        }
    }
}

/// One parameter of a program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ParamSpec {
    /// Key.
    pub name: &'static str,
    /// Default, as a user would write it.
    pub default: &'static str,
    /// Legal values.
    pub legal: Legal,
    /// Unit; empty if it has none.
    pub unit: &'static str,
    /// One sentence.
    pub about: &'static str,
}

/// A parameter that is a whole number of at least 1.
pub const fn size(
    name: &'static str,
    default: &'static str,
    max: u64,
    unit: &'static str,
    about: &'static str,
) -> ParamSpec {
    ParamSpec { name, default, legal: Legal::Integer { min: 1, max }, unit, about }
}

/// A program that cannot be built.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum WorkloadError {
    /// No such program.
    #[error("there is no workload {name}; {remedy}, and the path of a trace is a workload, too")]
    Unknown {
        /// Name given.
        name: String,
        /// The program probably meant, and where all are listed.
        remedy: String,
    },
    /// No such parameter.
    #[error("workload {workload} has no parameter {name}; {remedy}")]
    UnknownParam {
        /// Program.
        workload: &'static str,
        /// Key given.
        name: String,
        /// The parameter probably meant, and where all are listed.
        remedy: String,
    },
    /// A value outside its range.
    #[error("workload {workload}: {name} = {value} is illegal, expected {legal}")]
    Illegal {
        /// Program.
        workload: &'static str,
        /// Key.
        name: String,
        /// Value given.
        value: String,
        /// Legal values.
        legal: String,
    },
    /// A weight that a program cannot take as it is.
    #[error("{place}: weight {weight} {problem}; {remedy}")]
    Weight {
        /// File and line, or the graph.
        place: String,
        /// The weight.
        weight: f64,
        /// Why not, and what the program takes.
        problem: String,
        /// What to do.
        remedy: String,
    },
    /// A sum of weights that passes what a program takes for infinite.
    #[error(
        "{graph}: the distance from {from} to {to} is {sum}, and {workload} takes {infinite} and more as \
         infinite; make all weights smaller by the parameter weight_scale, as in --param weight_scale={scale}"
    )]
    Sum {
        /// Program.
        workload: &'static str,
        /// File of the graph, or its name.
        graph: String,
        /// Vertex, by its number in the file.
        from: u64,
        /// Vertex, by its number in the file.
        to: u64,
        /// The distance.
        sum: u64,
        /// The program's infinity.
        infinite: u64,
        /// A factor by which the distance is below it.
        scale: f64,
    },
    /// A graph for a program that has no use for one.
    #[error(
        "workload {workload} takes no graph; leave the graph out or choose bc, bc-gpu, bfs, clr, mis, mst, pagerank, pr, pr-push, prk or sssp"
    )]
    GraphUnused {
        /// Program.
        workload: &'static str,
    },
}

#[derive(Clone, Debug)]
enum Value {
    Integer(u64),
    Real(f64),
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(v) => write!(f, "{v}"),
            Self::Real(v) => write!(f, "{v}"),
            Self::Text(v) => f.write_str(v),
        }
    }
}

/// Parameters of one program, checked against their ranges, with defaults filled in.
#[derive(Clone, Debug)]
pub struct Params {
    workload: &'static str,
    values: BTreeMap<&'static str, Value>,
    /// Those that were asked for.
    used: RefCell<BTreeSet<&'static str>>,
}

impl Params {
    /// Checks `given` against `specs`.
    pub fn resolve(
        workload: &'static str,
        specs: &'static [ParamSpec],
        given: &BTreeMap<String, String>,
    ) -> Result<Self, WorkloadError> {
        if let Some(name) = given.keys().find(|name| specs.iter().all(|s| s.name != name.as_str())) {
            let known = specs.iter().map(|s| s.name);
            let remedy = weft_names::remedy(name, known, "`weft list workloads` shows all");
            return Err(WorkloadError::UnknownParam { workload, name: name.clone(), remedy });
        }
        let mut values = BTreeMap::new();
        for spec in specs {
            let text = given.get(spec.name).map_or(spec.default, String::as_str);
            let value = parse(text.trim(), spec.legal).ok_or_else(|| WorkloadError::Illegal {
                workload,
                name: spec.name.to_owned(),
                value: text.to_owned(),
                legal: spec.legal.to_string(),
            })?;
            values.insert(spec.name, value);
        }
        Ok(Self { workload, values, used: RefCell::default() })
    }

    /// Name of the program.
    pub fn workload(&self) -> &'static str {
        self.workload
    }

    /// Whether the program's list declares such a parameter.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Names of the parameters that were asked for so far: what a program was built from.
    pub fn used(&self) -> BTreeSet<String> {
        self.used.borrow().iter().map(|name| (*name).to_owned()).collect()
    }

    fn value(&self, name: &str) -> Option<&Value> {
        let (name, value) = self.values.get_key_value(name)?;
        self.used.borrow_mut().insert(name);
        Some(value)
    }

    /// All parameters as text, each in one spelling.
    pub fn texts(&self) -> BTreeMap<String, String> {
        self.values.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    /// A whole-number parameter that the program's list declares.
    ///
    /// # Panics
    /// If the list declares no such whole number.
    pub fn integer(&self, name: &str) -> u64 {
        match self.value(name) {
            Some(Value::Integer(v)) => *v,
            other => panic!("{} declares no whole number {name}: {other:?}", self.workload),
        }
    }

    /// A real parameter that the program's list declares.
    ///
    /// # Panics
    /// If the list declares no such number.
    pub fn real(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Real(v)) => *v,
            other => panic!("{} declares no real number {name}: {other:?}", self.workload),
        }
    }

    /// A word that the program's list declares.
    ///
    /// # Panics
    /// If the list declares no such word.
    pub fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Some(Value::Text(v)) => v,
            other => panic!("{} declares no word {name}: {other:?}", self.workload),
        }
    }

    /// The error of a value that is illegal beside the others; `legal` says what they leave.
    pub fn illegal(&self, name: &str, legal: String) -> WorkloadError {
        let value = self.values.get(name).map_or_else(String::new, Value::to_string);
        WorkloadError::Illegal { workload: self.workload, name: name.to_owned(), value, legal }
    }
}

fn parse(text: &str, legal: Legal) -> Option<Value> {
    match legal {
        Legal::Integer { min, max } => {
            text.replace('_', "").parse().ok().filter(|v| (min..=max).contains(v)).map(Value::Integer)
        }
        Legal::Real { min, max } => text.parse().ok().filter(|v| (min..=max).contains(v)).map(Value::Real),
        Legal::Choice(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
    }
}
