use weft_rtl::prelude::*;

#[derive(Clone, Copy, Bundle)]
struct Request {
    #[width(4)]
    #[shape(8)]
    src: Bits,
}

fn main() {}
