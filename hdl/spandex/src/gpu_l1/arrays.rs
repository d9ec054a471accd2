//! V bits, tags, data and ages of the lines: one row is read per cycle, one way of it changed.

use super::params::GpuL1Params;
use super::table::LineState;
use crate::flags::Flags;
use weft_cache::plru::{plru_bits, plru_touch, plru_victim};
use weft_rtl::prelude::*;

/// The arrays.
pub(super) struct Arrays {
    p: GpuL1Params,
    /// One bit per line, sets of ways. Flip-flops: a flash clears them in one cycle.
    valid: Flags,
    tags: (SramPort<Bits>, LaneWriter<Bits>),
    data: (SramPort<Bits>, LaneWriter<Bits>),
    ages: (SramPort<Bits>, LaneWriter<Bits>),
    flash: Wire<Bool>,
}

/// What the row read holds of a line.
#[derive(Clone, Copy)]
pub(super) struct Found {
    set: Bits,
    /// The matching way; 0 without one.
    pub way: Bits,
    pub state: Enum<LineState>,
    /// The way to install the line in.
    pub victim: Bits,
    /// It holds another line.
    pub evicts: Bool,
}

impl Arrays {
    pub fn new(p: &GpuL1Params) -> Arrays {
        let array = |name: &str, field: &str, lanes: u32, bits: u32| {
            let mem = sram::<Bits>(name, p.sets(), lanes, bits).fields(&[(field, bits)]);
            (mem.read_port("look"), mem.lane_writer("put"))
        };
        Arrays {
            p: p.clone(),
            valid: Flags::new("line_valid", p.sets() * p.ways, "state"),
            tags: array("tags", "tag", p.ways, p.tag_bits()),
            data: array("lines", "data", p.ways, p.spandex.data_bits()),
            ages: array("ages", "replacement", 1, plru_bits(p.ways)),
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
        self.data.0.present(set);
        self.ages.0.present(set);
    }

    /// Looks a line up in its row, which was presented in the cycle before; `active`: it was.
    pub fn look_up(&self, line: Bits, active: Bool) -> Found {
        let (set, tag, ways) = (self.set_of(line), self.tag_of(line), self.p.ways);
        let used = self.valid.get().element(set, ways).named("ways_used");
        let same: Vec<Bool> = (0..ways).map(|w| self.tags.0.lane(w).eq(tag)).collect();
        let hit = (pack_bools(&same) & used).named("ways_hit");
        let text = "a line is in one way at most";
        assert_always("gpu_l1_line_once", !active | hit.popcount().zext(8).le(1), text);
        let oldest = plru_victim(self.ages.0.lane(0), lit_bv(Bv::ones(ways)), ways);
        Found {
            set,
            way: hit.lowest_set(),
            state: hit.any().bits().as_enum::<LineState>().named("found_state"),
            victim: mux(used.all(), oldest, (!used).lowest_set()).named("victim"),
            evicts: used.all(),
        }
    }

    /// The state that this cycle leaves a line in, for observers.
    pub fn state_after(&self, found: &Found) -> Enum<LineState> {
        let stays = found.state.is(LineState::V) & self.stays(found, found.way);
        stays.bits().as_enum::<LineState>()
    }

    /// The state of the line that this cycle installs, for observers.
    pub fn installed(&self, found: &Found) -> Enum<LineState> {
        self.stays(found, found.victim).bits().as_enum::<LineState>()
    }

    /// A way of the row is valid after this cycle.
    fn stays(&self, found: &Found, way: Bits) -> Bool {
        self.valid.after().element(found.set, self.p.ways).bit_at(way)
    }

    fn place(&self, found: &Found, way: Bits) -> Bits {
        cat(&[found.set, way]).one_hot(self.p.sets() * self.p.ways)
    }

    /// Makes a way the most recently used of the row read.
    pub fn touch(&self, found: &Found, way: Bits) {
        self.ages.1.write(found.set, &plru_touch(self.ages.0.lane(0), way, self.p.ways));
    }

    /// Writes a set's ages as after reset.
    pub fn clear_ages(&self, set: Bits) {
        self.ages.1.write(set, &lit(0, self.p.ways - 1));
    }

    /// Data of a way of the row.
    pub fn data(&self, way: Bits) -> Bits {
        self.data.0.lane_at(way)
    }

    /// Writes the data of a way of the row.
    pub fn put_data(&self, found: &Found, way: Bits, data: Bits) {
        self.data.1.write_lane(found.set, way, &data);
    }

    /// Installs a line in the victim's place.
    pub fn install(&self, found: &Found, line: Bits, data: Bits) {
        self.tags.1.write_lane(found.set, found.victim, &self.tag_of(line));
        self.put_data(found, found.victim, data);
        self.valid.raise(self.place(found, found.victim));
        self.touch(found, found.victim);
    }

    /// The matching way becomes I.
    pub fn drop(&self, found: &Found) {
        self.valid.lower(self.place(found, found.way));
    }

    /// Every line becomes I in this cycle.
    pub fn flash(&self) {
        self.flash.set(true);
        self.valid.lower(lit_bv(Bv::ones(self.p.sets() * self.p.ways)));
    }

    /// Declares how V bits change; call it last.
    pub fn finish(&self) {
        self.valid.finish();
        let (flash, valid) = (self.flash.get(), self.valid.get());
        let (id, text) = super::table::FLASH[0];
        cover(id, flash & valid.any(), text);
        let words = valid.popcount().zext(32).mul(u64::from(self.p.spandex.words()));
        count_amount("gpu_l1_self_invalidated", flash, words, "words that acquires drop");
        count("gpu_l1_flashes", flash, "flash self-invalidations");
    }
}
