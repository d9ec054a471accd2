//! What the picture of a directory shows.

use std::collections::BTreeMap;
use weft_blocks::picture::picture;

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
