//! A configuration in a run's record: a JSON object with all keys (those of the host's copies and calls, of a fault of the CUs and of devices of other protocols only if there are any), and with the family if it is not the default one.

use super::{FabricConfig, FamilyKeys, Place};
use crate::config::{Placement, Runtime};
use crate::cu::CuFault;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

impl FabricConfig {
    /// All keys with their values, for the record of a run.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("name".into(), self.name.clone().into());
        let family = self.of.family().name();
        if family != FamilyKeys::default().family().name() {
            object.insert("family".into(), family.into());
        }
        // A record without copies of the host has no keys of theirs.
        let copies = self.common.host_link_bytes > 0;
        let faulty = self.common.inject_cu != CuFault::None;
        let calls = self.common.runtime != Runtime::Keys
            || [self.common.call_launch, self.common.call_copy, self.common.call_sync] != [0; 3];
        let recorded = |name: &str| match name {
            "inject_cu" => faulty,
            "runtime" | "call_launch" | "call_copy" | "call_sync" => calls,
            "devices" => self.get(name).is_some_and(|devices| devices != ""),
            "placement_written" => self.common.placement_written != Placement::Same,
            name => copies || !name.starts_with("host_link_"),
        };
        for key in self.keys().into_iter().filter(|key| recorded(key.name)) {
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
        let map = Map::deserialize(deserializer)?;
        let mut config = match map.get("family").map(|family| family.as_str().unwrap_or_default()) {
            Some(family) => FabricConfig::of_family(Place::Record, family).map_err(D::Error::custom)?,
            None => FabricConfig::default(),
        };
        for (key, value) in map.into_iter().filter(|(key, _)| key != "family") {
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
