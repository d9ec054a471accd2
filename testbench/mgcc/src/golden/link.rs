//! A link that messages take in bytes (mgcc.md section 10): each holds it for its bytes, the next one begins where it ends, senders take turns.

/// A link in bytes: what it still owes, and who has a message on it.
#[derive(Clone, Debug)]
pub struct Link {
    per_cycle: u64,
    owed: u64,
    flying: Option<usize>,
    next: usize,
}

impl Link {
    /// A free link.
    pub fn new(per_cycle: u64) -> Link {
        Link { per_cycle, owed: 0, flying: None, next: 0 }
    }

    /// A cycle: messages of these sizes want to begin, one per sender. Who has passed at its end.
    pub fn cycle(&mut self, sizes: &[Option<u64>]) -> Vec<usize> {
        let mut passed = Vec::new();
        let before = self.flying;
        if self.owed <= self.per_cycle {
            passed.extend(self.flying.take());
        }
        let first = self.next;
        for i in (0..sizes.len()).map(|k| (first + k) % sizes.len()) {
            let Some(size) = sizes[i].filter(|_| before != Some(i) && self.owed < self.per_cycle) else {
                continue;
            };
            self.owed += size;
            self.next = (i + 1) % sizes.len();
            if self.owed <= self.per_cycle { passed.push(i) } else { self.flying = Some(i) }
        }
        self.owed = self.owed.saturating_sub(self.per_cycle);
        passed
    }
}
