//! The engine: makes a module ready, clocks it, traces it, snapshots it.
//!
//! ```
//! use weft_engine::{Design, Options, Sim};
//! use weft_rtl::prelude::*;
//!
//! let counter = Module::build("counter", ModuleKind::Block, || {
//!     let enable = input::<Bool>("enable", ());
//!     let count = output_reg::<Bits>("count", 8);
//!     when(enable, || count.set(count.get() + 1));
//! })
//! .unwrap();
//! let mut sim = Sim::new(&Design::new(&counter, Options::default()).unwrap());
//! let (enable, count) = (sim.input("enable").unwrap(), sim.output("count").unwrap());
//! sim.set(enable, 1);
//! sim.run(5);
//! assert_eq!(sim.get(count), 5);
//! ```

pub mod activity;
mod clock;
pub mod compare;
mod cut;
pub mod design;
pub mod digest;
mod far;
mod flags;
mod follow;
mod inbox;
mod inspect;
pub mod interp;
pub mod layout;
mod links;
mod mail;
mod names;
pub mod native;
mod part;
mod ports;
pub mod random;
pub mod runner;
mod share;
pub mod sim;
mod state;
pub mod tap;
pub mod team;
mod walk;
pub mod wave;

pub use design::{BackendKind, Design, Driver, Effort, EngineError, Options, Probes};
pub use inspect::{MemPort, ProbeReading};
pub use part::Part;
pub use ports::{InGroup, InPort, OutPort, PinList, Pins};
pub use sim::{Checkpoint, Sim};
pub use state::Failure;
