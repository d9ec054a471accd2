//! The parts of a file with a column per thread.

use super::{ReadError, wrong};
use crate::read::condition::Ending;

/// Each with the line that it begins at.
#[derive(Default)]
pub(super) struct Parts<'a> {
    /// Lines of the initial values.
    pub braces: Vec<(usize, &'a str)>,
    /// Rows of cells, without the semicolon.
    pub rows: Vec<(usize, &'a str)>,
    /// Scope tree.
    pub scopes: Option<(usize, &'a str)>,
    /// What stands behind the rows.
    pub ending: Ending,
}

/// The text with its comments, `(* ... *)`, as spaces; lines stay. What stands before the initial values is
/// left as it is: it may quote anything.
pub(super) fn without_comments(text: &str) -> String {
    let (mut out, mut quoted) = (String::new(), false);
    let head: usize = text
        .split_inclusive('\n')
        .take_while(|line| {
            quoted ^= line.matches('"').count() % 2 == 1;
            quoted || !line.trim_start().starts_with('{')
        })
        .map(str::len)
        .sum();
    out.push_str(&text[..head]);
    let mut rest = &text[head..];
    while let Some(open) = rest.find("(*") {
        let length = rest[open..].find("*)").map_or(rest.len() - open, |close| close + 2);
        let (before, comment) = (&rest[..open], &rest[open..open + length]);
        out.push_str(before);
        out.extend(comment.chars().map(|c| if c == '\n' { c } else { ' ' }));
        rest = &rest[open + length..];
    }
    out.push_str(rest);
    out
}

/// Where a reader is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Head { quoted: bool },
    Braces { depth: usize },
    Rows,
}

impl<'a> Parts<'a> {
    /// Splits a text without comments.
    ///
    /// # Errors
    /// Lines that belong to no part; braces that are missing or not closed.
    pub(super) fn split(text: &'a str) -> Result<Parts<'a>, ReadError> {
        let mut parts = Parts::default();
        let mut at = At::Head { quoted: false };
        for (n, raw) in text.lines().enumerate() {
            at = parts.line(at, n + 1, raw.trim())?;
        }
        let end = text.lines().count();
        match at {
            At::Head { .. } => wrong(end, "there are no initial values; write {} for none"),
            At::Braces { .. } => wrong(end, "the braces of the initial values are not closed"),
            _ => Ok(parts),
        }
    }

    fn line(&mut self, at: At, line: usize, body: &'a str) -> Result<At, ReadError> {
        match at {
            At::Head { quoted } => {
                let quoted = quoted ^ (body.matches('"').count() % 2 == 1);
                match body.strip_prefix('{').filter(|_| !quoted) {
                    Some(inside) => Ok(self.inside(1, line, inside)),
                    None => Ok(At::Head { quoted }),
                }
            }
            At::Braces { depth } => Ok(self.inside(depth, line, body)),
            At::Rows if self.ending.takes(line, body) => Ok(At::Rows),
            At::Rows => self.row(line, body),
        }
    }

    /// A line, or what is left of it, inside so many braces.
    fn inside(&mut self, mut depth: usize, line: usize, body: &'a str) -> At {
        for (n, c) in body.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.braces.push((line, &body[..n]));
                return At::Rows;
            }
        }
        self.braces.push((line, body));
        At::Braces { depth }
    }

    fn row(&mut self, line: usize, body: &'a str) -> Result<At, ReadError> {
        if let Some(tree) = body.strip_prefix("scopes:") {
            self.scopes = Some((line, tree));
        } else if let Some(row) = body.strip_suffix(';') {
            self.rows.push((line, row));
        } else if !body.is_empty() {
            return wrong(
                line,
                format!("{body:?} is neither a row of threads (it ends with ;) nor a condition"),
            );
        }
        Ok(At::Rows)
    }
}
