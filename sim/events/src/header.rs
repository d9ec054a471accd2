//! What a log says of the design before its first event.

use serde::{Deserialize, Serialize};

/// Version of the format, and how every log begins.
pub const SCHEMA: &str = "weft-events-1";

/// The head of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Fabric.
    pub fabric: String,
    /// Program.
    pub workload: String,
    /// Seed, if the run had one.
    pub seed: Option<u64>,
    /// What else the run was: parameters and graph of the program, keys that differ from the fabric's file, what made it.
    #[serde(default)]
    pub setup: serde_json::Value,
    /// All keys of the configuration.
    pub config: serde_json::Value,
    /// Bytes of a line.
    pub line: u32,
    /// Lines of the aligned group that a message with field `grp` is about.
    pub group: u32,
    /// First cycle recorded.
    pub from: u64,
    /// First cycle no longer recorded.
    pub to: u64,
    /// Patterns of the blocks whose channels and rows are recorded; none means all.
    pub scope: Vec<String>,
    /// Cycles of an interval in which bytes on links are added up.
    pub interval: u64,
    /// Blocks of the design, then the models around it.
    pub actors: Vec<Actor>,
    /// Kinds of blocks.
    pub blocks: Vec<Block>,
    /// Channels between actors.
    pub channels: Vec<Channel>,
    /// Names of encoded fields: for each name its encoding.
    pub enums: Vec<Vec<(String, u64)>>,
    /// Counters of bytes.
    pub meters: Vec<Meter>,
    /// Where the program's arrays lie.
    pub arrays: Vec<Array>,
}

/// Something that sends and receives messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Hierarchical name of the block, or the common part of the names of a model's ports.
    pub name: String,
    /// Number of its kind; none for a model outside the hardware.
    pub block: Option<u32>,
}

/// A kind of block: what all instances of one module have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Name of the module.
    pub module: String,
    /// Its cover points.
    pub rows: Vec<Row>,
}

/// A cover point: a row of a transition table, or a race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Identifier in the race ledger.
    pub id: String,
    /// What it means.
    pub text: String,
}

/// A channel: a message goes over in a cycle in which it is offered and taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Number of the actor that sends.
    pub from: u32,
    /// Its name there.
    pub from_port: String,
    /// Number of the actor that receives.
    pub to: u32,
    /// Its name there.
    pub to_port: String,
    /// Fields of the message that are recorded: those of at most 128 bits.
    pub fields: Vec<Field>,
    /// Number of the field that names the message's line, if one does.
    pub line: Option<u32>,
}

/// A field of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Name, parts of nested bundles joined by `_`.
    pub name: String,
    /// Bits.
    pub width: u32,
    /// Number of its names, if it is encoded.
    pub names: Option<u32>,
}

impl Field {
    /// Numbers of 64 bits that hold it.
    pub fn limbs(&self) -> usize {
        self.width.div_ceil(64) as usize
    }
}

/// A counter of bytes that a block sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meter {
    /// Number of the actor.
    pub actor: u32,
    /// Its name.
    pub name: String,
    /// Bytes that can be sent in a cycle, with all other meters of the actor together, if the block has such a limit.
    pub per_cycle: Option<u64>,
}

/// A piece of an array of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Array {
    /// Name.
    pub name: String,
    /// Bytes of an element.
    pub element: u64,
    /// First byte of the piece in the array.
    pub offset: u64,
    /// Physical address of the piece.
    pub at: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Words that say where a port leads, not what is sent there.
const PLACES: [&str; 8] = ["in", "out", "far", "bank", "link", "slice", "recv", "port"];

impl Header {
    /// Limbs of a message of a channel.
    pub fn limbs(&self, channel: u32) -> usize {
        self.channels[channel as usize].fields.iter().map(Field::limbs).sum()
    }

    /// The address of a line's first byte.
    pub fn address(&self, line: u64) -> u64 {
        line.wrapping_mul(u64::from(self.line))
    }

    /// What lies in a line: array and first element, of those that begin in it or reach into it.
    pub fn contents(&self, line: u64) -> Option<String> {
        let at = self.address(line);
        let end = at.checked_add(u64::from(self.line))?;
        let behind = |a: &Array| a.at.saturating_add(a.bytes);
        let piece = self.arrays.iter().find(|a| a.bytes > 0 && a.at < end && at < behind(a))?;
        let element = |byte: u64| piece.offset.saturating_add(byte) / piece.element.max(1);
        let first = element(at.saturating_sub(piece.at));
        let last = element(behind(piece).min(end) - piece.at - 1);
        Some(format!("{}[{first}..={last}]", piece.name))
    }

    /// The name of a value of an encoded field, else the number.
    pub fn value(&self, field: &Field, value: u64) -> String {
        let names = field.names.and_then(|n| self.enums.get(n as usize));
        let found = names.and_then(|names| names.iter().find(|(_, code)| *code == value));
        found.map_or_else(|| value.to_string(), |(name, _)| name.clone())
    }

    /// What a message wants: its encoded fields called `op` or `kind`, else the name of the channel, at who receives it where that at who sends it only says
    /// where it leads.
    pub fn operation(&self, channel: u32, limbs: &[u64]) -> String {
        let c = &self.channels[channel as usize];
        let mut at = 0;
        for field in &c.fields {
            let last = field.name.rsplit('_').next().unwrap_or_default();
            if field.names.is_some() && matches!(last, "op" | "kind") {
                return self.value(field, limbs[at]);
            }
            at += field.limbs();
        }
        let word = |port: &str| {
            let last = port.rsplit('_').next().unwrap_or(port);
            last.trim_end_matches(|c: char| c.is_ascii_digit()).to_string()
        };
        let sent = word(&c.from_port);
        if PLACES.contains(&sent.as_str()) { word(&c.to_port) } else { sent }
    }

    /// The other fields of a message that say something, as text: not the line, no zeros.
    pub fn details(&self, channel: u32, limbs: &[u64]) -> String {
        let c = &self.channels[channel as usize];
        let operation = self.operation(channel, limbs);
        let (mut at, mut out) = (0, Vec::new());
        for (number, field) in c.fields.iter().enumerate() {
            let value = &limbs[at..at + field.limbs()];
            at += field.limbs();
            if c.line == Some(number as u32) || field.names.is_none() && value.iter().all(|limb| *limb == 0) {
                continue;
            }
            let text = self.text(field, value);
            let last = field.name.rsplit('_').next().unwrap_or_default();
            let said = matches!(last, "op" | "kind") && text == operation;
            // The kind of an atomic says something of an atomic only.
            let idle = last == "amo" && value[0] == 0 && !operation.starts_with('A');
            let rests = idle || field.names.is_some() && matches!(text.as_str(), "NONE" | "NOP");
            if !said && !rests {
                out.push(format!("{} {text}", field.name));
            }
        }
        out.join(", ")
    }

    fn text(&self, field: &Field, value: &[u64]) -> String {
        let sum = value.iter().rev().fold(0u128, |sum, limb| sum << 64 | u128::from(*limb));
        match value {
            [value] if field.names.is_some() => self.value(field, *value),
            _ if field.name.ends_with("mask") || field.width > 16 => format!("{sum:#x}"),
            _ => sum.to_string(),
        }
    }
}
