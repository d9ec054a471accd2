//! Weft blocks inside [rust-hdl](https://rust-hdl.org) designs: simulated in rust-hdl's own loop, exported with rust-hdl's Verilog.
//!
//! ```text
//!     a rust-hdl design                                  its Verilog (generate_verilog)
//!
//!   top.update()                                         module top
//!     self.queue.in_data.next = ...                        always @(*) queue$in_data = ...
//!         |                                                top$queue queue(.in_data(queue$in_data), ...)
//!         v                                              module top$queue          the names of rust-hdl
//!   Queue (made by weft_block!)  --- hdl() --->            fifo_4x16 weft$block(.clk(clock), .in_data(in_data), ...)
//!     rising edge: pins -> Sim -> pins                   module fifo_4x16          Weft's own, read once
//!         |
//!         v
//!   weft_engine::Sim   native code, compiled once for all instances
//! ```
//!
//! # When to use it
//!
//! When you have a design, or a board, in rust-hdl 0.46 and want one of Weft's queues, caches or directories in it. The block is the same hardware as in a
//! Weft fabric: the same native code simulates it and the same Verilog comes out. For a new design, write it in [`weft_rtl`](../weft_rtl/index.html) and run it on
//! [`weft_engine`](../weft_engine/index.html): rust-hdl's simulation loop around the block is what limits the speed (`weft bench block rec-directory --peers rust-hdl`).
//!
//! # A queue in a rust-hdl design
//!
//! A field per port is declared with [`weft_block!`]; [`declaration`] writes that text for any module, and so does
//! `cargo run -p weft-rust-hdl --example declare -- rec-directory entries=1024`. rust-hdl wants widths as constants, Weft computes them at run time; the two
//! are compared when an instance is made, and an error lists all that differs together with the declaration that fits.
//!
//! ```
//! use rust_hdl_core::prelude::*;
//! use weft_rust_hdl::{Prepared, weft_block};
//!
//! // The two preludes have names in common, so each language keeps to a module of its own.
//! mod hardware {
//!     use weft_rtl::prelude::*;
//!
//!     pub fn doubler() -> Result<Arc<Module>, ElabErrors> {
//!         Module::build("doubler", ModuleKind::Block, || {
//!             let (a, b) = (in_channel::<Bits>("a", &8), out_channel::<Bits>("b", &8));
//!             when(a.valid & b.free, || {
//!                 a.take();
//!                 b.send(&(a.msg + a.msg));
//!             });
//!         })
//!     }
//! }
//!
//! weft_block! {
//!     /// Doubles numbers.
//!     pub struct Doubler {
//!         pub a_valid: Signal<In, Bit>,
//!         pub a_data: Signal<In, Bits<8>>,
//!         pub a_ready: Signal<Out, Bit>,
//!         pub b_valid: Signal<Out, Bit>,
//!         pub b_data: Signal<Out, Bits<8>>,
//!         pub b_ready: Signal<In, Bit>,
//!     }
//! }
//!
//! /// Two doublers in a row, wired by rust-hdl.
//! #[derive(LogicBlock)]
//! struct Times4 {
//!     pub clock: Signal<In, Clock>,
//!     pub reset: Signal<In, Bit>,
//!     pub a_valid: Signal<In, Bit>,
//!     pub a: Signal<In, Bits<8>>,
//!     pub b_valid: Signal<Out, Bit>,
//!     pub b: Signal<Out, Bits<8>>,
//!     first: Doubler,
//!     second: Doubler,
//! }
//!
//! impl Logic for Times4 {
//!     #[hdl_gen]
//!     fn update(&mut self) {
//!         clock!(self, clock, first, second);
//!         self.first.reset.next = self.reset.val();
//!         self.second.reset.next = self.reset.val();
//!         self.first.a_valid.next = self.a_valid.val();
//!         self.first.a_data.next = self.a.val();
//!         self.second.a_valid.next = self.first.b_valid.val();
//!         self.second.a_data.next = self.first.b_data.val();
//!         self.first.b_ready.next = self.second.a_ready.val();
//!         self.second.b_ready.next = true;
//!         self.b_valid.next = self.second.b_valid.val();
//!         self.b.next = self.second.b_data.val();
//!     }
//! }
//!
//! let doubler = Prepared::new(&hardware::doubler()?)?;
//! let mut design = Times4 {
//!     clock: Default::default(),
//!     reset: Default::default(),
//!     a_valid: Default::default(),
//!     a: Default::default(),
//!     b_valid: Default::default(),
//!     b: Default::default(),
//!     first: Doubler::of(&doubler)?,
//!     second: Doubler::of(&doubler)?,
//! };
//! design.connect_all();
//! assert!(generate_verilog(&design).contains("doubler weft$block ("));
//!
//! let mut simulation = Simulation::new();
//! simulation.add_clock(5, |design: &mut Box<Times4>| design.clock.next = !design.clock.val());
//! simulation.add_testbench(|mut sim: Sim<Times4>| {
//!     let mut design = sim.init()?;
//!     design.a_valid.next = true;
//!     design.a.next = 21.into();
//!     design = sim.watch(|design| design.b_valid.val(), design)?;
//!     sim_assert_eq!(sim, design.b.val(), 84, design);
//!     sim.done(design)
//! });
//! simulation.run(Box::new(design), 1000).expect("84 comes out");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A queue of rust-hdl in front of a directory of Weft
//!
//! `hdl/bridge/examples/queued_directory.rs` puts `SynchronousFIFO` of `rust-hdl-widgets` in front of `rec-directory`, compares the design with the engine in every cycle, and writes
//! its Verilog: `cargo run -p weft-rust-hdl --example queued_directory build/queued`. The crate's tests replay that Verilog under Verilator and Icarus.
//!
//! # What to know
//!
//! - `clock` and `reset` are fields of every bridged block. Reset is synchronous and active high; a simulation starts as if reset had been held, hardware and
//!   other simulators do not, so drive it (rust-hdl's own registers rely on initial values instead).
//! - Outputs are registers: they change after a rising edge, never within a cycle. Parts of blocks, which may answer within the cycle, are refused.
//! - A failing assertion of the block panics out of rust-hdl's `run` with its sentence and cycle; [`Prepared::with_options`] can leave assertions out.
//! - Enumerated ports are vectors here; a type of your own can stand for them by [`PortValue`].
//! - In the export each instance gets a module of rust-hdl's naming around Weft's own module, of which a guard lets Verilog tools read
//!   the first copy only.

mod block;
mod declare;
mod error;
mod macros;
mod pin;

pub use block::{BlockCore, PinShape, Prepared};
pub use declare::declaration;
pub use error::BridgeError;
pub use pin::{Pin, PinDirection, PortValue};
pub use rust_hdl_core as rust_hdl;
pub use {weft_engine, weft_rtl};
