use weft_rtl::prelude::*;

#[derive(Clone, Copy, Bundle)]
enum Request {
    Read,
    Write,
}

fn main() {}
