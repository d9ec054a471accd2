//! The walk for a new mapping, and words that are in somebody's way.
//!
//! ```text
//!  None --> Old: rows of the entry's old mapping --> New: rows of the new one --> End: the entry is written, acknowledged
//!    |                                                ^
//!    +-- the entry held none ------------------------+     the same mapping again: acknowledged at once
//! ```
//! In each row owned words are written back, line by line; pending ones are waited for; then the others become I, and in New all belong to the new mapping.

use super::maps::Mapping;
use super::params::Inject;
use super::port::StashRsp;
use super::seek::Stage;
use super::slot::Slot;
use super::table::By;
use super::turn::Turn;
use weft_blocks::msg::CuOp;
use weft_rtl::prelude::*;

/// How far the walk is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Phase {
    /// It has not begun.
    None,
    /// Rows of the mapping that the entry held.
    Old,
    /// Rows of the new one.
    New,
    /// All rows are done.
    End,
}

/// The walk.
pub(super) struct Walk {
    phase: Reg<Enum<Phase>>,
    row: Reg<Bits>,
}

impl Walk {
    pub fn new(row_bits: u32) -> Walk {
        Walk {
            phase: reg::<Enum<Phase>>("walk_phase", ()),
            row: reg::<Bits>("walk_row", row_bits).field("stash_map"),
        }
    }
    /// Words are being taken away from mappings.
    pub fn active(&self) -> Bool {
        !self.phase.get().is(Phase::None)
    }
}

/// Rows of a mapping: the first and the last, and of the row at which the walk is the banks that belong to it.
struct Extent {
    first: Bits,
    last: Bits,
    banks: Bits,
}

impl Slot<'_> {
    /// The walk looks at words that were found.
    fn walk_looks(&self) -> Bool {
        self.turns.is(Turn::Walk) & self.core.search.walk.is(Stage::Ready) & self.turns.at_run.get()
    }

    /// Words of other mappings that are in the way of the operation in S1, and of the new mapping.
    pub fn clear_away(&self) {
        let (turns, search) = (self.turns, &self.core.search);
        let alias = self.active() & search.cu.is(Stage::Alias) & turns.at_run.get();
        let walk = self.walk_looks();
        let by = mux(turns.head.op.get().op.is(CuOp::Ld), enum_lit(By::Ld), enum_lit(By::St));
        let by = mux(walk, enum_lit(By::Map), by);
        let among = mux(walk, self.run.mapped, self.found);
        let (passes, waits) = self.vacate(alias | walk, by, among);
        when(passes & alias, || search.pass(self.states.owned | self.states.pending));
        when(passes & walk, || search.walk.stop());
        when(waits & walk, || turns.hold_walk());
        let text = "the words that an operation asks for are owned by another mapping";
        cover("spandex.race.stash_alias", alias & (self.states.owned & among).any(), text);
    }

    fn extent(&self, of: &Mapping) -> Extent {
        let (p, row) = (&self.core.p, self.core.walk.row.get());
        let width = p.count_bits();
        let last = of.base.zext(width) + of.element.mul(of.count) - 1;
        let last = last.slice(0, p.word_bits());
        let split = |word: Bits| (word.slice(0, p.bank_bits()), word.slice(p.bank_bits(), p.row_bits()));
        let ((low, first_row), (high, last_row)) = (split(of.base), split(last));
        let inside = |b: u32| {
            let bank = lit(u64::from(b), p.bank_bits());
            (row.ne(first_row) | bank.ge(low)) & (row.ne(last_row) | bank.le(high))
        };
        let banks = pack_bools(&(0..p.banks).map(inside).collect::<Vec<Bool>>());
        Extent { first: first_row, last: last_row, banks }
    }

    /// One step of the walk.
    pub fn walk(&self) {
        let (core, turns, walk) = (self.core, self.turns, &self.core.walk);
        let m = &turns.map.msg;
        let active = turns.is(Turn::Walk);
        let phase = |p: Phase| walk.phase.get().is(p);
        let new = core.maps.mapping(m);
        let old = core.maps.read(m.index);
        let same = core.maps.holds(m.index, &new);
        let valid = core.maps.valid.get().bit_at(m.index);
        let begins = active & phase(Phase::None) & !same;
        let [of_old, of_new] = [&old, &new].map(|of| self.extent(of));
        when(begins, || {
            walk.phase.set(mux(valid, enum_lit(Phase::Old), enum_lit(Phase::New)));
            walk.row.set(mux(valid, of_old.first, of_new.first));
            core.mshrs.ends(m.index);
        });
        let scans = active & (phase(Phase::Old) | phase(Phase::New)) & core.search.walk.is(Stage::None);
        self.scan(scans, phase(Phase::Old), &of_old, &of_new);
        let ends = active & (phase(Phase::End) | (phase(Phase::None) & same)) & core.replies.free;
        when(ends, || {
            when(!same, || core.maps.write(m.index, &new));
            walk.phase.set(Phase::None);
            turns.end_map();
            core.replies.send(&StashRsp {
                id: m.id,
                kind: lit(1, 2),
                mask: lit_bv(Bv::zero(core.p.banks)),
                data: core.banks.data(),
                src: lit(0, 3),
                merged: bool_lit(false),
            });
        });
        let text = "a mapping lies in the stash, and its elements do not overlap";
        assert_always("stash_map_legal", !turns.map.valid | core.maps.legal(m), text);
        let row = |name: &str, cond: Bool, text: &str| cover(&format!("spandex.stash.{name}"), cond, text);
        row(
            "map.same",
            ends & same & phase(Phase::None),
            "The entry holds this mapping already: its words stay.",
        );
        row("map.fresh", begins & !valid, "The entry held no mapping.");
        row("map.again", begins & valid, "The entry held another mapping, whose words go first.");
        count("stash_maps", ends, "mappings");
        count("stash_map_cycles", turns.map.valid, "cycles in which a mapping is not ready");
    }

    /// One row: a line with owned or pending words is sought, or nothing is left of them.
    fn scan(&self, scans: Bool, is_old: Bool, old: &Extent, new: &Extent) {
        let (core, p, walk) = (self.core, &self.core.p, &self.core.walk);
        let row = walk.row.get();
        let index = self.turns.map.msg.index;
        let mine = core.banks.row_owned_by(row, index);
        let all = lit_bv(Bv::ones(p.banks));
        let banks = mux(is_old, old.banks & mine, new.banks & all);
        let states = core.banks.states_of_row(row);
        let kept = states.owned & (!bool_lit(p.inject == Inject::ForgetsOwned)).repeat(p.banks);
        let held = (kept | states.pending) & banks;
        let word = cat(&[row, held.lowest_set()]);
        let seeks = scans & held.any();
        when(seeks, || core.search.walk.start(word, core.banks.owner(word)));
        let done = scans & held.none();
        let last = mux(is_old, row.eq(old.last), row.eq(new.last));
        when(done, || {
            core.banks.drop_row(row, states.here() & banks);
            when(!is_old, || {
                core.banks.give(row, banks, index);
                core.maps.cut(core.banks.owners_of_row(row, banks));
            });
            when(!last, || walk.row.set(row + 1))
                .elsewhen(is_old, || {
                    walk.phase.set(Phase::New);
                    walk.row.set(new.first);
                })
                .otherwise(|| walk.phase.set(Phase::End));
        });
        let dropped = done & (states.valid & banks).any();
        cover("spandex.stash.map.V", dropped, "Valid words of the space become I.");
    }
}
