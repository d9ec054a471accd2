//! Parameters of a bank.

use crate::bank::arrays::Kept;
use crate::bank::{self, Bank, fault_part};
use crate::params::{Spandex, chosen, param_info, spandex_from, spandex_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::Words;

/// A fault put into a bank on purpose, for tests of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum MesiLlcFault {
    /// None.
    None,
    /// A GetS of a shared line does not make its requestor a sharer.
    ForgottenSharer,
    /// A shared line is replaced without Inv.
    DropShared,
    /// A Put of a client that is not the owner counts.
    StalePut,
    /// Dirty data that comes back does not make the line dirty.
    LostDirty,
    /// DataM says one InvAck less than Invs are sent.
    ShortAcks,
    /// A busy line takes a Put.
    EarlyPut,
    /// The old owner of a line that becomes shared is forgotten.
    ForgottenOwner,
    /// Unblock ends a transaction although WbData is still to come.
    NoWbData,
}

/// What fixes a bank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MesiLlcParams {
    /// Message widths, numbers of clients, banks and TBEs.
    pub s: Spandex,
    /// Bytes of all banks together.
    pub size: u32,
    /// Ways: 2, 4, 8 or 16.
    pub ways: u32,
    /// Stalled requests, 1..256.
    pub stalls: u32,
    /// A fault put in on purpose.
    pub fault: MesiLlcFault,
}

impl MesiLlcParams {
    /// The published L3: 8 MB; 16 ways, 32 stalled requests per bank as in the Spandex LLC.
    pub fn published(s: Spandex) -> MesiLlcParams {
        MesiLlcParams { s, size: 8 << 20, ways: 16, stalls: 32, fault: MesiLlcFault::None }
    }

    /// Sets and places of the bank.
    pub fn bank(&self) -> Bank {
        let MesiLlcParams { s, size, ways, stalls, .. } = self.clone();
        Bank { first: s.l3_node(0), s, size, ways, stalls }
    }

    /// What is kept of a line.
    pub(super) fn kept(&self) -> Kept {
        let clients = self.s.clients();
        Kept { owned: 0, sharers: clients, sharing: clients, lanes: 1 }
    }

    fn fault_word(&self) -> &'static str {
        self.fault.word()
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        format!("mesi_llc_{}{}", self.bank().name_part(), fault_part(self.fault_word()))
    }

    /// Checks the bank's own values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        self.bank().validate("mesi-llc", &infos())
    }

    /// Reads the parameters of the block.
    ///
    /// # Errors
    /// A value that is no number, unknown or illegal.
    pub fn from_set(set: &ParamSet) -> Result<MesiLlcParams, BlockError> {
        let Bank { s, size, ways, stalls, .. } = Bank::from_set(set, spandex_from(set)?, 0)?;
        let fault = chosen(set, "inject", MesiLlcFault::WORDS)?;
        let p = MesiLlcParams { s, size, ways, stalls, fault };
        p.validate()?;
        Ok(p)
    }

    /// Parameters for reports.
    pub(super) fn listed(&self) -> Vec<(&'static str, String)> {
        let (mut all, bank) = self.bank().listed();
        all.extend(bank);
        all.push(("inject", self.fault_word().into()));
        all
    }
}

/// The parameters of the block on the command line.
pub(super) fn infos() -> Vec<ParamInfo> {
    let mut all = bank::infos("8M", "requests stalled at busy lines, per bank");
    all.push(param_info(
        "inject",
        "none",
        MesiLlcFault::LEGAL,
        "a fault put in on purpose (simulation only)",
    ));
    all.extend(spandex_params());
    all
}
