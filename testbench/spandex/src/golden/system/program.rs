//! Small programs.

use super::super::device::access::Hint;
use super::super::msg::{Amo, AmoOp, Data, MAX_WORDS, Mask, words};

/// Pairing of an atomic (spandex.md section 7).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Sem {
    Unpaired,
    Acq,
    Rel,
    Both,
}

impl Sem {
    /// Acquire afterwards.
    pub fn acquires(self) -> bool {
        matches!(self, Sem::Acq | Sem::Both)
    }
    /// Release before.
    pub fn releases(self) -> bool {
        matches!(self, Sem::Rel | Sem::Both)
    }
}

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Instr {
    /// Loads words; each is a result.
    Ld { line: u32, mask: Mask, hint: Hint },
    /// Stores `value` + word number.
    St { line: u32, mask: Mask, value: u32, hint: Hint },
    /// Atomic; the old word is a result. `posted`: it is not wanted, the thread goes on at once.
    Amo { line: u32, word: u8, amo: Amo, value: u32, sem: Sem, posted: bool, hint: Hint },
    /// Acquire alone, as a kernel's start.
    Acquire,
    /// Release alone, as a kernel's end.
    Release,
    /// The thread ends unless its last result is this.
    If(u32),
}

/// What a word is before anything is stored, so that it is not taken for a device's number or for zero.
pub fn initial(word: usize) -> u32 {
    100 + word as u32
}
/// A line before anything is stored.
pub fn initial_line(count: u8) -> Data {
    let mut data = Data::default();
    (0..usize::from(count)).for_each(|word| data.0[word] = initial(word));
    data
}
/// Words stored by [`Instr::St`].
pub fn stored(mask: Mask, value: u32) -> Data {
    let mut data = Data::default();
    words(mask).for_each(|word| data.0[word] = value + word as u32);
    data
}

/// Load of one word of line 0.
pub fn ld(word: u8) -> Instr {
    Instr::Ld { line: 0, mask: 1 << word, hint: Hint::default() }
}
/// Store of one word of line 0: it gets exactly this value.
pub fn st(word: u8, value: u32) -> Instr {
    Instr::St { line: 0, mask: 1 << word, value: value - u32::from(word), hint: Hint::default() }
}
/// Atomic on one word of line 0.
pub fn amo(op: AmoOp, word: u8, value: u32, sem: Sem) -> Instr {
    Instr::Amo { line: 0, word, amo: Amo::new(op), value, sem, posted: false, hint: Hint::default() }
}
/// Unpaired addition.
pub fn add(word: u8, value: u32) -> Instr {
    amo(AmoOp::Add, word, value, Sem::Unpaired)
}
/// Unpaired addition whose result is not wanted.
pub fn update(word: u8, value: u32) -> Instr {
    let (line, amo, sem, hint) = (0, Amo::new(AmoOp::Add), Sem::Unpaired, Hint::default());
    Instr::Amo { line, word, amo, value, sem, posted: true, hint }
}
/// Paired atomic load.
pub fn get(word: u8) -> Instr {
    amo(AmoOp::Read, word, 0, Sem::Acq)
}
/// Paired atomic store.
pub fn put(word: u8, value: u32) -> Instr {
    amo(AmoOp::Write, word, value, Sem::Rel)
}

impl Instr {
    /// The same in another line.
    pub fn at(mut self, to: u32) -> Instr {
        match &mut self {
            Instr::Ld { line, .. } | Instr::St { line, .. } | Instr::Amo { line, .. } => *line = to,
            _ => {}
        }
        self
    }
    /// The same with a hint.
    pub fn how(mut self, to: Hint) -> Instr {
        match &mut self {
            Instr::Ld { hint, .. } | Instr::St { hint, .. } | Instr::Amo { hint, .. } => *hint = to,
            _ => {}
        }
        self
    }
    /// The same for more words.
    pub fn over(mut self, to: Mask) -> Instr {
        match &mut self {
            Instr::Ld { mask, .. } | Instr::St { mask, .. } => *mask = to,
            _ => {}
        }
        self
    }
    /// Lines it touches.
    pub fn line(&self) -> Option<u32> {
        match self {
            Instr::Ld { line, .. } | Instr::St { line, .. } | Instr::Amo { line, .. } => Some(*line),
            _ => None,
        }
    }
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Thread {
    /// Its device.
    pub device: u8,
    /// Its program.
    pub program: std::rc::Rc<Vec<Instr>>,
    /// Next instruction.
    pub pc: usize,
    /// It waits for a reply.
    pub waits: bool,
    /// Values it got.
    pub results: Vec<u32>,
}

impl Thread {
    /// At its first instruction.
    pub fn new(device: u8, program: Vec<Instr>) -> Thread {
        Thread { device, program: std::rc::Rc::new(program), pc: 0, waits: false, results: Vec::new() }
    }
    /// The next instruction.
    pub fn next(&self) -> Option<Instr> {
        self.program.get(self.pc).copied()
    }
    /// The instruction is complete, with this data.
    pub fn complete(&mut self, data: &Data) {
        match self.next() {
            Some(Instr::Ld { mask, .. }) => self.results.extend(words(mask).map(|word| data.0[word])),
            Some(Instr::Amo { word, posted: false, .. }) => {
                self.results.push(data.0[usize::from(word) % MAX_WORDS])
            }
            _ => {}
        }
        self.waits = false;
        self.pc += 1;
        self.start();
    }
    /// Conditions take no step.
    pub fn start(&mut self) {
        while let Some(Instr::If(value)) = self.next() {
            self.pc = if self.results.last() == Some(&value) { self.pc + 1 } else { self.program.len() };
        }
    }
    /// It is at its end.
    pub fn done(&self) -> bool {
        self.pc >= self.program.len()
    }
}
