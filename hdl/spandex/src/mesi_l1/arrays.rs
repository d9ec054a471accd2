//! Tags, states, data and ages of the lines: one row is read per cycle, one way of it changed.

use crate::mesi_port::{LineState, MesiPort};
use weft_cache::{Array, ByRow, LineRows, vectors};
use weft_rtl::prelude::*;

/// The arrays. A slot changes the state of one way at most.
pub(super) struct Arrays {
    /// Beside tags, data and ages the states.
    rows: LineRows<ByRow<Bits>>,
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
    /// Some way may be taken.
    pub room: Bool,
}

/// Bits of a state.
const STATE: u32 = 3;

impl Arrays {
    pub fn new(p: &MesiPort) -> Arrays {
        let states = vectors("states", "state", p.sets(), p.ways, STATE);
        let states = || Array::by_row(&states);
        Arrays { rows: LineRows::new(p.geometry(), p.spandex.data_bits(), states) }
    }

    /// Chooses the row that is read in the next cycle.
    pub fn present(&self, line: Bits) {
        self.rows.present(line);
    }

    /// Looks a line up in its row, which was presented in the cycle before; `active`: it was.
    pub fn look_up(&self, line: Bits, active: Bool) -> Found {
        let set = self.rows.geometry().set_of(line);
        let states = (0..self.ways()).map(|w| self.rows.beside.look.lane(w).as_enum::<LineState>());
        let states: Vec<Enum<LineState>> = states.collect();
        let used = pack_bools(&states.iter().map(|s| !s.is(LineState::I)).collect::<Vec<_>>());
        let kept = [LineState::P, LineState::WE, LineState::WM];
        let free = pack_bools(&states.iter().map(|s| !s.is_any(&kept)).collect::<Vec<_>>());
        let hit = self.rows.hit(line, used, active, "mesi_l1_line_once");
        let way = hit.lowest_set();
        let state = mux(hit.any(), self.rows.beside.look.lane_at(way), lit(0, STATE));
        let victim = self.rows.victim(used, self.rows.oldest(|| free));
        Found {
            set,
            way,
            state: state.as_enum::<LineState>().named("found_state"),
            victim,
            victim_state: self.rows.beside.look.lane_at(victim).as_enum::<LineState>().named("victim_state"),
            room: free.any(),
        }
    }

    fn ways(&self) -> u32 {
        self.rows.geometry().ways
    }

    /// Makes a way the most recently used of the row read.
    pub fn touch(&self, found: &Found, way: Bits) {
        self.rows.touch(found.set, way);
    }

    /// After reset writes states and ages, one set per cycle; true when done.
    pub fn initialise(&self) -> Bool {
        let (all, invalid) = (Bv::ones(self.ways()), Bv::zero(self.ways() * STATE));
        self.rows.initialise(|set| self.rows.beside.put.write_packed(set, lit_bv(all), lit_bv(invalid)))
    }

    /// Line number of a way of the row.
    pub fn line_in(&self, found: &Found, way: Bits) -> Bits {
        self.rows.line_in(found.set, way)
    }

    /// Data of a way of the row.
    pub fn data(&self, way: Bits) -> Bits {
        self.rows.data(way)
    }

    /// State of a way of the row.
    pub fn state(&self, way: Bits) -> Enum<LineState> {
        self.rows.beside.look.lane_at(way).as_enum::<LineState>()
    }

    /// Gives a way of the row another state.
    pub fn set_state(&self, found: &Found, way: Bits, state: Enum<LineState>) {
        let row = pack(&vec![state.bits(); self.ways() as usize]);
        self.rows.beside.put.write_packed(found.set, way.one_hot(self.ways()), row);
    }

    /// The state that this cycle leaves in a way of the row, which has `before`.
    pub fn state_after(&self, found: &Found, way: Bits, before: Enum<LineState>) -> Enum<LineState> {
        self.rows.beside.put.leaves(found.set, way, &before.bits()).as_enum::<LineState>()
    }

    /// Writes the tag of a line into a way of its row.
    pub fn put_tag(&self, found: &Found, way: Bits, line: Bits) {
        self.rows.put_tag(found.set, way, line);
    }

    /// Writes the data of a way of the row.
    pub fn put_data(&self, found: &Found, way: Bits, data: Bits) {
        self.rows.put_data(found.set, way, data);
    }
}
