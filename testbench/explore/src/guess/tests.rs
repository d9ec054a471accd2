use super::*;
use crate::block::Block;
use crate::form::Form;
use crate::hash::Numbered;
use crate::net::{Drain, Feed, Order, Timing};
use std::rc::Rc;
use weft_rtl::prelude::*;

#[derive(Clone, Copy, Bundle)]
struct Word {
    #[width(4)]
    value: Bits,
}

/// Keeps the word that was given last in `kept`, with `kept_valid` until it is sent on; `kept_last` looks as if it were of it, but is added to what is sent next.
fn keeper() -> Block {
    let module = Module::build("keeper", ModuleKind::Block, || {
        let (given, sent) = (in_channel::<Word>("given", &()), out_channel::<Word>("sent", &()));
        let (full, kept) = (reg::<Bool>("kept_valid", ()), reg::<Bits>("kept_word", 4));
        let last = reg::<Bits>("kept_last", 4);
        when(given.valid & !full.get(), || {
            given.take();
            full.set(true);
            kept.set(given.msg.value);
        });
        when(full.get() & sent.free, || {
            sent.send(&Word { value: kept.get() + last.get() });
            last.set(kept.get());
            full.set(false);
        });
    });
    let design = Block::compile(&module.expect("legal")).expect("compiled");
    let mut block = Block::new("keeper", &design, &[]);
    let form = Rc::new(Form::new::<Word>(&(), &[], &[]));
    block.input("given", &form);
    block.output("sent", &form);
    block
}

/// Gives two words, 1 or 2, and takes their sums.
struct Giver;

impl World for Giver {
    type State = (u32, u32);

    fn start(&self) -> (u32, u32) {
        (0, 0)
    }
    fn offers(&self, state: &(u32, u32), _: usize) -> Vec<(Vec<u64>, (u32, u32))> {
        let words = 1..if state.0 < 2 { 3 } else { 1 };
        words.map(|word| (vec![word], (state.0 + 1, state.1))).collect()
    }
    fn take(
        &self,
        state: &mut (u32, u32),
        _: usize,
        _: &Form,
        _: &[u64],
    ) -> Result<Vec<(usize, Vec<u64>)>, String> {
        state.1 += 1;
        Ok(Vec::new())
    }
    fn finished(&self, state: &(u32, u32)) -> bool {
        state.1 == 2
    }
    fn check(&self, _: &(u32, u32)) -> Result<(), String> {
        Ok(())
    }
    fn story(&self, _: &(u32, u32)) -> Vec<String> {
        Vec::new()
    }
}

/// Two keepers, one behind the other.
fn net(order: Order) -> Net<Giver> {
    let mut messages = Numbered::default();
    let blocks = (0..2).map(|_| {
        let mut block = keeper();
        block.begin(&mut messages, |_| {});
        block
    });
    let blocks = blocks.collect();
    let mut net = Net::new(blocks, messages, Timing::Bursts, Giver);
    net.feed(0, 0, Feed::World(0));
    let link = net.link("between", order, 1);
    net.feed(1, 0, Feed::Link(link));
    net.drain(0, Drain::Links(vec![link], |_, _| 0));
    net.drain(1, Drain::World(1));
    net
}

fn all(net: &mut Net<Giver>) -> Explored {
    let limits = Limits { live: true, ..Limits::default() };
    let found = explore(net, limits, &mut |_| {});
    assert!(found.complete, "{:?}", found.violation);
    found
}

#[test]
fn guesses_that_hold_make_states_fewer_and_others_are_dropped() {
    let plain = all(&mut net(Order::Fifo));
    let mut guessing = net(Order::Fifo);
    let dropped = learn(&mut guessing, 20, 100);
    let found = all(&mut guessing);
    assert!(found.states < plain.states, "{} states, {} without guesses", found.states, plain.states);
    // Of each keeper at least that what it adds is dead without a word.
    assert!(dropped >= 2 || guessing.refuted() >= 2, "{dropped}");
    let last = |net: &mut Net<Giver>| {
        let mut values = std::collections::BTreeSet::new();
        (0..net.blocks[0].states() as u32).for_each(|state| {
            values.insert(net.blocks[0].register(state, "kept_last"));
        });
        values
    };
    assert_eq!(last(&mut guessing), last(&mut net_of(plain.states)));
}

/// A net that has been explored without guesses.
fn net_of(states: usize) -> Net<Giver> {
    let mut net = net(Order::Fifo);
    assert_eq!(all(&mut net).states, states);
    net
}

#[test]
fn a_wire_leaves_nothing_between() {
    let (link, wire) = (all(&mut net(Order::Fifo)), all(&mut net(Order::Wire)));
    assert!(wire.states < link.states, "{} states with a wire, {} with a link", wire.states, link.states);
}
