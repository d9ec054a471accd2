//! Blocks that every system shares: queues, arbiters, arrays, crossbars, links.

pub mod arbiter;
pub mod crossbar;
pub mod fifo;
pub mod link;
pub mod register;
pub mod switch;
pub mod sys;
