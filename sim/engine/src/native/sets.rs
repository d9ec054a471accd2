//! Sets of small numbers.

/// A set of numbers below a bound.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BitSet(Vec<u64>);

impl BitSet {
    /// An empty set for numbers below `bound`.
    pub fn new(bound: usize) -> BitSet {
        BitSet(vec![0; bound.div_ceil(64)])
    }

    /// Adds a number.
    pub fn add(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// Adds all numbers of another set of the same bound.
    pub fn join(&mut self, other: &BitSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// Whether a number is in it.
    pub fn has(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    /// How many numbers are in both.
    pub fn meets(&self, other: &BitSet) -> u32 {
        self.0.iter().zip(&other.0).map(|(a, b)| (a & b).count_ones()).sum()
    }

    /// The numbers in it, ascending.
    pub fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        let bits = |mut word: u64| {
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
                word &= word - 1;
                Some(bit)
            })
        };
        self.0.iter().enumerate().flat_map(move |(at, word)| bits(*word).map(move |bit| 64 * at + bit))
    }

    /// The set as words of 64 bits, the lowest first.
    pub fn words(&self) -> &[u64] {
        &self.0
    }
}
