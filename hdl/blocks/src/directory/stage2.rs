//! S2 of a directory slice: the write back.

use super::evb::Victim;
use super::lookup::{Ages, identity_ages};
use super::params::DirParams;
use super::types::Stage2;
use weft_rtl::prelude::*;

/// State of a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum DirState {
    /// Clears one set per cycle after reset; requests are not taken.
    Init,
    /// Works.
    Run,
}

/// Declares S2.
pub(super) fn stage2(p: &DirParams) -> Stage2 {
    Stage2 {
        valid: reg::<Bool>("s2_valid", ()),
        write: reg::<Bool>("s2_write", ()),
        set: reg::<Bits>("s2_set", p.set_bits()).field("pipeline"),
        way: reg::<Bits>("s2_way", p.way_bits()).field("pipeline"),
        entry: reg::<Bits>("s2_entry", p.entry_bits()).field("pipeline"),
        evict: reg::<Bool>("s2_evict", ()),
        victim: reg::<Victim>("s2_victim", p.clone()).field("pipeline"),
    }
}

/// Clears a set per cycle after reset; then writes back what S2 holds. `launch`: what else S2 begins.
pub(super) fn write_back(
    p: &DirParams,
    entries: &Memory<Bits>,
    (state, init_set): (&Reg<Enum<DirState>>, &Reg<Bits>),
    ages: Option<&Ages>,
    s2: &Stage2,
    launch: impl FnOnce(),
) {
    let s2_writer = entries.lane_writer("s2");
    let init_writer = entries.row_writer("init");
    switch(state.get(), |arms| {
        arms.case(DirState::Init, || {
            let row = vec![lit_bv(Bv::zero(p.entry_bits())); p.ways as usize];
            init_writer.write(init_set.get(), &row);
            if let Some(ages) = ages {
                ages.writer.write(init_set.get(), &identity_ages(p));
            }
            init_set.set(crate::common::fifo::wrapping_next(init_set.get(), p.sets()));
            when(init_set.get().eq(u64::from(p.sets() - 1)), || state.set(DirState::Run));
        });
        arms.case(DirState::Run, || {
            when(s2.write.get(), || {
                s2_writer.write_lane(s2.set.get(), s2.way.get(), &s2.entry.get());
            });
            if let Some(ages) = ages {
                when(ages.s2_write.get(), || ages.writer.write(s2.set.get(), &ages.s2_ages.get()));
            }
            launch();
        });
    });
}
