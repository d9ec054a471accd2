//! Names: unique in the module, made from context where the author gave none.

use crate::build::legal_name;
use crate::ir::Module;
use std::collections::{HashMap, HashSet};

/// Names taken in one module.
pub(super) struct Names {
    taken: HashSet<String>,
    /// For a name that was wanted more than once the first number that may be free behind it: a module has thousands of some.
    next: HashMap<String, u64>,
}

impl Names {
    /// All names the author gave.
    pub fn of(module: &Module) -> Names {
        let mut taken: HashSet<String> = ["clk", "rst"].map(String::from).into();
        taken.extend(module.signals.iter().map(|s| s.name.clone()));
        taken.extend(module.nodes.iter().filter_map(|n| n.name.clone()));
        taken.extend(module.mems.iter().map(|m| m.name.clone()));
        taken.extend(module.instances.iter().map(|i| i.name.clone()));
        Names { taken, next: HashMap::new() }
    }

    /// `wanted`, or `wanted` with a number behind it when that is taken; `v_` goes in front of a digit, with which no name begins.
    pub fn claim(&mut self, wanted: &str) -> String {
        let wanted = match wanted.chars().next() {
            Some(c) if !c.is_ascii_digit() => wanted.to_string(),
            _ => format!("v_{wanted}"),
        };
        let free = |name: &str| !self.taken.contains(name) && legal_name(name);
        let mut name = wanted.clone();
        if !free(&name) {
            let number = self.next.entry(wanted.clone()).or_insert(2);
            loop {
                name = format!("{wanted}_{number}");
                *number += 1;
                if free(&name) {
                    break;
                }
            }
        }
        self.taken.insert(name.clone());
        name
    }
}

/// `CamelCase` as `CAMEL_CASE`.
pub(super) fn shouting(name: &str) -> String {
    let mut out = String::new();
    let chars: Vec<char> = name.chars().collect();
    for (i, c) in chars.iter().enumerate() {
        let after_lower = i > 0 && (chars[i - 1].is_ascii_lowercase() || chars[i - 1].is_ascii_digit());
        let before_lower = i > 0
            && chars[i - 1].is_ascii_uppercase()
            && chars.get(i + 1).is_some_and(char::is_ascii_lowercase);
        if c.is_ascii_uppercase() && (after_lower || before_lower) {
            out.push('_');
        }
        out.push(c.to_ascii_uppercase());
    }
    out
}

/// `CAMEL_CASE` or any label as letters, digits and `_`.
pub(super) fn identifier(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
