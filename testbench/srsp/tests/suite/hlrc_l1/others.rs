//! What the other CU does: it takes locks, wants lines, and stores words of its own.

use crate::hlrc_l1::l2::Owner;
use crate::hlrc_l1::world::{FOREIGN, LINES, Other, Registers, SHARED, WorldOf};
use crate::l1_bench::Lock;
use crate::l1_bench::banks::LINE;
use rand::Rng;

impl<R: Registers> WorldOf<R> {
    /// The other CU takes or leaves a lock, in its own L1, which gives the line back whenever it is wanted.
    pub(super) fn other_step(&mut self, lock: usize) {
        let addr = self.locks[lock].addr;
        let line = addr / LINE;
        let wanted = self.lines_of(lock);
        let owns = self.owners.get(&line) == Some(&Owner::Other);
        match self.around.others[lock] {
            Other::Idle if self.b.rng.random_bool(self.around.rate) => {
                self.take(line);
                self.others[lock] = Other::Asks;
            }
            Other::Asks if owns && self.banks.word(addr, 4) == 0 => {
                self.banks.put(addr, 4, 1);
                self.taken[lock][1] += 1;
                self.reads[lock] = wanted.iter().map(|line| (*line, false)).collect();
                self.others[lock] = Other::Reads;
                self.read_data(lock);
            }
            Other::Reads => self.read_data(lock),
            Other::Asks if owns => {
                self.owners.remove(&line);
                self.others[lock] = Other::Idle;
            }
            Other::Holds(0) => {
                wanted.iter().for_each(|line| self.take(*line));
                self.others[lock] = Other::Leaves;
            }
            Other::Holds(n) => {
                // Somebody else's atomic takes the line away from the holder.
                if owns && self.wanted(line) && self.b.rng.random_bool(0.05) {
                    self.owners.remove(&line);
                }
                self.others[lock] = Other::Holds(n - 1);
            }
            Other::Leaves if wanted.iter().all(|line| self.owners.get(line) == Some(&Owner::Other)) => {
                self.locks[lock].truth += 1;
                self.locks[lock].put(&mut self.banks);
                assert_eq!(self.banks.word(addr, 4), 1, "the lock was taken from its holder");
                self.banks.put(addr, 4, 0);
                self.owners.retain(|line, _| !wanted.contains(line));
                self.others[lock] = Other::Idle;
            }
            // The line went elsewhere in between: ask again.
            Other::Asks => self.take(line),
            Other::Leaves => wanted.iter().for_each(|line| self.take(*line)),
            Other::Idle => {}
        }
    }

    /// The lines that the other CU needs to write a lock's data: those of hLRC are written in the L2.
    fn lines_of(&self, lock: usize) -> Vec<u64> {
        let Lock { addr, data, .. } = &self.locks[lock];
        let data = data.iter().filter(|_| R::STORES);
        let mut lines: Vec<u64> = std::iter::once(addr).chain(data).map(|addr| addr / LINE).collect();
        lines.dedup();
        lines
    }

    /// The other CU reads what the L1 under test owns of a lock's data, and then knows the number.
    fn read_data(&mut self, lock: usize) {
        let mut left = std::mem::take(&mut self.reads[lock]);
        left.retain_mut(|(line, asked)| match self.owners.get(line) {
            Some(Owner::Ours) if !*asked => {
                *asked = true;
                self.read(*line);
                true
            }
            Some(Owner::Read { .. } | Owner::Revoked { .. }) => true,
            _ => false,
        });
        if left.is_empty() {
            self.locks[lock].check(&self.banks, "the other CU");
            self.others[lock] = Other::Holds(self.b.rng.random_range(0..100));
        }
        self.reads[lock] = left;
    }

    /// Lines are revoked, read and recalled; another CU stores words of its own.
    pub(super) fn noise_step(&mut self) {
        if self.b.rng.random_bool(self.around.noise) {
            let ours: Vec<u64> = self.owners.iter().filter(|o| *o.1 == Owner::Ours).map(|o| *o.0).collect();
            if !ours.is_empty() {
                let line = ours[self.b.rng.random_range(0..ours.len())];
                let mine = self.locks.iter().any(|lock| lock.addr / LINE == line);
                let other = !mine && self.b.rng.random();
                if R::STORES && self.b.rng.random_bool(0.5) {
                    self.read(line);
                } else {
                    self.revoke(line, other);
                }
            }
        }
        let leaves = |lock: &usize| self.around.others[*lock] == Other::Leaves;
        let kept: Vec<u64> =
            (0..self.locks.len()).filter(leaves).flat_map(|lock| self.lines_of(lock)).collect();
        let locks: Vec<u64> = self.locks.iter().map(|lock| lock.addr / LINE).chain(kept).collect();
        let theirs = |o: &(&u64, &Owner)| *o.1 == Owner::Other && !locks.contains(o.0);
        let theirs: Vec<u64> = self.owners.iter().filter(theirs).map(|o| *o.0).collect();
        for line in theirs {
            if self.b.rng.random_bool(0.05) {
                self.owners.remove(&line);
            }
        }
        if self.b.rng.random_bool(0.02) {
            let addr = SHARED + LINE * self.b.rng.random_range(0..LINES) + FOREIGN;
            if R::STORES && !matches!(self.owners.get(&(addr / LINE)), None | Some(Owner::Other)) {
                return;
            }
            let expected = self.foreign.get(&addr).copied().unwrap_or(0);
            assert_eq!(self.banks.word(addr, 8), expected, "another CU's word {addr:#x} is overwritten");
            let value = self.b.rng.random();
            self.banks.put(addr, 8, value);
            self.foreign.insert(addr, value);
        }
    }
}
