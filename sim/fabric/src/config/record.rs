//! A configuration in a run's record: a JSON object with all keys.

use super::{FabricConfig, Place};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

impl FabricConfig {
    /// All keys with their values, for the record of a run.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("name".into(), self.name.clone().into());
        for key in FabricConfig::keys() {
            object.insert(key.name.into(), self.get(key.name).unwrap_or_default());
        }
        Value::Object(object)
    }
}

impl Serialize for FabricConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.to_json().as_object().into_iter().flatten() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for FabricConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<FabricConfig, D::Error> {
        let mut config = FabricConfig::default();
        for (key, value) in Map::deserialize(deserializer)? {
            let text = match value {
                Value::String(text) => text,
                other => other.to_string(),
            };
            match key.as_str() {
                "name" => config.name = text,
                "about" => config.about = text,
                key => config.give(Place::Record, key, &text).map_err(D::Error::custom)?,
            }
        }
        Ok(config)
    }
}
