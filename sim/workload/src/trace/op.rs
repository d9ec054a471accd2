//! Operations of a trace, and how `.wtrb` holds them.
//!
//! | byte or number | what |
//! | --- | --- |
//! | opcode | kind in bits 3..0, address mode in bits 5..4 (0 none, 1 base and stride, 2 a difference per active lane), bit 6: a mask follows (else that of the last operation), bit 7: attributes follow (else the default) |
//! | mask | LEB128 |
//! | hint | only before attributes, when the access has one: a byte with 7, which is no class, in bits 2..0, and the hint in bits 6..3 |
//! | attributes | one byte: class 3, sem 2, scope 2, remote 1 |
//! | rest | of each kind: tokens, sizes and values as LEB128; addresses as zig-zag difference to the wave's last base |

use crate::op::{Addrs, AmoKind, Class, Hint, Hinted, LaneMask, Scope, Sem, Token, Unit};

/// Value of a store or an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceValue {
    /// A number.
    Const(u64),
    /// Lane values of a token.
    Token(Token),
    /// Different for every lane of every operation: a mix of kernel, block, wave, operation and lane.
    Unique,
}

/// A memory access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceAccess {
    /// Bytes per lane: 1, 2, 4 or 8.
    pub size: u8,
    /// Addresses.
    pub addrs: Addrs,
    /// Active lanes.
    pub mask: LaneMask,
    /// Class.
    pub class: Class,
    /// What a paired access orders.
    pub sem: Sem,
    /// How far it reaches.
    pub scope: Scope,
    /// Remote-scope promotion.
    pub remote: bool,
    /// Request that it asks for, where an L1 follows such hints; none of an access to the scratchpad.
    pub hint: Hint,
}

impl TraceAccess {
    /// A data access.
    pub fn data(size: u8, addrs: Addrs, mask: LaneMask) -> TraceAccess {
        TraceAccess {
            size,
            addrs,
            mask,
            class: Class::D,
            sem: Sem::Relaxed,
            scope: Scope::Sys,
            remote: false,
            hint: Hint::default(),
        }
    }
}

/// An operation of a trace (cu-and-consistency.md section 2).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TraceOp {
    Compute {
        unit: Unit,
        latency: u32,
        token: Option<Token>,
        needs: Vec<Token>,
    },
    Load {
        token: Token,
        access: TraceAccess,
    },
    Store {
        access: TraceAccess,
        value: TraceValue,
    },
    /// `compare` is that of a CAS.
    Amo {
        token: Token,
        access: TraceAccess,
        kind: AmoKind,
        value: TraceValue,
        compare: u64,
    },
    LdsLoad {
        token: Token,
        access: TraceAccess,
    },
    LdsStore {
        access: TraceAccess,
        value: TraceValue,
    },
    Fence {
        sem: Sem,
        scope: Scope,
    },
    Barrier,
    Await {
        tokens: Vec<Token>,
    },
    End,
}

impl TraceOp {
    /// The access that it makes, to global memory or to the scratchpad.
    pub fn access(&self) -> Option<&TraceAccess> {
        match self {
            TraceOp::Load { access, .. }
            | TraceOp::Store { access, .. }
            | TraceOp::Amo { access, .. }
            | TraceOp::LdsLoad { access, .. }
            | TraceOp::LdsStore { access, .. } => Some(access),
            _ => None,
        }
    }

    /// The same, to change it.
    pub fn access_mut(&mut self) -> Option<&mut TraceAccess> {
        match self {
            TraceOp::Load { access, .. }
            | TraceOp::Store { access, .. }
            | TraceOp::Amo { access, .. }
            | TraceOp::LdsLoad { access, .. }
            | TraceOp::LdsStore { access, .. } => Some(access),
            _ => None,
        }
    }

    /// The request that it asks for, if any, can serve it.
    ///
    /// # Errors
    /// It cannot; what the operation is, in a sentence.
    pub fn hint_fits(&self) -> Result<(), &'static str> {
        let (access, on) = match self {
            TraceOp::Load { access, .. } => (access, Hinted::load(access.class)),
            TraceOp::Store { access, .. } => (access, Hinted::store(access.class)),
            TraceOp::Amo { access, .. } => (access, Hinted::Atomic),
            TraceOp::LdsLoad { access, .. } | TraceOp::LdsStore { access, .. } => {
                let none = access.hint == Hint::default();
                return if none { Ok(()) } else { Err("an access to the scratchpad") };
            }
            _ => return Ok(()),
        };
        if access.hint.fits(on) { Ok(()) } else { Err(on.name()) }
    }
}

const AMOS: [AmoKind; 12] = [
    AmoKind::Add,
    AmoKind::Sub,
    AmoKind::Inc,
    AmoKind::Dec,
    AmoKind::And,
    AmoKind::Or,
    AmoKind::Xor,
    AmoKind::Min,
    AmoKind::Max,
    AmoKind::Exch,
    AmoKind::Cas,
    AmoKind::Fadd32,
];
const UNITS: [Unit; 3] = [Unit::Alu, Unit::Sfu, Unit::Mem];
const CLASSES: [Class; 7] = [Class::D, Class::P, Class::U, Class::C, Class::N, Class::S, Class::Q];
const SEMS: [Sem; 4] = [Sem::Relaxed, Sem::Acquire, Sem::Release, Sem::AcquireRelease];
const SCOPES: [Scope; 3] = [Scope::Cu, Scope::Gpu, Scope::Sys];

/// Tokens of a wave are below this: whoever executes it keeps a table of them.
pub const MAX_TOKENS: u32 = 1 << 16;

/// A token by its number.
pub fn token(number: u64) -> Option<Token> {
    Token::try_from(number).ok().filter(|token| *token < MAX_TOKENS)
}

/// What an encoder or decoder remembers of a wave.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    base: u64,
    mask: u64,
}

impl Memory {
    /// As two numbers.
    pub fn save(self) -> [u64; 2] {
        [self.base, self.mask]
    }

    /// From two numbers.
    pub fn restore([base, mask]: [u64; 2]) -> Memory {
        Memory { base, mask }
    }
}

fn index_of<T: PartialEq>(of: &[T], what: &T) -> u64 {
    of.iter().position(|x| x == what).unwrap_or(0) as u64
}

/// Appends a number in LEB128.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn attributes(access: &TraceAccess) -> u8 {
    let (class, sem) = (index_of(&CLASSES, &access.class), index_of(&SEMS, &access.sem));
    let scope = index_of(&SCOPES, &access.scope);
    (class | sem << 3 | scope << 5 | u64::from(access.remote) << 7) as u8
}

const PLAIN: u8 = 2 << 5;
/// Where a class would be, that a hint is in the byte.
const HINT: u8 = 7;

struct Head {
    kind: u8,
    mode: u8,
    mask: Option<u64>,
    hint: Option<u8>,
    attributes: Option<u8>,
}

impl Head {
    fn put(&self, out: &mut Vec<u8>) {
        let flag = |set: bool, bit: u8| if set { 1 << bit } else { 0 };
        out.push(
            self.kind | self.mode << 4 | flag(self.mask.is_some(), 6) | flag(self.attributes.is_some(), 7),
        );
        if let Some(mask) = self.mask {
            put(out, mask);
        }
        out.extend(self.hint.map(|hint| HINT | hint << 3));
        out.extend(self.attributes);
    }
}

fn put_value(out: &mut Vec<u8>, value: TraceValue) {
    match value {
        TraceValue::Unique => put(out, 0),
        TraceValue::Token(token) => put(out, u64::from(token) << 2 | 1),
        TraceValue::Const(value) if value < 1 << 62 => put(out, value << 2 | 2),
        TraceValue::Const(value) => {
            put(out, 3);
            put(out, value);
        }
    }
}

fn put_list(out: &mut Vec<u8>, tokens: &[Token]) {
    put(out, tokens.len() as u64);
    tokens.iter().for_each(|token| put(out, u64::from(*token)));
}

fn lanes(mask: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |lane| mask >> lane & 1 == 1)
}

/// Head and addresses of an access.
fn put_access(out: &mut Vec<u8>, memory: &mut Memory, kind: u8, access: &TraceAccess) {
    let hint = Some(access.hint.bits()).filter(|hint| *hint != 0);
    let attributes = Some(attributes(access)).filter(|a| *a != PLAIN || hint.is_some());
    let mask = Some(access.mask).filter(|mask| *mask != memory.mask);
    let mode = if matches!(access.addrs, Addrs::Strided { .. }) { 1 } else { 2 };
    Head { kind, mode, mask, hint, attributes }.put(out);
    memory.mask = access.mask;
    out.push(access.size);
    match &access.addrs {
        Addrs::Strided { base, stride } => {
            put(out, zigzag(base.wrapping_sub(memory.base) as i64));
            put(out, zigzag(*stride));
            memory.base = *base;
        }
        Addrs::Lanes(_) => {
            let mut last = memory.base;
            for (n, lane) in lanes(access.mask).enumerate() {
                let at = access.addrs.at(lane);
                put(out, zigzag(at.wrapping_sub(last) as i64));
                last = at;
                if n == 0 {
                    memory.base = at;
                }
            }
        }
    }
}

/// Appends an operation.
pub fn encode(out: &mut Vec<u8>, memory: &mut Memory, op: &TraceOp) {
    let plain =
        |out: &mut Vec<u8>, kind| Head { kind, mode: 0, mask: None, hint: None, attributes: None }.put(out);
    match op {
        TraceOp::Compute { unit, latency, token, needs } => {
            plain(out, 0);
            put(out, index_of(&UNITS, unit));
            put(out, u64::from(*latency));
            put(out, token.map_or(0, |token| u64::from(token) + 1));
            put_list(out, needs);
        }
        TraceOp::Load { token, access } | TraceOp::LdsLoad { token, access } => {
            put_access(out, memory, if matches!(op, TraceOp::Load { .. }) { 1 } else { 4 }, access);
            put(out, u64::from(*token));
        }
        TraceOp::Store { access, value } | TraceOp::LdsStore { access, value } => {
            put_access(out, memory, if matches!(op, TraceOp::Store { .. }) { 2 } else { 5 }, access);
            put_value(out, *value);
        }
        TraceOp::Amo { token, access, kind, value, compare } => {
            put_access(out, memory, 3, access);
            put(out, u64::from(*token));
            put(out, index_of(&AMOS, kind));
            put_value(out, *value);
            put(out, *compare);
        }
        TraceOp::Fence { sem, scope } => {
            plain(out, 6);
            put(out, index_of(&SEMS, sem) | index_of(&SCOPES, scope) << 2);
        }
        TraceOp::Barrier => plain(out, 7),
        TraceOp::Await { tokens } => {
            plain(out, 8);
            put_list(out, tokens);
        }
        TraceOp::End => plain(out, 9),
    }
}

/// Reads numbers from bytes; `None` when they end too early or hold what no encoder writes.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    /// Bytes read.
    pub at: usize,
}

impl<'a> Reader<'a> {
    /// From the first byte.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// A number in LEB128.
    pub fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if part << shift >> shift != part {
                return None;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn token(&mut self) -> Option<Token> {
        token(self.number()?)
    }

    fn of<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        of.get(usize::try_from(self.number()?).ok()?).copied()
    }

    fn list(&mut self) -> Option<Vec<Token>> {
        let count = self.number()?;
        (0..count).map(|_| self.token()).collect()
    }

    fn value(&mut self) -> Option<TraceValue> {
        let number = self.number()?;
        Some(match number & 3 {
            0 if number == 0 => TraceValue::Unique,
            1 => TraceValue::Token(token(number >> 2)?),
            2 => TraceValue::Const(number >> 2),
            3 if number == 3 => TraceValue::Const(self.number()?),
            _ => return None,
        })
    }

    fn access(&mut self, memory: &mut Memory, mode: u8, hint: Hint, attributes: u8) -> Option<TraceAccess> {
        let size = self.byte().filter(|size| matches!(size, 1 | 2 | 4 | 8))?;
        let addrs = match mode {
            1 => {
                let base = memory.base.wrapping_add_signed(unzigzag(self.number()?));
                memory.base = base;
                Addrs::Strided { base, stride: unzigzag(self.number()?) }
            }
            2 => {
                let mut list = vec![0; 64 - memory.mask.leading_zeros() as usize];
                let mut last = memory.base;
                for (n, lane) in lanes(memory.mask).enumerate() {
                    last = last.wrapping_add_signed(unzigzag(self.number()?));
                    list[lane as usize] = last;
                    if n == 0 {
                        memory.base = last;
                    }
                }
                Addrs::Lanes(list)
            }
            _ => return None,
        };
        Some(TraceAccess {
            size,
            addrs,
            mask: memory.mask,
            class: *CLASSES.get(usize::from(attributes & 7))?,
            sem: SEMS[usize::from(attributes >> 3 & 3)],
            scope: *SCOPES.get(usize::from(attributes >> 5 & 3))?,
            remote: attributes >> 7 == 1,
            hint,
        })
    }

    /// The next operation.
    pub fn op(&mut self, memory: &mut Memory) -> Option<TraceOp> {
        let head = self.byte()?;
        let mode = head >> 4 & 3;
        if head >> 6 & 1 == 1 {
            memory.mask = self.number()?;
        }
        let mut attributes = if head >> 7 == 1 { self.byte()? } else { PLAIN };
        let mut hint = Hint::default();
        if attributes & 7 == HINT {
            hint = Hint::of(attributes >> 3)?;
            attributes = self.byte()?;
        }
        Some(match head & 15 {
            0 => {
                let (unit, latency) = (self.of(&UNITS)?, u32::try_from(self.number()?).ok()?);
                let token = match self.number()? {
                    0 => None,
                    number => Some(token(number - 1)?),
                };
                TraceOp::Compute { unit, latency, token, needs: self.list()? }
            }
            kind @ (1 | 4) => {
                let access = self.access(memory, mode, hint, attributes)?;
                let token = self.token()?;
                if kind == 1 { TraceOp::Load { token, access } } else { TraceOp::LdsLoad { token, access } }
            }
            kind @ (2 | 5) => {
                let access = self.access(memory, mode, hint, attributes)?;
                let value = self.value()?;
                if kind == 2 { TraceOp::Store { access, value } } else { TraceOp::LdsStore { access, value } }
            }
            3 => {
                let access = self.access(memory, mode, hint, attributes)?;
                let (token, kind) = (self.token()?, self.of(&AMOS)?);
                TraceOp::Amo { token, access, kind, value: self.value()?, compare: self.number()? }
            }
            6 => {
                let bits = self.number()?;
                let scope = *SCOPES.get(usize::try_from(bits >> 2).ok()?)?;
                TraceOp::Fence { sem: SEMS[(bits & 3) as usize], scope }
            }
            7 => TraceOp::Barrier,
            8 => TraceOp::Await { tokens: self.list()? },
            9 => TraceOp::End,
            _ => return None,
        })
    }
}
