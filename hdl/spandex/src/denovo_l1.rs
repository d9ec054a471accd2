//! `denovo-l1`: an L1 with DeNovo coherence (spandex.md sections 5 and 7). It speaks Spandex itself.
//!
//! ```text
//!              +----------------------------------------------------------+
//!  cu_req ---->| S1 ---------+              store buffer, MSHRs ----------+--> l1_req
//!              | releases -> slot: words, MSHRs, store buffer, --- evict -+--> l1_wb
//!  cu_rsp <----| delay <-----+     write-back buffer  ------- answers ----+--> l1_rsp_out
//!              |             ^                                            |<-- l1_fwd
//!              |             +--- entries whose words have come <---------+<-- l1_rsp
//!              +----------------------------------------------------------+
//! ```
//! Words are I, V or O. Loads read the words that they miss (ReqV); stores to owned words are done in place, others are buffered and ask for ownership (ReqO), by `sb_drain`; atomics and
//! byte stores are done here on owned words, and ask for ownership and data otherwise (ReqO+data). An
//! acquire makes every V word I; a release waits for all stores: ownership asked for, and stores of bytes or
//! with an order that are under way. Owned words of a line that is replaced go to the write-back buffer.
//!
//! A response is taken when it comes; it changes its entry only. When all words of an entry have come it gets a slot: before forwards, which come before the store buffer and the CU.
//! A forward is answered word state by word state, in one slot each; it needs a place on `l1_rsp_out` only.
//!
//! Decisions:
//! - A line keeps its way from its first request to the end of its last (`pinned`).
//! - Every owned word counts as dirty.
//! - Stores to a word for which data is being asked wait, and so do loads of words that are being written back (R2).
//! - There is one fresh read entry per line: further loads join it, and ask for what else they miss with its transaction,
//!   and for that only: other words of the line are welcome with the first answer, and would come twice.
//! - Words of an own entry are served as they come; what was delayed behind an operation on a word follows it as if it came then, before any other forward.
//! - Atomics on several words do those that are owned first, and are answered in parts; synchronising stores, which are answered without data, once.
//! - fwd ReqO for a word asked for with its data is answered at once (Table 5.4), although its former owner may still read it: whoever asks uses the word, so its writer is in a race
//!   with that use. Devices that ask for lines delay the answer ([`flex-l1`](crate::flex_l1), [`tu-mesi`](crate::tu_mesi)).
//! - `atomics=join`, as published for GPUs (M. D. Sinclair, J. Alsop, S. V. Adve, "Efficient GPU
//!   Synchronization without Scopes", MICRO 2015; the protocol is DeNovoSync0 of H. Sung and S. V. Adve,
//!   ASPLOS 2015): an atomic, or a load or store that synchronises, on one word for which an atomic of this
//!   CU has asked already waits in that MSHR, and the L1 goes on. When the word comes all are done, in the
//!   order in which they came, one per cycle; then what was delayed follows. L1s that ask for a word so
//!   stand in a queue, each knowing the next one only. An MSHR holds `targets` atomics, the first included,
//!   whose operand is a line wide, those of the others a word; a further one waits at the head of the L1's
//!   queue, and with `targets=1` all do.
//!   No forward starves, and nothing waits in a ring: a delayed forward waits for the word, which comes from
//!   the L1 before it in the queue (or the LLC) by the same argument, and then for at most `targets`
//!   atomics, in as many slots that need neither network nor LLC, only room for an answer to the CU, which
//!   always takes it. None joins once the word has come: those that come later wait for the removal and ask
//!   anew, behind it.
//!   None joins once a removal has been answered at once (fwd ReqO): the remover may have done its store,
//!   and may have told this CU so.
//! - A release does not wait for atomics of other waves that return a value: until their word comes nobody
//!   has seen what they do, so nothing that the release publishes depends on them. Those of the releasing
//!   wave are answered before the CU sends the release. Else a wave that gives a lock back would wait until
//!   the word has been to those of its CU that want it.
//! - `atomics=own`: each asks for itself; one on a word under way waits at the head of the L1's queue, and
//!   with it all that comes behind.
//! - `atomics=through`: the LLC carries atomics on words that are not owned out (ReqWT+data). The own copy goes when the request leaves and is not installed again before the answer; the answer, READ too,
//!   leaves I. The line needs no way meanwhile. Byte stores ask for ownership and data in any case.
//! - `regions`: a load with `region` fills its line with RO. Other loads do not see V words of such a line: they read again, the other V words go and the line is RO no more. A region consists of whole
//!   lines and is not written while it is read-only (assertion). A kernel's beginning drops its lines too.
//! - A word whose removal is recorded is not read or written by the CU between the operation that it waits for and the removal: the remover may have done its store already.
//!
//! # Transition tables
//!
#![doc = include_str!("../docs/denovo-l1.md")]
//!
//! # Picture
//!
#![doc = include_str!("../pictures/denovo-l1.svg")]

use crate::gpu_l1::{self, GpuL1Params};
use crate::params::{Spandex, chosen, param_info};
pub use crate::word_l1::{Atomics, Inject};
use crate::word_l1::{L1Kind, WordL1Params, describe};
use weft_blocks::registry::{BlockError, BlockInfo, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// The L1's transition tables (spandex.md sections 5 and 7).
pub mod table {
    use crate::msg::FwdOp;
    pub use crate::word_l1::table::{Access, Forward, Operate, Status, Words};
    use crate::word_l1::{L1Kind, table};
    use weft_rtl::prelude::{Is, Machine, NoState, Transitions};

    /// What a forward does to words of one status.
    pub fn forwards() -> Transitions<(FwdOp, Status, Is), Status, Forward> {
        table::forwards(L1Kind::Denovo)
    }

    /// What an operation does; `joins`: atomics join the request of their word, `through`: the LLC carries them out.
    pub fn operations(joins: bool, through: bool) -> Transitions<(Access, Words), NoState, Operate> {
        table::operations(L1Kind::Denovo, joins, through)
    }

    /// Everything that moves a word, as forwards see it.
    pub fn machine() -> Machine<Status> {
        table::machine(L1Kind::Denovo)
    }
}

/// What fixes an L1 (spandex.md sections 1 and 7).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DenovoL1Params {
    /// Widths of messages, capacity, queues; its fault is none.
    pub l1: GpuL1Params,
    /// Where atomics are done.
    pub atomics: Atomics,
    /// Lines filled by loads of read-only regions outlive acquires: one bit RO per line.
    pub regions: bool,
    /// Fault (simulation only).
    pub inject: Inject,
}

impl DenovoL1Params {
    /// The published L1: 32 KB in 8 ways, 1 cycle; atomics on owned words, joining; no regions.
    pub fn published(spandex: Spandex) -> DenovoL1Params {
        let l1 = GpuL1Params::published(spandex);
        DenovoL1Params { l1, atomics: Atomics::Join, regions: false, inject: Inject::None }
    }

    /// The same as parameters of the parts.
    pub(crate) fn word(&self) -> WordL1Params {
        let DenovoL1Params { l1, atomics, regions, inject } = self.clone();
        WordL1Params { l1, kind: L1Kind::Denovo, atomics, regions, inject }
    }

    /// Checks the values that are not [`Spandex`]'s.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        self.l1.validate_for("denovo-l1")
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        let l1 = self.l1.module_name();
        let (l1, inject) = (l1.trim_start_matches("gpu_l1_"), self.inject.word().replace('-', "_"));
        let atomics = self.atomics.word();
        format!("denovo_l1_{l1}_{atomics}_ro{}_{inject}", u32::from(self.regions))
    }

    /// The parameters beside [`Spandex`], for reports.
    pub fn described(&self) -> Vec<(&'static str, String)> {
        let mut list = self.l1.described();
        list.retain(|d| d.0 != "inject");
        list.push(("atomics", self.atomics.word().into()));
        list.push(("regions", u32::from(self.regions).to_string()));
        list.push(("inject", self.inject.word().into()));
        list
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub fn from_set(set: &ParamSet) -> Result<DenovoL1Params, BlockError> {
        Ok(DenovoL1Params {
            l1: GpuL1Params::faultless("denovo-l1", set)?,
            atomics: chosen(set, "atomics", Atomics::WORDS)?,
            regions: set.within("regions", 0, 1)? == 1,
            inject: chosen(set, "inject", Inject::WORDS)?,
        })
    }
}

/// The parameters with their defaults.
pub fn infos() -> Vec<ParamInfo> {
    let mut list = gpu_l1::infos();
    for info in list.iter_mut().filter(|info| info.name == "inject") {
        info.legal = "none, early-release, keeps-valid, no-stale, no-cross, keeps-ownership, no-delay, stale-extras, no-wait, fill-over-store, keeps-copy, keeps-region";
    }
    let at = list.iter().position(|info| info.name == "inject").unwrap_or(0);
    let options = [
        param_info(
            "atomics",
            "join",
            Atomics::LEGAL,
            "atomics on words not owned: ask for ownership, together or each alone, or done at the LLC",
        ),
        param_info("regions", "0", "0, 1", "1: lines of read-only regions outlive acquires"),
    ];
    list.splice(at..at, options);
    list
}

/// Builds the L1.
///
/// # Errors
/// Illegal parameters.
pub fn denovo_l1(params: &DenovoL1Params) -> Result<Arc<Module>, BlockError> {
    params.validate()?;
    let build = || {
        doc("L1 with DeNovo coherence: ownership of words, self-invalidation.");
        for (key, value) in params.described() {
            param(key, value);
        }
        describe(&params.word());
    };
    Module::build(&params.module_name(), ModuleKind::Block, build)
        .map_err(|errors| BlockError::Elab { block: "denovo-l1".into(), errors })
}

/// The block as listed on the command line.
pub fn info() -> BlockInfo {
    BlockInfo {
        name: "denovo-l1",
        about: "L1 with DeNovo coherence: ownership of words, self-invalidation",
        params: infos,
        build: |set| denovo_l1(&DenovoL1Params::from_set(set)?),
    }
}
