//! `weft list`.

use crate::failure::{Failure, Outcome, say};
use crate::sweep::built_in::SWEEPS;
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

/// The built-in fabrics with all keys; `default` is the value in the fabric's file, `published` that of the published system.
fn fabrics() -> Vec<Value> {
    FabricConfig::list()
        .into_iter()
        .filter_map(|name| FabricConfig::load(name).ok())
        .map(|config| {
            let params: Vec<Value> = config
                .keys()
                .iter()
                .map(|k| {
                    json!({
                        "name": k.name, "default": config.get(k.name), "published": k.default, "legal": k.legal.to_string(),
                        "unit": k.unit, "about": k.about
                    })
                })
                .collect();
            json!({"name": config.name, "about": config.about, "params": params})
        })
        .collect()
}

fn sweeps() -> Vec<Value> {
    SWEEPS
        .iter()
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
