use weft_rtl::prelude::*;

#[derive(Clone, Copy, Bundle)]
struct Request(Bool, Bool);

fn main() {}
