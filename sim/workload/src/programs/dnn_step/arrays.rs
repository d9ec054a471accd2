//! The arrays of the training step, and where each way has them.

use super::{DnnStep, LAYERS};
use crate::data;
use crate::program::Place;

/// How GPUs share the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Memcpy,
    Direct,
    ZeroCopy,
    Unified,
    Tsm,
}

impl Way {
    pub fn new(word: &str) -> Way {
        match word {
            "memcpy" => Way::Memcpy,
            "direct" => Way::Direct,
            "zerocopy" => Way::ZeroCopy,
            "unified" => Way::Unified,
            _ => Way::Tsm,
        }
    }

    /// Where weights and gradients are that belong to GPU `gpu`, of `of`.
    pub fn shared(self, gpu: u32, of: u32) -> Place {
        match self {
            Way::Memcpy => Place::Part { part: gpu, of },
            Way::Direct => Place::Part { part: 0, of },
            Way::ZeroCopy => Place::Host,
            Way::Unified => Place::Managed,
            Way::Tsm => Place::Policy,
        }
    }

    /// Where a GPU's own data is.
    pub fn own(self, part: u32, of: u32) -> Place {
        if self == Way::Tsm { Place::Policy } else { Place::Part { part, of } }
    }

    /// The host sends each batch; else the batches of all steps are where GPUs find them.
    pub fn sends(self) -> bool {
        matches!(self, Way::Memcpy | Way::Direct | Way::Tsm)
    }
}

/// Arrays as one GPU sees them.
#[derive(Clone, Debug)]
pub(super) struct Arrays {
    pub images: usize,
    pub labels: usize,
    /// Images before its own, of each step.
    pub skip: u64,
    pub weights: usize,
    pub gradient: usize,
    /// The gradient where GPU 0 finds it.
    pub received: usize,
    /// Results of each layer.
    pub activation: [usize; LAYERS],
    /// Derivatives of the error by what goes into the sigmoid of each layer.
    pub delta: [usize; LAYERS],
}

impl DnnStep {
    fn add(&mut self, name: &str, length: u64, init: Vec<u8>, place: Place) -> usize {
        let array = self.base.add(name, length, false, init);
        self.base.put(array, place);
        array
    }

    pub(super) fn add_arrays(&mut self, seed: u64) {
        let (way, gpus, weights) = (self.way, self.gpus as u32, self.first(LAYERS));
        let init = data::f32_bytes(&self.first_weights(seed));
        // Without sending, the batches of all GPUs and steps lie in one array; with one memory for all, those of a step do.
        let one_batch = way != Way::Memcpy && way != Way::Direct;
        for g in 0..gpus {
            let name = |what: &str| format!("{what}{g}");
            let shared = way.shared(g, gpus);
            let own = way.own(g, gpus);
            let (images, labels) = match self.of.first() {
                Some(first) if one_batch => (first.images, first.labels),
                _ => self.add_batch(&name("images"), &name("labels"), one_batch, own),
            };
            let weights_array = match self.of.first() {
                Some(first) if way != Way::Memcpy => first.weights,
                _ => self.add(&name("weights"), weights, init.clone(), shared),
            };
            let gradient = self.add(&name("gradient"), weights, vec![], shared);
            let received = match (way, g) {
                (Way::Memcpy, 1..) => self.add(&name("received"), weights, vec![], way.shared(0, gpus)),
                _ => gradient,
            };
            let length = |layer: usize| self.batch * self.widths[layer + 1];
            let lengths = [0, 1, 2].map(length);
            let mut layers = |what: &str| {
                [0, 1, 2].map(|l| self.add(&format!("{what}{g}_{}", l + 1), lengths[l], vec![], own))
            };
            let (activation, delta) = (layers("activation"), layers("delta"));
            let skip = if one_batch { u64::from(g) * self.batch } else { 0 };
            let weights = weights_array;
            self.of.push(Arrays { images, labels, skip, weights, gradient, received, activation, delta });
        }
    }

    /// Adds the arrays of images and labels: of one GPU's batch, or of all that are there at once.
    fn add_batch(&mut self, images: &str, labels: &str, all: bool, own: Place) -> (usize, usize) {
        if !self.way.sends() {
            let place = self.way.shared(0, 1);
            let (pixels, classes) = (data::f32_bytes(&self.images), data::u32_bytes(&self.labels));
            let both = [self.base.input(images, pixels), self.base.input(labels, classes)];
            both.iter().for_each(|array| self.base.put(*array, place));
            return both.into();
        }
        let count = if all { self.gpus * self.batch } else { self.batch };
        (self.add(images, count * self.widths[0], vec![], own), self.add(labels, count, vec![], own))
    }

    /// First image of a GPU's batch where it finds it.
    pub(super) fn image(&self, gpu: usize, step: u64) -> u64 {
        let before = if self.way.sends() { 0 } else { step * self.gpus * self.batch };
        before + self.of[gpu].skip
    }
}
