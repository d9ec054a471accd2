//! `stash` alone, with a CU and a translation unit that are played by hand, and as a device among others around a bank of the LLC, over a network that keeps no order.
//!
//! | file | rows and races |
//! | --- | --- |
//! | `forwards` | every forward at words of every status, and any mix of them |
//! | `mappings` | STASH_MAP: translation both ways, walks, write-backs, aliases |
//! | `accesses` | loads, stores, reads, releases, acquires: their rows and races |
//! | `system`, `world`, `ask`, `look`, `random` | random work of several stashes and L1s, judged by `golden` |
//! | `shape` | parameters, tables, picture, storage |

mod accesses;
mod ask;
mod forwards;
mod golden;
mod hand;
mod look;
mod mappings;
mod random;
mod storage;
mod system;
mod world;
