//! The arrays with the owners of registered lines, and which lines may leave.

use super::params::HlrcL2Params;
use super::types::{Kind, LineState, Named};
use crate::bank::{Bank, Beside, Looked, Pipeline, Rows};
use weft_cache::{Array, ByRow, Presented, vectors};
use weft_rtl::prelude::*;

/// The owner of each line, of meaning while it is registered.
pub(super) struct Owners {
    ways: u32,
    bits: u32,
    rows: ByRow<Bits>,
}

impl Presented for Owners {
    fn present(&self, set: Bits) {
        self.rows.present(set);
    }
}

impl Beside for Owners {
    type Kept = Bits;
    type Memory = Memory<Bits>;
    fn declare(bank: &Bank) -> Memory<Bits> {
        vectors("owners", "owner", bank.sets(), bank.ways, bank.srsp.cu_bits())
    }
    fn new(bank: &Bank, memory: &Memory<Bits>) -> Owners {
        Owners { ways: bank.ways, bits: bank.srsp.cu_bits(), rows: Array::by_row(memory) }
    }
    fn of(&self, way: Bits) -> Bits {
        self.rows.look.lane_at(way).named("s1_owner")
    }
    fn put(&self, set: Bits, ways: Bits, owner: Bits) {
        self.rows.put.write_masked(set, ways, &vec![owner; self.ways as usize]);
    }
    fn clear(&self, set: Bits) {
        self.rows.clear(set, self.ways, &self.bits);
    }
}

/// The arrays.
pub(super) type Arrays = Rows<LineState, Owners>;
/// Stage 0 and the register of stage 1.
pub(super) type Select = Pipeline<Kind, Named, LineState, Owners>;
/// What a lookup finds; its owner is kept beside it.
pub(super) type Lookup = Looked<LineState, Bits>;

/// What the set presented in the cycle before says about a tag. A registration may replace a registered line if there is no other.
pub(super) fn look(p: &HlrcL2Params, arrays: &Arrays, tag: Bits, registers: Bool) -> Lookup {
    arrays.look(tag, |is| {
        let owned = is(&[LineState::R]);
        let free = is(&[LineState::I, LineState::V, LineState::D, LineState::W]);
        if p.owned_aware {
            mux(registers & free.none(), owned, free)
        } else {
            // The owner of the line to be replaced is asked to give it back whoever needs the frame.
            free | owned
        }
    })
}
