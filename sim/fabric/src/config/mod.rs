//! A fabric's configuration: a TOML file of flat keys, built in or the user's own, with changes from the command line.
//!
//! ```
//! use weft_fabric::config::FabricConfig;
//! let mut config = FabricConfig::load("rec-4gpu-small").unwrap();
//! config.set("protocol=baseline").unwrap();
//! config.set("l2_size=128K").unwrap();
//! config.validate().unwrap();
//! assert_eq!(config.directory().unwrap().l2_sets, 64);
//! config.set("range=96").unwrap_err();
//! ```
//!
//! Some keys every fabric has ([`Common`]), others belong to the family of fabrics that the file names ([`FamilyKeys`]). A key's own legal values are checked when it is read, what depends on several keys by [`FabricConfig::validate`], so that a file and several
//! `--set` may change keys that belong together.

mod common;
mod error;
mod family;
mod group;
mod record;
mod scale;
mod value;

pub use common::Common;
pub use error::{ConfigError, Place, nearest};
pub use family::{Family, FamilyKeys};
pub use group::{Group, KeyInfo, Section, keys};
pub use scale::Ratio;
pub use value::{Auto, CtaSchedule, Field, Legal, Named, Placement, Runtime, named};
pub(crate) use value::{G, K, M, size};

pub use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use toml::de::{DeTable, DeValue};
use weft_lists::Further;

/// Where values were given.
pub(crate) type Places = BTreeMap<String, Place>;

/// Name and text of a fabric's file.
pub type File = (&'static str, &'static str);

/// Fabrics of others.
static FURTHER: Further<File> = Further::new();

/// Installs fabrics from outside this crate; before any is asked for, and once.
///
/// # Panics
/// When fabrics have been asked for or installed already.
pub fn install(fabrics: Vec<File>) {
    FURTHER.install(fabrics);
}

/// Names of the fabrics that come with this crate.
pub fn built_in() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// All fabrics that have a name.
fn files() -> impl Iterator<Item = &'static File> {
    BUILT_IN.iter().chain(FURTHER.all())
}

/// Built-in fabrics.
const BUILT_IN: &[File] = &[
    ("rec-4gpu", include_str!("../../../fabrics/rec-4gpu.toml")),
    ("rec-4gpu-small", include_str!("../../../fabrics/rec-4gpu-small.toml")),
    ("hmg-4gpu", include_str!("../../../fabrics/hmg-4gpu.toml")),
    ("hmg-4gpu-small", include_str!("../../../fabrics/hmg-4gpu-small.toml")),
    ("tsm-4gpu", include_str!("../../../fabrics/tsm-4gpu.toml")),
    ("tsm-4gpu-small", include_str!("../../../fabrics/tsm-4gpu-small.toml")),
    ("rdma-4gpu", include_str!("../../../fabrics/rdma-4gpu.toml")),
    ("rdma-4gpu-small", include_str!("../../../fabrics/rdma-4gpu-small.toml")),
    ("hmg-tsm-4gpu", include_str!("../../../fabrics/hmg-tsm-4gpu.toml")),
    ("hmg-tsm-4gpu-small", include_str!("../../../fabrics/hmg-tsm-4gpu-small.toml")),
    ("srsp-64cu", include_str!("../../../fabrics/srsp-64cu.toml")),
    ("srsp-64cu-small", include_str!("../../../fabrics/srsp-64cu-small.toml")),
    ("hlrc-128cu", include_str!("../../../fabrics/hlrc-128cu.toml")),
    ("hlrc-128cu-small", include_str!("../../../fabrics/hlrc-128cu-small.toml")),
    ("spandex-soc", include_str!("../../../fabrics/spandex-soc.toml")),
    ("spandex-soc-small", include_str!("../../../fabrics/spandex-soc-small.toml")),
    ("spandex-4gpu", include_str!("../../../fabrics/spandex-4gpu.toml")),
    ("spandex-4gpu-small", include_str!("../../../fabrics/spandex-4gpu-small.toml")),
    ("flat-gpu", include_str!("../../../fabrics/flat-gpu.toml")),
    ("flat-gpu-small", include_str!("../../../fabrics/flat-gpu-small.toml")),
];

/// Configuration of a fabric: one field per key; the default is the published REC system.
#[derive(Clone, Debug, PartialEq)]
pub struct FabricConfig {
    /// Name of the built-in fabric, or the file's name without its ending.
    pub name: String,
    /// What it is, in a sentence.
    pub about: String,
    /// The keys that every family has.
    pub common: Common,
    /// The keys of its family.
    pub of: FamilyKeys,
    /// Where each value that is no default was given.
    pub(crate) places: Places,
}

impl Default for FabricConfig {
    fn default() -> FabricConfig {
        FabricConfig::published(FamilyKeys::default())
    }
}

/// Keys of all families, each name once.
pub fn all_keys() -> Vec<KeyInfo> {
    let mut all: Vec<KeyInfo> = Vec::new();
    for key in FamilyKeys::all().into_iter().flat_map(|of| FabricConfig::published(of).keys()) {
        if all.iter().all(|known| known.name != key.name) {
            all.push(key);
        }
    }
    all
}

impl FabricConfig {
    /// Names of the fabrics that need no path: built in, or installed.
    pub fn list() -> Vec<&'static str> {
        files().map(|(name, _)| *name).collect()
    }

    /// A fabric by its name, or the file at a path. Keys that the file does not give keep the published values. What depends on several keys is
    /// left to [`FabricConfig::validate`].
    ///
    /// # Errors
    /// A name that is neither, a file that cannot be read or is no TOML, an unknown key, or a value outside its legal range.
    pub fn load(name_or_path: &str) -> Result<FabricConfig, ConfigError> {
        if let Some((name, text)) = files().find(|(name, _)| *name == name_or_path) {
            return FabricConfig::parse(text, name, &format!("{name}.toml"));
        }
        let path = Path::new(name_or_path);
        let named = path.extension().is_none() && path.components().count() == 1;
        if named && !path.exists() {
            let (name, known) = (name_or_path.into(), FabricConfig::list());
            let remedy = weft_names::remedy(name_or_path, known, "`weft list fabrics` shows all");
            return Err(ConfigError::NoFabric { name, remedy });
        }
        let text = std::fs::read_to_string(path)
            .map_err(|cause| ConfigError::Read { path: path.to_path_buf(), cause })?;
        let stem = path.file_stem().map_or(name_or_path.into(), |s| s.to_string_lossy().into_owned());
        FabricConfig::parse(&text, &stem, name_or_path)
    }

    /// Reads the text of a file that errors call `file`.
    ///
    /// # Errors
    /// As [`FabricConfig::load`].
    pub fn parse(text: &str, name: &str, file: &str) -> Result<FabricConfig, ConfigError> {
        let place = |at: usize| Place::line(file, text, at);
        let table = DeTable::parse(text).map_err(|e| ConfigError::Syntax {
            place: place(e.span().map_or(0, |s| s.start)),
            cause: e.message().to_string(),
        })?;
        let family = table.get_ref().iter().find(|(key, _)| key.get_ref() == "family");
        let published = match family.map(|(key, value)| (place(key.span().start), value)) {
            Some((at, value)) => {
                let given = text_of(value.get_ref()).unwrap_or_else(|| text[value.span()].trim().to_string());
                FabricConfig::of_family(at, &given)?
            }
            None => FabricConfig::default(),
        };
        let mut config = FabricConfig { name: name.into(), about: String::new(), ..published };
        for (key, value) in table.get_ref().iter().filter(|(key, _)| key.get_ref() != "family") {
            let at = place(key.span().start);
            let given = text_of(value.get_ref()).ok_or_else(|| {
                let what = text[value.span()].trim().to_string();
                config.illegal_at(&at, key.get_ref(), what, "it is no number, string or switch")
            })?;
            match key.get_ref().as_ref() {
                "about" => config.about = given,
                key => config.give(at, key, &given)?,
            }
        }
        Ok(config)
    }

    /// Changes a key as `--set KEY=VALUE` does.
    ///
    /// # Errors
    /// Words without `=`, an unknown key, or a value outside its legal range; the configuration is then unchanged.
    pub fn set(&mut self, key_value: &str) -> Result<(), ConfigError> {
        let Some((key, value)) = key_value.split_once('=') else {
            return Err(ConfigError::NoPair { word: key_value.into() });
        };
        self.give(Place::Set, key.trim(), value.trim())
    }

    /// Changes a key to the value written as `text` at `place`, which errors then name.
    ///
    /// # Errors
    /// An unknown key, or a value outside its legal range; the configuration is then unchanged.
    pub fn give(&mut self, place: Place, key: &str, text: &str) -> Result<(), ConfigError> {
        let keys = self.keys();
        let Some(info) = keys.iter().find(|info| info.name == key) else {
            return Err(self.unknown(place, key, text, &keys));
        };
        self.common
            .assign(key, text, &info.legal)
            .and_then(|()| self.of.family_mut().assign(key, text, &info.legal))
            .map_err(|problem| self.illegal_at(&place, key, text.into(), &problem))?;
        self.places.insert(key.into(), place);
        Ok(())
    }

    /// All keys of this fabric with unit, default, legal values and meaning, in the order of the files.
    pub fn keys(&self) -> Vec<KeyInfo> {
        let published = self.of.published();
        let family = published.family();
        let mut common = family.common().infos();
        common.iter_mut().for_each(|key| family.adapt(key));
        let mut all = family.infos();
        all.extend(common);
        all.sort_by_key(|key| key.section);
        all
    }

    /// The value of a key as JSON.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.common.get(key).or_else(|| self.of.family().get(key))
    }

    /// Refuses every combination that cannot be built.
    ///
    /// # Errors
    /// The first key that does not fit the others, with its place and its legal range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.of.family().check(self)?;
        self.check_common()
    }

    /// Of a key that has one of several names, each name with those of another such key with which the fabric can be built, its
    /// other keys as they are. Empty where there are no such keys.
    pub fn pairs(&self, key: &str, other: &str) -> Vec<(&'static str, Vec<&'static str>)> {
        let keys = self.keys();
        let names = |name: &str| match keys.iter().find(|info| info.name == name).map(|info| info.legal) {
            Some(Legal::OneOf(names)) => names,
            _ => &[],
        };
        let legal = |one: &str, two: &str| {
            let mut config = self.clone();
            let mut set = |key: &str, name: &str| config.set(&format!("{key}={name}")).is_ok();
            set(key, one) && set(other, two) && config.validate().is_ok()
        };
        let with = |one: &'static str| names(other).iter().copied().filter(|two| legal(one, two)).collect();
        names(key).iter().map(|one| (*one, with(one))).collect()
    }

    /// The published system of a family.
    fn published(of: FamilyKeys) -> FabricConfig {
        FabricConfig {
            name: "published".into(),
            about: "the published system".into(),
            common: of.family().common(),
            of,
            places: Places::default(),
        }
    }

    /// The published system of the family of this name.
    fn of_family(place: Place, name: &str) -> Result<FabricConfig, ConfigError> {
        let found = FamilyKeys::all().into_iter().find(|of| of.family().name() == name);
        found.map(FabricConfig::published).ok_or_else(|| ConfigError::Illegal {
            place: Box::new(place),
            key: "family".into(),
            value: name.into(),
            problem: "there is no such family of fabrics".into(),
            legal: FamilyKeys::names().join(", "),
        })
    }

    /// The error of a key that this fabric does not have.
    fn unknown(&self, place: Place, key: &str, text: &str, known: &[KeyInfo]) -> ConfigError {
        let own = self.of.family().name();
        if key == "family" {
            return ConfigError::Illegal {
                place: Box::new(place),
                key: key.into(),
                value: text.into(),
                problem: "the family is that of the fabric's file, and no change can give it another one"
                    .into(),
                legal: own.into(),
            };
        }
        let others = FamilyKeys::all().into_iter().filter(|of| of.family().get(key).is_some());
        match others.map(|of| of.family().name()).next() {
            Some(family) => ConfigError::ForeignKey { place, key: key.into(), family, own },
            None => {
                let nearest = nearest(key, known.iter().map(|k| k.name));
                ConfigError::UnknownKey { place, key: key.into(), nearest }
            }
        }
    }

    /// Refuses a key's value beside the others unless `good`.
    ///
    /// # Errors
    /// The key, where its value was given, the problem, and what is legal.
    pub fn ensure(
        &self,
        good: bool,
        key: &str,
        problem: &str,
        legal: impl Into<String>,
    ) -> Result<(), ConfigError> {
        if good {
            return Ok(());
        }
        Err(ConfigError::Illegal {
            place: Box::new(self.places.get(key).cloned().unwrap_or(Place::Default)),
            key: key.into(),
            value: match self.get(key) {
                Some(serde_json::Value::String(text)) => text,
                Some(other) => other.to_string(),
                None => String::new(),
            },
            problem: problem.into(),
            legal: legal.into(),
        })
    }

    /// The error of a value that its key cannot have.
    fn illegal_at(&self, place: &Place, key: &str, value: String, problem: &str) -> ConfigError {
        let info = self.keys().into_iter().find(|k| k.name == key);
        ConfigError::Illegal {
            place: Box::new(place.clone()),
            key: key.into(),
            value,
            problem: problem.into(),
            legal: info.map_or_else(String::new, |k| legal_words(&k.legal)),
        }
    }
}

/// Most names of a key's values that a sentence lists.
const LISTED: usize = 20;

/// What a key may be, as far as a sentence holds it.
fn legal_words(legal: &Legal) -> String {
    match legal {
        Legal::OneOf(names) if names.len() > LISTED => {
            format!("{} names, which `weft list fabrics` shows", names.len())
        }
        other => other.to_string(),
    }
}

/// A TOML value as the text that `--set` would give; `None` for what is no number, string or switch.
pub fn text_of(value: &DeValue) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => match number.radix() {
            10 => Some(number.as_str().trim_start_matches('+').to_string()),
            radix => u64::from_str_radix(number.as_str(), radix).ok().map(|n| n.to_string()),
        },
        DeValue::Float(number) => Some(number.as_str().to_string()),
        DeValue::Boolean(on) => Some(on.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

#[cfg(test)]
mod tests;
