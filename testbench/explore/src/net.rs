//! Blocks joined by links, and the world around them: a space of states to be searched.
//!
//! - A *link* carries messages from a sending channel (or the world) to a receiving one, however long it takes: it keeps the order, or not. A link of bounded capacity holds
//!   its sender back.
//! - The [`World`] is everything that is not hardware: who asks what, memory behind the last block, and what is remembered to judge the run.
//! - An *action* clocks one block once, with messages chosen for its receiving channels, at most one for each.
//!
//! # Why one block at a time
//!
//! Blocks touch each other through links only, and a link may take any time. So what happens in different blocks can be put in any order, and it is enough to clock one
//! block at a time: a run in which two are clocked together is the same as one in which they are clocked one after the other.
//!
//! With [`Timing::Bursts`] a block that has begun to move is clocked until it rests, with further messages in any of these cycles or not, before anything else happens. All orders
//! and distances of messages that wait for the block are covered, also in the same cycle; what is left out is that an answer to what a block has sent comes back while
//! the block still works on the same burst. A block that comes back to the same state again and again while nothing comes rests, too. With [`Timing::Free`] every block may be clocked at every moment.
//!
//! # Why symmetry is not used
//!
//! Two requesters with equal lists and budgets could be exchanged, and of a state and its mirror image one be
//! kept. Of two G-TSC L1s that load and store two lines that would leave one state of 1.98 at least with two
//! operations each, of 1.84 with one each and a roll under way (counted by the states that may be their own
//! image); it is never more than two, and nothing where the requesters differ, as a writer and a reader do and
//! most standing explorations have it (3 and 1 operations reach more than 2 and 2). What stands in the way is
//! the image of a block's state: numbers of requesters lie in queues, MSHRs and pools of a bank, as bits of
//! sharers and of who has acknowledged, as pointers of arbiters; and a value written tells its writer, so that
//! every line of data would be renamed too. That is a map by hand for each block, of which a wrong one merges
//! states that differ; it would have to be tried at every step, as [`crate::dead`] is.

mod links;
mod worlds;

pub use links::{Drain, Feed, Link, Order, Timing};

use crate::block::{Block, NONE, Step};
use crate::form::Form;
use crate::hash::{HashedMap, Numbered, hash};
use crate::search::Space;
use std::collections::BTreeMap;
use std::hash::Hash;
use worlds::Worlds;

/// Everything that is not hardware.
pub trait World {
    /// What it remembers.
    type State: Clone + Eq + Hash;
    /// At the beginning.
    fn start(&self) -> Self::State;
    /// Messages that it may send through a port now, each with what it remembers afterwards.
    fn offers(&self, state: &Self::State, port: usize) -> Vec<(Vec<u64>, Self::State)>;
    /// Takes a message from a port; messages that it puts into links because of it.
    ///
    /// # Errors
    /// What is wrong with the message.
    fn take(
        &self,
        state: &mut Self::State,
        port: usize,
        form: &Form,
        message: &[u64],
    ) -> Result<Vec<(usize, Vec<u64>)>, String>;
    /// Everything asked is answered, and nothing will be asked any more.
    fn finished(&self, state: &Self::State) -> bool;
    /// Judges what is remembered.
    ///
    /// # Errors
    /// What is wrong.
    fn check(&self, state: &Self::State) -> Result<(), String>;
    /// What was asked up to a state, a line per operation.
    fn story(&self, state: &Self::State) -> Vec<String>;
    /// A message in words; the place is a channel `BLOCK.CHANNEL`.
    fn text(&self, place: &str, form: &Form, message: &[u64]) -> String {
        let _ = place;
        form.text(message)
    }
}

/// Most cycles after which a block that waits for others is where it was.
const LONGEST_SPIN: usize = 64;

/// Bits of an action for what each of so many channels is given.
fn choice_bits(channels: usize) -> usize {
    (56 / channels.max(1)).min(8)
}

/// Blocks, links, world.
pub struct Net<W: World> {
    /// The blocks.
    pub blocks: Vec<Block>,
    /// The links.
    pub links: Vec<Link>,
    /// All messages met.
    pub messages: Numbered,
    /// When a block may be clocked.
    pub timing: Timing,
    feeds: Vec<Vec<Vec<Feed>>>,
    drains: Vec<Vec<Drain>>,
    contents: Numbered,
    /// Receiving end of each link that is a wire: block and channel.
    wires: BTreeMap<usize, (usize, usize)>,
    worlds: Worlds<W>,
    /// States of blocks in which they do or do not spin.
    spinning: HashedMap<bool>,
    /// Room for choices: per channel of the block looked at, what may be given: message, feed, place in the link or world afterwards.
    options: Vec<Vec<(u32, Feed, u32)>>,
}

/// What an action did, for texts.
#[derive(Clone, Debug, Default)]
pub struct Event {
    /// Block clocked.
    pub block: usize,
    /// Channel and message of everything that it took.
    pub taken: Vec<(usize, u32)>,
    /// Channel and message of everything that left it.
    pub sent: Vec<(usize, u32)>,
}

impl<W: World> Net<W> {
    /// A net of blocks that have begun ([`Block::begin`]) with the `messages` that they know, still unconnected.
    pub fn new(blocks: Vec<Block>, messages: Numbered, timing: Timing, world: W) -> Net<W> {
        let feeds = blocks.iter().map(|block| vec![Vec::new(); block.inputs()]).collect();
        let drains = blocks.iter().map(|_| Vec::new()).collect();
        let mut contents = Numbered::default();
        contents.number(&[]);
        let worlds = Worlds::new(world);
        let (links, options) = (Vec::new(), Vec::new());
        let wires = BTreeMap::new();
        Net {
            blocks,
            links,
            messages,
            timing,
            feeds,
            drains,
            contents,
            wires,
            worlds,
            spinning: HashedMap::default(),
            options,
        }
    }

    /// Adds a link; returns its number.
    pub fn link(&mut self, name: &str, order: Order, capacity: usize) -> usize {
        self.links.push(Link { name: name.to_string(), order, capacity });
        self.links.len() - 1
    }
    /// Adds something that feeds a receiving channel.
    pub fn feed(&mut self, block: usize, channel: usize, feed: Feed) {
        if let Feed::Link(link) = feed
            && self.links[link].order == Order::Wire
        {
            self.wires.insert(link, (block, channel));
        }
        self.feeds[block][channel].push(feed);
    }
    /// Says where a block's next sending channel leads; called once for each, in order.
    pub fn drain(&mut self, block: usize, drain: Drain) {
        self.drains[block].push(drain);
    }
    /// The world.
    pub fn world(&self) -> &W {
        &self.worlds.world
    }
    /// States of the world met.
    pub fn worlds(&self) -> usize {
        self.worlds.states.len()
    }
    /// What the world remembers in a state.
    pub fn world_of(&self, state: &[u32]) -> &W::State {
        &self.worlds.states[state[state.len() - 1] as usize]
    }
    /// Changes the world and forgets everything that was remembered for speed; for random walks. States known before mean nothing afterwards.
    pub fn restart(&mut self, change: impl FnOnce(&mut W)) {
        change(&mut self.worlds.world);
        self.messages = Numbered::default();
        self.contents = Numbered::default();
        self.contents.number(&[]);
        self.spinning.clear();
        self.worlds.clear();
        for block in &mut self.blocks {
            block.forget(&mut self.messages);
        }
    }
    /// Guesses of all blocks found wrong so far.
    pub fn refuted(&self) -> usize {
        self.blocks.iter().map(|block| block.refuted).sum()
    }

    fn link_at(&self, link: usize) -> usize {
        self.blocks.len() + link
    }

    /// Sending channels of a block whose message would be taken now.
    fn ready(&self, state: &[u32], block: usize) -> u32 {
        let own = &self.blocks[block];
        let mut ready = 0;
        for (channel, drain) in self.drains[block].iter().enumerate() {
            let offer = own.offer(state[block], channel);
            if offer == NONE {
                continue;
            }
            let room = match drain {
                Drain::World(_) => true,
                Drain::Links(links, _) if links.is_empty() => true,
                Drain::Links(links, route) => {
                    let form = own.output_info(channel).1;
                    let link = links[route(form, self.messages.value(offer))];
                    let held = self.contents.value(state[self.link_at(link)]).len();
                    let to = self.wires.get(&link);
                    let taken = to.is_none_or(|(to, at)| self.blocks[*to].is_ready(state[*to], *at));
                    taken && held < self.links[link].capacity
                }
            };
            ready |= u32::from(room) << channel;
        }
        ready
    }

    /// No message is on a link, and no block moves by itself.
    pub fn rests(&mut self, state: &[u32]) -> bool {
        let links = self.blocks.len()..state.len() - 1;
        state[links].iter().all(|held| *held == 0)
            && (0..self.blocks.len()).all(|block| !self.moves(state, block))
    }

    /// A block moves though nothing comes.
    fn moves(&mut self, state: &[u32], block: usize) -> bool {
        let ready = self.ready(state, block);
        let own = &mut self.blocks[block];
        let none = [NONE; 16];
        let step = own.step(state[block], &none[..own.inputs()], ready, &mut self.messages);
        step != Step::To(state[block])
    }

    /// A block moves, but comes back to where it is as long as nothing comes: it waits for others.
    fn spins(&mut self, state: &[u32], block: usize) -> bool {
        let ready = self.ready(state, block);
        let key = hash(&[u64::from(state[block]) | (block as u64) << 32, ready.into()]);
        if let Some(known) = self.spinning.get(&key) {
            return *known;
        }
        let own = &mut self.blocks[block];
        let none = [NONE; 16];
        let (mut at, mut spins) = (state[block], false);
        // What it offers leaves it, so only as long as it offers nothing that is taken.
        for _ in 0..if ready == 0 { LONGEST_SPIN } else { 0 } {
            match own.step(at, &none[..own.inputs()], ready, &mut self.messages) {
                Step::To(to) => at = to,
                Step::Wrong(_) => break,
            }
            let offers =
                (0..own.outputs()).any(|channel| own.offer(at, channel) != own.offer(state[block], channel));
            spins = at == state[block];
            if spins || offers {
                break;
            }
        }
        self.spinning.insert(key, spins);
        spins
    }

    /// What a block's receiving channels may get.
    fn find_options(&mut self, state: &[u32], block: usize) {
        let channels = self.blocks[block].inputs();
        if self.options.len() < channels {
            self.options.resize(channels, Vec::new());
        }
        for channel in 0..channels {
            let options = &mut self.options[channel];
            options.clear();
            if !self.blocks[block].is_ready(state[block], channel) {
                continue;
            }
            for feed in &self.feeds[block][channel] {
                match *feed {
                    Feed::Link(link) | Feed::Part(link, _) => {
                        let held = self.contents.value(state[self.blocks.len() + link]);
                        let reach = match self.links[link].order {
                            Order::Fifo | Order::Wire => held.len().min(1),
                            Order::Any => held.len(),
                        };
                        for place in 0..reach {
                            let message = self.messages.value(held[place] as u32);
                            let mine = match feed {
                                Feed::Part(_, is) => is(self.blocks[block].input_info(channel).1, message),
                                _ => true,
                            };
                            if mine && (place == 0 || held[place] != held[place - 1]) {
                                options.push((held[place] as u32, *feed, place as u32));
                            }
                        }
                    }
                    Feed::World(port) => {
                        let world = state[state.len() - 1];
                        let offers = self.worlds.offers(world, port, &mut self.messages);
                        options.extend(offers.iter().map(|(message, after)| (*message, *feed, *after)));
                    }
                }
            }
        }
    }

    fn add_actions(&mut self, state: &[u32], block: usize, moves: bool, out: &mut Vec<u64>) {
        self.find_options(state, block);
        let channels = self.blocks[block].inputs();
        let counts: Vec<u64> = self.options[..channels].iter().map(|o| o.len() as u64).collect();
        let bits = choice_bits(channels);
        debug_assert!(
            counts.iter().all(|count| *count < 1 << bits),
            "more choices than an action has room for"
        );
        let mut choice = vec![0u64; channels];
        loop {
            if moves || choice.iter().any(|c| *c != 0) {
                let code = choice.iter().enumerate().map(|(i, c)| c << (8 + bits * i)).sum::<u64>();
                out.push(code | block as u64);
            }
            let Some(at) = (0..channels).find(|i| choice[*i] < counts[*i]) else { return };
            choice[at] += 1;
            choice[..at].fill(0);
        }
    }

    /// Carries an action out; what happened is left in `event`.
    ///
    /// # Errors
    /// What went wrong.
    pub fn act(&mut self, state: &[u32], action: u64, event: &mut Event) -> Result<Box<[u32]>, String> {
        let block = (action & 0xff) as usize;
        *event = Event { block, ..Event::default() };
        self.find_options(state, block);
        let mut next: Box<[u32]> = state.into();
        let world_at = state.len() - 1;
        let channels = self.blocks[block].inputs();
        let bits = choice_bits(channels);
        let mut given = [NONE; 16];
        for (channel, given) in given[..channels].iter_mut().enumerate() {
            let choice = (action >> (8 + bits * channel) & ((1 << bits) - 1)) as usize;
            if choice == 0 {
                continue;
            }
            let (message, feed, rest) = self.options[channel][choice - 1];
            *given = message;
            event.taken.push((channel, message));
            match feed {
                Feed::World(_) => next[world_at] = rest,
                Feed::Link(link) | Feed::Part(link, _) => {
                    let at = self.link_at(link);
                    let mut held = self.contents.value(state[at]).to_vec();
                    held.remove(rest as usize);
                    next[at] = self.contents.number(&held);
                }
            }
        }
        let ready = self.ready(state, block);
        let step = self.blocks[block].step(state[block], &given[..channels], ready, &mut self.messages);
        match step {
            Step::To(to) => next[block] = to,
            Step::Wrong(wrong) => {
                let own = &self.blocks[block];
                return Err(format!("{}: {}", own.name, own.wrong(wrong)));
            }
        }
        for channel in (0..self.drains[block].len()).filter(|channel| ready >> channel & 1 == 1) {
            let message = self.blocks[block].offer(state[block], channel);
            event.sent.push((channel, message));
            self.deliver(&mut next, block, channel, message)?;
        }
        Ok(next)
    }

    fn deliver(
        &mut self,
        next: &mut [u32],
        block: usize,
        channel: usize,
        message: u32,
    ) -> Result<(), String> {
        let (name, form) = self.blocks[block].output_info(channel);
        match &self.drains[block][channel] {
            Drain::Links(links, _) if links.is_empty() => {}
            Drain::Links(links, route) => {
                let link = links[route(form, self.messages.value(message))];
                self.put(next, link, message);
            }
            Drain::World(port) => {
                let at = next.len() - 1;
                let taken = self.worlds.take(next[at], *port, form, message, &mut self.messages);
                let place = format!("{}.{name}", self.blocks[block].name);
                let (after, sent) = taken.map_err(|text| format!("after {place}: {text}"))?;
                next[at] = after;
                sent.iter().for_each(|(link, message)| self.put(next, *link, *message));
            }
        }
        Ok(())
    }

    fn put(&mut self, next: &mut [u32], link: usize, message: u32) {
        let at = self.link_at(link);
        let mut held = self.contents.value(next[at]).to_vec();
        held.push(u64::from(message));
        if self.links[link].order == Order::Any {
            held.sort_unstable();
        }
        next[at] = self.contents.number(&held);
    }

    /// An event in words, a line per message; nothing when only time passed.
    pub fn tell(&self, event: &Event) -> Vec<String> {
        let block = &self.blocks[event.block];
        let mut lines = Vec::new();
        let mut line = |verb: &str, (name, form): (&str, &Form), message: u32| {
            let words = self.messages.value(message);
            let text = self.worlds.world.text(&format!("{}.{name}", block.name), form, words);
            lines.push(format!("{} {verb} {name}: {text}", block.name));
        };
        for (channel, message) in &event.sent {
            line("sends", block.output_info(*channel), *message);
        }
        for (channel, message) in &event.taken {
            line("takes", block.input_info(*channel), *message);
        }
        lines
    }
}

impl<W: World> Space for Net<W> {
    fn start(&mut self) -> Result<Box<[u32]>, String> {
        let mut state: Vec<u32> = self.blocks.iter().map(Block::start).collect();
        state.resize(state.len() + self.links.len(), 0);
        let world = self.worlds.world.start();
        state.push(self.worlds.number(&world)?);
        Ok(state.into())
    }

    fn actions(&mut self, state: &[u32], out: &mut Vec<u64>) {
        out.clear();
        if let Some((link, (block, channel))) =
            self.wires.iter().find(|(link, _)| state[self.link_at(**link)] != 0).map(|(a, b)| (*a, *b))
        {
            debug_assert!(self.blocks[block].is_ready(state[block], channel), "{}", self.links[link].name);
            self.add_actions(state, block, true, out);
            let bits = choice_bits(self.blocks[block].inputs());
            return out.retain(|action| action >> (8 + bits * channel) & ((1 << bits) - 1) != 0);
        }
        let moving: Vec<usize> = (0..self.blocks.len()).filter(|block| self.moves(state, *block)).collect();
        if self.timing == Timing::Bursts
            && let Some(first) = moving.iter().find(|block| !self.spins(state, **block))
        {
            return self.add_actions(state, *first, true, out);
        }
        for block in 0..self.blocks.len() {
            self.add_actions(state, block, moving.contains(&block), out);
        }
    }

    fn next(&mut self, state: &[u32], action: u64) -> Result<Box<[u32]>, String> {
        self.act(state, action, &mut Event::default())
    }

    fn finished(&self, state: &[u32]) -> bool {
        self.worlds.finished[state[state.len() - 1] as usize]
    }
}
