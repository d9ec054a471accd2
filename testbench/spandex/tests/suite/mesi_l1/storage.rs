//! Storage and tables: what needs no simulation.

use weft_bench::pages;
use weft_rtl::area::area;
use weft_spandex::mesi_l1::info;
use weft_spandex::mesi_l1::table::{lookups, operations, targets, victims};

/// spandex.md section 7: 512 x (36 + 3 + 512) + 448 bits.
#[test]
fn the_published_l1_stores_what_the_specification_says() {
    let found = area(&info().with(&[]).unwrap());
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    assert_eq!((bits("tag"), bits("state"), bits("data")), (512 * 36, 512 * 3, 512 * 512));
    assert_eq!(bits("replacement"), 448);
}

#[test]
fn no_two_rows_of_a_table_meet() {
    for table in [operations(), victims(), targets(), lookups()] {
        assert_eq!(table.overlaps(), [], "{}", table.name);
    }
}

#[test]
fn tables_are_those_of_the_hardware() {
    let text = format!(
        "Operations of the core:\n\n{}\nVictims:\n\n{}\nOperations that have waited:\n\n{}\nLookups from below:\n\n{}",
        operations().to_markdown(),
        victims().to_markdown(),
        targets().to_markdown(),
        lookups().to_markdown(),
    );
    pages::is_current("spandex/docs/mesi-l1.md", &text);
}
