//! Parameters of a bank.

use crate::bank::arrays::Kept;
use crate::bank::{self, Bank, fault_part};
use crate::params::{Spandex, chosen, param_info, spandex_params};
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
    /// Sizes and widths.
    pub bank: Bank,
    /// A fault put in on purpose.
    pub fault: MesiLlcFault,
}

impl MesiLlcParams {
    /// The published L3: 8 MB; 16 ways, 32 stalled requests per bank as in the Spandex LLC.
    pub fn published(s: Spandex) -> MesiLlcParams {
        MesiLlcParams { bank: Bank::published(s, 8 << 20, true), fault: MesiLlcFault::None }
    }

    /// The same bank with other sizes.
    #[must_use]
    pub fn sized(self, change: impl FnOnce(Bank) -> Bank) -> MesiLlcParams {
        MesiLlcParams { bank: change(self.bank), ..self }
    }

    /// What is kept of a line.
    pub(super) fn kept(&self) -> Kept {
        let clients = self.bank.s.clients();
        Kept { owned: 0, sharers: clients, sharing: clients, lanes: 1 }
    }

    fn fault_word(&self) -> &'static str {
        self.fault.word()
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        format!("mesi_llc_{}{}", self.bank.name_part(), fault_part(self.fault_word()))
    }

    /// Checks the bank's own values.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        self.bank.validate("mesi-llc", &infos())
    }

    /// Reads the parameters of the block.
    ///
    /// # Errors
    /// A value that is no number, unknown or illegal.
    pub fn from_set(set: &ParamSet) -> Result<MesiLlcParams, BlockError> {
        let bank = Bank::from_set(set, true)?;
        let fault = chosen(set, "inject", MesiLlcFault::WORDS)?;
        let p = MesiLlcParams { bank, fault };
        p.validate()?;
        Ok(p)
    }

    /// Parameters for reports.
    pub(super) fn listed(&self) -> Vec<(&'static str, String)> {
        let (mut all, bank) = self.bank.listed();
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
