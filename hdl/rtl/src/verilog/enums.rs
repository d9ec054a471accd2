//! Enumerations as `localparam`s.

use super::names::{Names, shouting};
use super::text::{literal, push_comment, push_line, range};
use crate::bv::Bv;
use crate::ir::{EnumType, LeafType, Module};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The enumerations of a module, their constants' names, and which constants the text uses.
pub(super) struct Enums {
    types: Vec<(Arc<EnumType>, Vec<String>)>,
    used: BTreeSet<(usize, u64)>,
    /// Those first used under `ifdef FORMAL`.
    formal: BTreeSet<(usize, u64)>,
}

impl Enums {
    /// All enumerations that signals and expressions of a module have.
    pub fn of(module: &Module, names: &mut Names) -> Enums {
        let mut found: BTreeMap<String, Vec<Arc<EnumType>>> = BTreeMap::new();
        let signals = module.signals.iter().map(|s| &s.ty);
        for ty in signals.chain(module.nodes.iter().map(|n| &n.ty)) {
            if let LeafType::Enum(e) = ty {
                let same_name = found.entry(e.name.clone()).or_default();
                if !same_name.contains(e) {
                    same_name.push(e.clone());
                }
            }
        }
        let types = found
            .into_values()
            .flatten()
            .map(|e| {
                let prefix = shouting(&e.name);
                let constants =
                    e.variants.iter().map(|(v, _)| names.claim(&format!("{prefix}_{v}"))).collect();
                (e, constants)
            })
            .collect();
        Enums { types, used: BTreeSet::new(), formal: BTreeSet::new() }
    }

    /// The constant's name for a value of a type, if the type is an enumeration and the value has a name in it.
    pub fn constant(&mut self, ty: &LeafType, value: &Bv, formal: bool) -> Option<String> {
        let LeafType::Enum(e) = ty else { return None };
        let code = value.to_u64()?;
        let at = self.types.iter().position(|(t, _)| t == e)?;
        let variant = e.variants.iter().position(|(_, v)| *v == code)?;
        if formal && !self.used.contains(&(at, code)) {
            self.formal.insert((at, code));
        } else if !formal {
            self.used.insert((at, code));
        }
        Some(self.types[at].1[variant].clone())
    }

    /// Declares the constants used by the hardware, or those that only the formal part uses. Encodings that the module does not mention
    /// stand in a comment: an unused `localparam` would be a lint warning.
    pub fn declare(&self, out: &mut String, formal: bool) {
        for (at, (ty, constants)) in self.types.iter().enumerate() {
            let chosen = |code: u64| {
                let key = (at, code);
                if formal {
                    self.formal.contains(&key) && !self.used.contains(&key)
                } else {
                    self.used.contains(&key)
                }
            };
            if !ty.variants.iter().any(|(_, code)| chosen(*code)) {
                continue;
            }
            let others: Vec<String> = ty
                .variants
                .iter()
                .filter(|(_, code)| !chosen(*code))
                .map(|(name, code)| format!("{name} = {code}"))
                .collect();
            if !formal {
                let tail = if others.is_empty() {
                    String::new()
                } else {
                    format!(" (not named here: {})", others.join(", "))
                };
                push_line(out, 0, "");
                push_comment(out, 4, &format!("{}{tail}", ty.name));
            }
            let widest = constants.iter().map(String::len).max().unwrap_or(0);
            for ((_, code), constant) in ty.variants.iter().zip(constants) {
                if chosen(*code) {
                    let value = literal(&Bv::from_u64(*code, ty.width));
                    push_line(
                        out,
                        4,
                        &format!("localparam {}{constant:widest$} = {value};", range(ty.width)),
                    );
                }
            }
        }
    }
}
