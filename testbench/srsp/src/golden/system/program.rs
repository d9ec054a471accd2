//! Programs of waves: little machines over words of 4 bytes.

use super::super::msg::{CuOp, Scope, Sem, Sync};
use super::super::word::{Atomic, Data, LINE};
use std::rc::Rc;
use weft_srsp::msg::SyncOp;

/// An instruction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Instr {
    /// Loads the word at an address into the register.
    Ld(u64),
    /// Stores a word.
    St(u64, u64),
    /// Stores the register plus a number.
    StReg(u64, u64),
    /// A synchronising access; its old value goes into the register.
    Sync(Sync),
    /// The same again and again until the old value is this.
    Spin(Sync, u64),
    /// Skips so many instructions unless the register is this.
    Unless(u64, usize),
    /// An operation as it is.
    Op(CuOp),
}

/// An atomic of 4 bytes.
pub fn atomic(op: SyncOp, addr: u64, opnd: u64, cmp: u64) -> Atomic {
    Atomic { op, wide: false, addr, opnd, cmp }
}

/// A compare-and-swap of 4 bytes.
pub fn cas(addr: u64, from: u64, to: u64) -> Atomic {
    atomic(SyncOp::Cas, addr, to, from)
}

/// A store of 4 bytes that synchronises.
pub fn put(addr: u64, value: u64) -> Atomic {
    atomic(SyncOp::St, addr, value, 0)
}

/// A load of 4 bytes that synchronises.
pub fn get(addr: u64) -> Atomic {
    atomic(SyncOp::Ld, addr, 0, 0)
}

/// A wg access.
pub fn wg(atomic: Atomic, sem: Sem) -> Sync {
    sync(atomic, sem, Scope::Wg)
}

/// A cmp access.
pub fn cmp(atomic: Atomic, sem: Sem) -> Sync {
    sync(atomic, sem, Scope::Cmp)
}

/// A synchronising access that is not remote.
pub fn sync(atomic: Atomic, sem: Sem, scope: Scope) -> Sync {
    Sync { atomic, sem, scope, remote: false }
}

/// A remote access: cmp scope.
pub fn remote(atomic: Atomic, sem: Sem) -> Sync {
    Sync { atomic, sem, scope: Scope::Cmp, remote: true }
}

/// A wave: where it runs and what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wave {
    /// Its CU.
    pub cu: u8,
    /// Its program.
    pub program: Rc<Vec<Instr>>,
    /// Next instruction.
    pub pc: usize,
    /// It waits for the answer to this one.
    pub waits: bool,
    /// Last value loaded.
    pub reg: u64,
    /// What loads and synchronising accesses got, in order; of one that spins only the last.
    pub results: Vec<u64>,
}

impl std::hash::Hash for Wave {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.pc, self.waits, self.reg, &self.results).hash(state);
    }
}

impl Wave {
    /// At the start of a program.
    pub fn new(cu: u8, program: Vec<Instr>) -> Wave {
        Wave { cu, program: Rc::new(program), pc: 0, waits: false, reg: 0, results: Vec::new() }
    }
    /// The program has ended.
    pub fn done(&self) -> bool {
        !self.waits && self.pc == self.program.len()
    }
    /// The operation that it issues next, unless it waits.
    pub fn next(&self) -> Option<CuOp> {
        let instr = self.program.get(self.pc).filter(|_| !self.waits)?;
        let word = |addr: u64| (addr / LINE, 0xf << (addr % LINE));
        Some(match instr {
            Instr::Ld(addr) => {
                let (line, mask) = word(*addr);
                CuOp::Load { line, mask }
            }
            Instr::St(addr, _) | Instr::StReg(addr, _) => {
                let (line, mask) = word(*addr);
                let value = match instr {
                    Instr::StReg(_, add) => self.reg + add,
                    Instr::St(_, value) => *value,
                    _ => 0,
                };
                let mut data = Data::default();
                data.set_word(addr % LINE, false, value);
                CuOp::Store { line, mask, data }
            }
            Instr::Sync(sync) | Instr::Spin(sync, _) => CuOp::Sync(*sync),
            Instr::Op(op) => *op,
            Instr::Unless(..) => return None,
        })
    }
    /// Takes an answer.
    pub fn answer(&mut self, data: &Data) {
        self.waits = false;
        let value = match &self.program[self.pc] {
            Instr::Ld(addr) => Some(data.word(addr % LINE, false)),
            Instr::Sync(sync) | Instr::Spin(sync, _) => {
                Some(data.word(sync.atomic.addr % LINE, sync.atomic.wide))
            }
            _ => None,
        };
        if matches!(&self.program[self.pc], Instr::Spin(_, until) if value != Some(*until)) {
            return;
        }
        if let Some(value) = value {
            self.reg = value;
            self.results.push(value);
        }
        self.pc += 1;
        while let Some(Instr::Unless(wanted, skip)) = self.program.get(self.pc) {
            let next = if self.reg == *wanted { self.pc + 1 } else { self.pc + 1 + skip };
            self.pc = next.min(self.program.len());
        }
    }
}
