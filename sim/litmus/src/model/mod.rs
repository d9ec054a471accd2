//! Memory models: which candidate executions are possible.
//!
//! | model | of | source |
//! | --- | --- | --- |
//! | [`ptx`] | PTX with scopes and proxies | PTX ISA, memory consistency model (whole words) |
//! | [`armv8`] | AArch64 | Arm ARM, external visibility requirement |
//! | [`rc11`] | C11; OpenCL 2.0 in its manner | RC11, Lahav et al., PLDI 2017; with scopes and regions of memory |
//! | [`opencl`] | OpenCL 2.0 | Batty, Donaldson, Wickerson, POPL 2016 |
//! | [`rmo`] | LISA with a scope tree | RMO of each scope, Alglave et al., ASPLOS 2015 |
//! | [`drf`] | Weft's fabrics: sc, drf0, drf1, drfrlx, with scopes or without | cu-and-consistency.md section 5.2 |

pub mod armv8;
pub mod drf;
pub mod opencl;
pub mod ptx;
pub mod rc11;
pub mod rmo;

use crate::execution::{Execution, for_each};
use crate::paths::{Bounds, EnumError};
use crate::relation::{MOST, Set};
use crate::test::{Dialect, Outcome, Test, Verdict};
use drf::{Drf, Level};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A memory model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// PTX.
    Ptx,
    /// AArch64.
    Armv8,
    /// RC11.
    Rc11,
    /// RC11 with the scopes and the regions of memory of OpenCL.
    Rc11Scopes,
    /// OpenCL 2.0 as repaired at POPL 2016.
    OpenCl,
    /// RMO of each scope.
    ScopedRmo,
    /// A model of Weft's own.
    Drf(Drf),
}

impl Model {
    /// The model that a format's own verdicts are of; `None` for Weft's, whose files name their models.
    pub fn of(dialect: Dialect) -> Option<Model> {
        Some(match dialect {
            Dialect::Ptx => Model::Ptx,
            Dialect::Aarch64 => Model::Armv8,
            Dialect::C11 => Model::Rc11,
            Dialect::OpenCl => Model::OpenCl,
            Dialect::Lisa => Model::ScopedRmo,
            Dialect::Weft => return None,
        })
    }

    /// Whether the execution is possible.
    pub fn allows(self, x: &Execution) -> bool {
        match self {
            Model::Ptx => ptx::allows(x),
            Model::Armv8 => armv8::allows(x),
            Model::Rc11 => rc11::allows(x, false),
            Model::Rc11Scopes => rc11::allows(x, true),
            Model::OpenCl => opencl::allows(x),
            Model::ScopedRmo => rmo::allows(x),
            Model::Drf(drf) => drf.allows(x),
        }
    }

    /// Locations, a bit each, that are coherent in every possible execution of a test: others need not be
    /// looked at.
    fn coherent(self, test: &Test) -> Set {
        let which = |holds: &dyn Fn(usize) -> bool| {
            (0..test.locs.len().min(MOST)).filter(|loc| holds(*loc)).fold(0, |set: Set, loc| set | 1 << loc)
        };
        match self {
            Model::Armv8 | Model::Rc11 | Model::Rc11Scopes => Set::MAX,
            Model::OpenCl => which(&|loc| !test.locs[loc].plain),
            Model::Ptx => which(&|loc| ptx::all_strong(test, loc)),
            Model::ScopedRmo => 0,
            Model::Drf(drf) if drf.level == Level::Sc || (drf.data_coherent && !drf.scopes) => Set::MAX,
            Model::Drf(_) => 0,
        }
    }

    /// Ends of all possible executions of a test.
    ///
    /// # Errors
    /// A test that is too large to be enumerated.
    pub fn ends(self, test: &Test, bounds: Bounds) -> Result<BTreeSet<Outcome>, EnumError> {
        let mut ends = BTreeSet::new();
        // OpenCL's rules leave out what forbids values out of nothing.
        let bounds = Bounds { coherent: self.coherent(test), thin_air: self == Model::OpenCl, ..bounds };
        for_each(test, bounds, &mut |x| {
            if !ends.contains(&x.end) && self.allows(x) {
                ends.insert(x.end.clone());
            }
        })?;
        Ok(ends)
    }

    /// Verdict on a test's condition.
    ///
    /// # Errors
    /// As [`Model::ends`].
    pub fn verdict(self, test: &Test, bounds: Bounds) -> Result<Verdict, EnumError> {
        Ok(test.judge(&self.ends(test, bounds)?))
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Model::Ptx => f.write_str("ptx"),
            Model::Armv8 => f.write_str("armv8"),
            Model::Rc11 => f.write_str("rc11"),
            Model::Rc11Scopes => f.write_str("rc11-scopes"),
            Model::OpenCl => f.write_str("opencl"),
            Model::ScopedRmo => f.write_str("scoped-rmo"),
            Model::Drf(drf) => drf.fmt(f),
        }
    }
}

impl FromStr for Model {
    type Err = String;

    /// A model by its name; those of Weft's own may end in `+scopes`. Data counts as coherent within a location.
    fn from_str(name: &str) -> Result<Model, String> {
        Ok(match name {
            "ptx" => Model::Ptx,
            "armv8" => Model::Armv8,
            "rc11" => Model::Rc11,
            "rc11-scopes" => Model::Rc11Scopes,
            "opencl" => Model::OpenCl,
            "scoped-rmo" => Model::ScopedRmo,
            own => {
                let (level, scopes) = own.strip_suffix("+scopes").map_or((own, false), |level| (level, true));
                let level = Level::ALL.into_iter().find(|l| l.name() == level).ok_or_else(|| {
                    format!("{name:?} is no model; there are ptx, armv8, rc11, rc11-scopes, opencl, scoped-rmo, sc, drf0, drf1 and drfrlx, the last three also with +scopes")
                })?;
                Model::Drf(Drf { level, scopes, data_coherent: true })
            }
        })
    }
}
