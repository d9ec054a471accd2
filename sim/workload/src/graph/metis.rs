//! METIS adjacency files.

use super::GraphError;
use super::csr::Csr;
use super::entries::Entries;
use super::parsed::Parsed;
use super::source::{Line, Lines, Source, quoted};

struct Header {
    line: usize,
    vertices: u64,
    edges: u64,
    edge_weights: bool,
    /// Numbers before the neighbours on each line: vertex size and vertex weights.
    prefix: usize,
}

/// The neighbours of all vertices.
struct Rows {
    arcs: Vec<(u32, u32)>,
    weights: Entries,
    /// Line of each vertex.
    lines: Vec<usize>,
    loops: u64,
}

/// First line `n m [fmt [ncon]]`, then one line of neighbours per vertex, empty for none; `%` begins a
/// comment. Every edge stands twice, with the same weight. Where a directed graph is asked for, every
/// neighbour is an arc, with or without a way back, and `m` may also count these.
pub fn parse(source: &Source<'_>, lines: &mut Lines<'_>) -> Result<Parsed, GraphError> {
    let first = lines.next_of(|text| !text.starts_with('%'))?.ok_or_else(|| source.empty())?;
    let header = header(source, first)?;
    let rows = rows(source, lines, &header)?;
    source.expect_count(header.line, "vertex lines", rows.lines.len() as u64, header.vertices)?;
    let entries = rows.arcs.len() as u64;
    let as_arcs = source.options.directed == Some(true);
    if entries + rows.loops != 2 * header.edges && !(as_arcs && entries == header.edges) {
        source.expect_count(header.line, "neighbour entries", entries, 2 * header.edges)?;
    }
    let mut parsed = Parsed { vertices: header.vertices as u32, ..Parsed::new("METIS") };
    if header.prefix > 0 {
        parsed.notes.push("sizes and weights of vertices not used".into());
    }
    if as_arcs {
        parsed.directed = Some(false);
        parsed.edges = rows.arcs;
        parsed.weights = header.edge_weights.then_some(rows.weights);
        return Ok(parsed);
    }
    check_symmetry(source, &rows, header.edge_weights)?;
    once(&mut parsed, rows, &header);
    Ok(parsed)
}

fn rows(source: &Source<'_>, lines: &mut Lines<'_>, header: &Header) -> Result<Rows, GraphError> {
    let mut all = Rows { arcs: Vec::new(), weights: Entries::default(), lines: Vec::new(), loops: 0 };
    while let Some(line) = lines.next()? {
        if line.text.starts_with('%') {
            continue;
        }
        let row = all.lines.len() as u64;
        if row == header.vertices {
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
            all.loops += u64::from(u64::from(to) == row);
            all.arcs.push((row as u32, to));
            if header.edge_weights {
                all.weights.push(line.number, source.real(line, &mut words, "an edge weight")?);
            }
        }
        all.lines.push(line.number);
        // An edge stands twice.
        source.room(line, all.arcs.len() / 2, header.edge_weights)?;
        source.justified(line.number, row + 1, all.arcs.len() as u64)?;
    }
    Ok(all)
}

/// Takes of each edge one of the two entries.
fn once(parsed: &mut Parsed, rows: Rows, header: &Header) {
    let loops_twice = rows.arcs.len() as u64 == 2 * header.edges;
    let weights = rows.weights.values();
    let mut kept = Vec::new();
    let mut first_of_pair = false;
    for (i, &(from, to)) in rows.arcs.iter().enumerate() {
        if from == to {
            first_of_pair = !first_of_pair;
        }
        if from < to || (from == to && (first_of_pair || !loops_twice)) {
            parsed.edges.push((from, to));
            if header.edge_weights {
                kept.push(weights[i]);
            }
        }
    }
    parsed.directed = Some(false);
    if header.edge_weights {
        parsed.edge_weights = Some(kept);
        parsed.weights = Some(rows.weights);
    }
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

/// Every neighbour must list the vertex too, with the same weight.
fn check_symmetry(source: &Source<'_>, rows: &Rows, weighted: bool) -> Result<(), GraphError> {
    let weights = weighted.then_some(rows.weights.values());
    let out = Csr::from_arcs(rows.lines.len() as u32, &rows.arcs, weights);
    let back = out.transposed();
    for (v, &line) in (0u32..).zip(&rows.lines) {
        let problem = one_way(&out, &back, v).or_else(|| other_weight(&out, &back, v));
        if let Some((found, expected)) = problem {
            return Err(source.syntax(line, found, expected));
        }
    }
    Ok(())
}

/// A neighbour of `v` that does not list it, or the other way round: what is found, and what is expected.
fn one_way(out: &Csr, back: &Csr, v: u32) -> Option<(String, String)> {
    let (here, there) = (out.row(v), back.row(v));
    if here == there {
        return None;
    }
    let differ = here.iter().zip(there).position(|(a, b)| a != b).unwrap_or(here.len().min(there.len()));
    let (own, other) = (here.get(differ), there.get(differ));
    let missing = own.into_iter().chain(other).min()?;
    Some(if own == Some(missing) {
        (
            format!("neighbour {} without its way back", missing + 1),
            format!("{} among the neighbours of {}", v + 1, missing + 1),
        )
    } else {
        (format!("a line without {}", missing + 1), format!("{} too, as it lists {}", missing + 1, v + 1))
    })
}

/// An edge of `v` with two weights: what is found, and what is expected. Parallel edges may stand in any
/// order.
fn other_weight(out: &Csr, back: &Csr, v: u32) -> Option<(String, String)> {
    let (here, there) = (out.row_weights(v)?, back.row_weights(v)?);
    let mut at = 0;
    for group in out.row(v).chunk_by(|a, b| a == b) {
        let sorted = |weights: &[f64]| {
            let mut sorted = weights[at..at + group.len()].to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted
        };
        let (own, other) = (sorted(here), sorted(there));
        if let Some((own, other)) = own.iter().zip(&other).find(|(own, other)| own != other) {
            let to = group[0] + 1;
            return Some((
                format!("weight {own} of the edge to {to}"),
                format!("{other}, its weight on the line of {to}"),
            ));
        }
        at += group.len();
    }
    None
}
