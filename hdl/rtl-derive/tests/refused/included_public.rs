use weft_rtl::prelude::*;

#[derive(Clone, Copy, PartialEq, HwEnum)]
pub enum State { I, V }
#[derive(Clone, Copy, PartialEq, HwEnum)]
pub enum Event { Load, Inv }
#[derive(Clone, Copy, PartialEq, HwEnum)]
pub enum Act { Answer }

transitions! {
    pub rows shared {
        (V, Load) [Answer] "Rows for other crates.";
    }
}

fn main() {}
