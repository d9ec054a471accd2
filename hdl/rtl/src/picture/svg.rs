//! Shapes and text on a page that grows downwards.

use std::fmt::Write;

/// Width of a character, in pixels.
pub(super) const CHAR: u32 = 7;
/// Height of a line of text.
pub(super) const LINE: u32 = 16;
/// Smallest width of a picture.
pub(super) const WIDTH: u32 = 860;

/// Where a text stands relative to its point.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Bold,
    Small,
}

/// A page.
pub(super) struct Canvas {
    title: String,
    body: String,
    width: u32,
    /// First free line of pixels.
    pub y: u32,
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Pixels that a text takes.
pub(super) fn text_width(text: &str) -> u32 {
    text.chars().count() as u32 * CHAR
}

/// Words in lines of at most `chars` characters; a longer word has a line of its own.
pub(super) fn wrap(words: impl IntoIterator<Item = String>, separator: &str, chars: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + separator.len() + word.chars().count() <= chars => {
                line.push_str(separator);
                line.push_str(&word);
            }
            Some(line) => {
                line.push_str(separator.trim_end());
                lines.push(word);
            }
            None => lines.push(word),
        }
    }
    lines
}

impl Canvas {
    pub fn new(title: &str) -> Canvas {
        Canvas { title: title.to_string(), body: String::new(), width: WIDTH, y: 4 }
    }

    /// Makes room up to this column.
    pub fn reach(&mut self, x: u32) {
        self.width = self.width.max(x);
    }

    pub fn text(&mut self, x: u32, y: u32, anchor: Anchor, style: Style, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let style = match style {
            Style::Plain => "",
            Style::Bold => " font-weight=\"bold\"",
            Style::Small => " font-size=\"10\" opacity=\"0.75\"",
        };
        let _ = writeln!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\"{anchor}{style} fill=\"currentColor\">{}</text>",
            escape(text)
        );
    }

    pub fn rect(&mut self, x: u32, y: u32, width: u32, height: u32, round: u32, shade: bool) {
        let fill = if shade { "currentColor\" fill-opacity=\"0.08" } else { "none" };
        let _ = writeln!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{round}\" fill=\"{fill}\" stroke=\"currentColor\"/>"
        );
    }

    /// A line to the right, with an arrow head at its end and for a channel one with two strokes.
    pub fn arrow(&mut self, from: u32, to: u32, y: u32, channel: bool) {
        let weight = if channel { 2.5 } else { 1.0 };
        let _ = writeln!(
            self.body,
            "<path d=\"M{from} {y}H{}\" stroke=\"currentColor\" stroke-width=\"{weight}\"/><path d=\"M{to} {y}l-9 -4v8z\" fill=\"currentColor\"/>",
            to - 8
        );
    }

    /// A bow that leaves and arrives vertically: above the line `y`, or below it.
    pub fn bow(&mut self, from: u32, to: u32, y: u32, height: u32, above: bool) {
        let (peak, head) = if above { (y - height, "l-4 -9h8z") } else { (y + height, "l-4 9h8z") };
        let _ = writeln!(
            self.body,
            "<path d=\"M{from} {y}C{from} {peak} {to} {peak} {to} {y}\" fill=\"none\" stroke=\"currentColor\"/><path d=\"M{to} {y}{head}\" fill=\"currentColor\"/>"
        );
    }

    /// The file.
    pub fn finish(self) -> String {
        let (width, height, title) = (self.width, self.y + 4, escape(&self.title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" style=\"max-width:100%;height:auto\" font-family=\"ui-monospace,'DejaVu Sans Mono',monospace\" font-size=\"11.5\" role=\"img\" aria-label=\"{title}\">\n{}</svg>\n",
            self.body
        )
    }
}
