//! What holds in banks of all systems.

use super::{BankData, BankState, Beside, Fills, Looked, Pipeline};
use weft_blocks::common::mshr::MshrMatch;
use weft_rtl::prelude::*;

/// What stage 1 finds of a line.
pub(crate) struct AtLine<'a, S: BankState, K> {
    pub line: Bits,
    pub look: &'a Looked<S, K>,
    pub found: &'a MshrMatch,
    /// A row of the line's table is in force.
    pub looks: Bool,
    /// A message comes about the line.
    pub comes: Bool,
    /// The operation is a line that has come from memory; a write-back.
    pub fill: Bool,
    pub wb: Bool,
    /// A message is served.
    pub takes: Bool,
}

/// Checks what stage 1 finds, and counts what every bank does.
pub(crate) fn observe_line<K: HwEnum, A: BankData, S: BankState, E: Beside>(
    select: &Pipeline<K, A, S, E>,
    fills: &Fills,
    at: &AtLine<S, E::Kept>,
) {
    let (op, valid, srsp) = (select.s1.get(), select.s1_valid.get(), &select.bank.srsp);
    let one = at.look.matches.popcount().le(1);
    assert_always("l2_one_way_per_line", !at.looks | one, "a line is in one way at most");
    let coming = at.look.state.is_any(&[S::P, S::PD]);
    let same = coming.eq(at.found.hit) | ((at.fill | op.target) & at.found.hit);
    let text = "a line is on its way exactly while it has an MSHR";
    assert_always("l2_coming_has_mshr", !at.looks | same, text);
    let own = select.own;
    let home = if srsp.banks == 1 { own.none() } else { srsp.bank_of(at.line).eq(own) };
    assert_always("l2_own_bank", !at.comes | home, "a message comes to the bank of its line");
    let bytes = op.written.mask.any() | !at.wb;
    assert_always("l2_wb_has_bytes", !at.looks | bytes, "a write-back has bytes");
    let served = fills.reserves() | !(valid & op.target);
    let text = "who waited for a line is served while it is certainly here";
    assert_always("l2_targets_with_line", served, text);
    count("l2_fills", valid & at.fill, "lines that came from memory");
    let off = valid & op.from_head & !at.takes;
    count("l2_put_off", off, "messages that were looked at and wait");
}
