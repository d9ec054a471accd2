//! The hardware language of Weft.
//!
//! Hardware is described by Rust that runs at elaboration time. [`Module::build`](ir::Module::build) collects what a closure declares and drives.
//!
//! ```
//! use weft_rtl::prelude::*;
//!
//! let counter = Module::build("counter", ModuleKind::Block, || {
//!     let enable = input::<Bool>("enable", ());
//!     let count = output_reg::<Bits>("count", 8);
//!     when(enable, || count.set(count.get() + 1));
//! })
//! .unwrap();
//! let netlist = weft_rtl::lower::flatten(&counter).unwrap();
//! assert_eq!(netlist.regs[0].path, "count");
//! ```

pub mod build;
pub mod bv;
pub mod channel;
pub mod check;
pub mod data;
pub mod error;
pub mod eval;
mod fold;
pub mod instance;
pub mod ir;
pub mod lower;
pub mod mem;
pub mod netlist;
pub mod signal;
pub mod table;
pub mod value;

pub use weft_rtl_derive::{Bundle, HwEnum};

/// Everything a block's source needs.
pub mod prelude {
    pub use crate::build::{doc, elab_error, param};
    pub use crate::bv::{Bv, bits_for};
    pub use crate::channel::*;
    pub use crate::data::*;
    pub use crate::error::ElabErrors;
    pub use crate::instance::{InstanceRef, instance};
    pub use crate::ir::{Leaf, LeafType, Module, ModuleKind};
    pub use crate::mem::*;
    pub use crate::signal::*;
    pub use crate::table::{Column, Decoded, Row, Table};
    pub use crate::value::*;
    pub use std::sync::Arc;
    pub use weft_rtl_derive::{Bundle, HwEnum};
}
