//! The driver sees what it is to see, and the readers of the library crates stand what it makes.

mod planted;
mod readers;

use weft_fuzz::memory::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
