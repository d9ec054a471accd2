//! How large a test in C may be. Its reader goes down with what is nested, and so do those of its
//! expressions.

use super::tokens::{TOKENS, Token};
use super::{ReadError, wrong};

/// Most words and signs between two of `;`, `{` and `}`.
const STATEMENT: usize = 1000;

/// Most brackets inside each other.
const NESTED: usize = 100;

/// Refuses a text that is larger.
///
/// # Errors
/// The first place that is too much.
pub(super) fn check(tokens: &[Token]) -> Result<(), ReadError> {
    let (mut nested, mut long) = (0_usize, 0_usize);
    for (number, token) in tokens.iter().enumerate() {
        long += 1;
        match token.text.as_str() {
            "(" | "[" => nested += 1,
            ")" | "]" => nested = nested.saturating_sub(1),
            "{" => (nested, long) = (nested + 1, 0),
            "}" => (nested, long) = (nested.saturating_sub(1), 0),
            ";" => long = 0,
            _ => {}
        }
        let much = [
            (number >= TOKENS, TOKENS, "words and signs in a test"),
            (long > STATEMENT, STATEMENT, "words and signs in a statement"),
            (nested > NESTED, NESTED, "brackets inside each other"),
        ];
        if let Some((_, most, what)) = much.into_iter().find(|(much, ..)| *much) {
            return wrong(token.line, format!("there are more than {most} {what}; make the test smaller"));
        }
    }
    Ok(())
}
