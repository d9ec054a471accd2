//! A total order by (T, physical time) exists. Times alone order operations of different instants; inside an instant physical time has to respect program order and to
//! bring a write before the loads of its line (they see it, by the rule of values): it can, iff these two relations have no cycle.

use super::{Access, Fault, Kind, LogicalTime, Promise};
use std::collections::{BTreeMap, HashMap};

impl LogicalTime {
    /// One fault per instant whose operations have no order.
    pub(super) fn disorder(&self) -> Vec<Fault> {
        let mut all: Vec<&Access> = self.accesses.iter().collect();
        all.sort_by_key(|access| access.time);
        all.chunk_by(|a, b| a.time == b.time).filter_map(|instant| self.cycle(instant)).collect()
    }
    /// Operations of a wave with different levels are ordered.
    fn level(&self, access: &Access) -> u32 {
        match (self.promise, self.fences.get(&access.wave)) {
            (Promise::Sc, _) => access.seq,
            (Promise::Rc, None) => 0,
            (Promise::Rc, Some(fences)) => fences.iter().filter(|fence| **fence < access.seq).count() as u32,
        }
    }
    /// Who must follow each operation of an instant.
    fn followers(&self, instant: &[&Access]) -> Vec<Vec<usize>> {
        let mut after = vec![Vec::new(); instant.len()];
        let mut waves: HashMap<u32, Vec<usize>> = HashMap::new();
        let mut lines: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (i, access) in instant.iter().enumerate() {
            waves.entry(access.wave).or_default().push(i);
            lines.entry(access.line).or_default().push(i);
        }
        for mut wave in waves.into_values() {
            wave.sort_by_key(|i| (self.level(instant[*i]), instant[*i].seq));
            let levels: Vec<&[usize]> =
                wave.chunk_by(|a, b| self.level(instant[*a]) == self.level(instant[*b])).collect();
            for pair in levels.windows(2) {
                pair[0].iter().for_each(|i| after[*i].extend_from_slice(pair[1]));
            }
        }
        for line in lines.into_values() {
            for i in line.iter().copied() {
                let write = !matches!(instant[i].kind, Kind::Load(_));
                let follows = |j: &usize| {
                    let (a, b) = (instant[i], instant[*j]);
                    let loads = write && matches!(b.kind, Kind::Load(_));
                    loads || a.wave == b.wave && a.seq < b.seq
                };
                after[i].extend(line.iter().copied().filter(|j| *j != i).filter(follows));
            }
        }
        after
    }
    /// An operation of the instant that would come before itself.
    fn cycle(&self, instant: &[&Access]) -> Option<Fault> {
        if instant.iter().all(|access| matches!(access.kind, Kind::Load(_))) {
            return None;
        }
        let after = self.followers(instant);
        let mut before = vec![0; instant.len()];
        after.iter().flatten().for_each(|i| before[*i] += 1);
        let mut free: Vec<usize> = (0..instant.len()).filter(|i| before[*i] == 0).collect();
        while let Some(i) = free.pop() {
            for next in &after[i] {
                before[*next] -= 1;
                if before[*next] == 0 {
                    free.push(*next);
                }
            }
        }
        let stuck = (0..instant.len()).find(|i| before[*i] > 0)?;
        let Access { wave, seq, time, .. } = *instant[stuck];
        Some(Fault::NoOrder { time, wave, seq })
    }
}
