//! A report as headings, text, tables and pictures, written as Markdown or as one page that needs nothing beside it.

use std::fmt::Write;

/// A part of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A heading of this depth, from 1.
    Heading(u8, String),
    /// A paragraph. Words between backquotes are code.
    Text(String),
    /// A list.
    List(Vec<String>),
    /// A heading and lines of as many cells; the first column holds words, the others numbers unless a cell of them is long.
    Table(Vec<Vec<String>>),
    /// A picture: its file beside the report, what it shows, and its text as SVG.
    Picture {
        /// Path.
        file: String,
        /// Words.
        alt: String,
        /// The picture.
        svg: String,
    },
}

/// Cells longer than this are words.
const WORDS: usize = 24;

/// The report as Markdown.
pub fn markdown(blocks: &[Block]) -> String {
    let mut out = String::new();
    for block in blocks {
        let text = match block {
            Block::Heading(depth, text) => format!("{} {text}", "#".repeat(usize::from(*depth))),
            Block::Text(text) => text.clone(),
            Block::List(items) => items.iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n"),
            Block::Table(lines) => table(lines),
            Block::Picture { file, alt, .. } => format!("![{alt}]({file})"),
        };
        let _ = writeln!(out, "{text}\n");
    }
    out
}

/// Whether the cells of a column stand at the left: words.
fn left(lines: &[Vec<String>], column: usize) -> bool {
    column == 0 || lines.iter().skip(1).any(|line| line[column].chars().count() > WORDS)
}

fn table(lines: &[Vec<String>]) -> String {
    let safe = |cell: &String| cell.replace('|', "\\|");
    let row = |line: &Vec<String>| format!("| {} |", line.iter().map(safe).collect::<Vec<_>>().join(" | "));
    let rule = (0..lines.first().map_or(0, Vec::len)).map(|c| if left(lines, c) { "---" } else { "---:" });
    let mut rows: Vec<String> = lines.iter().map(row).collect();
    rows.insert(1, format!("| {} |", rule.collect::<Vec<_>>().join(" | ")));
    rows.join("\n")
}

const STYLE: &str = "
:root { color-scheme: light dark; --back: #fff; --ink: #222; --rule: #d8d8d8; --soft: #f4f5f7; --link: #0b5cad; }
@media (prefers-color-scheme: dark) { :root { --back: #16181c; --ink: #e2e4e8; --rule: #3a3e46; --soft: #1f2228; --link: #7db7f5; } }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem; background: var(--back); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
a { color: var(--link); }
h1, h2, h3 { line-height: 1.25; } h2 { margin-top: 3rem; border-bottom: 1px solid var(--rule); } h3 { margin-top: 2.2rem; }
code { background: var(--soft); padding: 0 .25em; border-radius: 3px; font-size: .92em; }
.wide { overflow-x: auto; margin: 1rem 0; } table { border-collapse: collapse; font-size: .92em; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--rule); text-align: right; vertical-align: top; font-variant-numeric: tabular-nums; }
th { background: var(--soft); } .words { text-align: left; }
figure { margin: 1rem 0; overflow-x: auto; } figure svg { background: #fff; border-radius: 6px; max-width: 100%; height: auto; }
nav ul { columns: 3 16rem; column-gap: 2.5rem; padding-left: 1.2rem; } nav li { break-inside: avoid; }
";

/// The report as one page of HTML.
pub fn html(title: &str, blocks: &[Block]) -> String {
    let mut body = String::new();
    let mut links = String::new();
    for (at, block) in blocks.iter().enumerate() {
        let text = match block {
            Block::Heading(depth, text) => {
                if (2..=3).contains(depth) {
                    let indent = if *depth == 3 { " style=\"margin-left:1rem\"" } else { "" };
                    let _ = writeln!(links, "<li{indent}><a href=\"#s{at}\">{}</a></li>", inline(text));
                }
                format!("<h{depth} id=\"s{at}\">{}</h{depth}>", inline(text))
            }
            Block::Text(text) => format!("<p>{}</p>", inline(text)),
            Block::List(items) => {
                let items: String = items.iter().map(|item| format!("<li>{}</li>", inline(item))).collect();
                format!("<ul>{items}</ul>")
            }
            Block::Table(lines) => cells(lines),
            // The alternative words are for readers that show no pictures.
            Block::Picture { alt, svg, .. } => {
                format!("<figure role=\"img\" aria-label=\"{}\">{}</figure>", escaped(alt), scaled(svg))
            }
        };
        let _ = writeln!(body, "{text}");
        if at == 1 {
            body.push_str("<nav><ul>LINKS</ul></nav>\n");
        }
    }
    let body = body.replacen("LINKS", &links, 1);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title><style>{STYLE}</style></head>\n<body>\n{body}</body></html>\n",
        escaped(title)
    )
}

/// A picture that becomes smaller with the page.
fn scaled(svg: &str) -> String {
    let start = svg.find("<svg").unwrap_or(0);
    svg[start..].to_string()
}

fn cells(lines: &[Vec<String>]) -> String {
    let row = |(at, line): (usize, &Vec<String>)| {
        let tag = if at == 0 { "th" } else { "td" };
        let cell = |(column, cell): (usize, &String)| {
            let class = if left(lines, column) { " class=\"words\"" } else { "" };
            format!("<{tag}{class}>{}</{tag}>", inline(cell))
        };
        format!("<tr>{}</tr>", line.iter().enumerate().map(cell).collect::<String>())
    };
    format!(
        "<div class=\"wide\"><table>{}</table></div>",
        lines.iter().enumerate().map(row).collect::<String>()
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Text with its code and links.
fn inline(text: &str) -> String {
    let parts = escaped(text);
    let parts: Vec<&str> = parts.split('`').collect();
    let coded = |(at, part): (usize, &&str)| match at % 2 {
        1 => format!("<code>{part}</code>"),
        _ => (*part).to_string(),
    };
    parts.iter().enumerate().map(coded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Vec<Block> {
        vec![
            Block::Heading(1, "Report".into()),
            Block::Text("from `a.csv` & <b>".into()),
            Block::Heading(2, "Part".into()),
            Block::Table(vec![vec!["what".into(), "n".into()], vec!["a|b".into(), "1".into()]]),
            Block::List(vec!["one".into()]),
            Block::Picture {
                file: "p.svg".into(),
                alt: "bars".into(),
                svg: "<?xml?>\n<svg width=\"10\"/>".into(),
            },
        ]
    }

    #[test]
    fn markdown_has_its_tables_and_pictures() {
        let text = markdown(&report());
        assert!(text.starts_with("# Report\n\nfrom `a.csv` & <b>\n\n## Part\n"), "{text}");
        assert!(text.contains("| what | n |\n| --- | ---: |\n| a\\|b | 1 |\n"), "{text}");
        assert!(text.contains("- one\n\n![bars](p.svg)\n"), "{text}");
    }

    #[test]
    fn a_page_holds_everything_and_asks_no_network() {
        let page = html("T & t", &report());
        assert!(
            page.contains("<title>T &amp; t</title>")
                && page.contains("from <code>a.csv</code> &amp; &lt;b&gt;")
        );
        assert!(page.contains("<svg width=\"10\"/>") && !page.contains("<?xml"), "{page}");
        assert!(page.contains("<a href=\"#s2\">Part</a>") && page.contains("id=\"s2\""), "{page}");
        assert!(page.contains("<td class=\"words\">a|b</td><td>1</td>"), "{page}");
        assert!(
            !page.contains("http://")
                && !page.contains("https://")
                && page.contains("prefers-color-scheme: dark")
        );
    }
}
