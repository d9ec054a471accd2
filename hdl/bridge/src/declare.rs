//! The declaration that fits a module, as text to paste.

use std::borrow::Cow;
use std::fmt::Write;
use weft_rtl::ir::{Module, SigKind};

/// The [`weft_block!`](crate::weft_block) declaration of a module's ports under a type's name.
pub fn declaration(module: &Module, ty: &str) -> String {
    let mut out = String::from("weft_block! {\n");
    if !module.doc.is_empty() {
        let _ = writeln!(out, "    /// {}", module.doc.lines().next().unwrap_or_default());
    }
    let _ = writeln!(out, "    pub struct {ty} {{");
    for (_, port) in module.ports() {
        let direction = if port.kind == SigKind::Input { "In" } else { "Out" };
        let kind = if port.width == 1 { "Bit".into() } else { format!("Bits<{}>", port.width) };
        if !port.doc.is_empty() {
            let _ = writeln!(out, "        /// {}", port.doc);
        }
        let _ = writeln!(out, "        pub {}: Signal<{direction}, {kind}>,", field(&port.name));
    }
    out.push_str("    }\n}\n");
    out
}

/// Words that Rust keeps for itself.
const RUST: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield",
];

/// The field that stands for a port: its name, with an underscore behind it when Rust or the bridge has taken it.
pub(crate) fn field(port: &str) -> Cow<'_, str> {
    match port {
        "clock" | "reset" | "core" => format!("{port}_").into(),
        name if RUST.contains(&name) => format!("{name}_").into(),
        name => name.into(),
    }
}
