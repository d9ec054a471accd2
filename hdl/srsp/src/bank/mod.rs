//! What the banks of the L2 of all systems are made of: [`srsp_l2`](crate::l2) has locks and atomics beside it, [`hlrc_l2`](crate::hlrc_l2) owners and revocations.
//!
//! ```text
//!  req, wb --> Queues --+    S0         S1          S2
//!                       +- Pipeline - Rows ------ line ----+--> Answers (latency) --> rsp
//!  mem_rsp --> Lines, Writes, Fills                        +--> Jobs --> mem_req
//! ```
//! A part is here when both banks have it as it is; tables, and what is decided by them, are each bank's own.

mod memory;
mod observe;
mod outputs;
mod params;
mod pipeline;
mod queues;
mod rows;
mod rules;
mod types;

pub use params::Bank;
pub use types::masked;

pub(crate) use memory::{Fills, Lines, NumberedFile, Others, UnderWay, Writer, Writes, numbered};
pub(crate) use observe::{AtLine, observe_line};
pub(crate) use outputs::{Stage2, merged, ripening};
pub(crate) use params::{count_of, infos};
pub(crate) use pipeline::Pipeline;
pub(crate) use queues::{Ingress, Queues, Senior, Short, Shortages, note, unless};
pub(crate) use rows::{Beside, Looked, Moves, Next, Rows};
pub(crate) use rules::{Ruled, answered, chosen, code, coded};
pub(crate) use types::{Asker, BankData, BankState, Job, Op, Order, Reply, Tag, Work};
