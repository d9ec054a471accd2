//! What a block's ports carry, in the order of the frames' numbers.

use crate::error::{HostError, LinkError};
use std::fmt::Write;
use weft_rtl::bv::Bv;
use weft_rtl::data::join_name;
use weft_rtl::ir::{Leaf, Module, Signal};

/// Most entries: numbers from 0x78 on are kept for frames of the port itself.
const MOST: usize = 0x78;

/// What an entry is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A channel on which the block receives.
    Into,
    /// A channel on which the block sends.
    OutOf,
    /// An input that belongs to no channel.
    Set,
    /// An output that belongs to no channel.
    Get,
}

impl Kind {
    /// What it is called in sentences and lists.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Into => "channel into the block",
            Kind::OutOf => "channel out of the block",
            Kind::Set => "input",
            Kind::Get => "output",
        }
    }
}

/// A channel, or a port that belongs to none.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name of the channel or port.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Leaves of its message, with the names behind the channel's; one without a name when the message is a single value.
    pub leaves: Vec<Leaf>,
}

impl Entry {
    /// Width of the message in bits.
    pub fn width(&self) -> u32 {
        self.leaves.iter().map(|leaf| leaf.width).sum()
    }

    /// Bytes of the message in a frame.
    pub fn bytes(&self) -> usize {
        self.width().div_ceil(8) as usize
    }

    /// Position and width of a leaf in the message.
    pub fn field(&self, name: &str) -> Option<(u32, u32)> {
        let at = self.leaves.iter().position(|leaf| leaf.name == name)?;
        Some((self.leaves[..at].iter().map(|leaf| leaf.width).sum(), self.leaves[at].width))
    }

    /// A leaf of a message; `None` if there is none of this name.
    pub fn value(&self, message: &Bv, name: &str) -> Option<Bv> {
        self.field(name).map(|(low, width)| message.slice(low, width))
    }
}

/// The entries of a block.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Name of the block's module.
    pub module: String,
    /// Channels into the block, channels out of it, then inputs and outputs without a channel, each in order of declaration.
    pub entries: Vec<Entry>,
}

impl Interface {
    /// The interface of a module. Channels are found by the names `p_valid` and `p_ready` in opposite directions; a port whose name begins with `p_` is a leaf of the
    /// channel `p` that goes its way, of the longest such name.
    ///
    /// # Errors
    /// [`HostError::TooMany`], [`HostError::Taken`].
    pub fn of(module: &Module) -> Result<Interface, HostError> {
        let inputs: Vec<&Signal> = module.inputs().map(|(_, s)| s).collect();
        let outputs: Vec<&Signal> = module.outputs().map(|(_, s)| s).collect();
        if let Some(taken) = inputs.iter().chain(&outputs).find(|s| s.name.starts_with("host_")) {
            return Err(HostError::Taken { module: module.name.clone(), port: taken.name.clone() });
        }
        let (mut into, set) = sorted(&inputs, &outputs, Kind::Into, Kind::Set);
        let (out_of, get) = sorted(&outputs, &inputs, Kind::OutOf, Kind::Get);
        into.extend(out_of.into_iter().chain(set).chain(get));
        if into.len() > MOST {
            return Err(HostError::TooMany { module: module.name.clone(), found: into.len(), most: MOST });
        }
        Ok(Interface { module: module.name.clone(), entries: into })
    }

    /// The number of an entry.
    ///
    /// # Errors
    /// [`LinkError::NoEntry`].
    pub fn number(&self, kind: Kind, name: &str) -> Result<usize, LinkError> {
        let found = self.entries.iter().position(|entry| entry.kind == kind && entry.name == name);
        found.ok_or_else(|| {
            let same = self.entries.iter().filter(|entry| entry.kind == kind);
            let known = same.map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "none".into() } else { known };
            LinkError::NoEntry { module: self.module.clone(), kind: kind.name(), name: name.into(), known }
        })
    }

    /// A message of an entry from values by leaf; what is not named is 0.
    ///
    /// # Errors
    /// [`LinkError::NoField`], [`LinkError::TooLarge`].
    pub fn message(&self, number: usize, values: &[(&str, u64)]) -> Result<Bv, LinkError> {
        let entry = &self.entries[number];
        let mut message = Bv::zero(entry.width());
        for (name, value) in values {
            let Some((low, width)) = entry.field(name) else {
                let known = entry.leaves.iter().map(|leaf| leaf.name.as_str()).collect::<Vec<_>>().join(", ");
                let (module, entry) = (self.module.clone(), entry.name.clone());
                return Err(LinkError::NoField { module, entry, field: name.to_string(), known });
            };
            if width < 64 && value >> width != 0 {
                let (entry, field) = (entry.name.clone(), name.to_string());
                return Err(LinkError::TooLarge { entry, field, width, value: *value });
            }
            (0..width.min(64)).for_each(|bit| message.set_bit(low + bit, value >> bit & 1 == 1));
        }
        Ok(message)
    }

    /// A number that tells interfaces apart: FNV-1a, 32 bits, of module name, entries, leaves and widths.
    pub fn signature(&self) -> u32 {
        let mut text = self.module.clone();
        for entry in &self.entries {
            let _ = write!(text, ";{:?} {}", entry.kind, entry.name);
            entry.leaves.iter().for_each(|leaf| text += &format!(",{}:{}", leaf.name, leaf.width));
        }
        text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }

    /// The interface as lines to read: number, what it is, name, leaves with their bits.
    pub fn listing(&self) -> String {
        let mut text = format!("{} (signature {:08x})\n", self.module, self.signature());
        for (number, entry) in self.entries.iter().enumerate() {
            let leaf = |leaf: &Leaf| format!("{}[{}]", leaf.name, leaf.width);
            let leaves: Vec<String> = entry.leaves.iter().map(leaf).collect();
            let (kind, name, bytes) = (entry.kind.name(), &entry.name, entry.bytes());
            let _ = writeln!(text, "{number:3}  {kind:<24} {name:<16} {bytes:3} bytes  {}", leaves.join(" "));
        }
        text
    }
}

/// The channels whose valid is among `ports` and whose ready is among `opposite`, with their leaves; and the other ports, without those that are a ready of such a channel the
/// other way round.
fn sorted(ports: &[&Signal], opposite: &[&Signal], channel: Kind, loose: Kind) -> (Vec<Entry>, Vec<Entry>) {
    let has =
        |list: &[&Signal], name: &str, end: &str| list.iter().any(|s| s.name == format!("{name}_{end}"));
    let stem = |s: &Signal, end: &str| s.name.strip_suffix(end).map(str::to_string);
    let mut channels: Vec<Entry> = ports
        .iter()
        .filter_map(|s| stem(s, "_valid").filter(|name| has(opposite, name, "ready")))
        .map(|name| Entry { name, kind: channel, leaves: Vec::new() })
        .collect();
    let mut others = Vec::new();
    for port in ports {
        let is_valid = channels.iter().any(|c| join_name(&c.name, "valid") == port.name);
        let is_ready = stem(port, "_ready").is_some_and(|name| has(opposite, &name, "valid"));
        if is_valid || is_ready {
            continue;
        }
        let behind = |c: &Entry| match port.name.strip_prefix(&c.name) {
            Some("") => Some(String::new()),
            Some(rest) => rest.strip_prefix('_').map(str::to_string),
            None => None,
        };
        let leaf =
            |name| Leaf { name, width: port.width, ty: port.ty.clone(), fields: Vec::new(), below: None };
        let of = channels.iter_mut().filter(|c| behind(c).is_some()).max_by_key(|c| c.name.len());
        match of {
            Some(c) => {
                let name = behind(c).unwrap_or_default();
                c.leaves.push(leaf(name));
            }
            None => {
                others.push(Entry {
                    name: port.name.clone(),
                    kind: loose,
                    leaves: vec![leaf(String::new())],
                });
            }
        }
    }
    (channels, others)
}
