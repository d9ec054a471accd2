//! CUs that ask, DRAM that answers, and the log that the checker of logical time judges.

use super::Config;
use crate::checker::{Access, Kind, LogicalTime, Promise};
use crate::golden::msg::{Atomic, Data};
use crate::golden::time::Time;
use std::fmt;
use std::rc::Rc;
use weft_blocks::msg::{AmoOp, CuOp};
use weft_explore::form::Form;
use weft_explore::net::World;
use weft_mgcc::choice::Consistency;
use weft_rtl::value::HwEnum;

/// An operation of a CU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// LD.
    Load(u8),
    /// LD that goes to memory (RC).
    LoadSync(u8),
    /// ST of word 0 or 1 (of 4 bytes) of a line.
    Store(u8, u8),
    /// ST of all bytes of a line.
    StoreLine(u8),
    /// Atomic exchange of word 0.
    Exchange(u8),
    /// FENCE.
    Fence,
}

impl Op {
    /// The line, by its place in [`Config::lines`]; 0 for a fence.
    pub fn line(self) -> usize {
        match self {
            Op::Load(line) | Op::LoadSync(line) | Op::Exchange(line) => line.into(),
            Op::Store(line, _) | Op::StoreLine(line) => line.into(),
            Op::Fence => 0,
        }
    }
    /// Bytes that it reads or writes.
    fn mask(self) -> u64 {
        match self {
            Op::Load(_) | Op::LoadSync(_) => 0xff,
            Op::Store(_, word) => 0xf << (4 * word),
            Op::StoreLine(_) => u64::MAX,
            Op::Exchange(_) => 0xf,
            Op::Fence => 0,
        }
    }
    fn stores(self) -> bool {
        matches!(self, Op::Store(..) | Op::StoreLine(_))
    }
}

impl std::str::FromStr for Op {
    type Err = String;

    /// `LD X`, `LD_SYNC X`, `ST X.0`, `ST X.1`, `ST X` (all bytes), `AMO X`, `FENCE`; X, Y, Z, A, B.. are the lines in order.
    fn from_str(text: &str) -> Result<Op, String> {
        let wrong = || {
            format!(
                "'{text}' is no operation; legal: LD X, LD_SYNC X, ST X (all bytes), ST X.0, ST X.1, AMO X, FENCE, with X, Y, Z, A.. for the lines"
            )
        };
        let (name, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let (line, word) = rest.split_once('.').map_or((rest, None), |(line, word)| (line, Some(word)));
        let place = match line.bytes().next() {
            Some(letter @ b'X'..=b'Z') if line.len() == 1 => letter - b'X',
            Some(letter @ b'A'..=b'M') if line.len() == 1 => letter - b'A' + 3,
            None if name == "FENCE" => return Ok(Op::Fence),
            _ => return Err(wrong()),
        };
        match (name, word) {
            ("LD", None) => Ok(Op::Load(place)),
            ("LD_SYNC", None) => Ok(Op::LoadSync(place)),
            ("ST", None) => Ok(Op::StoreLine(place)),
            ("ST", Some("0")) => Ok(Op::Store(place, 0)),
            ("ST", Some("1")) => Ok(Op::Store(place, 1)),
            ("AMO", None) => Ok(Op::Exchange(place)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |line: &u8| if *line < 3 { char::from(b'X' + line) } else { char::from(b'A' + line - 3) };
        match self {
            Op::Load(line) => write!(f, "LD {}", name(line)),
            Op::LoadSync(line) => write!(f, "LD_SYNC {}", name(line)),
            Op::Store(line, word) => write!(f, "ST {}.{word}", name(line)),
            Op::StoreLine(line) => write!(f, "ST {}", name(line)),
            Op::Exchange(line) => write!(f, "AMO {}", name(line)),
            Op::Fence => write!(f, "FENCE"),
        }
    }
}

/// An operation that was issued.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Issued {
    /// What.
    pub op: Op,
    /// When it bound, and the low 8 bytes of what it got; none while it is not answered.
    pub answer: Option<(Time, u64)>,
}

/// What the world remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Memory {
    /// Per CU what it has issued.
    pub waves: Vec<Vec<Issued>>,
    /// Per line the low 8 bytes in DRAM; all others follow from them.
    pub lines: Vec<u64>,
}

/// The world of a net ([`super::build`]): ports 0.. are requests of the CUs, then the CUs' answers, then DRAM requests of the lanes.
pub struct Cus {
    config: Config,
    request: Rc<Form>,
    dram: Rc<Form>,
    /// Per lane the link of DRAM's answers.
    dram_links: Vec<usize>,
}

impl Cus {
    /// The world of a configuration; `dram_links` are the links into the lanes' `dram_rsp`.
    pub fn new(config: &Config, request: &Rc<Form>, dram: &Rc<Form>, dram_links: Vec<usize>) -> Cus {
        Cus { config: config.clone(), request: request.clone(), dram: dram.clone(), dram_links }
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Gives the CUs other programs.
    pub fn set_programs(&mut self, programs: Vec<Vec<Op>>) {
        self.config.programs = programs;
    }

    fn cus(&self) -> usize {
        self.config.cus_in_all()
    }

    /// The value that an operation of a CU writes: unique in a run.
    fn value(cu: usize, seq: usize) -> u64 {
        (cu as u64 + 1) << 8 | (seq as u64 + 1)
    }

    /// The low 8 bytes that a store or atomic brings, in place.
    fn low(op: Op, cu: usize, seq: usize) -> u64 {
        let value = Cus::value(cu, seq);
        match op {
            Op::Store(_, word) => value << (32 * word),
            Op::StoreLine(_) => value | value << 32,
            Op::Exchange(_) => value,
            _ => 0,
        }
    }

    fn atomic(cu: usize, seq: usize) -> Atomic {
        let operand = Cus::value(cu, seq);
        Atomic { op: AmoOp::Exch, signed: false, word: 0, wide: false, operand, compare: 0 }
    }

    fn message(&self, op: Op, cu: usize, seq: usize) -> Vec<u64> {
        let kind = match op {
            Op::Load(_) | Op::LoadSync(_) => CuOp::Ld,
            Op::Store(..) | Op::StoreLine(_) => CuOp::St,
            Op::Exchange(_) => CuOp::Amo,
            Op::Fence => CuOp::Acq,
        };
        let line = if op == Op::Fence { 0 } else { self.config.lines[op.line()] };
        let fields = [
            ("op", kind.encoding()),
            ("sync", u64::from(matches!(op, Op::LoadSync(_)))),
            ("want_ack", u64::from(op.stores())),
            ("line", line),
            ("mask", op.mask()),
            ("data", Cus::low(op, cu, seq)),
            ("id", seq as u64),
            ("amo", if matches!(op, Op::Exchange(_)) { AmoOp::Exch.encoding() } else { 0 }),
        ];
        self.request.message(&fields)
    }

    /// The next operations that a CU may issue.
    fn next_ops(&self, wave: &[Issued], cu: usize) -> Vec<Op> {
        let c = &self.config;
        let open = wave.iter().filter(|issued| issued.answer.is_none()).count();
        let fenced = wave.last().is_some_and(|last| last.op == Op::Fence);
        let (sc, seq) = (c.consistency == Consistency::Sc, wave.len());
        if open > 0 && (sc || fenced || open >= c.open) {
            return Vec::new();
        }
        let all: Vec<Op> = match c.programs.get(cu) {
            Some(program) => program.get(seq).copied().into_iter().collect(),
            None if seq < c.budget(cu) => c.alphabet.clone(),
            None => Vec::new(),
        };
        // A fence at the beginning, after another or at the end of a budget orders nothing.
        let idle = c.programs.is_empty() && (wave.is_empty() || fenced || seq + 1 == c.budget(cu));
        all.into_iter().filter(|op| *op != Op::Fence || (open == 0 && !idle)).collect()
    }

    fn perform(&self, state: &mut Memory, lane: usize, form: &Form, m: &[u64]) -> (usize, Vec<u64>) {
        let line = form.get(m, "line");
        let at = self.config.lines.iter().position(|own| *own == line);
        let cell = at.map(|at| &mut state.lines[at]);
        let mut nothing = 0;
        let cell = cell.unwrap_or(&mut nothing);
        let (mask, data) = (form.get(m, "mask"), form.get(m, "data"));
        let mut old = 0;
        match form.get(m, "op") {
            1 => {
                for byte in (0..8).filter(|byte| mask >> byte & 1 == 1) {
                    let bits = 0xff << (8 * byte);
                    *cell = *cell & !bits | data & bits;
                }
            }
            2 => {
                old = *cell & 0xffff_ffff;
                *cell = *cell & !0xffff_ffff | data & 0xffff_ffff;
            }
            _ => {}
        }
        let answer = [("id", form.get(m, "id")), ("data", *cell), ("old", old)];
        (self.dram_links[lane], self.dram.message(&answer))
    }

    fn answered(&self, state: &mut Memory, cu: usize, form: &Form, m: &[u64]) -> Result<(), String> {
        let seq = form.get(m, "id") as usize;
        let time = Time::unpack(form.get(m, "cu_time"), self.config.ts);
        let Some(issued) = state.waves[cu].get_mut(seq).filter(|issued| issued.answer.is_none()) else {
            return Err(format!("operation {seq} of CU {cu} is answered, but not open"));
        };
        let data = form.get(m, "data");
        let got = match issued.op {
            Op::Load(_) | Op::LoadSync(_) => data,
            Op::Exchange(_) => data & 0xffff_ffff,
            _ => 0,
        };
        issued.answer = Some((time, got));
        Ok(())
    }

    /// The log of a state, if everything issued is answered.
    fn log(&self, state: &Memory) -> Option<LogicalTime> {
        let promise = if self.config.consistency == Consistency::Sc { Promise::Sc } else { Promise::Rc };
        let mut log = LogicalTime::new(promise);
        for (cu, wave) in state.waves.iter().enumerate() {
            for (seq, issued) in wave.iter().enumerate() {
                let (time, got) = issued.answer?;
                let op = issued.op;
                let low = |low: u64| Data::from_words([low, 0, 0, 0, 0, 0, 0, 0]);
                let kind = match op {
                    Op::Load(_) | Op::LoadSync(_) => Kind::Load(low(got)),
                    Op::Store(..) | Op::StoreLine(_) => Kind::Store(low(Cus::low(op, cu, seq))),
                    Op::Exchange(_) => Kind::Atomic(Cus::atomic(cu, seq), got),
                    Op::Fence => {
                        log.fence(cu as u32, seq as u32);
                        continue;
                    }
                };
                let line = self.config.lines[op.line()];
                let (wave, seq) = (cu as u32, seq as u32);
                log.access(Access { wave, seq, line, mask: op.mask(), time, kind });
            }
        }
        Some(log)
    }
}

/// The low 8 bytes of a line as values: `CU.operation` of the store that wrote a word, `-` for the initial value.
fn value_text(low: u64) -> String {
    let word = |value: u64| match value {
        0 => "-".to_string(),
        value => format!("{}.{}", (value >> 8) - 1, (value & 0xff) - 1),
    };
    format!("{} {}", word(low & 0xffff_ffff), word(low >> 32))
}

impl World for Cus {
    type State = Memory;

    fn start(&self) -> Memory {
        Memory { waves: vec![Vec::new(); self.cus()], lines: vec![0; self.config.lines.len()] }
    }

    fn offers(&self, state: &Memory, port: usize) -> Vec<(Vec<u64>, Memory)> {
        let seq = state.waves[port].len();
        let ops = self.next_ops(&state.waves[port], port).into_iter();
        ops.map(|op| {
            let mut after = state.clone();
            after.waves[port].push(Issued { op, answer: None });
            (self.message(op, port, seq), after)
        })
        .collect()
    }

    fn take(
        &self,
        state: &mut Memory,
        port: usize,
        form: &Form,
        message: &[u64],
    ) -> Result<Vec<(usize, Vec<u64>)>, String> {
        let cus = self.cus();
        if port < 2 * cus {
            self.answered(state, port - cus, form, message)?;
            return Ok(Vec::new());
        }
        Ok(vec![self.perform(state, port - 2 * cus, form, message)])
    }

    fn finished(&self, state: &Memory) -> bool {
        let c = &self.config;
        let done = |(cu, wave): (usize, &Vec<Issued>)| {
            // A last operation that can only be a fence is left out.
            let ended = wave.len() == c.budget(cu) || self.next_ops(wave, cu).is_empty();
            ended && wave.iter().all(|issued| issued.answer.is_some())
        };
        state.waves.iter().enumerate().all(done)
    }

    fn check(&self, state: &Memory) -> Result<(), String> {
        let Some(log) = self.log(state) else { return Ok(()) };
        match log.check(|_| Data::default()).first() {
            Some(fault) => Err(fault.to_string()),
            None => Ok(()),
        }
    }

    fn story(&self, state: &Memory) -> Vec<String> {
        let mut lines = Vec::new();
        for (cu, wave) in state.waves.iter().enumerate() {
            for (seq, Issued { op, answer }) in wave.iter().enumerate() {
                let result = match answer {
                    None => "open".to_string(),
                    Some((time, _)) if op.stores() || *op == Op::Fence => format!("at {time}"),
                    Some((time, got)) => format!("at {time}: {}", value_text(*got)),
                };
                let wrote = Cus::low(*op, cu, seq);
                let wrote = if wrote == 0 { String::new() } else { format!(" := {}", value_text(wrote)) };
                lines.push(format!("CU {cu}, operation {seq}: {op}{wrote}  {result}"));
            }
        }
        lines
    }

    fn text(&self, place: &str, form: &Form, message: &[u64]) -> String {
        let known = form.leaves.iter().any(|leaf| leaf.name == "line");
        let mut out = String::new();
        if place.ends_with("cu_req") {
            let seq = form.get(message, "id");
            out = format!("operation {seq}: ");
        }
        let skip = ["data", "old", "mask", "amo", "id"];
        let mut parts = Vec::new();
        for leaf in &form.leaves {
            let value = message[leaf.at];
            let text = match leaf.name.as_str() {
                "op" if place.ends_with("cu_req") => {
                    let names = ["LD", "ST", "AMO", "REL", "ACQ", "KBEGIN", "KEND"];
                    names.get(value as usize).copied().unwrap_or("?").to_string()
                }
                "op" => ["Rd", "Wr", "Amo", "EvictNote"][value as usize & 3].to_string(),
                "line" => format!("line {value:#x}"),
                "data" if value != 0 => format!("data [{}]", value_text(value)),
                name if value == 0 && !matches!(name, "wts" | "rts" | "tag" | "epoch" | "id") => continue,
                name if skip.contains(&name) && known => continue,
                "cu_time" => format!("at {}", Time::unpack(value, self.config.ts)),
                name if skip.contains(&name) && name != "id" => continue,
                name => format!("{name} {value}"),
            };
            parts.push(text);
        }
        out += &parts.join(", ");
        out
    }
}
