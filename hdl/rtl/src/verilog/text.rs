//! Literals, ranges and line breaking.

use crate::bv::Bv;

/// Longest line of a file where it can be helped.
const COLUMNS: usize = 108;

/// A sized constant.
pub(super) fn literal(value: &Bv) -> String {
    let width = value.width();
    if width == 1 {
        return format!("1'b{}", u8::from(value.bit(0)));
    }
    if width > 3 && *value == Bv::ones(width) && width > 16 {
        return format!("{{{width}{{1'b1}}}}");
    }
    match value.to_u64() {
        Some(v) if v < 1024 || width <= 10 => format!("{width}'d{v}"),
        _ => format!("{width}'h{value:x}"),
    }
}

/// Zero of a width.
pub(super) fn zero(width: u32) -> String {
    literal(&Bv::zero(width))
}

/// The range of a declaration with a space behind it; nothing for one bit.
pub(super) fn range(width: u32) -> String {
    if width == 1 { String::new() } else { format!("[{}:0] ", width - 1) }
}

/// Appends `line` at an indentation, broken at blanks where it is too long.
pub(super) fn push_line(out: &mut String, indent: usize, line: &str) {
    let mut rest = line.trim_end();
    let mut depth = indent;
    if rest.is_empty() {
        out.push('\n');
        return;
    }
    loop {
        out.extend(std::iter::repeat_n(' ', depth));
        if depth + rest.len() <= COLUMNS || rest.starts_with("//") {
            out.push_str(rest);
            out.push('\n');
            return;
        }
        let limit = COLUMNS.saturating_sub(depth).max(20);
        let head = rest.get(..limit).unwrap_or(rest);
        let code_end = rest.find("//").unwrap_or(rest.len());
        let cut = head.rfind(' ').filter(|c| *c > 0).or_else(|| rest.find(' ')).filter(|c| *c < code_end);
        let Some(cut) = cut else {
            out.push_str(rest);
            out.push('\n');
            return;
        };
        out.push_str(rest[..cut].trim_end());
        out.push('\n');
        rest = rest[cut..].trim_start();
        depth = indent + 4;
    }
}

/// Appends a comment, broken into lines.
pub(super) fn push_comment(out: &mut String, indent: usize, text: &str) {
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && indent + line.len() + word.len() + 4 > COLUMNS {
                push_line(out, indent, &format!("// {line}"));
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        push_line(out, indent, format!("// {line}").trim_end());
    }
}
