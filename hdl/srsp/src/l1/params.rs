//! Parameters of the L1.

use crate::params::{Impl, Srsp, check, info, srsp_params, value, within};
use crate::write_combining::shape::{Shape, cache_infos, queue_infos};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::Words;

/// A fault that is put in on purpose: what the checks of a bench must find (simulation only).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum Inject {
    /// None.
    None,
    /// SEL_INV does not insert into the PA-TBL.
    PaDropped,
    /// SEL_FLUSH stops one entry early.
    FlushShort,
    /// A SEL_FLUSH is acknowledged before its flush has completed.
    EarlyPack,
    /// A SEL_FLUSH that misses is acknowledged without a fence.
    NoMissFence,
    /// A probe of a line under way leaves no mark.
    NoReplay,
    /// An invalidation leaves no mark on lines under way.
    NoNoinst,
    /// The own remote operation leaves the CU gate open.
    OpenGate,
    /// bRSP with a token: LOCK_FLUSH stops nothing.
    OpenLock,
    /// A release of a scope beyond the CU ends at once: what is dirty here leaves later.
    EarlyRelease,
    /// An acquire of a scope beyond the CU leaves all lines. A kernel's beginning drops them.
    KeepsCopies,
    /// A remote operation gives the lock of its line up before the invalidations under it are collected.
    EarlyUnlock,
}

/// bRSP with a token: what the CU may not do between LOCK_FLUSH and INV_UNLOCK, which lock an address in
/// every other L1
/// (srsp.md sections 1, 3 and 5.2). With each of them the atomic at the L2 is one step with the flush of what was
/// released before it: nobody here takes or releases the variable meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Words)]
pub enum Closes {
    /// Access anything: the CU gate is closed. More than the order of accesses asks for, and it costs every wave;
    /// but INV_UNLOCK finds nothing dirty.
    All,
    /// Synchronise, with whatever address: an L1 that does not compare addresses.
    Sync,
    /// Access the line of the address, as with sRSP, whose lock lies at the L2.
    Line,
}

/// What fixes an L1 (srsp.md section 2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct L1Params {
    /// Sizes and widths; there are as many entries of the LR-TBL as of the sFIFO.
    pub shape: Shape,
    /// Which system it is.
    pub system: Impl,
    /// Entries of the PA-TBL, 1..256.
    pub pa: u32,
    /// Entries of the predictor of sRSPOpt: 0 (off), or a power of two from 8 to 1024.
    pub aff: u32,
    /// bRSP with a token: what a remote operation of another CU keeps this one from.
    pub closes: Closes,
    /// Fault (simulation only).
    pub inject: Inject,
}

impl L1Params {
    /// The published L1: 16 KB in 16 ways, 4 cycles.
    pub fn published(srsp: Srsp, system: Impl) -> L1Params {
        let (shape, closes, inject) = (Shape::published(srsp), Closes::Line, Inject::None);
        L1Params { shape, system, pa: 16, aff: 64, closes, inject }
    }

    /// The predictor is there.
    pub fn predicts(&self) -> bool {
        self.system == Impl::SrspOpt && self.aff > 0
    }

    /// The same L1 with other sizes.
    #[must_use]
    pub fn sized(self, change: impl FnOnce(Shape) -> Shape) -> L1Params {
        L1Params { shape: change(self.shape), ..self }
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        // L1s of other systems are never locked.
        let locked =
            if self.system == Impl::BrspToken { format!("_{}", self.closes.word()) } else { String::new() };
        format!(
            "srsp_l1_{}{}_{}_p{}_a{}_t{}_q{}_{}",
            self.system.word().replace('-', "_"),
            locked,
            self.shape.tag(),
            self.pa,
            self.aff,
            self.shape.targets,
            self.shape.sq,
            self.inject.word().replace('-', "_"),
        )
    }

    /// Checks the values that are not [`Srsp`]'s.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        let of = "srsp-l1";
        self.shape.validate(of)?;
        within(of, ("pa", self.pa), (1, 256))?;
        let aff = self.aff == 0 || (self.aff.is_power_of_two() && (8..=1024).contains(&self.aff));
        check(of, aff, ("aff", self.aff), ("it is no supported size", "0, or a power of two, 8..1024"))
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub fn from_set(set: &ParamSet) -> Result<L1Params, BlockError> {
        let number = |key, lo, hi| set.within(key, lo, hi).map(|v| v as u32);
        let shape = Shape::from_set(set)?;
        let system = value(Impl::WORDS, set, "impl")?;
        let (pa, aff) = (number("pa", 1, 256)?, number("aff", 0, 1024)?);
        let (closes, inject) = (value(Closes::WORDS, set, "closes")?, value(Inject::WORDS, set, "inject")?);
        let params = L1Params { shape, system, pa, aff, closes, inject };
        params.validate()?;
        Ok(params)
    }
}

/// The parameters with their defaults.
pub fn infos() -> Vec<ParamInfo> {
    let mut list = vec![info("impl", "srsp", Impl::LEGAL, "which system it is")];
    list.extend(cache_infos());
    list.extend([
        info("sfifo", "16", "2..256", "entries of the sFIFO and of the LR-TBL"),
        info("pa", "16", "1..256", "entries of the PA-TBL"),
        info("aff", "64", "0, or a power of two, 8..1024", "entries of the predictor of srsp-opt, 0: off"),
    ]);
    list.extend(queue_infos());
    list.extend([
        info(
            "closes",
            "line",
            Closes::LEGAL,
            "brsp-token: what another CU's remote operation stops here: all accesses, all that synchronise, those to the line of its address",
        ),
        info("inject", "none", Inject::LEGAL, "fault put in on purpose, for simulation"),
    ]);
    list.extend(srsp_params());
    list
}
