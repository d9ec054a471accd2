//! C11 and OpenCL C: a function per thread.
//!
//! Statements are declarations, assignments, `if`, `while`, `do`, blocks, barriers and calls of atomic
//! functions; an expression may hold reads and calls. A name in a function's parameters is a location, any
//! other one a variable of the thread.

mod call;
mod expression;
mod limits;
mod statement;
mod tokens;

use super::condition::Ending;
use super::{ReadError, is_name, number, wrong};
use crate::paths::address;
use crate::test::{Dialect, Expr, HIDDEN, Instr, Loc, Place, Reg, Test, Thread};
use std::collections::{BTreeMap, BTreeSet};
use tokens::Token;

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    test: Test,
    /// Locations that are arrays, by the first of their elements, and how many these are.
    arrays: BTreeMap<usize, usize>,
    thread: usize,
    /// Locations that the parameters of the thread name.
    parameters: BTreeSet<String>,
    /// Variables that it has declared or set.
    variables: BTreeSet<String>,
    /// Sites of barriers with a label, by their label.
    sites: BTreeMap<String, u32>,
}

/// Reads a test.
///
/// # Errors
/// What is no such test.
pub fn read(text: &str) -> Result<Test, ReadError> {
    let clean = tokens::without_comments(text);
    let start = clean.lines().position(|l| !l.trim().is_empty()).unwrap_or(0);
    let mut head = clean.lines().nth(start).unwrap_or("").split_whitespace();
    let dialect = if head.next() == Some("OPENCL") { Dialect::OpenCl } else { Dialect::C11 };
    let name = head.next().unwrap_or("unnamed").trim_end_matches('{');
    // Whatever stands before the initial values describes the test.
    let Some(open) = clean.find('{') else {
        return wrong(clean.lines().count(), "there are no initial values; write {} for none");
    };
    let tokens = tokens::tokens(&clean, open);
    limits::check(&tokens)?;
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
        test: Test::new(name, dialect),
        arrays: BTreeMap::new(),
        thread: 0,
        parameters: BTreeSet::new(),
        variables: BTreeSet::new(),
        sites: BTreeMap::new(),
    };
    parser.initial()?;
    while parser.peek().strip_prefix('P').is_some_and(|number| number.parse::<usize>().is_ok()) {
        parser.function()?;
    }
    let rest = parser.tokens.get(parser.at).map_or(clean.len(), |token| token.offset);
    let line = (1 + clean[..rest].matches('\n').count()).min(clean.lines().count().max(1));
    let mut test = parser.test;
    Ending::read(&clean[rest..], line, &mut test)?;
    Ok(test)
}

impl Parser<'_> {
    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |t| t.line)
    }

    fn peek(&self) -> &str {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", |t| &t.text)
    }

    fn next(&mut self) -> String {
        let text = self.peek().to_string();
        self.at += 1;
        text
    }

    /// Takes a token if it is the next one.
    fn took(&mut self, text: &str) -> bool {
        let is = self.peek() == text;
        self.at += usize::from(is);
        is
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
        let sign = if self.took("-") { "-" } else { "" };
        let word = self.next();
        number(&format!("{sign}{word}")).map_or_else(|| wrong(line, format!("{word:?} is no number")), Ok)
    }

    /// Number of a work-group or device.
    fn small(&mut self) -> Result<u32, ReadError> {
        let line = self.line();
        let number = self.number()?;
        u32::try_from(number).or_else(|_| wrong(line, format!("{number} numbers no work-group or device")))
    }

    /// `{ [x] = 0; y = 0; int z; atomic_int a[2] = {0, 1}; p = &x; 0:r0 = 1; }`
    fn initial(&mut self) -> Result<(), ReadError> {
        self.expect("{")?;
        while self.peek() != "}" {
            match self.peek() {
                ";" => self.at += 1,
                _ => self.entry()?,
            }
        }
        self.expect("}")
    }

    fn entry(&mut self) -> Result<(), ReadError> {
        let line = self.line();
        if self.peek_at(1) == ":" {
            let thread = self.next();
            return wrong(
                line,
                format!("thread {thread} has no variables before it begins; set them in its function"),
            );
        }
        // Types, and stars of pointers, stand before the name.
        while is_name(self.peek()) && (is_name(self.peek_at(1)) || self.peek_at(1) == "*") {
            self.at += 1;
        }
        while self.took("*") {}
        let bracketed = self.took("[");
        let name = self.next();
        if bracketed {
            self.expect("]")?;
        }
        if !is_name(&name) {
            return wrong(line, format!("{name:?} is no location"));
        }
        if self.test.loc(&name).is_some() {
            return wrong(line, format!("{name} has two initial values; give it one"));
        }
        let first = self.test.locs.len();
        if !bracketed && self.took("[") {
            return self.array(&name, first);
        }
        let init = if self.took("=") { self.initially()? } else { 0 };
        self.test.locs.push(Loc { name, init, ..Loc::default() });
        Ok(())
    }

    /// A number, or the address of a location named before.
    fn initially(&mut self) -> Result<i64, ReadError> {
        self.took("&");
        match self.test.loc(self.peek()) {
            Some(loc) => {
                self.at += 1;
                Ok(address(loc))
            }
            None => self.number(),
        }
    }

    fn array(&mut self, name: &str, first: usize) -> Result<(), ReadError> {
        let line = self.line();
        let length = self.number()?;
        let Some(length) = usize::try_from(length).ok().filter(|length| (1..=16).contains(length)) else {
            return wrong(line, format!("{name} has {length} elements; 1 to 16 are read"));
        };
        self.expect("]")?;
        let mut values = Vec::new();
        if self.took("=") {
            self.expect("{")?;
            while !self.took("}") {
                values.push(self.number()?);
                self.took(",");
            }
        }
        for element in 0..length {
            let name = if element == 0 { name.to_string() } else { format!("{name}[{element}]") };
            let init = values.get(element).copied().unwrap_or(0);
            self.test.locs.push(Loc { name, init, ..Loc::default() });
        }
        self.arrays.insert(first, length);
        Ok(())
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
                "wg" => place.cu = self.small()?,
                "dev" => place.gpu = self.small()?,
                other => return wrong(line, format!("{other:?} places no thread; write wg N or dev N")),
            }
        }
        self.test.threads.push(Thread { place, ..Thread::default() });
        self.variables.clear();
        self.parameters.clear();
        self.parameters()?;
        self.block()
    }

    /// Parameters: locations; one without an initial value holds 0.
    fn parameters(&mut self) -> Result<(), ReadError> {
        self.expect("(")?;
        let mut words: Vec<String> = Vec::new();
        loop {
            let line = self.line();
            match self.next().as_str() {
                end @ ("," | ")") => {
                    self.parameter(&words, line)?;
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

    fn parameter(&mut self, words: &[String], line: usize) -> Result<(), ReadError> {
        let Some(name) = words.last().filter(|name| *name != "void") else { return Ok(()) };
        if !is_name(name) {
            return wrong(line, format!("{name:?} is no parameter"));
        }
        let loc = self.test.loc(name).unwrap_or_else(|| {
            self.test.locs.push(Loc { name: name.clone(), ..Loc::default() });
            self.test.locs.len() - 1
        });
        let loc = &mut self.test.locs[loc];
        loc.local |= words.iter().any(|word| word == "local" || word == "__local");
        loc.plain |= words.len() > 1 && !words.iter().any(|word| word.starts_with("atomic_"));
        self.parameters.insert(name.clone());
        Ok(())
    }

    fn code(&mut self) -> &mut Vec<Instr> {
        &mut self.test.threads[self.thread].code
    }

    /// The variable of this name, made if it is new.
    fn variable(&mut self, name: &str) -> Result<Reg, ReadError> {
        if !is_name(name) {
            return wrong(self.line(), format!("{name:?} is no variable"));
        }
        if self.parameters.contains(name) {
            return wrong(self.line(), format!("{name} is a location; write *{name} for its value"));
        }
        self.variables.insert(name.into());
        Ok(self.test.threads[self.thread].reg(name))
    }

    /// A register of the reader's own.
    fn temporary(&mut self) -> Reg {
        let thread = &mut self.test.threads[self.thread];
        let name = format!("{HIDDEN}{}", thread.regs.len());
        thread.reg(&name)
    }

    /// Appends a branch whose target is not known yet; its place.
    fn branch(&mut self, if_: Expr) -> usize {
        self.code().push(Instr::Branch { if_, to: 0 });
        self.code().len() - 1
    }

    /// Lets a branch go to the end of what has been read.
    fn lands(&mut self, branch: usize) {
        let end = self.code().len();
        if let Some(Instr::Branch { to, .. }) = self.code().get_mut(branch) {
            *to = end;
        }
    }
}
