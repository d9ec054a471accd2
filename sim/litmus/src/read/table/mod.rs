//! Tests with a column per thread: PTX, AArch64 and LISA.

mod aarch64;
mod lisa;
mod ptx;

use super::{ReadError, condition, is_name, number, wrong};
use crate::test::{Cond, Dialect, Expr, Instr, Loc, Place, Quantifier, Test, Thread};
use std::collections::BTreeMap;

pub(super) use aarch64::wide;

/// A cell of a thread's column: one instruction, or a label.
struct Cell<'a> {
    text: &'a str,
    line: usize,
}

/// A thread under construction: branches name labels until all are known.
pub(super) struct Column<'a> {
    test: &'a mut Test,
    thread: usize,
    line: usize,
    jumps: Vec<(usize, String)>,
}

impl Column<'_> {
    /// The location of this name, made (holding 0) if it is new.
    pub(super) fn loc(&mut self, name: &str) -> Result<usize, ReadError> {
        let name = name.trim_start_matches('[').trim_end_matches(']');
        if !is_name(name) {
            return wrong(self.line, format!("{name:?} is no location"));
        }
        Ok(self.test.loc(name).unwrap_or_else(|| {
            self.test.locs.push(Loc { name: name.into(), init: 0, local: false });
            self.test.locs.len() - 1
        }))
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
        self.jumps.push((at, label.into()));
        self.push(Instr::Branch { if_, to: 0 });
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

/// The parts of a file.
#[derive(Default)]
struct Parts<'a> {
    braces: Vec<(usize, &'a str)>,
    rows: Vec<(usize, &'a str)>,
    scopes: Option<(usize, &'a str)>,
    condition: Option<(usize, String)>,
}

fn is_condition(line: &str) -> bool {
    ["exists", "~exists", "~ exists", "forall"].iter().any(|word| line.starts_with(word))
}

fn split(text: &str) -> Result<Parts<'_>, ReadError> {
    let mut parts = Parts::default();
    let mut open = None;
    let mut quoted = false;
    for (n, raw) in text.lines().enumerate() {
        let (line, body) = (n + 1, raw.trim());
        if let Some((_, condition)) = &mut parts.condition {
            condition.push(' ');
            condition.push_str(body);
        } else if open == Some(true) {
            let (inside, closed) = body.split_once('}').map_or((body, false), |(inside, _)| (inside, true));
            parts.braces.push((line, inside));
            open = Some(!closed);
        } else if open.is_none() {
            quoted ^= body.matches('"').count() % 2 == 1;
            if let (false, Some(inside)) = (quoted, body.strip_prefix('{')) {
                let (inside, closed) =
                    inside.split_once('}').map_or((inside, false), |(inside, _)| (inside, true));
                parts.braces.push((line, inside));
                open = Some(!closed);
            }
        } else if is_condition(body) {
            parts.condition = Some((line, body.to_string()));
        } else if let Some(tree) = body.strip_prefix("scopes:") {
            parts.scopes = Some((line, tree));
        } else if let Some(row) = body.strip_suffix(';') {
            parts.rows.push((line, row));
        } else if !body.is_empty() {
            return wrong(
                line,
                format!("{body:?} is neither a row of threads (it ends with ;) nor a condition"),
            );
        }
    }
    match open {
        Some(false) => Ok(parts),
        Some(true) => wrong(text.lines().count(), "the braces of the initial values are not closed"),
        None => wrong(text.lines().count(), "there are no initial values; write {} for none"),
    }
}

/// Reads a test.
///
/// # Errors
/// What is no such test.
pub fn read(text: &str) -> Result<Test, ReadError> {
    let parts = split(text)?;
    let mut head = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("").split_whitespace();
    let dialect = match head.next() {
        Some("PTX") => Dialect::Ptx,
        Some("AArch64") => Dialect::Aarch64,
        _ => Dialect::Lisa,
    };
    let name = head.next().unwrap_or("unnamed").to_string();
    let mut test = Test {
        name,
        dialect,
        locs: Vec::new(),
        threads: Vec::new(),
        quantifier: Quantifier::Exists,
        condition: Cond::True,
        expect: Vec::new(),
        races: Vec::new(),
    };
    let end = text.lines().count();
    let Some(((line, header), rows)) = parts.rows.split_first() else {
        return wrong(end, "there is no row of threads behind the initial values");
    };
    for cell in header.split('|') {
        test.threads.push(Thread { place: place(cell.trim(), *line, dialect)?, ..Thread::default() });
    }
    initial(&parts.braces, &mut test)?;
    for thread in 0..test.threads.len() {
        column(&mut test, thread, rows)?;
    }
    if let Some((line, tree)) = parts.scopes {
        lisa::scopes(tree, line, &mut test)?;
    }
    let Some((line, asked)) = parts.condition else {
        return wrong(end, "there is no condition; end with exists (...), ~exists (...) or forall (...)");
    };
    condition::read(&asked, line, &mut test)?;
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

/// Initial values: `x=0`, `[x]=0`, `0:r1=3`, `0:X1=x`.
fn initial(braces: &[(usize, &str)], test: &mut Test) -> Result<(), ReadError> {
    let entries =
        braces.iter().flat_map(|(line, text)| text.split(';').map(move |entry| (*line, entry.trim())));
    // Locations first, so that registers may hold their addresses.
    let entries: Vec<(usize, &str)> = entries.filter(|(_, entry)| !entry.is_empty()).collect();
    for pass in 0..2 {
        for (line, entry) in &entries {
            let Some((left, right)) = entry.split_once('=').map(|(l, r)| (l.trim(), r.trim())) else {
                return wrong(*line, format!("{entry:?} gives nothing a value; write NAME=VALUE"));
            };
            // A type may stand before the name.
            let left = left.split_whitespace().last().unwrap_or("");
            match (left.split_once(':'), pass) {
                (None, 0) => {
                    let name = left.trim_start_matches('[').trim_end_matches(']');
                    let Some(init) = number(right).filter(|_| is_name(name)) else {
                        return wrong(*line, format!("{entry:?} gives no location a number"));
                    };
                    test.locs.push(Loc { name: name.into(), init, local: false });
                }
                (Some((thread, reg)), 1) => register(test, (thread, reg), right, *line)?,
                _ => {}
            }
        }
    }
    Ok(())
}

fn register(test: &mut Test, (thread, reg): (&str, &str), right: &str, line: usize) -> Result<(), ReadError> {
    let thread = thread.trim_start_matches('P').parse().ok().filter(|t: &usize| *t < test.threads.len());
    let (Some(thread), true) = (thread, is_name(reg)) else {
        return wrong(line, format!("{reg} is no register of a thread of this test"));
    };
    let name = if test.dialect == Dialect::Aarch64 { wide(reg) } else { reg.to_string() };
    let value = match number(right) {
        Some(value) => Expr::Const(value),
        None => Expr::Addr(Column { test, thread, line, jumps: Vec::new() }.loc(right)?),
    };
    let reg = test.threads[thread].reg(&name);
    test.threads[thread].start[reg] = value;
    Ok(())
}

/// Reads the column of a thread.
fn column(test: &mut Test, thread: usize, rows: &[(usize, &str)]) -> Result<(), ReadError> {
    let cells = rows.iter().filter_map(|(line, row)| {
        let text = row.split('|').nth(thread)?.trim();
        (!text.is_empty()).then_some(Cell { text, line: *line })
    });
    let dialect = test.dialect;
    let mut labels = BTreeMap::new();
    let mut column = Column { test, thread, line: 0, jumps: Vec::new() };
    for cell in cells {
        column.line = cell.line;
        let mut text = cell.text;
        if let Some((label, rest)) = text.split_once(':').filter(|(label, _)| is_name(label.trim())) {
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
    let (jumps, line) = (std::mem::take(&mut column.jumps), column.line);
    for (at, label) in jumps {
        let Some(target) = labels.get(&label) else {
            return wrong(line, format!("thread {thread} goes to {label}, a label that it does not have"));
        };
        if let Instr::Branch { to, .. } = &mut test.threads[thread].code[at] {
            *to = *target;
        }
    }
    Ok(())
}
