//! Processes that share a run: ranks, as MPI calls them.

use std::fmt::Debug;

/// How a rank reaches the others. What one sends to another arrives in the order in which it was sent, letters
/// for one part and everything else each by themselves.
pub trait Link: Debug + Send + Sync {
    /// Its number; rank 0 leads.
    fn rank(&self) -> usize;

    /// How many there are.
    fn ranks(&self) -> usize;

    /// There are fewer processors than threads of all ranks on this machine.
    fn crowded(&self) -> bool;

    /// Sends a letter to a part that another rank has; does not wait until it is there.
    fn post(&self, to: usize, part: usize, letter: &[u64]);

    /// Puts the next letter for a part that this rank has in the place of `letter`; false if none is there.
    fn collect(&self, part: usize, letter: &mut Vec<u64>) -> bool;

    /// Sends something to another rank.
    fn send(&self, to: usize, text: &[u8]);

    /// Waits for what another rank sends.
    fn receive(&self, from: usize) -> Vec<u8>;

    /// Called every few microseconds by whoever waits for a letter: ends the process if none will come.
    fn wait(&self);
}
