//! Storage and tables: what needs no simulation.

use weft_bench::pages;
use weft_rtl::area::area;
use weft_spandex::mesi_l1::info;
use weft_spandex::mesi_l1::table::{answers, lookups, machine, operations, targets, victims};

/// spandex.md section 7: 512 x (36 + 3 + 512) + 448 bits.
#[test]
fn the_published_l1_stores_what_the_specification_says() {
    let found = area(&info().with(&[]).unwrap());
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    assert_eq!((bits("tag"), bits("state"), bits("data")), (512 * 36, 512 * 3, 512 * 512));
    assert_eq!(bits("replacement"), 448);
}

#[test]
fn tables_are_those_of_the_hardware() {
    let text = format!(
        "{}\nOperations of the core:\n\n{}\nVictims:\n\n{}\nAnswers:\n\n{}\nOperations that have waited:\n\n{}\nLookups from below:\n\n{}",
        machine().to_svg(),
        operations().to_markdown(),
        victims().to_markdown(),
        answers().to_markdown(),
        targets().to_markdown(),
        lookups().to_markdown(),
    );
    pages::is_current("spandex/docs/mesi-l1.md", &text);
}
