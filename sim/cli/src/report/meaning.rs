//! What the figures of a run are: units and meanings, which its family declares.

use serde_json::{Map, Value, json};
use weft_fabric::config::FabricConfig;
use weft_fabric::family::FigureInfo;

/// Unit and meaning of each figure in the record of a run, by name (`served.l1` for parts); nothing if no family has all of these figures.
pub fn of_figures(metrics: &Value) -> Value {
    let names = || metrics.as_object().into_iter().flat_map(Map::keys);
    let fabrics = FabricConfig::list().into_iter().filter_map(|name| FabricConfig::load(name).ok());
    let mut figures = fabrics.map(|fabric| fabric.of.family().figures());
    let found = figures.find(|infos| names().all(|name| infos.iter().any(|info| info.name == name)));
    found.into_iter().flatten().flat_map(entries).collect::<Map<String, Value>>().into()
}

fn entries(info: FigureInfo) -> Vec<(String, Value)> {
    let entry = |name: String, about: &str| (name, json!([info.unit, about]));
    match &info.parts {
        None => vec![entry(info.name.into(), info.about)],
        Some(parts) => {
            let each =
                |part: &&str| entry(format!("{}.{part}", info.name), &parts.each.replacen("{}", part, 1));
            parts.names.iter().map(each).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_their_parts_have_unit_and_meaning() {
        let meanings = of_figures(&json!({"invalidation_gbps": 1.0, "served": {"l1": 3}}));
        assert_eq!(meanings["served.l1"][0], "accesses");
        assert!(meanings["served.l1"][1].as_str().is_some_and(|about| about.ends_with("answered by l1")));
        assert_eq!(meanings["invalidation_gbps"][0], "GB/s");
        assert_eq!(of_figures(&json!({"no_such_figure": 1})), json!({}));
    }
}
