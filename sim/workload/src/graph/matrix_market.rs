//! Matrix Market coordinate files, read as graphs: entry (i, j) is an arc from i to j.

use super::GraphError;
use super::entries::Entries;
use super::parsed::Parsed;
use super::source::{Line, Lines, Source, quoted};

struct Kind {
    /// Numbers after the two indices.
    values: usize,
    symmetry: Symmetry,
}

#[derive(Clone, Copy, PartialEq)]
enum Symmetry {
    General,
    /// Also hermitian: real parts are symmetric.
    Symmetric,
    /// The way back has the opposite sign, and there is no diagonal.
    Skew,
}

/// `%%MatrixMarket matrix coordinate FIELD SYMMETRY`, comments, `rows columns entries`, then the entries. `general` gives
/// a directed graph; the others store one triangle and give an undirected one, or, if the way back has the
/// opposite weight, a directed one of both ways. A complex value counts by its real part.
pub fn parse(source: &Source<'_>, lines: &mut Lines<'_>) -> Result<Parsed, GraphError> {
    let kind = kind(source, lines.next_of(|_| true)?.ok_or_else(|| source.empty())?)?;
    let entry = |text: &str| !text.starts_with('%');
    let size = lines.next_of(entry)?.ok_or_else(|| source.empty())?;
    let number = size.number;
    let mut words = size.text.split_ascii_whitespace();
    let rows = source.count(size, &mut words, "the number of rows")?;
    let columns = source.count(size, &mut words, "the number of columns")?;
    let entries = source.count(size, &mut words, "the number of entries")?;
    source.no_more(size, &mut words)?;
    if rows != columns {
        let found = format!("{rows} rows and {columns} columns");
        return Err(source.syntax(number, found, "a square matrix, which a graph is".to_owned()));
    }
    let mut edges = Vec::new();
    let mut weights = Entries::default();
    while let Some(line) = lines.next_of(entry)? {
        let mut words = line.text.split_ascii_whitespace();
        let edge = (source.vertex(line, &mut words, rows)?, source.vertex(line, &mut words, rows)?);
        one_triangle(source, line, &kind, edge)?;
        edges.push(edge);
        for part in 0..kind.values {
            let value = source.real(line, &mut words, "a value")?;
            if part == 0 {
                weights.push(line.number, value);
            }
        }
        source.no_more(line, &mut words)?;
        source.room(line, edges.len(), kind.values > 0)?;
    }
    source.expect_count(number, "entries", edges.len() as u64, entries)?;
    source.justified(number, rows, edges.len() as u64)?;
    let mut parsed = Parsed {
        vertices: rows as u32,
        directed: Some(kind.symmetry == Symmetry::General),
        weights: (kind.values > 0).then_some(weights),
        edges,
        ..Parsed::new("Matrix Market")
    };
    if kind.values == 2 {
        parsed.notes.push("imaginary parts not used".into());
    }
    if kind.symmetry == Symmetry::Skew && kind.values > 0 && source.options.directed.is_none() {
        parsed.with_opposite_ways();
    }
    Ok(parsed)
}

/// A file with a symmetry stores the lower triangle.
fn one_triangle(
    source: &Source<'_>,
    line: Line<'_>,
    kind: &Kind,
    edge: (u32, u32),
) -> Result<(), GraphError> {
    let outside = edge.1 > edge.0 || (kind.symmetry == Symmetry::Skew && edge.0 == edge.1);
    if kind.symmetry == Symmetry::General || !outside {
        return Ok(());
    }
    let found = format!("entry {} {} outside the lower triangle", edge.0 + 1, edge.1 + 1);
    Err(source.syntax(line.number, found, "one triangle only, as the symmetry says".to_owned()))
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
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" | "hermitian" => Symmetry::Symmetric,
        "skew-symmetric" => Symmetry::Skew,
        other => return Err(unknown(other, "one of general, symmetric, skew-symmetric, hermitian")),
    };
    Ok(Kind { values, symmetry })
}
