//! Every state that an abstract coherence protocol can reach: Spandex beside a blocking MESI directory with requests like those of CHI (spandex.md section
//! 11), to compare how much there is to verify in each.
//!
//! ```text
//!   device --+                    +-- device        one line of one word, always in the LLC unless it may evict it;
//!   device --+-- messages, in ----+-- device        one transaction per device; what a stable state may issue, it may
//!            |   no order at all  |                 issue at any time; what the LLC does not take yet stays under way
//!            +------- LLC --------+
//! ```
//!
//! - [`table`]: what a transition table is made of. [`spandex`], [`chi`]: the two protocols, each one as two tables, of a device and of the LLC.
//! - [`machine`]: carries out a row. A message that no row expects is an error, not a silence; so is one that two rows expect.
//! - [`state`]: a state in compact form, and the one that stands for all that differ in the devices' names. [`space`]: states and actions, to be searched by
//!   [`weft_explore::search`]: breadth first, so that a way to what must not happen is the shortest; with every transition kept, to find states from which
//!   rest cannot be reached any more: deadlocks and livelocks of some devices too, not only of all.
//! - [`check`]: what must hold. [`values`]: which value a read may return. [`trace`]: what went wrong, step by step. [`fault`]: rows put wrong on purpose.
//! - [`report`]: the tables of `weft states`.
//!
//! Decisions where the specification is silent:
//! - A message carries only what its receiver looks at; a copy is kept through a transaction only if something depends on it. So two states differ only where
//!   the protocol can tell.
//! - With WTfwd the first try of *every* write-through asks to be forwarded, in both protocols; unforwarded ones are retries.
//! - With Opred a request may also be sent directly, beside all others, to any other device; or, with `opred-owner`, to the one that the LLC has as owner when
//!   the request is issued (ownership may move before it arrives). Both include WTfwd, as the published steps do.
//! - A write-through leaves the copy that there was: V stays V, I stays I, as in the hardware. With one status for both
//!   (a copy is given up by a write-through) two devices have 1,298 states for 1,623, and 2,076 for 2,957 with `opred`.
//! - In the CHI-like protocol the acknowledgements to the LLC are a set of devices, as Spandex's `ack` is; those to a device are a number.
//!
//! # What comes out
//!
//! Three devices: 64,852 states of the CHI-like protocol against 295,247 of Spandex, ratio 0.22 (published: slightly below 1), and with more options 0.19 and
//! 0.20 (1.1 and 2.1). The LLC that blocks on every forward leaves the CHI-like protocol few interleavings, and Spandex has six requests where it has four. Its
//! growth with prediction is not larger than Spandex's either (3.4 and 3.8), so the published gap does not come from the protocols' abstract states.

pub mod check;
pub mod chi;
pub mod fault;
pub mod machine;
pub mod report;
pub mod space;
pub mod spandex;
pub mod state;
pub mod table;
pub mod trace;
pub mod values;
