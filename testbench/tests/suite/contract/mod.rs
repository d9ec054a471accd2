//! What every block of the catalog promises, also those that have no test of their own. Each test is a rule,
//! and lists all that breaks it.

mod legal;
mod parameters;
mod pictures;
mod ports;
mod simulation;
mod storage;
mod waivers;

use legal::{Legal, number};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo, ParamSet};
use weft_catalog::sets::{all, given, more};
use weft_rtl::ir::Module;
use weft_rtl::lower::flatten;
use weft_rtl::verilog::emit;

/// A block with all but a few parameters at their defaults.
struct Context {
    given: BTreeMap<String, String>,
    /// Of all parameters.
    values: BTreeMap<String, String>,
    module: Arc<Module>,
}

impl Context {
    fn new(info: &BlockInfo, words: &str) -> Context {
        let given = given(words);
        let set = ParamSet::new(info, &given).unwrap_or_else(|e| panic!("{e}"));
        let module = (info.build)(&set).unwrap_or_else(|e| panic!("{words}: {e}"));
        Context { given, values: set.all().into_iter().collect(), module }
    }

    /// A parameter's value, if it is a number.
    fn number(&self, key: &str) -> Option<u64> {
        // The nodes of a system are counted by their numbers.
        let of = |key: &str| self.values.get(key).and_then(|v| number(v));
        let nodes = || Some(of("gpus")? * of("gpms").unwrap_or(1).next_power_of_two());
        if key == "nodes" { nodes() } else { of(key) }
    }

    /// The block with one more parameter given.
    fn with(&self, info: &BlockInfo, key: &str, value: &str) -> Result<Arc<Module>, Refusal> {
        let mut given = self.given.clone();
        given.insert(key.into(), value.into());
        try_build(info, &given)
    }
}

/// Why there is no module.
enum Refusal {
    /// A parameter's value is refused in a sentence.
    Value(BlockError),
    /// Anything else, which is no answer to a parameter's value.
    Slip(String),
}

fn try_build(info: &BlockInfo, given: &BTreeMap<String, String>) -> Result<Arc<Module>, Refusal> {
    let built = catch_unwind(AssertUnwindSafe(|| (info.build)(&ParamSet::new(info, given)?)));
    match built {
        Ok(Ok(module)) => Ok(module),
        Ok(Err(error @ BlockError::Illegal { .. })) => Err(Refusal::Value(error)),
        Ok(Err(error)) => Err(Refusal::Slip(error.to_string())),
        Err(_) => Err(Refusal::Slip("it panics".into())),
    }
}

/// The sets of a block, which are small, then its defaults.
fn contexts(info: &BlockInfo) -> Vec<Context> {
    let own = all().chain(more()).filter(|(name, _)| *name == info.name).flat_map(|(_, sets)| sets);
    own.chain([""]).map(|words| Context::new(info, words)).collect()
}

/// A module and all below it, each once.
fn hierarchy<'a>(module: &'a Arc<Module>, seen: &mut BTreeMap<&'a str, &'a Arc<Module>>) {
    if seen.insert(&module.name, module).is_none() {
        module.instances.iter().for_each(|i| hierarchy(&i.module, seen));
    }
}

/// Goes through the catalog and lists what a rule finds broken, not only the first of it.
fn every_block(rule: impl Fn(&BlockInfo, &mut Vec<String>)) {
    let mut broken = Vec::new();
    for info in weft_catalog::blocks() {
        let mut found = Vec::new();
        if catch_unwind(AssertUnwindSafe(|| rule(&info, &mut found))).is_err() {
            found.push("it panics".into());
        }
        broken.extend(found.into_iter().map(|text| format!("{}: {text}", info.name)));
    }
    assert!(broken.is_empty(), "{} times broken:\n{}", broken.len(), broken.join("\n"));
}

/// The block with every parameter, in their order, as low as the others let it be.
fn smallest(info: &BlockInfo) -> Context {
    let mut context = contexts(info).swap_remove(0);
    for param in (info.params)() {
        let lowest = Legal::read(param.legal, &|name| context.number(name)).ends().into_iter().min();
        let Some(lowest) = lowest else { continue };
        if let Ok(module) = context.with(info, param.name, &lowest.to_string()) {
            context.given.insert(param.name.into(), lowest.to_string());
            context.values.insert(param.name.into(), lowest.to_string());
            context.module = module;
        }
    }
    context
}

#[test]
fn every_block_elaborates_and_becomes_verilog() {
    every_block(|info, found| {
        let mut contexts = contexts(info);
        let names: BTreeSet<&str> = contexts.iter().map(|c| &*c.module.name).collect();
        if names.len() < contexts.len() {
            found.push(format!("two of its sets have one name: {names:?}"));
        }
        contexts.push(smallest(info));
        for Context { given, module, .. } in contexts {
            if let Err(e) = flatten(&module) {
                found.push(format!("{given:?}: {e}"));
            }
            let head = format!("module {} ", module.name);
            if !emit(&module).iter().any(|file| file.text.contains(&head)) {
                found.push(format!("{given:?}: no Verilog begins with {head}"));
            }
        }
    });
}
