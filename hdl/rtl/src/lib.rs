//! The hardware language of Weft, as a short tutorial.
//!
//! Hardware is described by ordinary Rust that runs once, at elaboration. [`Module::build`](ir::Module::build) collects what a closure declares
//! and drives; parameters are run-time values, so one function can build any configuration. There is one implicit clock and one synchronous reset.
//!
//! # Ten minutes: a block from nothing to Verilog
//!
//! This whole program is `hdl/rtl/examples/peak.rs`. Run it, then change it: `cargo run --release --features tutorial --bin peak vcd_out`.
//!
#![cfg_attr(any(doc, doctest), doc = concat!("```standalone_crate\n", include_str!("../examples/peak.rs"), "```"))]
//!
//! It prints
//!
//! ```text
#![cfg_attr(any(doc, doctest), doc = include_str!("../examples/peak.txt"))]
//! ```
//!
//! and leaves in `vcd_out/` the waveform with a save file (`gtkwave vcd_out/peak.gtkw`), the Verilog and this picture:
//!
#![cfg_attr(any(doc, doctest), doc = include_str!("../examples/peak.svg"))]
//!
//! | what you saw | where it is explained |
//! | --- | --- |
//! | [`input`](prelude::input), [`reg`](prelude::reg), [`when`](prelude::when), [`switch`](prelude::switch) | [`signal`], and the values' operators in [`value`] |
//! | [`in_channel`](prelude::in_channel), `take`, [`out_channel`](prelude::out_channel), `free`, `send` | [`channel`] |
//! | `sram`, `regfile` | [`mem`], and below |
//! | [`Design`](../weft_engine/design/struct.Design.html), [`Sim`](../weft_engine/sim/struct.Sim.html), [`Trace`](../weft_engine/wave/struct.Trace.html) | [the engine](../weft_engine/index.html) |
//! | [`area`](area::area), [`emit`](verilog::emit), [`Picture`](picture::Picture) | [`area`](mod@area), [`verilog`], [`picture`] |
//!
//! To give a block of your own a name that every command knows - `weft export`, `area`, `cosim`, `sim`, `bench` - put it into `hdl/blocks` and add a
//! [`BlockInfo`](../weft_blocks/registry/struct.BlockInfo.html) to [the list](../weft_blocks/registry/fn.blocks.html), as
//! `hdl/blocks/src/common/fifo.rs` does.
//!
//! # A counter, and what mistakes look like
//!
//! ```
//! use weft_rtl::prelude::*;
//!
//! fn counter(width: u32) -> Result<Arc<Module>, ElabErrors> {
//!     Module::build(&format!("counter_w{width}"), ModuleKind::Block, || {
//!         let enable = input::<Bool>("enable", ());
//!         let count = output_reg::<Bits>("count", width);
//!         when(enable, || count.set(count.get() + 1));
//!     })
//! }
//! assert_eq!(weft_rtl::lower::flatten(&counter(8).unwrap()).unwrap().regs[0].width, 8);
//! ```
//!
//! Widths are checked when the closure runs; a mistake is returned with the line that made it:
//!
//! ```
//! # use weft_rtl::prelude::*;
//! let wrong = Module::build("wrong", ModuleKind::Part, || {
//!     let a = input::<Bits>("a", 4);
//!     output::<Bits>("y", 4).set(a + 16);
//! });
//! assert!(wrong.unwrap_err().to_string().ends_with("constant 16 does not fit 4 bits (largest: 15)"));
//! ```
//!
//! # State machines
//!
//! An enumeration carries its names into waveforms and into Verilog `localparam`s. Inside `when` and `switch` the last assignment executed wins; a register that is not
//! assigned keeps its value, a wire must be assigned on every path or have a default.
//!
//! ```
//! # use weft_rtl::prelude::*;
//! #[derive(Clone, Copy, PartialEq, Debug, HwEnum)]
//! enum State { Idle, Busy }
//!
//! let machine = Module::build("machine", ModuleKind::Block, || {
//!     let (start, stop) = (input::<Bool>("start", ()), input::<Bool>("stop", ()));
//!     let state = output_reg::<Enum<State>>("state", ());
//!     switch(state.get(), |s| {
//!         s.case(State::Idle, || { when(start, || state.set(State::Busy)); });
//!         s.case(State::Busy, || { when(stop, || state.set(State::Idle)); });
//!     });
//!     assert_always("one_at_a_time", !(start & stop), "start and stop never come together");
//!     cover("restart", state.is(State::Busy) & start, "a start while busy is ignored");
//! }).unwrap();
//! assert_eq!(machine.probes.len(), 2);
//! ```
//!
//! # Bundles, channels, memories
//!
//! A bundle is a struct of signals; its widths come from a parameter struct. Ports, registers, memory rows, drivers and waveforms all come from the one
//! definition. Bundles nest, may have type parameters, and the leaves of a `#[flat]` field have no name of it ([`Bundle`](derive@crate::Bundle)). A channel is valid/ready with a
//! bundle; both ends are registered.
//!
//! ```
//! # use weft_rtl::prelude::*;
//! #[derive(Clone)]
//! struct Params { addr_bits: u32 }
//!
//! #[derive(Clone, Copy, Bundle)]
//! #[bundle(params = Params)]
//! struct Write {
//!     #[width(p.addr_bits)] addr: Bits,
//!     #[width(16)] #[field("data")] value: Bits,
//! }
//!
//! let p = Params { addr_bits: 6 };
//! let block = Module::build("store", ModuleKind::Block, || {
//!     let write = in_channel::<Write>("write", &p);
//!     let read = in_channel::<Bits>("read", &p.addr_bits);
//!     let reply = out_channel::<Bits>("reply", &16);
//!     let data = sram::<Bits>("data", 64, 1, 16);
//!     let (port, writer) = (data.read_port("lookup"), data.lane_writer("update"));
//!     when(write.valid, || {
//!         write.take();
//!         writer.write(write.msg.addr, &write.msg.value);
//!     });
//!     // The address is presented in one cycle, the row is there in the next.
//!     let looking = reg::<Bool>("looking", ());
//!     port.present(mux(looking.get(), port.addr_q(), read.msg));
//!     when(looking.get(), || {
//!         when(reply.free, || {
//!             reply.send(&port.lane(0));
//!             looking.set(false);
//!         });
//!     })
//!     .elsewhen(read.valid, || {
//!         read.take();
//!         looking.set(true);
//!     });
//! }).unwrap();
//! assert!(block.port("reply_valid").is_some() && block.port("write_ready").is_some());
//! ```
//!
//! An SRAM's output is the present content of the row at the registered address, so a write in the cycle in which the address was presented is seen. Every bit of a
//! memory or register belongs to a storage field; bit counts are sums over the declarations.
//!
//! # Protocols as tables
//!
//! [`transitions`](mod@transitions) are written once, as rows: decoder, documentation, state diagram, coverage, and the checks that no combination is missing and that the
//! state which follows is the one written come from them.
//!
//! # What happens next
//!
//! [`ir::Module`] is plain data: the Verilog emitter and the bit count read it. [`lower::flatten`] turns it into a [`netlist::Netlist`] for simulators.

extern crate self as weft_rtl;

pub mod area;
pub mod build;
pub mod bv;
pub mod channel;
pub mod data;
pub mod error;
pub mod eval;
mod fold;
pub mod instance;
pub mod ir;
mod keywords;
pub mod lower;
pub mod mem;
pub mod mutant;
pub mod netlist;
mod next;
mod operands;
pub mod picture;
pub mod replace;
pub mod signal;
pub mod sram;
pub mod transitions;
pub mod value;
pub mod verilog;

#[doc(hidden)]
pub use weft_rtl_derive::included_rows;
pub use weft_rtl_derive::{Bundle, HwEnum, Words, transitions};

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
    pub use crate::next::{After, after_cycle};
    pub use crate::signal::*;
    pub use crate::transitions::{Decoded, Is, Machine, NoAction, NoState, Transitions};
    pub use crate::value::*;
    pub use std::sync::Arc;
    pub use weft_rtl_derive::{Bundle, HwEnum, transitions};
}
