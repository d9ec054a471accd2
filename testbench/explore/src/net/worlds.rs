//! What is remembered of the world.

use super::World;
use crate::form::Form;
use crate::hash::{HashedMap, Numbered, hash};
use std::collections::HashMap;
use std::rc::Rc;

/// States of the world with their numbers, and all that was asked about them.
pub(super) struct Worlds<W: World> {
    pub world: W,
    numbers: HashMap<W::State, u32>,
    pub states: Vec<W::State>,
    pub finished: Vec<bool>,
    offers: HashedMap<Rc<[(u32, u32)]>>,
    takes: HashedMap<Result<(u32, Rc<[(usize, u32)]>), Rc<str>>>,
}

impl<W: World> Worlds<W> {
    pub fn new(world: W) -> Worlds<W> {
        Worlds {
            world,
            numbers: HashMap::new(),
            states: Vec::new(),
            finished: Vec::new(),
            offers: HashedMap::default(),
            takes: HashedMap::default(),
        }
    }

    pub fn number(&mut self, state: &W::State) -> Result<u32, String> {
        if let Some(number) = self.numbers.get(state) {
            return Ok(*number);
        }
        self.world.check(state)?;
        let number = self.states.len() as u32;
        self.numbers.insert(state.clone(), number);
        self.finished.push(self.world.finished(state));
        self.states.push(state.clone());
        Ok(number)
    }

    pub fn offers(&mut self, state: u32, port: usize, messages: &mut Numbered) -> Rc<[(u32, u32)]> {
        let key = hash(&[u64::from(state) | (port as u64) << 32]);
        if let Some(offers) = self.offers.get(&key) {
            return offers.clone();
        }
        let mut out = Vec::new();
        for (message, after) in self.world.offers(&self.states[state as usize], port) {
            let after = self.number(&after).expect("to ask is never wrong");
            out.push((messages.number(&message), after));
        }
        let offers: Rc<[(u32, u32)]> = out.into();
        self.offers.insert(key, offers.clone());
        offers
    }

    pub fn take(
        &mut self,
        state: u32,
        port: usize,
        form: &Form,
        message: u32,
        messages: &mut Numbered,
    ) -> Result<(u32, Rc<[(usize, u32)]>), Rc<str>> {
        let key = hash(&[u64::from(state) | u64::from(message) << 32, port as u64]);
        if let Some(known) = self.takes.get(&key) {
            return known.clone();
        }
        let mut after = self.states[state as usize].clone();
        let taken = self.world.take(&mut after, port, form, messages.value(message));
        let taken = taken.and_then(|sent| {
            let sent = sent.into_iter().map(|(link, words)| (link, messages.number(&words))).collect();
            Ok((self.number(&after)?, sent))
        });
        let taken = taken.map_err(Rc::from);
        self.takes.insert(key, taken.clone());
        taken
    }

    /// Forgets all states.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.states.clear();
        self.finished.clear();
        self.offers.clear();
        self.takes.clear();
    }
}
