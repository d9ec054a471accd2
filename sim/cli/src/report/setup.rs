//! In what runs of one program on one fabric differ: graph and parameters, in words.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Members of a run's record that say what the run was.
const MEMBERS: [&str; 7] =
    ["weft", "params", "params_given", "params_followed", "params_unused", "graph", "changed"];

/// These members; those that the record does not have are null.
pub fn of_run(run: &Value) -> Value {
    MEMBERS
        .iter()
        .map(|name| (name.to_string(), run[*name].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Graph and given parameters of a run, `roads.gr, root=3`; empty if it has neither, or its record does not
/// tell.
pub fn told(setup: &Value) -> String {
    let graph = setup["graph"]["file"].as_str().or(setup["graph"]["name"].as_str());
    let names = |list: &str| -> BTreeSet<&str> {
        setup[list].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let unused = names("params_unused");
    // The name of a graph without a file is that of its parameter.
    let given = names("params_given").into_iter().filter(|name| !unused.contains(name) && *name != "source");
    let given = given.map(|name| {
        let value = &setup["params"][name];
        format!("{name}={}", value.as_str().map_or_else(|| value.to_string(), str::to_string))
    });
    graph.map(str::to_string).into_iter().chain(given).collect::<Vec<_>>().join(", ")
}

/// Names of runs and logs of the page: program, graph and parameters, fabric; two graphs of one name are
/// told apart by their digests.
pub fn names(all: &[&Value]) -> Vec<String> {
    let of = |value: &Value| -> (String, String) {
        let word = |name: &str| value[name].as_str().unwrap_or("?").to_string();
        let told = Some(value["told"].as_str().unwrap_or("")).filter(|told| !told.is_empty());
        let told = told.map_or_else(String::new, |told| format!(" ({told})"));
        let digest = value["setup"]["graph"]["digest"].as_str().unwrap_or("").to_string();
        (format!("{}{told} on {}", word("workload"), word("fabric")), digest)
    };
    let named: Vec<(String, String)> = all.iter().map(|value| of(value)).collect();
    let mut digests: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    named.iter().for_each(|(name, digest)| {
        digests.entry(name).or_default().insert(digest);
    });
    let shown = |(name, digest): &(String, String)| match digests[name.as_str()].len() {
        1 => name.clone(),
        _ => format!("{name}, graph of digest {digest}"),
    };
    named.iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(graph: Value, root: u32) -> Value {
        let setup = json!({"graph": graph, "params": {"root": root, "nodes": 5, "source": "karate"},
            "params_given": ["nodes", "root", "source"], "params_unused": ["nodes"]});
        json!({"workload": "bfs", "fabric": "f", "told": told(&setup), "setup": setup})
    }

    #[test]
    fn runs_are_told_apart_by_graph_parameters_and_digest() {
        let file = |digest: &str| json!({"file": "a/g.txt", "name": "g", "digest": digest});
        let bundled = json!({"file": null, "name": "karate", "digest": "3"});
        let runs = [run(file("1"), 0), run(file("2"), 0), run(file("1"), 4), run(bundled, 4)];
        let old = json!({"workload": "bfs", "fabric": "f", "told": told(&json!({}))});
        let all: Vec<&Value> = runs.iter().chain([&old]).collect();
        assert_eq!(
            names(&all),
            [
                "bfs (a/g.txt, root=0) on f, graph of digest 1",
                "bfs (a/g.txt, root=0) on f, graph of digest 2",
                "bfs (a/g.txt, root=4) on f",
                "bfs (karate, root=4) on f",
                "bfs on f"
            ]
        );
    }
}
