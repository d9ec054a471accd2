//! One file per verb.

pub mod area;
pub mod bench;
pub mod check;
pub mod circuits;
pub mod cosim;
pub mod digest;
pub mod explore;
pub mod export;
pub mod host;
pub mod ledger;
pub mod list;
pub mod litmus;
pub mod mutate;
pub mod new;
pub mod profile;
pub mod proved;
pub mod races;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod sim;
pub mod states;
pub mod stress;
pub mod sweep;
pub mod trace;
pub mod why;
