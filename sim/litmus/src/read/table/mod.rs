//! Tests with a column per thread: PTX, AArch64 and LISA.

mod aarch64;
mod lisa;
mod parts;
mod ptx;
mod start;

use super::{ReadError, is_name, number, wrong};
use crate::test::{Dialect, Expr, Instr, Loc, Place, Test, Thread};
use parts::Parts;
use std::collections::BTreeMap;

pub(super) use aarch64::wide;

/// A cell of a thread's column: one instruction, or a label.
struct Cell<'a> {
    text: &'a str,
    line: usize,
}

/// An access of so many bytes.
struct Sized {
    thread: usize,
    line: usize,
    at: Expr,
    bytes: u8,
}

/// A thread under construction: branches name labels until all are known.
pub(super) struct Column<'a> {
    test: &'a mut Test,
    thread: usize,
    line: usize,
    jumps: Vec<(usize, usize, String)>,
    sizes: &'a mut Vec<Sized>,
}

impl Column<'_> {
    /// The location of this name and the virtual address that it is, made (holding 0) if it is new.
    pub(super) fn named(&mut self, name: &str) -> Result<(usize, u8), ReadError> {
        let name = name.trim_start_matches('[').trim_end_matches(']');
        if !is_name(name) {
            return wrong(self.line, format!("{name:?} is no location"));
        }
        if let Some(alias) = self.test.aliases.iter().find(|alias| alias.name == name) {
            return Ok((alias.loc, alias.address));
        }
        Ok((location(self.test, name), 0))
    }

    /// The location of this name, made (holding 0) if it is new.
    pub(super) fn loc(&mut self, name: &str) -> Result<usize, ReadError> {
        self.named(name).map(|(loc, _)| loc)
    }

    /// The register of this name.
    pub(super) fn reg(&mut self, name: &str) -> Result<usize, ReadError> {
        if !is_name(name) {
            return wrong(self.line, format!("{name:?} is no register"));
        }
        Ok(self.test.threads[self.thread].reg(name))
    }

    /// A register or a number, `#` before it or not.
    pub(super) fn value(&mut self, text: &str) -> Result<Expr, ReadError> {
        match number(text.trim_start_matches('#')) {
            Some(value) => Ok(Expr::Const(value)),
            None => Ok(Expr::Reg(self.reg(text)?)),
        }
    }

    /// Appends an instruction.
    pub(super) fn push(&mut self, instr: Instr) {
        self.test.threads[self.thread].code.push(instr);
    }

    /// Appends a branch to a label.
    pub(super) fn branch(&mut self, if_: Expr, label: &str) {
        let at = self.test.threads[self.thread].code.len();
        self.jumps.push((at, self.line, label.into()));
        self.push(Instr::Branch { if_, to: 0 });
    }

    /// Notes the size of an access.
    pub(super) fn size(&mut self, at: &Expr, bytes: u8) {
        self.sizes.push(Sized { thread: self.thread, line: self.line, at: at.clone(), bytes });
    }

    /// Operands of an instruction, as many as it must have.
    pub(super) fn operands<'t, const N: usize>(
        &self,
        text: &'t str,
        by: char,
    ) -> Result<[&'t str; N], ReadError> {
        let parts: Vec<&str> = text.split(by).map(str::trim).filter(|part| !part.is_empty()).collect();
        let found = parts.len();
        parts
            .try_into()
            .or_else(|_| wrong(self.line, format!("{text:?} has {found} operands; {N} are needed")))
    }

    /// An instruction that the reader does not know.
    pub(super) fn unknown<T>(&self, text: &str, known: &str) -> Result<T, ReadError> {
        wrong(self.line, format!("{text:?} is no instruction that is read; these are: {known}"))
    }
}

/// The location of this name, made (holding 0) if it is new.
fn location(test: &mut Test, name: &str) -> usize {
    test.loc(name).unwrap_or_else(|| {
        test.locs.push(Loc { name: name.into(), ..Loc::default() });
        test.locs.len() - 1
    })
}

/// Reads a test.
///
/// # Errors
/// What is no such test.
pub fn read(text: &str) -> Result<Test, ReadError> {
    let clean = parts::without_comments(text);
    let parts = Parts::split(&clean)?;
    let mut head = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("").split_whitespace();
    let dialect = match head.next() {
        Some("PTX") => Dialect::Ptx,
        Some("AArch64") => Dialect::Aarch64,
        _ => Dialect::Lisa,
    };
    let mut test = Test::new(head.next().unwrap_or("unnamed"), dialect);
    let end = text.lines().count();
    let Some(((line, header), rows)) = parts.rows.split_first() else {
        return wrong(end, "there is no row of threads behind the initial values");
    };
    for cell in header.split('|') {
        test.threads.push(Thread { place: place(cell.trim(), *line, dialect)?, ..Thread::default() });
    }
    start::read(&parts.braces, &mut test)?;
    let mut sizes = Vec::new();
    for thread in 0..test.threads.len() {
        column(&mut test, thread, rows, &mut sizes)?;
    }
    one_size(&test, &sizes)?;
    if let Some((line, tree)) = parts.scopes {
        lisa::scopes(tree, line, &mut test)?;
    }
    parts.ending.finish(end, &mut test)?;
    Ok(test)
}

/// Place of a thread from its header: `P0@cta 0,gpu 0`, or `P0`: then each is alone on a CU.
fn place(header: &str, line: usize, dialect: Dialect) -> Result<Place, ReadError> {
    let (name, at) = header.split_once('@').unwrap_or((header, ""));
    let Some(number) = name.trim().strip_prefix('P').and_then(|n| n.parse::<u32>().ok()) else {
        return wrong(line, format!("{header:?} heads no thread; write P0, P1, ..."));
    };
    let mut place = Place { cu: if at.is_empty() { number } else { 0 }, ..Place::default() };
    for part in at.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let words: Vec<&str> = part.split_whitespace().collect();
        match (words.as_slice(), dialect) {
            (["cta", n], _) if n.parse::<u32>().is_ok() => place.cu = n.parse().unwrap_or(0),
            (["gpu", n], _) if n.parse::<u32>().is_ok() => place.gpu = n.parse().unwrap_or(0),
            _ => return wrong(line, format!("{part:?} places no thread; write cta N or gpu N")),
        }
    }
    Ok(place)
}

/// Refuses accesses of different sizes to one location, where the location is known before the test is
/// enumerated.
fn one_size(test: &Test, sizes: &[Sized]) -> Result<(), ReadError> {
    // The location, if it is known: a register that holds an address from its start to its end.
    let of = |access: &Sized| {
        let thread = &test.threads[access.thread];
        let mut base = &access.at;
        while let Expr::Bin(_, left, _) = base {
            base = left;
        }
        match base {
            Expr::Reg(reg) if !thread.code.iter().any(|instr| instr.writes() == Some(*reg)) => {
                match thread.start[*reg] {
                    Expr::Addr(loc) => Some(loc),
                    _ => None,
                }
            }
            _ => None,
        }
    };
    for (n, one) in sizes.iter().enumerate() {
        for other in &sizes[..n] {
            if let (Some(loc), true) = (of(one), one.bytes != other.bytes)
                && of(other) == Some(loc)
            {
                let (name, a, b) = (&test.locs[loc].name, other.bytes, one.bytes);
                return wrong(
                    one.line,
                    format!("{name} is accessed as {a} and as {b} bytes; only accesses of one size are read"),
                );
            }
        }
    }
    Ok(())
}

/// Reads the column of a thread.
fn column(
    test: &mut Test,
    thread: usize,
    rows: &[(usize, &str)],
    sizes: &mut Vec<Sized>,
) -> Result<(), ReadError> {
    let cells = rows.iter().filter_map(|(line, row)| {
        let text = row.split('|').nth(thread)?.trim();
        (!text.is_empty()).then_some(Cell { text, line: *line })
    });
    let dialect = test.dialect;
    let mut labels = BTreeMap::new();
    let mut column = Column { test, thread, line: 0, jumps: Vec::new(), sizes };
    for cell in cells {
        column.line = cell.line;
        let mut text = cell.text;
        while let Some((label, rest)) = text.split_once(':').filter(|(label, _)| is_name(label.trim())) {
            labels.insert(label.trim().to_string(), column.test.threads[thread].code.len());
            text = rest.trim();
        }
        match dialect {
            _ if text.is_empty() => {}
            Dialect::Ptx => ptx::instr(&mut column, text)?,
            Dialect::Aarch64 => aarch64::instr(&mut column, text)?,
            _ => lisa::instr(&mut column, text)?,
        }
    }
    for (at, line, label) in std::mem::take(&mut column.jumps) {
        let Some(target) = labels.get(&label) else {
            return wrong(line, format!("thread {thread} goes to {label}, a label that it does not have"));
        };
        if let Instr::Branch { to, .. } = &mut test.threads[thread].code[at] {
            *to = *target;
        }
    }
    Ok(())
}
