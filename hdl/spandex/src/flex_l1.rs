//! `flex-l1`: an L1 with dynamic coherence specialization (spandex.md section 8). It speaks Spandex itself.
//!
//! ```text
//!              +----------------------------------------------------------+
//!  cu_req ---->| S1, hint ---+              store buffer, MSHRs ----------+--> l1_req
//!              | releases -> slot: words, MSHRs, store buffer, --- evict -+--> l1_wb
//!  cu_rsp <----| delay <-----+     write-back buffer  ------- answers ----+--> l1_rsp_out
//!              |             ^                                            |<-- l1_fwd
//!              |             +--- entries whose words have come <---------+<-- l1_rsp
//!              +----------------------------------------------------------+
//! ```
//! It is [`denovo-l1`](crate::denovo_l1) with a fourth state of a word, S: the LLC invalidates it, so an acquire leaves it. What is asked for a missing word is said by the hint of the access
//! (`hint` of the CU's request: a request of section 8 in bits 2..0, the whole line in bit 3); it never changes a result.
//!
//! | access | hint | request |
//! | --- | --- | --- |
//! | load | ReqV (own choice: words) | ReqV of words or line |
//! | | ReqS | ReqS of words or line: S, or O, or used once, as the LLC decides |
//! | | ReqO+data | ReqO+data of words or line: O |
//! | store | ReqO (own choice: words) | buffered, ReqO of words; line: only a store of the whole line, else as ReqO+data |
//! | | ReqWT, ReqWT+fwd | buffered, ReqWT of its words, with `fwd` to their owner; copies are written and become V |
//! | | ReqO+data | ReqO+data of words or line, stored when they come |
//! | atomic, store of bytes | ReqO+data (own choice: words) | ReqO+data of words or line, done here |
//! | | ReqWT (of bytes also ReqWT+fwd) | ReqWT+data, done at the LLC; the copy becomes I |
//!
//! A request for a line skips words that are O, asked for already, buffered or written back; that for ReqV also those that are V or S. Words that are O are used whatever the hint says, and a load is
//! answered by V and S too. A hint that does not fit its access counts as the L1's own choice.
//!
//! Words of an entry are served as they come: the operation is done, the delayed read answered, the recorded removal carried out. Loads are answered when all their words have come; what came is theirs,
//! even if it is gone again.
//!
//! Decisions, beside those of [`denovo-l1`](crate::denovo_l1):
//! - The two state bits of a word: I 00, V 01, O 10, S 11.
//! - A load joins an entry for ownership or shared words if that brings all it misses; not words of which a removal is recorded (their remover may have done its store already), nor those that
//!   it finds newer here. After an acquire no load joins an entry for shared words: option 2 of the LLC brings words that nothing invalidates.
//! - Copies of words that are asked for by ReqS or ReqO+data are dropped when the request leaves: no upgrade is left for fwd ReqO to spoil.
//! - **fwd ReqO for words asked for by ReqS or ReqO+data is delayed like the other removals**, where the specification answers at once. The answer tells a writer that its word is to be
//!   read nowhere else any more; but the word that is still to come may still be read at its former owner, which the writer does not wait for. Where words are asked for because they
//!   are used, as by DeNovo, that is a race of the program; a request for a line may want another word of it.
//! - A store whose line is buffered with another hint waits until that has left.
//! - A line that the LLC shares is told by words: a delayed read that finds its words came as shared is refused.
//! - Words of a write-through that are refused (NackWT) are kept in the store buffer and sent again: those that a likely owner refused with `fwd`, those that the owner refused without.
//!
//! # Transition tables
//!
#![doc = include_str!("../docs/flex-l1.md")]
//!
//! # Picture
//!
#![doc = include_str!("../pictures/flex-l1.svg")]

use crate::gpu_l1::{self, GpuL1Params};
use crate::params::{Spandex, chosen};
pub use crate::word_l1::Inject;
use crate::word_l1::{Atomics, L1Kind, WordL1Params, describe};
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// The L1's transition tables (spandex.md sections 5, 7 and 8).
pub mod table {
    use crate::msg::FwdOp;
    pub use crate::word_l1::table::{Access, Forward, Operate, Status, Words};
    use crate::word_l1::{L1Kind, table};
    use weft_rtl::prelude::{Is, Machine, NoState, Transitions};

    /// What a forward does to words of one status.
    pub fn forwards() -> Transitions<(FwdOp, Status, Is), Status, Forward> {
        table::forwards(L1Kind::Flex)
    }

    /// What an operation does.
    pub fn operations() -> Transitions<(Access, Words), NoState, Operate> {
        table::operations(L1Kind::Flex, false, true)
    }

    /// Everything that moves a word, as forwards see it.
    pub fn machine() -> Machine<Status> {
        table::machine(L1Kind::Flex)
    }
}

/// What fixes an L1 (spandex.md sections 1, 7 and 8).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlexL1Params {
    /// Widths of messages, capacity, queues; its fault is none.
    pub l1: GpuL1Params,
    /// Fault (simulation only).
    pub inject: Inject,
}

impl FlexL1Params {
    /// The published L1: 32 KB in 8 ways, 1 cycle.
    pub fn published(spandex: Spandex) -> FlexL1Params {
        FlexL1Params { l1: GpuL1Params::published(spandex), inject: Inject::None }
    }

    fn word(&self) -> WordL1Params {
        let FlexL1Params { l1, inject } = self.clone();
        WordL1Params { l1, kind: L1Kind::Flex, atomics: Atomics::Own, regions: false, inject }
    }

    /// Checks the values that are not [`Spandex`]'s.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        self.l1.validate_for("flex-l1")
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let l1 = self.l1.module_name();
        format!("flex_l1_{}_{}", l1.trim_start_matches("gpu_l1_"), self.inject.word().replace('-', "_"))
    }

    /// The parameters beside [`Spandex`], for reports.
    pub fn described(&self) -> Vec<(&'static str, String)> {
        let mut list = self.l1.described();
        list.retain(|d| d.0 != "inject");
        list.push(("inject", self.inject.word().into()));
        list
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub fn from_set(set: &ParamSet) -> Result<FlexL1Params, BlockError> {
        let l1 = GpuL1Params::faultless("flex-l1", set)?;
        Ok(FlexL1Params { l1, inject: chosen(set, "inject", Inject::FLEX)? })
    }
}

/// The parameters with their defaults.
pub fn infos() -> Vec<ParamInfo> {
    let mut list = gpu_l1::infos();
    for info in list.iter_mut().filter(|info| info.name == "inject") {
        info.legal = "none, early-release, keeps-valid, no-stale, no-cross, keeps-ownership, no-delay, stale-extras, no-wait, fill-over-store, keeps-copy, keeps-shared, keeps-once, drops-refused, serves-buffer";
    }
    list
}

/// Builds the L1.
///
/// # Errors
/// Illegal parameters.
pub fn flex_l1(params: &FlexL1Params) -> Result<Arc<Module>, BlockError> {
    params.validate()?;
    let build = || {
        doc("L1 with dynamic coherence specialization: ownership of words, shared words, requests by hint.");
        for (key, value) in params.described() {
            param(key, value);
        }
        describe(&params.word());
    };
    Module::build(&params.module_name(), ModuleKind::Block, build)
        .map_err(|errors| BlockError::Elab { block: "flex-l1".into(), errors })
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "flex-l1",
        about: "L1 whose requests are chosen by hints: ownership of words, shared words, write-through",
        params: infos,
        build: |set| flex_l1(&FlexL1Params::from_set(set)?),
    }
}
