//! Names of the protocols (rec.md section 8): those of the hardware.

use crate::config::Named;
use weft_blocks::fabric::Protocol;

const COUNT: usize = Protocol::ALL.len();

const fn values() -> [Protocol; COUNT] {
    let mut out = [Protocol::Rec; COUNT];
    let mut i = 0;
    while i < COUNT {
        out[i] = Protocol::ALL[i].0;
        i += 1;
    }
    out
}

const fn names() -> [&'static str; COUNT] {
    let mut out = [""; COUNT];
    let mut i = 0;
    while i < COUNT {
        out[i] = Protocol::ALL[i].1;
        i += 1;
    }
    out
}

impl Named for Protocol {
    const VALUES: &'static [Protocol] = &values();
    const NAMES: &'static [&'static str] = &names();
}
