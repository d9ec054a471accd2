//! CUs that ask, DRAM that answers, and the log that the checker of logical time judges.

use super::ops::{Asks, Op};
use crate::checker::{Access, Kind, LogicalTime};
use crate::golden::msg::{Atomic, Data};
use crate::golden::time::Time;
use std::rc::Rc;
use weft_blocks::msg::{AmoOp, CuOp};
use weft_explore::form::Form;
use weft_explore::net::World;
use weft_rtl::value::HwEnum;

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

/// Whose blocks a net is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// MGCC: the DRAM of a lane stands behind the last block (`DramReq`, `DramRsp`).
    Mgcc,
    /// G-TSC: a memory controller without timestamps (`UmcReq`, `UmcRsp`).
    Gtsc,
}

/// The world of a net ([`super::build`], [`super::gtsc::build`]): ports 0.. are requests of the CUs, then the CUs' answers, then requests to memory, which performs a request
/// when that is sent and answers in any order. Link i of the net leads from memory i.
pub struct Cus {
    asks: Asks,
    protocol: Protocol,
    request: Rc<Form>,
    answer: Rc<Form>,
}

/// Bits of the number of an operation in the id of its request; above them is the wave's, in its CU.
const SEQ_BITS: usize = 4;

impl Cus {
    /// A world in which CUs send requests of one form, and memory answers of another.
    pub fn new(asks: Asks, protocol: Protocol, request: &Rc<Form>, answer: &Rc<Form>) -> Cus {
        Cus { asks, protocol, request: request.clone(), answer: answer.clone() }
    }

    /// What the CUs may do.
    pub fn asks(&self) -> &Asks {
        &self.asks
    }

    /// Whose blocks they ask.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Gives the waves other programs.
    pub fn set_programs(&mut self, programs: Vec<Vec<Op>>) {
        self.asks.programs = programs;
    }

    /// The value that an operation of a wave writes: unique in a run.
    fn value(wave: usize, seq: usize) -> u64 {
        (wave as u64 + 1) << 8 | (seq as u64 + 1)
    }

    /// The low 8 bytes that a store or atomic brings, in place.
    fn low(op: Op, wave: usize, seq: usize) -> u64 {
        let value = Cus::value(wave, seq);
        match op {
            Op::Store(_, word) => value << (32 * word),
            Op::StoreLine(_) => value | value << 32,
            Op::Exchange(_) => value,
            _ => 0,
        }
    }

    fn atomic(wave: usize, seq: usize) -> Atomic {
        let operand = Cus::value(wave, seq);
        Atomic { op: AmoOp::Exch, signed: false, word: 0, wide: false, operand, compare: 0 }
    }

    fn message(&self, op: Op, wave: usize, seq: usize) -> Vec<u64> {
        let kind = match op {
            Op::Load(_) | Op::LoadSync(_) => CuOp::Ld,
            Op::Store(..) | Op::StoreLine(_) => CuOp::St,
            Op::Exchange(_) => CuOp::Amo,
            Op::Fence => CuOp::Acq,
        };
        let line = if op == Op::Fence { 0 } else { self.asks.lines[op.line()] };
        let fields = [
            ("op", kind.encoding()),
            ("sync", u64::from(matches!(op, Op::LoadSync(_)))),
            ("want_ack", u64::from(op.stores())),
            ("line", line),
            ("mask", op.mask()),
            ("data", Cus::low(op, wave, seq)),
            ("id", ((wave % self.asks.waves) << SEQ_BITS | seq) as u64),
            ("amo", if matches!(op, Op::Exchange(_)) { AmoOp::Exch.encoding() } else { 0 }),
        ];
        self.request.message(&fields)
    }

    /// The next operations that a wave may issue.
    fn next_ops(&self, own: &[Issued], wave: usize) -> Vec<Op> {
        let asks = &self.asks;
        let open = own.iter().filter(|issued| issued.answer.is_none()).count();
        let fenced = own.last().is_some_and(|last| last.op == Op::Fence);
        let seq = own.len();
        if open >= asks.open || (open > 0 && fenced) {
            return Vec::new();
        }
        // A fence at the beginning, after another or at the end of a budget orders nothing.
        let idle = asks.programs.is_empty() && (own.is_empty() || fenced || seq + 1 == asks.budget(wave));
        let may = |op: &Op| *op != Op::Fence || (open == 0 && !idle);
        asks.list(wave, seq).iter().copied().filter(may).collect()
    }

    fn perform(&self, state: &mut Memory, form: &Form, m: &[u64]) -> Vec<u64> {
        let line = form.get(m, "line");
        let at = self.asks.lines.iter().position(|own| *own == line);
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
        let results = [("data", *cell), ("old", old)];
        if self.protocol == Protocol::Mgcc {
            return self.answer.message(&[&results[..], &[("id", form.get(m, "id"))]].concat());
        }
        let op = form.get(m, "op");
        let line_there = op != 1 || mask != u64::MAX;
        let fields = [("op", op), ("txn", form.get(m, "txn")), ("with_data", line_there.into())];
        let mut answer = self.answer.message(&[&results[..], &fields].concat());
        self.answer.clean(&mut answer);
        answer
    }

    fn answered(&self, state: &mut Memory, cu: usize, form: &Form, m: &[u64]) -> Result<(), String> {
        let id = form.get(m, "id") as usize;
        let (wave, seq) = (cu * self.asks.waves + (id >> SEQ_BITS), id & ((1 << SEQ_BITS) - 1));
        let time = Time::unpack(form.get(m, "cu_time"), self.asks.ts);
        let own = state.waves.get_mut(wave).and_then(|own| own.get_mut(seq));
        let Some(issued) = own.filter(|issued| issued.answer.is_none()) else {
            return Err(format!("operation {seq} of {} is answered, but not open", self.name(wave)));
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

    /// A wave in words.
    fn name(&self, wave: usize) -> String {
        match self.asks.waves {
            1 => format!("CU {wave}"),
            waves => format!("CU {}, wave {}", wave / waves, wave % waves),
        }
    }

    /// The log of a state, if everything issued is answered.
    fn log(&self, state: &Memory) -> Option<LogicalTime> {
        let mut log = LogicalTime::new(self.asks.promise);
        for (wave, own) in state.waves.iter().enumerate() {
            for (seq, issued) in own.iter().enumerate() {
                let (time, got) = issued.answer?;
                let op = issued.op;
                let low = |low: u64| Data::from_words([low, 0, 0, 0, 0, 0, 0, 0]);
                let kind = match op {
                    Op::Load(_) | Op::LoadSync(_) => Kind::Load(low(got)),
                    Op::Store(..) | Op::StoreLine(_) => Kind::Store(low(Cus::low(op, wave, seq))),
                    Op::Exchange(_) => Kind::Atomic(Cus::atomic(wave, seq), got),
                    Op::Fence => {
                        log.fence(wave as u32, seq as u32);
                        continue;
                    }
                };
                let line = self.asks.lines[op.line()];
                let (wave, seq) = (wave as u32, seq as u32);
                log.access(Access { wave, seq, line, mask: op.mask(), time, kind });
            }
        }
        Some(log)
    }
}

/// The low 8 bytes of a line as values: `WAVE.operation` of the store that wrote a word, `-` for the initial value.
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
        Memory {
            waves: vec![Vec::new(); self.asks.cus * self.asks.waves],
            lines: vec![0; self.asks.lines.len()],
        }
    }

    fn offers(&self, state: &Memory, port: usize) -> Vec<(Vec<u64>, Memory)> {
        let each = |wave: usize| {
            let seq = state.waves[wave].len();
            let ops = self.next_ops(&state.waves[wave], wave).into_iter();
            ops.map(move |op| {
                let mut after = state.clone();
                after.waves[wave].push(Issued { op, answer: None });
                (self.message(op, wave, seq), after)
            })
        };
        (port * self.asks.waves..(port + 1) * self.asks.waves).flat_map(each).collect()
    }

    fn take(
        &self,
        state: &mut Memory,
        port: usize,
        form: &Form,
        message: &[u64],
    ) -> Result<Vec<(usize, Vec<u64>)>, String> {
        let cus = self.asks.cus;
        if port < 2 * cus {
            self.answered(state, port - cus, form, message)?;
            return Ok(Vec::new());
        }
        Ok(vec![(port - 2 * cus, self.perform(state, form, message))])
    }

    fn finished(&self, state: &Memory) -> bool {
        let done = |(wave, own): (usize, &Vec<Issued>)| {
            // A last operation that can only be a fence is left out.
            let ended = own.len() == self.asks.budget(wave) || self.next_ops(own, wave).is_empty();
            ended && own.iter().all(|issued| issued.answer.is_some())
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
        for (wave, own) in state.waves.iter().enumerate() {
            for (seq, Issued { op, answer }) in own.iter().enumerate() {
                let result = match answer {
                    None => "open".to_string(),
                    Some((time, _)) if op.stores() || *op == Op::Fence => format!("at {time}"),
                    Some((time, got)) => format!("at {time}: {}", value_text(*got)),
                };
                let wrote = Cus::low(*op, wave, seq);
                let wrote = if wrote == 0 { String::new() } else { format!(" := {}", value_text(wrote)) };
                lines.push(format!("{}, operation {seq}: {op}{wrote}  {result}", self.name(wave)));
            }
        }
        lines
    }

    fn text(&self, place: &str, form: &Form, message: &[u64]) -> String {
        let known = form.leaves.iter().any(|leaf| leaf.name == "line");
        let mut out = String::new();
        if place.ends_with("cu_req") {
            let id = form.get(message, "id") as usize;
            let (wave, seq) = (id >> SEQ_BITS, id & ((1 << SEQ_BITS) - 1));
            let of = if self.asks.waves > 1 { format!("wave {wave}, ") } else { String::new() };
            out = format!("{of}operation {seq}: ");
        }
        let skip = ["data", "old", "mask", "amo", "id"];
        // Memory of G-TSC has no stamps.
        let untimed = self.protocol == Protocol::Gtsc && place.contains(".mem_");
        let mut parts = Vec::new();
        for leaf in &form.leaves {
            let value = message[leaf.at];
            let text = match leaf.name.as_str() {
                "op" if place.ends_with("cu_req") => {
                    let names = ["LD", "ST", "AMO", "REL", "ACQ", "KBEGIN", "KEND"];
                    names.get(value as usize).copied().unwrap_or("?").to_string()
                }
                "op" => ["Rd", "Wr", "Amo", "EvictNote"][value as usize & 3].to_string(),
                "tag" | "wts" | "rts" if untimed => continue,
                "line" => format!("line {value:#x}"),
                "data" if value != 0 => format!("data [{}]", value_text(value)),
                name if value == 0 && !matches!(name, "wts" | "rts" | "tag" | "epoch" | "id") => continue,
                name if skip.contains(&name) && known => continue,
                "cu_time" => format!("at {}", Time::unpack(value, self.asks.ts)),
                "warpts" => format!("warpts {}", Time::unpack(value, self.asks.ts)),
                name if skip.contains(&name) && name != "id" => continue,
                name => format!("{name} {value}"),
            };
            parts.push(text);
        }
        out += &parts.join(", ");
        out
    }
}
