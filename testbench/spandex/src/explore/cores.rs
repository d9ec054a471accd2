//! Cores that ask and memory that answers: their operations, and the log of what they have done.

use super::{Config, Kind, stash};
use std::fmt;
use std::rc::Rc;
use weft_blocks::msg::{AmoOp, CuOp};
use weft_explore::form::Form;
use weft_rtl::value::HwEnum;

/// What a Flex L1 is told to ask for (spandex.md section 8): 0 is its own choice, else a request in bits 2..0, for the whole line in bit 3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Hint(pub u8);

impl Hint {
    /// Requests by their words.
    pub const WORDS: &'static [(u8, &'static str)] =
        &[(1, "ReqV"), (2, "ReqS"), (3, "ReqO"), (4, "ReqO+data"), (5, "ReqWT"), (6, "ReqWT+fwd")];

    /// ReqS.
    pub const REQ_S: Hint = Hint(2);
    /// ReqO+data.
    pub const REQ_O_DATA: Hint = Hint(4);
    /// ReqWT that is done at the owner of the words.
    pub const REQ_WT_FWD: Hint = Hint(6);

    /// The request, without what it is for.
    pub fn request(self) -> Hint {
        Hint(self.0 & 7)
    }
    /// It is for the whole line.
    pub fn is_line(self) -> bool {
        self.0 & 8 != 0
    }
    /// What is written goes through.
    pub fn writes_through(self) -> bool {
        matches!(self.0 & 7, 5 | 6)
    }

    /// Reads a request, for the whole line if `line` stands behind it.
    fn of(words: &[&str]) -> Option<Hint> {
        let code = |word: &str| Hint::WORDS.iter().find(|known| known.1 == word).map(|known| known.0);
        match words {
            [] => Some(Hint(0)),
            [request] => code(request).map(Hint),
            [request, "line"] => code(request).map(|code| Hint(code | 8)),
            _ => None,
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((_, word)) = Hint::WORDS.iter().find(|known| known.0 == self.0 & 7) {
            write!(f, " {word}")?;
        }
        if self.is_line() { write!(f, " line") } else { Ok(()) }
    }
}

/// An operation of a core: the line by its place in [`Config::lines`], its words by a mask.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Plain load.
    Load(u8, u8, Hint),
    /// Plain store, acknowledged when it is performed.
    Store(u8, u8, Hint),
    /// Exchange of one word that orders nothing.
    Swap(u8, u8, Hint),
    /// Exchange of one word, release before and acquire after.
    Sync(u8, u8, Hint),
    /// Exchange of one word, of CU scope: its word is one that no other device writes.
    Here(u8, u8),
    /// Acquire without an access.
    Acquire,
    /// A stash maps the line to one of its two places; an access to a line goes to any place that holds it.
    Map(u8, u8),
}

impl Op {
    /// The line, by its place.
    pub fn line(self) -> usize {
        match self {
            Op::Load(line, ..)
            | Op::Store(line, ..)
            | Op::Swap(line, ..)
            | Op::Sync(line, ..)
            | Op::Here(line, ..)
            | Op::Map(line, _) => line.into(),
            Op::Acquire => 0,
        }
    }
    /// Words that it reads or writes.
    pub fn words(self) -> u8 {
        match self {
            Op::Load(_, words, _)
            | Op::Store(_, words, _)
            | Op::Swap(_, words, _)
            | Op::Sync(_, words, _)
            | Op::Here(_, words) => words,
            Op::Acquire | Op::Map(..) => 0,
        }
    }
    /// What a Flex L1 is told.
    pub fn hint(self) -> Hint {
        match self {
            Op::Load(.., hint) | Op::Store(.., hint) | Op::Swap(.., hint) | Op::Sync(.., hint) => hint,
            Op::Here(..) | Op::Acquire | Op::Map(..) => Hint::default(),
        }
    }
    /// It reads a word and writes it.
    pub fn updates(self) -> bool {
        matches!(self, Op::Swap(..) | Op::Sync(..) | Op::Here(..))
    }
    /// It writes.
    pub fn writes(self) -> bool {
        self.updates() || matches!(self, Op::Store(..))
    }
    /// It reads.
    pub fn reads(self) -> bool {
        self.updates() || matches!(self, Op::Load(..))
    }
}

impl std::str::FromStr for Op {
    type Err = String;

    /// `LD X`, `ST X` (both words), `LD X.0`, `ST X.1`, `AT X.0`, `SYNC X.1`, `HERE X.0`, `ACQ`, `MAP X 0`; X, Y, Z are the lines. A request of [`Hint::WORDS`] may follow, and then `line`: `LD X.0 ReqS line`.
    fn from_str(text: &str) -> Result<Op, String> {
        let wrong = || {
            format!(
                "'{text}' is no operation; legal: LD X, ST X (both words), LD X.0, ST X.0, AT X.0, SYNC X.0, HERE X.0, ACQ, MAP X 0 (of a stash, or 1), with X, Y, Z for the lines and 0, 1 for the words; behind it, for a Flex device, ReqV, ReqS, ReqO, ReqO+data, ReqWT or ReqWT+fwd, and then line"
            )
        };
        let parts: Vec<&str> = text.split_whitespace().collect();
        if parts == ["ACQ"] {
            return Ok(Op::Acquire);
        }
        let [name, rest, hint @ ..] = &parts[..] else { return Err(wrong()) };
        let line_of = |word: &str| ["X", "Y", "Z"].iter().position(|known| *known == word);
        if let ("MAP", Some(line), [place @ ("0" | "1")]) = (*name, line_of(rest), hint) {
            return Ok(Op::Map(line as u8, u8::from(*place == "1")));
        }
        let hint = Hint::of(hint).ok_or_else(wrong)?;
        let (line, word) = rest.split_once('.').map_or((*rest, None), |(line, word)| (line, Some(word)));
        let line = line_of(line).ok_or_else(wrong)? as u8;
        let words = match word {
            None => 3,
            Some("0") => 1,
            Some("1") => 2,
            Some(_) => return Err(wrong()),
        };
        match *name {
            "LD" => Ok(Op::Load(line, words, hint)),
            "ST" => Ok(Op::Store(line, words, hint)),
            "AT" if words != 3 => Ok(Op::Swap(line, words, hint)),
            "SYNC" if words != 3 => Ok(Op::Sync(line, words, hint)),
            "HERE" if words != 3 && hint == Hint::default() => Ok(Op::Here(line, words)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Op::Load(..) => "LD",
            Op::Store(..) => "ST",
            Op::Swap(..) => "AT",
            Op::Sync(..) => "SYNC",
            Op::Here(..) => "HERE",
            Op::Acquire => return write!(f, "ACQ"),
            Op::Map(line, place) => return write!(f, "MAP {} {place}", char::from(b'X' + line)),
        };
        let word = ["", ".0", ".1", ""][usize::from(self.words() & 3)];
        write!(f, "{name} {}{word}{}", char::from(b'X' + self.line() as u8), self.hint())
    }
}

/// An operation that was issued.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Issued {
    /// What.
    pub op: Op,
    /// Number on the port: the lowest that was free.
    pub slot: u8,
    /// Of an access to a stash, its place there.
    pub place: u8,
    /// Operations that had been answered by then ([`place`]).
    pub before: u32,
    /// Of a load of a stash, which is answered word by word: words that have come, and what they are.
    pub part: (u8, [u8; 2]),
    /// What it got, word by word; none while it is not answered.
    pub got: Option<[u8; 2]>,
}

/// The bit of an operation in [`Issued::before`].
pub fn place(device: usize, seq: usize) -> u32 {
    1 << (8 * device + seq)
}

/// What the world remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Memory {
    /// Operations of the prelude that were issued.
    pub prepared: usize,
    /// Per device what it has issued since.
    pub cores: Vec<Vec<Issued>>,
    /// Of the operation of the prelude that is open: its device.
    pub preparing: Option<usize>,
    /// Per line its words in memory.
    pub lines: Vec<[u8; 2]>,
    /// Per device, of a stash, the lines that its places hold.
    pub maps: Vec<[Option<u8>; stash::PLACES]>,
}

impl Memory {
    /// Everything issued is answered.
    pub fn quiet(&self) -> bool {
        self.preparing.is_none() && self.cores.iter().flatten().all(|issued| issued.got.is_some())
    }
}

/// System scope.
const SYSTEM: u64 = 2;

/// What a word holds that nobody has written: no device's number.
pub const INITIAL: u8 = 0x80;

/// The value that an operation writes: unique in a run.
pub fn value(device: usize, seq: usize) -> u8 {
    ((device as u8 + 1) << 4) | (seq as u8 + 1)
}

/// The world of a system: port d is core d's requests, n + d its answers, 2n the requests to memory.
pub struct Cores {
    pub(super) config: Config,
    request: Rc<Form>,
    pub(super) stash: Rc<Form>,
    memory: Rc<Form>,
    /// The link into the bank's `mem_rsp`.
    link: usize,
}

impl Cores {
    /// The world of a configuration.
    pub fn new(config: &Config, request: &Rc<Form>, memory: &Rc<Form>, link: usize) -> Cores {
        let stash = stash::form(config);
        Cores { config: config.clone(), request: request.clone(), stash, memory: memory.clone(), link }
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn devices(&self) -> usize {
        self.config.devices.len()
    }

    pub(super) fn message(&self, op: Op, slot: u8, value: u8) -> Vec<u64> {
        let kind = match op {
            Op::Load(..) => CuOp::Ld,
            Op::Store(..) => CuOp::St,
            Op::Swap(..) | Op::Sync(..) | Op::Here(..) => CuOp::Amo,
            Op::Acquire => CuOp::Acq,
            Op::Map(..) => unreachable!("only a stash maps"),
        };
        let sync = matches!(op, Op::Sync(..));
        let wide = self.config.scopes && !matches!(op, Op::Here(..));
        let each =
            |bits: u64| (0..2).filter(|w| op.words() >> w & 1 == 1).map(|w| bits << (w * 4)).sum::<u64>();
        let data = (0..2).filter(|w| op.words() >> w & 1 == 1).map(|w| u64::from(value) << (w * 32)).sum();
        let fields = [
            ("op", kind.encoding()),
            ("sync", sync.into()),
            ("sem", if sync { 3 } else { 0 }),
            ("scope", if wide { SYSTEM } else { 0 }),
            ("want_ack", u64::from(matches!(op, Op::Store(..)))),
            ("amo", if op.updates() { AmoOp::Exch.encoding() } else { 0 }),
            ("line", if op == Op::Acquire { 0 } else { self.config.lines[op.line()] }),
            ("mask", each(0xf)),
            ("data", if op.writes() { data } else { 0 }),
            ("id", slot.into()),
            ("hint", op.hint().0.into()),
        ];
        self.request.message(&fields)
    }

    /// What a core may issue now.
    pub(super) fn next_ops(&self, state: &Memory, device: usize) -> Vec<Op> {
        let (c, own) = (&self.config, &state.cores[device]);
        let open = || own.iter().filter(|issued| issued.got.is_none());
        let idle = own.last().is_none_or(|last| matches!(last.op, Op::Acquire));
        if own.len() == c.budget(device) || open().count() == c.open || open().any(|o| o.op == Op::Acquire) {
            return Vec::new();
        }
        // Of accesses of one wave to one word an atomic is alone: the CU waits.
        let apart = |op: Op| {
            open().all(|o| {
                let same = o.op.line() == op.line() && o.op.words() & op.words() != 0;
                let waves = c.waves && o.op.updates() && op.updates();
                !(same && !waves && (o.op.updates() || op.updates()))
            })
        };
        // An acquire at the beginning, at the end of a budget or after another orders nothing.
        let useful = |op: Op| op != Op::Acquire || !(idle || own.len() + 1 == c.budget(device));
        // A CU maps when all its accesses are done.
        let apart = |op: Op| apart(op) && !(matches!(op, Op::Map(..)) && open().next().is_some());
        let list = c.alphabet(device);
        let next = own.len() % list.len().max(1);
        let offered = if c.in_order { list.get(next..=next).unwrap_or(&[]) } else { list };
        offered.iter().copied().filter(|op| apart(*op) && useful(*op)).collect()
    }

    fn word(&self, raw: u64, known: impl Fn(u8) -> bool) -> Result<u8, String> {
        let value = raw as u8;
        if u64::from(value) == raw && (value == INITIAL || known(value)) {
            return Ok(value);
        }
        Err(format!("{raw:#x} is nobody's value"))
    }

    pub(super) fn answered(
        &self,
        state: &mut Memory,
        device: usize,
        form: &Form,
        m: &[u64],
    ) -> Result<(), String> {
        if state.preparing == Some(device) {
            state.preparing = None;
            return Ok(());
        }
        let slot = form.get(m, "id");
        let issued_by = |value: u8| {
            let (dev, seq) = ((value >> 4) as usize, (value & 15) as usize);
            let own = state.cores.get(dev.wrapping_sub(1)).and_then(|core| core.get(seq.wrapping_sub(1)));
            own.is_some_and(|issued| issued.op.writes()) || value & 15 == 15
        };
        let at = state.cores[device].iter().position(|o| o.got.is_none() && u64::from(o.slot) == slot);
        let Some(at) = at else {
            return Err(format!("operation {slot} of device {device} is answered, but not open"));
        };
        let op = state.cores[device][at].op;
        let (mut came, mut got) = state.cores[device][at].part;
        let answered = match self.config.devices[device] {
            Kind::Stash if op.reads() => form.get(m, "mask") as u8,
            _ => op.words(),
        };
        if answered & (came | !op.words()) != 0 {
            return Err(format!(
                "operation {slot} of device {device} is answered with words that it does not lack"
            ));
        }
        let data = form.get(m, "data");
        for word in (0..2).filter(|w| op.reads() && answered >> w & 1 == 1) {
            got[word] = self.word(data >> (32 * word) & 0xffff_ffff, issued_by)?;
        }
        came |= answered;
        let own = &mut state.cores[device][at];
        (own.part, own.got) = if came == op.words() { ((0, [0; 2]), Some(got)) } else { ((came, got), None) };
        Ok(())
    }

    pub(super) fn perform(
        &self,
        state: &mut Memory,
        form: &Form,
        m: &[u64],
    ) -> Result<Vec<(usize, Vec<u64>)>, String> {
        let line = form.get(m, "line");
        let at = self.config.lines.iter().position(|own| *own == line);
        let at = at.ok_or_else(|| format!("memory is asked for line {line:#x}"))?;
        if form.get(m, "write") == 1 {
            let data = form.get(m, "data");
            for word in 0..2 {
                state.lines[at][word] = self.word(data >> (32 * word) & 0xffff_ffff, |_| true)?;
            }
            return Ok(Vec::new());
        }
        let [low, high] = state.lines[at].map(u64::from);
        let fields = [("tbe", form.get(m, "tbe")), ("data", low | high << 32)];
        Ok(vec![(self.link, self.memory.message(&fields))])
    }

    /// What the cores did in a state, a line per operation.
    pub fn story(&self, state: &Memory) -> Vec<String> {
        let mut out = Vec::new();
        for (device, own) in state.cores.iter().enumerate() {
            for (seq, issued) in own.iter().enumerate() {
                let op = issued.op;
                let wrote = if op.writes() { format!(" := {:x}", value(device, seq)) } else { String::new() };
                let got = match issued.got {
                    None => "  open".to_string(),
                    Some([low, high]) if op.reads() => format!("  got {low:x} {high:x}"),
                    Some(_) => "  done".to_string(),
                };
                let kind = self.config.devices[device];
                out.push(format!("{kind:?} {device}, operation {seq}: {op}{wrote}{got}"));
            }
        }
        out
    }

    /// The device's reads are never older than what was complete when they were issued.
    pub fn fresh(&self, device: usize) -> bool {
        self.config.devices[device] == Kind::Mesi
    }
}
