//! LISA instructions and scope trees.

use super::{Column, ReadError, wrong};
use crate::test::{Attr, Expr, Instr, Place, Test};
use weft_workload::op::{Class, Scope, Sem};

const KNOWN: &str = "w[] LOCATION VALUE, r[] REGISTER LOCATION, f[cta], f[gpu], f[sys]";

/// Reads one instruction.
pub(super) fn instr(column: &mut Column, text: &str) -> Result<(), ReadError> {
    let Some((name, rest)) = text.split_once('[') else { return column.unknown(text, KNOWN) };
    let Some((marks, operands)) = rest.split_once(']') else { return column.unknown(text, KNOWN) };
    let attr = Attr { class: Class::N, ..Attr::default() };
    match (name.trim(), marks.trim()) {
        ("w", "") => {
            let [at, value] = column.operands(operands, ' ')?;
            let (at, value) = (Expr::Addr(column.loc(at)?), column.value(value)?);
            column.push(Instr::Store { at, value, attr });
        }
        ("r", "") => {
            let [dst, at] = column.operands(operands, ' ')?;
            let (dst, at) = (column.reg(dst)?, Expr::Addr(column.loc(at)?));
            column.push(Instr::Load { dst, at, attr });
        }
        ("f", scope) => {
            let scope = match scope {
                "cta" => Scope::Cu,
                "gpu" => Scope::Gpu,
                "sys" | "system" => Scope::Sys,
                _ => return column.unknown(text, KNOWN),
            };
            let attr = Attr { class: Class::P, sem: Sem::AcquireRelease, scope, ..Attr::default() };
            column.push(Instr::Fence { attr });
        }
        _ => return column.unknown(text, KNOWN),
    }
    Ok(())
}

/// Places threads by a tree like `(system (gpu (cta P0) (cta P1)))`: groups of one level count from 0.
pub(super) fn scopes(tree: &str, line: usize, test: &mut Test) -> Result<(), ReadError> {
    let spaced = tree.replace('(', " ( ").replace(')', " ) ");
    let (mut gpus, mut ctas) = (0, 0);
    let mut at = Place::default();
    let mut placed = vec![false; test.threads.len()];
    for word in spaced.split_whitespace() {
        match word {
            "(" | ")" | "system" | "sys" => {}
            "gpu" => (at.gpu, gpus, ctas) = (gpus, gpus + 1, 0),
            "cta" => (at.cu, ctas) = (ctas, ctas + 1),
            thread => {
                let number = thread.strip_prefix('P').and_then(|n| n.parse::<usize>().ok());
                let Some(number) = number.filter(|n| *n < placed.len()) else {
                    return wrong(
                        line,
                        format!("{thread:?} is neither a level (system, gpu, cta) nor a thread"),
                    );
                };
                test.threads[number].place = at;
                placed[number] = true;
            }
        }
    }
    match placed.iter().position(|done| !done) {
        Some(thread) => wrong(line, format!("the scope tree does not place P{thread}")),
        None => Ok(()),
    }
}
