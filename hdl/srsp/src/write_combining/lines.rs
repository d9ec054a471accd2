//! States, tags, dirty masks, data and ages of the lines: one row is read per cycle, one way of it changed.

use super::Shape;
use super::op::spread;
use std::marker::PhantomData;
use weft_cache::{Array, ByLane, LineRows, vectors};
use weft_rtl::prelude::*;

/// The states of an L1's lines, in three bits. Bit 0: every byte is valid; bit 1: some are dirty, or more; bit 2: the L1's own. The first four are those that all L1s have, in this
/// order; an L1 has more.
pub(crate) trait LineStates: HwEnum {
    /// Begins the names of the block's assertions.
    const BLOCK: &'static str;
    /// Name of the bits 2 of all lines.
    const THIRD: &'static str;
    /// A flash invalidation leaves lines whose bit 2 is set as they are; else it drops every valid line.
    const KEEPS: bool;
    /// Invalid.
    const I: Self = Self::VARIANTS[0];
    /// Valid, with no byte dirty.
    const V: Self = Self::VARIANTS[1];
    /// Valid, with dirty bytes.
    const D: Self = Self::VARIANTS[3];
    /// Dirty bytes alone are valid.
    const W: Self = Self::VARIANTS[2];
}

/// The arrays. What a slot changes is called at most once per cycle: [`set_state`](Lines::set_state) or [`flash`](Lines::flash).
pub(crate) struct Lines<S> {
    /// One bit per line, sets of ways: the three bits of the state.
    pub full: Reg<Bits>,
    pub dirty: Reg<Bits>,
    pub third: Reg<Bits>,
    /// Bytes of a line.
    bytes: u32,
    /// Beside tags, data and ages the dirty bytes.
    rows: LineRows<ByLane<Bits>>,
    change: Wire<Bool>,
    place: Wire<Bits>,
    state: Wire<Bits>,
    flash: Wire<Bool>,
    of: PhantomData<S>,
}

/// The states of the ways of a row.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    set: Bits,
    pub full: Bits,
    pub dirty: Bits,
    pub third: Bits,
    /// Ways in use.
    used: Bits,
}

impl Row {
    fn state_in(&self, way: Bits) -> Bits {
        let one = |plane: Bits| plane.bit_at(way).bits();
        cat(&[one(self.third), one(self.dirty), one(self.full)])
    }
}

/// What the row read holds of a line.
#[derive(Clone, Copy)]
pub(crate) struct Found<S> {
    pub set: Bits,
    /// The matching way; 0 without one.
    pub way: Bits,
    pub state: Enum<S>,
    pub victim: Bits,
    pub victim_state: Enum<S>,
    /// Some way is not under way.
    pub room: Bool,
}

impl<S: LineStates> Lines<S> {
    pub fn new(p: &Shape) -> Lines<S> {
        let lines = p.sets() * p.ways;
        let plane = |name: &str| reg::<Bits>(name, lines).field("state");
        let masks = || Array::by_lane(&vectors("masks", "dirty_mask", p.sets(), p.ways, p.srsp.line));
        Lines {
            full: plane("line_full"),
            dirty: plane("line_dirty"),
            third: plane(S::THIRD),
            bytes: p.srsp.line,
            rows: LineRows::new(p.geometry(), p.srsp.data_bits(), masks),
            change: wire_or::<Bool>("line_change", (), false),
            place: wire_zero::<Bits>("line_place", bits_for(u64::from(lines))),
            state: wire_zero::<Bits>("line_state", 3),
            flash: wire_or::<Bool>("line_flash", (), false),
            of: PhantomData,
        }
    }

    /// Chooses the row of a line, which is read in the next cycle.
    pub fn present(&self, line: Bits) {
        self.rows.present(line);
    }

    /// The states in the row of a line.
    pub fn row(&self, line: Bits) -> Row {
        let geometry = self.rows.geometry();
        let set = geometry.set_of(line);
        let of = |plane: &Reg<Bits>| plane.get().element(set, geometry.ways);
        let (full, dirty, third) = (of(&self.full), of(&self.dirty), of(&self.third));
        Row { set, full, dirty, third, used: (full | dirty | third).named("ways_used") }
    }

    /// Looks a line up in its row, which was presented in the cycle before, if `active`: its way, and the state.
    pub fn find(&self, line: Bits, row: &Row, active: Bool) -> (Bits, Bits) {
        let hit = self.rows.hit(line, row.used, active, &format!("{}_line_once", S::BLOCK));
        let way = hit.lowest_set();
        (way, mux(hit.any(), row.state_in(way), lit(0, 3)))
    }

    /// What is found, and the way that the line may take: one of those that `may` be taken, if all are in use.
    pub fn found(
        &self,
        row: &Row,
        (way, state): (Bits, Bits),
        may: impl FnOnce() -> Bits,
        pending: Bits,
    ) -> Found<S> {
        let victim = self.rows.victim(row.used, self.rows.oldest(may));
        Found {
            set: row.set,
            way,
            state: state.as_enum::<S>().named("found_state"),
            victim,
            victim_state: row.state_in(victim).as_enum::<S>().named("victim_state"),
            room: (!pending).any(),
        }
    }

    /// Makes a way the most recently used of the row read.
    pub fn touch(&self, found: &Found<S>, way: Bits) {
        self.rows.touch(found.set, way);
    }

    /// After reset writes the ages, one set per cycle; true when done.
    pub fn initialise(&self) -> Bool {
        let done = reg::<Bool>("init_done", ());
        let row = reg::<Bits>("init_row", self.rows.geometry().set_bits);
        when(!done.get(), || {
            self.rows.clear_ages(row.get());
            row.set(row.get() + 1);
            when(row.get().all(), || done.set(true));
        });
        done.get()
    }

    /// Line number of a way of the row.
    pub fn line_in(&self, found: &Found<S>, way: Bits) -> Bits {
        self.rows.line_in(found.set, way)
    }

    /// Data of a way of the row.
    pub fn data(&self, way: Bits) -> Bits {
        self.rows.data(way)
    }

    /// Dirty bytes of a way of the row, of meaning while some are.
    pub fn mask(&self, way: Bits) -> Bits {
        self.rows.beside.look.lane_at(way)
    }

    /// Gives a way of the row another state.
    pub fn set_state(&self, found: &Found<S>, way: Bits, state: Enum<S>) {
        self.change.set(true);
        self.place.set(cat(&[found.set, way]));
        self.state.set(state.bits());
    }

    /// The state that this cycle leaves in a way of the row, which has `before`.
    pub fn state_after(&self, found: &Found<S>, way: Bits, before: Enum<S>) -> Enum<S> {
        let here = self.change.get() & self.place.get().eq(cat(&[found.set, way]));
        let after = mux(here, self.state.get(), before.bits());
        let invalid = |before: Bits| before & !lit(S::V.encoding(), 3);
        let before = before.bits();
        let flashed = if S::KEEPS { mux(before.bit(2), before, invalid(before)) } else { invalid(before) };
        mux(self.flash.get(), flashed, after).as_enum::<S>()
    }

    /// The state in which this cycle leaves the line that has a way of the row, in state `before`: another line may get its place.
    pub fn left_in(&self, found: &Found<S>, way: Bits, before: Enum<S>) -> Enum<S> {
        let stays = self.rows.keeps_tag(found.set, way);
        mux(stays, self.state_after(found, way, before), enum_lit(S::I))
    }

    /// Writes the tag of a line into a way of its row.
    pub fn put_tag(&self, found: &Found<S>, way: Bits, line: Bits) {
        self.rows.put_tag(found.set, way, line);
    }

    /// Writes the dirty mask of a way of the row.
    pub fn put_mask(&self, found: &Found<S>, way: Bits, mask: Bits) {
        self.rows.beside.put.write_lane(found.set, way, &mask);
    }

    /// Writes the data of a way of the row.
    pub fn put_data(&self, found: &Found<S>, way: Bits, data: Bits) {
        self.rows.put_data(found.set, way, data);
    }

    /// Writes bytes into a way of the row, in the places of a mask.
    pub fn put_bytes(&self, found: &Found<S>, way: Bits, mask: Bits, bytes: Bits) {
        let here = spread(mask);
        self.put_data(found, way, (self.data(way) & !here) | (bytes & here));
    }

    /// Writes bytes of a store or an atomic into a way of the row, whose line is dirty afterwards; `given` makes the bytes, in the places of a mask.
    pub fn merge(&self, found: &Found<S>, way: Bits, mask: Bits, given: impl FnOnce() -> Bits) {
        let absent = found.state.is(S::I);
        let (bits, bytes) = (8 * self.bytes, self.bytes);
        let (zero, none) = (lit_bv(Bv::zero(bits)), lit_bv(Bv::zero(bytes)));
        let old = mux(absent, zero, self.data(way));
        let clean = !found.state.is_any(&[S::D, S::W]);
        let dirty = mux(clean, none, self.mask(way));
        let given = given();
        let here = spread(mask);
        self.put_data(found, way, (old & !here) | (given & here));
        self.put_mask(found, way, dirty | mask);
        let partial = absent | found.state.is(S::W);
        self.set_state(found, way, mux(partial, enum_lit(S::W), enum_lit(S::D)));
    }

    /// Drops every valid line but those that are kept; none of them is dirty. Lines under way stay so.
    pub fn flash(&self) {
        self.flash.set(true);
    }

    /// Declares how the states change; call it last. `dirty_lines` bounds the lines that may be dirty.
    pub fn settle(&self, dirty_lines: Bits) {
        let lines = self.rows.geometry().lines();
        let here = self.place.get().one_hot(lines);
        let (full, dirty, third) = (self.full.get(), self.dirty.get(), self.third.get());
        when(self.flash.get(), || {
            self.full.set(if S::KEEPS { full & third } else { lit_bv(Bv::zero(lines)) });
        })
        .elsewhen(self.change.get(), || {
            for (bit, plane) in [&self.full, &self.dirty, &self.third].into_iter().enumerate() {
                let on = self.state.get().bit(bit as u32);
                plane.set(mux(on, plane.get() | here, plane.get() & !here));
            }
        });
        let written = if S::KEEPS { (dirty & !third).named("lines_dirty") } else { dirty };
        let says = |name: &str, holds: Bool, text: &str| {
            assert_always(&format!("{}_{name}", S::BLOCK), holds, text);
        };
        let text = "a flash invalidation finds no dirty line";
        says("flash_clean", !self.flash.get() | written.none(), text);
        let text = "every dirty line has an sFIFO entry";
        says("dirty_listed", written.popcount().zext(16).le(dirty_lines.zext(16)), text);
    }

    /// A flash invalidation happens in this cycle.
    pub fn flashes(&self) -> Bool {
        self.flash.get()
    }
}
