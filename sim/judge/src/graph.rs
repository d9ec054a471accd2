//! Cycles in large graphs.

use std::collections::{HashMap, VecDeque};

/// A directed graph with an edge's relation as its label.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    out: Vec<Vec<(u32, &'static str)>>,
}

impl Graph {
    /// So many nodes.
    pub fn new(nodes: usize) -> Graph {
        Graph { out: vec![Vec::new(); nodes] }
    }

    /// One more node.
    pub fn node(&mut self) -> u32 {
        self.out.push(Vec::new());
        self.out.len() as u32 - 1
    }

    /// An edge.
    pub fn edge(&mut self, from: u32, to: u32, label: &'static str) {
        self.out[from as usize].push((to, label));
    }

    /// A shortest cycle through one of the first nodes that lie on any: its nodes, each with the relation by which it is reached from the one before, the first one
    /// from the last.
    pub fn cycle(&self) -> Option<Vec<(u32, &'static str)>> {
        let mut waits = vec![0u32; self.out.len()];
        self.out.iter().flatten().for_each(|(to, _)| waits[*to as usize] += 1);
        let mut ready: Vec<u32> = (0..waits.len() as u32).filter(|n| waits[*n as usize] == 0).collect();
        let mut done = 0;
        while let Some(node) = ready.pop() {
            done += 1;
            for (to, _) in &self.out[node as usize] {
                waits[*to as usize] -= 1;
                if waits[*to as usize] == 0 {
                    ready.push(*to);
                }
            }
        }
        if done == self.out.len() {
            return None;
        }
        let left = (0..waits.len() as u32).filter(|n| waits[*n as usize] > 0);
        let found = left.take(512).filter_map(|start| self.through(start, &waits));
        found.min_by_key(Vec::len).or_else(|| self.any(&waits))
    }

    /// A shortest cycle through a node.
    fn through(&self, start: u32, waits: &[u32]) -> Option<Vec<(u32, &'static str)>> {
        let mut from: HashMap<u32, (u32, &'static str)> = HashMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for (to, label) in &self.out[node as usize] {
                if waits[*to as usize] > 0 && !from.contains_key(to) {
                    from.insert(*to, (node, label));
                    queue.push_back(*to);
                }
            }
            if from.contains_key(&start) {
                break;
            }
        }
        let mut path = Vec::new();
        let mut at = start;
        while let Some((before, label)) = from.get(&at) {
            path.push((at, *label));
            at = *before;
            if at == start {
                path.reverse();
                return Some(path);
            }
        }
        None
    }

    /// Some cycle: nodes that only lie behind one have others before them.
    fn any(&self, waits: &[u32]) -> Option<Vec<(u32, &'static str)>> {
        let mut back: HashMap<u32, u32> = HashMap::new();
        for (from, edges) in (0..).zip(&self.out).filter(|(n, _)| waits[*n as usize] > 0) {
            edges.iter().filter(|(to, _)| waits[*to as usize] > 0).for_each(|(to, _)| {
                back.insert(*to, from);
            });
        }
        let mut at = *back.keys().min()?;
        for _ in 0..waits.len() {
            at = *back.get(&at)?;
        }
        self.through(at, waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_cycle_is_found() {
        let mut graph = Graph::new(6);
        for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 1), (2, 5), (4, 0)] {
            graph.edge(from, to, "x");
        }
        let cycle = graph.cycle().expect("there is one");
        assert_eq!(cycle.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [2, 3, 1]);
        graph.edge(3, 2, "y");
        assert_eq!(graph.cycle().expect("there is one"), [(3, "x"), (2, "y")]);
    }

    #[test]
    fn what_only_follows_a_cycle_is_not_on_it() {
        let mut graph = Graph::new(1200);
        for n in 0..1198 {
            graph.edge(n + 1, n, "x");
        }
        graph.edge(1198, 1199, "y");
        graph.edge(1199, 1198, "z");
        let mut nodes: Vec<u32> = graph.cycle().expect("there is one").iter().map(|(n, _)| *n).collect();
        nodes.sort_unstable();
        assert_eq!(nodes, [1198, 1199]);
    }

    #[test]
    fn a_line_has_no_cycle() {
        let mut graph = Graph::new(3);
        graph.edge(0, 1, "x");
        graph.edge(0, 2, "x");
        graph.edge(1, 2, "x");
        assert_eq!(graph.cycle(), None);
    }
}
