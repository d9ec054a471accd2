//! Observers.
use super::data::DataStage;
use super::decide::{Decision, Parts};
use super::select::Choice;
use weft_rtl::prelude::*;

pub(super) fn connect(
    parts: &Parts,
    choice: &Choice,
    d: &Decision,
    s2: &DataStage,
    answer: Option<(Bool, Bits)>,
) {
    let _ = (parts, choice, d, s2, answer);
}
