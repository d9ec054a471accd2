//! DIMACS shortest-path files (`p sp`) and PACE tree-width files (`p tw`).

use super::GraphError;
use super::entries::Entries;
use super::parsed::Parsed;
use super::source::{Lines, Source, quoted};

/// `p sp n m` and m lines `a from to length` give a directed graph with weights; `p tw n m` and m lines `u v` an
/// undirected one without. Lines whose first word is `c` are comments.
pub fn parse(source: &Source<'_>, lines: &mut Lines<'_>) -> Result<Parsed, GraphError> {
    let head = lines.next_of(|text| !is_comment(text))?.ok_or_else(|| source.empty())?;
    let number = head.number;
    let mut words = head.text.split_ascii_whitespace();
    let shortest_path = match (words.next(), words.next()) {
        (Some("p"), Some("sp")) => true,
        (Some("p"), Some("tw")) => false,
        _ => {
            return Err(source.syntax(number, quoted(head.text), "\"p sp N M\" or \"p tw N M\"".to_owned()));
        }
    };
    let vertices = source.count(head, &mut words, "the number of vertices")?;
    let count = source.count(head, &mut words, "the number of edges")?;
    source.no_more(head, &mut words)?;
    let mut edges = Vec::new();
    let mut weights = Entries::default();
    while let Some(line) = lines.next_of(|text| !is_comment(text))? {
        let mut words = line.text.split_ascii_whitespace();
        if shortest_path && words.next() != Some("a") {
            return Err(source.syntax(line.number, quoted(line.text), "\"a FROM TO LENGTH\"".to_owned()));
        }
        edges.push((source.vertex(line, &mut words, vertices)?, source.vertex(line, &mut words, vertices)?));
        if shortest_path {
            weights.push(line.number, source.real(line, &mut words, "a length")?);
        }
        source.no_more(line, &mut words)?;
        source.room(line, edges.len(), shortest_path)?;
    }
    source.expect_count(number, "edges", edges.len() as u64, count)?;
    source.justified(number, vertices, edges.len() as u64)?;
    Ok(Parsed {
        vertices: vertices as u32,
        directed: Some(shortest_path),
        weights: shortest_path.then_some(weights),
        edges,
        ..Parsed::new(if shortest_path { "DIMACS shortest paths" } else { "PACE tree width" })
    })
}

fn is_comment(text: &str) -> bool {
    text == "c" || text.starts_with("c ") || text.starts_with("c\t")
}
