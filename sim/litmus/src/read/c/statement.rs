//! Statements.

use super::{Parser, ReadError, is_name, wrong};
use crate::test::{Attr, Expr, Instr, Op};

/// Words of types, in any order and number.
const TYPES: [&str; 13] = [
    "int", "unsigned", "signed", "long", "short", "char", "bool", "volatile", "const", "uint32_t",
    "uint64_t", "int32_t", "int64_t",
];

impl Parser<'_> {
    pub(super) fn block(&mut self) -> Result<(), ReadError> {
        self.expect("{")?;
        while self.peek() != "}" {
            self.statement()?;
        }
        self.expect("}")
    }

    pub(super) fn statement(&mut self) -> Result<(), ReadError> {
        match self.peek() {
            "{" => return self.block(),
            "if" => return self.if_(),
            "while" => return self.while_(),
            "do" => self.do_()?,
            "" => return wrong(self.line(), "the text ends inside a thread"),
            ";" => {}
            "return" | "goto" | "for" | "switch" => {
                let word = self.peek();
                return wrong(self.line(), format!("{word} is not read; write if, while or do"));
            }
            word if TYPES.contains(&word) => self.declaration()?,
            word if is_name(word) && self.peek_at(1) == ":" => return self.labelled(),
            "barrier" | "work_group_barrier" => self.barrier(None)?,
            _ => self.assignment()?,
        }
        self.expect(";")
    }

    /// A label names the barrier behind it; no other has a use.
    fn labelled(&mut self) -> Result<(), ReadError> {
        let label = self.next();
        self.expect(":")?;
        if matches!(self.peek(), "barrier" | "work_group_barrier") {
            self.barrier(Some(&label))?;
            return self.expect(";");
        }
        self.statement()
    }

    fn if_(&mut self) -> Result<(), ReadError> {
        self.at += 1;
        let past = self.unless()?;
        self.statement()?;
        if !self.took("else") {
            self.lands(past);
            return Ok(());
        }
        let end = self.branch(Expr::Const(1));
        self.lands(past);
        self.statement()?;
        self.lands(end);
        Ok(())
    }

    /// `(CONDITION)`, and a branch that is taken if it does not hold.
    fn unless(&mut self) -> Result<usize, ReadError> {
        self.expect("(")?;
        let value = self.value()?;
        self.expect(")")?;
        Ok(self.branch(Expr::bin(Op::Eq, value, Expr::Const(0))))
    }

    fn while_(&mut self) -> Result<(), ReadError> {
        self.at += 1;
        let top = self.code().len();
        let past = self.unless()?;
        self.statement()?;
        self.code().push(Instr::Branch { if_: Expr::Const(1), to: top });
        self.lands(past);
        Ok(())
    }

    fn do_(&mut self) -> Result<(), ReadError> {
        self.at += 1;
        let top = self.code().len();
        self.statement()?;
        self.expect("while")?;
        self.expect("(")?;
        let value = self.value()?;
        self.expect(")")?;
        self.code().push(Instr::Branch { if_: value, to: top });
        Ok(())
    }

    /// `int a, *p = &x, b = 1`
    fn declaration(&mut self) -> Result<(), ReadError> {
        while TYPES.contains(&self.peek()) {
            self.at += 1;
        }
        loop {
            while self.took("*") {}
            let name = self.next();
            if self.parameters.remove(&name) {
                return wrong(
                    self.line(),
                    format!("{name} is a location and a variable; give one another name"),
                );
            }
            let dst = self.variable(&name)?;
            if self.took("=") {
                self.value_into(dst)?;
            }
            if !self.took(",") {
                return Ok(());
            }
        }
    }

    /// `r = VALUE`, `*x = VALUE`, `y[1] = VALUE`, or a call whose value nobody takes.
    fn assignment(&mut self) -> Result<(), ReadError> {
        if is_name(self.peek()) && self.peek_at(1) == "=" && !self.parameters.contains(self.peek()) {
            let name = self.next();
            let dst = self.variable(&name)?;
            self.at += 1;
            return self.value_into(dst);
        }
        if self.peek() == "*" || self.peek_at(1) == "[" {
            let line = self.line();
            let before = self.code().len();
            // The value of the place, if it is one, is the last that has been read.
            let value = self.unary()?;
            if self.peek() != "=" {
                return wrong(line, "a value is computed and not used; assign it to something");
            }
            let Some((at, Expr::Reg(read))) = self.read_last(before).map(|at| (at, value)) else {
                return wrong(line, "this is no place that can be written");
            };
            self.forget(read);
            self.at += 1;
            let value = self.value()?;
            self.code().push(Instr::Store { at, value, attr: Attr::default() });
            return Ok(());
        }
        if is_name(self.peek()) && self.peek_at(1) == "(" {
            return self.call().map(|_| ());
        }
        let (word, sign) = (self.peek(), self.peek_at(1));
        wrong(self.line(), format!("{word} {sign} begins no statement that is read"))
    }

    /// Takes back the load that stands last, and gives its place.
    fn read_last(&mut self, before: usize) -> Option<Expr> {
        match self.code().pop() {
            Some(Instr::Load { at, .. }) if self.code().len() >= before => Some(at),
            _ => None,
        }
    }
}
