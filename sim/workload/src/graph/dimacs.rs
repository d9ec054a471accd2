//! DIMACS shortest-path files (`p sp`) and PACE tree-width files (`p tw`).

use super::GraphError;
use super::csr::Graph;
use super::source::{Source, quoted};

/// `p sp n m` and m lines `a from to length` give a directed graph with weights; `p tw n m` and m lines `u v` an
/// undirected one without. Lines whose first word is `c` are comments.
pub fn parse(source: &Source<'_>) -> Result<Graph, GraphError> {
    let mut lines = source.lines().filter(|l| !matches!(l, Ok(line) if is_comment(line.text)));
    let head = lines.next().ok_or_else(|| source.empty())??;
    let mut words = head.text.split_ascii_whitespace();
    let shortest_path = match (words.next(), words.next()) {
        (Some("p"), Some("sp")) => true,
        (Some("p"), Some("tw")) => false,
        _ => {
            return Err(source.syntax(
                head.number,
                quoted(head.text),
                "\"p sp N M\" or \"p tw N M\"".to_owned(),
            ));
        }
    };
    let vertices = source.count(head, &mut words, "the number of vertices")?;
    let count = source.count(head, &mut words, "the number of edges")?;
    source.no_more(head, &mut words)?;
    let mut arcs = Vec::new();
    let mut weights = Vec::new();
    for line in lines {
        let line = line?;
        let mut words = line.text.split_ascii_whitespace();
        if shortest_path {
            let tag = words.next().unwrap_or("");
            if tag != "a" {
                return Err(source.syntax(line.number, quoted(line.text), "\"a FROM TO LENGTH\"".to_owned()));
            }
        }
        arcs.push((source.vertex(line, &mut words, vertices)?, source.vertex(line, &mut words, vertices)?));
        if shortest_path {
            weights.push(source.real(line, &mut words, "a length")?);
        }
        source.no_more(line, &mut words)?;
    }
    source.expect_count(head.number, "edges", arcs.len() as u64, count)?;
    Ok(if shortest_path {
        Graph::directed(vertices as u32, &arcs, Some(&weights))
    } else {
        Graph::undirected(vertices as u32, &arcs, None)
    })
}

fn is_comment(text: &str) -> bool {
    text.is_empty() || text == "c" || text.starts_with("c ") || text.starts_with("c\t")
}
