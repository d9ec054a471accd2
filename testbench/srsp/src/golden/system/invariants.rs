//! What must hold in every state (srsp.md section 7, end).

use super::super::lines::State;
use super::super::word::line_of;
use super::{Cache, System};

impl System {
    /// A broken rule.
    pub fn check(&self) -> Option<String> {
        self.check_blocks().or_else(|| self.check_probed()).or_else(|| self.check_modifiers())
    }
    fn check_blocks(&self) -> Option<String> {
        let check = |(i, l1): (usize, &std::rc::Rc<Cache>)| Some(format!("L1 {i}: {}", l1.core().check()?));
        let l1 = self.l1.iter().enumerate().find_map(check);
        l1.or_else(|| {
            self.l2.iter().enumerate().find_map(|(i, l2)| Some(format!("bank {i}: {}", l2.check()?)))
        })
    }
    /// After its PACK and until the unlock no probed L1 has the line in V or D.
    fn check_probed(&self) -> Option<String> {
        self.acked.iter().find_map(|(line, l1s)| {
            let holds = |l1: &&u8| match &*self.l1[usize::from(**l1)] {
                Cache::Scoped(l1) => matches!(l1.core.lines.state(*line), State::V | State::D),
                _ => false,
            };
            let l1 = l1s.iter().find(holds)?;
            Some(format!("L1 {l1} has line {line:#x} again, while it is locked"))
        })
    }
    /// At most one L1 has an LR entry of an address; at most one has a line in O.
    fn check_modifiers(&self) -> Option<String> {
        let mut seen = std::collections::BTreeMap::new();
        for (i, cache) in self.l1.iter().enumerate() {
            let addrs: Vec<u64> = match &**cache {
                Cache::Scoped(l1) => l1.core.rel.lr.entries().iter().map(|entry| entry.0 << 2).collect(),
                _ => {
                    let owned = cache.core().lines.iter().filter(|frame| frame.state == State::O);
                    owned.map(|frame| frame.line * 64).collect()
                }
            };
            for addr in addrs {
                if let Some(first) = seen.insert(addr, i) {
                    let line = line_of(addr);
                    return Some(format!("L1s {first} and {i} both modify {addr:#x} of line {line:#x}"));
                }
            }
        }
        None
    }
}
