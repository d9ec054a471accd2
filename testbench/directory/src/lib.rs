//! Exploration of the directory family (rec.md, hmg.md): every interleaving on its hardware.

pub mod explore;
