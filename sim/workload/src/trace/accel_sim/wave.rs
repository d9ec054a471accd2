//! What the instructions of one warp become.

use super::Line;
use crate::op::{AmoKind, Class, Scope, Sem, Token, Unit};
use crate::trace::op::{TraceAccess, TraceOp, TraceValue};
use crate::trace::text::of_active;
use std::collections::BTreeMap;

/// First byte of local memory: beyond what devices hand out.
const LOCAL: u64 = 1 << 52;

/// Opcode prefixes, their unit, and ticks until the result. The longest prefix counts.
pub const LATENCIES: &[(&str, Unit, u32)] = &[
    ("MUFU", Unit::Sfu, 16),
    ("I2F", Unit::Sfu, 8),
    ("F2I", Unit::Sfu, 8),
    ("F2F", Unit::Sfu, 8),
    ("DADD", Unit::Alu, 8),
    ("DMUL", Unit::Alu, 8),
    ("DFMA", Unit::Alu, 8),
    ("DSETP", Unit::Alu, 8),
    ("HMMA", Unit::Alu, 16),
    ("IMMA", Unit::Alu, 16),
    ("S2R", Unit::Mem, 12),
    ("S2UR", Unit::Mem, 12),
    ("SHFL", Unit::Mem, 12),
    ("LDC", Unit::Mem, 1),
    ("ULDC", Unit::Mem, 1),
    ("IMAD", Unit::Alu, 4),
    ("UIMAD", Unit::Alu, 4),
    ("IADD", Unit::Alu, 4),
    ("UIADD", Unit::Alu, 4),
    ("VIADD", Unit::Alu, 4),
    ("ISETP", Unit::Alu, 4),
    ("LEA", Unit::Alu, 4),
    ("LOP3", Unit::Alu, 4),
    ("PLOP3", Unit::Alu, 4),
    ("ULOP3", Unit::Alu, 4),
    ("SHF", Unit::Alu, 4),
    ("USHF", Unit::Alu, 4),
    ("MOV", Unit::Alu, 4),
    ("UMOV", Unit::Alu, 4),
    ("SEL", Unit::Alu, 4),
    ("PRMT", Unit::Alu, 4),
    ("IABS", Unit::Alu, 4),
    ("IMNMX", Unit::Alu, 4),
    ("FADD", Unit::Alu, 4),
    ("FMUL", Unit::Alu, 4),
    ("FFMA", Unit::Alu, 4),
    ("FSETP", Unit::Alu, 4),
    ("FMNMX", Unit::Alu, 4),
    ("FSEL", Unit::Alu, 4),
    ("HFMA2", Unit::Alu, 4),
    ("HADD2", Unit::Alu, 4),
    ("HMUL2", Unit::Alu, 4),
    ("NOP", Unit::Alu, 1),
    ("EXIT", Unit::Alu, 1),
    ("WARPSYNC", Unit::Alu, 1),
    ("BSSY", Unit::Alu, 1),
];

/// Opcodes after which the next instruction is not known at once.
const BRANCHES: &[&str] = &["BRA", "BRX", "JMP", "JMX", "CALL", "RET", "BSYNC", "BREAK"];

/// A wave under construction.
pub(super) struct Wave<'a> {
    pub(super) ops: Vec<TraceOp>,
    /// Token that each register's last value has.
    of: BTreeMap<u32, Token>,
    /// Tokens that may be missing.
    pending: Vec<Token>,
    space: Space,
    unknown: &'a mut BTreeMap<String, u64>,
}

/// Where a warp's own memory lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space {
    /// Threads of the grid, whole warps.
    pub threads: u64,
    /// Number of the warp's first thread.
    pub first_thread: u64,
    /// First address of shared memory.
    pub shared: u64,
    /// First address of local memory.
    pub local: u64,
}

fn amo(parts: &[&str]) -> AmoKind {
    let kinds = [
        ("ADD", AmoKind::Add),
        ("INC", AmoKind::Inc),
        ("DEC", AmoKind::Dec),
        ("AND", AmoKind::And),
        ("OR", AmoKind::Or),
        ("XOR", AmoKind::Xor),
        ("MIN", AmoKind::Min),
        ("MAX", AmoKind::Max),
        ("EXCH", AmoKind::Exch),
        ("CAS", AmoKind::Cas),
    ];
    let named = |part: &&str| kinds.iter().find(|(name, _)| *name == *part).map(|(_, kind)| *kind);
    parts.iter().find_map(named).unwrap_or(AmoKind::Add)
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

impl<'a> Wave<'a> {
    /// A warp that has done nothing.
    pub(super) fn new(space: Space, unknown: &'a mut BTreeMap<String, u64>) -> Wave<'a> {
        Wave { ops: Vec::new(), of: BTreeMap::new(), pending: Vec::new(), space, unknown }
    }

    /// Waits, by a compute operation, for what these registers need.
    fn wait(&mut self, registers: &[u32], more: &[Token]) {
        let mut needs: Vec<Token> = registers.iter().filter_map(|r| self.of.get(r).copied()).collect();
        needs.extend(more);
        needs.retain(|token| self.pending.contains(token));
        needs.sort_unstable();
        needs.dedup();
        if !needs.is_empty() {
            self.pending.retain(|token| !needs.contains(token));
            self.ops.push(TraceOp::Compute { unit: Unit::Mem, latency: 1, token: None, needs });
        }
    }

    /// The token of a result in these registers; an older value under the same name is waited for.
    fn result(&mut self, dests: &[u32], width: u64) -> Token {
        let first = dests.first().copied().unwrap_or(255);
        self.wait(&[], &[first]);
        for register in first..first + (width.div_ceil(4).max(1) as u32) {
            self.of.insert(register, first);
        }
        self.of.extend(dests.iter().map(|register| (*register, first)));
        self.pending.push(first);
        first
    }

    /// Parts of at most 8 bytes per lane of an access.
    fn accesses(
        &self,
        line: &Line,
        parts: &[&str],
        shift: impl Fn(usize, u64) -> u64,
    ) -> Result<Vec<TraceAccess>, String> {
        let atomic = parts[0].starts_with("ATOM") || parts[0] == "RED";
        let class = if atomic || parts.contains(&"STRONG") { Class::N } else { Class::D };
        let size = match line.width {
            n @ (1 | 2 | 4 | 8) => n,
            16 => 8,
            n => return Err(format!("{n} bytes per lane; 1, 2, 4, 8 or 16 are expected")),
        };
        let part = |n: u64| {
            let addrs: Vec<u64> =
                line.addrs.iter().enumerate().map(|(k, at)| shift(k, *at) + n * size).collect();
            match addrs.iter().find(|at| **at % size != 0) {
                Some(at) => Err(format!("address {at:#x} is no multiple of {size} bytes")),
                None => {
                    let access = TraceAccess::data(size as u8, of_active(&addrs, line.mask), line.mask);
                    Ok(TraceAccess {
                        class,
                        scope: if class == Class::D { Scope::Sys } else { scope(parts) },
                        ..access
                    })
                }
            }
        };
        (0..line.width / size).map(part).collect()
    }

    fn load(&mut self, line: &Line, accesses: Vec<TraceAccess>, lds: bool) {
        for (n, access) in accesses.into_iter().enumerate() {
            let part: Vec<u32> = line.dests.iter().map(|r| r + 2 * n as u32).collect();
            let token = self.result(&part, u64::from(access.size));
            self.ops.push(if lds {
                TraceOp::LdsLoad { token, access }
            } else {
                TraceOp::Load { token, access }
            });
        }
    }

    fn store(&mut self, accesses: Vec<TraceAccess>, lds: bool) {
        let value = TraceValue::Unique;
        let op =
            |access| if lds { TraceOp::LdsStore { access, value } } else { TraceOp::Store { access, value } };
        self.ops.extend(accesses.into_iter().map(op));
    }

    /// Translates an instruction.
    pub(super) fn instruction(&mut self, line: &Line) -> Result<(), String> {
        let parts: Vec<&str> = line.opcode.split('.').collect();
        let name = parts[0];
        let memory = line.width > 0;
        if memory && line.mask == 0 {
            return Ok(());
        }
        let global = |_: usize, at: u64| at;
        let Space { threads, first_thread: first, shared, local } = self.space;
        let lanes: Vec<u64> = (0..64).filter(|lane| line.mask >> lane & 1 == 1).collect();
        let of_block = |_: usize, at: u64| at.checked_sub(shared).unwrap_or(at);
        let of_thread = |k: usize, at: u64| {
            let offset = at.checked_sub(local).unwrap_or(at);
            LOCAL + (offset / 4 * threads + first + lanes[k]) * 4 + offset % 4
        };
        if memory {
            self.wait(&line.sources, &[]);
        }
        match name {
            "LDG" | "LD" if memory => {
                let accesses = self.accesses(line, &parts, global)?;
                self.load(line, accesses, false);
            }
            "STG" | "ST" if memory => {
                let accesses = self.accesses(line, &parts, global)?;
                self.store(accesses, false);
            }
            "LDL" | "STL" if memory => {
                // A wide word of a thread is several words apart.
                let narrow = Line {
                    width: line.width.min(4),
                    addrs: line.addrs.clone(),
                    dests: line.dests.clone(),
                    sources: vec![],
                    ..*line
                };
                for word in 0..line.width.div_ceil(4) {
                    let accesses = self.accesses(&narrow, &parts, |k, at| of_thread(k, at + 4 * word))?;
                    if name == "LDL" {
                        self.load(&narrow, accesses, false)
                    } else {
                        self.store(accesses, false)
                    }
                }
            }
            "LDS" | "STS" | "ATOMS" if memory => {
                let accesses = self.accesses(line, &parts, of_block)?;
                if name != "STS" {
                    self.load(line, accesses.clone(), true);
                }
                if name != "LDS" {
                    self.store(accesses, true);
                }
            }
            "LDGSTS" if memory => {
                let accesses = self.accesses(line, &parts, global)?;
                self.load(line, accesses, false);
            }
            "ATOM" | "ATOMG" | "RED" if memory => {
                for access in self.accesses(line, &parts, global)? {
                    let token = self.result(&line.dests, u64::from(access.size));
                    let (kind, value) = (amo(&parts[1..]), TraceValue::Unique);
                    self.ops.push(TraceOp::Amo { token, access, kind, value, compare: 0 });
                }
            }
            "MEMBAR" | "FENCE" => {
                self.ops.push(TraceOp::Fence { sem: Sem::AcquireRelease, scope: scope(&parts) })
            }
            "CCTL" if parts.contains(&"IVALL") => {
                self.ops.push(TraceOp::Fence { sem: Sem::Acquire, scope: Scope::Sys });
            }
            "BAR" => self.ops.push(TraceOp::Barrier),
            _ if BRANCHES.contains(&name) => self.ops.push(TraceOp::Await { tokens: Vec::new() }),
            _ => self.compute(line, name),
        }
        Ok(())
    }

    fn compute(&mut self, line: &Line, name: &str) {
        let known = LATENCIES
            .iter()
            .filter(|(prefix, ..)| name.starts_with(prefix))
            .max_by_key(|(prefix, ..)| prefix.len());
        let (unit, latency) = known.map_or((Unit::Alu, 4), |(_, unit, latency)| (*unit, *latency));
        if known.is_none() {
            *self.unknown.entry(name.into()).or_default() += 1;
        }
        let token = if line.dests.is_empty() { None } else { Some(line.dests[0]) };
        let mut needs: Vec<Token> = line.sources.iter().filter_map(|r| self.of.get(r).copied()).collect();
        // A result that nobody has waited for must not be overtaken by a new one of its name.
        needs.extend(token.filter(|token| self.pending.contains(token)));
        needs.retain(|need| self.pending.contains(need));
        needs.sort_unstable();
        needs.dedup();
        self.pending.retain(|token| !needs.contains(token));
        if let Some(token) = token {
            self.of.extend(line.dests.iter().map(|register| (*register, token)));
            self.pending.push(token);
        }
        self.ops.push(TraceOp::Compute { unit, latency, token, needs });
    }
}
