//! Storage: what the specification says of it.

use weft_rtl::area::area;
use weft_srsp::l1::info;

/// srsp.md section 4: every published figure of an L1, from the hardware's own declarations.
#[test]
fn the_published_l1_stores_what_the_specification_says() {
    for (system, lr, pa, aff) in
        [("srsp-opt", 816, 752, 3392), ("srsp", 816, 752, 0), ("brsp", 0, 0, 0), ("base", 0, 0, 0)]
    {
        let found = area(&info().with(&[("impl", system)]).unwrap());
        let bits =
            |name: &str| -> u64 { found.fields.iter().filter(|f| f.field == name).map(|f| f.bits).sum() };
        let lines: u64 = ["state", "tag", "dirty_mask", "data"].map(bits).iter().sum();
        assert_eq!((lines, bits("replacement")), (256 * 617, 16 * 15), "{system}");
        assert_eq!((bits("sfifo"), bits("wbt"), bits("fence")), (685, 704, 11), "{system}");
        assert_eq!((bits("lr_tbl"), bits("pa_tbl"), bits("aff_cache")), (lr, pa, aff), "{system}");
    }
}
