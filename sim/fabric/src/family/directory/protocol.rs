//! Names of the protocols (rec.md section 8): those of the hardware.

use crate::config::Named;
use weft_blocks::directory::protocols::ALL;
use weft_blocks::fabric::Protocol;

const COUNT: usize = ALL.len();

const fn names() -> [&'static str; COUNT] {
    let mut out = [""; COUNT];
    let mut i = 0;
    while i < COUNT {
        out[i] = ALL[i].name();
        i += 1;
    }
    out
}

impl Named for Protocol {
    const VALUES: &'static [Protocol] = ALL;
    const NAMES: &'static [&'static str] = &names();
}
