//! Relations over the events of one execution, as bit matrices: at most [`MOST`] events.

/// Most events of one execution, initial writes included.
pub const MOST: usize = 64;

/// A set of events: bit n = event n.
pub type Set = u64;

/// A binary relation: bit j of row i = (i, j).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rel {
    rows: Vec<u64>,
}

impl Rel {
    /// Nothing is related, over `events` events.
    ///
    /// # Panics
    /// More than [`MOST`] events.
    pub fn empty(events: usize) -> Rel {
        assert!(events <= MOST, "{events} events are more than {MOST}");
        Rel { rows: vec![0; events] }
    }

    /// All pairs for which `holds`.
    pub fn of(events: usize, holds: impl Fn(usize, usize) -> bool) -> Rel {
        let mut made = Rel::empty(events);
        for a in 0..events {
            for b in 0..events {
                if holds(a, b) {
                    made.add(a, b);
                }
            }
        }
        made
    }

    /// `from` x `to`.
    pub fn cross(events: usize, from: Set, to: Set) -> Rel {
        let all = if events == MOST { u64::MAX } else { (1 << events) - 1 };
        Rel { rows: (0..events).map(|a| if from >> a & 1 == 1 { to & all } else { 0 }).collect() }
    }

    /// Every member of the set with itself: \[S\].
    pub fn identity(events: usize, set: Set) -> Rel {
        Rel { rows: (0..events).map(|a| set & (1 << a)).collect() }
    }

    /// Number of events.
    pub fn events(&self) -> usize {
        self.rows.len()
    }

    /// Relates `a` to `b`.
    pub fn add(&mut self, a: usize, b: usize) {
        self.rows[a] |= 1 << b;
    }

    /// Whether `a` is related to `b`.
    pub fn has(&self, a: usize, b: usize) -> bool {
        self.rows[a] >> b & 1 == 1
    }

    /// What `a` is related to.
    pub fn after(&self, a: usize) -> Set {
        self.rows[a]
    }

    /// Whether nothing is related.
    pub fn is_empty(&self) -> bool {
        self.rows.iter().all(|row| *row == 0)
    }

    /// Pairs, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.events())
            .flat_map(move |a| (0..self.events()).filter(move |b| self.has(a, *b)).map(move |b| (a, b)))
    }

    fn zip(&self, other: &Rel, with: impl Fn(u64, u64) -> u64) -> Rel {
        Rel { rows: self.rows.iter().zip(&other.rows).map(|(a, b)| with(*a, *b)).collect() }
    }

    /// `self | other`.
    pub fn or(&self, other: &Rel) -> Rel {
        self.zip(other, |a, b| a | b)
    }

    /// `self & other`.
    pub fn and(&self, other: &Rel) -> Rel {
        self.zip(other, |a, b| a & b)
    }

    /// `self \ other`.
    pub fn minus(&self, other: &Rel) -> Rel {
        self.zip(other, |a, b| a & !b)
    }

    /// `self ; other`.
    pub fn then(&self, other: &Rel) -> Rel {
        let step = |row: &u64| {
            let (mut left, mut out) = (*row, 0);
            while left != 0 {
                out |= other.rows[left.trailing_zeros() as usize];
                left &= left - 1;
            }
            out
        };
        Rel { rows: self.rows.iter().map(step).collect() }
    }

    /// `self` from members of `from` only: \[from\] ; self.
    pub fn from(&self, from: Set) -> Rel {
        let row = |(a, row): (usize, &u64)| if from >> a & 1 == 1 { *row } else { 0 };
        Rel { rows: self.rows.iter().enumerate().map(row).collect() }
    }

    /// `self` to members of `to` only: self ; \[to\].
    pub fn to(&self, to: Set) -> Rel {
        Rel { rows: self.rows.iter().map(|row| row & to).collect() }
    }

    /// The inverse.
    pub fn inverse(&self) -> Rel {
        Rel::of(self.events(), |a, b| self.has(b, a))
    }

    /// `self?`: with every event related to itself.
    pub fn opt(&self) -> Rel {
        let mut made = self.clone();
        for (a, row) in made.rows.iter_mut().enumerate() {
            *row |= 1 << a;
        }
        made
    }

    /// `self+`.
    pub fn plus(&self) -> Rel {
        let mut made = self.clone();
        for k in 0..made.events() {
            let through = made.rows[k];
            for row in &mut made.rows {
                if *row >> k & 1 == 1 {
                    *row |= through;
                }
            }
        }
        made
    }

    /// `self*`.
    pub fn star(&self) -> Rel {
        self.plus().opt()
    }

    /// Whether no event is related to itself.
    pub fn irreflexive(&self) -> bool {
        self.rows.iter().enumerate().all(|(a, row)| row >> a & 1 == 0)
    }

    /// Whether there is no cycle.
    pub fn acyclic(&self) -> bool {
        self.plus().irreflexive()
    }
}

/// Union of relations.
pub fn union<'a>(parts: impl IntoIterator<Item = &'a Rel>) -> Rel {
    let mut parts = parts.into_iter();
    let first = parts.next().expect("a union of at least one relation").clone();
    parts.fold(first, |all, part| all.or(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closures_and_composition_are_those_of_relations() {
        let mut line = Rel::empty(4);
        for a in 0..3 {
            line.add(a, a + 1);
        }
        assert!(line.acyclic() && line.plus().has(0, 3) && !line.plus().has(3, 0));
        assert_eq!(line.then(&line).pairs().collect::<Vec<_>>(), [(0, 2), (1, 3)]);
        assert_eq!(line.inverse().inverse(), line);
        assert_eq!(line.from(0b0010).to(0b0100).pairs().collect::<Vec<_>>(), [(1, 2)]);
        line.add(3, 0);
        assert!(!line.acyclic() && line.irreflexive());
        assert_eq!(Rel::cross(MOST, 1, u64::MAX).after(0), u64::MAX);
        assert_eq!(line.star().minus(&line.plus()).pairs().count(), 0);
    }
}
