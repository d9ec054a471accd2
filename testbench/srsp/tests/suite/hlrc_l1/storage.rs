//! Storage: what the specification says of it.

use weft_rtl::area::area;
use weft_srsp::hlrc_l1::info;

/// srsp.md section 4: every published figure of an L1 of hLRC, from the hardware's own declarations.
#[test]
fn the_published_l1_stores_what_the_specification_says() {
    let found = area(&info().with(&[]).unwrap());
    let bits = |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
    let lines: u64 = ["state", "tag", "dirty_mask", "data"].map(bits).iter().sum();
    assert_eq!((lines, bits("replacement")), (256 * 617, 16 * 15));
    assert_eq!((bits("sfifo"), bits("wbt"), bits("fence")), (685, 704, 11));
    assert_eq!(bits("capture"), 42 + 64 + 512);
}
