//! A picture of a module, made from the module itself: its ports by channel, the graph of each state machine, the layout of each memory's rows.
//!
//! The result is an SVG file of its own and may stand in a documentation page as it is: it takes the page's text colour.
//!
//! ```
//! use weft_rtl::picture::Picture;
//! use weft_rtl::prelude::*;
//!
//! #[derive(Clone, Copy, PartialEq, Debug, HwEnum)]
//! enum Light { Red, Green }
//!
//! let crossing = Module::build("crossing", ModuleKind::Block, || {
//!     let (car, walk) = (input::<Bool>("car", ()), input::<Bool>("walk", ()));
//!     let state = output_reg::<Enum<Light>>("state", ());
//!     when(state.is(Light::Red) & car, || state.set(Light::Green));
//!     when(state.is(Light::Green) & walk, || state.set(Light::Red));
//! })?;
//! let svg = Picture::of(&crossing).svg();
//! assert!(svg.contains("GREEN") && svg.contains(">walk 1<"));
//! # Ok::<(), ElabErrors>(())
//! ```

mod ports;
mod rows;
mod states;
mod svg;

use crate::ir::Module;
use svg::Canvas;

/// What is drawn.
#[derive(Clone, Debug)]
pub struct Picture<'m> {
    module: &'m Module,
    layouts: Vec<(String, Vec<(String, u32)>)>,
}

impl<'m> Picture<'m> {
    /// The picture of a module.
    pub fn of(module: &'m Module) -> Picture<'m> {
        Picture { module, layouts: Vec::new() }
    }

    /// Says what a lane of a memory consists of, from bit 0 up, where the hardware keeps it as plain bits.
    ///
    /// # Panics
    /// When the module has no such memory, or the parts do not add up to a lane: a slip in the block's source.
    #[must_use]
    pub fn layout(mut self, memory: &str, parts: Vec<(String, u32)>) -> Picture<'m> {
        let mem = self.module.mems.iter().find(|m| m.name == memory);
        let width = mem.unwrap_or_else(|| panic!("there is no memory {memory}")).lane_width();
        let sum: u32 = parts.iter().map(|(_, bits)| bits).sum();
        assert_eq!(sum, width, "parts of a lane of {memory}");
        self.layouts.push((memory.to_string(), parts));
        self
    }

    /// The picture as SVG, without empty lines.
    pub fn svg(&self) -> String {
        let mut canvas = Canvas::new(&format!("{}: {}", self.module.name, self.module.doc));
        ports::draw(&mut canvas, self.module);
        states::draw(&mut canvas, self.module);
        rows::draw(&mut canvas, self.module, &self.layouts);
        canvas.finish()
    }
}

/// The graph of a state machine as SVG: its name, its states by name, the one after reset, and the changes by number of the state.
pub(crate) fn machine(
    name: &str,
    states: Vec<String>,
    reset: Option<usize>,
    changes: Vec<(usize, usize)>,
) -> String {
    let mut canvas = Canvas::new(name);
    states::draw_machine(&mut canvas, &states::Machine { name: name.to_string(), states, reset, changes });
    canvas.finish()
}
