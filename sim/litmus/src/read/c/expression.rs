//! Expressions: their reads and calls become instructions, what is left is a value of registers. Of two
//! operands only one may access memory, for C leaves their order open.

use super::{Parser, ReadError, is_name, number, wrong};
use crate::paths::STRIDE;
use crate::test::{Attr, Expr, HIDDEN, Instr, Op, Reg};

/// Signs between two values, the loosest first.
const LEVELS: [&[(&str, Op)]; 8] = [
    &[("|", Op::Or)],
    &[("^", Op::Xor)],
    &[("&", Op::And)],
    &[("==", Op::Eq), ("!=", Op::Ne)],
    &[("<", Op::Lt), (">", Op::Gt), ("<=", Op::Le), (">=", Op::Ge)],
    &[("<<", Op::Shl), (">>", Op::Shr)],
    &[("+", Op::Add), ("-", Op::Sub)],
    &[("*", Op::Mul)],
];

fn truth(value: Expr) -> Expr {
    Expr::bin(Op::Ne, value, Expr::Const(0))
}

impl Parser<'_> {
    /// A value, put into a variable.
    pub(super) fn value_into(&mut self, dst: Reg) -> Result<(), ReadError> {
        let before = self.code().len();
        let value = self.value()?;
        // What has just been read goes there at once.
        let direct = match (&value, self.code()[before..].last_mut()) {
            (Expr::Reg(reg), Some(Instr::Load { dst: found, .. } | Instr::Rmw { dst: Some(found), .. }))
                if found == reg =>
            {
                *found = dst;
                Some(*reg)
            }
            _ => None,
        };
        match direct {
            Some(reg) => self.forget(reg),
            None => self.code().push(Instr::Set { dst, value }),
        }
        Ok(())
    }

    /// Takes back a register of the reader's own that nothing needs, if it is the last one.
    pub(super) fn forget(&mut self, reg: Reg) {
        let thread = &mut self.test.threads[self.thread];
        if reg + 1 == thread.regs.len() && thread.regs[reg].starts_with(HIDDEN) {
            thread.regs.pop();
            thread.start.pop();
        }
    }

    /// A value; what stands behind `&&` or `||` is read only if it decides.
    pub(super) fn value(&mut self) -> Result<Expr, ReadError> {
        let mut left = self.conjunction()?;
        while self.took("||") {
            left = self.decided(left, Op::Or, Self::conjunction)?;
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Expr, ReadError> {
        let mut left = self.level(0)?;
        while self.took("&&") {
            left = self.decided(left, Op::And, |parser| parser.level(0))?;
        }
        Ok(left)
    }

    fn decided(
        &mut self,
        left: Expr,
        op: Op,
        right: impl FnOnce(&mut Self) -> Result<Expr, ReadError>,
    ) -> Result<Expr, ReadError> {
        let left = truth(left);
        let skip = if op == Op::And { Op::Eq } else { Op::Ne };
        let before = self.code().len();
        let result = self.temporary();
        self.code().push(Instr::Set { dst: result, value: left.clone() });
        let past = self.branch(Expr::bin(skip, Expr::Reg(result), Expr::Const(0)));
        let value = truth(right(self)?);
        if self.code().len() == past + 1 {
            self.code().truncate(before);
            self.forget(result);
            return Ok(Expr::bin(op, left, value));
        }
        self.code().push(Instr::Set { dst: result, value });
        self.lands(past);
        Ok(Expr::Reg(result))
    }

    fn level(&mut self, level: usize) -> Result<Expr, ReadError> {
        let Some(signs) = LEVELS.get(level) else { return self.unary() };
        let before = self.code().len();
        let mut left = self.level(level + 1)?;
        while let Some((sign, op)) = signs.iter().find(|(sign, _)| *sign == self.peek()) {
            let (line, middle) = (self.line(), self.code().len());
            self.at += 1;
            let right = self.level(level + 1)?;
            if before < middle && middle < self.code().len() {
                return wrong(
                    line,
                    format!(
                        "both sides of {sign} access memory, and C does not say which is first; put one into a variable before"
                    ),
                );
            }
            left = match left {
                Expr::Addr(loc) if matches!(op, Op::Add) => self.element(loc, right, line)?,
                Expr::Addr(_) if !matches!(op, Op::Eq | Op::Ne) => {
                    return wrong(line, "only numbers are added to addresses");
                }
                left => Expr::bin(*op, left, right),
            };
        }
        Ok(left)
    }

    /// The address of an element of an array.
    fn element(&self, array: usize, index: Expr, line: usize) -> Result<Expr, ReadError> {
        match (self.arrays.get(&array), index) {
            (_, Expr::Const(0)) => Ok(Expr::Addr(array)),
            (Some(length), Expr::Const(n)) if usize::try_from(n).is_ok_and(|n| n < *length) => {
                Ok(Expr::Addr(array + n as usize))
            }
            (Some(length), Expr::Const(n)) => {
                wrong(line, format!("{} has no element {n}, only {length}", self.test.locs[array].name))
            }
            (Some(_), index) => {
                let offset = Expr::bin(Op::Mul, index, Expr::Const(STRIDE));
                Ok(Expr::bin(Op::Add, Expr::Addr(array), offset))
            }
            (None, _) => {
                wrong(line, format!("{} is no array: it has no elements", self.test.locs[array].name))
            }
        }
    }

    pub(super) fn unary(&mut self) -> Result<Expr, ReadError> {
        match self.peek() {
            "-" if number(self.peek_at(1)).is_some() => Ok(Expr::Const(self.number()?)),
            "-" => {
                self.at += 1;
                Ok(Expr::bin(Op::Sub, Expr::Const(0), self.unary()?))
            }
            "!" => {
                self.at += 1;
                Ok(Expr::bin(Op::Eq, self.unary()?, Expr::Const(0)))
            }
            "*" => {
                self.at += 1;
                let at = self.unary()?;
                Ok(self.found_at(at))
            }
            "&" => wrong(self.line(), "the address of a variable is not read; use a location"),
            _ => self.postfix(),
        }
    }

    /// The value of an ordinary object.
    pub(super) fn found_at(&mut self, at: Expr) -> Expr {
        let dst = self.temporary();
        self.code().push(Instr::Load { dst, at, attr: Attr::default() });
        Expr::Reg(dst)
    }

    fn postfix(&mut self) -> Result<Expr, ReadError> {
        let value = self.primary()?;
        let line = self.line();
        let Expr::Addr(loc) = value else { return Ok(value) };
        if !self.took("[") {
            return Ok(value);
        }
        let index = self.value()?;
        self.expect("]")?;
        let at = self.element(loc, index, line)?;
        Ok(self.found_at(at))
    }

    fn primary(&mut self) -> Result<Expr, ReadError> {
        let line = self.line();
        if number(self.peek()).is_some() {
            return Ok(Expr::Const(self.number()?));
        }
        if self.took("(") {
            let value = self.value()?;
            self.expect(")")?;
            return Ok(value);
        }
        if is_name(self.peek()) && self.peek_at(1) == "(" {
            return match self.call()? {
                Some(value) => Ok(value),
                None => wrong(line, "this function has no value"),
            };
        }
        let name = self.next();
        let loc = self.test.loc(&name);
        match (loc, name.as_str()) {
            (_, "true") => Ok(Expr::Const(1)),
            (_, "false" | "NULL") => Ok(Expr::Const(0)),
            (Some(loc), _) if self.parameters.contains(&name) || !self.variables.contains(&name) => {
                Ok(Expr::Addr(loc))
            }
            _ if self.variables.contains(&name) => Ok(Expr::Reg(self.variable(&name)?)),
            _ => wrong(line, format!("{name:?} is neither a variable that has been declared nor a location")),
        }
    }
}
