//! What banks of last-level caches are made of: the [LLC](crate::llc), the [L3](crate::hmesi::mesi_llc) and the [GPU L2](crate::hmesi::gpu_l2), which differ in their protocols.
//!
//! | part | what it is | who uses it |
//! | --- | --- | --- |
//! | [`Bank`] | sets, ways, and places of stalled requests | all |
//! | `arrays` | tags, owned words, sharers, ages; the lines | all |
//! | `pipeline`, `look` | the stages, what may enter, and what stage 1 finds | all |
//! | `turns` | the channels in, and which of them may enter | LLC, L3 |
//! | `entries` | transaction entries (TBEs) | all |
//! | `lists` | stall lists that replay from their TBE | LLC, L3 |
//! | `orders` | reads and writes of memory | LLC, L3 |
//! | `answers` | answers to devices or clients | all |
//! | `observe` | counters of what waits | all |
//! | `rows` | tables of stage 3 | all |
//! | [`words`], `owners`, `act`, `observe_words` | what becomes of words that devices own | LLC, GPU L2 |
//! | `upward` | forwards to devices, and their requests as they are kept | LLC, GPU L2 |

pub(crate) mod act;
pub(crate) mod answers;
pub(crate) mod arrays;
pub(crate) mod entries;
pub(crate) mod lists;
pub(crate) mod look;
pub(crate) mod observe;
pub(crate) mod observe_words;
pub(crate) mod orders;
pub(crate) mod owners;
pub(crate) mod pipeline;
pub mod replace;
pub(crate) mod request;
pub(crate) mod rows;
mod size;
pub(crate) mod turns;
pub(crate) mod upward;
pub mod words;

pub use size::Bank;
pub(crate) use size::{fault_part, infos};

use weft_blocks::registry::BlockError;
use weft_rtl::prelude::*;

/// Says how a bank's records are read: in what state a tag is that of no line, and that an operation is of a kind, about the line of its request.
macro_rules! records {
    ($tag:ty: absent in $state:ident $absent:expr; $op:ty: of $kind:ty) => {
        impl crate::bank::arrays::LineTag for $tag {
            fn tag(&self) -> Bits {
                self.tag
            }
            fn absent(&self) -> Bool {
                self.$state.is($absent)
            }
        }

        impl crate::bank::pipeline::Operation for $op {
            type Kind = $kind;
            fn kind(&self) -> Enum<$kind> {
                self.kind
            }
            fn line(&self) -> Bits {
                self.req.line
            }
        }
    };
}
pub(crate) use records;

/// Zeros in every leaf of a record.
pub(crate) fn blank<T: Data>(shape: &T::Shape) -> T {
    let leaves: Vec<Bits> = leaves_of::<T>(shape, "zero").iter().map(|l| lit_bv(Bv::zero(l.width))).collect();
    T::from_leaves(shape, &mut leaves.into_iter())
}

/// Bits of a mask where something holds.
pub(crate) fn some(mask: Bits, holds: Bool) -> Bits {
    mask & holds.repeat(mask.width())
}

/// Builds the module of a bank; `text`: what it is, `listed`: its parameters, for reports.
pub(crate) fn module(
    block: &str,
    (name, text): (&str, &str),
    listed: Vec<(&'static str, String)>,
    describe: impl FnOnce(),
) -> Result<Arc<Module>, BlockError> {
    Module::build(name, ModuleKind::Block, || {
        doc(text);
        for (name, value) in listed {
            param(name, value);
        }
        describe();
    })
    .map_err(|errors| BlockError::Elab { block: block.into(), errors })
}
