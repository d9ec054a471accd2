//! Tags, states, owners, dirty bytes and the pseudo-LRU trees: one lookup per cycle, read in one cycle and written in the next.

use super::params::HlrcL2Params;
use super::types::{LineState, Tag};
use weft_cache::plru::{plru_bits, plru_touch, plru_victim};
use weft_rtl::prelude::*;

/// The arrays.
pub(super) struct Arrays {
    p: HlrcL2Params,
    tags: SramPort<Tag>,
    tag_in: RowWriter<Tag>,
    owners: SramPort<Bits>,
    owner_in: RowWriter<Bits>,
    masks: SramPort<Bits>,
    mask_in: RowWriter<Bits>,
    trees: SramPort<Bits>,
    tree_in: LaneWriter<Bits>,
}

/// Result of a lookup, valid in the cycle after its presentation.
pub(super) struct Lookup {
    /// Ways that hold the line; at most one.
    pub matches: Bits,
    /// Some way does.
    pub hit: Bool,
    /// That way, else the one that the line would go to.
    pub way: Bits,
    /// State of the line, I without a way.
    pub state: Enum<LineState>,
    /// Tag, state, owner and dirty bytes of the way.
    pub there: Tag,
    pub owner: Bits,
    pub mask: Bits,
    /// Some way may leave.
    pub room: Bool,
    tree: Bits,
}

impl Arrays {
    /// Declares the arrays.
    pub fn new(p: &HlrcL2Params) -> Arrays {
        let tags = sram::<Tag>("tags", p.sets(), p.ways, p.clone());
        let line = p.srsp.line;
        let masks = sram::<Bits>("masks", p.sets(), p.ways, line).fields(&[("dirty", line)]);
        let cu = p.srsp.cu_bits();
        let owners = sram::<Bits>("owners", p.sets(), p.ways, cu).fields(&[("owner", cu)]);
        let bits = plru_bits(p.ways);
        let trees = sram::<Bits>("trees", p.sets(), 1, bits).fields(&[("replacement", bits)]);
        Arrays {
            p: p.clone(),
            tags: tags.read_port("look"),
            tag_in: tags.row_writer("put"),
            owners: owners.read_port("look"),
            owner_in: owners.row_writer("put"),
            masks: masks.read_port("look"),
            mask_in: masks.row_writer("put"),
            trees: trees.read_port("look"),
            tree_in: trees.lane_writer("put"),
        }
    }

    /// Starts the lookup of a set.
    pub fn present(&self, set: Bits) {
        self.tags.present(set);
        self.owners.present(set);
        self.masks.present(set);
        self.trees.present(set);
    }

    /// What the set presented in the cycle before says about a tag. A registration may replace a registered line if there is no other.
    pub fn look(&self, tag: Bits, registers: Bool) -> Lookup {
        let row = self.tags.row();
        let is = |states: &[LineState]| {
            pack_bools(&row.iter().map(|t: &Tag| t.state.is_any(states)).collect::<Vec<_>>())
        };
        let empty = is(&[LineState::I]);
        let equal: Vec<Bool> = row.iter().map(|t| t.tag.eq(tag)).collect();
        let matches = (pack_bools(&equal) & !empty).named("s1_matches");
        let hit = matches.any().named("s1_hit");
        let owned = is(&[LineState::R]);
        let free = is(&[LineState::I, LineState::V, LineState::D, LineState::W]);
        let may = if self.p.owned_aware {
            mux(registers & free.none(), owned, free)
        } else {
            // The owner of the line to be replaced is asked to give it back whoever needs the frame.
            free | owned
        };
        let tree = self.trees.lane(0);
        let oldest = plru_victim(tree, may, self.p.ways);
        let victim = mux(empty.any(), empty.lowest_set(), oldest).named("s1_victim");
        let way = mux(hit, matches.lowest_set(), victim).named("s1_way");
        let there = self.tags.lane_at(way);
        let state = mux(hit, there.state, enum_lit(LineState::I)).named("s1_state");
        let mask = self.masks.lane_at(way).named("s1_dirty");
        let owner = self.owners.lane_at(way).named("s1_owner");
        Lookup { matches, hit, way, state, there, owner, mask, room: may.any(), tree }
    }

    /// Writes tag, state, owner and dirty bytes of a way.
    pub fn put(&self, set: Bits, way: Bits, tag: Tag, owner: Bits, mask: Bits) {
        let ways = self.p.ways;
        let lane = way.one_hot(ways);
        self.tag_in.write_masked(set, lane, &vec![tag; ways as usize]);
        self.owner_in.write_masked(set, lane, &vec![owner; ways as usize]);
        self.mask_in.write_masked(set, lane, &vec![mask; ways as usize]);
    }

    /// The state in which this cycle leaves the line looked up, which has this tag: another line may get its way.
    pub fn state_after(&self, set: Bits, look: &Lookup, tag: Bits) -> Enum<LineState> {
        let after = self.tag_in.leaves(set, look.way, &look.there);
        mux(after.tag.eq(tag), after.state, enum_lit(LineState::I))
    }

    /// Notes that a way of the set looked up was used.
    pub fn touch(&self, set: Bits, look: &Lookup) {
        self.tree_in.write(set, &plru_touch(look.tree, look.way, self.p.ways));
    }

    /// Empties a set and its tree.
    pub fn empty(&self, set: Bits) {
        let ways = self.p.ways;
        let zero = |width: u32| lit_bv(Bv::zero(width));
        let all = lit_bv(Bv::ones(ways));
        self.tag_in.write_packed(set, all, zero(ways * (self.p.tag_bits() + 3)));
        self.owner_in.write_packed(set, all, zero(ways * self.p.srsp.cu_bits()));
        self.mask_in.write_packed(set, all, zero(ways * self.p.srsp.line));
        self.tree_in.write(set, &lit(0, plru_bits(ways)));
    }

    /// Dirty bytes are there where the state says so, and nowhere where it says that none are.
    pub fn is_sound(look: &Lookup) -> Bool {
        let dirty = look.there.state.is_any(&[LineState::Pd, LineState::D, LineState::W]);
        let clean = look.there.state.is_any(&[LineState::P, LineState::V]);
        (!dirty | look.mask.any()) & (!clean | look.mask.none())
    }
}
