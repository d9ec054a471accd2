//! The pictures in `hdl/mgcc/pictures`, which the documentation shows, are those of today's hardware.
//!
//! `WEFT_PICTURES=write cargo nextest run --workspace --test mgcc_pictures` draws them again.

use std::collections::BTreeMap;
use std::path::Path;
use weft_blocks::registry::ParamSet;
use weft_mgcc::blocks;
use weft_rtl::picture::Picture;

#[test]
fn pictures_show_the_hardware() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hdl/mgcc/pictures");
    let write = std::env::var_os("WEFT_PICTURES").is_some_and(|value| value == "write");
    let mut old = Vec::new();
    for info in blocks() {
        let params = ParamSet::new(&info, &BTreeMap::new()).expect("defaults");
        let module = (info.build)(&params).expect("defaults are legal");
        let (path, svg) = (folder.join(format!("{}.svg", info.name)), Picture::of(&module).svg());
        assert!(!svg.contains("\n\n"), "an empty line would end the picture in a page of documentation");
        if write {
            std::fs::write(&path, &svg).expect("the folder can be written");
        }
        if std::fs::read_to_string(&path).ok().as_deref() != Some(&svg) {
            old.push(info.name);
        }
    }
    assert!(
        old.is_empty(),
        "pictures of {} are old: draw them again with WEFT_PICTURES=write",
        old.join(", ")
    );
}
