//! Functional models at the level of transactions, written from mgcc.md and from nothing else.
