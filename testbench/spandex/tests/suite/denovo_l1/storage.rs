//! Storage and tables: what needs no simulation.

use weft_bench::pages;
use weft_rtl::area::area;
use weft_spandex::denovo_l1::{info, table};

/// spandex.md section 7: bits of the lines, from the hardware's own declarations.
#[test]
fn the_published_l1_stores_what_the_specification_says() {
    // Each line has 2W bits of word states; RO is an option.
    for (regions, ro) in [("0", 0), ("1", 1)] {
        let found = area(&info().with(&[("regions", regions)]).unwrap());
        let bits =
            |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
        let lines: u64 = ["state", "tag", "data", "replacement", "region"].map(bits).iter().sum();
        assert_eq!(lines, 512 * (36 + 2 * 16 + 512 + ro) + 448);
    }
    let small = [("size", "2K"), ("ways", "4"), ("line", "32"), ("addr_bits", "40")];
    let found = area(&info().with(&small).unwrap());
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    let lines: u64 = ["state", "tag", "data", "replacement"].map(bits).iter().sum();
    assert_eq!(lines, 64 * ((40 - 5 - 4) + 2 * 8 + 256) + 16 * 3);
}

#[test]
fn tables_are_those_of_the_hardware() {
    for (joins, through) in [(false, false), (true, false), (false, true), (true, true)] {
        assert_eq!(table::operations(joins, through).faults(), []);
    }
    let text = format!(
        "{}\nOperations of the CU and of the store buffer:\n\n{}\nForwards, by the state of their words:\n\n{}",
        table::machine().to_svg(),
        table::operations(true, true).to_markdown(),
        table::forwards().to_markdown(),
    );
    pages::is_current("spandex/docs/denovo-l1.md", &text);
}
