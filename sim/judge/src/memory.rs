//! Memory between kernels.

use std::collections::HashMap;

/// Bytes that are held together: few, for a recording may tell one of many.
const PIECE: usize = 64;

/// What a location may hold: one value, unless the order of the last writes to it is not known.
pub type Values = Vec<u32>;

/// Bytes that are known, and locations of which only a choice is.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pieces: HashMap<u64, [u8; PIECE]>,
    unsure: HashMap<u64, (u8, Values)>,
}

/// Piece of an address, and place in it.
fn place(addr: u64) -> (u64, usize) {
    (addr / PIECE as u64, (addr % PIECE as u64) as usize)
}

impl Memory {
    /// The host, or a kernel's last write, puts bytes into memory.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) {
        for (addr, byte) in (addr..).zip(bytes) {
            let (piece, at) = place(addr);
            self.pieces.entry(piece).or_insert([0; PIECE])[at] = *byte;
            self.unsure.remove(&addr);
        }
    }

    /// A location holds one of these.
    pub fn choice(&mut self, addr: u64, size: u8, values: Values) {
        if let [value] = values[..] {
            return self.write(addr, &value.to_le_bytes()[..usize::from(size)]);
        }
        self.unsure.insert(addr, (size, values));
    }

    fn byte(&self, addr: u64) -> u8 {
        let (piece, at) = place(addr);
        self.pieces.get(&piece).map_or(0, |piece| piece[at])
    }

    /// What a location of 1 or 4 bytes may hold.
    pub fn read(&self, addr: u64, size: u8) -> Values {
        if let Some((_, values)) = self.unsure.get(&addr).filter(|(of, _)| *of == size) {
            return values.clone();
        }
        if size == 1
            && let Some((4, values)) = self.unsure.get(&(addr & !3)).map(|(of, values)| (*of, values))
        {
            return values.iter().map(|value| value >> (8 * (addr & 3)) & 255).collect();
        }
        if size == 4 && (addr..addr + 4).any(|addr| self.unsure.get(&addr).is_some_and(|(of, _)| *of == 1)) {
            let bytes: Vec<Values> = (addr..addr + 4).map(|addr| self.read(addr, 1)).collect();
            return bytes.iter().rev().fold(vec![0], |all, next| {
                all.iter().flat_map(|high| next.iter().map(move |low| high << 8 | low)).collect()
            });
        }
        let value =
            (0..u64::from(size)).rev().fold(0, |value, n| value << 8 | u32::from(self.byte(addr + n)));
        vec![value]
    }
}
