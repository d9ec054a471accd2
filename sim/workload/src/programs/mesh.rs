//! A cube of blocks of cells, each refined at most once.

use std::collections::BTreeMap;

/// Cells of a block along a side.
pub const ALONG: u64 = 4;
/// Cells of a block.
pub const BLOCK: u64 = ALONG * ALONG * ALONG;

/// How the cells beyond a face, or the old cells of a block, are found.
const SAME: u32 = 0;
const COARSER: u32 = 1;
const FINER: u32 = 2;
/// The cube's side: the block's own cells count.
const NOTHING: u32 = 3;

/// Refinement level and coordinates in units of blocks of that level.
type Place = (u32, [u64; 3]);

/// Blocks in order of their level and coordinates; a block's number is its place in memory.
#[derive(Clone, Debug)]
pub struct Mesh {
    places: Vec<Place>,
    number: BTreeMap<Place, u32>,
    roots: u64,
}

impl Mesh {
    /// `roots`^3 blocks, those refined that the surface of a sphere crosses; it moves along the diagonal in `end` steps.
    pub fn around_sphere(roots: u64, time: u64, end: u64) -> Self {
        // In quarters of a block, so that all is whole numbers.
        let centre = (4 * roots * (time + 1) / (end + 2)) as i64;
        let radius = (4 * roots as i64) / 3;
        let mut places = vec![];
        for i in 0..roots.pow(3) {
            let at = [i % roots, i / roots % roots, i / (roots * roots)];
            let corner = |k: u64, axis: usize| 4 * (at[axis] + (k >> axis & 1)) as i64 - centre;
            let inside = (0..8)
                .filter(|&k| (0..3).map(|axis| corner(k, axis).pow(2)).sum::<i64>() < radius * radius)
                .count();
            if (1..8).contains(&inside) {
                places.extend((0..8).map(|k| (1, std::array::from_fn(|a| 2 * at[a] + (k >> a & 1)))));
            } else {
                places.push((0, at));
            }
        }
        places.sort_unstable();
        let number = places.iter().zip(0..).map(|(place, i)| (*place, i)).collect();
        Self { places, number, roots }
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.places.len() as u64
    }

    fn find(&self, level: u32, at: [u64; 3]) -> u32 {
        self.number.get(&(level, at)).copied().unwrap_or(0)
    }

    /// Which quarter of a coarser block's face a place belongs to, along an axis: 0 or 1.
    fn half(at: u64) -> u32 {
        (at % 2) as u32
    }

    /// Entry of face 0..6 (two per axis, lower first): kind, up to four blocks, position in a coarser one.
    pub fn face(&self, block: u64, face: u64) -> [u32; 7] {
        let (level, at) = self.places[block as usize];
        let (axis, up) = ((face / 2) as usize, face % 2);
        let side = self.roots << level;
        let mut next = at;
        next[axis] = at[axis].wrapping_sub(1).wrapping_add(2 * up);
        if next[axis] >= side {
            return [NOTHING, 0, 0, 0, 0, 0, 0];
        }
        if let Some(&same) = self.number.get(&(level, next)) {
            return [SAME, same, 0, 0, 0, 0, 0];
        }
        let [u, v] = others(axis);
        if level == 1 {
            let coarse = self.find(0, next.map(|v| v / 2));
            return [COARSER, coarse, 0, 0, 0, Self::half(at[u]), Self::half(at[v])];
        }
        let child = |k: u64| {
            let mut fine = next.map(|v| 2 * v);
            fine[axis] += 1 - up;
            fine[u] += k % 2;
            fine[v] += k / 2;
            self.find(1, fine)
        };
        [FINER, child(0), child(1), child(2), child(3), 0, 0]
    }

    /// Cells beyond place `place` of a face, whose mean is the value there.
    pub fn beyond(block: u64, face: u64, place: u64, entry: &[u32; 7]) -> Vec<(u64, u64)> {
        let (axis, up) = ((face / 2) as usize, face % 2);
        let [u, v] = others(axis);
        let (pu, pv) = (place % ALONG, place / ALONG);
        let layer = |outside: bool| if (up == 1) == outside { 0 } else { ALONG - 1 };
        let cell = |depth: u64, at_u: u64, at_v: u64| {
            let mut at = [0; 3];
            (at[axis], at[u], at[v]) = (depth, at_u, at_v);
            index(at)
        };
        let half = ALONG / 2;
        match entry[0] {
            NOTHING => vec![(block, cell(layer(false), pu, pv))],
            SAME => vec![(u64::from(entry[1]), cell(layer(true), pu, pv))],
            COARSER => {
                let (du, dv) = (u64::from(entry[5]) * half, u64::from(entry[6]) * half);
                vec![(u64::from(entry[1]), cell(layer(true), du + pu / 2, dv + pv / 2))]
            }
            _ => {
                let child = u64::from(entry[1 + (pu / half + 2 * (pv / half)) as usize]);
                let (fu, fv) = (pu % half * 2, pv % half * 2);
                (0..4).map(|k| (child, cell(layer(true), fu + k % 2, fv + k / 2))).collect()
            }
        }
    }

    /// The cell beyond a face of a cell in its block, or the place on the block's face.
    pub fn step(cell: u64, face: u64) -> Result<u64, u64> {
        let (axis, up) = ((face / 2) as usize, face % 2);
        let mut at = [cell % ALONG, cell / ALONG % ALONG, cell / (ALONG * ALONG)];
        let [u, v] = others(axis);
        let next = at[axis].wrapping_sub(1).wrapping_add(2 * up);
        if next >= ALONG {
            return Err(at[v] * ALONG + at[u]);
        }
        at[axis] = next;
        Ok(index(at))
    }

    /// Where a block's cells were in an older mesh: kind, then the block or the eight finer ones; of a coarser one, the
    /// octant last.
    pub fn origin(&self, block: u64, old: &Self) -> [u32; 9] {
        let (level, at) = self.places[block as usize];
        let mut entry = [0; 9];
        if let Some(&same) = old.number.get(&(level, at)) {
            (entry[0], entry[1]) = (SAME, same);
        } else if level == 1 {
            (entry[0], entry[1]) = (COARSER, old.find(0, at.map(|v| v / 2)));
            entry[8] = Self::half(at[0]) + 2 * Self::half(at[1]) + 4 * Self::half(at[2]);
        } else {
            entry[0] = FINER;
            for k in 0..8 {
                entry[1 + k] = old.find(1, std::array::from_fn(|a| 2 * at[a] + (k as u64 >> a & 1)));
            }
        }
        entry
    }

    /// Old cells whose mean is a cell's first value.
    pub fn sources(cell: u64, entry: &[u32; 9]) -> Vec<(u64, u64)> {
        let at = [cell % ALONG, cell / ALONG % ALONG, cell / (ALONG * ALONG)];
        let half = ALONG / 2;
        match entry[0] {
            SAME => vec![(u64::from(entry[1]), cell)],
            COARSER => {
                let octant = u64::from(entry[8]);
                let inner = std::array::from_fn(|a| (octant >> a & 1) * half + at[a] / 2);
                vec![(u64::from(entry[1]), index(inner))]
            }
            _ => {
                let child = at.iter().zip(0..).map(|(v, a)| (v / half) << a).sum::<u64>();
                let fine = |k: u64| index(std::array::from_fn(|a| at[a] % half * 2 + (k >> a & 1)));
                (0..8).map(|k| (u64::from(entry[1 + child as usize]), fine(k))).collect()
            }
        }
    }
}

/// The two axes beside one.
fn others(axis: usize) -> [usize; 2] {
    [[1, 2], [0, 2], [0, 1]][axis]
}

fn index(at: [u64; 3]) -> u64 {
    (at[2] * ALONG + at[1]) * ALONG + at[0]
}
