//! What parts of a simulation send each other, cycle by cycle.
//!
//! A part writes one letter per cycle to each part that hears it, mostly an empty one. The stamp on it tells
//! the other part that the cycle is over here, so parts on different threads need no further word: a part
//! may be ahead of another by the cycles for which the line between them has room.

use crate::cut::Cut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Letters that a line has room for.
const ROOM: usize = 4;

/// No letter was written.
const NONE: u64 = u64::MAX;

/// Keeps what different threads write apart.
#[repr(align(128))]
struct Letter {
    /// Twice the cycle at whose begin it is to be read, and one if something is in it.
    stamp: AtomicU64,
    text: Mutex<Vec<u64>>,
}

/// The letters of one part to another.
struct Line([Letter; ROOM]);

#[repr(align(128))]
struct Heard(AtomicU64);

/// The lines between the parts of a simulation.
pub(crate) struct Mail {
    lines: Vec<Line>,
    /// By part: the cycle up to whose begin it has read its letters.
    heard: Vec<Heard>,
}

/// Where a part hears another.
#[derive(Clone, Copy)]
pub(crate) struct Ear {
    line: usize,
    pub from: u32,
    /// Another process clocks that part.
    pub far: bool,
}

/// Where a part is heard by another.
#[derive(Clone, Copy)]
pub(crate) struct Mouth {
    line: usize,
    pub to: u32,
    /// It hears the other, too: whose letter of the cycle before is there, that one has read all but the last.
    mutual: bool,
    /// The line has room for the letters of cycles before this one.
    room: u64,
    /// Another process clocks that part.
    pub far: bool,
}

/// What a part finds at an ear.
pub(crate) enum Found {
    /// The other part is not there yet.
    Nothing,
    /// Nothing has changed.
    Empty,
    /// The text is in the place given.
    Text,
}

impl Mail {
    /// The lines of a cut, and for each part where it hears and is heard.
    pub fn new(cut: &Cut) -> (Mail, Vec<(Vec<Ear>, Vec<Mouth>)>) {
        let count = cut.parts.len();
        let crosses = |from: usize, to: usize| {
            let mut crossings = cut.parts[from].crossings.iter().flat_map(|crossings| &crossings.list);
            crossings.any(|crossing| crossing.to as usize == to)
        };
        let pairs: Vec<(usize, usize)> = (0..count)
            .flat_map(|from| (0..count).map(move |to| (from, to)))
            .filter(|(from, to)| crosses(*from, *to))
            .collect();
        let mut ends: Vec<(Vec<Ear>, Vec<Mouth>)> = vec![Default::default(); count];
        for (line, (from, to)) in pairs.iter().enumerate() {
            ends[*to].0.push(Ear { line, from: *from as u32, far: false });
            let mutual = pairs.contains(&(*to, *from));
            ends[*from].1.push(Mouth { line, to: *to as u32, mutual, room: 0, far: false });
        }
        let letter = |_| Letter { stamp: AtomicU64::new(NONE), text: Mutex::default() };
        let lines = pairs.iter().map(|_| Line(std::array::from_fn(letter))).collect();
        (Mail { lines, heard: (0..count).map(|_| Heard(AtomicU64::new(0))).collect() }, ends)
    }

    /// The letter that is to be read at the begin of a cycle; `text` is empty, and is taken in exchange for it.
    #[inline]
    pub fn read(&self, ear: Ear, cycle: u64, text: &mut Vec<u64>) -> Found {
        let letter = &self.lines[ear.line].0[cycle as usize % ROOM];
        let stamp = letter.stamp.load(Ordering::Acquire);
        if stamp == 2 * cycle {
            return Found::Empty;
        }
        if stamp != 2 * cycle + 1 {
            return Found::Nothing;
        }
        std::mem::swap(&mut *letter.text.lock().unwrap_or_else(PoisonError::into_inner), text);
        Found::Text
    }

    /// There is a text to be read at the begin of a cycle.
    pub fn waits(&self, ear: Ear, cycle: u64) -> bool {
        self.lines[ear.line].0[cycle as usize % ROOM].stamp.load(Ordering::Acquire) == 2 * cycle + 1
    }

    /// A part has read all letters that are to be read at the begin of a cycle.
    #[inline]
    pub fn has_read(&self, part: usize, cycle: u64) {
        self.heard[part].0.store(cycle, Ordering::Release);
    }

    /// There is room for the letter to be read at the begin of a cycle.
    #[inline]
    pub fn has_room(&self, mouth: &mut Mouth, cycle: u64) -> bool {
        if mouth.mutual || mouth.far || cycle < mouth.room {
            return true;
        }
        mouth.room = self.heard[mouth.to as usize].0.load(Ordering::Acquire) + ROOM as u64 + 1;
        cycle < mouth.room
    }

    /// Sends a text to be read at the begin of a cycle; leaves an empty one.
    #[inline]
    pub fn send(&self, mouth: &Mouth, cycle: u64, text: &mut Vec<u64>) {
        let letter = &self.lines[mouth.line].0[cycle as usize % ROOM];
        let any = !text.is_empty();
        if any {
            let mut place = letter.text.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut *place, text);
            text.clear();
        }
        letter.stamp.store(2 * cycle + u64::from(any), Ordering::Release);
    }

    /// Nothing is on its way, and all parts have read what is to be read at the begin of this cycle. No part
    /// is clocked meanwhile.
    pub fn clear(&self, cycle: u64) {
        for letter in self.lines.iter().flat_map(|line| &line.0) {
            letter.stamp.store(NONE, Ordering::Release);
            letter.text.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        self.heard.iter().for_each(|heard| heard.0.store(cycle, Ordering::Release));
    }
}

impl Mouth {
    /// Nothing is known of the room in the line.
    pub fn forget(&mut self) {
        self.room = 0;
    }
}
