//! Edge lists: two numbers a line.

use super::GraphError;
use super::csr::Graph;
use super::source::{MAX_COUNT, Source};

/// Lines `from to [weight]`; `#` or `%` begins a comment. Numbers need not be dense: vertices are numbered in the order
/// of their labels. A comment that begins `# Directed graph` (as SNAP writes it) makes the graph directed, else it is
/// undirected; a comment `# Nodes: n Edges: m` is checked.
pub fn parse(source: &Source<'_>) -> Result<Graph, GraphError> {
    let mut raw: Vec<(u64, u64)> = Vec::new();
    let mut weights = Vec::new();
    let mut directed = false;
    let mut declared = None;
    for line in source.lines() {
        let line = line?;
        if let Some(comment) = line.text.strip_prefix(['#', '%']) {
            let comment = comment.trim().to_ascii_lowercase();
            directed |= comment.starts_with("directed");
            declared = declared.or(snap_counts(&comment).map(|counts| (line.number, counts)));
            continue;
        }
        let mut words =
            line.text.split(|c: char| c.is_ascii_whitespace() || c == ',').filter(|w| !w.is_empty());
        let mut words = words.by_ref().peekable();
        if words.peek().is_none() {
            continue;
        }
        raw.push((
            source.integer(line, &mut words, "a vertex")?,
            source.integer(line, &mut words, "a second vertex")?,
        ));
        let weighted = words.peek().is_some();
        let alike = if weighted { weights.len() + 1 == raw.len() } else { weights.is_empty() };
        if !alike {
            let (found, expected) = if weighted { ("a weight", "none") } else { ("no weight", "one") };
            return Err(source.syntax(
                line.number,
                found.to_owned(),
                format!("{expected}, as on the lines before"),
            ));
        }
        if weighted {
            weights.push(source.real(line, &mut words, "a weight")?);
        }
        source.no_more(line, &mut words)?;
        if raw.len() as u64 > MAX_COUNT {
            return Err(source.syntax(
                line.number,
                "one more edge".to_owned(),
                format!("at most {MAX_COUNT}"),
            ));
        }
    }
    let mut labels: Vec<u64> = raw.iter().flat_map(|&(u, v)| [u, v]).collect();
    labels.sort_unstable();
    labels.dedup();
    if let Some((line, (vertices, edges))) = declared {
        source.expect_count(line, "vertices", labels.len() as u64, vertices)?;
        source.expect_count(line, "edges", raw.len() as u64, edges)?;
    }
    let rank = |label: u64| labels.binary_search(&label).unwrap_or(0) as u32;
    let arcs: Vec<(u32, u32)> = raw.iter().map(|&(u, v)| (rank(u), rank(v))).collect();
    let weights = (!weights.is_empty()).then_some(weights.as_slice());
    let count = labels.len() as u32;
    let mut graph = if directed {
        Graph::directed(count, &arcs, weights)
    } else {
        Graph::undirected(count, &arcs, weights)
    };
    graph.set_labels(labels);
    Ok(graph)
}

fn snap_counts(comment: &str) -> Option<(u64, u64)> {
    let mut words = comment.split_ascii_whitespace();
    (words.next() == Some("nodes:")).then_some(())?;
    let vertices = words.next()?.parse().ok()?;
    (words.next() == Some("edges:")).then_some(())?;
    Some((vertices, words.next()?.parse().ok()?))
}
