//! States, tags, dirty masks, data and ages of the lines: one row is read per cycle, one way of it changed.

use super::params::HlrcL1Params;
use super::table::{FLASH, OwnState};
use weft_cache::plru::{plru_bits, plru_touch, plru_victim};
use weft_rtl::prelude::*;

/// The arrays. What a slot changes is called at most once per cycle: [`set_state`](Arrays::set_state) or [`flash`](Arrays::flash).
pub(super) struct Arrays {
    p: HlrcL1Params,
    /// One bit per line, sets of ways: the bits of the state.
    full: Reg<Bits>,
    dirty: Reg<Bits>,
    kept: Reg<Bits>,
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
    pub state: Enum<OwnState>,
    pub victim: Bits,
    pub victim_state: Enum<OwnState>,
    /// Some way is not under way.
    pub room: Bool,
    /// Ways of the row that are owned.
    pub owned: Bits,
}

impl Arrays {
    pub fn new(p: &HlrcL1Params) -> Arrays {
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
            kept: plane("line_kept"),
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
        let (full, dirty, kept) = (row(&self.full), row(&self.dirty), row(&self.kept));
        let used = (full | dirty | kept).named("ways_used");
        let owned = (kept & dirty).named("ways_owned");
        let pending = (kept & !dirty).named("ways_pending");
        let same: Vec<Bool> = (0..ways).map(|w| self.tags.0.lane(w).eq(tag)).collect();
        let hit = (pack_bools(&same) & used).named("ways_hit");
        let text = "a line is in one way at most";
        assert_always("hlrc_l1_line_once", !active | hit.popcount().zext(8).le(1), text);
        let state_in = |way: Bits| {
            let one = |plane: Bits| plane.bit_at(way).bits();
            cat(&[one(kept), one(dirty), one(full)])
        };
        let way = hit.lowest_set();
        let state = mux(hit.any(), state_in(way), lit(0, 3));
        let plain = !pending & !owned;
        let may = if self.p.owned_aware { mux(plain.any(), plain, owned) } else { !pending };
        let oldest = plru_victim(self.ages.0.lane(0), may, ways);
        let victim = mux(used.all(), oldest, (!used).lowest_set()).named("victim");
        Found {
            set,
            way,
            state: state.as_enum::<OwnState>().named("found_state"),
            victim,
            victim_state: state_in(victim).as_enum::<OwnState>().named("victim_state"),
            room: (!pending).any(),
            owned,
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

    /// Dirty bytes of a way of the row, of meaning in D, W and O.
    pub fn mask(&self, way: Bits) -> Bits {
        self.masks.0.lane_at(way)
    }

    /// Gives a way of the row another state.
    pub fn set_state(&self, found: &Found, way: Bits, state: Enum<OwnState>) {
        self.change.set(true);
        self.place.set(cat(&[found.set, way]));
        self.state.set(state.bits());
    }

    /// The state that this cycle leaves in a way of the row, which has `before`.
    pub fn state_after(&self, found: &Found, way: Bits, before: Enum<OwnState>) -> Enum<OwnState> {
        let here = self.change.get() & self.place.get().eq(cat(&[found.set, way]));
        let after = mux(here, self.state.get(), before.bits());
        let flashed =
            mux(before.bits().bit(2), before.bits(), before.bits() & !lit(OwnState::V.encoding(), 3));
        mux(self.flash.get(), flashed, after).as_enum::<OwnState>()
    }

    /// The state in which this cycle leaves the line that has a way of the row, in state `before`: another line may get its place.
    pub fn left_in(&self, found: &Found, way: Bits, before: Enum<OwnState>) -> Enum<OwnState> {
        let tag = self.tags.0.lane_at(way);
        let stays = self.tags.1.leaves(found.set, way, &tag).eq(tag);
        mux(stays, self.state_after(found, way, before), enum_lit(OwnState::I))
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

    /// Drops every valid line that is not owned; none of them is dirty. Lines under way stay so.
    pub fn flash(&self) {
        self.flash.set(true);
    }

    /// Declares how the states change; call it last. `dirty_lines` bounds the lines that may be dirty.
    pub fn finish(&self, dirty_lines: Bits) {
        let lines = self.p.sets() * self.p.ways;
        let here = self.place.get().one_hot(lines);
        let (full, dirty, kept) = (self.full.get(), self.dirty.get(), self.kept.get());
        let planes = [&self.full, &self.dirty, &self.kept];
        when(self.flash.get(), || self.full.set(full & kept)).elsewhen(self.change.get(), || {
            for (bit, plane) in planes.into_iter().enumerate() {
                let on = self.state.get().bit(bit as u32);
                plane.set(mux(on, plane.get() | here, plane.get() & !here));
            }
        });
        let unwritten = (dirty & !kept).named("lines_dirty");
        let text = "a flash invalidation finds no dirty line";
        assert_always("hlrc_l1_flash_clean", !self.flash.get() | unwritten.none(), text);
        let text = "every dirty line has an sFIFO entry";
        assert_always("hlrc_l1_dirty_listed", unwritten.popcount().zext(16).le(dirty_lines.zext(16)), text);
        for (id, state, text) in FLASH {
            let these = match state {
                OwnState::V => full & !kept,
                OwnState::P => kept & !dirty & !full,
                OwnState::PR => kept & full,
                _ => kept & dirty,
            };
            cover(id, self.flash.get() & these.any(), text);
        }
    }

    /// A flash invalidation happens in this cycle.
    pub fn flashes(&self) -> Bool {
        self.flash.get()
    }

    /// Some line is under way.
    pub fn some_pending(&self) -> Bool {
        (self.kept.get() & !self.dirty.get()).any()
    }

    /// No line is owned.
    pub fn none_owned(&self) -> Bool {
        (self.kept.get() & self.dirty.get()).none()
    }
}
