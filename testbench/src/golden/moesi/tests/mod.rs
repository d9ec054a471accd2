//! The model against itself: driven by hand, small systems whole, planted faults, identifiers.

mod by_hand;
mod sizes;
mod slips;

use super::table::{BANK_ROWS, SLICE_ROWS, names};
use super::{BANK, SLICE};
use std::collections::BTreeSet;

#[test]
fn every_row_of_the_ledger_is_one_of_the_model_and_has_a_text() {
    let texts: Vec<&str> =
        SLICE_ROWS.iter().chain(BANK_ROWS.into_iter().flatten()).map(|(id, _)| *id).collect();
    let unique: BTreeSet<&str> = texts.iter().copied().collect();
    assert_eq!(unique.len(), texts.len());
    assert_eq!(unique, names().into_iter().map(|(id, _)| id).collect());
    for (part, prefix) in [(SLICE, "moesi."), (BANK, "moesi_l2.")] {
        assert!((part.rows)().iter().all(|(id, text)| id.starts_with(prefix) && text.ends_with('.')));
        let races: BTreeSet<&str> = part.races.iter().map(|race| race.id).collect();
        let model = super::races::Race::ALL.iter().map(|(_, id)| *id);
        assert_eq!(races, model.filter(|id| id.starts_with(prefix)).collect());
    }
}
