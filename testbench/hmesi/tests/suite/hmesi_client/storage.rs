//! Storage and tables: what needs no simulation.

use weft_bench::pages;
use weft_rtl::area::area;
use weft_spandex::hmesi::client::info;
use weft_spandex::hmesi::client::table::page;

/// Per MSHR a line buffer and an InvAck counter of N_CPU + 1 clients and sign; per write-back buffer entry a line.
#[test]
fn the_published_client_stores_what_it_should() {
    let found = area(&info().with(&[]).unwrap());
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    assert_eq!(bits("line_buffer"), 128 * 512);
    assert_eq!(bits("wbb_data"), 16 * 512);
    assert_eq!(bits("client"), 128 * (42 + 5 + 8));
}

#[test]
fn tables_are_those_of_the_hardware() {
    pages::is_current("spandex/docs/hmesi-client.md", &page());
}
