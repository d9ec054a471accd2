//! What a block says of itself to be built by name, with parameters: what `weft list`, `export`, `area`, `cosim` and `sim` work from.

use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;
use weft_rtl::error::ElabErrors;
use weft_rtl::ir::Module;

/// A parameter of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// Key.
    pub name: &'static str,
    /// Default, as text.
    pub default: String,
    /// Legal range, as text.
    pub legal: &'static str,
    /// Unit and meaning in one sentence.
    pub about: &'static str,
}

/// What is wrong with a block's parameters.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BlockError {
    #[error("block {block} has no parameter {key}; {remedy}")]
    UnknownKey { block: String, key: String, remedy: String },
    #[error("parameter {key} = {value} of block {block}: {problem}; legal: {legal}")]
    Illegal { block: String, key: String, value: String, problem: String, legal: String },
    #[error("parameter {key} = {value} of block {block}: {problem}")]
    Default { block: String, key: String, value: String, problem: String },
    #[error("there is no block {name}; {remedy}")]
    UnknownBlock { name: String, remedy: String },
    #[error("block {block} does not elaborate:\n{errors}")]
    Elab { block: String, errors: ElabErrors },
}

impl BlockError {
    /// The same of another block, which has passed its values on.
    #[must_use]
    pub fn of(self, block: &str) -> BlockError {
        match self {
            BlockError::Illegal { key, value, problem, legal, .. } => {
                BlockError::Illegal { block: block.into(), key, value, problem, legal }
            }
            other => other,
        }
    }
}

/// Parameter values given by the user, checked against a block's list.
#[derive(Clone, Debug)]
pub struct ParamSet {
    block: &'static str,
    infos: Vec<ParamInfo>,
    given: BTreeMap<String, String>,
}

impl ParamSet {
    /// Pairs a block's parameters with what was given.
    ///
    /// # Errors
    /// A key that the block does not have.
    pub fn new(info: &BlockInfo, given: &BTreeMap<String, String>) -> Result<ParamSet, BlockError> {
        let infos = (info.params)();
        for key in given.keys() {
            if !infos.iter().any(|i| i.name == key) {
                let known = infos.iter().map(|i| i.name);
                let remedy = weft_names::remedy(key, known, "`weft list blocks` shows all");
                return Err(BlockError::UnknownKey { block: info.name.into(), key: key.clone(), remedy });
            }
        }
        Ok(ParamSet { block: info.name, infos, given: given.clone() })
    }

    /// The same values for a block with further parameters, which have their defaults.
    #[must_use]
    pub fn with(&self, infos: Vec<ParamInfo>) -> ParamSet {
        ParamSet { infos, ..self.clone() }
    }

    /// The value of a parameter as text: given, or its default.
    ///
    /// # Panics
    /// When the block declares no such parameter (a slip in the block's source).
    pub fn text(&self, key: &str) -> String {
        let info =
            self.infos.iter().find(|i| i.name == key).unwrap_or_else(|| panic!("undeclared parameter {key}"));
        self.given.get(key).cloned().unwrap_or_else(|| info.default.clone())
    }

    /// The value of a parameter as a whole number (decimal, or with K, M, G suffix for powers of 1024).
    ///
    /// # Errors
    /// When it is no number.
    pub fn number(&self, key: &str) -> Result<u64, BlockError> {
        let text = self.text(key);
        let (digits, scale) = match text.as_bytes().last() {
            Some(b'K' | b'k') => (&text[..text.len() - 1], 1 << 10),
            Some(b'M') => (&text[..text.len() - 1], 1 << 20),
            Some(b'G') => (&text[..text.len() - 1], 1 << 30),
            _ => (text.as_str(), 1),
        };
        digits
            .parse::<u64>()
            .ok()
            .and_then(|v| v.checked_mul(scale))
            .ok_or_else(|| self.illegal(key, "it is no whole number"))
    }

    /// The value of a parameter as a number in `lo..=hi`.
    ///
    /// # Errors
    /// When it is no number or lies outside.
    pub fn within(&self, key: &str, lo: u64, hi: u64) -> Result<u64, BlockError> {
        let value = self.number(key)?;
        if (lo..=hi).contains(&value) {
            Ok(value)
        } else {
            Err(self.illegal(key, &format!("it lies outside {lo}..{hi}")))
        }
    }

    /// The error for a parameter, with its legal range.
    pub fn illegal(&self, key: &str, problem: &str) -> BlockError {
        let legal = self.infos.iter().find(|i| i.name == key).map_or("", |i| i.legal).to_string();
        let value = self.text(key);
        BlockError::Illegal {
            block: self.block.into(),
            key: key.into(),
            value,
            problem: problem.into(),
            legal,
        }
    }

    /// All parameters with the values in force, in order of declaration.
    pub fn all(&self) -> Vec<(String, String)> {
        self.infos.iter().map(|i| (i.name.to_string(), self.text(i.name))).collect()
    }
}

/// A block that can be built by name.
#[derive(Clone, Copy)]
pub struct BlockInfo {
    /// Name on the command line, kebab-case.
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// Parameters.
    pub params: fn() -> Vec<ParamInfo>,
    /// Builds the module.
    pub build: fn(&ParamSet) -> Result<Arc<Module>, BlockError>,
}

impl BlockInfo {
    /// Builds the block with these values of parameters; the others have their defaults.
    ///
    /// # Errors
    /// An unknown parameter, an illegal value, or a mistake in the description.
    pub fn with(&self, values: &[(&str, &str)]) -> Result<Arc<Module>, BlockError> {
        self.with_given(&values.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect())
    }

    /// The same from a map. A default that does not go with what was given is told as such, with the given parameters that exclude it.
    ///
    /// # Errors
    /// An unknown parameter, an illegal value, or a mistake in the description.
    pub fn with_given(&self, given: &BTreeMap<String, String>) -> Result<Arc<Module>, BlockError> {
        match (self.build)(&ParamSet::new(self, given)?) {
            Err(BlockError::Illegal { block, key, value, problem, legal }) if !given.contains_key(&key) => {
                let given = self.excluding(&key, given);
                let problem = format!(
                    "{problem}; legal: {legal}; {value} is its default, which does not go with {given}: give {key} too, or change {given}"
                );
                Err(BlockError::Default { block, key, value, problem })
            }
            other => other,
        }
    }

    /// The given parameters without any one of which the default of `key` would do; all of them if it takes several.
    fn excluding(&self, key: &str, given: &BTreeMap<String, String>) -> String {
        let needed = |name: &&String| {
            let others = given.iter().filter(|(other, _)| other != name);
            let others = others.map(|(k, v)| (k.clone(), v.clone())).collect();
            let built = ParamSet::new(self, &others).and_then(|set| (self.build)(&set));
            !matches!(built, Err(BlockError::Illegal { key: still, .. }) if still == key)
        };
        let mut blamed: Vec<&String> = given.keys().filter(needed).collect();
        if blamed.is_empty() {
            blamed = given.keys().collect();
        }
        blamed.iter().map(|name| format!("{name} = {}", given[*name])).collect::<Vec<_>>().join(", ")
    }
}

/// What was made of a block's description, or what is wrong with it.
///
/// # Errors
/// A mistake in the description.
pub fn elaborated<T>(block: &str, made: Result<T, ElabErrors>) -> Result<T, BlockError> {
    made.map_err(|errors| BlockError::Elab { block: block.to_string(), errors })
}
