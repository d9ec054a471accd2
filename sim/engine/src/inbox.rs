//! What a part has to do with parts that other processes clock.

use crate::mail::Found;
use crate::state::Core;
use std::collections::VecDeque;

/// What a part keeps because other processes clock some.
#[derive(Default)]
pub(crate) struct Far {
    /// By part: letters that have come, each with the cycle at whose begin it is to be read.
    pub inbox: Vec<VecDeque<(u64, Vec<u64>)>>,
    /// The state on which processes agree.
    pub agreed: Option<Box<Core>>,
    /// Another process clocks this part.
    pub shell: bool,
}

impl Far {
    /// The letter of another part that is to be read at the begin of a cycle; `text` is taken in exchange.
    pub fn read(&mut self, from: u32, cycle: u64, text: &mut Vec<u64>) -> Found {
        let inbox = &mut self.inbox[from as usize];
        let Some((_, letter)) = inbox.pop_front_if(|(at, _)| *at == cycle) else { return Found::Nothing };
        *text = letter;
        if text.is_empty() { Found::Empty } else { Found::Text }
    }

    /// There is a text to be read at the begin of a cycle.
    pub fn waits(&self, from: u32, cycle: u64) -> bool {
        self.inbox[from as usize].front().is_some_and(|(at, text)| *at == cycle && !text.is_empty())
    }

    /// Nothing has come.
    pub fn clear(&mut self) {
        self.inbox.iter_mut().for_each(VecDeque::clear);
    }
}
