//! Conditions: `exists`, `~exists` or `forall`, then atoms joined by `/\`, `\/`, `~` and parentheses.
//!
//! An atom compares a register (`1:r0`, `P1:r0`) or a location (`x`, `[x]`) by `=`, `==` or `!=` with a
//! number, two registers, a register with the address of a location, or two numbers; or it is `true` or
//! `false`. A register that nothing writes is refused: it would be 0, and the condition say nothing.

use super::{ReadError, is_name, number, wrong};
use crate::paths::address;
use crate::test::{Cond, Quantifier, Reg, Test};

/// Reads the condition from this text, which starts at `line`, for a test whose threads and locations are known.
///
/// # Errors
/// No quantifier, a name that the test does not have, or what is no condition.
pub fn read(text: &str, line: usize, test: &mut Test) -> Result<(), ReadError> {
    let text = text.trim();
    let quantifier =
        QUANTIFIERS.into_iter().find_map(|(word, quantifier)| Some((quantifier, text.strip_prefix(word)?)));
    let Some((quantifier, rest)) = quantifier else {
        return wrong(line, "a condition begins with exists, ~exists or forall");
    };
    test.condition = formula(rest, line, test)?;
    test.quantifier = quantifier;
    Ok(())
}

/// Words that begin a condition.
const QUANTIFIERS: [(&str, Quantifier); 5] = [
    ("~exists", Quantifier::NotExists),
    ("~ exists", Quantifier::NotExists),
    ("not exists", Quantifier::NotExists),
    ("exists", Quantifier::Exists),
    ("forall", Quantifier::Forall),
];

/// What stands behind the threads: `locations [...]`, which says only what to print; `filter (...)`; and the
/// condition.
#[derive(Default)]
pub(super) struct Ending {
    at: At,
    filter: Option<(usize, String)>,
    condition: Option<(usize, String)>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum At {
    #[default]
    Outside,
    Locations,
    Filter,
    Condition,
}

impl Ending {
    /// Reads all of it, from a line on.
    pub(super) fn read(text: &str, line: usize, test: &mut Test) -> Result<(), ReadError> {
        let mut ending = Ending::default();
        for (n, body) in text.lines().enumerate().map(|(n, body)| (line + n, body.trim())) {
            if !ending.takes(n, body) && !body.is_empty() {
                return wrong(n, format!("{body:?} is neither a thread nor a condition"));
            }
        }
        ending.finish(line + text.lines().count().saturating_sub(1), test)
    }

    /// Takes a line, if it belongs here.
    pub(super) fn takes(&mut self, line: usize, body: &str) -> bool {
        let begin = |word: &str| Some((line, body[word.len()..].to_string()));
        if self.at != At::Condition && begins(body) {
            (self.at, self.condition) = (At::Condition, begin(""));
        } else if self.at != At::Condition && starts(body, "locations") {
            self.at = if body.contains(']') { At::Outside } else { At::Locations };
        } else if self.at != At::Condition && starts(body, "filter") {
            (self.at, self.filter) = (At::Filter, begin("filter"));
        } else {
            let more = match self.at {
                At::Outside => return false,
                At::Locations => {
                    self.at = if body.contains(']') { At::Outside } else { At::Locations };
                    return true;
                }
                At::Filter => &mut self.filter,
                At::Condition => &mut self.condition,
            };
            if let Some((_, text)) = more {
                text.push(' ');
                text.push_str(body);
            }
        }
        true
    }

    /// Reads what was taken, of a file with so many lines.
    pub(super) fn finish(self, end: usize, test: &mut Test) -> Result<(), ReadError> {
        let Some((line, asked)) = self.condition else {
            return wrong(end, "there is no condition; end with exists (...), ~exists (...) or forall (...)");
        };
        if let Some((line, filter)) = self.filter {
            test.filter = formula(&filter, line, test)?;
        }
        read(&asked, line, test)
    }
}

/// Whether a line begins a condition.
fn begins(line: &str) -> bool {
    QUANTIFIERS.iter().any(|(word, _)| starts(line, word))
}

/// Whether a line begins with a word, and not with a longer one.
fn starts(line: &str, word: &str) -> bool {
    let rest = line.strip_prefix(word);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

/// Reads a condition without a quantifier.
///
/// # Errors
/// A name that the test does not have, or what is no condition.
fn formula(text: &str, line: usize, test: &Test) -> Result<Cond, ReadError> {
    let tokens = tokens(text);
    let mut parser = Parser { tokens: &tokens, at: 0, line, test, nested: 0 };
    let condition = parser.any()?;
    if let Some(word) = parser.peek() {
        return wrong(line, format!("{word:?} is left over behind the condition"));
    }
    Ok(condition)
}

fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    // Spaces may stand around the colon of a register.
    let joined = text.split(':').map(str::trim).collect::<Vec<_>>().join(":");
    let mut rest = joined.trim_start();
    while !rest.is_empty() {
        let fixed = ["/\\", "\\/", "==", "!=", "<>"].into_iter().find(|t| rest.starts_with(t));
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | ':' | '-');
        let length = fixed.map_or_else(
            || {
                rest.find(|c| !word(c))
                    .unwrap_or(rest.len())
                    .max(rest.chars().next().map_or(0, char::len_utf8))
            },
            str::len,
        );
        out.push(rest[..length].to_string());
        rest = rest[length..].trim_start();
    }
    out
}

struct Parser<'a> {
    tokens: &'a [String],
    at: usize,
    line: usize,
    test: &'a Test,
    /// Negations and parentheses around the present place.
    nested: usize,
}

/// Most negations and parentheses inside each other.
const NESTED: usize = 100;

/// One side of a comparison.
enum Side {
    Reg(usize, Reg),
    Loc(usize),
    Number(i64),
}

impl Parser<'_> {
    fn peek(&self) -> Option<&str> {
        self.tokens.get(self.at).map(String::as_str)
    }

    fn take(&mut self) -> Result<String, ReadError> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token.map_or_else(|| wrong(self.line, "the condition ends too early"), Ok)
    }

    fn any(&mut self) -> Result<Cond, ReadError> {
        let mut parts = vec![self.all()?];
        while self.peek() == Some("\\/") {
            self.at += 1;
            parts.push(self.all()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Cond::Or(parts) })
    }

    fn all(&mut self) -> Result<Cond, ReadError> {
        let mut parts = vec![self.one()?];
        while self.peek() == Some("/\\") {
            self.at += 1;
            parts.push(self.one()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Cond::And(parts) })
    }

    fn one(&mut self) -> Result<Cond, ReadError> {
        self.nested += 1;
        if self.nested > NESTED {
            return wrong(
                self.line,
                format!("more than {NESTED} of ~ and ( are inside each other; write fewer"),
            );
        }
        let one = self.bare();
        self.nested -= 1;
        one
    }

    fn bare(&mut self) -> Result<Cond, ReadError> {
        match self.peek() {
            Some("~" | "not") => {
                self.at += 1;
                Ok(Cond::Not(Box::new(self.one()?)))
            }
            Some("true") => {
                self.at += 1;
                Ok(Cond::True)
            }
            Some("false") => {
                self.at += 1;
                Ok(Cond::Not(Box::new(Cond::True)))
            }
            Some("(") => {
                self.at += 1;
                let inside = self.any()?;
                match self.take()?.as_str() {
                    ")" => Ok(inside),
                    other => wrong(self.line, format!("{other:?} stands where ) is expected")),
                }
            }
            _ => self.atom(),
        }
    }

    fn atom(&mut self) -> Result<Cond, ReadError> {
        let left = self.side()?;
        let equal = match self.take()?.as_str() {
            "=" | "==" => true,
            "!=" | "<>" => false,
            other => return wrong(self.line, format!("{other:?} compares nothing; write = or !=")),
        };
        Ok(match (left, self.side()?) {
            (Side::Reg(thread, reg), Side::Number(value)) | (Side::Number(value), Side::Reg(thread, reg)) => {
                Cond::Reg { thread, reg, equal, value }
            }
            (Side::Loc(loc), Side::Number(value)) | (Side::Number(value), Side::Loc(loc)) => {
                Cond::Loc { loc, equal, value }
            }
            (Side::Reg(a, x), Side::Reg(b, y)) => Cond::Regs { left: (a, x), right: (b, y), equal },
            // A name beside a register is an address.
            (Side::Reg(thread, reg), Side::Loc(loc)) | (Side::Loc(loc), Side::Reg(thread, reg)) => {
                Cond::Reg { thread, reg, equal, value: address(loc) }
            }
            (Side::Number(a), Side::Number(b)) if (a == b) == equal => Cond::True,
            (Side::Number(_), Side::Number(_)) => Cond::Not(Box::new(Cond::True)),
            (Side::Loc(_), Side::Loc(_)) => {
                return wrong(
                    self.line,
                    "two locations are compared; write a register or a number on one side",
                );
            }
        })
    }

    fn side(&mut self) -> Result<Side, ReadError> {
        let token = self.take()?;
        if token == "[" {
            let name = self.take()?;
            return match self.take()?.as_str() {
                "]" => self.location(&name),
                other => wrong(self.line, format!("{other:?} stands where ] is expected")),
            };
        }
        if let Some(value) = number(&token) {
            return Ok(Side::Number(value));
        }
        let Some((thread, reg)) = token.split_once(':') else { return self.location(&token) };
        let number: Option<usize> = thread.trim_start_matches(['P', 'T']).parse().ok();
        let Some(thread) = number.filter(|t| *t < self.test.threads.len()) else {
            return wrong(self.line, format!("{token} names thread {thread}, which the test does not have"));
        };
        if !is_name(reg) {
            return wrong(self.line, format!("{token} names no register"));
        }
        let name = match self.test.dialect {
            crate::test::Dialect::Aarch64 => super::table::wide(reg),
            _ => reg.to_string(),
        };
        let of = &self.test.threads[thread];
        match of.regs.iter().position(|known| *known == name).filter(|reg| of.gives(*reg)) {
            Some(reg) => Ok(Side::Reg(thread, reg)),
            None => wrong(
                self.line,
                format!(
                    "{token} is a register that nothing writes: no instruction of thread {thread} does, and it has no value at the start; correct its name"
                ),
            ),
        }
    }

    fn location(&self, name: &str) -> Result<Side, ReadError> {
        let alias = || self.test.aliases.iter().find(|alias| alias.name == name).map(|alias| alias.loc);
        match self.test.loc(name).or_else(alias) {
            Some(loc) => Ok(Side::Loc(loc)),
            None => {
                wrong(self.line, format!("{name} is neither a location of this test nor THREAD:REGISTER"))
            }
        }
    }
}
