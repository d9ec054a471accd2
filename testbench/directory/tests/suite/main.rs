//! Explorations of the directory family on its RTL.

mod explore;
