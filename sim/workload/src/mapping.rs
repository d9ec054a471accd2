//! Mappings between the local memory of a work-group and the global one (`cu-and-consistency.md` section 8).

use serde::{Deserialize, Serialize};

/// Elements of the global memory, `stride` bytes apart, that lie one behind the other in the local memory of a work-group (section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mapping {
    /// Byte address of element 0 from the start of the work-group's local memory.
    pub local: u64,
    /// Global byte address of element 0.
    pub global: u64,
    /// Bytes of an element: a power of two, 4..=64.
    pub element: u32,
    /// Bytes from one element to the next in the global memory, a multiple of `element`.
    pub stride: u64,
    /// Elements.
    pub count: u32,
}

impl Mapping {
    /// Bytes of local memory.
    pub fn bytes(&self) -> u64 {
        u64::from(self.element) * u64::from(self.count)
    }

    /// Local byte address of an element.
    pub fn local_of(&self, index: u32) -> u64 {
        self.local + u64::from(self.element) * u64::from(index)
    }

    /// Global byte address of an element.
    pub fn global_of(&self, index: u32) -> u64 {
        self.global + self.stride * u64::from(index)
    }

    /// Whether some of `size` bytes at a local address belong to it.
    pub fn touches(&self, local: u64, size: u64) -> bool {
        local < self.local + self.bytes() && self.local < local + size
    }

    /// Global byte address of a local one; `None` outside.
    pub fn translate(&self, local: u64) -> Option<u64> {
        let offset = local.checked_sub(self.local).filter(|offset| *offset < self.bytes())?;
        let element = u64::from(self.element);
        Some(self.global + offset / element * self.stride + offset % element)
    }

    /// What is wrong with it in a local memory of so many bytes.
    pub fn fault(&self, end: u64) -> Option<String> {
        let element = u64::from(self.element);
        if !element.is_power_of_two() || !(4..=64).contains(&element) {
            return Some(format!("elements of {element} bytes, expected a power of two 4..64"));
        }
        let aligned = |address: u64, what: &str| {
            (!address.is_multiple_of(element))
                .then(|| format!("{what} {address:#x}, expected a multiple of the element's {element} bytes"))
        };
        if self.count == 0 || self.stride < element {
            let Self { stride, count, .. } = self;
            return Some(format!(
                "{count} elements, one every {stride} bytes, expected elements that do not overlap"
            ));
        }
        if self.local.saturating_add(self.bytes()) > end {
            return Some(format!(
                "local bytes {:#x} and the {} after it, expected all below {end:#x}",
                self.local,
                self.bytes() - 1
            ));
        }
        aligned(self.local, "local address")
            .or_else(|| aligned(self.global, "global address"))
            .or_else(|| aligned(self.stride, "a stride of"))
    }
}

/// What [`Op::Map`](crate::Op::Map) does with its mapping.
///
/// Every wave of a work-group executes it, as all of them run the same code: the work-group has the mapping once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MapKind {
    /// DMA_IN: the elements are copied to the local memory, from the first wave's execution on.
    DmaIn,
    /// DMA_OUT: they are copied back once all waves of the work-group have executed it.
    DmaOut,
    /// STASH_MAP: from now on the local bytes are these elements themselves.
    Stash,
}

/// What local memory a program needs beside a scratchpad, or a compute unit has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LocalMemory {
    /// A scratchpad.
    #[default]
    Scratchpad,
    /// A scratchpad with a DMA engine.
    Dma,
    /// A stash.
    Stash,
}

impl LocalMemory {
    /// Its word in configurations and sentences.
    pub fn word(self) -> &'static str {
        match self {
            Self::Scratchpad => "scratchpad",
            Self::Dma => "dma",
            Self::Stash => "stash",
        }
    }

    /// Whether a program that needs `other` runs on it: everything has a scratchpad.
    pub fn serves(self, other: Self) -> bool {
        other == Self::Scratchpad || self == other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: Mapping = Mapping { local: 16, global: 0x1000, element: 8, stride: 24, count: 3 };

    #[test]
    fn addresses_follow_the_stride() {
        assert_eq!(MAP.bytes(), 24);
        assert_eq!((MAP.local_of(2), MAP.global_of(2)), (32, 0x1030));
        let global = [15, 16, 23, 24, 28, 39, 40].map(|local| MAP.translate(local));
        let known = [0x1000, 0x1007, 0x1018, 0x101c, 0x1037].map(Some);
        assert_eq!(global[1..6], known);
        assert_eq!((global[0], global[6]), (None, None));
        assert!(MAP.touches(12, 8) && MAP.touches(36, 4) && !MAP.touches(12, 4) && !MAP.touches(40, 4));
    }

    #[test]
    fn each_fault_is_told() {
        assert_eq!(MAP.fault(40), None);
        let cases = [
            (Mapping { element: 12, ..MAP }, "a power of two 4..64"),
            (Mapping { element: 2, ..MAP }, "a power of two 4..64"),
            (Mapping { count: 0, ..MAP }, "0 elements"),
            (Mapping { stride: 4, ..MAP }, "do not overlap"),
            (Mapping { local: 24, ..MAP }, "below 0x28"),
            (Mapping { local: 12, ..MAP }, "local address 0xc"),
            (Mapping { global: 4, ..MAP }, "global address 0x4"),
            (Mapping { stride: 12, ..MAP }, "a stride of 0xc"),
        ];
        for (map, part) in cases {
            let fault = map.fault(40).expect(part);
            assert!(fault.contains(part), "{fault}: {part}");
        }
    }

    #[test]
    fn everything_serves_a_scratchpad_program() {
        use LocalMemory::{Dma, Scratchpad, Stash};
        for have in [Scratchpad, Dma, Stash] {
            let served = [Scratchpad, Dma, Stash].into_iter().filter(|need| have.serves(*need));
            assert!(served.eq([Scratchpad, have].into_iter().take(1 + usize::from(have != Scratchpad))));
        }
    }
}
