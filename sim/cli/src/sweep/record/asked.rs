//! What a run of a sweep is asked to be, without building it.

use crate::sweep::file::SweepFile;
use crate::sweep::plan::{Settings, fabric, points};
use anyhow::Error;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// All that decides what a run is but the hardware itself.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Asked {
    /// Every key of the fabric.
    keys: BTreeMap<String, Value>,
    workload: String,
    /// Parameters that the sweep gives.
    params: BTreeMap<String, String>,
    /// File of the graph, as the sweep names it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    graph: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    seed: Option<String>,
}

impl Asked {
    /// Of the run of this number.
    ///
    /// # Errors
    /// A key or value that the fabric does not have.
    pub fn of(sweep: &SweepFile, number: usize) -> Result<Asked, Error> {
        let points = points(sweep, number);
        let settings = Settings::new(sweep, &points)?;
        let (config, _) = fabric(sweep, &settings)?;
        let keys = config.keys().into_iter().filter_map(|key| Some((key.name.into(), config.get(key.name)?)));
        let params = settings.params.iter().map(|(name, at)| (name.clone(), at.value.clone()));
        Ok(Asked {
            keys: keys.collect(),
            workload: settings.workload.value.clone(),
            params: params.collect(),
            graph: settings.graph.map(|at| at.value.clone()),
            seed: settings.seed.map(|at| at.value.clone()),
        })
    }

    /// In what a run that was asked for then differs from one that is asked for now; a key that there was not then
    /// does not count.
    pub fn differs(&self, now: &Asked) -> Option<String> {
        let told = |name: &str, then: String, now: String| format!("{name} was {then} and is {now}");
        let shown = |value: Option<&Value>| value.map_or_else(|| "nothing".into(), Value::to_string);
        let given = |value: Option<&String>| value.map_or_else(|| "not given".into(), String::clone);
        let key = self.keys.iter().find(|(key, then)| now.keys.get(*key) != Some(then));
        let key = key.map(|(key, then)| told(key, shown(Some(then)), shown(now.keys.get(key))));
        let mut names = self.params.keys().chain(now.params.keys());
        let param = names.find(|name| self.params.get(*name) != now.params.get(*name));
        let param = param.map(|name| told(name, given(self.params.get(name)), given(now.params.get(name))));
        let rest = [
            ("workload", Some(&self.workload), Some(&now.workload)),
            ("graph", self.graph.as_ref(), now.graph.as_ref()),
            ("seed", self.seed.as_ref(), now.seed.as_ref()),
        ];
        let rest = rest.into_iter().find(|(_, then, now)| then != now);
        key.or(param).or(rest.map(|(name, then, now)| told(name, given(then), given(now))))
    }
}
