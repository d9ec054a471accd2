use weft_rtl::prelude::*;

#[derive(Clone, Copy, PartialEq, HwEnum)]
pub enum State { I, V }
#[derive(Clone, Copy, PartialEq, HwEnum)]
pub enum Event { Load, Inv }
#[derive(Clone, Copy, PartialEq, HwEnum)]
pub enum Act { Answer }

transitions! {
    rows shared {
        (V, Load) [Anwser] "A misspelt action.";
    }
}

transitions! {
    pub fn table() {
        name "table", rows "t.";
        on "state": State, "event": Event;
        next State; does Act;
        include shared;
    }
}

fn main() {}
