//! Tags, states, data and ages of the lines: one row is read per cycle, one way of it changed.

use crate::mesi_port::{LineState, MesiPort};
use weft_cache::plru::{plru_bits, plru_touch, plru_victim};
use weft_rtl::prelude::*;

/// The arrays. A slot changes the state of one way at most.
pub(super) struct Arrays {
    p: MesiPort,
    tags: (SramPort<Bits>, LaneWriter<Bits>),
    states: (SramPort<Bits>, RowWriter<Bits>),
    data: (SramPort<Bits>, LaneWriter<Bits>),
    ages: (SramPort<Bits>, LaneWriter<Bits>),
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
        let memory = |name: &str, field: &str, lanes: u32, bits: u32| {
            sram::<Bits>(name, p.sets(), lanes, bits).fields(&[(field, bits)])
        };
        let lanes = |mem: Memory<Bits>| (mem.read_port("look"), mem.lane_writer("put"));
        let states = memory("states", "state", p.ways, STATE);
        Arrays {
            p: p.clone(),
            tags: lanes(memory("tags", "tag", p.ways, p.tag_bits())),
            states: (states.read_port("look"), states.row_writer("put")),
            data: lanes(memory("lines", "data", p.ways, p.spandex.data_bits())),
            ages: lanes(memory("ages", "replacement", 1, plru_bits(p.ways))),
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
        self.states.0.present(set);
        self.data.0.present(set);
        self.ages.0.present(set);
    }

    /// Looks a line up in its row, which was presented in the cycle before; `active`: it was.
    pub fn look_up(&self, line: Bits, active: Bool) -> Found {
        let (set, tag, ways) = (self.set_of(line), self.tag_of(line), self.p.ways);
        let states: Vec<Enum<LineState>> =
            (0..ways).map(|w| self.states.0.lane(w).as_enum::<LineState>()).collect();
        let used = pack_bools(&states.iter().map(|s| !s.is(LineState::I)).collect::<Vec<_>>());
        let kept = [LineState::P, LineState::WE, LineState::WM];
        let free = pack_bools(&states.iter().map(|s| !s.is_any(&kept)).collect::<Vec<_>>());
        let same: Vec<Bool> = (0..ways).map(|w| self.tags.0.lane(w).eq(tag)).collect();
        let hit = (pack_bools(&same) & used).named("ways_hit");
        let text = "a line is in one way at most";
        assert_always("mesi_l1_line_once", !active | hit.popcount().zext(8).le(1), text);
        let way = hit.lowest_set();
        let state = mux(hit.any(), self.states.0.lane_at(way), lit(0, STATE));
        let oldest = plru_victim(self.ages.0.lane(0), free, ways);
        let victim = mux(used.all(), oldest, (!used).lowest_set()).named("victim");
        Found {
            set,
            way,
            state: state.as_enum::<LineState>().named("found_state"),
            victim,
            victim_state: self.states.0.lane_at(victim).as_enum::<LineState>().named("victim_state"),
            room: free.any(),
        }
    }

    /// Makes a way the most recently used of the row read.
    pub fn touch(&self, found: &Found, way: Bits) {
        self.ages.1.write(found.set, &plru_touch(self.ages.0.lane(0), way, self.p.ways));
    }

    /// Writes a set as it is after reset.
    pub fn clear(&self, set: Bits) {
        self.ages.1.write(set, &lit(0, plru_bits(self.p.ways)));
        let (all, invalid) = (Bv::ones(self.p.ways), Bv::zero(self.p.ways * STATE));
        self.states.1.write_packed(set, lit_bv(all), lit_bv(invalid));
    }

    /// Line number of a way of the row.
    pub fn line_in(&self, found: &Found, way: Bits) -> Bits {
        cat(&[self.tags.0.lane_at(way), found.set])
    }

    /// Data of a way of the row.
    pub fn data(&self, way: Bits) -> Bits {
        self.data.0.lane_at(way)
    }

    /// State of a way of the row.
    pub fn state(&self, way: Bits) -> Enum<LineState> {
        self.states.0.lane_at(way).as_enum::<LineState>()
    }

    /// Gives a way of the row another state.
    pub fn set_state(&self, found: &Found, way: Bits, state: Enum<LineState>) {
        let row = pack(&vec![state.bits(); self.p.ways as usize]);
        self.states.1.write_packed(found.set, way.one_hot(self.p.ways), row);
    }

    /// The state that this cycle leaves in a way of the row, which has `before`.
    pub fn state_after(&self, found: &Found, way: Bits, before: Enum<LineState>) -> Enum<LineState> {
        self.states.1.leaves(found.set, way, &before.bits()).as_enum::<LineState>()
    }

    /// Writes the tag of a line into a way of its row.
    pub fn put_tag(&self, found: &Found, way: Bits, line: Bits) {
        self.tags.1.write_lane(found.set, way, &self.tag_of(line));
    }

    /// Writes the data of a way of the row.
    pub fn put_data(&self, found: &Found, way: Bits, data: Bits) {
        self.data.1.write_lane(found.set, way, &data);
    }
}
