//! Vector clocks that name only threads of which something is known.

use std::sync::Arc;

/// For each thread, by number, how many of its operations are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock(Vec<(u32, u32)>);

impl Clock {
    /// Operations of a thread that are known.
    pub fn of(&self, thread: u32) -> u32 {
        self.0.binary_search_by_key(&thread, |(t, _)| *t).map_or(0, |at| self.0[at].1)
    }

    /// Knows so many operations of a thread.
    pub fn learn(&mut self, thread: u32, count: u32) {
        match self.0.binary_search_by_key(&thread, |(t, _)| *t) {
            Ok(at) => self.0[at].1 = self.0[at].1.max(count),
            Err(at) => self.0.insert(at, (thread, count)),
        }
    }

    /// Whether everything another clock knows is known.
    pub fn covers(&self, other: &Clock) -> bool {
        other.0.iter().all(|(thread, count)| self.of(*thread) >= *count)
    }

    /// Knows what either knows.
    pub fn join(&mut self, other: &Clock) {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut out = Vec::with_capacity(self.0.len().max(other.0.len()));
        loop {
            match (a.peek(), b.peek()) {
                (Some(x), Some(y)) if x.0 == y.0 => {
                    out.push((x.0, x.1.max(y.1)));
                    a.next();
                    b.next();
                }
                (Some(x), y) if y.is_none_or(|y| x.0 < y.0) => {
                    out.push(**x);
                    a.next();
                }
                (_, Some(y)) => {
                    out.push(**y);
                    b.next();
                }
                (_, None) => break,
            }
        }
        self.0 = out;
    }
}

/// Joins into a shared clock, which is left as it is when it knows all; true if it has changed.
pub fn join(clock: &mut Arc<Clock>, other: &Clock) -> bool {
    if clock.covers(other) {
        return false;
    }
    Arc::make_mut(clock).join(other);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_knows_what_either_knows() {
        let mut a = Clock::default();
        a.learn(3, 5);
        a.learn(1, 2);
        let mut b = Clock::default();
        [(3, 4), (2, 9), (7, 1)].into_iter().for_each(|(thread, count)| b.learn(thread, count));
        assert!(!a.covers(&b) && !b.covers(&a));
        let mut both = a.clone();
        both.join(&b);
        assert_eq!([1, 2, 3, 7, 8].map(|thread| both.of(thread)), [2, 9, 5, 1, 0]);
        assert!(both.covers(&a) && both.covers(&b));
        let mut shared = Arc::new(a);
        assert!(join(&mut shared, &b) && !join(&mut shared, &b));
        assert_eq!(*shared, both);
    }
}
