//! Blocks that every system shares: queues, arbiters, arrays, crossbars, links.

pub mod arbiter;
pub mod atomic;
pub mod cam;
pub mod crossbar;
pub mod delay;
pub mod delay_queue;
pub mod dram_stub;
pub mod fifo;
pub mod grid;
pub mod join;
pub mod link;
pub mod mshr;
pub mod phit;
pub mod register;
pub mod set_assoc;
pub mod switch;
pub mod sys;
pub mod traffic_gen;
pub mod wait;
