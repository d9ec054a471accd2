//! AArch64 instructions.

use super::{Column, ReadError, number, wrong};
use crate::test::{Attr, Expr, HIDDEN, Instr, Op, Reg};
use weft_workload::op::{AmoKind, Class, Sem};

const KNOWN: &str = "MOV, LDR, LDAR, LDAPR, LDXR, LDAXR, STR, STLR, STXR, STLXR (also with B and H), CAS, SWP, LDADD, LDCLR, LDEOR, LDSET, LDSMAX, LDSMIN, STADD, ... (also with A, L and AL), DMB, DSB, ISB, NOP, ADD, SUB, EOR, AND, ORR, LSL, LSR, MUL, CMP, CSEL, CBZ, CBNZ, B, B.EQ, B.NE, B.LT, B.LE, B.GT, B.GE";

/// The register that a name means: W0 is the lower half of X0.
pub(in crate::read) fn wide(name: &str) -> String {
    name.strip_prefix('W').map_or_else(|| name.to_string(), |number| format!("X{number}"))
}

fn value(column: &mut Column, text: &str) -> Result<Expr, ReadError> {
    if is_zero(text) { Ok(Expr::Const(0)) } else { column.value(&wide(text)) }
}

fn is_zero(text: &str) -> bool {
    text == "WZR" || text == "XZR"
}

/// A destination; none for the zero register.
fn target(column: &mut Column, text: &str) -> Result<Option<Reg>, ReadError> {
    if is_zero(text) { Ok(None) } else { column.reg(&wide(text)).map(Some) }
}

/// The register that holds the difference of the last comparison.
fn flags(column: &mut Column) -> Reg {
    let name = format!("{HIDDEN}flags");
    column.test.threads[column.thread].reg(&name)
}

/// Operands, apart from each other at commas outside brackets.
fn operands(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (n, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..n].trim());
                start = n + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// An address: `[X1]`, or `[X1,X2]` and `[X1,W2,SXTW]` with an offset that must come out as 0.
fn place(column: &mut Column, text: &str) -> Result<Expr, ReadError> {
    let inside = text.strip_prefix('[').and_then(|at| at.strip_suffix(']'));
    let Some(inside) = inside else { return column.unknown(text, "[REGISTER]") };
    let mut parts = inside.split(',').map(str::trim).filter(|part| !matches!(*part, "SXTW" | "UXTW"));
    let base = value(column, parts.next().unwrap_or(""))?;
    let Some(offset) = parts.next() else { return Ok(base) };
    match number(offset.trim_start_matches('#')) {
        Some(0) => Ok(base),
        Some(_) => {
            wrong(column.line, format!("{text:?} is a part of a location; only whole locations are accessed"))
        }
        None => Ok(Expr::bin(Op::Add, base, value(column, offset)?)),
    }
}

/// A name without the ending that says the size of an access, and its bytes; 0: those of the register.
fn sized<'t>(name: &'t str, stems: &[&str]) -> Option<(&'t str, u8)> {
    for (ending, bytes) in [("", 0), ("B", 1), ("H", 2)] {
        if let Some(stem) = name.strip_suffix(ending).filter(|stem| stems.contains(stem)) {
            return Some((stem, bytes));
        }
    }
    None
}

fn bytes_of(reg: &str, bytes: u8) -> u8 {
    match bytes {
        0 if reg.starts_with('X') => 8,
        0 => 4,
        few => few,
    }
}

/// What is left of a value in so few bytes.
fn cut(value: Expr, bytes: u8) -> Expr {
    match bytes {
        1 | 2 => Expr::bin(Op::And, value, Expr::Const((1 << (8 * bytes)) - 1)),
        _ => value,
    }
}

fn plain() -> Attr {
    Attr { class: Class::N, ..Attr::default() }
}

/// Reads one instruction.
pub(super) fn instr(column: &mut Column, text: &str) -> Result<(), ReadError> {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    // A comment or nothing may end a cell with a semicolon of its own.
    let rest = rest.trim_end_matches([';', ' ']);
    let parts = operands(rest);
    if let Some((stem, bytes)) = sized(name, &["LDR", "LDAR", "LDAPR", "LDXR", "LDAXR"]) {
        return load(column, stem, bytes, &parts);
    }
    if let Some((stem, bytes)) = sized(name, &["STR", "STLR", "STXR", "STLXR"]) {
        return store(column, stem, bytes, &parts);
    }
    if let Some(atomic) = atomic_of(name) {
        return rmw(column, text, atomic, &parts);
    }
    match (name, parts.as_slice()) {
        ("NOP" | "NOP;", _) => {}
        ("MOV", [dst, from]) => {
            let value = value(column, from)?;
            set(column, dst, value)?;
        }
        ("DMB" | "DSB", [kind]) => {
            let sem = match *kind {
                "SY" | "ISH" | "OSH" => Sem::AcquireRelease,
                "LD" | "ISHLD" | "OSHLD" => Sem::Acquire,
                "ST" | "ISHST" | "OSHST" => Sem::Release,
                _ => return column.unknown(text, "DMB SY, DMB LD, DMB ST"),
            };
            column.push(Instr::Fence { attr: Attr { class: Class::P, sem, ..Attr::default() } });
        }
        ("ISB", _) => column.push(Instr::Fence { attr: Attr { class: Class::P, ..Attr::default() } }),
        (
            "ADD" | "SUB" | "EOR" | "AND" | "ORR" | "LSL" | "LSR" | "MUL",
            [dst, a, b] | [dst, a, b, "SXTW" | "UXTW"],
        ) => {
            let op = match name {
                "ADD" => Op::Add,
                "SUB" => Op::Sub,
                "EOR" => Op::Xor,
                "ORR" => Op::Or,
                "LSL" => Op::Shl,
                "LSR" => Op::Shr,
                "MUL" => Op::Mul,
                _ => Op::And,
            };
            let (a, b) = (value(column, a)?, value(column, b)?);
            set(column, dst, Expr::bin(op, a, b))?;
        }
        ("CMP", [a, b]) => {
            let difference = Expr::bin(Op::Sub, value(column, a)?, value(column, b)?);
            let dst = flags(column);
            column.push(Instr::Set { dst, value: difference });
        }
        ("CSEL", [dst, a, b, if_]) => {
            let Some(if_) = condition(column, if_) else { return column.unknown(text, KNOWN) };
            let (a, b) = (value(column, a)?, value(column, b)?);
            set(column, dst, Expr::Select(Box::new(if_), Box::new(a), Box::new(b)))?;
        }
        ("CBZ" | "CBNZ", [reg, label]) => {
            let reg = value(column, reg)?;
            let op = if name == "CBZ" { Op::Eq } else { Op::Ne };
            column.branch(Expr::bin(op, reg, Expr::Const(0)), label);
        }
        ("B", [label]) => column.branch(Expr::Const(1), label),
        (_, [label]) if name.starts_with("B.") => {
            let Some(if_) = condition(column, &name[2..]) else { return column.unknown(text, KNOWN) };
            column.branch(if_, label);
        }
        _ => return column.unknown(text, KNOWN),
    }
    Ok(())
}

fn set(column: &mut Column, dst: &str, value: Expr) -> Result<(), ReadError> {
    if let Some(dst) = target(column, dst)? {
        column.push(Instr::Set { dst, value });
    }
    Ok(())
}

/// Of the last comparison.
fn condition(column: &mut Column, name: &str) -> Option<Expr> {
    let op = match name {
        "EQ" => Op::Eq,
        "NE" => Op::Ne,
        "LT" => Op::Lt,
        "LE" => Op::Le,
        "GT" => Op::Gt,
        "GE" => Op::Ge,
        _ => return None,
    };
    Some(Expr::bin(op, Expr::Reg(flags(column)), Expr::Const(0)))
}

fn load(column: &mut Column, name: &str, bytes: u8, parts: &[&str]) -> Result<(), ReadError> {
    let [reg, at] = parts else { return column.unknown(&parts.join(","), "REGISTER,[REGISTER]") };
    let at = place(column, at)?;
    let bytes = bytes_of(reg, bytes);
    column.size(&at, bytes);
    let plain = Attr { bytes, ..plain() };
    let acquire = Attr { class: Class::P, sem: Sem::Acquire, ..plain };
    let attr = match name {
        "LDAR" => acquire,
        "LDAPR" => Attr { rcpc: true, ..acquire },
        "LDXR" => Attr { exclusive: true, ..plain },
        "LDAXR" => Attr { exclusive: true, ..acquire },
        _ => plain,
    };
    let dst = match target(column, reg)? {
        Some(dst) => dst,
        None => column.test.threads[column.thread].reg(&format!("{HIDDEN}zero")),
    };
    column.push(Instr::Load { dst, at, attr });
    Ok(())
}

fn store(column: &mut Column, name: &str, bytes: u8, parts: &[&str]) -> Result<(), ReadError> {
    let (status, parts) = match (name, parts) {
        ("STXR" | "STLXR", [status, rest @ ..]) => (Some(*status), rest),
        _ => (None, parts),
    };
    let [reg, at] = parts else {
        return column.unknown(
            &parts.join(","),
            "REGISTER,[REGISTER], of an exclusive one with a register for its status before",
        );
    };
    let at = place(column, at)?;
    let bytes = bytes_of(reg, bytes);
    column.size(&at, bytes);
    let value = cut(value(column, reg)?, bytes);
    let plain = Attr { bytes, ..plain() };
    let released = Attr { class: Class::P, sem: Sem::Release, ..plain };
    let attr = if name.starts_with("STL") { released } else { plain };
    match status {
        None => column.push(Instr::Store { at, value, attr }),
        Some(status) => {
            let status = match target(column, status)? {
                Some(status) => status,
                None => column.test.threads[column.thread].reg(&format!("{HIDDEN}zero")),
            };
            column.push(Instr::StoreExclusive { status, at, value, attr: Attr { exclusive: true, ..attr } });
        }
    }
    Ok(())
}

/// An atomic in one instruction.
struct Atomic {
    kind: AmoKind,
    /// What is done with the operand before: cleared bits are those of its complement.
    not: bool,
    /// It gives the value found.
    found: bool,
    attr: Attr,
    bytes: u8,
}

fn atomic_of(name: &str) -> Option<Atomic> {
    let stems = [
        ("CAS", AmoKind::Cas, false),
        ("SWP", AmoKind::Exch, false),
        ("ADD", AmoKind::Add, false),
        ("CLR", AmoKind::And, true),
        ("EOR", AmoKind::Xor, false),
        ("SET", AmoKind::Or, false),
        ("SMAX", AmoKind::Max, false),
        ("SMIN", AmoKind::Min, false),
    ];
    let (found, short) = match name.split_at_checked(2) {
        Some(("LD", short)) => (true, short),
        Some(("ST", short)) => (false, short),
        _ => (true, name),
    };
    let (stem, kind, not) = stems.into_iter().find(|(stem, ..)| short.starts_with(stem))?;
    // The first two have a name of their own, the others one with LD or ST.
    if matches!(kind, AmoKind::Cas | AmoKind::Exch) != (short.len() == name.len()) {
        return None;
    }
    let rest = &short[stem.len()..];
    let (order, bytes) = match rest.strip_suffix('B') {
        Some(order) => (order, 1),
        None => rest.strip_suffix('H').map_or((rest, 0), |order| (order, 2)),
    };
    let attr = |sem| Attr { class: Class::P, sem, ..plain() };
    let attr = match order {
        "" => plain(),
        "A" if found => attr(Sem::Acquire),
        "L" => attr(Sem::Release),
        "AL" if found => attr(Sem::AcquireRelease),
        _ => return None,
    };
    Some(Atomic { kind, not, found, attr, bytes })
}

/// `SWP W0,W1,[X2]`: what is stored, where what was there goes, and the place; `CAS W0,W1,[X2]`: what is
/// expected, and where what was there goes, then what is stored.
fn rmw(column: &mut Column, text: &str, atomic: Atomic, parts: &[&str]) -> Result<(), ReadError> {
    let (first, second, at) = match (parts, atomic.found) {
        ([first, second, at], true) => (*first, *second, *at),
        ([first, at], false) => (*first, "WZR", *at),
        _ => return column.unknown(text, KNOWN),
    };
    let at = place(column, at)?;
    let bytes = bytes_of(first, atomic.bytes);
    column.size(&at, bytes);
    let (compare, stored, found) =
        if atomic.kind == AmoKind::Cas { (first, second, first) } else { ("WZR", first, second) };
    let compare = cut(value(column, compare)?, bytes);
    let mut value = cut(value(column, stored)?, bytes);
    if atomic.not {
        value = Expr::bin(Op::Xor, value, Expr::Const(-1));
    }
    let dst = target(column, found)?;
    let attr = Attr { unused: dst.is_none(), bytes, ..atomic.attr };
    column.push(Instr::Rmw { dst, at, kind: atomic.kind, value, compare, attr });
    Ok(())
}
