//! METIS adjacency files.

use super::GraphError;
use super::csr::{Csr, Graph};
use super::source::{Line, Source, quoted};

struct Header {
    line: usize,
    vertices: u64,
    edges: u64,
    edge_weights: bool,
    /// Numbers before the neighbours on each line: vertex size and vertex weights.
    prefix: usize,
}

/// First line `n m [fmt [ncon]]`, then one line of neighbours per vertex, empty for none; `%` begins a comment.
pub fn parse(source: &Source<'_>) -> Result<Graph, GraphError> {
    let mut lines =
        source.lines().filter(|l| !matches!(l, Ok(line) if line.text.starts_with('%'))).skip_while(blank);
    let first = lines.next().ok_or_else(|| source.empty())??;
    let header = header(source, first)?;
    let mut arcs = Vec::new();
    let mut weights = Vec::new();
    let mut loops = 0;
    let mut rows: u64 = 0;
    let mut row_lines = Vec::new();
    for line in lines {
        let line = line?;
        if rows == header.vertices {
            if line.text.is_empty() {
                continue;
            }
            let expected = format!("the end of the file after {} vertex lines", header.vertices);
            return Err(source.syntax(line.number, quoted(line.text), expected));
        }
        let mut words = line.text.split_ascii_whitespace().peekable();
        for _ in 0..header.prefix {
            source.integer(line, &mut words, "a vertex weight")?;
        }
        while words.peek().is_some() {
            let to = source.vertex(line, &mut words, header.vertices)?;
            loops += u64::from(u64::from(to) == rows);
            arcs.push((rows as u32, to));
            if header.edge_weights {
                weights.push(source.real(line, &mut words, "an edge weight")?);
            }
        }
        row_lines.push(line.number);
        rows += 1;
    }
    source.expect_count(header.line, "vertex lines", rows, header.vertices)?;
    let twice = arcs.len() as u64;
    if twice + loops != 2 * header.edges {
        source.expect_count(header.line, "neighbour entries", twice, 2 * header.edges)?;
    }
    check_symmetry(source, &arcs, &row_lines)?;
    let mut edges = Vec::with_capacity(header.edges as usize);
    let mut kept = Vec::new();
    let loops_twice = twice == 2 * header.edges;
    let mut first_of_pair = false;
    for (i, &(from, to)) in arcs.iter().enumerate() {
        if from == to {
            first_of_pair = !first_of_pair;
        }
        if from < to || (from == to && (first_of_pair || !loops_twice)) {
            edges.push((from, to));
            if header.edge_weights {
                kept.push(weights[i]);
            }
        }
    }
    Ok(Graph::undirected(header.vertices as u32, &edges, header.edge_weights.then_some(&kept)))
}

fn blank(line: &Result<Line<'_>, GraphError>) -> bool {
    matches!(line, Ok(line) if line.text.is_empty())
}

fn header(source: &Source<'_>, line: Line<'_>) -> Result<Header, GraphError> {
    let mut words = line.text.split_ascii_whitespace();
    let vertices = source.count(line, &mut words, "the number of vertices")?;
    let edges = source.count(line, &mut words, "the number of edges")?;
    let format = words.next().unwrap_or("0");
    if format.len() > 3 || !format.bytes().all(|b| b == b'0' || b == b'1') {
        let expected = "a METIS format code of up to three digits 0 or 1".to_owned();
        return Err(source.syntax(line.number, quoted(format), expected));
    }
    let flag = |from_right: usize| format.bytes().rev().nth(from_right) == Some(b'1');
    let constraints = match words.next() {
        Some(word) => source.integer(line, &mut std::iter::once(word), "the number of vertex weights")?,
        None => u64::from(flag(1)),
    };
    source.no_more(line, &mut words)?;
    let weights = if flag(1) { constraints as usize } else { 0 };
    let prefix = usize::from(flag(2)) + weights;
    Ok(Header { line: line.number, vertices, edges, edge_weights: flag(0), prefix })
}

/// Every neighbour must list the vertex too.
fn check_symmetry(source: &Source<'_>, arcs: &[(u32, u32)], row_lines: &[usize]) -> Result<(), GraphError> {
    let out = Csr::from_arcs(row_lines.len() as u32, arcs, None);
    let back = out.transposed();
    for (v, &line) in row_lines.iter().enumerate() {
        let (here, there) = (out.row(v as u32), back.row(v as u32));
        if here == there {
            continue;
        }
        let differ = here.iter().zip(there).position(|(a, b)| a != b).unwrap_or(here.len().min(there.len()));
        let (own, other) = (here.get(differ), there.get(differ));
        let missing = match (own, other) {
            (Some(a), Some(b)) => a.min(b),
            (Some(a), None) | (None, Some(a)) => a,
            (None, None) => continue,
        };
        let (found, expected) = if own == Some(missing) {
            (
                format!("neighbour {} without its way back", missing + 1),
                format!("{} among the neighbours of {}", v + 1, missing + 1),
            )
        } else {
            (format!("a line without {}", missing + 1), format!("{} too, as it lists {}", missing + 1, v + 1))
        };
        return Err(source.syntax(line, found, expected));
    }
    Ok(())
}
