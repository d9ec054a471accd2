//! The blocks of the hierarchical baseline against the golden model: one block in hardware, everything around it is the model, and every message that the block sends is judged by a watch
//! ([`weft_hmesi_bench::watch`]), data included.

mod around;
mod client;
mod convert;
mod gpu;
mod l2;
mod l3;
