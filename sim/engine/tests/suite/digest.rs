//! Fingerprints and the hash under them.

use weft_engine::digest::Digest;
use weft_engine::{Design, Options};
use weft_rtl::prelude::*;

fn counter(step: u64, name: &'static str) -> u64 {
    let module = Module::build("counter", ModuleKind::Block, || {
        let count = output_reg::<Bits>(name, 8);
        count.set(count.get() + step);
    });
    Design::new(&module.expect("legal"), Options::default()).expect("compiled").fingerprint()
}

#[test]
fn other_logic_and_other_names_are_another_design() {
    assert_eq!(counter(1, "count"), counter(1, "count"));
    assert_ne!(counter(1, "count"), counter(2, "count"));
    assert_ne!(counter(1, "count"), counter(1, "amount"));
}

#[test]
fn the_hash_is_the_published_one() {
    assert_eq!(Digest::of(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(Digest::of(b"foobar"), 0x8594_4171_f739_67e8);
}
