//! Parameters of an L1 that registers lines.

use crate::params::{Srsp, info, srsp_params, value};
use crate::write_combining::shape::{Shape, cache_infos, queue_infos};
use weft_blocks::registry::{BlockError, ParamInfo, ParamSet};
use weft_rtl::prelude::*;

/// The faults of an L1 that registers lines, one of which may be put in; by them its block is told from others.
pub trait Faults: Copy + 'static {
    /// The block, as listed.
    const BLOCK: &'static str;
    /// How names of its modules begin.
    const HEAD: &'static str;
    /// No fault.
    const NONE: Self;
    /// The words of all, for the list of parameters.
    const LEGAL: &'static str;
    /// All, with their words on the command line.
    const ALL: &'static [(Self, &'static str)];
    /// Its word.
    fn word(self) -> &'static str;
}

/// What fixes an L1 that registers lines, with faults `I`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegisteringParams<I> {
    /// Sizes and widths.
    pub shape: Shape,
    /// Victims are lines that are not registered, while there are any: `OWNED_AWARE`.
    pub owned_aware: bool,
    /// Fault (simulation only).
    pub inject: I,
}

impl<I: Faults> RegisteringParams<I> {
    /// The published L1: 16 KB in 16 ways, 4 cycles.
    pub fn published(srsp: Srsp) -> RegisteringParams<I> {
        RegisteringParams { shape: Shape::published(srsp), owned_aware: true, inject: I::NONE }
    }

    /// The same L1 with other sizes.
    #[must_use]
    pub fn sized(self, change: impl FnOnce(Shape) -> Shape) -> RegisteringParams<I> {
        RegisteringParams { shape: change(self.shape), ..self }
    }

    /// Module name, unique per parameters.
    pub fn module_name(&self) -> String {
        format!(
            "{}_{}_t{}_q{}_o{}_{}",
            I::HEAD,
            self.shape.tag(),
            self.shape.targets,
            self.shape.sq,
            u8::from(self.owned_aware),
            self.inject.word().replace('-', "_"),
        )
    }

    /// Checks the values that are not [`Srsp`]'s.
    ///
    /// # Errors
    /// The first key whose value is illegal, with its legal range.
    pub fn validate(&self) -> Result<(), BlockError> {
        self.shape.validate(I::BLOCK)
    }

    /// Builds the block that `describe` describes.
    ///
    /// # Errors
    /// Illegal parameters.
    pub(crate) fn build(&self, describe: impl FnOnce()) -> Result<Arc<Module>, BlockError> {
        self.validate()?;
        Module::build(&self.module_name(), ModuleKind::Block, || {
            describe();
        })
        .map_err(|errors| BlockError::Elab { block: I::BLOCK.into(), errors })
    }

    /// Tells the module what fixes it.
    pub(crate) fn tell(&self) {
        self.shape.tell_cache();
        self.shape.tell_queues();
        param("owned_aware", u32::from(self.owned_aware));
        param("inject", self.inject.word());
    }

    /// Reads the parameters of the command line.
    ///
    /// # Errors
    /// A value that is no number, not known or illegal.
    pub fn from_set(set: &ParamSet) -> Result<RegisteringParams<I>, BlockError> {
        let shape = Shape::from_set(set)?;
        let owned_aware = set.within("owned_aware", 0, 1)? == 1;
        let params = RegisteringParams { shape, owned_aware, inject: value(I::ALL, set, "inject")? };
        params.validate()?;
        Ok(params)
    }
}

/// The parameters of such a block, with their defaults.
pub fn infos<I: Faults>() -> Vec<ParamInfo> {
    let mut list = cache_infos();
    list.push(info("sfifo", "16", "2..256", "entries of the sFIFO"));
    list.extend(queue_infos());
    list.extend([
        info(
            "owned_aware",
            "1",
            "0 or 1",
            "1: victims are lines that are not registered, while there are any",
        ),
        info("inject", "none", I::LEGAL, "fault put in on purpose, for simulation"),
    ]);
    list.extend(srsp_params());
    list
}
