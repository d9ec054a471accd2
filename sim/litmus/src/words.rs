//! A test's instructions and ends in words.

use crate::paths::located;
use crate::test::{Attr, Expr, HIDDEN, Instr, Op, Outcome, Test};
use weft_workload::op::{AmoKind, Scope};

impl Test {
    /// An instruction in words, as in Weft's own format: `r1 = R.P.gpu y`.
    ///
    /// # Panics
    /// No such instruction.
    pub fn instruction(&self, thread: usize, instr: usize) -> String {
        let regs = &self.threads[thread].regs;
        let text = |e: &Expr| self.expression(e, regs);
        let access = |kind: &str, attr: &Attr| {
            let scope = match attr.scope {
                Scope::Cu => ".cu",
                Scope::Gpu => ".gpu",
                Scope::Sys => "",
            };
            format!("{kind}.{:?}{scope}{}", attr.class, if attr.remote { ".rem" } else { "" })
        };
        match &self.threads[thread].code[instr] {
            Instr::Load { dst, at, attr } => format!("{} = {} {}", regs[*dst], access("R", attr), text(at)),
            Instr::Store { at, value, attr } => format!("{} {} {}", access("W", attr), text(at), text(value)),
            Instr::Rmw { dst, at, kind, value, compare, attr } => {
                let name = format!("{kind:?}").to_uppercase();
                let into = dst.map_or(String::new(), |dst| format!("{} = ", regs[dst]));
                let compare =
                    if *kind == AmoKind::Cas { format!("{} ", text(compare)) } else { String::new() };
                format!("{into}{} {} {compare}{}", access(&name, attr), text(at), text(value))
            }
            Instr::StoreExclusive { status, at, value, attr } => {
                format!("{} = {} {} {}", regs[*status], access("WX", attr), text(at), text(value))
            }
            Instr::Fence { attr } => format!("F {:?} {:?}", attr.sem, attr.scope),
            Instr::Barrier(b) => format!("barrier {} {}", b.site, text(&b.number)),
            Instr::Set { dst, value } => format!("{} = {}", regs[*dst], text(value)),
            Instr::Branch { if_, to } => format!("if {} to {to}", text(if_)),
        }
    }

    fn expression(&self, e: &Expr, regs: &[String]) -> String {
        match e {
            Expr::Const(value) => value.to_string(),
            Expr::Addr(loc) => self.locs[*loc].name.clone(),
            Expr::Reg(reg) => regs[*reg].clone(),
            Expr::Bin(op, a, b) => {
                let sign = match op {
                    Op::Add => "+",
                    Op::Sub => "-",
                    Op::And => "&",
                    Op::Or => "|",
                    Op::Xor => "^",
                    Op::Eq => "==",
                    Op::Ne => "!=",
                    Op::Lt => "<",
                    Op::Gt => ">",
                    Op::Le => "<=",
                    Op::Ge => ">=",
                    Op::Mul => "*",
                    Op::Shl => "<<",
                    Op::Shr => ">>",
                };
                format!("{} {sign} {}", self.expression(a, regs), self.expression(b, regs))
            }
            Expr::Select(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|part| self.expression(part, regs));
                format!("{a} ? {b} : {c}")
            }
        }
    }

    /// An end in words: registers that the test names, then memory. An address is the name of its location.
    pub fn describe(&self, end: &Outcome) -> String {
        let value = |value: i64| {
            let loc = located(value, self.locs.len());
            loc.map_or_else(|| value.to_string(), |loc| self.locs[loc].name.clone())
        };
        let regs = self.threads.iter().enumerate().flat_map(|(t, thread)| {
            let named = thread.regs.iter().enumerate().filter(|(_, name)| !name.starts_with(HIDDEN));
            named.map(move |(r, name)| format!("{t}:{name}={}", value(end.regs[t][r])))
        });
        let mem = self.locs.iter().zip(&end.mem).map(|(loc, held)| format!("{}={}", loc.name, value(*held)));
        regs.chain(mem).collect::<Vec<_>>().join(" ")
    }
}
