//! Storage and tables: what needs no simulation.

use weft_bench::pages;
use weft_rtl::area::area;
use weft_spandex::tu_mesi::info;
use weft_spandex::tu_mesi::table::{forwards, installs, machine, responses};

/// spandex.md sections 6 and 7: two bits per word of each line of the L1; per MSHR a line buffer.
#[test]
fn the_published_unit_stores_what_the_specification_says() {
    let found = area(&info().with(&[]).unwrap());
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    assert_eq!(bits("wbp"), 16_384);
    assert_eq!(bits("line_buffer"), 128 * 512);
    assert_eq!(bits("wbb_data"), 16 * 512);
    // Six kinds: fwd ReqO is delayed too.
    assert_eq!(bits("removal"), 128 * 16 * (3 + 5 + 9 + 4));
}

#[test]
fn tables_are_those_of_the_hardware() {
    let text = format!(
        "{}\nForwards:\n\n{}\nResponses:\n\n{}\nLines that are whole:\n\n{}",
        machine().to_svg(),
        forwards().to_markdown(),
        responses().to_markdown(),
        installs().to_markdown(),
    );
    pages::is_current("spandex/docs/tu-mesi.md", &text);
}
