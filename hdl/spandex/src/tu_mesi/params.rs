//! Parameters of the translation unit.

use crate::mesi_l1::params::{check_port, port_from, port_infos};
use crate::mesi_port::MesiPort;
use crate::params::{chosen, param_info, spandex_params};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::Words;

/// A fault that is put in on purpose: what the checks of a bench must find (simulation only).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum TuMesiInject {
    /// None.
    None,
    /// Direct reads are served from lines that are being written back.
    StaleDirect,
    /// A shared line whose invalidation has come already is kept.
    KeepOnce,
    /// Delayed removals are answered with the line as it came, without the core's operations.
    RemovalFirst,
    /// A triggered write-back forgets its lowest word.
    LostWord,
    /// A line is asked for while its write-back is open.
    NoR2,
    /// A removal that crosses a write-back is not waited for.
    NoCross,
}

/// What fixes the unit (spandex.md section 6).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TuMesiParams {
    /// Widths, and the shape of the L1 above.
    pub port: MesiPort,
    /// `FLEX_RSP`: further words of an owned line are added to RspV where they are welcome.
    pub flex_rsp: bool,
    /// Fault (simulation only).
    pub inject: TuMesiInject,
}

impl TuMesiParams {
    /// A unit without faults.
    pub fn new(port: MesiPort) -> TuMesiParams {
        TuMesiParams { port, flex_rsp: true, inject: TuMesiInject::None }
    }

    /// Lines of the L1, a row of the RAM of write-backs in place for each.
    pub fn lines(&self) -> u32 {
        self.port.sets() * self.port.ways
    }

    /// Transaction that all write-backs in place bear: the first of the store buffer, which has none of its own.
    pub fn in_place_tag(&self) -> u32 {
        self.port.spandex.mshrs
    }

    /// Transaction of the first entry of the write-back buffer.
    pub fn buffer_tag(&self) -> u32 {
        self.port.spandex.mshrs + self.port.spandex.sb
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        format!(
            "tu_mesi_{}_s{}_w{}_f{}_{}",
            self.port.spandex.name_part(),
            self.port.size,
            self.port.ways,
            u8::from(self.flex_rsp),
            self.inject.word().replace('-', "_"),
        )
    }

    /// Checks the values that are not [`Spandex`](crate::params::Spandex)'s.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        check_port("tu-mesi", &self.port)
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub fn from_set(set: &ParamSet) -> Result<TuMesiParams, BlockError> {
        let params = TuMesiParams {
            port: port_from(set)?,
            flex_rsp: set.within("flex_rsp", 0, 1)? == 1,
            inject: chosen(set, "inject", TuMesiInject::WORDS)?,
        };
        params.validate()?;
        Ok(params)
    }
}

/// The parameters with their defaults.
pub fn infos() -> Vec<ParamInfo> {
    let mut list = port_infos();
    list.extend([
        param_info(
            "flex_rsp",
            "1",
            "0 or 1",
            "1: an owner adds further words of the line to RspV where welcome",
        ),
        param_info("inject", "none", TuMesiInject::LEGAL, "fault put in on purpose, for simulation"),
    ]);
    list.extend(spandex_params());
    list
}
