//! Conservation of messages at the ports of a fabric: every request of a compute unit gets exactly the answers that it needs, every read of memory exactly one, and
//! nothing is open at the end of a kernel.

use crate::family::{Channels, MemOp, Shape, Transfer};
use serde::{Deserialize, Serialize};
use std::fmt;
use weft_blocks::msg::{CuOp, node_text};

/// Most violations kept; later ones are only counted.
const KEPT: usize = 16;
/// Transaction numbers of a compute unit: 12 bits.
const CU_IDS: usize = 1 << 12;

/// A request lost, answered twice, or answered wrongly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageViolation {
    /// Cycle in which it shows.
    pub cycle: u64,
    /// One sentence.
    pub text: String,
}

impl fmt::Display for MessageViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A transfer on a `cu_req` port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CuRequest {
    /// Operation.
    pub op: CuOp,
    /// Transaction number.
    pub id: u16,
    /// Line number.
    pub line: u64,
    /// Bytes.
    pub mask: u128,
    /// A store asks for an acknowledgement.
    pub want_ack: bool,
}

/// An open request of a compute unit.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct OpenCu {
    /// Number in [`NAMES`].
    op: u8,
    line: u64,
    /// Bytes not answered; 0 for what is answered by one acknowledgement.
    left: u128,
    since: u64,
}

/// An open request of a memory channel.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct OpenMemory {
    op: MemOp,
    line: u64,
    since: u64,
}

const NAMES: [&str; 7] = ["load", "store", "atomic", "release", "acquire", "kernel begin", "kernel end"];

/// Kinds of fences in a sentence.
const FENCES: [&str; 4] =
    ["release of GPU scope", "acquire of GPU scope", "release of system scope", "acquire of system scope"];

/// Place in [`FENCES`].
fn fence_kind(scope: u8, acquire: bool) -> usize {
    2 * usize::from(scope >= 2) + usize::from(acquire)
}

fn number_of(op: CuOp) -> u8 {
    match op {
        CuOp::Ld => 0,
        CuOp::St => 1,
        CuOp::Amo => 2,
        CuOp::Rel => 3,
        CuOp::Acq => 4,
        CuOp::Kbegin => 5,
        CuOp::Kend => 6,
    }
}

/// Transfers seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageCounts {
    /// Requests of compute units.
    pub cu_requests: u64,
    /// Answers to compute units.
    pub cu_answers: u64,
    /// Reads of memory.
    pub reads: u64,
    /// Writes and atomics of memory.
    pub writes: u64,
    /// Answers of memory.
    pub fills: u64,
    /// Fences started and completed.
    pub fences: u64,
    /// Violations.
    pub violations: u64,
}

/// The check.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Messages {
    /// Each node in a sentence.
    names: Vec<String>,
    /// Compute units of a node.
    l1s: usize,
    line: u64,
    cus: Vec<Vec<Option<OpenCu>>>,
    /// Each memory channel in a sentence.
    channels: Vec<String>,
    memories: Vec<Vec<Option<OpenMemory>>>,
    /// Fences started and not done, by node and kind ([`FENCES`]): number of the last and its cycle.
    fences: Vec<[Option<(u8, u64)>; 4]>,
    open: u64,
    counts: MessageCounts,
    violations: Vec<MessageViolation>,
}

impl Messages {
    /// Nothing is open.
    pub fn new(shape: &Shape, channels: Channels) -> Messages {
        let (nodes, l1s) = (shape.nodes as usize, shape.cus as usize);
        Messages {
            names: (0..shape.nodes).map(|node| node_text(node, shape.gpms)).collect(),
            l1s,
            line: u64::from(shape.line),
            cus: vec![Vec::new(); nodes * l1s],
            memories: vec![vec![None; channels.ids as usize]; channels.names.len()],
            channels: channels.names,
            fences: vec![[None; 4]; nodes],
            open: 0,
            counts: MessageCounts::default(),
            violations: Vec::new(),
        }
    }

    /// What was seen so far.
    pub fn counts(&self) -> MessageCounts {
        self.counts
    }

    /// Requests of compute units, reads of memory and fences without their last answer.
    pub fn open(&self) -> u64 {
        self.open
    }

    /// The first violations, at most 16.
    pub fn violations(&self) -> &[MessageViolation] {
        &self.violations
    }

    fn violated(&mut self, cycle: u64, text: String) {
        self.counts.violations += 1;
        if self.violations.len() < KEPT {
            self.violations.push(MessageViolation { cycle, text });
        }
    }

    /// A node in a sentence.
    fn at(&self, node: u32) -> &str {
        &self.names[node as usize]
    }

    fn describe(&self, request: &OpenCu) -> String {
        let name = NAMES[usize::from(request.op)];
        if request.op > 2 {
            return format!("{name} taken in cycle {}", request.since);
        }
        format!("{name} of line {:#x} taken in cycle {}", request.line * self.line, request.since)
    }

    /// The L1 of compute unit `cu` of `gpu` takes a request. An answer that frees its transaction number is told before it.
    pub fn cu_req(&mut self, now: u64, gpu: u32, cu: u32, request: &CuRequest) {
        self.counts.cu_requests += 1;
        let op = number_of(request.op);
        let with_data = matches!(request.op, CuOp::Ld | CuOp::Amo);
        let new =
            OpenCu { op, line: request.line, left: if with_data { request.mask } else { 0 }, since: now };
        if with_data && request.mask == 0 {
            let at = self.at(gpu);
            let text = format!("{at} cu {cu} asks for no byte in its {}", self.describe(&new));
            self.violated(now, text);
        }
        let unit = gpu as usize * self.l1s + cu as usize;
        let id = usize::from(request.id) % CU_IDS;
        if self.cus[unit].len() <= id {
            self.cus[unit].resize(id + 1, None);
        }
        if let Some(old) = self.cus[unit][id] {
            let at = self.at(gpu);
            let text = format!(
                "{at} cu {cu} reuses transaction number {id} in cycle {now} while its {} has no complete answer",
                self.describe(&old)
            );
            self.violated(now, text);
            self.open -= 1;
        }
        let answered = request.op != CuOp::St || request.want_ack;
        self.cus[unit][id] = answered.then_some(new);
        self.open += u64::from(answered);
    }

    /// The L1 of a compute unit answers: `kind` 0 data of the bytes of `mask`, 1 acknowledgement.
    pub fn cu_rsp(&mut self, now: u64, gpu: u32, cu: u32, id: u16, kind: u8, mask: u128) {
        self.counts.cu_answers += 1;
        let unit = gpu as usize * self.l1s + cu as usize;
        let place = usize::from(id) % CU_IDS;
        let what = if kind == 0 { "data" } else { "an acknowledgement" };
        let Some(request) = self.cus[unit].get(place).copied().flatten() else {
            let at = self.at(gpu);
            let text = format!(
                "{at} cu {cu} gets {what} for transaction number {id} in cycle {now}, but no request of this number is open: the answer was given \
                 twice, or went astray"
            );
            return self.violated(now, text);
        };
        let with_data = request.op == 0 || request.op == 2;
        let wrong = if with_data != (kind == 0) {
            Some(format!("gets {what}"))
        } else if with_data && mask & !request.left != 0 {
            Some(format!("gets bytes {:#x}, which it did not ask for or got before,", mask & !request.left))
        } else if with_data && mask == 0 {
            Some("gets data without a byte".to_string())
        } else {
            None
        };
        if let Some(wrong) = wrong {
            let at = self.at(gpu);
            let text = format!(
                "{at} cu {cu} {wrong} in cycle {now} for transaction number {id}, its {}",
                self.describe(&request)
            );
            self.violated(now, text);
        }
        let left = request.left & !mask;
        let open = with_data && left != 0 && kind == 0;
        self.cus[unit][place] = open.then_some(OpenCu { left, ..request });
        self.open -= u64::from(!open);
    }

    /// A memory channel takes a request, of a line that belongs to channel `home`. Anything else than a request is no event.
    pub fn mem_req(&mut self, now: u64, request: &Transfer, home: usize) {
        let Transfer::Request { channel, op, answered, line, id } = *request else { return };
        let (addr, kind, verb) = (line * self.line, op.name(), op.verb());
        if home != channel {
            let text = format!(
                "a {kind} of line {addr:#x} reaches the memory of {} in cycle {now}, but the line belongs to {}",
                self.channels[channel],
                self.channels.get(home).map_or("no memory", String::as_str)
            );
            self.violated(now, text);
        }
        match op {
            MemOp::Read => self.counts.reads += 1,
            MemOp::Write | MemOp::Atomic => self.counts.writes += 1,
        }
        if !answered {
            return;
        }
        let Some(place) = self.memories[channel].get_mut(id as usize) else {
            let at = &self.channels[channel];
            let text = format!(
                "{at} {verb} memory in cycle {now} with transaction number {id}, which it does not have"
            );
            return self.violated(now, text);
        };
        match place.replace(OpenMemory { op, line, since: now }) {
            None => self.open += 1,
            Some(old) => {
                let text = format!(
                    "{} {verb} line {addr:#x} in cycle {now} with transaction number {id} while its {} of line {:#x} from cycle {} is open",
                    self.channels[channel],
                    old.op.name(),
                    old.line * self.line,
                    old.since
                );
                self.violated(now, text);
            }
        }
    }

    /// The fabric takes an answer of a memory channel.
    pub fn mem_rsp(&mut self, now: u64, channel: usize, id: u64) {
        self.counts.fills += 1;
        if self.memories[channel].get_mut(id as usize).and_then(Option::take).is_some() {
            self.open -= 1;
            return;
        }
        let text = format!(
            "{} gets memory data for transaction number {id} in cycle {now}, but no request of this number is open: it was answered \
             twice, or never asked for",
            self.channels[channel]
        );
        self.violated(now, text);
    }

    /// A fence unit takes a release, or an acquire, of a scope (1 GPU, 2 system).
    pub fn fence_start(&mut self, now: u64, gpu: u32, seq: u8, scope: u8, acquire: bool) {
        let place = &mut self.fences[gpu as usize][fence_kind(scope, acquire)];
        self.open += u64::from(place.is_none());
        *place = Some((seq, now));
    }

    /// A fence unit completes the releases, or the acquires, of a scope up to `seq`.
    pub fn fence_done(&mut self, now: u64, gpu: u32, seq: u8, scope: u8, acquire: bool) {
        self.counts.fences += 1;
        let kind = fence_kind(scope, acquire);
        match self.fences[gpu as usize][kind] {
            None => {
                let (at, what) = (self.at(gpu), FENCES[kind]);
                let text = format!(
                    "{at} completes fence {seq}, a {what}, in cycle {now}, but no fence of this kind is open"
                );
                self.violated(now, text);
            }
            Some((last, _)) if last == seq => {
                self.fences[gpu as usize][kind] = None;
                self.open -= 1;
            }
            Some(_) => {}
        }
    }

    /// Everything that is open, oldest first, as (cycle since when, sentence).
    pub fn outstanding(&self) -> Vec<(u64, String)> {
        let mut list = Vec::new();
        for (unit, table) in self.cus.iter().enumerate() {
            let (gpu, cu) = (unit / self.l1s, unit % self.l1s);
            for (id, request) in table.iter().enumerate().filter_map(|(id, r)| Some((id, r.as_ref()?))) {
                let at = self.at(gpu as u32);
                let text = format!(
                    "{at} cu {cu} waits for the answer to its {} (transaction number {id})",
                    self.describe(request)
                );
                list.push((request.since, text));
            }
        }
        for (at, table) in self.channels.iter().zip(&self.memories) {
            for (id, open) in table.iter().enumerate().filter_map(|(id, r)| Some((id, r.as_ref()?))) {
                let (line, since, kind) = (open.line * self.line, open.since, open.op.name());
                let text = format!(
                    "{at} waits for memory to answer its {kind} of line {line:#x} from cycle {since} (transaction number {id})"
                );
                list.push((since, text));
            }
        }
        for (gpu, kinds) in self.fences.iter().enumerate() {
            for (what, fence) in FENCES.iter().zip(kinds) {
                let Some((seq, since)) = fence else { continue };
                let at = self.at(gpu as u32);
                list.push((
                    *since,
                    format!("{at} waits for fence {seq}, a {what}, started in cycle {since}"),
                ));
            }
        }
        list.sort();
        list
    }

    /// The kernel has ended, or the run: nothing may be open.
    pub fn nothing_open(&mut self, now: u64) {
        let list = self.outstanding();
        let Some((_, first)) = list.first() else { return };
        let more = if list.len() > 1 {
            format!(", and {} more requests are open", list.len() - 1)
        } else {
            String::new()
        };
        let text = format!("at the kernel boundary in cycle {now} a request has no answer: {first}{more}");
        self.violated(now, text);
    }
}

#[cfg(test)]
mod tests;
