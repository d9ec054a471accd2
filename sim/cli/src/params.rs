//! `--param KEY=VALUE` and the block named on the command line.

use crate::failure::Failure;
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_blocks::registry::ParamSet;
use weft_fabric::config::FabricConfig;
use weft_rtl::ir::Module;

/// A block with its parameters.
#[derive(clap::Args, Clone)]
pub struct BlockArgs {
    /// Name of a block (see `weft list blocks`), or a fabric or its TOML file (see `weft list fabrics`).
    pub block: String,
    /// Parameter of the block, or key of the fabric; may be given several times.
    #[arg(long = "param", value_name = "KEY=VALUE")]
    pub params: Vec<String>,
}

impl BlockArgs {
    /// The parameters given, by key.
    ///
    /// # Errors
    /// One that is not `KEY=VALUE`, or a key given twice.
    pub fn given(&self) -> Result<BTreeMap<String, String>, Failure> {
        pairs("--param", &self.params)
    }

    /// Elaborates the block.
    ///
    /// # Errors
    /// An unknown block or parameter or an illegal value.
    pub fn build(&self) -> Result<Arc<Module>, Failure> {
        resolve_design(&self.block, &self.given()?)
    }

    /// The parameters in force, given or default, in order of declaration.
    ///
    /// # Errors
    /// An unknown block or parameter.
    pub fn in_force(&self) -> Result<Vec<(String, String)>, Failure> {
        let given = self.given()?;
        match weft_catalog::blocks().iter().find(|b| b.name == self.block) {
            Some(info) => Ok(ParamSet::new(info, &given).map_err(Failure::input)?.all()),
            None => Ok(given.into_iter().collect()),
        }
    }

    /// The command line words that name this design: `rec-directory --param range=512`.
    pub fn words(&self) -> String {
        let params: String = self.params.iter().map(|p| format!(" --param {p}")).collect();
        format!("{}{params}", self.block)
    }
}

/// Elaborates a design by name: a block, or a fabric (built in or a TOML file), whose parameters are the keys of its configuration.
///
/// # Errors
/// An unknown name or parameter, or an illegal value.
pub fn resolve_design(name: &str, params: &BTreeMap<String, String>) -> Result<Arc<Module>, Failure> {
    let is_block = weft_catalog::blocks().iter().any(|b| b.name == name);
    if !is_block && !is_fabric(name) {
        let blocks = weft_catalog::blocks();
        let known = blocks.iter().map(|block| block.name).chain(FabricConfig::list());
        let remedy = weft_names::remedy(name, known, "`weft list blocks` and `weft list fabrics` show all");
        return Err(Failure::input(anyhow::anyhow!("there is no block {name}, and no fabric; {remedy}")));
    }
    if is_block {
        return weft_catalog::build(name, params).map_err(Failure::input);
    }
    let mut config = FabricConfig::load(name).map_err(Failure::input)?;
    for (key, value) in params {
        config.set(&format!("{key}={value}")).map_err(Failure::input)?;
    }
    config.validate().map_err(Failure::input)?;
    weft_fabric::run::module(&config).map_err(Failure::input)
}

fn is_fabric(name: &str) -> bool {
    FabricConfig::list().contains(&name) || name.ends_with(".toml")
}

/// Splits `KEY=VALUE` words.
///
/// # Errors
/// A word without `=`, or a key given twice.
pub fn pairs(option: &str, words: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let mut out = BTreeMap::new();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            return Err(Failure::input(anyhow::anyhow!("{option} {word}: expected KEY=VALUE")));
        };
        if out.insert(key.to_string(), value.to_string()).is_some() {
            return Err(Failure::input(anyhow::anyhow!("{option} {key} is given twice; give it once")));
        }
    }
    Ok(out)
}
