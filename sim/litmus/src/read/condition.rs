//! Conditions: `exists`, `~exists` or `forall`, then atoms joined by `/\`, `\/`, `~` and parentheses.
//!
//! An atom compares a register (`1:r0`, `P1:r0`) or a location (`x`, `[x]`) by `=`, `==` or `!=` with a number, or two registers.

use super::{ReadError, is_name, number, wrong};
use crate::test::{Cond, Quantifier, Reg, Test};

/// Reads the condition from this text, which starts at `line`, for a test whose threads and locations are known.
///
/// # Errors
/// No quantifier, a name that the test does not have, or what is no condition.
pub fn read(text: &str, line: usize, test: &mut Test) -> Result<(), ReadError> {
    let text = text.trim();
    let (quantifier, rest) = [
        ("~exists", Quantifier::NotExists),
        ("~ exists", Quantifier::NotExists),
        ("exists", Quantifier::Exists),
        ("forall", Quantifier::Forall),
    ]
    .into_iter()
    .find_map(|(word, quantifier)| Some((quantifier, text.strip_prefix(word)?)))
    .map_or_else(|| wrong(line, "a condition begins with exists, ~exists or forall"), Ok)?;
    let tokens = tokens(rest);
    let mut parser = Parser { tokens: &tokens, at: 0, line, test };
    let condition = parser.any()?;
    if let Some(word) = parser.peek() {
        return wrong(line, format!("{word:?} is left over behind the condition"));
    }
    test.quantifier = quantifier;
    test.condition = condition;
    Ok(())
}

fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut rest = text.trim_start();
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
    test: &'a mut Test,
}

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
        match self.peek() {
            Some("~" | "not") => {
                self.at += 1;
                Ok(Cond::Not(Box::new(self.one()?)))
            }
            Some("true") => {
                self.at += 1;
                Ok(Cond::True)
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
            _ => return wrong(self.line, "a comparison needs a register, or a location and a number"),
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
        Ok(Side::Reg(thread, self.test.threads[thread].reg(&name)))
    }

    fn location(&self, name: &str) -> Result<Side, ReadError> {
        match self.test.loc(name) {
            Some(loc) => Ok(Side::Loc(loc)),
            None => {
                wrong(self.line, format!("{name} is neither a location of this test nor THREAD:REGISTER"))
            }
        }
    }
}
