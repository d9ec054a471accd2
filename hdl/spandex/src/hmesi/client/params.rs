//! Parameters of the client.

use crate::mesi_l1::params::{check_port, port_from, port_infos};
use crate::mesi_port::MesiPort;
use crate::params::{param_info, spandex_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::Words;

/// A fault that is put in on purpose: what the checks of a bench must find (simulation only).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum ClientInject {
    /// None.
    None,
    /// A shared line whose invalidation has come already is kept.
    KeepOnce,
    /// A line is asked for while its Put is open.
    NoR2,
    /// A writer does not wait for InvAcks.
    EarlyM,
    /// WbData calls a line that was written clean.
    LostDirty,
    /// FwdGetM leaves a shared copy behind.
    KeepCopy,
    /// Inv is answered, the copy stays.
    NoInv,
    /// A line used once is not unblocked.
    NoUnblock,
}

/// What fixes the client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientParams {
    /// Widths, and the shape of the L1 above.
    pub port: MesiPort,
    /// Fault (simulation only).
    pub inject: ClientInject,
}

impl ClientParams {
    /// A client without faults.
    pub fn new(port: MesiPort) -> ClientParams {
        ClientParams { port, inject: ClientInject::None }
    }

    /// Transaction of the first entry of the write-back buffer.
    pub fn buffer_tag(&self) -> u32 {
        self.port.spandex.mshrs + self.port.spandex.sb
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        format!(
            "hmesi_client_{}_s{}_w{}_{}",
            self.port.spandex.name_part(),
            self.port.size,
            self.port.ways,
            self.inject.word().replace('-', "_"),
        )
    }

    /// Checks the values that are not [`Spandex`](crate::params::Spandex)'s.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        check_port("hmesi-client", &self.port)
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub fn from_set(set: &ParamSet) -> Result<ClientParams, BlockError> {
        let text = set.text("inject");
        let inject = ClientInject::WORDS.iter().find(|w| w.1 == text).map(|w| w.0);
        let inject = inject.ok_or_else(|| set.illegal("inject", "it is not known"))?;
        let params = ClientParams { port: port_from(set)?, inject };
        params.validate()?;
        Ok(params)
    }
}

/// The parameters with their defaults.
pub(super) fn infos() -> Vec<ParamInfo> {
    let mut list = port_infos();
    list.push(param_info("inject", "none", ClientInject::LEGAL, "fault put in on purpose, for simulation"));
    list.extend(spandex_params());
    list
}
