//! What proofs need to know beside the hardware, as data, each with its reason: rules that a block's neighbours keep, and invariants that make an assertion
//! inductive. A rule is assumed; an invariant is proved like any other assertion.

mod data;
mod text;

pub(super) use text::Text;

use data::{INVARIANTS, RULES};
use text::filled;
use weft_rtl::ir::Module;

/// A rule that the neighbours of a block keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rule {
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
pub(super) enum RuleKind {
    /// A Verilog expression over ports and over what Verilog of its own keeps of the past; `{key}` stands for a parameter of the
    /// module, or for a number in its name.
    Over {
        /// The port whose numbers the rule is for; empty: there is one rule.
        each: &'static str,
        /// A block with this port has no such rule; empty: each has.
        without: &'static str,
        /// Declarations and what keeps them.
        state: &'static str,
        /// The expression.
        holds: &'static str,
    },
    /// An input channel answers, once, what has left on an output channel and was not answered.
    Answers {
        /// The output channel.
        asks: &'static str,
        /// Leaf of its message that names a request; of its numbers the first 256 are answered.
        by: &'static str,
        /// The input channel.
        answers: &'static str,
        /// Leaf of its message that names the request.
        to: &'static str,
    },
    /// An input channel asks with a number that is not under way: it comes back on an output channel before it is
    /// used again.
    Once {
        /// The input channel.
        asks: &'static str,
        /// Leaf of its message that names the request; its first 256 numbers are used.
        by: &'static str,
        /// The output channel.
        answers: &'static str,
        /// Leaf of its message that names the request.
        to: &'static str,
    },
    /// As [`RuleKind::Answers`], one at a time, and the answer says again what was asked.
    Echoes {
        /// The output channel.
        asks: &'static str,
        /// The input channel.
        answers: &'static str,
        /// Leaf of both messages.
        leaf: &'static str,
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
        /// Parameter of the module, or of a part of it, with the number at first.
        places: &'static str,
    },
}

/// A fact about registers that assertions stand on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Invariant {
    /// A Verilog expression over registers and ports of a module; `{key}` stands for a parameter of it.
    Holds {
        /// Beginning of the module's name.
        module: &'static str,
        /// Its name as an assertion.
        name: &'static str,
        /// The expression.
        holds: &'static str,
        /// What it says.
        reason: &'static str,
    },
    /// No two valid rows of a register file have the same leaf, in every module with such a register file.
    Distinct {
        /// The register file.
        rows: &'static str,
        /// The register with a bit for each row.
        valid: &'static str,
        /// Leaf of a row; empty: all of it.
        leaf: &'static str,
        /// What it says.
        reason: &'static str,
    },
}

/// The rules of a block's environment.
pub(super) fn rules(module: &Module) -> impl Iterator<Item = &'static Rule> {
    RULES.iter().filter(|rule| module.name.starts_with(rule.block))
}

/// The invariants of a module: name, Verilog and reason.
pub(super) fn invariants(module: &Module) -> Vec<(String, String, String)> {
    let given = INVARIANTS.iter().filter_map(|invariant| match *invariant {
        Invariant::Holds { module: of, name, holds, reason } => {
            module.name.starts_with(of).then(|| (name.to_string(), filled(holds, module), reason.to_string()))
        }
        Invariant::Distinct { rows, valid, leaf, reason } => {
            let holds = distinct(module, rows, valid, leaf)?;
            Some((format!("{rows}_{leaf}_differ").replace("__", "_"), holds, reason.to_string()))
        }
    });
    // Every queue of the language's library is a register NAME_count beside a memory NAME_rows.
    let queues = module.mems.iter().filter_map(|mem| {
        let name = mem.name.strip_suffix("_rows")?;
        let count = module.signals.iter().find(|signal| signal.name == format!("{name}_count"))?;
        let full = 1u64.checked_shl(count.width).is_none_or(|values| values > u64::from(mem.rows) + 1);
        let holds = format!("{name}_count <= {}'d{}", count.width, mem.rows);
        full.then(|| {
            (format!("{name}_bounded"), holds, "a queue holds as many values as it has rows".to_string())
        })
    });
    given.chain(queues).collect()
}

/// That rows which are valid differ, pair by pair; none where the module has no such rows, or one.
fn distinct(module: &Module, rows: &str, valid: &str, leaf: &str) -> Option<String> {
    let mem = module.mems.iter().find(|mem| mem.name == rows && mem.lanes == 1)?;
    module.signals.iter().find(|signal| signal.name == valid && signal.width == mem.rows)?;
    let at = mem.leaves.iter().position(|l| l.name == leaf)?;
    let low: u32 = mem.leaves[..at].iter().map(|l| l.width).sum();
    let bits = match mem.leaves[at].width {
        width if width == mem.row_width() => String::new(),
        1 => format!("[{low}]"),
        width => format!("[{}:{low}]", low + width - 1),
    };
    let row = |i: u32| format!("{rows}[{i}]{bits}");
    let pairs = (0..mem.rows).flat_map(|i| (0..i).map(move |j| (i, j)));
    let apart = pairs.map(|(i, j)| format!("!({valid}[{i}] && {valid}[{j}] && {} == {})", row(i), row(j)));
    let apart: Vec<String> = apart.collect();
    (!apart.is_empty()).then(|| apart.join("\n        && "))
}
