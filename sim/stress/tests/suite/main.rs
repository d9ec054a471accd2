//! Random programs, random hardware, what is made of a failing round, and the record.

mod campaign;
mod found;
mod hardware;
mod program;
mod record;
mod reduce;
