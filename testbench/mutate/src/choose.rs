//! Which mutants to make of a block or fabric.

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use weft_rtl::ir::{Module, ModuleKind};
use weft_rtl::mutant::{Kind, Mutant, MutantError, apply, sites};

/// A mutant that may be made.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The mutant.
    pub mutant: Mutant,
    /// The module that it was found in.
    pub module: Arc<Module>,
    /// The block that this module is, or is a part of: what the mutant is compared in.
    pub block: Arc<Module>,
}

impl Candidate {
    /// The block with the mutant, made from the module as it is. Unlike one that is described anew with the mutant planted, its assertions of the next state see statements as their
    /// author wrote them.
    ///
    /// # Errors
    /// Never for a mutant that was found in the module.
    pub fn applied(&self) -> Result<Arc<Module>, MutantError> {
        let changed = Arc::new(apply(&self.module, &self.mutant)?);
        Ok(with(&self.block, &changed))
    }
}

/// A module with another one in the place of that of its name.
fn with(module: &Arc<Module>, changed: &Arc<Module>) -> Arc<Module> {
    if module.name == changed.name {
        return changed.clone();
    }
    let mut out = Module::clone(module);
    for inst in &mut out.instances {
        inst.module = with(&inst.module, changed);
    }
    Arc::new(out)
}

/// Names of modules as that one, whatever their parameters: its name up to the first part with a digit, and `*`. `l1`, `l2` and `l3` are no parameters. A name
/// that begins with such a part stands for itself.
pub fn family(module: &str) -> String {
    let mut kept = 0;
    for part in module.split('_') {
        let is_level = matches!(part, "l1" | "l2" | "l3");
        if !is_level && part.contains(|c: char| c.is_ascii_digit()) {
            return if kept == 0 { module.to_string() } else { format!("{}*", &module[..kept]) };
        }
        kept += part.len() + 1;
    }
    module.to_string()
}

/// Chooses `count` mutants of all modules in `top`, or as many as there are: in turn of each kind, and for a kind in turn of each module. More of them for the same seed begin with the
/// same ones. `exact`: for modules of these parameters only, else for all of their [`family`].
pub fn choose(top: &Arc<Module>, count: usize, seed: u64, exact: bool) -> Vec<Candidate> {
    let mut found = Found { exact, names: BTreeSet::new(), modules: Vec::new() };
    found.gather(top, None);
    let mut random = StdRng::seed_from_u64(seed);
    let mut kinds: Vec<VecDeque<VecDeque<Candidate>>> = Kind::NAMES.map(|_| VecDeque::new()).into();
    for (name, module, block) in found.modules {
        let mut of: BTreeMap<usize, Vec<Candidate>> = BTreeMap::new();
        for mutant in sites(&module) {
            let kind = Kind::NAMES.iter().position(|kind| *kind == mutant.kind.name());
            let mutant = Mutant { module: name.clone(), ..mutant };
            let candidate = Candidate { mutant, module: module.clone(), block: block.clone() };
            of.entry(kind.expect("a known kind")).or_default().push(candidate);
        }
        for (kind, mut list) in of {
            list.shuffle(&mut random);
            kinds[kind].push_back(list.into());
        }
    }
    let mut out = Vec::new();
    while out.len() < count {
        let before = out.len();
        for modules in &mut kinds {
            if let Some(mut list) = modules.pop_front() {
                out.extend(list.pop_front());
                if !list.is_empty() {
                    modules.push_back(list);
                }
            }
        }
        if out.len() == before {
            break;
        }
    }
    out.truncate(count);
    out
}

struct Found {
    exact: bool,
    names: BTreeSet<String>,
    /// Name in mutants, module, block.
    modules: Vec<(String, Arc<Module>, Arc<Module>)>,
}

impl Found {
    fn gather(&mut self, module: &Arc<Module>, block: Option<&Arc<Module>>) {
        let block = match block {
            Some(block) => Some(block),
            None => (module.kind != ModuleKind::Fabric).then_some(module),
        };
        let name = if self.exact { module.name.clone() } else { family(&module.name) };
        if let Some(block) = block
            && self.names.insert(name.clone())
        {
            self.modules.push((name, module.clone(), block.clone()));
        }
        module.instances.iter().for_each(|inst| self.gather(&inst.module, block));
    }
}
