//! Which loads leave a GPU for lines that another GPM of it loads too (hmg.md section 12, redundant inter-GPU loads).

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// Loads of all nodes, by line.
#[derive(Clone)]
pub(super) struct Sharing {
    gpms: u32,
    /// By GPU.
    lines: Vec<HashMap<u64, Line>>,
}

/// What the GPMs of a GPU did with a line.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Line {
    /// GPMs that have loaded it, one bit each.
    loaded: u8,
    /// Loads that another GPU answered.
    left: u32,
}

/// What has to be saved: lines in order, so that equal states are equal bytes.
#[derive(Serialize, Deserialize)]
pub(super) struct SharingState(Vec<BTreeMap<u64, Line>>);

impl Sharing {
    /// No load yet.
    pub fn new(nodes: u32, gpms: u32) -> Sharing {
        Sharing { gpms, lines: vec![HashMap::new(); (nodes / gpms) as usize] }
    }

    /// A load of a node is answered; `far` by another GPU, for this load alone.
    pub fn load(&mut self, node: u32, line: u64, far: bool) {
        // Without GPMs nothing can be shared.
        if self.gpms == 1 {
            return;
        }
        let entry = self.lines[(node / self.gpms) as usize].entry(line).or_default();
        entry.loaded |= 1 << (node % self.gpms);
        entry.left += u32::from(far);
    }

    /// Loads that left their GPU, and those of them whose line another GPM of the GPU has loaded too.
    pub fn leaving(&self) -> (u64, u64) {
        let gone = self.lines.iter().flat_map(HashMap::values).filter(|line| line.left > 0);
        gone.fold((0, 0), |(all, shared), line| {
            let left = u64::from(line.left);
            (all + left, shared + if line.loaded.count_ones() > 1 { left } else { 0 })
        })
    }

    /// What has to be saved.
    pub fn state(&self) -> SharingState {
        let ordered = |lines: &HashMap<u64, Line>| lines.iter().map(|(k, v)| (*k, *v)).collect();
        SharingState(self.lines.iter().map(ordered).collect())
    }

    /// Goes on from what [`Sharing::state`] gave; false when it is of another fabric.
    #[must_use]
    pub fn resume(&mut self, state: SharingState) -> bool {
        if state.0.len() != self.lines.len() {
            return false;
        }
        self.lines = state.0.into_iter().map(|lines| lines.into_iter().collect()).collect();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_redundant_if_another_gpm_of_the_gpu_loads_the_line() {
        let mut seen = Sharing::new(8, 4);
        // GPU 0: GPMs 0 and 2 load line 5, GPM 2 finds it in the GPU.
        seen.load(0, 5, true);
        seen.load(2, 5, false);
        // Line 6 is loaded by one GPM only, twice from another GPU; GPU 1 does not count for GPU 0.
        seen.load(0, 6, true);
        seen.load(0, 6, true);
        seen.load(4, 6, false);
        assert_eq!(seen.leaving(), (3, 1));
        let mut again = Sharing::new(8, 4);
        assert!(again.resume(seen.state()));
        again.load(3, 6, false);
        assert_eq!(again.leaving(), (3, 3));
        assert!(!Sharing::new(4, 4).resume(seen.state()), "of another fabric");
    }

    #[test]
    fn gpus_of_one_module_share_nothing() {
        let mut seen = Sharing::new(4, 1);
        seen.load(0, 5, true);
        assert_eq!(seen.leaving(), (0, 0));
    }
}
