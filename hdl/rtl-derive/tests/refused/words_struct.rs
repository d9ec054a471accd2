use weft_rtl::Words;

#[derive(Clone, Copy, Words)]
struct Policy {
    after: u32,
}

fn main() {}
