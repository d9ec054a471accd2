//! Another module in the place of an instance: a changed copy of a block in a whole design, everything else as it was.

use crate::ir::*;
use std::collections::HashMap;
use std::sync::Arc;
use thiserror::Error;

/// Why a module cannot stand in the place of another.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ReplaceError {
    /// The path leads nowhere.
    #[error("module {module} has no instance {name}; it has {known}")]
    NoInstance {
        /// Where it was looked for.
        module: String,
        /// What was looked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The ports are not the same.
    #[error(
        "{by} cannot stand in the place of {old}: its port {port} is missing there, or has another width or direction; give it the same ports"
    )]
    Ports {
        /// The module that was to be put in.
        by: String,
        /// The module in whose place.
        old: String,
        /// The first port that differs.
        port: String,
    },
}

impl Module {
    /// A copy of this module in which the instance at `path` (names joined by dots, as `gpu0.dir1`) is one of `by`. The modules on the path get new
    /// names, `OLD_with_BY`, since a name stands for one content.
    ///
    /// # Errors
    /// A path that leads to no instance, or ports that are not those of the module replaced, in name, width and direction.
    pub fn replaced(&self, path: &str, by: &Arc<Module>) -> Result<Arc<Module>, ReplaceError> {
        let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
        let Some(number) = self.instances.iter().position(|i| i.name == name) else {
            let names: Vec<&str> = self.instances.iter().map(|i| i.name.as_str()).collect();
            let known = if names.is_empty() { "none".to_string() } else { names.join(", ") };
            return Err(ReplaceError::NoInstance { module: self.name.clone(), name: name.into(), known });
        };
        let old = &self.instances[number].module;
        let new = match rest {
            Some(rest) => old.replaced(rest, by)?,
            None => by.clone(),
        };
        let ports = same_ports(old, &new)?;
        let mut copy = self.clone();
        copy.name = format!("{}_with_{}", self.name, by.name);
        for (port, _) in &mut copy.instances[number].inputs {
            *port = ports[port];
        }
        copy.instances[number].module = new;
        for node in &mut copy.nodes {
            if let Op::InstOut { inst, port } = &mut node.op
                && inst.index() == number
            {
                *port = ports[port];
            }
        }
        Ok(Arc::new(copy))
    }
}

/// For each port of `old` the one of `new`.
fn same_ports(old: &Module, new: &Module) -> Result<HashMap<SigId, SigId>, ReplaceError> {
    let differs =
        |port: &str| ReplaceError::Ports { by: new.name.clone(), old: old.name.clone(), port: port.into() };
    let missing = |of: &Module, s: &Signal| {
        let same = |t: &Signal| t.width == s.width && t.output == s.output;
        of.port(&s.name).filter(|id| same(of.signal(*id))).ok_or_else(|| differs(&s.name))
    };
    for (_, s) in new.ports() {
        missing(old, s)?;
    }
    old.ports().map(|(id, s)| Ok((id, missing(new, s)?))).collect()
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;

    fn step(name: &str, by: u64, width: u32) -> Arc<Module> {
        Module::build(name, ModuleKind::Block, || {
            if by == 2 {
                doc("Ports in another order.");
                let count = output_reg::<Bits>("count", width);
                let go = input::<Bool>("go", ());
                when(go, || count.set(count.get() + by));
            } else {
                let go = input::<Bool>("go", ());
                let count = output_reg::<Bits>("count", width);
                when(go, || count.set(count.get() + by));
            }
        })
        .expect("sound")
    }

    fn top() -> Arc<Module> {
        let one = step("one", 1, 8);
        let half = Module::build("half", ModuleKind::Fabric, || {
            let block = instance("inner", &one);
            block.drive_bits("go", input::<Bits>("go", 1));
            output::<Bits>("count", 8).set(block.out_bits("count"));
        })
        .expect("sound");
        Module::build("top", ModuleKind::Fabric, || {
            let go = input::<Bits>("go", 1);
            for name in ["left", "right"] {
                let half = instance(name, &half);
                half.drive_bits("go", go);
                output::<Bits>(&format!("{name}_count"), 8).set(half.out_bits("count"));
            }
        })
        .expect("sound")
    }

    #[test]
    fn only_the_instance_named_is_another() {
        let two = step("two", 2, 8);
        let (old, new) = (top(), top().replaced("right.inner", &two).expect("the same ports"));
        assert_eq!(new.name, "top_with_two");
        let at = |m: &Module, half: usize| m.instances[half].module.instances[0].module.clone();
        assert_eq!((at(&new, 0).name.as_str(), at(&new, 1).name.as_str()), ("one", "two"));
        assert_eq!(new.instances[0].module.name, "half");
        assert_eq!(new.instances[1].module.name, "half_with_two");
        assert_eq!(at(&old, 1).name, "one", "the original is as it was");
        let half = &new.instances[1].module;
        let (input, _) = half.instances[0].inputs[0];
        assert_eq!(two.signal(input).name, "go");
        let flat = crate::lower::flatten(half).expect("sound");
        assert_eq!(flat.outputs.len(), 1);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |path: &str, by: &Arc<Module>| top().replaced(path, by).expect_err(path).to_string();
        let two = step("two", 2, 8);
        assert_eq!(refused("middle", &two), "module top has no instance middle; it has left, right");
        assert_eq!(refused("left.inner.x", &two), "module one has no instance x; it has none");
        assert_eq!(
            refused("left.inner", &step("wide", 1, 9)),
            "wide cannot stand in the place of one: its port count is missing there, or has another width or direction; give it the same ports"
        );
    }
}
