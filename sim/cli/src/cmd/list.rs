//! `weft list`.

use crate::failure::{Failure, Outcome, say};
use crate::sweep::built_in;
use crate::sweep::file::SweepFile;
use serde_json::{Value, json};
use weft_fabric::config::FabricConfig;
use weft_workload::programs;
use weft_workload::trace::BUNDLED;

/// What to list.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum What {
    /// RTL blocks.
    Blocks,
    /// Fabrics in `sim/fabrics`.
    Fabrics,
    /// Programs.
    Workloads,
    /// Sweeps in `sim/fabrics/sweeps`.
    Sweeps,
}

/// Arguments of `weft list`.
#[derive(clap::Args)]
pub struct Args {
    /// What to list.
    what: What,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
///
/// # Errors
/// Only when standard output cannot be written.
pub fn run(args: &Args) -> Outcome {
    let items = match args.what {
        What::Blocks => blocks(),
        What::Fabrics => fabrics(),
        What::Workloads => workloads(),
        What::Sweeps => sweeps(),
    };
    if args.json {
        let text = serde_json::to_string_pretty(&items).map_err(Failure::check)?;
        return say(text);
    }
    for item in &items {
        say(format!("{}\n    {}", text(item, "name"), text(item, "about")))?;
        for p in item["params"].as_array().into_iter().flatten() {
            say(format!(
                "      {:<18} default {:<12} legal {:<34} {}",
                text(p, "name"),
                text(p, "default"),
                text(p, "legal"),
                text(p, "about")
            ))?;
            for (names, with) in p["with"].as_object().into_iter().flatten() {
                say(format!("      {:<18}   {names}: protocol {}", "", with.as_str().unwrap_or_default()))?;
            }
        }
        for axis in item["axes"].as_array().into_iter().flatten() {
            let values = axis["values"].as_array().into_iter().flatten().filter_map(Value::as_str);
            say(format!("      {:<18} {}", text(axis, "name"), values.collect::<Vec<_>>().join(", ")))?;
        }
    }
    Ok(())
}

fn text(value: &Value, key: &str) -> String {
    match &value[key] {
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}

fn blocks() -> Vec<Value> {
    weft_catalog::blocks()
        .iter()
        .map(|b| {
            let params: Vec<Value> = (b.params)()
                .iter()
                .map(|p| json!({"name": p.name, "default": p.default, "legal": p.legal, "about": p.about}))
                .collect();
            json!({"name": b.name, "about": b.about, "params": params})
        })
        .collect()
}

/// Names of a key that not every protocol of a fabric takes, those with the same protocols joined by commas, with these.
fn with_protocols(config: &FabricConfig, key: &str) -> serde_json::Map<String, Value> {
    let pairs = config.pairs(key, "protocol");
    let Some((_, all)) = pairs.first() else { return serde_json::Map::new() };
    let mut groups: Vec<(Vec<&str>, &Vec<&str>)> = Vec::new();
    for (name, protocols) in pairs.iter().filter(|(_, protocols)| protocols != all) {
        match groups.iter_mut().find(|(_, same)| *same == protocols) {
            Some((names, _)) => names.push(name),
            None => groups.push((vec![name], protocols)),
        }
    }
    let text = |protocols: &[&str]| if protocols.is_empty() { "none".into() } else { protocols.join(", ") };
    groups.iter().map(|(names, with)| (names.join(", "), Value::String(text(with)))).collect()
}

/// The built-in fabrics with all keys; `default` is the value in the fabric's file, `published` that of the published system, `with` of a
/// planted fault the protocols that take it, where these are not all.
fn fabrics() -> Vec<Value> {
    FabricConfig::list()
        .into_iter()
        .filter_map(|name| FabricConfig::load(name).ok())
        .map(|config| {
            let params: Vec<Value> = config
                .keys()
                .iter()
                .map(|k| {
                    let mut key = json!({
                        "name": k.name, "default": config.get(k.name), "published": k.default, "legal": k.legal.to_string(),
                        "unit": k.unit, "about": k.about
                    });
                    let with = if k.name == "inject" { with_protocols(&config, k.name) } else { Default::default() };
                    if !with.is_empty() {
                        key["with"] = Value::Object(with);
                    }
                    key
                })
                .collect();
            json!({"name": config.name, "about": config.about, "params": params})
        })
        .collect()
}

fn sweeps() -> Vec<Value> {
    built_in::sweeps()
        .filter_map(|(name, _)| SweepFile::load(name).ok())
        .map(|sweep| {
            let params: Vec<Value> = sweep
                .axes
                .iter()
                .map(|axis| {
                    let values: Vec<&str> = axis.points.iter().map(|point| point.label.as_str()).collect();
                    json!({"name": axis.name, "keys": axis.keys, "values": values})
                })
                .collect();
            let runs: usize = sweep.axes.iter().map(|axis| axis.points.len()).product();
            json!({"name": sweep.name, "about": sweep.about, "runs": runs, "axes": params})
        })
        .collect()
}

fn workloads() -> Vec<Value> {
    programs::workloads()
        .iter()
        .map(|w| {
            let params: Vec<Value> = w
                .params
                .iter()
                .map(|p| {
                    json!({
                        "name": p.name, "default": p.default, "legal": p.legal.to_string(), "unit": p.unit, "about": p.about
                    })
                })
                .collect();
            json!({"name": w.name, "about": w.about, "takes_graph": w.takes_graph, "params": params})
        })
        .chain(BUNDLED.iter().map(
            |t| json!({"name": t.name, "about": t.about, "takes_graph": false, "params": []}),
        ))
        .collect()
}
