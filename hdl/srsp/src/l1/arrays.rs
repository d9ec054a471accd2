//! States, tags, dirty masks, data and ages of the lines: one row is read per cycle, one way of it changed.

use super::params::L1Params;
use super::table::LineState;
use weft_cache::plru::{plru_bits, plru_touch, plru_victim};
use weft_rtl::prelude::*;

/// The arrays. What a slot changes is called at most once per cycle: [`set_state`](Arrays::set_state) or [`flash`](Arrays::flash).
pub(super) struct Arrays {
    p: L1Params,
    /// One bit per line, sets of ways: every byte is valid; some are dirty; under way. Together the state.
    full: Reg<Bits>,
    dirty: Reg<Bits>,
    pending: Reg<Bits>,
    tags: (SramPort<Bits>, LaneWriter<Bits>),
    masks: (SramPort<Bits>, LaneWriter<Bits>),
    data: (SramPort<Bits>, LaneWriter<Bits>),
    ages: (SramPort<Bits>, LaneWriter<Bits>),
    change: Wire<Bool>,
    place: Wire<Bits>,
    state: Wire<Bits>,
    flash: Wire<Bool>,
}

/// What the row read holds of a line.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub set: Bits,
    /// The matching way; 0 without one.
    pub way: Bits,
    pub state: Enum<LineState>,
    pub victim: Bits,
    pub victim_state: Enum<LineState>,
    /// Some way is not under way.
    pub room: Bool,
}

impl Arrays {
    pub fn new(p: &L1Params) -> Arrays {
        let lines = p.sets() * p.ways;
        let plane = |name: &str| reg::<Bits>(name, lines).field("state");
        let array = |name: &str, field: &str, lanes: u32, bits: u32| {
            let mem = sram::<Bits>(name, p.sets(), lanes, bits).fields(&[(field, bits)]);
            (mem.read_port("look"), mem.lane_writer("put"))
        };
        Arrays {
            p: p.clone(),
            full: plane("line_full"),
            dirty: plane("line_dirty"),
            pending: plane("line_pending"),
            tags: array("tags", "tag", p.ways, p.tag_bits()),
            masks: array("masks", "dirty_mask", p.ways, p.srsp.line),
            data: array("lines", "data", p.ways, p.srsp.data_bits()),
            ages: array("ages", "replacement", 1, plru_bits(p.ways)),
            change: wire_or::<Bool>("line_change", (), false),
            place: wire_zero::<Bits>("line_place", bits_for(u64::from(lines))),
            state: wire_zero::<Bits>("line_state", 3),
            flash: wire_or::<Bool>("line_flash", (), false),
        }
    }

    fn set_of(&self, line: Bits) -> Bits {
        line.slice(0, self.p.set_bits())
    }

    fn tag_of(&self, line: Bits) -> Bits {
        line.slice(self.p.set_bits(), self.p.tag_bits())
    }

    /// Chooses the row that is read in the next cycle.
    pub fn present(&self, line: Bits) {
        let set = self.set_of(line).named("row_next");
        self.tags.0.present(set);
        self.masks.0.present(set);
        self.data.0.present(set);
        self.ages.0.present(set);
    }

    /// Looks a line up in its row, which was presented in the cycle before; `active`: it was.
    pub fn look_up(&self, line: Bits, active: Bool) -> Found {
        let (set, tag, ways) = (self.set_of(line), self.tag_of(line), self.p.ways);
        let row = |plane: &Reg<Bits>| plane.get().element(set, ways);
        let (full, dirty, pending) = (row(&self.full), row(&self.dirty), row(&self.pending));
        let used = (full | dirty | pending).named("ways_used");
        let same: Vec<Bool> = (0..ways).map(|w| self.tags.0.lane(w).eq(tag)).collect();
        let hit = (pack_bools(&same) & used).named("ways_hit");
        let text = "a line is in one way at most";
        assert_always("srsp_l1_line_once", !active | hit.popcount().zext(8).le(1), text);
        let state_in = |way: Bits| {
            let one = |plane: Bits| plane.bit_at(way).bits();
            cat(&[one(pending), one(dirty), one(full)])
        };
        let way = hit.lowest_set();
        let state = mux(hit.any(), state_in(way), lit(0, 3));
        let oldest = plru_victim(self.ages.0.lane(0), !pending, ways);
        let victim = mux(used.all(), oldest, (!used).lowest_set()).named("victim");
        Found {
            set,
            way,
            state: state.as_enum::<LineState>().named("found_state"),
            victim,
            victim_state: state_in(victim).as_enum::<LineState>().named("victim_state"),
            room: (!pending).any(),
        }
    }

    /// Makes a way the most recently used of the row read.
    pub fn touch(&self, found: &Found, way: Bits) {
        self.ages.1.write(found.set, &plru_touch(self.ages.0.lane(0), way, self.p.ways));
    }

    /// Writes a set's ages as after reset.
    pub fn clear_ages(&self, set: Bits) {
        self.ages.1.write(set, &lit(0, self.p.ways - 1));
    }

    /// Line number of a way of the row.
    pub fn line_in(&self, found: &Found, way: Bits) -> Bits {
        cat(&[self.tags.0.lane_at(way), found.set])
    }

    /// Data of a way of the row.
    pub fn data(&self, way: Bits) -> Bits {
        self.data.0.lane_at(way)
    }

    /// Dirty bytes of a way of the row, of meaning in D and W.
    pub fn mask(&self, way: Bits) -> Bits {
        self.masks.0.lane_at(way)
    }

    /// Gives a way of the row another state.
    pub fn set_state(&self, found: &Found, way: Bits, state: Enum<LineState>) {
        self.change.set(true);
        self.place.set(cat(&[found.set, way]));
        self.state.set(state.bits());
    }

    /// The state that this cycle leaves in a way of the row, which has `before`.
    pub fn state_after(&self, found: &Found, way: Bits, before: Enum<LineState>) -> Enum<LineState> {
        let here = self.change.get() & self.place.get().eq(cat(&[found.set, way]));
        let after = mux(here, self.state.get(), before.bits());
        let flashed = before.bits() & !lit(LineState::V.encoding(), 3);
        mux(self.flash.get(), flashed, after).as_enum::<LineState>()
    }

    /// The state in which this cycle leaves the line that has a way of the row, in state `before`: another line may get its place.
    pub fn left_in(&self, found: &Found, way: Bits, before: Enum<LineState>) -> Enum<LineState> {
        let tag = self.tags.0.lane_at(way);
        let stays = self.tags.1.leaves(found.set, way, &tag).eq(tag);
        mux(stays, self.state_after(found, way, before), enum_lit(LineState::I))
    }

    /// Writes the tag of a line into a way of its row.
    pub fn put_tag(&self, found: &Found, way: Bits, line: Bits) {
        self.tags.1.write_lane(found.set, way, &self.tag_of(line));
    }

    /// Writes the dirty mask of a way of the row.
    pub fn put_mask(&self, found: &Found, way: Bits, mask: Bits) {
        self.masks.1.write_lane(found.set, way, &mask);
    }

    /// Writes the data of a way of the row.
    pub fn put_data(&self, found: &Found, way: Bits, data: Bits) {
        self.data.1.write_lane(found.set, way, &data);
    }

    /// Drops every valid line; none is dirty. Lines under way stay so.
    pub fn flash(&self) {
        self.flash.set(true);
    }

    /// Declares how the states change; call it last. `dirty_lines` bounds the lines that may be dirty.
    pub fn finish(&self, dirty_lines: Bits) {
        let lines = self.p.sets() * self.p.ways;
        let here = self.place.get().one_hot(lines);
        let planes = [&self.full, &self.dirty, &self.pending];
        when(self.flash.get(), || self.full.set(lit_bv(Bv::zero(lines)))).elsewhen(self.change.get(), || {
            for (bit, plane) in planes.into_iter().enumerate() {
                let on = self.state.get().bit(bit as u32);
                plane.set(mux(on, plane.get() | here, plane.get() & !here));
            }
        });
        let text = "a flash invalidation finds no dirty line";
        assert_always("srsp_l1_flash_clean", !self.flash.get() | self.dirty.get().none(), text);
        let count = self.dirty.get().popcount().zext(16);
        let text = "every dirty line has an sFIFO entry";
        assert_always("srsp_l1_dirty_listed", count.le(dirty_lines.zext(16)), text);
        for (id, state, text) in super::table::FLASH {
            let plane = if state == LineState::V { &self.full } else { &self.pending };
            cover(id, self.flash.get() & plane.get().any(), text);
        }
    }

    /// A flash invalidation happens in this cycle.
    pub fn flashes(&self) -> Bool {
        self.flash.get()
    }

    /// Some line is under way.
    pub fn some_pending(&self) -> Bool {
        self.pending.get().any()
    }
}
