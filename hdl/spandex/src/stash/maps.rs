//! The stash map: where words of the stash lie in global memory, and back (the reverse map).
//!
//! Words of one line that one mapping holds lie side by side in the stash: a [`Run`].

use super::params::{STRIDE, StashParams};
use super::port::StashMap;
use crate::flags::Flags;
use weft_rtl::prelude::*;

/// A mapping.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = StashParams)]
pub(super) struct Mapping {
    #[width(p.word_bits())]
    #[field("stash_map")]
    pub base: Bits,
    #[width(p.global_bits())]
    #[field("stash_map")]
    pub global: Bits,
    #[width(p.count_bits())]
    #[field("stash_map")]
    pub element: Bits,
    #[width(STRIDE)]
    #[field("stash_map")]
    pub stride: Bits,
    #[width(p.count_bits())]
    #[field("stash_map")]
    pub count: Bits,
    /// Last line.
    #[width(p.spandex.line_bits())]
    #[field("stash_map")]
    pub last: Bits,
}

/// Words of one line that one mapping holds.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = StashParams)]
pub(super) struct Run {
    /// Stash word of the first.
    #[width(p.word_bits())]
    #[field("place")]
    pub first: Bits,
    /// Words of the line.
    #[width(p.spandex.words())]
    #[field("place")]
    pub mapped: Bits,
}

/// Quotient and remainder, by `bits` subtractions; the quotient fits in so many bits.
fn divide(value: Bits, by: Bits, bits: u32) -> (Bits, Bits) {
    let width = value.width().max(by.width() + bits);
    let mut rest = value.zext(width);
    let mut quotient = Vec::new();
    for k in (0..bits).rev() {
        let step = by.zext(width).shl(k);
        let fits = rest.ge(step);
        rest = mux(fits, rest - step, rest);
        quotient.push(fits);
    }
    quotient.reverse();
    (pack_bools(&quotient), rest.slice(0, by.width()))
}

impl Run {
    /// Of each word of the line how many mapped ones come before it.
    fn places(&self) -> Vec<Bits> {
        let width = bits_for(u64::from(self.mapped.width()));
        let mut places = vec![lit(0, width)];
        for j in 1..self.mapped.width() {
            places.push(places[j as usize - 1] + self.mapped.bit(j - 1).bits().zext(width));
        }
        places
    }

    /// Values of the run's words, side by side, in the places of their line; the others are 0.
    pub fn to_line(self, values: Bits) -> Bits {
        let width = values.width() / self.mapped.width();
        let pick = |(j, place): (u32, Bits)| values.element(place, width) & self.mapped.bit(j).repeat(width);
        pack(&(0..).zip(self.places()).map(pick).collect::<Vec<Bits>>())
    }

    /// Back: values of the words of a line side by side.
    pub fn to_run(self, line: Bits) -> Bits {
        let width = line.width() / self.mapped.width();
        let shift = width.trailing_zeros();
        let moved = |(j, place): (u32, Bits)| {
            let word = line.slice(j * width, width) & self.mapped.bit(j).repeat(width);
            let by = if shift == 0 { place } else { cat(&[place, lit(0, shift)]) };
            word.zext(line.width()).shl_by(by)
        };
        let none = lit_bv(Bv::zero(line.width()));
        (0..).zip(self.places()).map(moved).fold(none, |all, word| all | word)
    }
}

/// The stash map.
pub(super) struct Maps {
    p: StashParams,
    pub valid: Flags,
    /// Another mapping has taken some of its space.
    cut: Flags,
    entries: Memory<Mapping>,
    writer: LaneWriter<Mapping>,
}

impl Maps {
    pub fn new(p: &StashParams) -> Maps {
        let entries = regfile::<Mapping>("maps", p.maps, p.clone());
        Maps {
            valid: Flags::new("maps_valid", p.maps, "stash_map"),
            cut: Flags::new("maps_cut", p.maps, "stash_map"),
            writer: entries.lane_writer("in"),
            entries,
            p: p.clone(),
        }
    }

    /// The mapping that a message asks for.
    pub fn mapping(&self, m: &StashMap) -> Mapping {
        let p = &self.p;
        let width = p.global_bits();
        let steps = (m.count - 1).zext(width).mul(m.stride.zext(width));
        let last = m.global + steps + m.element.zext(width) - 1;
        Mapping {
            base: m.base,
            global: m.global,
            element: m.element,
            stride: m.stride,
            count: m.count,
            last: last.slice(p.offset_bits(), p.spandex.line_bits()),
        }
    }

    /// The message can be carried out.
    pub fn legal(&self, m: &StashMap) -> Bool {
        let width = 2 * self.p.count_bits();
        let room = m.base.zext(width) + m.element.zext(width).mul(m.count.zext(width));
        let fits = room.le(u64::from(self.p.words()));
        let wide = width.max(STRIDE);
        let apart = m.stride.zext(wide).ge(m.element.zext(wide));
        m.element.any() & m.count.any() & apart & fits
    }

    /// An entry holds this mapping already, all of it.
    pub fn holds(&self, index: Bits, new: &Mapping) -> Bool {
        let now = self.read(index);
        let same = now.base.eq(new.base)
            & now.global.eq(new.global)
            & now.element.eq(new.element)
            & now.stride.eq(new.stride)
            & now.count.eq(new.count);
        self.valid.get().bit_at(index) & !self.cut.get().bit_at(index) & same
    }

    pub fn read(&self, index: Bits) -> Mapping {
        self.entries.read(index)
    }

    /// An entry is written.
    pub fn write(&self, index: Bits, new: &Mapping) {
        self.writer.write(index, new);
        self.valid.raise(index.one_hot(self.p.maps));
        self.cut.lower(index.one_hot(self.p.maps));
    }

    /// Words of these mappings go to another one.
    pub fn cut(&self, entries: Bits) {
        self.cut.raise(entries);
    }

    /// Mappings that may hold words of a line, one bit each.
    pub fn of_line(&self, line: Bits) -> Bits {
        let (offset, width) = (self.p.offset_bits(), self.p.spandex.line_bits());
        let spans: Vec<Bool> = (0..self.p.maps)
            .map(|i| {
                let entry = self.entries.entry(i);
                entry.global.slice(offset, width).le(line) & line.le(entry.last)
            })
            .collect();
        pack_bools(&spans) & self.valid.get()
    }

    /// Line of a stash word of a mapping.
    pub fn line(&self, word: Bits, index: Bits) -> Bits {
        let (p, entry) = (&self.p, self.read(index));
        let (i, e) = divide(word - entry.base, entry.element, p.word_bits());
        let width = p.global_bits();
        let global = entry.global + i.zext(width).mul(entry.stride.zext(width)) + e.zext(width);
        global.slice(p.offset_bits(), p.spandex.line_bits())
    }

    /// Words of a line that a mapping holds, one of those of [`Maps::of_line`].
    pub fn run(&self, line: Bits, index: Bits) -> Run {
        let (p, entry) = (&self.p, self.read(index));
        let (offset, words) = (p.offset_bits(), p.spandex.words());
        let start = cat(&[line, lit(0, offset)]);
        let before = start.lt(entry.global);
        // Less than count * stride where the line lies in the mapping.
        let distance = (start - entry.global).resize(p.count_bits() + STRIDE);
        let (q, r) = divide(distance, entry.stride, p.count_bits());
        let zero = |bits: Bits| lit(0, bits.width());
        let (q, r) = (mux(before, zero(q), q), mux(before, zero(r), r));
        let wide = p.count_bits().max(STRIDE) + 1;
        let (element, stride) = (entry.element.zext(wide), entry.stride.zext(wide));
        let count = entry.count.zext(p.count_bits() + 1);
        let first_word = entry.global.slice(0, offset);
        let (mut i, mut at) = (q.zext(p.count_bits() + 1), r.zext(wide));
        let inside = at.lt(element);
        let next_element = q.zext(p.count_bits() + 1) + (!inside).bits().zext(p.count_bits() + 1);
        let skipped = next_element.resize(p.word_bits()).mul(element.resize(p.word_bits()));
        let within = mux(inside, at, lit(0, wide)).resize(p.word_bits());
        let mut mapped = Vec::new();
        for j in 0..words {
            let live = !before | lit(u64::from(j), offset).ge(first_word);
            mapped.push(live & at.lt(element) & i.lt(count));
            let wraps = (at + 1).eq(stride);
            let (next, moved) = (i + wraps.bits().zext(i.width()), mux(wraps, lit(0, wide), at + 1));
            (i, at) = (mux(live, next, i), mux(live, moved, at));
        }
        Run { first: entry.base + skipped + within, mapped: pack_bools(&mapped) }
    }

    /// Declares how the flags change; called last.
    pub fn finish(&self) {
        self.valid.finish();
        self.cut.finish();
    }
}
