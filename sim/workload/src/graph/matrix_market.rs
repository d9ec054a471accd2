//! Matrix Market coordinate files, read as graphs: entry (i, j) is an arc from i to j.

use super::GraphError;
use super::csr::Graph;
use super::source::{Line, Source, quoted};

struct Kind {
    /// Numbers after the two indices.
    values: usize,
    symmetric: bool,
    /// A skew-symmetric file stores no diagonal.
    strict: bool,
}

/// `%%MatrixMarket matrix coordinate FIELD SYMMETRY`, comments, `rows columns entries`, then the entries. `general` gives
/// a directed graph; the others store one triangle and give an undirected one. A complex value counts by its real part.
pub fn parse(source: &Source<'_>) -> Result<Graph, GraphError> {
    let mut lines = source.lines();
    let kind = loop {
        let line = lines.next().ok_or_else(|| source.empty())??;
        if !line.text.is_empty() {
            break kind(source, line)?;
        }
    };
    let mut lines =
        lines.filter(|l| !matches!(l, Ok(line) if line.text.is_empty() || line.text.starts_with('%')));
    let size = lines.next().ok_or_else(|| source.empty())??;
    let mut words = size.text.split_ascii_whitespace();
    let rows = source.count(size, &mut words, "the number of rows")?;
    let columns = source.count(size, &mut words, "the number of columns")?;
    let entries = source.count(size, &mut words, "the number of entries")?;
    source.no_more(size, &mut words)?;
    if rows != columns {
        let found = format!("{rows} rows and {columns} columns");
        return Err(source.syntax(size.number, found, "a square matrix, which a graph is".to_owned()));
    }
    let mut arcs = Vec::new();
    let mut weights = Vec::new();
    for line in lines {
        let line = line?;
        let mut words = line.text.split_ascii_whitespace();
        let arc = (source.vertex(line, &mut words, rows)?, source.vertex(line, &mut words, rows)?);
        if kind.symmetric && (arc.1 > arc.0 || (kind.strict && arc.0 == arc.1)) {
            let found = format!("entry {} {} outside the lower triangle", arc.0 + 1, arc.1 + 1);
            return Err(source.syntax(
                line.number,
                found,
                "one triangle only, as the symmetry says".to_owned(),
            ));
        }
        arcs.push(arc);
        for part in 0..kind.values {
            let value = source.real(line, &mut words, "a value")?;
            if part == 0 {
                weights.push(value);
            }
        }
        source.no_more(line, &mut words)?;
    }
    source.expect_count(size.number, "entries", arcs.len() as u64, entries)?;
    let weights = (kind.values > 0).then_some(weights.as_slice());
    let build = if kind.symmetric { Graph::undirected } else { Graph::directed };
    Ok(build(rows as u32, &arcs, weights))
}

fn kind(source: &Source<'_>, line: Line<'_>) -> Result<Kind, GraphError> {
    let lower = line.text.to_ascii_lowercase();
    let words: Vec<&str> = lower.split_ascii_whitespace().collect();
    let unknown =
        |found: &str, expected: &str| source.syntax(line.number, quoted(found), expected.to_owned());
    let &[banner, object, format, field, symmetry] = words.as_slice() else {
        return Err(unknown(line.text, "\"%%MatrixMarket matrix coordinate FIELD SYMMETRY\""));
    };
    if banner != "%%matrixmarket" || object != "matrix" || format != "coordinate" {
        return Err(unknown(line.text, "\"%%MatrixMarket matrix coordinate FIELD SYMMETRY\""));
    }
    let values = match field {
        "pattern" => 0,
        "real" | "integer" | "double" => 1,
        "complex" => 2,
        other => return Err(unknown(other, "one of pattern, real, integer, complex")),
    };
    let (symmetric, strict) = match symmetry {
        "general" => (false, false),
        "symmetric" | "hermitian" => (true, false),
        "skew-symmetric" => (true, true),
        other => return Err(unknown(other, "one of general, symmetric, skew-symmetric, hermitian")),
    };
    Ok(Kind { values, symmetric, strict })
}
