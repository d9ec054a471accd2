use weft_rtl::prelude::*;

#[derive(Clone, Copy, Bundle)]
struct Request<T: Copy + 'static> {
    there: Bool,
    what: T,
}

fn main() {}
