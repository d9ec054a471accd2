//! Violations of the value rule, in one sentence each.

use super::amo::{Broken, Step};
use super::page::Write;
use super::rule::{Look, Old};
use crate::cu::Who;
use serde::{Deserialize, Serialize};
use std::fmt;
use weft_blocks::msg::node_text;

/// Most values listed as allowed.
const LISTED: usize = 8;

/// A load or atomic whose value no write explains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Cycle in which it shows.
    pub cycle: u64,
    /// Physical byte address.
    pub addr: u64,
    /// One sentence: who read what when, what was allowed, who wrote that when.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Number of a compute unit.
pub(super) fn unit(gpu: u32, cu: u32) -> u32 {
    gpu << 16 | cu
}

/// A wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Writer {
    gpu: u32,
    gpms: u32,
    cu: u32,
    kernel: u32,
    block: u32,
    wave: u32,
}

impl Writer {
    pub fn of(who: &Who) -> Writer {
        Writer {
            gpu: who.gpu,
            gpms: who.gpms,
            cu: who.cu,
            kernel: who.kernel,
            block: who.block,
            wave: who.wave,
        }
    }

    /// Its compute unit.
    pub fn unit(&self) -> u32 {
        unit(self.gpu, self.cu)
    }
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Writer { gpu, gpms, cu, kernel, block, wave } = self;
        let at = node_text(*gpu, *gpms);
        write!(f, "{at} cu {cu} kernel {kernel} block {block} wave {wave}")
    }
}

/// A word read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Read {
    pub who: Writer,
    /// Byte address / 4.
    pub word: u64,
    pub bytes: u8,
    pub value: u32,
    pub issued: u64,
    pub done: u64,
    /// The old value of an atomic; then `issued` is the cycle before it was taken.
    pub amo: bool,
}

impl Read {
    pub fn look(&self) -> Look {
        Look { cu: self.who.unit(), issued: self.issued, done: self.done }
    }
}

/// The bytes of a word that are in question, unknown ones as dots.
fn hex(value: u32, bytes: u8) -> String {
    let byte = |b: u32| {
        if bytes >> b & 1 == 1 { format!("{:02x}", value >> (8 * b) & 0xff) } else { "..".to_string() }
    };
    format!("0x{}{}{}{}", byte(3), byte(2), byte(1), byte(0))
}

fn old_values(old: &Old) -> Vec<u32> {
    match old {
        Old::Known(value) => vec![*value],
        Old::Words(words) => words.clone(),
        Old::Bytes(bytes) => {
            let most = bytes.iter().map(Vec::len).max().unwrap_or(0);
            let nth = |b: usize, i: usize| bytes[b][i.min(bytes[b].len() - 1)];
            (0..most).map(|i| u32::from_le_bytes([nth(0, i), nth(1, i), nth(2, i), nth(3, i)])).collect()
        }
    }
}

/// The read, and everything that would have been right. `before`: the value before the kernel and the cycle of the boundary, if it was allowed.
pub(super) fn unexplained(
    read: &Read,
    before: Option<(&Old, u64)>,
    writes: &[Write],
    writers: &[Writer],
) -> Violation {
    let addr = 4 * read.word;
    let mut allowed: Vec<String> = Vec::new();
    if let Some((old, since)) = before {
        allowed.extend(old_values(old).iter().map(|value| {
            format!("{} (in memory at the kernel boundary in cycle {since})", hex(*value, read.bytes))
        }));
    }
    allowed.extend(writes.iter().map(|w| {
        let kind = if w.amo { "atomic" } else { "store" };
        let (value, who) = (hex(w.value, read.bytes & w.bytes), writers[w.by as usize]);
        format!("{value} ({kind} of {who} in cycle {})", w.at)
    }));
    if allowed.len() > LISTED {
        let more = allowed.len() - LISTED;
        allowed.truncate(LISTED);
        allowed.push(format!("{more} more"));
    }
    let kind = if read.amo { "atomic on" } else { "load of" };
    let issued = read.issued + u64::from(read.amo);
    let text = format!(
        "{kind} address {addr:#x} by {} issued at cycle {issued} and answered at cycle {} returned {}; allowed: {}",
        read.who,
        read.done,
        hex(read.value, read.bytes),
        allowed.join(", ")
    );
    Violation { cycle: read.done, addr, text }
}

/// Atomics whose old values have no order.
pub(super) fn broken_chain(addr: u64, steps: &[Step], broken: Broken, (since, now): (u64, u64)) -> Violation {
    let count = steps.len();
    let why = match broken {
        Broken::FoundTooOften { value, found, put } => {
            format!("{found} of them returned {value:#x}, a value that was in memory {put} times")
        }
        Broken::Detached { value } => {
            format!("those that returned {value:#x} do not follow from the value in memory at the boundary")
        }
    };
    let text = format!(
        "the {count} atomics on address {addr:#x} between the kernel boundaries in cycles {since} and {now} have no order: {why}"
    );
    Violation { cycle: now, addr, text }
}

/// Memory at the end of a run.
pub(super) fn memory_differs(addr: u64, value: u32, old: &Old, (since, now): (u64, u64)) -> Violation {
    let allowed: Vec<String> = old_values(old).iter().map(|v| hex(*v, 0xf)).collect();
    let text = format!(
        "memory at address {addr:#x} holds {} in cycle {now}; allowed: {} (written before the kernel boundary in cycle {since})",
        hex(value, 0xf),
        allowed.join(", ")
    );
    Violation { cycle: now, addr, text }
}
