//! The ports of a module and the channels among them.

use weft_rtl::bv::{Bv, limbs_for};
use weft_rtl::ir::{LeafType, Module, SigId, Signal};

use super::legal::{driven, varying_bits};
use super::random::Xorshift;

/// A port.
#[derive(Clone, Debug)]
pub struct Port {
    /// Name.
    pub name: String,
    /// Width in bits.
    pub width: u32,
    /// The legal values, for an enumeration.
    pub legal: Vec<u64>,
    /// The bits that vary in random messages, where not all may.
    pub varies: Option<Bv>,
    /// What legal values are below, where the message says so and the width has more.
    pub below: Option<u64>,
}

/// A channel: positions in the lists of inputs and outputs.
#[derive(Clone, Debug)]
pub enum Channel {
    /// The module receives: inputs `valid` and message, output `ready`.
    Into {
        /// Input.
        valid: usize,
        /// Output.
        ready: usize,
        /// Inputs.
        message: Vec<usize>,
    },
    /// The module sends: output `valid`, input `ready`.
    OutOf {
        /// Output.
        valid: usize,
        /// Input.
        ready: usize,
    },
}

/// Ports of a module, sorted.
#[derive(Clone, Debug)]
pub struct Ports {
    /// Inputs in order of declaration.
    pub inputs: Vec<Port>,
    /// Outputs in order of declaration.
    pub outputs: Vec<Port>,
    /// Channels.
    pub channels: Vec<Channel>,
    /// Inputs that belong to no channel.
    pub loose: Vec<usize>,
}

impl Ports {
    /// The ports of a module; channels are found by the names `p_valid` and `p_ready` in opposite directions.
    pub fn of(module: &Module) -> Ports {
        let port = |id: SigId, s: &Signal| {
            let (block, inner) = driven(module, id);
            let inner = block.signal(inner);
            let legal = match &inner.ty {
                LeafType::Enum(e) => e.variants.iter().map(|v| v.1).collect(),
                _ => Vec::new(),
            };
            let below = inner.below.filter(|bound| s.width >= 64 || bound >> s.width == 0);
            Port { name: s.name.clone(), width: s.width, legal, varies: varying_bits(block, inner), below }
        };
        let inputs: Vec<Port> = module.inputs().map(|(id, s)| port(id, s)).collect();
        let outputs: Vec<Port> = module.outputs().map(|(id, s)| port(id, s)).collect();
        let find = |list: &[Port], name: String| list.iter().position(|p| p.name == name);
        let stem = |p: &Port, end: &str| p.name.strip_suffix(end).map(String::from);
        let mut channels = Vec::new();
        let mut owner: Vec<Option<usize>> = vec![None; inputs.len()];
        let mut names: Vec<(String, usize)> = Vec::new();
        for (i, input) in inputs.iter().enumerate() {
            if let Some(name) = stem(input, "_valid")
                && let Some(ready) = find(&outputs, format!("{name}_ready"))
            {
                owner[i] = Some(channels.len());
                names.push((name, channels.len()));
                channels.push(Channel::Into { valid: i, ready, message: Vec::new() });
            } else if let Some(name) = stem(input, "_ready")
                && let Some(valid) = find(&outputs, format!("{name}_valid"))
            {
                owner[i] = Some(channels.len());
                channels.push(Channel::OutOf { valid, ready: i });
            }
        }
        // A message leaf belongs to the channel with the longest name in front of it.
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let mut loose = Vec::new();
        for (i, input) in inputs.iter().enumerate().filter(|(i, _)| owner[*i].is_none()) {
            let of = |name: &str| {
                input.name == *name || input.name.strip_prefix(name).is_some_and(|r| r.starts_with('_'))
            };
            match names.iter().find(|(name, _)| of(name)) {
                Some((_, at)) => {
                    if let Channel::Into { message, .. } = &mut channels[*at] {
                        message.push(i);
                    }
                }
                None => loose.push(i),
            }
        }
        Ports { inputs, outputs, channels, loose }
    }
}

impl Port {
    /// A random value for a message: within the bits that vary.
    pub fn message(&self, rng: &mut Xorshift) -> Bv {
        let value = self.random(rng);
        let Some(varies) = &self.varies else { return value };
        let limbs: Vec<u64> = value.limbs().iter().zip(varies.limbs()).map(|(a, b)| a & b).collect();
        Bv::from_limbs(&limbs, self.width)
    }

    /// A legal random value: for an enumeration one of its encodings, for a number with a bound one below it.
    pub fn random(&self, rng: &mut Xorshift) -> Bv {
        if let Some(bound) = self.below {
            return Bv::from_u64(rng.below(bound.max(1)), self.width);
        }
        if !self.legal.is_empty() {
            let at = rng.below(self.legal.len() as u64);
            return Bv::from_u64(self.legal[at as usize], self.width);
        }
        let limbs: Vec<u64> = (0..limbs_for(self.width)).map(|_| rng.draw()).collect();
        Bv::from_limbs(&limbs, self.width)
    }
}
