//! Logic as a graph of two-input ands and inverters; equal ones are made once.

use rustc_hash::FxHashMap;

/// A value of one bit: number of a node, times two, plus one if it is inverted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Bit(pub u32);

impl Bit {
    /// Always 0.
    pub const ZERO: Bit = Bit(0);
    /// Always 1.
    pub const ONE: Bit = Bit(1);

    /// Number of the node.
    pub fn node(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Whether the node's value is inverted.
    pub fn inverted(self) -> bool {
        self.0 & 1 == 1
    }
}

impl std::ops::Not for Bit {
    type Output = Bit;
    fn not(self) -> Bit {
        Bit(self.0 ^ 1)
    }
}

/// The graph. Node 0 is the constant.
pub struct Graph {
    /// Operands of each node; none of one that can have any value.
    pub nodes: Vec<Option<(Bit, Bit)>>,
    memo: FxHashMap<(Bit, Bit), Bit>,
}

impl Default for Graph {
    fn default() -> Graph {
        Graph { nodes: vec![None], memo: FxHashMap::default() }
    }
}

impl Graph {
    /// A bit that can have any value.
    pub fn free(&mut self) -> Bit {
        self.nodes.push(None);
        Bit(2 * (self.nodes.len() as u32 - 1))
    }

    /// Conjunction.
    pub fn and(&mut self, a: Bit, b: Bit) -> Bit {
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        match (a, b) {
            (Bit::ZERO, _) => return Bit::ZERO,
            (Bit::ONE, other) => return other,
            _ if a == b => return a,
            _ if a == !b => return Bit::ZERO,
            _ => {}
        }
        if let Some(same) = self.memo.get(&(a, b)) {
            return *same;
        }
        self.nodes.push(Some((a, b)));
        let made = Bit(2 * (self.nodes.len() as u32 - 1));
        self.memo.insert((a, b), made);
        made
    }

    /// Disjunction.
    pub fn or(&mut self, a: Bit, b: Bit) -> Bit {
        !self.and(!a, !b)
    }

    /// Exclusive or.
    pub fn xor(&mut self, a: Bit, b: Bit) -> Bit {
        let (left, right) = (self.and(a, !b), self.and(!a, b));
        self.or(left, right)
    }

    /// `a` where `c` holds, else `b`.
    pub fn mux(&mut self, c: Bit, a: Bit, b: Bit) -> Bit {
        if a == b {
            return a;
        }
        let (yes, no) = (self.and(c, a), self.and(!c, b));
        self.or(yes, no)
    }

    /// Whether some bit is 1.
    pub fn any(&mut self, bits: &[Bit]) -> Bit {
        bits.iter().fold(Bit::ZERO, |sum, bit| self.or(sum, *bit))
    }

    /// Whether all bits are 1.
    pub fn all(&mut self, bits: &[Bit]) -> Bit {
        bits.iter().fold(Bit::ONE, |sum, bit| self.and(sum, *bit))
    }

    /// Sum and carry of two numbers of one width.
    pub fn add(&mut self, a: &[Bit], b: &[Bit], mut carry: Bit) -> (Vec<Bit>, Bit) {
        let mut out = Vec::with_capacity(a.len());
        for (x, y) in a.iter().zip(b) {
            let half = self.xor(*x, *y);
            out.push(self.xor(half, carry));
            let (both, through) = (self.and(*x, *y), self.and(half, carry));
            carry = self.or(both, through);
        }
        (out, carry)
    }

    /// Whether two values are the same.
    pub fn eq(&mut self, a: &[Bit], b: &[Bit]) -> Bit {
        let differ: Vec<Bit> = a.iter().zip(b).map(|(x, y)| self.xor(*x, *y)).collect();
        !self.any(&differ)
    }

    /// Whether `a` is the number `n`.
    pub fn is(&mut self, a: &[Bit], n: u64) -> Bit {
        let bit = |at: usize| at < 64 && n >> at & 1 == 1;
        if (a.len() < 64) && n >> a.len() != 0 {
            return Bit::ZERO;
        }
        let bits: Vec<Bit> = a.iter().enumerate().map(|(at, x)| if bit(at) { *x } else { !*x }).collect();
        self.all(&bits)
    }
}
