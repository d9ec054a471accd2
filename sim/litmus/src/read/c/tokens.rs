//! Words and signs of C.

/// Most words and signs of a test.
pub(super) const TOKENS: usize = 10_000;

pub(super) struct Token {
    pub text: String,
    pub line: usize,
    /// First byte in the text.
    pub offset: usize,
}

/// Comments become spaces; lines stay. `(*` begins one, as in the description of a test, but not before a
/// name inside braces: there it is a pointer's value.
pub(super) fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    let mut depth = 0;
    while let Some(next) = rest.chars().next() {
        let pointer = || depth > 0 && rest[2..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let pair = [("(*", "*)"), ("/*", "*/"), ("//", "\n")]
            .into_iter()
            .find(|(open, _)| rest.starts_with(open) && !(*open == "(*" && pointer()));
        if let Some((open, close)) = pair {
            let length = rest[open.len()..].find(close).map_or(rest.len(), |at| at + open.len());
            out.extend(rest[..length].chars().map(|c| if c == '\n' { c } else { ' ' }));
            rest = &rest[length..];
            rest = if close == "\n" { rest } else { rest.strip_prefix(close).unwrap_or(rest) };
            continue;
        }
        match next {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        out.push(next);
        rest = &rest[next.len_utf8()..];
    }
    out
}

const SIGNS: [&str; 10] = ["==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "/\\", "\\/"];

/// The tokens from a byte of the text on, none far behind those that a test may have.
pub(super) fn tokens(text: &str, from: usize) -> Vec<Token> {
    let mut out = Vec::new();
    let mut line = 1 + text[..from].matches('\n').count();
    let mut at = from;
    while let Some(first) = text[at..].chars().next().filter(|_| out.len() <= TOKENS) {
        let rest = &text[at..];
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => sign.len(),
            None if word(first) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            None => first.len_utf8(),
        };
        if !first.is_whitespace() {
            out.push(Token { text: rest[..length].into(), line, offset: at });
        }
        line += usize::from(first == '\n');
        at += length;
    }
    out
}
