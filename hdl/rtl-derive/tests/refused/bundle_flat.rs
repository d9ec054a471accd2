use weft_rtl::prelude::*;

#[derive(Clone, Copy, Bundle)]
struct Asker {
    #[width(4)]
    src: Bits,
}

#[derive(Clone, Copy, Bundle)]
struct Request {
    there: Bool,
    #[flat("asker")]
    asker: Asker,
}

fn main() {}
