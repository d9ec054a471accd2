//! Compressed sparse rows.

use std::sync::Arc;

use super::entries::Entries;
use super::origin::Origin;

/// Adjacency in compressed sparse rows; each row's targets are in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    offsets: Vec<u32>,
    targets: Vec<u32>,
    weights: Option<Vec<f64>>,
}

impl Csr {
    /// Builds rows from arcs `(from, to)` and, if given, their weights in the same order. Arcs that occur several times
    /// stay so.
    pub fn from_arcs(vertices: u32, arcs: &[(u32, u32)], weights: Option<&[f64]>) -> Self {
        // Two stable passes, by target and then by source, put every row in order in linear time.
        let mut offsets = vec![0u32; vertices as usize + 1];
        for &(_, to) in arcs {
            offsets[to as usize + 1] += 1;
        }
        for v in 0..vertices as usize {
            offsets[v + 1] += offsets[v];
        }
        let mut next = offsets.clone();
        let mut sources = vec![0; arcs.len()];
        let mut moved = weights.map(|w| vec![0.0; w.len()]);
        for (i, &(from, to)) in arcs.iter().enumerate() {
            let slot = &mut next[to as usize];
            sources[*slot as usize] = from;
            if let (Some(moved), Some(weights)) = (&mut moved, weights) {
                moved[*slot as usize] = weights[i];
            }
            *slot += 1;
        }
        Self { offsets, targets: sources, weights: moved }.transposed()
    }

    /// The same arcs, turned round.
    pub fn transposed(&self) -> Self {
        let vertices = self.offsets.len() - 1;
        let mut offsets = vec![0u32; vertices + 1];
        for &to in &self.targets {
            offsets[to as usize + 1] += 1;
        }
        for v in 0..vertices {
            offsets[v + 1] += offsets[v];
        }
        let mut next = offsets.clone();
        let mut targets = vec![0; self.targets.len()];
        let mut weights = self.weights.as_ref().map(|w| vec![0.0; w.len()]);
        for v in 0..vertices {
            for i in self.offsets[v] as usize..self.offsets[v + 1] as usize {
                let slot = &mut next[self.targets[i] as usize];
                targets[*slot as usize] = v as u32;
                if let (Some(new), Some(old)) = (&mut weights, &self.weights) {
                    new[*slot as usize] = old[i];
                }
                *slot += 1;
            }
        }
        Self { offsets, targets, weights }
    }

    /// First arc of each row, and the number of arcs at the end: `vertices + 1` numbers.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// Target of each arc, row after row.
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// Weight of each arc, if the file has weights.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// Targets of one row.
    pub fn row(&self, vertex: u32) -> &[u32] {
        &self.targets[self.range(vertex)]
    }

    /// Weights of one row, if the file has weights.
    pub fn row_weights(&self, vertex: u32) -> Option<&[f64]> {
        self.weights.as_deref().map(|weights| &weights[self.range(vertex)])
    }

    fn range(&self, vertex: u32) -> std::ops::Range<usize> {
        self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize
    }
}

/// A graph with vertices 0..n. An undirected graph holds both directions of each edge (a loop once).
#[derive(Clone, Debug)]
pub struct Graph {
    name: String,
    directed: bool,
    edges: u64,
    out: Arc<Csr>,
    incoming: Arc<Csr>,
    labels: Option<Arc<[u64]>>,
    /// Weights as the file holds them.
    entries: Option<Arc<Entries>>,
    origin: Origin,
}

impl Graph {
    /// A directed graph of the given arcs.
    pub fn directed(vertices: u32, arcs: &[(u32, u32)], weights: Option<&[f64]>) -> Self {
        let out = Csr::from_arcs(vertices, arcs, weights);
        let incoming = Arc::new(out.transposed());
        Self {
            name: String::new(),
            directed: true,
            edges: arcs.len() as u64,
            out: Arc::new(out),
            incoming,
            labels: None,
            entries: None,
            origin: Origin::default(),
        }
    }

    /// An undirected graph; each edge is given once, in either direction.
    pub fn undirected(vertices: u32, edges: &[(u32, u32)], weights: Option<&[f64]>) -> Self {
        let mut arcs = Vec::with_capacity(2 * edges.len());
        let mut both = weights.map(|_| Vec::with_capacity(2 * edges.len()));
        for (i, &(u, v)) in edges.iter().enumerate() {
            arcs.push((u, v));
            if u != v {
                arcs.push((v, u));
            }
            if let (Some(both), Some(weights)) = (&mut both, weights) {
                both.extend(std::iter::repeat_n(weights[i], 1 + usize::from(u != v)));
            }
        }
        let out = Arc::new(Csr::from_arcs(vertices, &arcs, both.as_deref()));
        Self {
            name: String::new(),
            directed: false,
            edges: edges.len() as u64,
            incoming: out.clone(),
            out,
            labels: None,
            entries: None,
            origin: Origin::default(),
        }
    }

    /// Sets the numbers that the vertices have in the file.
    pub(super) fn set_labels(&mut self, labels: Vec<u64>) {
        self.labels = Some(labels.into());
    }

    /// Sets the weights as the file holds them.
    pub(super) fn set_entries(&mut self, entries: Option<Entries>) {
        self.entries = entries.map(Arc::new);
    }

    /// Sets where the graph comes from.
    pub fn set_origin(&mut self, origin: Origin) {
        self.origin = origin;
    }

    /// Sets the file that the graph comes from.
    pub(super) fn set_file(&mut self, path: &str) {
        self.origin.file = Some(path.to_owned());
    }

    /// Where the graph comes from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Sets the name that reports show.
    pub fn set_name(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// Name of the graph: the file's name without endings.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the edges have a direction.
    pub fn is_directed(&self) -> bool {
        self.directed
    }

    /// Number of vertices.
    pub fn vertices(&self) -> u32 {
        (self.out.offsets.len() - 1) as u32
    }

    /// Number of edges as its file counts them: an undirected edge once.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// Number of arcs: an undirected edge twice, a loop once.
    pub fn arcs(&self) -> u64 {
        self.out.targets.len() as u64
    }

    /// Arcs by the vertex they leave.
    pub fn out(&self) -> &Csr {
        &self.out
    }

    /// Arcs by the vertex they enter; each row lists where they come from.
    pub fn incoming(&self) -> &Csr {
        &self.incoming
    }

    /// Number of a vertex in its file, for files whose numbers are not 1..n; else the vertex plus 1.
    pub fn label(&self, vertex: u32) -> u64 {
        self.labels.as_ref().map_or(u64::from(vertex) + 1, |l| l[vertex as usize])
    }

    /// The first weight, in the order of the file, of which `find` finds something: where it stands
    /// (`far.txt line 2`), the weight, and what was found.
    pub fn first_weight<T>(&self, find: impl Fn(f64) -> Option<T>) -> Option<(String, f64, T)> {
        let found = |weights: &[f64]| {
            weights.iter().enumerate().find_map(|(number, weight)| Some((number, *weight, find(*weight)?)))
        };
        if let (Some(file), Some(entries)) = (&self.origin.file, &self.entries)
            && let Some((number, weight, what)) = found(entries.values())
        {
            return Some((format!("{file} line {}", entries.line(number)), weight, what));
        }
        // One that the file does not hold: of a way back, or of a graph without a file.
        let (_, weight, what) = found(self.out.weights()?)?;
        Some((format!("the graph {}", self.name), weight, what))
    }

    /// Gives all that tells graphs apart to `visit`, piece by piece: vertices, direction, and the arcs by
    /// the vertex they leave, with their weights. A graph gives the same bytes in whichever format and
    /// packing its file is.
    pub fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        visit(&self.vertices().to_le_bytes());
        visit(&[u8::from(self.directed), u8::from(self.out.weights.is_some())]);
        self.out.offsets.iter().chain(&self.out.targets).for_each(|n| visit(&n.to_le_bytes()));
        self.out.weights.iter().flatten().for_each(|weight| visit(&weight.to_bits().to_le_bytes()));
    }
}
