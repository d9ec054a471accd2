//! Storage and tables: what needs no simulation.

use weft_bench::pages;
use weft_rtl::area::area;
use weft_spandex::fabric::stash_device;
use weft_spandex::params::Spandex;
use weft_spandex::stash::{StashParams, info, table};
use weft_spandex::tu_denovo::TuDenovoParams;

#[test]
fn a_device_elaborates() {
    let spandex = Spandex { cus: 2, ..Spandex::default() };
    let unit = TuDenovoParams { spandex: spandex.clone(), n_fail: 1 };
    stash_device(&StashParams::published(spandex), &unit).unwrap();
}

/// cu-and-consistency.md section 8: per word two bits of state and the number of its mapping, from the hardware's own declarations.
#[test]
fn the_published_stash_stores_what_the_specification_says() {
    let found = area(&info().with(&[]).unwrap());
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    let words = 16 * 1024 / 4;
    assert_eq!(bits("state"), 2 * words);
    assert_eq!(bits("owner_map"), 5 * words);
    assert_eq!(bits("data"), 32 * words);
    // Base 12, global word 46, element and count 13 each, stride 16, last line 42, and a bit each: it holds a mapping, some of it was taken; and the row of the walk.
    assert_eq!(bits("stash_map"), 32 * (12 + 46 + 13 + 13 + 16 + 42 + 2) + 7);
}

#[test]
fn tables_are_those_of_the_hardware() {
    let text = format!(
        "{}\nOperations of the CU and of the store buffer:\n\n{}\nWords of another mapping that are in the way, and words of a mapping that ends:\n\n{}\nForwards, by the state of their words:\n\n{}",
        table::machine().to_svg(),
        table::operations().to_markdown(),
        table::vacate().to_markdown(),
        table::forwards().to_markdown(),
    );
    pages::is_current("spandex/docs/stash.md", &text);
}
