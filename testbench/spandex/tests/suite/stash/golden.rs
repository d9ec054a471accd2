//! What the specification says of a program without data races on stashes and L1s (cu-and-consistency.md sections 5, 7, 8; spandex.md section 7): values of words, where words of a stash lie, who owns them at rest.
//!
//! Time is cut into kernels. In each a word belongs to one port, which alone stores it, or to nobody, then it is only read, or to all (a data race, of which only is known that the value is one of those that were stored).
//! Between kernels every port releases, and then acquires.

use crate::stash::hand::{Area, W};
use std::collections::{BTreeMap, BTreeSet};

/// Who may store a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Of(usize),
    Shared,
    Race,
}

/// A global word.
#[derive(Clone, Debug)]
struct Word {
    role: Role,
    /// Values that it may have: one, but after a data race.
    values: BTreeSet<u32>,
    /// The port that stored it last, if it takes ownership and the word has not left it; None: nobody's. Unknown after a data race.
    owner: Option<usize>,
    /// Of a stash: the word that was stored.
    place: Option<u64>,
    unsure: bool,
}

/// Kind of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Stash,
    Denovo,
    Gpu,
}

#[derive(Clone, Debug, Default)]
struct Stash {
    /// Mappings by their number.
    areas: BTreeMap<u64, Area>,
    /// The mapping that each word belongs to.
    owners: BTreeMap<u64, u64>,
}

/// The model.
pub struct Golden {
    words: BTreeMap<u64, Word>,
    ports: Vec<(Kind, Stash)>,
}

impl Golden {
    pub fn new(words: impl Iterator<Item = u64>, ports: &[Kind]) -> Golden {
        let word = || Word {
            role: Role::Shared,
            values: BTreeSet::from([0]),
            owner: None,
            place: None,
            unsure: false,
        };
        Golden {
            words: words.map(|w| (w, word())).collect(),
            ports: ports.iter().map(|kind| (*kind, Stash::default())).collect(),
        }
    }

    /// Another kernel begins.
    pub fn kernel(&mut self, mut role: impl FnMut(u64) -> Role) {
        for (w, word) in self.words.iter_mut() {
            word.role = role(*w);
        }
    }

    /// The mappings that a STASH_MAP would end or cut short: its own, and those of its space.
    pub fn touches(&self, port: usize, index: u64, area: Area) -> BTreeSet<u64> {
        let stash = &self.ports[port].1;
        let of_space = area.words().into_iter().filter_map(|(s, _)| stash.owners.get(&s).copied());
        of_space.chain([index]).collect()
    }

    /// A mapping is ready: owned words of the old one, and of the space, have gone back; the same mapping again, of which nothing was taken, changes nothing.
    pub fn map(&mut self, port: usize, index: u64, area: Area) {
        let now = &self.ports[port].1;
        let whole = area.words().iter().all(|(s, _)| now.owners.get(s) == Some(&index));
        if whole && now.areas.get(&index) == Some(&area) {
            return;
        }
        let lost: BTreeSet<u64> = {
            let stash = &self.ports[port].1;
            let space: BTreeSet<u64> = area.words().into_iter().map(|w| w.0).collect();
            let gone = |s: &u64, m: &u64| *m == index || space.contains(s);
            stash.owners.iter().filter(|(s, m)| gone(s, m)).map(|(s, _)| *s).collect()
        };
        // What goes back goes line by line of a mapping.
        let mapped = self.mapped(port);
        let line = |(_, m, g): &(u64, u64, u64)| (*m, *g / W);
        let lines: BTreeSet<(u64, u64)> = mapped.iter().filter(|w| lost.contains(&w.0)).map(line).collect();
        for (_, _, g) in mapped.iter().filter(|w| lines.contains(&line(w))) {
            let word = self.words.get_mut(g).expect("a word of the test");
            word.unsure |= word.owner == Some(port);
        }
        let stash = &mut self.ports[port].1;
        stash.owners.retain(|s, _| !lost.contains(s));
        stash.owners.extend(area.words().into_iter().map(|(s, _)| (s, index)));
        stash.areas.insert(index, area);
    }

    /// Global word of a word of a stash.
    pub fn global(&self, port: usize, s: u64) -> Option<u64> {
        let stash = &self.ports[port].1;
        let index = stash.owners.get(&s)?;
        stash.areas[index].words().into_iter().find(|w| w.0 == s).map(|w| w.1)
    }

    /// Words of a stash that belong to a mapping, with their mapping and global word.
    pub fn mapped(&self, port: usize) -> Vec<(u64, u64, u64)> {
        let stash = &self.ports[port].1;
        let of = |(s, m): (&u64, &u64)| Some((*s, *m, self.global(port, *s)?));
        stash.owners.iter().filter_map(of).collect()
    }

    /// A port may store a word.
    pub fn may_store(&self, port: usize, g: u64) -> bool {
        matches!(self.words[&g].role, Role::Race) || self.words[&g].role == Role::Of(port)
    }

    /// A port may read it.
    pub fn may_load(&self, port: usize, g: u64) -> bool {
        self.words[&g].role == Role::Shared || self.may_store(port, g)
    }

    /// A word of a stash is asked for: if another one of it is owned, that one goes back first.
    pub fn reads(&mut self, port: usize, g: u64, s: u64) {
        let word = self.words.get_mut(&g).expect("a word of the test");
        word.unsure |= word.owner == Some(port) && word.place != Some(s);
    }

    /// A port stores a word; `place`: of a stash which.
    pub fn store(&mut self, port: usize, g: u64, place: Option<u64>, value: u32) {
        let takes = self.ports[port].0 != Kind::Gpu;
        let word = self.words.get_mut(&g).expect("a word of the test");
        match word.role {
            Role::Race => {
                word.values.insert(value);
                word.unsure = true;
            }
            Role::Of(owner) => {
                assert_eq!(owner, port);
                word.values = BTreeSet::from([value]);
                (word.owner, word.place, word.unsure) = (takes.then_some(port), place, false);
            }
            Role::Shared => panic!("nobody stores word {g:x}"),
        }
    }

    /// A load by a port is answered.
    pub fn load(&mut self, port: usize, g: u64, value: u32) {
        let word = self.words.get_mut(&g).expect("a word of the test");
        assert!(
            word.values.contains(&value),
            "port {port} reads {value:x} from word {g:x} ({:?}), not one of {:x?}",
            word.role,
            word.values
        );
        // What a race has left is seen by everybody alike.
        if word.role != Role::Race {
            word.values = BTreeSet::from([value]);
        }
    }

    /// The LLC takes a word back.
    pub fn revoked(&mut self, g: u64) {
        self.words.get_mut(&g).expect("a word of the test").unsure = true;
    }

    /// At rest: who owns a word, with which value.
    pub fn rests(&mut self, g: u64, owners: &[(usize, u32)]) {
        assert!(owners.len() <= 1, "word {g:x} is owned twice: {owners:x?}");
        let word = self.words.get_mut(&g).expect("a word of the test");
        if let Some((port, value)) = owners.first() {
            assert!(
                word.values.contains(value),
                "port {port} owns word {g:x} with {value:x}, not {:x?}",
                word.values
            );
            word.values = BTreeSet::from([*value]);
        }
        let found = owners.first().map(|o| o.0);
        let expected = word.owner;
        // An L1 replaces lines on its own, a stash does not.
        let may_lose = expected.is_some_and(|port| self.ports[port].0 == Kind::Denovo);
        assert!(
            word.unsure || found == expected || (found.is_none() && may_lose),
            "word {g:x} is owned by {found:?}, not by {expected:?}"
        );
        (word.owner, word.unsure) = (found, false);
    }
}
