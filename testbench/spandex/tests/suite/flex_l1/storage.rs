//! Storage and tables: what needs no simulation.

use weft_bench::pages;
use weft_rtl::area::area;
use weft_spandex::flex_l1::{info, table};

/// spandex.md section 7: bits of the lines, from the hardware's own declarations.
#[test]
fn the_published_l1_stores_what_the_specification_says() {
    let found = area(&info().with(&[]).unwrap());
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    let lines: u64 = ["state", "tag", "data", "replacement"].map(bits).iter().sum();
    assert_eq!(lines, 512 * (36 + 2 * 16 + 512) + 448);
}

#[test]
fn tables_are_those_of_the_hardware() {
    let text = format!(
        "{}\nOperations of the CU and of the store buffer:\n\n{}\nForwards, by the state of their words:\n\n{}",
        table::machine().to_svg(),
        table::operations().to_markdown(),
        table::forwards().to_markdown(),
    );
    pages::is_current("spandex/docs/flex-l1.md", &text);
}
