//! The net with what was done before the exploration begins, and the judgement of what the hardware holds whenever it is quiet.

use super::cores::{Cores, Memory};
use super::held::{Held, by_words, entries, mesi};
use super::{Config, Kind, judge, stash};
use std::collections::HashMap;
use weft_explore::block::Block;
use weft_explore::guess::OfNet;
use weft_explore::net::{Event, Net};
use weft_explore::report::Told;
use weft_explore::search::Space;

/// A net to be explored. Blocks 0.. are the devices, the last one is the bank.
pub struct System {
    /// The net.
    pub net: Net<Cores>,
    views: Vec<HashMap<u32, View>>,
}

/// What a block holds of the lines in a state.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct View {
    lines: Vec<Held>,
    /// Something is still under way.
    busy: Option<&'static str>,
}

impl System {
    /// A net whose blocks and links are connected.
    pub(super) fn new(net: Net<Cores>) -> System {
        let views = vec![HashMap::new(); net.blocks.len()];
        System { net, views }
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        self.net.world().config()
    }

    /// What the world remembers in a state.
    pub fn memory(&self, state: &[u32]) -> &Memory {
        self.net.world_of(state)
    }

    /// Does the prelude: an operation begins when nothing else moves any more.
    fn prepare(&mut self, mut state: Box<[u32]>) -> Result<Box<[u32]>, String> {
        let devices = self.config().devices.len() as u64;
        let asks = |action: u64| action & 0xff < devices && action >> 8 & 0xff != 0;
        let mut actions = Vec::new();
        loop {
            let memory = self.net.world_of(&state);
            let done = memory.prepared == self.config().prelude.len() && memory.preparing.is_none();
            if done && self.net.rests(&state) {
                return Ok(state);
            }
            self.net.actions(&state, &mut actions);
            let quiet = actions.iter().find(|action| !asks(**action)).copied();
            let action = quiet.or(actions.first().copied().filter(|_| !done));
            let action = action.ok_or("the prelude does not end")?;
            state = self.net.act(&state, action, &mut Event::default())?;
        }
    }

    fn view(&mut self, state: &[u32], block: usize) -> View {
        if let Some(view) = self.views[block].get(&state[block]) {
            return view.clone();
        }
        let c = self.config().clone();
        let kind = c.devices.get(block).copied();
        let at = state[block];
        let own = &mut self.net.blocks[block];
        let mut view = View { lines: vec![Held::default(); c.lines.len()], busy: None };
        // What is done in the L1 is left in its store buffer.
        let stays = |name: &str| c.scopes && name == "cache.sb_valid" && kind == Some(Kind::Gpu);
        for name in entries(kind).iter().filter(|name| !stays(name)) {
            let rows = if *name == "tu.in_place" { 4 } else { 0 };
            let some = (0..rows).any(|row| own.cell(at, name, row) != 0);
            if some || (rows == 0 && own.register(at, name) != 0) {
                view.busy = Some(*name);
            }
        }
        for (held, line) in view.lines.iter_mut().zip(&c.lines) {
            *held = match kind {
                None => bank(own, at, &c, *line),
                Some(Kind::Gpu) if c.scopes => buffer(own, at, &c, *line),
                Some(Kind::Gpu) => Held::default(),
                Some(Kind::Denovo | Kind::Flex) => by_words(own, at, *line),
                Some(Kind::Mesi) => mesi(own, at, *line),
                Some(Kind::Stash) => stash::held(own, at, *line),
            };
        }
        self.views[block].insert(at, view.clone());
        view
    }

    /// Nothing moves, everything asked is answered: what must hold then (spandex.md section 13).
    fn judge(&mut self, state: &[u32]) -> Result<(), String> {
        let views: Vec<View> = (0..self.net.blocks.len()).map(|block| self.view(state, block)).collect();
        for (block, view) in views.iter().enumerate() {
            if let Some(name) = view.busy {
                let block = &self.net.blocks[block].name;
                return Err(format!("everything is answered, but {name} of {block} is not zero"));
            }
        }
        let Some((bank, devices)) = views.split_last() else { return Ok(()) };
        let memory = self.net.world_of(state).clone();
        let mut last = Vec::new();
        for (line, held) in bank.lines.iter().enumerate() {
            let copies: Vec<Held> = devices.iter().map(|view| view.lines[line]).collect();
            let words = settled(held, &copies, memory.lines[line])
                .map_err(|text| format!("everything is answered, but of line {line} {text}"))?;
            let mut words = words.map(Some);
            for (word, value) in words.iter_mut().enumerate() {
                for copy in copies.iter().filter(|copy| copy.buffered >> word & 1 == 1) {
                    *value = u8::try_from(copy.words[word]).ok();
                }
            }
            last.push(words);
        }
        judge::check(self.net.world(), &memory, Some(&last))
    }
}

/// The words of a line that nothing happens to; owners and sharers are as the bank says.
fn settled(bank: &Held, devices: &[Held], memory: [u8; 2]) -> Result<[u8; 2], String> {
    let mut words = memory;
    for (word, value) in words.iter_mut().enumerate() {
        let owners: Vec<usize> = (0..devices.len()).filter(|d| devices[*d].owned >> word & 1 == 1).collect();
        let known = bank.here && bank.owned >> word & 1 == 1;
        let by_bank: Vec<usize> = known.then_some(bank.words[word] as usize).into_iter().collect();
        if owners != by_bank {
            return Err(format!("word {word} is owned by devices {owners:?}, by the bank by {by_bank:?}"));
        }
        let from = match owners.first() {
            Some(owner) => devices[*owner].words[word],
            None if bank.here => bank.words[word],
            None => u64::from(*value),
        };
        *value = u8::try_from(from).map_err(|_| format!("word {word} holds {from:#x}"))?;
    }
    for (device, held) in devices.iter().enumerate().filter(|(_, held)| held.shared != 0) {
        if !bank.here || bank.shared == 0 || bank.sharers >> device & 1 == 0 {
            return Err(format!("device {device} has a shared copy that the bank does not know"));
        }
        let differs =
            |word: usize| held.shared >> word & 1 == 1 && held.words[word] != u64::from(words[word]);
        if (0..words.len()).any(differs) {
            return Err(format!("device {device} has a shared copy {:x?} of {words:x?}", held.words));
        }
    }
    Ok(words)
}

/// Words of a line in the store buffer of an L1 with GPU coherence, in which everything that has left is answered.
fn buffer(own: &mut Block, at: u32, c: &Config, line: u64) -> Held {
    let (valid, mut held) = (own.register(at, "cache.sb_valid"), Held::default());
    for entry in (0..c.l1.1).filter(|entry| valid >> entry & 1 == 1) {
        if own.cell(at, "cache.sb_line", entry) != line {
            continue;
        }
        held.buffered = own.cell(at, "cache.sb_mask", entry) as u8;
        held.words = [0, 1].map(|word| own.cell(at, "cache.sb_data", 2 * entry + word));
    }
    held
}

fn bank(own: &mut Block, at: u32, c: &Config, line: u64) -> Held {
    let (sets, ways) = c.bank;
    let index = sets.trailing_zeros();
    let tag_bits = c.spandex().line_bits() - index;
    let set = line as u32 & (sets - 1);
    for way in 0..ways {
        let cell = set * ways + way;
        let tag = own.cell(at, "tags", cell);
        let state = tag >> tag_bits & 3;
        if state == 0 || tag & ((1 << tag_bits) - 1) != line >> index {
            continue;
        }
        let sharers = if c.spandex().sharers > 0 { own.cell(at, "sharers", cell) } else { 0 };
        let word = |own: &mut Block, word| own.cell(at, "lines", 2 * cell + word);
        return Held {
            here: true,
            owned: own.cell(at, "owned", cell) as u8,
            shared: if state == 2 { 3 } else { 0 },
            sharers,
            words: [word(own, 0), word(own, 1)],
            buffered: 0,
        };
    }
    Held::default()
}

impl Told for System {
    fn act(&mut self, state: &[u32], action: u64, event: &mut Event) -> Result<Box<[u32]>, String> {
        let next = self.net.act(state, action, event)?;
        let memory = self.net.world_of(&next);
        if memory.quiet() && memory.prepared == self.config().prelude.len() && self.net.rests(&next) {
            self.judge(&next)?;
        }
        Ok(next)
    }

    fn tell(&self, event: &Event) -> Vec<String> {
        self.net.tell(event)
    }

    fn story(&self, state: &[u32]) -> Vec<String> {
        self.net.story(state)
    }
}

impl Space for System {
    fn start(&mut self) -> Result<Box<[u32]>, String> {
        let start = self.net.start()?;
        self.prepare(start)
    }

    fn actions(&mut self, state: &[u32], out: &mut Vec<u64>) {
        self.net.actions(state, out);
    }

    fn next(&mut self, state: &[u32], action: u64) -> Result<Box<[u32]>, String> {
        self.act(state, action, &mut Event::default())
    }

    fn finished(&self, state: &[u32]) -> bool {
        self.net.finished(state)
    }
}

impl OfNet for System {
    type World = Cores;

    fn net(&mut self) -> &mut Net<Cores> {
        &mut self.net
    }

    fn restart(&mut self) {
        self.net.restart(|_| {});
        self.views.iter_mut().for_each(HashMap::clear);
    }
}
