//! Compressed sparse rows.

use std::sync::Arc;

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
        &self.targets[self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize]
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
    labels: Option<Vec<u64>>,
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
        }
    }

    /// Sets the numbers that the vertices have in the file.
    pub(super) fn set_labels(&mut self, labels: Vec<u64>) {
        self.labels = Some(labels);
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
}
