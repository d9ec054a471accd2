//! Edge lists: two numbers a line, with the headers of SNAP or KONECT.

use super::GraphError;
use super::entries::Entries;
use super::konect::{Konect, Third};
use super::parsed::Parsed;
use super::source::{Line, Lines, Source};

/// What comments say.
#[derive(Default)]
struct Comments {
    directed: Option<bool>,
    konect: Option<Konect>,
    /// Line, vertices and edges.
    declared: Option<(usize, u64, u64)>,
}

/// Lines `from to [weight]`; `#` or `%` begins a comment. Numbers need not be dense: vertices are numbered in the order
/// of their labels. A comment that begins `# Directed graph` or `# Undirected graph` (as SNAP writes it)
/// says what the graph is, and so does the first line of a KONECT file ([`Konect`]); without either it is
/// taken as undirected. A comment `# Nodes: n Edges: m`, or the second line of a KONECT file, is checked;
/// vertices that it declares beyond those of the edges have no edge.
pub fn parse(source: &Source<'_>, lines: &mut Lines<'_>) -> Result<Parsed, GraphError> {
    let mut raw: Vec<(u64, u64)> = Vec::new();
    let mut weights = Entries::default();
    let mut comments = Comments::default();
    let mut timed = false;
    while let Some(line) = lines.next()? {
        if let Some(comment) = line.text.strip_prefix(['#', '%']) {
            comments.read(source, line, comment, raw.is_empty())?;
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
        let third = comments.konect.as_ref().map(|konect| konect.third);
        let weight = words.next().map(|word| third_column(source, line, word, third)).transpose()?;
        if third == Some(Third::Weight) && weight.is_none() {
            let expected = "a weight, as the first line says".to_owned();
            return Err(source.syntax(line.number, "the end of the line".to_owned(), expected));
        }
        if third != Some(Third::One) {
            if let Some(weight) = weight {
                weights.push(line.number, weight);
            }
            alike(source, line, raw.len(), weights.values().len(), weight.is_some())?;
        }
        if third.is_some() {
            timed |= words.next_if(|word| word.parse::<f64>().is_ok()).is_some();
        }
        source.no_more(line, &mut words)?;
        source.room(line, raw.len(), !weights.values().is_empty())?;
    }
    let format = comments.format();
    let (count, labels, edges) = numbered(source, raw, weights.values(), &comments)?;
    let mut parsed = Parsed {
        vertices: count,
        directed: comments.directed,
        weights: (!weights.values().is_empty()).then_some(weights),
        edges,
        labels: Some(labels),
        ..Parsed::new(format)
    };
    if timed {
        parsed.notes.push("times not used".into());
    }
    if comments.konect.is_some_and(|konect| konect.third == Third::Multiplicity && parsed.weights.is_some()) {
        parsed.notes.push("weights are multiplicities".into());
    }
    Ok(parsed)
}

impl Comments {
    fn read(
        &mut self,
        source: &Source<'_>,
        line: Line<'_>,
        comment: &str,
        in_front: bool,
    ) -> Result<(), GraphError> {
        let lower = comment.trim().to_ascii_lowercase();
        if line.text.starts_with('%') && in_front {
            match &self.konect {
                None => self.konect = Konect::of(source, line, &lower)?,
                Some(_) => self.declared = self.declared.or(Konect::counts(source, line, &lower)?),
            }
        }
        if let Some(konect) = &self.konect {
            self.directed = Some(konect.directed);
            return Ok(());
        }
        let says = |word: &str, directed| lower.starts_with(word).then_some(directed);
        self.directed = self.directed.or(says("directed", true)).or(says("undirected", false));
        self.declared = self.declared.or(snap_counts(&lower).map(|(n, m)| (line.number, n, m)));
        Ok(())
    }

    fn format(&self) -> &'static str {
        match (&self.konect, self.directed, self.declared) {
            (Some(_), ..) => "KONECT edge list",
            (None, None, None) => "edge list",
            _ => "SNAP edge list",
        }
    }
}

/// The third word of a line: a weight, or, in some KONECT files, something else.
fn third_column(
    source: &Source<'_>,
    line: Line<'_>,
    word: &str,
    third: Option<Third>,
) -> Result<f64, GraphError> {
    let what = match third {
        None | Some(Third::Weight) => "a weight",
        Some(Third::Multiplicity) => "a multiplicity",
        Some(Third::One) => "1, as the first line says unweighted",
    };
    let value = source.real(line, &mut std::iter::once(word), what)?;
    let fits = match third {
        None | Some(Third::Weight) => true,
        Some(Third::Multiplicity) => value >= 1.0 && value.fract() == 0.0,
        Some(Third::One) => value == 1.0,
    };
    let expected = || match third {
        Some(Third::Multiplicity) => "a multiplicity (a whole number of at least 1)".to_owned(),
        _ => what.to_owned(),
    };
    if fits { Ok(value) } else { Err(source.syntax(line.number, format!("\"{word}\""), expected())) }
}

/// Either every edge has a weight or none has.
fn alike(
    source: &Source<'_>,
    line: Line<'_>,
    edges: usize,
    weights: usize,
    weighted: bool,
) -> Result<(), GraphError> {
    if weights == if weighted { edges } else { 0 } {
        return Ok(());
    }
    let (found, expected) = if weighted { ("a weight", "none") } else { ("no weight", "one") };
    Err(source.syntax(line.number, found.to_owned(), format!("{expected}, as on the lines before")))
}

/// Numbers the vertices from 0 in the order of their labels: how many there are, the label of each, and the
/// edges.
fn numbered(
    source: &Source<'_>,
    raw: Vec<(u64, u64)>,
    weights: &[f64],
    comments: &Comments,
) -> Result<(u32, Vec<u64>, Vec<(u32, u32)>), GraphError> {
    let mut labels: Vec<u64> = raw.iter().flat_map(|&(u, v)| [u, v]).collect();
    labels.sort_unstable();
    labels.dedup();
    labels.shrink_to_fit();
    if let Some((line, vertices, edges)) = comments.declared {
        let found = raw.len() as u64;
        // A KONECT file may count an edge as often as its multiplicity says.
        let multiple = weights.iter().sum::<f64>() == edges as f64
            && comments.konect.as_ref().is_some_and(|konect| konect.third == Third::Multiplicity);
        if !multiple {
            source.expect_count(line, "edges", found, edges)?;
        }
        if labels.len() as u64 > vertices {
            source.expect_count(line, "vertices", labels.len() as u64, vertices)?;
        }
        source.justified(line, vertices, found)?;
        with_isolated(&mut labels, vertices);
    }
    let first = labels.first().copied().unwrap_or(0);
    let dense = labels.last().is_some_and(|last| last - first == labels.len() as u64 - 1);
    let rank = |label: u64| match dense {
        true => (label - first) as u32,
        false => labels.binary_search(&label).unwrap_or(0) as u32,
    };
    let edges = raw.iter().map(|&(u, v)| (rank(u), rank(v))).collect();
    Ok((labels.len() as u32, labels, edges))
}

/// Adds labels up to the number of vertices declared: those of 0..n or 1..=n that no edge names, if the
/// others are of these; else such as follow the last.
fn with_isolated(labels: &mut Vec<u64>, vertices: u64) {
    let more = vertices - labels.len() as u64;
    if more == 0 {
        return;
    }
    let (first, last) = (labels.first().copied().unwrap_or(0), labels.last().copied().unwrap_or(0));
    if last < vertices {
        *labels = (0..vertices).collect();
    } else if first >= 1 && last == vertices {
        *labels = (1..=vertices).collect();
    } else {
        labels.extend((1..=more).map(|next| last.saturating_add(next)));
    }
}

fn snap_counts(comment: &str) -> Option<(u64, u64)> {
    let mut words = comment.split_ascii_whitespace();
    (words.next() == Some("nodes:")).then_some(())?;
    let vertices = words.next()?.parse().ok()?;
    (words.next() == Some("edges:")).then_some(())?;
    Some((vertices, words.next()?.parse().ok()?))
}
