//! Weft's own format.
//!
//! ```text
//! weft-litmus 1
//! name MPg.DP
//! locs x y=0
//! T0 @cu0 gpu0: W.D x 1 ; W.P y 1
//! T1 @cu1 gpu0: r1 = R.P y ; if r1 == 1 r2 = R.D x
//! exists 1:r1=1 /\ 1:r2=0
//! expect drf0 forbidden
//! race drf0 none
//! ```
//! | instruction | meaning |
//! | --- | --- |
//! | `W.CLASS LOC VALUE`, `r = R.CLASS LOC` | store, load |
//! | `r = ADD.CLASS LOC VALUE`, `ADD.CLASS LOC VALUE` | read-modify-write: ADD SUB INC DEC AND OR XOR MIN MAX EXCH; `CAS.CLASS LOC COMPARE NEW` |
//! | `F.acq`, `F.rel`, `F.ar` | fence |
//! | `r = VALUE + VALUE` | on registers: `+ - & \| ^` |
//! | `if A == B INSTR`, `if A != B { INSTR ; ... }` | guarded |
//!
//! CLASS is D, P, U, C, N, S or Q; behind it may stand a scope (`.cu`, `.gpu`, `.sys`, which is the default), `.acq` or `.rel` to weaken a paired
//! read-modify-write, and `.rem` for a remote operation, which is paired and of GPU scope: it promotes the accesses of
//! its GPU that it meets, whatever their scopes, to its own. A thread's place is `@cuN gpuN` or `@cpuN`; without one each thread is on a CU of its own.
//! `expect MODEL VERDICT` and `race MODEL KIND` say what enumeration must find.

use super::{ReadError, condition, is_name, number, wrong};
use crate::test::{Attr, Dialect, Expr, Instr, Loc, Op, Place, Test, Thread, Verdict};
use weft_workload::op::{AmoKind, Class, Scope, Sem};

/// Reads a test.
///
/// # Errors
/// What is no such test.
pub fn read(text: &str) -> Result<Test, ReadError> {
    let mut test = Test::new("unnamed", Dialect::Weft);
    let mut asked = None;
    for (n, raw) in text.lines().enumerate() {
        let (line, body) = (n + 1, raw.split('#').next().unwrap_or("").trim());
        let (word, rest) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
        match word {
            "" => {}
            "weft-litmus" if rest.trim() == "1" => {}
            "weft-litmus" => return wrong(line, format!("version {:?} is not known; write 1", rest.trim())),
            "name" => test.name = rest.trim().into(),
            "locs" => locations(&mut test, rest, line)?,
            "exists" | "~exists" | "forall" => asked = Some((line, body.to_string())),
            "expect" => test.expect.push(expectation(rest, line)?),
            "race" => test.races.push(pair(rest, line)?),
            _ if word.starts_with('T') => thread(&mut test, body, line)?,
            other => {
                return wrong(
                    line,
                    format!(
                        "{other:?} begins no line; these do: name, locs, T0:, exists, ~exists, forall, expect, race"
                    ),
                );
            }
        }
    }
    let Some((line, asked)) = asked else {
        return wrong(text.lines().count(), "there is no condition; write exists, ~exists or forall");
    };
    condition::read(&asked, line, &mut test)?;
    Ok(test)
}

fn locations(test: &mut Test, rest: &str, line: usize) -> Result<(), ReadError> {
    for word in rest.split_whitespace() {
        let (name, init) = word.split_once('=').unwrap_or((word, "0"));
        let Some(init) = number(init).filter(|_| is_name(name)) else {
            return wrong(line, format!("{word:?} is no location; write NAME or NAME=VALUE"));
        };
        test.locs.push(Loc { name: name.into(), init, ..Loc::default() });
    }
    Ok(())
}

fn pair(rest: &str, line: usize) -> Result<(String, String), ReadError> {
    match rest.split_whitespace().collect::<Vec<_>>().as_slice() {
        [model, word] => Ok((model.to_string(), word.to_string())),
        _ => wrong(line, "two words are needed: a model, and what is found under it"),
    }
}

fn expectation(rest: &str, line: usize) -> Result<(String, Verdict), ReadError> {
    let (model, word) = pair(rest, line)?;
    let known = [Verdict::Allowed, Verdict::Forbidden, Verdict::Always];
    match known.into_iter().find(|v| v.name() == word) {
        Some(verdict) => Ok((model, verdict)),
        None => wrong(line, format!("{word:?} is no verdict; write allowed, forbidden or always")),
    }
}

fn place(words: &str, number: u32, line: usize) -> Result<Place, ReadError> {
    let mut place = Place { cu: number, ..Place::default() };
    for word in words.split_whitespace() {
        let word = word.trim_start_matches('@');
        let at = |name: &str| word.strip_prefix(name).and_then(|n| n.parse().ok());
        if let Some(n) = at("cu") {
            place.cu = n;
        } else if let Some(n) = at("gpu") {
            place.gpu = n;
        } else if let Some(n) = at("cpu") {
            place = Place { cpu: true, gpu: 0, cu: n };
        } else {
            return wrong(line, format!("{word:?} places no thread; write @cuN gpuN or @cpuN"));
        }
    }
    Ok(place)
}

fn thread(test: &mut Test, body: &str, line: usize) -> Result<(), ReadError> {
    let number = test.threads.len();
    let Some((head, code)) = body.split_once(':') else {
        return wrong(line, "a thread's head ends with a colon");
    };
    let (name, at) = head.split_once(char::is_whitespace).unwrap_or((head, ""));
    if name.trim() != format!("T{number}") {
        return wrong(line, format!("{name:?} stands where thread T{number} is expected"));
    }
    test.threads.push(Thread { place: place(at, number as u32, line)?, ..Thread::default() });
    let spaced = code.replace('{', " { ").replace('}', " } ").replace(';', " ; ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut own = Own { test, thread: number, line, words: &words, at: 0, nested: 0 };
    while own.at < words.len() {
        own.statement()?;
    }
    Ok(())
}

struct Own<'a> {
    test: &'a mut Test,
    thread: usize,
    line: usize,
    words: &'a [&'a str],
    at: usize,
    /// Braces around the present place.
    nested: usize,
}

/// Most braces inside each other.
const NESTED: usize = 100;

impl<'a> Own<'a> {
    fn peek(&self) -> &'a str {
        self.words.get(self.at).copied().unwrap_or("")
    }

    fn next(&mut self) -> &'a str {
        let word = self.peek();
        self.at += 1;
        word
    }

    fn push(&mut self, instr: Instr) {
        self.test.threads[self.thread].code.push(instr);
    }

    fn value(&mut self) -> Result<Expr, ReadError> {
        let word = self.next();
        match number(word) {
            Some(value) => Ok(Expr::Const(value)),
            None if is_name(word) => Ok(Expr::Reg(self.test.threads[self.thread].reg(word))),
            None => wrong(self.line, format!("{word:?} is neither a number nor a register")),
        }
    }

    fn location(&mut self) -> Result<Expr, ReadError> {
        let name = self.next();
        match self.test.loc(name) {
            Some(loc) => Ok(Expr::Addr(loc)),
            None => {
                wrong(self.line, format!("{name:?} is no location; declare it under locs, above the threads"))
            }
        }
    }

    fn statement(&mut self) -> Result<(), ReadError> {
        match self.peek() {
            ";" => {
                self.at += 1;
                Ok(())
            }
            "if" => self.guarded(),
            _ => self.instr(),
        }
    }

    fn guarded(&mut self) -> Result<(), ReadError> {
        self.at += 1;
        // `r1==1` and `r1 == 1` are the same.
        let joined = self.peek();
        let (left, op, right) = match joined
            .split_once("==")
            .map(|p| (p, Op::Ne))
            .or(joined.split_once("!=").map(|p| (p, Op::Eq)))
        {
            Some(((a, b), op)) if !a.is_empty() && !b.is_empty() => {
                self.at += 1;
                (self.side(a)?, op, self.side(b)?)
            }
            _ => {
                let left = self.value()?;
                // The branch goes past the instructions when the guard fails.
                let op = match self.next() {
                    "==" => Op::Ne,
                    "!=" => Op::Eq,
                    other => return wrong(self.line, format!("{other:?} compares nothing; write == or !=")),
                };
                (left, op, self.value()?)
            }
        };
        let at = self.test.threads[self.thread].code.len();
        self.push(Instr::Branch { if_: Expr::Bin(op, Box::new(left), Box::new(right)), to: 0 });
        if self.peek() == "{" {
            self.at += 1;
            self.nested += 1;
            if self.nested > NESTED {
                return wrong(
                    self.line,
                    format!("more than {NESTED} braces are inside each other; write fewer"),
                );
            }
            while self.peek() != "}" {
                if self.peek().is_empty() {
                    return wrong(self.line, "a brace is not closed");
                }
                self.statement()?;
            }
            self.at += 1;
            self.nested -= 1;
        } else {
            self.instr()?;
        }
        let code = &mut self.test.threads[self.thread].code;
        let end = code.len();
        if let Instr::Branch { to, .. } = &mut code[at] {
            *to = end;
        }
        Ok(())
    }

    fn side(&mut self, word: &str) -> Result<Expr, ReadError> {
        match number(word) {
            Some(value) => Ok(Expr::Const(value)),
            None if is_name(word) => Ok(Expr::Reg(self.test.threads[self.thread].reg(word))),
            None => wrong(self.line, format!("{word:?} is neither a number nor a register")),
        }
    }

    fn instr(&mut self) -> Result<(), ReadError> {
        let dst = if self.words.get(self.at + 1) == Some(&"=") {
            let name = self.next();
            self.at += 1;
            if !is_name(name) {
                return wrong(self.line, format!("{name:?} is no register"));
            }
            Some(self.test.threads[self.thread].reg(name))
        } else {
            None
        };
        let word = self.peek();
        let Some((name, marks)) = word.split_once('.') else {
            let Some(dst) = dst else {
                return wrong(
                    self.line,
                    format!("{word:?} is no instruction; a class belongs to it, as in W.D or R.P"),
                );
            };
            return self.compute(dst);
        };
        self.at += 1;
        if name == "F" {
            let attr = fence(marks, self.line)?;
            self.push(Instr::Fence { attr });
            return Ok(());
        }
        let attr = attributes(marks, name, self.line)?;
        let at = self.location()?;
        match (name, dst) {
            ("W", None) => {
                let value = self.value()?;
                self.push(Instr::Store { at, value, attr });
            }
            ("R", Some(dst)) => self.push(Instr::Load { dst, at, attr }),
            _ => {
                let Some(kind) = amo(name) else {
                    return wrong(
                        self.line,
                        format!("{name:?} is no instruction; write W, r = R, F or an atomic operation"),
                    );
                };
                let compare = if kind == AmoKind::Cas { self.value()? } else { Expr::Const(0) };
                let value = self.value()?;
                self.push(Instr::Rmw { dst, at, kind, value, compare, attr });
            }
        }
        Ok(())
    }

    fn compute(&mut self, dst: usize) -> Result<(), ReadError> {
        let mut value = self.value()?;
        let op = match self.peek() {
            "+" => Op::Add,
            "-" => Op::Sub,
            "&" => Op::And,
            "|" => Op::Or,
            "^" => Op::Xor,
            _ => {
                self.push(Instr::Set { dst, value });
                return Ok(());
            }
        };
        self.at += 1;
        value = Expr::Bin(op, Box::new(value), Box::new(self.value()?));
        self.push(Instr::Set { dst, value });
        Ok(())
    }
}

fn amo(name: &str) -> Option<AmoKind> {
    Some(match name {
        "ADD" => AmoKind::Add,
        "SUB" => AmoKind::Sub,
        "INC" => AmoKind::Inc,
        "DEC" => AmoKind::Dec,
        "AND" => AmoKind::And,
        "OR" => AmoKind::Or,
        "XOR" => AmoKind::Xor,
        "MIN" => AmoKind::Min,
        "MAX" => AmoKind::Max,
        "EXCH" => AmoKind::Exch,
        "CAS" => AmoKind::Cas,
        _ => return None,
    })
}

fn scope(mark: &str) -> Option<Scope> {
    Some(match mark {
        "cu" => Scope::Cu,
        "gpu" => Scope::Gpu,
        "sys" => Scope::Sys,
        _ => return None,
    })
}

fn fence(marks: &str, line: usize) -> Result<Attr, ReadError> {
    let mut attr = Attr { class: Class::P, scope: Scope::Sys, ..Attr::default() };
    for mark in marks.split('.') {
        match (mark, scope(mark)) {
            ("acq", _) => attr.sem = Sem::Acquire,
            ("rel", _) => attr.sem = Sem::Release,
            ("ar", _) => attr.sem = Sem::AcquireRelease,
            (_, Some(scope)) => attr.scope = scope,
            _ => {
                return wrong(
                    line,
                    format!("{mark:?} says nothing of a fence; write acq, rel, ar, cu, gpu or sys"),
                );
            }
        }
    }
    Ok(attr)
}

/// Class, scope and order of an access; a paired one has the order of its kind (section 1.3) unless it is weakened.
fn attributes(marks: &str, name: &str, line: usize) -> Result<Attr, ReadError> {
    let mut marks = marks.split('.');
    let class = match marks.next() {
        Some("D") => Class::D,
        Some("P") => Class::P,
        Some("U") => Class::U,
        Some("C") => Class::C,
        Some("N") => Class::N,
        Some("S") => Class::S,
        Some("Q") => Class::Q,
        other => {
            return wrong(
                line,
                format!("{:?} is no class; write D, P, U, C, N, S or Q", other.unwrap_or("")),
            );
        }
    };
    let sem = match (class, name) {
        (Class::P, "R") => Sem::Acquire,
        (Class::P, "W") => Sem::Release,
        (Class::P, _) => Sem::AcquireRelease,
        _ => Sem::Relaxed,
    };
    let mut attr = Attr { class, sem, scope: Scope::Sys, ..Attr::default() };
    for mark in marks {
        let weaken = class == Class::P && !matches!(name, "R" | "W");
        match (mark, scope(mark)) {
            ("acq", _) if weaken => attr.sem = Sem::Acquire,
            ("rel", _) if weaken => attr.sem = Sem::Release,
            ("rem", _) => attr.remote = true,
            (_, Some(scope)) => attr.scope = scope,
            _ => {
                return wrong(
                    line,
                    format!(
                        "{mark:?} says nothing of this access; write cu, gpu, sys, rem, or acq or rel on a paired read-modify-write"
                    ),
                );
            }
        }
    }
    if attr.remote && (class != Class::P || attr.scope != Scope::Gpu) {
        return wrong(
            line,
            format!(
                "{name}.{class:?} is no remote operation: one is paired and of GPU scope; write P.gpu.rem"
            ),
        );
    }
    Ok(attr)
}
