//! A fabric's configuration: a TOML file of flat keys, built in or the user's own, with changes from the command line.
//!
//! ```
//! use weft_fabric::config::FabricConfig;
//! let mut config = FabricConfig::load("rec-4gpu-small").unwrap();
//! config.set("protocol=baseline").unwrap();
//! config.set("l2_size=128K").unwrap();
//! config.validate().unwrap();
//! assert_eq!(config.l2_sets(), 32);
//! config.set("range=96").unwrap_err();
//! ```
//!
//! A key's own legal values are checked when it is read, what depends on several keys by [`FabricConfig::validate`], so that a file and several
//! `--set` may change keys that belong together.

mod build;
mod check;
mod error;
mod keys;
mod protocol;
mod record;
mod value;

pub use error::{ConfigError, Place, closest};
pub use keys::{FabricConfig, KeyInfo};
pub use protocol::Protocol;
pub use value::{CtaSchedule, DirPolicy, L2Policy, Legal, Named, Placement};

use std::collections::BTreeMap;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Where values were given.
pub(crate) type Places = BTreeMap<String, Place>;

/// Built-in fabrics: name and text of the file.
const BUILT_IN: &[(&str, &str)] = &[
    ("rec-4gpu", include_str!("../../../fabrics/rec-4gpu.toml")),
    ("rec-4gpu-small", include_str!("../../../fabrics/rec-4gpu-small.toml")),
    ("hmg-4gpu", include_str!("../../../fabrics/hmg-4gpu.toml")),
    ("hmg-4gpu-small", include_str!("../../../fabrics/hmg-4gpu-small.toml")),
];

impl FabricConfig {
    /// Names of the built-in fabrics.
    pub fn list() -> Vec<&'static str> {
        BUILT_IN.iter().map(|(name, _)| *name).collect()
    }

    /// A built-in fabric, or the file at a path. Keys that the file does not give keep the published values. What depends on several keys is
    /// left to [`FabricConfig::validate`].
    ///
    /// # Errors
    /// A name that is neither, a file that cannot be read or is no TOML, an unknown key, or a value outside its legal range.
    pub fn load(name_or_path: &str) -> Result<FabricConfig, ConfigError> {
        if let Some((name, text)) = BUILT_IN.iter().find(|(name, _)| *name == name_or_path) {
            return FabricConfig::parse(text, name, &format!("{name}.toml"));
        }
        let path = Path::new(name_or_path);
        let named = path.extension().is_none() && path.components().count() == 1;
        if named && !path.exists() {
            let known = FabricConfig::list().join(", ");
            return Err(ConfigError::NoFabric { name: name_or_path.into(), known });
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
        let mut config = FabricConfig { name: name.into(), about: String::new(), ..FabricConfig::default() };
        for (key, value) in table.get_ref() {
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
        if self.get(key).is_none() {
            let nearest = error::nearest(key, FabricConfig::keys().iter().map(|k| k.name));
            return Err(ConfigError::UnknownKey { place, key: key.into(), nearest });
        }
        self.assign(key, text).map_err(|problem| self.illegal_at(&place, key, text.into(), &problem))?;
        self.places.insert(key.into(), place);
        Ok(())
    }

    /// The error of a value that its key cannot have.
    fn illegal_at(&self, place: &Place, key: &str, value: String, problem: &str) -> ConfigError {
        let info = FabricConfig::keys().into_iter().find(|k| k.name == key);
        ConfigError::Illegal {
            place: Box::new(place.clone()),
            key: key.into(),
            value,
            problem: problem.into(),
            legal: info.map_or_else(String::new, |k| k.legal.to_string()),
        }
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
