//! Initial values: `x=0`, `[x]=0`, `int x=0`, `uint64_t y`, `x=y`, `0:r1=3`, `0:X1=x`, `t @ texture aliases
//! x`.

use super::{ReadError, is_name, location, number, wide, wrong};
use crate::paths::address;
use crate::test::{Alias, Dialect, Expr, Loc, Test};

/// Reads what stands in the braces.
///
/// # Errors
/// What gives nothing a value.
pub(super) fn read(braces: &[(usize, &str)], test: &mut Test) -> Result<(), ReadError> {
    let entries =
        braces.iter().flat_map(|(line, text)| text.split(';').map(move |entry| (*line, entry.trim())));
    let entries: Vec<(usize, &str)> = entries.filter(|(_, entry)| !entry.is_empty()).collect();
    // Locations first, so that others and registers may hold their addresses.
    for (line, entry) in &entries {
        if is_register(entry) || entry.contains('@') {
            continue;
        }
        let name = target(entry, *line)?;
        if test.loc(name).is_some() {
            return wrong(*line, format!("{name} has two initial values; give it one"));
        }
        test.locs.push(Loc { name: name.into(), ..Loc::default() });
    }
    for (line, entry) in &entries {
        match entry.split_once('@') {
            Some((name, what)) => alias(test, name.trim(), what, *line)?,
            None => value(test, entry, *line)?,
        }
    }
    Ok(())
}

/// Whether it is about a register: a colon stands in its name.
fn is_register(entry: &str) -> bool {
    entry.split('=').next().unwrap_or("").contains(':')
}

/// The name of a location, behind a type or not, in brackets or not.
fn target(entry: &str, line: usize) -> Result<&str, ReadError> {
    let (left, valued) = entry.split_once('=').map_or((entry, false), |(left, _)| (left, true));
    let words: Vec<&str> = left.split_whitespace().collect();
    let name = words.last().copied().unwrap_or("").trim_start_matches('[').trim_end_matches(']');
    match words.as_slice() {
        [_] if !valued => wrong(line, format!("{entry:?} gives nothing a value; write NAME=VALUE")),
        [_] | [_, _] if is_name(name) => Ok(name),
        _ if left.contains(['[', '*']) => wrong(
            line,
            format!("{left:?} is an array or a pointer; only locations of one word are read here"),
        ),
        _ => wrong(line, format!("{left:?} names no location")),
    }
}

fn value(test: &mut Test, entry: &str, line: usize) -> Result<(), ReadError> {
    let (left, right) =
        entry.split_once('=').map_or((entry, None), |(left, right)| (left, Some(right.trim())));
    if let Some((thread, reg)) = left.split_once(':') {
        return register(test, (thread, reg.trim()), right, line);
    }
    let name = target(entry, line)?;
    let Some(right) = right else { return Ok(()) };
    let pointee = right.trim_start_matches('&');
    let init = match number(right) {
        Some(init) => init,
        None if is_name(pointee) => address(location(test, pointee)),
        None => return wrong(line, format!("{right:?} is neither a number nor a location")),
    };
    let loc = location(test, name);
    test.locs[loc].init = init;
    Ok(())
}

fn register(
    test: &mut Test,
    (thread, reg): (&str, &str),
    right: Option<&str>,
    line: usize,
) -> Result<(), ReadError> {
    // A type may stand before the thread.
    let thread = thread.split_whitespace().last().unwrap_or("");
    let thread = thread.trim_start_matches('P').parse().ok().filter(|t: &usize| *t < test.threads.len());
    let (Some(thread), true) = (thread, is_name(reg)) else {
        return wrong(line, format!("{reg} is no register of a thread of this test"));
    };
    let name = if test.dialect == Dialect::Aarch64 { wide(reg) } else { reg.to_string() };
    let Some(right) = right else {
        test.threads[thread].reg(&name);
        return Ok(());
    };
    let value = match number(right) {
        Some(value) => Expr::Const(value),
        None => {
            let pointee = right.trim_start_matches(['&', '[']).trim_end_matches(']').trim();
            if !is_name(pointee) {
                return wrong(line, format!("{right:?} is neither a number nor a location"));
            }
            Expr::Addr(location(test, pointee))
        }
    };
    let reg = test.threads[thread].reg(&name);
    test.threads[thread].start[reg] = value;
    test.threads[thread].given.push(reg);
    Ok(())
}

/// `y @ generic aliases x` is a virtual address of its own; `t @ texture aliases x` is that of `x`, by
/// another proxy.
fn alias(test: &mut Test, name: &str, what: &str, line: usize) -> Result<(), ReadError> {
    let words: Vec<&str> = what.split_whitespace().collect();
    let (["generic" | "texture" | "surface" | "constant", "aliases", of], true) =
        (words.as_slice(), is_name(name))
    else {
        return wrong(line, format!("{name} @{what} is no alias; write NAME @ PROXY aliases LOCATION"));
    };
    let known = test.aliases.iter().find(|alias| alias.name == *of).map(|alias| (alias.loc, alias.address));
    let Some((loc, address)) = test.loc(of).map(|loc| (loc, 0)).or(known) else {
        return wrong(line, format!("{name} aliases {of}, which the braces have not named before it"));
    };
    let last = test.aliases.iter().map(|alias| alias.address).max().unwrap_or(0);
    let address = if words[0] == "generic" { last.saturating_add(1) } else { address };
    test.aliases.push(Alias { name: name.into(), loc, address });
    Ok(())
}
