//! Whether stage 1 leaves a line in the state to which the row of its operation leads. No hardware.

use super::decide::{Decision, Parts};
use super::tables::{GpuState, HomeState, L2Act, ReqEvent, ReqState};
use super::tables::{gpu_home_machine, home_machine, requester, requester_machine};
use super::types::LineState;
use weft_rtl::prelude::*;

/// What the cycle leaves of the MSHR of the line, if it has one.
struct Left {
    waits: Bool,
    poisoned: Bool,
    atomics: Bool,
}

/// Asserts it of the rows of all three tables.
pub(super) fn connect(parts: &Parts, d: &Decision) {
    let p = parts.p;
    requester_machine(p.forces(), p.write_back).check(if p.write_back {
        &[]
    } else {
        &[ReqState::D, ReqState::W]
    });
    home_machine().check(&[]);
    if p.hier {
        gpu_home_machine(p.write_back).check(if p.write_back { &[] } else { &[GpuState::D, GpuState::W] });
    }
    let line = line_after(parts, d);
    // Dirty bytes that go on first leave the line clean; the operation itself follows.
    let first = |acts: Bool| d.held.map_or(bool_lit(false), |held| held.again & acts);
    let leaf = d.requester_side & (d.go | first(d.requester.does(L2Act::WriteOn)));
    let gpu_acts = d.gpu_home.as_ref().map_or(bool_lit(false), |rows| rows.does(L2Act::WriteOn));
    let gpu = d.gpu_side & (d.go | first(gpu_acts));
    let home = d.home_side & d.go;
    let (table, before) = (requester(p.forces(), p.write_back), d.requester_state.zext(3).as_enum());
    let rows = (d.requester.clone(), d.home.clone(), d.gpu_home.clone());
    with_mshr(parts, d, move |left| {
        let wait = |plain, poisoned| mux(left.poisoned, enum_lit(poisoned), enum_lit(plain));
        let after = mux(left.waits, wait(ReqState::P, ReqState::PX), of_requester(line));
        requester_leads(&table, &rows.0, (leaf, before), after);
        rows.1.leads_to_when(home, mux(left.waits, enum_lit(HomeState::F), of_home(line)));
        if let Some(rows) = &rows.2 {
            let atomics: Enum<GpuState> = mux(left.poisoned, enum_lit(GpuState::PAX), enum_lit(GpuState::PA));
            let plain = mux(left.poisoned, enum_lit(GpuState::PX), enum_lit(GpuState::P));
            let waits = mux(left.atomics, atomics, plain);
            rows.leads_to_when(gpu, mux(left.waits, waits, of_gpu(line)));
        }
    });
}

/// As [`Decoded::leads_to_when`], whose state has the column's bits: without write-back there are fewer than the enumeration has.
fn requester_leads(
    table: &Transitions<(ReqState, ReqEvent), ReqState, L2Act>,
    rows: &Decoded<ReqState, L2Act>,
    (done, before): (Bool, Enum<ReqState>),
    after: Enum<ReqState>,
) {
    let agrees = table.rows().iter().map(|row| {
        let leads: Vec<Bool> = match &row.next[..] {
            [] => vec![after.bits().eq(before.bits())],
            next => next.iter().map(|code| after.bits().eq(*code)).collect(),
        };
        !rows.row(&row.id) | any_of(&leads)
    });
    let text = "the state that follows is the one to which the row leads";
    assert_always("l2_requester_next", !done | all_of(&agrees.collect::<Vec<_>>()), text);
}

fn of_requester(line: Enum<LineState>) -> Enum<ReqState> {
    let dirty = mux(line.is(LineState::W), enum_lit(ReqState::W), enum_lit(ReqState::D));
    let held = mux(line.is(LineState::V), enum_lit(ReqState::V), dirty);
    mux(line.is(LineState::I), enum_lit(ReqState::I), held)
}

fn of_gpu(line: Enum<LineState>) -> Enum<GpuState> {
    let dirty = mux(line.is(LineState::W), enum_lit(GpuState::W), enum_lit(GpuState::D));
    let held = mux(line.is(LineState::V), enum_lit(GpuState::V), dirty);
    mux(line.is(LineState::I), enum_lit(GpuState::I), held)
}

fn of_home(line: Enum<LineState>) -> Enum<HomeState> {
    let held = mux(line.is(LineState::V), enum_lit(HomeState::V), enum_lit(HomeState::D));
    mux(line.is(LineState::I), enum_lit(HomeState::I), held)
}

/// State that the cycle leaves in the line's way: the one found, or the one taken.
fn line_after(parts: &Parts, d: &Decision) -> Enum<LineState> {
    let way = mux(d.install, d.look.victim, d.look.way);
    let left = parts.tags.left(d.op.set, way);
    mux(d.install | d.look.hit, left.state, enum_lit(LineState::I))
}

/// Calls `use_it` with what the cycle leaves of the line's MSHR: the one found, or the one that is opened.
fn with_mshr(parts: &Parts, d: &Decision, use_it: impl FnOnce(Left) + 'static) {
    let m = parts.m;
    let here = mux(d.found.hit, d.found.index, m.free_index());
    // Without a free one nothing is opened, and the number is that of another line's.
    let own = d.found.hit | !m.valid.get().all();
    let (valid, atom, poisoned, atomics) =
        (m.valid.clone(), m.atom.clone(), m.poisoned.clone(), m.atomics.clone());
    after_cycle(move |after| {
        let bit = |flags: &Reg<Bits>| after.of(flags).bit_at(here);
        use_it(Left {
            waits: own & bit(&valid) & !bit(&atom),
            poisoned: bit(&poisoned),
            atomics: atomics.as_ref().map_or_else(|| bool_lit(false), bit),
        });
    });
}
