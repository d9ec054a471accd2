//! Verilog-2005 out: one file per distinct module, hierarchical, with the names of the source.
//!
//! Every file is free of warnings in `verilator --lint-only -Wall` and `iverilog -g2005 -Wall`; memories have the form that synthesis
//! infers as block RAM; assertions and cover points stand under `ifdef FORMAL`. The same module gives the same bytes every time.
//!
//! ```
//! use weft_rtl::prelude::*;
//! let counter = Module::build("counter", ModuleKind::Block, || {
//!     let enable = input::<Bool>("enable", ());
//!     let count = output_reg::<Bits>("count", 8);
//!     when(enable, || count.set(count.get() + 1));
//! })
//! .unwrap();
//! let files = weft_rtl::verilog::emit(&counter);
//! assert_eq!(files[0].name, "counter.v");
//! assert!(files[0].text.contains("if (enable) count <= count + 8'd1;"));
//! ```

mod enums;
mod expr;
mod logic;
mod memory;
mod module;
mod names;
mod plan;
mod reduce;
mod text;

use crate::ir::Module;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// A file of Verilog source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerilogFile {
    /// File name: the module's name and `.v`.
    pub name: String,
    /// Content.
    pub text: String,
}

/// The Verilog of a module and of everything below it, parts before the modules that contain them; the last file is the top.
/// Different modules that share a name (a slip in a block's source) get numbers behind it.
pub fn emit(top: &Arc<Module>) -> Vec<VerilogFile> {
    let mut writer = Writer::default();
    writer.add(top);
    writer.files
}

/// The text of a file list (`files.f`) for `verilator -f`, `iverilog -c`: one name per line, parts first.
pub fn file_list(files: &[VerilogFile]) -> String {
    let mut out = String::new();
    for file in files {
        let _ = writeln!(out, "{}", file.name);
    }
    out
}

#[derive(Default)]
struct Writer {
    files: Vec<VerilogFile>,
    /// Name in Verilog of each module object seen.
    names: HashMap<*const Module, String>,
    /// Text of each name taken, as written under the module's own name.
    taken: HashMap<String, String>,
}

impl Writer {
    fn add(&mut self, module: &Arc<Module>) -> String {
        if let Some(name) = self.names.get(&Arc::as_ptr(module)) {
            return name.clone();
        }
        let children: Vec<String> = module.instances.iter().map(|i| self.add(&i.module)).collect();
        let plain = module::text(module, &module.name, &children);
        let mut name = module.name.clone();
        let mut number = 2;
        while self.taken.get(&name).is_some_and(|text| *text != plain) {
            name = format!("{}_{number}", module.name);
            number += 1;
        }
        if !self.taken.contains_key(&name) {
            let text =
                if name == module.name { plain.clone() } else { module::text(module, &name, &children) };
            self.files.push(VerilogFile { name: format!("{name}.v"), text });
            self.taken.insert(name.clone(), plain);
        }
        self.names.insert(Arc::as_ptr(module), name.clone());
        name
    }
}
