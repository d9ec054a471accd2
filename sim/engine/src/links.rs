//! What crosses from unit to unit, and what clocking a unit needs.

use crate::layout::Layout;
use crate::native::NativeCall;

/// A consumer of a value: unit and limb of its input slot in the state of the whole design, or of a part of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sink {
    pub unit: usize,
    pub at: usize,
    /// Limb in which the unit is told that the input has changed, and the bits to set there.
    pub heard: usize,
    pub mark: u64,
}

impl Sink {
    /// An input of a unit whose state begins at limb `base`.
    pub fn new(layout: &Layout, unit: usize, base: usize, input: usize) -> Sink {
        let marks = &layout.marks;
        Sink { unit, at: base + layout.inputs[input], heard: base + marks.heard, mark: marks.inputs[input] }
    }
}

/// A copy made when a unit has set the link's flag; offsets into the state of the whole design, or of a part of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub from: usize,
    pub limbs: usize,
    pub sink: Sink,
}

/// What follows when a unit has set a flag, by flag.
#[derive(Clone, Debug)]
pub(crate) struct ByFlag<T> {
    pub list: Vec<T>,
    /// What follows flag `f` is `list[starts[f]..starts[f + 1]]`.
    starts: [u32; 65],
    /// Flags that something follows.
    pub mask: u64,
}

/// Links of one unit.
pub(crate) type Links = ByFlag<Link>;

impl<T> ByFlag<T> {
    /// From a list in the order of flags.
    pub fn of_sorted(flagged: Vec<(u32, T)>) -> ByFlag<T> {
        let mask = flagged.iter().fold(0, |mask, (flag, _)| mask | 1 << flag);
        let mut starts = [0; 65];
        for flag in 0..64 {
            starts[flag + 1] = flagged.iter().filter(|(f, _)| *f as usize <= flag).count() as u32;
        }
        ByFlag { list: flagged.into_iter().map(|(_, follows)| follows).collect(), starts, mask }
    }

    /// What follows a flag.
    pub fn of(&self, flag: u32) -> &[T] {
        &self.list[self.starts[flag as usize] as usize..self.starts[flag as usize + 1] as usize]
    }
}

impl Links {
    pub(crate) fn new(mut flagged: Vec<(u32, Link)>) -> Links {
        flagged.sort_by_key(|(flag, link)| (*flag, link.sink.unit, link.sink.at));
        // What lies next to each other on both sides is copied as one.
        flagged.dedup_by(|(flag, next), (own, link)| {
            let joins = flag == own
                && next.sink.unit == link.sink.unit
                && next.from == link.from + link.limbs
                && next.sink.at == link.sink.at + link.limbs;
            if joins {
                link.limbs += next.limbs;
                link.sink.mark |= next.sink.mark;
            }
            joins
        });
        ByFlag::of_sorted(flagged)
    }
}

/// What clocking a unit needs, close together.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub native: Option<NativeCall>,
    pub ty: usize,
    /// The unit's state in the state of the whole design, or of a part of it.
    pub base: usize,
    pub end: usize,
    /// Flags that have links.
    pub mask: u64,
}
