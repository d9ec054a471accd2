//! C11 and OpenCL C: a function per thread, atomics by the `_explicit` functions, `if` without `else`.

use super::{ReadError, condition, is_name, number, wrong};
use crate::test::{Attr, Cond, Dialect, Expr, Instr, Loc, Op, Place, Quantifier, Reg, Test, Thread};
use weft_workload::op::{AmoKind, Class, Scope, Sem};

struct Token {
    text: String,
    line: usize,
}

/// Comments become spaces; lines stay.
fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let pair =
            [("(*", "*)"), ("/*", "*/"), ("//", "\n")].into_iter().find(|(open, _)| rest.starts_with(open));
        if let Some((open, close)) = pair {
            let length = rest[open.len()..].find(close).map_or(rest.len(), |at| at + open.len());
            out.extend(rest[..length].chars().filter(|c| *c == '\n'));
            rest = &rest[length..];
            rest = if close == "\n" { rest } else { rest.strip_prefix(close).unwrap_or(rest) };
        } else {
            out.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    out
}

fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let length = if rest.starts_with("==") || rest.starts_with("!=") {
                2
            } else if word(first) {
                rest.find(|c| !word(c)).unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            out.push(Token { text: rest[..length].into(), line: n + 1 });
            rest = rest[length..].trim_start();
        }
    }
    out
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    test: Test,
    thread: usize,
}

/// Reads a test.
///
/// # Errors
/// What is no such test.
pub fn read(text: &str) -> Result<Test, ReadError> {
    let clean = without_comments(text);
    let start = clean.lines().position(|l| !l.trim().is_empty()).unwrap_or(0);
    let mut head = clean.lines().nth(start).unwrap_or("").split_whitespace();
    let dialect = if head.next() == Some("OPENCL") { Dialect::OpenCl } else { Dialect::C11 };
    let name = head.next().unwrap_or("unnamed").trim_end_matches('{').to_string();
    let asked = |l: &str| {
        let l = l.trim_start();
        l.starts_with("exists") || l.starts_with("~exists") || l.starts_with("forall")
    };
    let lines: Vec<&str> = clean.lines().collect();
    let Some(end) = lines.iter().position(|l| asked(l)) else {
        return wrong(
            lines.len(),
            "there is no condition; end with exists (...), ~exists (...) or forall (...)",
        );
    };
    // The first line is the head, but the braces may begin on it.
    let mut body: Vec<String> = lines[..end].iter().map(ToString::to_string).collect();
    body[start] = lines[start].find('{').map_or(String::new(), |at| lines[start][at..].to_string());
    let tokens = tokens(&body.join("\n"));
    let test = Test {
        name,
        dialect,
        locs: Vec::new(),
        threads: Vec::new(),
        quantifier: Quantifier::Exists,
        condition: Cond::True,
        expect: Vec::new(),
        races: Vec::new(),
    };
    let mut parser = Parser { tokens: &tokens, at: 0, test, thread: 0 };
    parser.initial()?;
    while parser.at < tokens.len() {
        parser.function()?;
    }
    let mut test = parser.test;
    condition::read(&lines[end..].join(" "), end + 1, &mut test)?;
    Ok(test)
}

impl Parser<'_> {
    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |t| t.line)
    }

    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", |t| &t.text)
    }

    fn peek_at(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", |t| &t.text)
    }

    fn next(&mut self) -> String {
        let text = self.peek().to_string();
        self.at += 1;
        text
    }

    fn expect(&mut self, text: &str) -> Result<(), ReadError> {
        let line = self.line();
        match self.next() {
            found if found == text => Ok(()),
            found if found.is_empty() => wrong(line, format!("the text ends where {text:?} is expected")),
            found => wrong(line, format!("{found:?} stands where {text:?} is expected")),
        }
    }

    fn number(&mut self) -> Result<i64, ReadError> {
        let line = self.line();
        let sign = if self.peek() == "-" { self.next() } else { String::new() };
        let word = self.next();
        number(&format!("{sign}{word}")).map_or_else(|| wrong(line, format!("{word:?} is no number")), Ok)
    }

    /// `{ [x] = 0; y = 0; }`
    fn initial(&mut self) -> Result<(), ReadError> {
        self.expect("{")?;
        while self.peek() != "}" {
            let line = self.line();
            let mut name = self.next();
            if name == "[" {
                name = self.next();
                self.expect("]")?;
            }
            if !is_name(&name) {
                return wrong(line, format!("{name:?} is no location"));
            }
            self.expect("=")?;
            let init = self.number()?;
            self.test.locs.push(Loc { name, init, local: false });
            if self.peek() == ";" {
                self.at += 1;
            }
        }
        self.expect("}")
    }

    /// `P0@wg 0, dev 0 (global int* x, atomic_int* y) { ... }`
    fn function(&mut self) -> Result<(), ReadError> {
        let line = self.line();
        let name = self.next();
        self.thread = self.test.threads.len();
        if name != format!("P{}", self.thread) {
            return wrong(line, format!("{name:?} stands where thread P{} is expected", self.thread));
        }
        let mut place = Place { cu: self.thread as u32, ..Place::default() };
        while self.peek() != "(" {
            let line = self.line();
            match self.next().as_str() {
                "@" | "," => {}
                "wg" => place.cu = self.number()? as u32,
                "dev" => place.gpu = self.number()? as u32,
                other => return wrong(line, format!("{other:?} places no thread; write wg N or dev N")),
            }
        }
        self.test.threads.push(Thread { place, ..Thread::default() });
        self.parameters()?;
        self.block()
    }

    fn parameters(&mut self) -> Result<(), ReadError> {
        self.expect("(")?;
        let mut words: Vec<String> = Vec::new();
        loop {
            let line = self.line();
            match self.next().as_str() {
                end @ ("," | ")") => {
                    if let Some(name) = words.last() {
                        let loc = match self.test.loc(name) {
                            Some(loc) => loc,
                            None => {
                                return wrong(
                                    line,
                                    format!("{name} has no initial value; give it one in the braces"),
                                );
                            }
                        };
                        self.test.locs[loc].local |= words.iter().any(|word| word == "local");
                    }
                    words.clear();
                    if end == ")" {
                        return Ok(());
                    }
                }
                "" => return wrong(line, "the text ends inside parameters"),
                word => words.push(word.into()),
            }
        }
    }

    fn block(&mut self) -> Result<(), ReadError> {
        self.expect("{")?;
        while self.peek() != "}" {
            self.statement()?;
        }
        self.expect("}")
    }

    fn code(&mut self) -> &mut Vec<Instr> {
        &mut self.test.threads[self.thread].code
    }

    fn reg(&mut self, name: &str) -> Result<Reg, ReadError> {
        if !is_name(name) {
            return wrong(self.line(), format!("{name:?} is no variable"));
        }
        Ok(self.test.threads[self.thread].reg(name))
    }

    fn location(&mut self) -> Result<Expr, ReadError> {
        let line = self.line();
        let name = self.next();
        match self.test.loc(&name) {
            Some(loc) => Ok(Expr::Addr(loc)),
            None => wrong(line, format!("{name:?} is no location of this test")),
        }
    }

    fn statement(&mut self) -> Result<(), ReadError> {
        match self.peek() {
            "if" => return self.if_(),
            "*" => {
                self.at += 1;
                let at = self.location()?;
                self.expect("=")?;
                let value = self.value()?;
                self.code().push(Instr::Store { at, value, attr: Attr::default() });
            }
            "int" => {
                self.at += 1;
                self.assignment()?;
            }
            word if word.starts_with("atomic_") => self.call(None)?,
            "" => return wrong(self.line(), "the text ends inside a thread"),
            _ => self.assignment()?,
        }
        self.expect(";")
    }

    fn if_(&mut self) -> Result<(), ReadError> {
        self.at += 1;
        self.expect("(")?;
        let value = self.comparison()?;
        self.expect(")")?;
        let at = self.code().len();
        let not = Expr::Bin(Op::Eq, Box::new(value), Box::new(Expr::Const(0)));
        self.code().push(Instr::Branch { if_: not, to: 0 });
        if self.peek() == "{" {
            self.block()?
        } else {
            self.statement()?
        }
        if self.peek() == "else" {
            return wrong(self.line(), "else is not read; write a second if");
        }
        let end = self.code().len();
        if let Instr::Branch { to, .. } = &mut self.code()[at] {
            *to = end;
        }
        Ok(())
    }

    fn comparison(&mut self) -> Result<Expr, ReadError> {
        let left = self.value()?;
        let op = match self.peek() {
            "==" => Op::Eq,
            "!=" => Op::Ne,
            "<" => Op::Lt,
            ">" => Op::Gt,
            _ => return Ok(left),
        };
        self.at += 1;
        Ok(Expr::Bin(op, Box::new(left), Box::new(self.value()?)))
    }

    /// Numbers and variables joined by `+`, `-`, `&`, `|`, `^`.
    fn value(&mut self) -> Result<Expr, ReadError> {
        let mut value = self.operand()?;
        loop {
            let op = match self.peek() {
                "+" => Op::Add,
                "-" => Op::Sub,
                "&" => Op::And,
                "|" => Op::Or,
                "^" => Op::Xor,
                _ => return Ok(value),
            };
            self.at += 1;
            value = Expr::Bin(op, Box::new(value), Box::new(self.operand()?));
        }
    }

    fn operand(&mut self) -> Result<Expr, ReadError> {
        if self.peek() == "-" || number(self.peek()).is_some() {
            return Ok(Expr::Const(self.number()?));
        }
        let name = self.next();
        Ok(Expr::Reg(self.reg(&name)?))
    }

    fn assignment(&mut self) -> Result<(), ReadError> {
        let name = self.next();
        let dst = self.reg(&name)?;
        self.expect("=")?;
        if self.peek() == "*" {
            self.at += 1;
            let at = self.location()?;
            self.code().push(Instr::Load { dst, at, attr: Attr::default() });
        } else if self.peek().starts_with("atomic_") && self.peek_at(1) == "(" {
            self.call(Some(dst))?;
        } else {
            let value = self.value()?;
            self.code().push(Instr::Set { dst, value });
        }
        Ok(())
    }

    fn call(&mut self, dst: Option<Reg>) -> Result<(), ReadError> {
        let line = self.line();
        let name = self.next();
        self.expect("(")?;
        let kind = match name.as_str() {
            "atomic_fetch_add_explicit" => Some(AmoKind::Add),
            "atomic_fetch_sub_explicit" => Some(AmoKind::Sub),
            "atomic_fetch_and_explicit" => Some(AmoKind::And),
            "atomic_fetch_or_explicit" => Some(AmoKind::Or),
            "atomic_fetch_xor_explicit" => Some(AmoKind::Xor),
            "atomic_exchange_explicit" => Some(AmoKind::Exch),
            _ => None,
        };
        let instr = match (name.as_str(), kind, dst) {
            ("atomic_load_explicit", _, Some(dst)) => {
                let at = self.location()?;
                Instr::Load { dst, at, attr: self.order(false, true)? }
            }
            ("atomic_store_explicit", ..) => {
                let at = self.location()?;
                self.expect(",")?;
                let value = self.value()?;
                Instr::Store { at, value, attr: self.order(true, false)? }
            }
            ("atomic_thread_fence", ..) => Instr::Fence { attr: self.fence()? },
            ("atomic_work_item_fence", ..) => {
                while self.peek() != "," && !self.peek().is_empty() {
                    self.at += 1;
                }
                Instr::Fence { attr: self.order(true, true)? }
            }
            (_, Some(kind), _) => {
                let at = self.location()?;
                self.expect(",")?;
                let value = self.value()?;
                let attr = self.order(true, true)?;
                Instr::Rmw { dst, at, kind, value, compare: Expr::Const(0), attr }
            }
            _ => {
                return wrong(
                    line,
                    format!(
                        "{name} is no function that is read; these are atomic_load, _store, _exchange, _fetch_add, _sub, _and, _or, _xor (all _explicit), atomic_thread_fence and atomic_work_item_fence"
                    ),
                );
            }
        };
        self.expect(")")?;
        self.code().push(instr);
        Ok(())
    }

    fn fence(&mut self) -> Result<Attr, ReadError> {
        let order = self.next();
        self.attr(&order, true, true)
    }

    /// `, memory_order_x` and perhaps `, memory_scope_y` of an access that writes, reads or both.
    fn order(&mut self, writes: bool, reads: bool) -> Result<Attr, ReadError> {
        self.expect(",")?;
        let order = self.next();
        let mut attr = self.attr(&order, writes, reads)?;
        if self.peek() == "," {
            self.at += 1;
            let line = self.line();
            attr.scope = match self.next().as_str() {
                "memory_scope_work_group" => Scope::Cu,
                "memory_scope_device" => Scope::Gpu,
                "memory_scope_all_svm_devices" | "memory_scope_all_devices" => Scope::Sys,
                other => {
                    return wrong(
                        line,
                        format!(
                            "{other:?} is no scope; use memory_scope_work_group, _device or _all_svm_devices"
                        ),
                    );
                }
            };
        }
        Ok(attr)
    }

    fn attr(&self, order: &str, writes: bool, reads: bool) -> Result<Attr, ReadError> {
        let both = match (writes, reads) {
            (true, true) => Sem::AcquireRelease,
            (true, false) => Sem::Release,
            _ => Sem::Acquire,
        };
        let (class, sem, sc) = match order {
            "memory_order_relaxed" => (Class::N, Sem::Relaxed, false),
            "memory_order_acquire" | "memory_order_consume" => (Class::P, Sem::Acquire, false),
            "memory_order_release" => (Class::P, Sem::Release, false),
            "memory_order_acq_rel" => (Class::P, Sem::AcquireRelease, false),
            "memory_order_seq_cst" => (Class::P, both, true),
            other => return wrong(self.line(), format!("{other:?} is no memory order")),
        };
        Ok(Attr { class, sem, sc, ..Attr::default() })
    }
}
