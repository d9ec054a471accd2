//! What proofs need to know beside the hardware, as data, each with its reason: rules that a block's neighbours keep, and invariants that make an assertion
//! inductive. A rule is assumed; an invariant is proved like any other assertion.

mod data;
mod text;

pub(super) use text::Text;

use data::{INVARIANTS, RULES};
use weft_rtl::ir::Module;

/// A rule that the neighbours of a block keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Beginning of the block's module name.
    pub block: &'static str,
    /// Name of the rule.
    pub name: &'static str,
    /// What it says of ports. `#` in the name of a port stands for each number from 0 on with which the port exists.
    pub kind: RuleKind,
    /// Why the neighbours keep it.
    pub reason: &'static str,
}

/// What a rule says of ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleKind {
    /// A Verilog expression over ports; `{key}` stands for a parameter of the module.
    Always(&'static str),
    /// An input channel answers, once, what has left on an output channel and was not answered.
    Answers {
        /// The output channel.
        asks: &'static str,
        /// Leaf of its message that names a request; none: one at a time is enough.
        by: Option<&'static str>,
        /// The input channel.
        answers: &'static str,
        /// Leaf of its message that names the request.
        to: Option<&'static str>,
    },
    /// A pulse gives back what one message on an output without `ready` has taken.
    Returns {
        /// Output that is 1 in a cycle in which a message leaves.
        sent: &'static str,
        /// Input.
        back: &'static str,
    },
    /// Messages come in only as many as places were given: a number at first, and one for each pulse.
    Places {
        /// Input that is 1 in a cycle in which a message comes.
        comes: &'static str,
        /// Output.
        back: &'static str,
        /// Parameter of the module with the number at first.
        places: &'static str,
    },
}

/// A fact about a block's registers that an assertion of it stands on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Invariant {
    /// Beginning of the module's name.
    pub module: &'static str,
    /// Its name as an assertion.
    pub name: &'static str,
    /// The Verilog expression over the module's own signals.
    pub holds: &'static str,
    /// What it says.
    pub reason: &'static str,
}

/// The rules of a block's environment.
pub(super) fn rules(module: &Module) -> impl Iterator<Item = &'static Rule> {
    RULES.iter().filter(|rule| module.name.starts_with(rule.block))
}

/// The invariants of a module: name, Verilog and reason.
pub(super) fn invariants(module: &Module) -> Vec<(String, String, String)> {
    let given = INVARIANTS.iter().filter(|invariant| module.name.starts_with(invariant.module));
    let given = given.map(|i| (i.name.to_string(), i.holds.to_string(), i.reason.to_string()));
    // Every queue of the language's library is a register NAME_count beside a memory NAME_rows.
    let queues = module.mems.iter().filter_map(|mem| {
        let name = mem.name.strip_suffix("_rows")?;
        let count = module.signals.iter().find(|signal| signal.name == format!("{name}_count"))?;
        let full = 1u64.checked_shl(count.width).is_none_or(|values| values > u64::from(mem.rows) + 1);
        let holds = format!("{name}_count <= {}'d{}", count.width, mem.rows);
        full.then(|| (format!("{name}_bounded"), holds, "a queue holds as many values as it has rows".to_string()))
    });
    given.chain(queues).collect()
}
