use weft_rtl::Words;

#[derive(Clone, Copy, Words)]
enum Policy {
    Never,
    After(u32),
}

fn main() {}
