//! A net with what must hold of its caches: at any time a line in E or M is at one client, and in the L3; at
//! rest the directory, the clients and the CUs agree.

use super::held::{self, Cache, Held, View, view};
use super::held::{DATA, E, I, L1_DATA, L1_STATES, L1_TAGS, M, MT, OWNED, S, SHARERS, SS, TAGS, WORD_STATES};
use super::world::Hosts;
use super::{Config, Kind, LINES};
use std::collections::HashMap;
use weft_explore::dead::{Dead, What, When, dead};
use weft_explore::guess::{self, OfNet};
use weft_explore::net::{Event, Net};
use weft_explore::report::Told;
use weft_explore::search::Space;
use weft_rtl::netlist::{NetMem, Netlist};
use weft_spandex_bench::explore::cores::Memory;
use weft_spandex_bench::explore::judge;

/// A system. Its blocks are the devices, the L2 and the L3.
pub struct System {
    /// Blocks and links.
    pub net: Net<Hosts>,
    l2: usize,
    views: Vec<HashMap<u32, View>>,
}

/// Name of a line.
fn name(line: usize) -> char {
    char::from(b'X' + line as u8)
}

impl System {
    /// A net whose blocks and links are connected; `l2`: the place of the L2, behind the devices and before
    /// the L3.
    pub(super) fn new(net: Net<Hosts>, l2: usize) -> System {
        let views = vec![HashMap::new(); net.blocks.len()];
        System { net, l2, views }
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        self.net.world().config()
    }

    /// What the world remembers in a state.
    pub fn memory(&self, state: &[u32]) -> &Memory {
        self.net.world_of(state)
    }

    fn cpus(&self) -> usize {
        self.config().cores.cpus as usize
    }

    /// Blocks of the clients of the L3, by their numbers as such.
    fn clients(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.cpus()).chain([self.l2])
    }

    fn name_of(&self, client: usize) -> &str {
        let block = if client < self.cpus() { client } else { self.l2 };
        &self.net.blocks[block].name
    }

    /// What a block holds.
    fn view(&mut self, state: &[u32], block: usize) -> View {
        let at = state[block];
        if let Some(view) = self.views[block].get(&at) {
            return view.clone();
        }
        let cache = match block.checked_sub(self.l2) {
            None => Cache::L1(self.config().cores.devices[block]),
            Some(0) => Cache::L2,
            Some(_) => Cache::L3,
        };
        let config = self.net.world().config().clone();
        let view = view(&mut self.net.blocks[block], at, &config, cache);
        self.views[block].insert(at, view.clone());
        view
    }

    /// A line in E or M is so at one client, and in the L3.
    fn check_owners(&mut self, state: &[u32]) -> Result<(), String> {
        let mut owners: [Option<usize>; LINES.len()] = [None; LINES.len()];
        for (client, block) in self.clients().enumerate() {
            let view = self.view(state, block);
            let owned = |line: &usize| [E, M].contains(&view.lines[*line].state);
            for line in (0..LINES.len()).filter(owned) {
                if let Some(other) = owners[line].replace(client) {
                    let (first, second) = (self.name_of(other), self.name_of(client));
                    return Err(format!("line {} is in E or M at {first} and at {second}", name(line)));
                }
            }
        }
        let l3 = self.view(state, self.l2 + 1);
        let lost = |line: &usize| owners[*line].is_some() && l3.lines[*line].state == I;
        match (0..LINES.len()).find(lost) {
            Some(line) => {
                let client = owners[line].map_or("", |client| self.name_of(client));
                Err(format!("{client} has line {} in E or M, which is not in the L3", name(line)))
            }
            None => Ok(()),
        }
    }

    /// Nothing moves, everything asked is answered: what must hold then.
    fn check_rest(&mut self, state: &[u32]) -> Result<(), String> {
        let views: Vec<View> = (0..self.net.blocks.len()).map(|block| self.view(state, block)).collect();
        for (block, view) in views.iter().enumerate() {
            if let Some(register) = view.busy {
                let block = &self.net.blocks[block].name;
                return Err(format!("everything is answered, but {register} of {block} is not zero"));
            }
        }
        let memory = self.net.world_of(state).clone();
        let mut last = Vec::new();
        for line in 0..memory.lines.len() {
            let of = |block: usize| views[block].lines[line];
            let wrong = |text| format!("everything is answered, but of line {} {text}", name(line));
            let clients: Vec<Held> = self.clients().map(of).collect();
            let cus: Vec<(usize, Held)> = (self.cpus()..self.l2).map(|cu| (cu, of(cu))).collect();
            let l3 = of(self.l2 + 1);
            self.check_directory(&l3, &clients).map_err(wrong)?;
            let l2 = below(&of(self.l2), &cus).map_err(wrong)?;
            let words = self.check_copies(&l3, &clients, l2, memory.lines[line]).map_err(wrong)?;
            last.push(words.map(Some));
        }
        judge::check(self.net.world().cores(), &memory, Some(&last))
    }

    /// The directory knows who has a line: inclusion.
    fn check_directory(&self, l3: &Held, clients: &[Held]) -> Result<(), String> {
        for (client, held) in clients.iter().enumerate() {
            let owner = l3.state == MT && l3.owner == client as u64;
            let (name, state) = (self.name_of(client), ["I", "S", "E", "M"][held.state as usize & 3]);
            let known = match held.state {
                I => !owner,
                S => l3.state == SS && l3.sharers >> client & 1 == 1,
                _ => owner,
            };
            if !known {
                let states = ["I", "C", "SS", "MT"];
                let directory = states[l3.state as usize & 3];
                return Err(format!(
                    "{name} is in {state}, in the L3 {directory}, owner {}, sharers {:b}",
                    l3.owner, l3.sharers
                ));
            }
        }
        Ok(())
    }

    /// The words of a line: everybody who has it has the same, the owner of one in M the newest; what is
    /// clean is as what is below.
    fn check_copies(
        &self,
        l3: &Held,
        clients: &[Held],
        l2: [u64; 2],
        memory: [u8; 2],
    ) -> Result<[u8; 2], String> {
        let memory = memory.map(u64::from);
        if l3.state != I && !l3.dirty && l3.words != memory {
            return Err(format!("the L3 has {:x?} and calls it clean, memory has {memory:x?}", l3.words));
        }
        let mut newest = if l3.state == I { memory } else { l3.words };
        for (client, held) in clients.iter().enumerate().filter(|(_, held)| held.state != I) {
            let words = if client == self.cpus() { l2 } else { held.words };
            if held.state == M {
                newest = words;
            } else if words != l3.words {
                let name = self.name_of(client);
                return Err(format!("{name} has a clean copy {words:x?}, the L3 {:x?}", l3.words));
            }
        }
        let small = |word: u64| u8::try_from(word).map_err(|_| format!("a word is {word:x}"));
        Ok([small(newest[0])?, small(newest[1])?])
    }
}

/// The words of a line in the L2: of those that CUs own the owner's. Owners are as the L2 says, and only
/// where it is in M.
fn below(l2: &Held, cus: &[(usize, Held)]) -> Result<[u64; 2], String> {
    let mut words = l2.words;
    for (word, value) in words.iter_mut().enumerate() {
        let owns = |held: &Held| held.owned >> word & 1 == 1;
        let owners: Vec<u64> = cus.iter().filter(|cu| owns(&cu.1)).map(|cu| cu.0 as u64).collect();
        let known: Vec<u64> = owns(l2).then_some(*value).into_iter().collect();
        if owners != known || (owns(l2) && l2.state != M) {
            return Err(format!("word {word} is owned by devices {owners:?}, by the L2 by {known:?}"));
        }
        let owner = cus.iter().find(|cu| owns(&cu.1));
        *value = owner.map_or(*value, |cu| cu.1.words[word]);
    }
    Ok(words)
}

impl Told for System {
    fn act(&mut self, state: &[u32], action: u64, event: &mut Event) -> Result<Box<[u32]>, String> {
        let next = self.net.act(state, action, event)?;
        let at = event.block;
        if state[at] != next[at] && (at < self.cpus() || at >= self.l2) {
            self.check_owners(&next)?;
        }
        if self.net.world_of(&next).quiet() && self.net.rests(&next) {
            self.check_rest(&next)?;
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
        self.net.start()
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

/// A rule speaks of what is looked at.
fn looked_at(what: &What) -> bool {
    match what {
        What::Cells(name) | What::Cell(name, _) | What::Bits(name, ..) | What::Part(name, ..) => {
            [TAGS, OWNED, SHARERS, DATA, L1_STATES, L1_TAGS, L1_DATA].contains(&name.as_str())
        }
        What::Regs(name) | What::Flags(name) | What::Flag(name, _) | What::Span(name, ..) => {
            let caches = [Cache::L1(Kind::Mesi), Cache::L1(Kind::Gpu), Cache::L1(Kind::Denovo), Cache::L2];
            let idle = caches.iter().flat_map(|cache| held::idle(*cache));
            idle.chain(&WORD_STATES).any(|of| of == name)
        }
        What::Ring(_) => false,
    }
}

/// Lines of a cache mean something unless their state says that there is none.
fn without_lines(netlist: &Netlist) -> Vec<Dead> {
    let mem = |name: &str| netlist.mems.iter().find(|mem| mem.path == name);
    let cells = |name: &str| What::Cells(name.to_string());
    if mem(L1_STATES).is_some() {
        let there = When::Cell(L1_STATES.into(), 0, 3, Vec::new());
        return [L1_TAGS, L1_DATA].map(|name| dead(&[cells(name)], std::slice::from_ref(&there))).to_vec();
    }
    if netlist.regs.iter().any(|reg| reg.path == WORD_STATES[0]) {
        return of_words();
    }
    let Some(tags) = mem(TAGS) else {
        let there = When::Bit("cache.line_valid".into());
        return [L1_TAGS, L1_DATA].map(|name| dead(&[cells(name)], std::slice::from_ref(&there))).to_vec();
    };
    of_bank(tags, [OWNED, SHARERS].into_iter().filter(|name| mem(name).is_some()), mem(DATA))
}

/// Of an L1 whose words have states: two bits of a register for each line.
fn of_words() -> Vec<Dead> {
    let of = |cell: u32| {
        let word = |plane: &str, word: u32| When::At(plane.into(), 2 * cell + word);
        let there = WORD_STATES.iter().flat_map(|plane| [word(plane, 0), word(plane, 1)]);
        let what = [L1_TAGS, L1_DATA].map(|name| What::Cell(name.into(), cell));
        dead(&what, &there.collect::<Vec<_>>())
    };
    (0..4).map(of).collect()
}

fn of_bank<'a>(tags: &NetMem, beside: impl Iterator<Item = &'a str>, data: Option<&NetMem>) -> Vec<Dead> {
    let (lo, bits) = held::field(tags, "state");
    let names: Vec<&str> = beside.collect();
    let lanes = data.map_or(1, |mem| mem.lanes);
    let of = |cell: u32| {
        let there = [When::Of(TAGS.into(), cell, lo, bits, Vec::new())];
        let mut what: Vec<What> = names.iter().map(|name| What::Cell((*name).into(), cell)).collect();
        what.extend((0..lanes).map(|lane| What::Cell(DATA.into(), lanes * cell + lane)));
        let parts = [(0, lo), (lo + bits, tags.lane_width - lo - bits)];
        let parts = parts.into_iter().filter(|(_, width)| *width > 0);
        what.extend(parts.map(|(from, width)| What::Part(TAGS.into(), cell, from, width)));
        dead(&what, &there)
    };
    (0..tags.rows * tags.lanes).map(of).collect()
}

impl OfNet for System {
    type World = Hosts;

    fn net(&mut self) -> &mut Net<Hosts> {
        &mut self.net
    }

    fn guesses(netlist: &Netlist) -> Vec<Dead> {
        let mut list = guess::guesses(netlist);
        list.retain(|rule| !rule.what.iter().any(looked_at));
        list.extend(without_lines(netlist));
        list
    }

    fn restart(&mut self) {
        self.net.restart(|_| {});
        self.views.iter_mut().for_each(HashMap::clear);
    }
}
