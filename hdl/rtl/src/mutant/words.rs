//! A mutant's place in words.

use super::Mutant;
use super::behind::Behind;
use super::live::Live;
use super::sites::{Place, place};
use crate::ir::*;
use crate::operands::operands;

/// What stands at the place of a mutant, and the nearest name behind it: `and(valid, free), for start`; with the line of that name if it is in another file. Empty if there is no
/// such place.
pub fn describe(module: &Module, mutant: &Mutant) -> String {
    match place(module, mutant) {
        None => String::new(),
        Some(Place::Node(id)) => match Behind::new(module, &Live::of(module)).named(id) {
            Some((name, at)) if at.file != mutant.file => {
                format!("{}, for {name} ({at})", operation(module, id, 1))
            }
            Some((name, _)) => format!("{}, for {name}", operation(module, id, 1)),
            None => operation(module, id, 1),
        },
        Some(Place::Stmt(number)) => {
            let mut left = number;
            nth(&module.body, &mut left).map_or(String::new(), |stmt| statement(module, stmt))
        }
    }
}

fn nth<'a>(body: &'a [Stmt], left: &mut u32) -> Option<&'a Stmt> {
    body.iter().find_map(|stmt| {
        if *left == 0 {
            return Some(stmt);
        }
        *left -= 1;
        match stmt {
            Stmt::Assign { .. } => None,
            Stmt::If { then, els, .. } => nth(then, left).or_else(|| nth(els, left)),
            Stmt::Switch { arms, default, .. } => {
                arms.iter().find_map(|(_, arm)| nth(arm, left)).or_else(|| nth(default, left))
            }
        }
    })
}

fn statement(module: &Module, stmt: &Stmt) -> String {
    match stmt {
        Stmt::Assign { target, value, .. } => {
            format!("{} = {}", module.signal(*target).name, operation(module, *value, 1))
        }
        Stmt::If { cond, .. } => format!("when {}", operation(module, *cond, 1)),
        Stmt::Switch { sel, .. } => format!("switch {}", operation(module, *sel, 1)),
    }
}

/// An expression to this depth; a name where there is one.
fn operation(module: &Module, id: NodeId, depth: u32) -> String {
    let node = module.node(id);
    let variant = |ty: &LeafType, value: u64| match ty {
        LeafType::Enum(ty) => ty.name_of(value).map(String::from),
        _ => None,
    };
    match &node.op {
        Op::Const(v) => {
            let number = v.to_u64().and_then(|n| variant(&node.ty, n).or(Some(n.to_string())));
            return number.unwrap_or_else(|| v.to_string());
        }
        Op::Sig(sig) => return module.signal(*sig).name.clone(),
        Op::InstOut { inst, port } => {
            let inst = &module.instances[inst.index()];
            return format!("{}.{}", inst.name, inst.module.signal(*port).name);
        }
        _ => {}
    }
    match (&node.name, depth) {
        (Some(name), _) => return name.clone(),
        (None, 0) => return "...".to_string(),
        _ => {}
    }
    let mut parts = Vec::new();
    operands(&node.op, &mut |operand| parts.push(operation(module, operand, depth - 1)));
    format!("{}({})", word(module, node), parts.join(", "))
}

fn word(module: &Module, node: &Node) -> String {
    let text = match &node.op {
        Op::Slice { lo, .. } => return format!("bits {lo}..{} of ", lo + node.width),
        Op::MemRead { mem, .. } => return format!("{} at ", module.mems[mem.index()].name),
        Op::Const(_) | Op::Sig(_) | Op::InstOut { .. } => "",
        Op::Not(_) => "not",
        Op::And(..) => "and",
        Op::Or(..) => "or",
        Op::Xor(..) => "xor",
        Op::Add(..) => "add",
        Op::Sub(..) => "sub",
        Op::Mul(..) => "mul",
        Op::Eq(..) => "eq",
        Op::Lt(..) => "lt",
        Op::Shl(..) => "shl",
        Op::Shr(..) => "shr",
        Op::Mux(..) => "mux",
        Op::Concat(_) => "cat",
        Op::Index { .. } => "index",
        Op::AnyBit(_) => "any",
        Op::AllBits(_) => "all",
        Op::Parity(_) => "parity",
        Op::PopCount(_) => "popcount",
        Op::LowestSet(_) => "lowest_set",
    };
    text.to_string()
}
