//! V bits, tags, data and ages of the lines: one row is read per cycle, one way of it changed.

use super::params::GpuL1Params;
use super::table::LineState;
use crate::flags::Flags;
use weft_cache::{Geometry, LineRows};
use weft_rtl::prelude::*;

/// The arrays.
pub(super) struct Arrays {
    p: GpuL1Params,
    /// One bit per line, sets of ways. Flip-flops: a flash clears them in one cycle.
    valid: Flags,
    rows: LineRows<()>,
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
        let geometry = p.geometry();
        Arrays {
            p: p.clone(),
            valid: Flags::new("line_valid", geometry.lines(), "state"),
            rows: LineRows::new(geometry, p.spandex.data_bits(), || ()),
            flash: wire_or::<Bool>("line_flash", (), false),
        }
    }

    fn geometry(&self) -> Geometry {
        self.rows.geometry()
    }

    /// Chooses the row that is read in the next cycle.
    pub fn present(&self, line: Bits) {
        self.rows.present(line);
    }

    /// Looks a line up in its row, which was presented in the cycle before; `active`: it was.
    pub fn look_up(&self, line: Bits, active: Bool) -> Found {
        let ways = self.p.ways;
        let set = self.geometry().set_of(line);
        let used = self.valid.get().element(set, ways).named("ways_used");
        let hit = self.rows.hit(line, used, active, "gpu_l1_line_once");
        let oldest = self.rows.oldest(|| lit_bv(Bv::ones(ways)));
        Found {
            set,
            way: hit.lowest_set(),
            state: hit.any().bits().as_enum::<LineState>().named("found_state"),
            victim: self.rows.victim(used, oldest),
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
        self.geometry().place(found.set, way)
    }

    /// Makes a way the most recently used of the row read.
    pub fn touch(&self, found: &Found, way: Bits) {
        self.rows.touch(found.set, way);
    }

    /// After reset writes the ages, one set per cycle; true when done.
    pub fn initialise(&self) -> Bool {
        self.rows.initialise(|_| ())
    }

    /// Data of a way of the row.
    pub fn data(&self, way: Bits) -> Bits {
        self.rows.data(way)
    }

    /// Writes the data of a way of the row.
    pub fn put_data(&self, found: &Found, way: Bits, data: Bits) {
        self.rows.put_data(found.set, way, data);
    }

    /// Installs a line in the victim's place.
    pub fn install(&self, found: &Found, line: Bits, data: Bits) {
        self.rows.put_tag(found.set, found.victim, line);
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
        self.valid.lower(lit_bv(Bv::ones(self.geometry().lines())));
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
