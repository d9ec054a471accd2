//! What the instructions of one warp become.

mod copies;

use super::line::Line;
use super::opcodes::{BRANCHES, Does, LATENCIES, Space, amo, memory};
use super::split::{Piece, Place, WIDEST, Windows, lanes, pieces};
use super::tokens::Tokens;
use crate::op::{Class, Scope, Sem, Token, Unit};
use crate::trace::Gaps;
use crate::trace::op::{Memory, TraceAccess, TraceOp, TraceValue, encode};
use copies::Copies;
use std::collections::BTreeMap;

/// Bytes of a row of a matrix in the scratchpad, and rows of a matrix.
const ROW: (u64, u32) = (16, 8);

/// What an import counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub instructions: u64,
    /// Opcodes in no table, taken as arithmetic.
    pub unknown: BTreeMap<String, u64>,
    /// Opcodes whose accesses are left out.
    pub left_out: BTreeMap<String, u64>,
    /// Hints to caches by opcode, which move nothing.
    pub hints: BTreeMap<String, u64>,
    /// Generic accesses of kernels that declare no windows, taken as global.
    pub windowless: u64,
    /// Asynchronous copies whose place in the scratchpad the trace does not hold.
    pub unplaced: u64,
    /// Behind the last byte of the scratchpad that the kernel accesses.
    pub scratchpad_end: u64,
}

/// A wave under construction.
pub(super) struct Wave<'a> {
    pub(super) code: Vec<u8>,
    memory: Memory,
    pub(super) tokens: Tokens,
    copies: Copies,
    pub(super) windows: Windows,
    /// Number of the warp's first thread.
    first_thread: u64,
    untold: Gaps,
    pub(super) tally: &'a mut Tally,
}

fn scope(parts: &[&str]) -> Scope {
    if parts.contains(&"CTA") {
        Scope::Cu
    } else if parts.contains(&"GPU") || parts.contains(&"SM") {
        Scope::Gpu
    } else {
        Scope::Sys
    }
}

/// Behind the last byte of an access.
fn end_of(access: &TraceAccess) -> u64 {
    lanes(access.mask).map(|lane| access.addrs.at(lane) + u64::from(access.size)).max().unwrap_or(0)
}

/// An access of one memory.
pub(super) struct Part {
    pub place: Place,
    pub mask: u64,
    /// Of its active lanes.
    pub addrs: Vec<u64>,
}

impl<'a> Wave<'a> {
    /// A warp that has done nothing.
    pub(super) fn new(windows: Windows, first_thread: u64, untold: Gaps, tally: &'a mut Tally) -> Wave<'a> {
        Wave {
            code: Vec::new(),
            memory: Memory::default(),
            tokens: Tokens::default(),
            copies: Copies::default(),
            windows,
            first_thread,
            untold,
            tally,
        }
    }

    fn push(&mut self, op: &TraceOp) {
        encode(&mut self.code, &mut self.memory, op);
    }

    /// Waits, by a compute operation, for those of these results that may be missing.
    pub(super) fn wait(&mut self, tokens: impl IntoIterator<Item = Token>) {
        let needs = self.tokens.awaited(tokens);
        if !needs.is_empty() {
            self.push(&TraceOp::Compute { unit: Unit::Mem, latency: 1, token: None, needs });
        }
    }

    /// The tokens of a result in these registers, as many as the operations that bring it; an older value
    /// under the same name is waited for.
    fn result(&mut self, line: &Line, operations: usize) -> Vec<Token> {
        let first = line.dests.first().copied();
        let tokens = self.tokens.of_result(first.unwrap_or(255), operations);
        self.wait(tokens.iter().copied());
        if let Some(first) = first {
            let wide = first..first + line.width.div_ceil(4).max(1) as u32;
            self.tokens.define(wide.chain(line.dests.iter().copied()), &tokens);
        }
        self.tokens.missing(&tokens);
        tokens
    }

    /// The token of a result that nothing waits for.
    fn nobodys(&mut self) -> Token {
        let token = self.tokens.of_nobody();
        self.wait([token]);
        self.tokens.missing(&[token]);
        token
    }

    /// Splits the lanes of an access by the memory that their addresses are in.
    fn parts(&mut self, line: &Line, space: Space) -> Vec<Part> {
        let place = match space {
            Space::Global => Some(Place::Global),
            Space::Local => Some(Place::Local),
            Space::Scratchpad => Some(Place::Scratchpad),
            Space::Generic => None,
        };
        if place.is_none() && self.windows.scratchpad == 0 && self.windows.local == 0 {
            self.tally.windowless += 1;
        }
        let mut list: Vec<Part> = Vec::new();
        for (lane, at) in lanes(line.mask).zip(&line.addrs) {
            let place = place.unwrap_or_else(|| self.windows.place(*at));
            let at = if place == Place::Scratchpad { self.windows.scratchpad(*at) } else { *at };
            let slot = match list.iter_mut().position(|part| part.place == place) {
                Some(slot) => slot,
                None => {
                    list.push(Part { place, mask: 0, addrs: Vec::new() });
                    list.len() - 1
                }
            };
            list[slot].mask |= 1 << lane;
            list[slot].addrs.push(at);
        }
        list
    }

    /// Accesses of a part. A wide word of a thread's own memory is several words apart.
    pub(super) fn accesses(
        &self,
        part: &Part,
        width: u64,
        parts: &[&str],
        atomic: bool,
    ) -> Result<Vec<TraceAccess>, String> {
        let list: Vec<Piece> = match part.place {
            Place::Global | Place::Scratchpad => pieces(width, part.mask, &part.addrs)?,
            Place::Local => {
                let narrow = if width.is_multiple_of(4) { 4 } else { width };
                let mut list = Vec::new();
                for word in 0..width / narrow {
                    let lanes = lanes(part.mask).map(|lane| self.first_thread + u64::from(lane));
                    let at =
                        |(thread, at): (u64, &u64)| self.windows.local(at.wrapping_add(4 * word), thread);
                    let addrs: Vec<u64> = lanes.zip(&part.addrs).map(at).collect();
                    list.extend(pieces(narrow, part.mask, &addrs)?);
                }
                list
            }
        };
        let class = if atomic || parts.contains(&"STRONG") { Class::N } else { Class::D };
        let scope = if class == Class::D { Scope::Sys } else { scope(parts) };
        let access = |piece: Piece| TraceAccess {
            class,
            scope,
            ..TraceAccess::data(piece.size, piece.addrs, piece.mask)
        };
        Ok(list.into_iter().map(access).collect())
    }

    pub(super) fn load(&mut self, token: Token, access: TraceAccess, place: Place) {
        if place == Place::Scratchpad {
            self.tally.scratchpad_end = self.tally.scratchpad_end.max(end_of(&access));
            self.push(&TraceOp::LdsLoad { token, access });
        } else {
            self.push(&TraceOp::Load { token, access });
        }
    }

    pub(super) fn store(&mut self, access: TraceAccess, value: TraceValue, place: Place) {
        if place == Place::Scratchpad {
            self.tally.scratchpad_end = self.tally.scratchpad_end.max(end_of(&access));
            self.push(&TraceOp::LdsStore { access, value });
        } else {
            self.push(&TraceOp::Store { access, value });
        }
    }

    fn loads(&mut self, line: &Line, space: Space, parts: &[&str]) -> Result<(), String> {
        let mut list = Vec::new();
        for part in self.parts(line, space) {
            let accesses = self.accesses(&part, line.width, parts, false)?;
            list.extend(accesses.into_iter().map(|access| (access, part.place)));
        }
        for (token, (access, place)) in self.result(line, list.len()).into_iter().zip(list) {
            self.load(token, access, place);
        }
        Ok(())
    }

    fn stores(&mut self, line: &Line, space: Space, parts: &[&str]) -> Result<(), String> {
        for part in self.parts(line, space) {
            for access in self.accesses(&part, line.width, parts, false)? {
                self.store(access, TraceValue::Unique, part.place);
            }
        }
        Ok(())
    }

    /// Atomics and reductions. The scratchpad and a thread's own memory know none: a load and a store.
    fn atomics(&mut self, line: &Line, space: Space, parts: &[&str], result: bool) -> Result<(), String> {
        let mut list = Vec::new();
        for mut part in self.parts(line, space) {
            let (mut width, global) = (line.width, part.place == Place::Global);
            if global && width < 4 {
                // Caches change whole words.
                part.addrs.iter_mut().for_each(|at| *at &= !3);
                width = 4;
            }
            let accesses = self.accesses(&part, width, parts, global)?;
            list.extend(accesses.into_iter().map(|access| (access, part.place)));
        }
        let mut tokens = if result { self.result(line, list.len()) } else { Vec::new() }.into_iter();
        for (access, place) in list {
            let token = tokens.next().unwrap_or_else(|| self.nobodys());
            if place == Place::Global {
                let (kind, value) = (amo(&parts[1..]), TraceValue::Unique);
                self.push(&TraceOp::Amo { token, access, kind, value, compare: 0 });
            } else {
                self.load(token, access.clone(), place);
                self.store(access, TraceValue::Unique, place);
            }
        }
        Ok(())
    }

    /// One lane's access for the whole warp.
    fn uniform(line: &Line) -> Line<'static> {
        Line {
            pc: line.pc,
            mask: 1,
            dests: Vec::new(),
            opcode: "",
            sources: Vec::new(),
            width: line.width,
            addrs: line.addrs.iter().take(1).copied().collect(),
            immediate: None,
        }
    }

    /// Rows of matrices: lanes 0 to 7 have the addresses of the first one's rows, and so on.
    fn matrix(line: &Line, parts: &[&str]) -> Line<'static> {
        let count =
            parts.last().and_then(|part| part.parse().ok()).filter(|n| matches!(n, 1 | 2 | 4)).unwrap_or(1);
        let rows = u64::MAX >> (64 - ROW.1 * count);
        let lanes = lanes(line.mask).zip(&line.addrs).filter(|(lane, _)| rows >> lane & 1 == 1);
        Line {
            pc: line.pc,
            mask: line.mask & rows,
            dests: line.dests.clone(),
            opcode: "",
            sources: Vec::new(),
            width: ROW.0,
            addrs: lanes.map(|(_, at)| *at).collect(),
            immediate: None,
        }
    }

    /// The warp has ended.
    ///
    /// # Errors
    /// A copy that cannot be.
    pub(super) fn end(mut self) -> Result<Vec<u8>, String> {
        self.alone()?;
        self.complete_all();
        self.push(&TraceOp::End);
        Ok(self.code)
    }

    /// Bytes of global memory that the trace does not name.
    pub(super) fn untold(&mut self, name: &str, why: &str) -> Result<(), String> {
        if self.untold == Gaps::Refuse {
            return Err(format!(
                "the accesses of {name} cannot be followed: {why}; weft trace and weft run leave them out, and count \
                 them, with --unknown-opcodes skip"
            ));
        }
        *self.tally.left_out.entry(name.into()).or_default() += 1;
        Ok(())
    }

    /// Translates an instruction.
    ///
    /// # Errors
    /// An access that cannot be, or that cannot be followed.
    pub(super) fn instruction(&mut self, line: &Line) -> Result<(), String> {
        self.tally.instructions += 1;
        let parts: Vec<&str> = line.opcode.split('.').collect();
        let name = parts[0];
        let does = memory(name);
        if does != Some(Does::Copy) {
            self.alone()?;
        }
        if line.mask == 0 && (line.width > 0 || !matches!(does, None | Some(Does::Constant | Does::Hint))) {
            return Ok(());
        }
        match does {
            None if line.width > 0 => {
                self.untold(name, "it has addresses, and no table says what it does with them")?;
                self.compute(line, name, true);
            }
            None => self.other(line, &parts),
            Some(Does::Constant) => self.compute(line, name, true),
            Some(Does::Hint) => self.hint(line, &parts),
            Some(Does::Untold(why)) => {
                self.untold(name, why)?;
                self.compute(line, name, true);
            }
            Some(does) if line.width == 0 => {
                if !in_scratchpad(does) {
                    self.untold(name, "its line has no address")?;
                }
                self.compute(line, name, true);
            }
            Some(_) if line.width > WIDEST => {
                return Err(format!(
                    "{} bytes per lane; 1 to 32, or a multiple of 8 up to {WIDEST}, are expected",
                    line.width
                ));
            }
            Some(does) => {
                let sources = self.tokens.of_registers(&line.sources);
                self.wait(sources);
                self.access(line, &parts, does)?;
            }
        }
        Ok(())
    }

    fn access(&mut self, line: &Line, parts: &[&str], does: Does) -> Result<(), String> {
        match does {
            Does::Load(space) => self.loads(line, space, parts),
            Does::Store(space) => self.stores(line, space, parts),
            Does::Atomic(space) => {
                match parts[0] {
                    "ARRIVES" => self.copies.arriving = true,
                    _ if self.copies.arriving => self.complete_all(),
                    _ => {}
                }
                self.atomics(line, space, parts, true)
            }
            Does::Reduction(space) => self.atomics(line, space, parts, false),
            Does::Release | Does::StoreRelease => {
                self.push(&TraceOp::Fence { sem: Sem::Release, scope: scope(parts) });
                let one = Self::uniform(line);
                let strong: Vec<&str> = parts.iter().copied().chain(["STRONG"]).collect();
                match does {
                    Does::Release => self.atomics(&one, Space::Global, &strong, false),
                    _ => self.stores(&one, Space::Global, &strong),
                }
            }
            Does::LoadMatrix => self.loads(&Self::matrix(line, parts), Space::Scratchpad, parts),
            Does::StoreMatrix => self.stores(&Self::matrix(line, parts), Space::Scratchpad, parts),
            Does::Copy => self.copy_line(line),
            Does::Constant | Does::Hint | Does::Untold(_) => Ok(()),
        }
    }

    /// What moves no bytes, and yet may order them.
    fn hint(&mut self, line: &Line, parts: &[&str]) {
        if parts[0] == "CCTL" && parts.contains(&"IVALL") {
            return self.push(&TraceOp::Fence { sem: Sem::Acquire, scope: Scope::Sys });
        }
        *self.tally.hints.entry(parts[0].into()).or_default() += 1;
        self.compute(line, parts[0], true);
    }

    /// An instruction without addresses.
    fn other(&mut self, line: &Line, parts: &[&str]) {
        match parts[0] {
            "MEMBAR" | "FENCE" => {
                self.push(&TraceOp::Fence { sem: Sem::AcquireRelease, scope: scope(parts) });
            }
            "BAR" => self.push(&TraceOp::Barrier),
            "LDGDEPBAR" => {
                self.copies.close();
                self.compute(line, parts[0], true);
            }
            "DEPBAR" => {
                self.complete(line.immediate.and_then(|left| left.try_into().ok()).unwrap_or(0));
                self.compute(line, parts[0], true);
            }
            name if BRANCHES.contains(&name) => self.push(&TraceOp::Await { tokens: Vec::new() }),
            name => self.compute(line, name, false),
        }
    }

    /// An instruction that only takes time: as [`LATENCIES`] says, else one tick of the memory path if it
    /// has to do with memory, and 4 of arithmetic if it is not known.
    fn compute(&mut self, line: &Line, name: &str, of_memory: bool) {
        let known = LATENCIES
            .iter()
            .filter(|(prefix, ..)| name.starts_with(prefix))
            .max_by_key(|(prefix, ..)| prefix.len())
            .map(|(_, unit, latency)| (*unit, *latency));
        if known.is_none() && !of_memory {
            *self.tally.unknown.entry(name.into()).or_default() += 1;
        }
        let other = if of_memory { (Unit::Mem, 1) } else { (Unit::Alu, 4) };
        let (unit, latency) = known.unwrap_or(other);
        let token = line.dests.first().copied();
        // A result that nobody has waited for must not be overtaken by a new one of its name.
        let needs = self.tokens.of_registers(&line.sources).into_iter().chain(token);
        let needs = self.tokens.awaited(needs);
        if let Some(token) = token {
            self.tokens.define(line.dests.iter().copied(), &[token]);
            self.tokens.missing(&[token]);
        }
        self.push(&TraceOp::Compute { unit, latency, token, needs });
    }
}

/// Whether an instruction's bytes stay in the compute unit.
fn in_scratchpad(does: Does) -> bool {
    use Space::Scratchpad;
    matches!(
        does,
        Does::Load(Scratchpad)
            | Does::Store(Scratchpad)
            | Does::Atomic(Scratchpad)
            | Does::LoadMatrix
            | Does::StoreMatrix
    )
}
