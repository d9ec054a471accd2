//! A block with its environment as SMT-LIB, made by Yosys.

use super::ProveError;
use super::environment::{DUT, TOP, asserted, environment};
use super::rules::{Rule, invariants};
use crate::external::{ToolError, yosys};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use weft_engine::digest::Digest;
use weft_rtl::ir::{MemKind, Module};
use weft_rtl::verilog::{VerilogFile, emit};

/// Name of the file with the environment.
const ENVIRONMENT: &str = "weft_prove.v";
/// Name of the file that Yosys writes.
const SMT: &str = "design.smt2";

/// Beginning of the labels of invariants.
const ADDED: &str = "invariant_";
/// What a line begins with that names an assertion to the checker.
const MARK: &str = "; yosys-smt2-assert ";

/// What is given to Yosys.
pub(super) struct Sources {
    /// The block's files, invariants added, and its environment.
    files: Vec<VerilogFile>,
    /// Assertions in them but invariants.
    pub assertions: usize,
    /// Channels of the block.
    pub channels: Vec<String>,
    /// Rules that are assumed.
    pub rules: Vec<&'static Rule>,
}

impl Sources {
    /// The Verilog of a block and of its environment for a bound of `cycles` after reset.
    pub fn of(module: &Arc<Module>, cycles: u32) -> Sources {
        let around = environment(module, cycles);
        let mut files = emit(module);
        strengthen(module, &mut files);
        files.push(VerilogFile { name: ENVIRONMENT.into(), text: around.text });
        let assertions = asserted(module) + around.holds;
        Sources { files, assertions, channels: around.channels, rules: around.rules }
    }

    /// Hash of all text, as 16 hexadecimal digits.
    pub fn digest(&self) -> String {
        let mut digest = Digest::default();
        for file in &self.files {
            // A digest takes whatever is written to it.
            let _ = write!(digest, "{}\n{}\n", file.name, file.text);
        }
        format!("{:016x}", digest.value())
    }
}

/// Adds invariants to the file of each module.
fn strengthen(top: &Module, files: &mut [VerilogFile]) {
    let mut modules = BTreeMap::new();
    gather(top, &mut modules);
    for file in files {
        let Some(module) = file.name.strip_suffix(".v").and_then(|name| modules.get(name)) else { continue };
        let mut body = String::new();
        for (name, holds, reason) in invariants(module) {
            let _ = writeln!(body, "    // {reason}");
            let _ = writeln!(body, "    always @* if (!rst) {ADDED}{name}: assert ({holds});");
        }
        if let Some(end) = file.text.rfind("endmodule") {
            file.text.insert_str(end, &body);
        }
    }
}

/// The modules of a hierarchy by name.
fn gather<'m>(module: &'m Module, out: &mut BTreeMap<&'m str, &'m Module>) {
    out.insert(&module.name, module);
    module.instances.iter().for_each(|i| gather(&i.module, out));
}

/// Paths of the register files. What one row of them chooses another one, which is a loop to a solver's array; as registers it is none.
fn register_files(module: &Module, path: &str, out: &mut Vec<String>) {
    let own = module.mems.iter().filter(|mem| mem.kind == MemKind::RegFile);
    out.extend(own.map(|mem| format!("{path}.{}", mem.name)));
    module.instances.iter().for_each(|i| register_files(&i.module, &format!("{path}.{}", i.name), out));
}

/// A block as a transition system, of whose assertions any set can be asked for.
pub(super) struct Design {
    text: String,
    /// Names of the assertions, in Yosys' order.
    pub assertions: Vec<String>,
}

impl Design {
    /// Has Yosys read the sources in a folder.
    ///
    /// # Errors
    /// Yosys' own, and assertions that it has lost.
    pub fn make(module: &Module, sources: &Sources, folder: &Path) -> Result<Design, ProveError> {
        let failed = |path: &Path, action| {
            let path = path.to_path_buf();
            move |cause| ToolError::File { path, action, cause }
        };
        for file in &sources.files {
            let path = folder.join(&file.name);
            fs::write(&path, &file.text).map_err(failed(&path, "written"))?;
        }
        let names: Vec<&str> = sources.files.iter().map(|f| f.name.as_str()).collect();
        let mut mapped = Vec::new();
        register_files(module, &format!("{TOP}/{DUT}"), &mut mapped);
        let map = if mapped.is_empty() {
            String::new()
        } else {
            format!("memory_map {}; opt_expr; opt_clean; ", mapped.join(" "))
        };
        // Assertions are checked in the cycle that they speak of, not in the one after it. Cover points of the block itself are not asked for here.
        let script = format!(
            "read_verilog -formal {}; prep -top {TOP} -flatten -nordff; chformal -cover -remove {TOP}/{DUT}.*; \
             {map}async2sync; chformal -lower; chformal -early; dffunmap; opt_clean; write_smt2 -wires {SMT}",
            names.join(" ")
        );
        yosys(&script, folder)?;
        let path = folder.join(SMT);
        let text = fs::read_to_string(&path).map_err(failed(&path, "read"))?;
        let marks = text.lines().filter_map(|line| line.strip_prefix(MARK));
        let assertions: Vec<String> =
            marks.filter_map(|rest| rest.split_whitespace().nth(1)).map(shown).collect();
        let own = assertions.iter().filter(|name| !is_added(name));
        let distinct: BTreeSet<&String> = own.collect();
        if distinct.len() != sources.assertions {
            return Err(ProveError::Lost {
                module: module.name.clone(),
                found: distinct.len(),
                expected: sources.assertions,
            });
        }
        Ok(Design { text, assertions })
    }

    /// The SMT-LIB text in which only these assertions, by their places in [`Design::assertions`], are asked for.
    pub fn only(&self, wanted: &BTreeSet<usize>) -> String {
        let mark = format!("(define-fun |{TOP}_a| ");
        let mut out = String::with_capacity(self.text.len());
        let mut inside = false;
        for line in self.text.lines() {
            inside &= !line.starts_with("(define-fun");
            if line.starts_with(&mark) {
                inside = true;
                let all: String = wanted.iter().map(|at| format!(" (|{TOP}_a {at}| state)")).collect();
                let _ = writeln!(out, "{mark}((state |{TOP}_s|)) Bool (and true{all}))");
            } else if !inside && number(line).is_none_or(|at| wanted.contains(&at)) {
                out.push_str(line);
                out.push('\n');
            }
        }
        out
    }
}

/// Whether an assertion is an invariant that was added.
pub(super) fn is_added(name: &str) -> bool {
    name.rsplit('.').next().is_some_and(|label| label.starts_with(ADDED))
}

/// The number of the assertion that a line names to the checker.
fn number(line: &str) -> Option<usize> {
    line.strip_prefix(MARK)?.split_whitespace().next()?.parse().ok()
}

/// The name of an assertion without the block's own instance in front of it.
pub(super) fn shown(name: &str) -> String {
    let name = name.trim_start_matches('\\');
    name.strip_prefix(DUT).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name).to_string()
}
