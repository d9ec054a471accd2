//! What must hold (moesi.md section 8). Values of loads are checked where they are performed, in the bank.

use super::msg::Line;
use super::system::System;
use super::table::State;

impl System {
    /// A broken rule in this state.
    pub fn check(&self) -> Option<String> {
        if self.fabric.wrong.is_some() {
            return self.fabric.wrong.clone();
        }
        (0..self.p.lines).find_map(|line| {
            let broken = self.check_copies(line).or_else(|| self.check_slice(line));
            broken.or_else(|| if self.calm(line) { self.check_entry(line) } else { None })
        })
    }

    /// One writer or many readers, at most one owner, and all copies have the bytes of the last store.
    fn check_copies(&self, line: Line) -> Option<String> {
        let at = usize::from(line);
        let copies = || self.banks.iter().map(|bank| (bank.node, bank.lines[at].copy));
        let held = copies().filter(|(_, copy)| copy.state != State::I).count();
        let owners =
            copies().filter(|(_, copy)| matches!(copy.state, State::O | State::E | State::M)).count();
        let sole = copies().any(|(_, copy)| matches!(copy.state, State::E | State::M));
        if owners > 1 || sole && held > 1 {
            let all: Vec<_> = copies().map(|(_, copy)| copy.state).collect();
            return Some(format!("line {line} is in {all:?}: not one writer or many readers"));
        }
        let latest = self.fabric.latest[at];
        let old = copies().find(|(_, copy)| copy.state != State::I && copy.data != latest);
        old.map(|(node, copy)| format!("node {node} can read {copy:?} of line {line}, not {latest}"))
    }

    /// The owner is not among the sharers; an entry without a row says something.
    fn check_slice(&self, line: Line) -> Option<String> {
        let slice = &self.slices[usize::from(self.p.home(line))];
        let entry = slice.entries[usize::from(line)]?;
        let home = 1 << self.p.home(line);
        let owner = entry.owner.map_or(0, |owner| 1 << owner);
        let empty = owner | entry.sharers == 0 && slice.rows[usize::from(line)].is_none();
        let wrong = empty || (owner | entry.sharers) & home != 0 || owner & entry.sharers != 0;
        wrong.then(|| format!("the entry of line {line} is {entry:?}"))
    }

    /// Nothing of a line is under way: no message, no request, no Put, no row.
    pub fn calm(&self, line: Line) -> bool {
        let at = usize::from(line);
        let slice = &self.slices[usize::from(self.p.home(line))];
        let home = &self.banks[usize::from(self.p.home(line))];
        let quiet = |bank: &super::bank::Bank| {
            let line = &bank.lines[at];
            line.mshr.is_none() && line.buffer.is_none() && !line.late
        };
        slice.rows[at].is_none()
            && !slice.queue.iter().any(|waiting| waiting.op.line == line)
            && !home.homes.iter().any(|place| place.op.line == line)
            && !self.fabric.net.iter().any(|packet| packet.line == line)
            && self.banks.iter().all(quiet)
    }

    /// Entry, copies and memory agree while nothing is under way.
    fn check_entry(&self, line: Line) -> Option<String> {
        let at = usize::from(line);
        let home = self.p.home(line);
        let entry = self.slices[usize::from(home)].entries[at].unwrap_or_default();
        let mut owned = false;
        for bank in &self.banks {
            let (node, state) = (bank.node, bank.lines[at].copy.state);
            let owner = matches!(state, State::O | State::E | State::M);
            owned |= matches!(state, State::O | State::M);
            let recorded = match state {
                State::I => true,
                _ if node == home => !owner || entry.owner.is_none(),
                State::S => entry.sharers & 1 << node != 0,
                _ => entry.owner == Some(node),
            };
            let lost = entry.owner == Some(node) && !owner;
            if !recorded || lost {
                return Some(format!("node {node} has line {line} in {state:?}, the entry is {entry:?}"));
            }
        }
        let (memory, latest) = (self.fabric.memory[at], self.fabric.latest[at]);
        let old = !owned && memory != latest;
        old.then(|| format!("nobody owns line {line}, and memory has {memory}, not {latest}"))
    }

    /// Nothing is under way, and no operation waits: what may end.
    pub fn quiet(&self) -> bool {
        (0..self.p.lines).all(|line| self.calm(line))
            && (0..self.p.nodes).all(|node| self.idle(node))
            && self.programs.iter().all(|program| !program.releasing)
            && self.banks.iter().all(|bank| bank.homes.is_empty())
    }

    /// What still waits, in words.
    pub fn waits(&self) -> String {
        let mut text = String::new();
        for bank in &self.banks {
            for (line, at) in bank.lines.iter().enumerate() {
                if !at.waiting.is_empty() || at.mshr.is_some() || at.buffer.is_some() {
                    text += &format!("    node {}, line {line}: {at:?}\n", bank.node);
                }
            }
            bank.homes
                .iter()
                .for_each(|place| text += &format!("    home side of {}: {place:?}\n", bank.node));
        }
        for (node, slice) in self.slices.iter().enumerate() {
            for (line, row) in slice.rows.iter().enumerate() {
                if let Some(row) = row {
                    text += &format!(
                        "    slice {node}, line {line}: {:?} {} {:?}\n",
                        row.op, row.acks, row.phase
                    );
                }
            }
            slice.queue.iter().for_each(|op| text += &format!("    slice {node}, queue: {:?}\n", op.op));
        }
        self.fabric.net.iter().for_each(|packet| text += &format!("    under way: {packet:?}\n"));
        text
    }
}
