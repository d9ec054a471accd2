//! The pictures in `hdl/blocks/pictures`, which the documentation shows, are those of today's hardware.
//!
//! `WEFT_PICTURES=write cargo nextest run -p weft-blocks --test pictures` draws them again.

use std::collections::BTreeMap;
use std::path::Path;
use weft_blocks::picture::picture;
use weft_blocks::registry::blocks;

#[test]
fn pictures_show_the_hardware() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("pictures");
    let write = std::env::var_os("WEFT_PICTURES").is_some_and(|value| value == "write");
    let mut old = Vec::new();
    for info in blocks() {
        let (path, svg) = (
            folder.join(format!("{}.svg", info.name)),
            picture(info.name, &BTreeMap::new()).expect("defaults are legal"),
        );
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

#[test]
fn a_directory_shows_ports_states_and_entry() {
    let svg = picture("rec-directory", &BTreeMap::new()).expect("defaults are legal");
    let shown = |text: &str| assert!(svg.contains(&format!(">{text}<")), "{text} is not shown");
    shown("req: op 3, src 2, line 42, id 6");
    shown("inv: line 42, dest 4, cause 1, grp 1");
    ["INIT", "RUN", "IDLE", "WANT", "SENT", "ANSWER"].iter().for_each(|state| shown(state));
    shown("entries: SRAM, 1024 rows of 8 lanes of 103 bits");
    ["valid", "base", "position 15", "sharers 15", "slots 1..14", "position 0"]
        .iter()
        .for_each(|part| shown(part));
    // Base above 16 slots of 4 bits, valid on top.
    shown("101");
    shown("64");
}
