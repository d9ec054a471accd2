//! Nets made of parts: blocks with those of a list of channels that they have, joined by the channels' names.

use crate::block::Block;
use crate::form::Form;
use crate::hash::Numbered;
use crate::net::{Drain, Feed, Net, Order, Timing, World};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use weft_engine::{Design, EngineError};
use weft_rtl::ir::Module;

/// Channels by name, with the form of their messages.
pub type Channels<'a> = Vec<(&'a str, &'a Rc<Form>)>;

type Places = HashMap<(usize, String), usize>;

/// Blocks, before they are connected: by name the channels of each.
#[derive(Default)]
pub struct Parts {
    blocks: Vec<Block>,
    inputs: Places,
    outputs: Places,
    messages: Numbered,
    designs: HashMap<String, Arc<Design>>,
}

impl Parts {
    /// Adds a block with those of these channels that it has; its place in the net. `ties`: inputs that are
    /// no channels, with their values.
    ///
    /// # Errors
    /// A module that cannot be compiled.
    pub fn add(
        &mut self,
        name: &str,
        module: &Arc<Module>,
        ties: &[(&str, u64)],
        (inputs, outputs): (Channels<'_>, Channels<'_>),
    ) -> Result<usize, EngineError> {
        if !self.designs.contains_key(&module.name) {
            self.designs.insert(module.name.clone(), Block::compile(module)?);
        }
        let mut block = Block::new(name, &self.designs[&module.name], &[]);
        ties.iter().for_each(|(port, value)| block.tie(port, *value));
        let place = self.blocks.len();
        for (channel, form) in inputs.into_iter().filter(|c| block.has(c.0)).collect::<Vec<_>>() {
            self.inputs.insert((place, channel.to_string()), block.input(channel, form));
        }
        for (channel, form) in outputs.into_iter().filter(|c| block.has(c.0)).collect::<Vec<_>>() {
            self.outputs.insert((place, channel.to_string()), block.output(channel, form));
        }
        block.begin(&mut self.messages, |_| {});
        self.blocks.push(block);
        Ok(place)
    }

    /// A block that was added.
    pub fn block(&mut self, place: usize) -> &mut Block {
        &mut self.blocks[place]
    }

    /// Lets a block begin with other values in some registers ([`Block::begin_with`]).
    pub fn begin_with(&mut self, place: usize, registers: &[(&str, u64)]) {
        self.blocks[place].begin_with(registers, &mut self.messages);
    }

    /// The blocks around which a world is, still without links.
    pub fn joins<W: World>(self, timing: Timing, world: W) -> Joins<W> {
        let Parts { blocks, inputs, outputs, messages, .. } = self;
        let net = Net::new(blocks, messages, timing, world);
        Joins { net, inputs, outputs, drains: HashMap::new() }
    }
}

/// Connects channels, each given as a block and a name; one that the block does not have is left out.
pub struct Joins<W: World> {
    /// The net so far.
    pub net: Net<W>,
    inputs: Places,
    outputs: Places,
    drains: HashMap<(usize, usize), Drain>,
}

impl<W: World> Joins<W> {
    /// The number of a receiving channel.
    pub fn input(&self, (block, channel): (usize, &str)) -> Option<usize> {
        self.inputs.get(&(block, channel.to_string())).copied()
    }

    /// The number of a sending channel.
    pub fn output(&self, (block, channel): (usize, &str)) -> Option<usize> {
        self.outputs.get(&(block, channel.to_string())).copied()
    }

    /// Says what feeds a receiving channel.
    pub fn feed(&mut self, to: (usize, &str), feed: Feed) {
        if let Some(channel) = self.input(to) {
            self.net.feed(to.0, channel, feed);
        }
    }

    /// Says where a sending channel leads.
    pub fn drain(&mut self, from: (usize, &str), drain: Drain) {
        if let Some(channel) = self.output(from) {
            self.drains.insert((from.0, channel), drain);
        }
    }

    /// A link of some capacity from a channel to another, if both are there.
    pub fn join(&mut self, from: (usize, &str), to: (usize, &str), (order, capacity): (Order, usize)) {
        if self.output(from).is_none() || self.input(to).is_none() {
            return;
        }
        let name = format!("{}.{}", self.net.blocks[from.0].name, from.1);
        let link = self.net.link(&name, order, capacity);
        self.feed(to, Feed::Link(link));
        self.drain(from, Drain::Links(vec![link], first));
    }

    /// The net, every sending channel with its drain; those that lead nowhere never send.
    pub fn done(mut self) -> Net<W> {
        for block in 0..self.net.blocks.len() {
            for channel in 0..self.net.blocks[block].outputs() {
                let nowhere = || Drain::Links(Vec::new(), first);
                let drain = self.drains.remove(&(block, channel)).unwrap_or_else(nowhere);
                self.net.drain(block, drain);
            }
        }
        self.net
    }
}

/// The only one of a channel's links.
fn first(_: &Form, _: &[u64]) -> usize {
    0
}
