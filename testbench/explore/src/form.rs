//! Messages: their leaves, and which of them mean nothing.

use weft_rtl::bv::limbs_for;
use weft_rtl::prelude::{Data, leaves_of};

/// Leaves that mean nothing unless another leaf has one of some values.
#[derive(Clone, Debug)]
pub struct Ignore {
    /// Names of the leaves.
    pub leaves: &'static [&'static str],
    /// They mean something if this leaf...
    pub unless: &'static str,
    /// ... is one of these.
    pub is: &'static [u64],
}

/// A leaf and where it lies in the words of a message.
#[derive(Clone, Debug)]
pub struct FormLeaf {
    /// Name in the message.
    pub name: String,
    /// Bits.
    pub width: u32,
    /// First word.
    pub at: usize,
}

impl FormLeaf {
    /// Words taken.
    pub fn words(&self) -> usize {
        limbs_for(self.width)
    }
}

/// A kind of message. A message is the words of its leaves, one after the other, those that mean nothing zero.
#[derive(Clone, Debug)]
pub struct Form {
    /// Leaves in order.
    pub leaves: Vec<FormLeaf>,
    /// Words in all.
    pub words: usize,
    rules: Vec<Ignore>,
    masks: Option<Masked>,
}

/// A leaf of which only those parts mean something that the bits of some masks name.
#[derive(Clone, Copy, Debug)]
pub struct Masked {
    /// The leaf.
    pub leaf: &'static str,
    /// Bits of a part.
    pub bits: u32,
    /// Leaves with a bit per part: one of them names it.
    pub masks: &'static [&'static str],
}

impl Form {
    /// The form of a bundle, with outputs beside the channel (`extra`: name and bits) as further leaves.
    pub fn new<T: Data>(shape: &T::Shape, extra: &[(&str, u32)], rules: &[Ignore]) -> Form {
        let own = leaves_of::<T>(shape, "").into_iter().map(|leaf| (leaf.name, leaf.width));
        let extra = extra.iter().map(|(name, width)| (name.to_string(), *width));
        let mut form = Form { leaves: Vec::new(), words: 0, rules: rules.to_vec(), masks: None };
        for (name, width) in own.chain(extra) {
            form.leaves.push(FormLeaf { name, width, at: form.words });
            form.words += limbs_for(width);
        }
        form
    }

    /// The form with masks.
    pub fn masked(self, masks: Masked) -> Form {
        Form { masks: Some(masks), ..self }
    }

    /// A leaf by name.
    ///
    /// # Panics
    /// When there is none.
    pub fn leaf(&self, name: &str) -> &FormLeaf {
        self.leaves.iter().find(|leaf| leaf.name == name).unwrap_or_else(|| panic!("no leaf {name}"))
    }

    /// The low 64 bits of a leaf.
    pub fn get(&self, message: &[u64], name: &str) -> u64 {
        message[self.leaf(name).at]
    }

    /// The words of a leaf.
    pub fn wide<'a>(&self, message: &'a [u64], name: &str) -> &'a [u64] {
        let leaf = self.leaf(name);
        &message[leaf.at..leaf.at + leaf.words()]
    }

    /// Sets a leaf's low words.
    pub fn set(&self, message: &mut [u64], name: &str, words: &[u64]) {
        let leaf = self.leaf(name);
        message[leaf.at..][..words.len()].copy_from_slice(words);
    }

    /// A message of small numbers, everything else zero.
    pub fn message(&self, fields: &[(&str, u64)]) -> Vec<u64> {
        let mut message = vec![0; self.words];
        fields.iter().for_each(|(name, value)| self.set(&mut message, name, &[*value]));
        message
    }

    /// Leaves that mean nothing in a message.
    pub fn ignored(&self, message: &[u64]) -> Vec<&FormLeaf> {
        let void = |rule: &&Ignore| !rule.is.contains(&self.get(message, rule.unless));
        let names = self.rules.iter().filter(void).flat_map(|rule| rule.leaves);
        names.map(|name| self.leaf(name)).collect()
    }

    /// Makes what means nothing zero.
    pub fn clean(&self, message: &mut [u64]) {
        let ignored: Vec<(usize, usize)> =
            self.ignored(message).iter().map(|leaf| (leaf.at, leaf.words())).collect();
        ignored.into_iter().for_each(|(at, words)| message[at..at + words].fill(0));
        let Some(masked) = self.masks else { return };
        let named = masked.masks.iter().fold(0, |sum, mask| sum | self.get(message, mask));
        let (leaf, bits) = (self.leaf(masked.leaf), masked.bits);
        for part in (0..leaf.width / bits).filter(|part| named >> part & 1 == 0) {
            for bit in part * bits..(part + 1) * bits {
                message[leaf.at + bit as usize / 64] &= !(1 << (bit % 64));
            }
        }
    }

    /// The leaves that are not zero, as text.
    pub fn text(&self, message: &[u64]) -> String {
        let mut out = Vec::new();
        for leaf in &self.leaves {
            let words = &message[leaf.at..leaf.at + leaf.words()];
            if words.iter().any(|word| *word != 0) {
                let digits: Vec<String> = words.iter().rev().map(|word| format!("{word:x}")).collect();
                out.push(format!("{}={}", leaf.name, digits.join("_").trim_start_matches(['0', '_'])));
            }
        }
        out.join(" ")
    }
}
