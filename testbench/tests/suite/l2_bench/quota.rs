//! What lines that other nodes serve may take of the bank.

use super::{Bench, Mood, Role};

impl Bench {
    /// Loads lines that other nodes serve, one after the other, while these answer nothing: how many loads the pipeline accepts. `line` chooses that of load n.
    /// All are answered then.
    ///
    /// # Panics
    /// When a load is not answered in the end.
    pub fn accepted_without_answer(&mut self, line: impl Fn(&[u64], usize) -> u64) -> usize {
        let (lines, ids) = (self.lines_of(&[Role::Leaf]), self.p.sys.l1_mshrs as usize);
        self.mood = Mood { home_answer: 0.0, far_answer: 0.0, ..Mood::calm() };
        (0..20).for_each(|_| self.cycle());
        for n in 0..lines.len() {
            if self.offered.is_empty() {
                self.offer_load(line(&lines, n), (n / ids) as u64, (n % ids) as u64);
            }
            (0..40).for_each(|_| self.cycle());
        }
        assert!(!self.offered.is_empty(), "the last load is not even taken");
        let accepted = self.running.values().filter(|load| load.answer.is_some()).count();
        self.drain();
        accepted
    }
}
