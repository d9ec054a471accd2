//! Convolution layers as products with implicit unfolding: the programs that are chains of them.

use super::common::{LANES, SEED};
use super::params::{ParamSpec, Params, size};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Thread};
use super::warm::WARMUP;
use crate::data;
use crate::program::VerifyError;

/// Threads of a work-group.
const GROUP: u32 = 64;
/// Filters that a thread computes at one place, so that it uses each activation so often.
const FILTERS: u64 = 4;
/// Elements of the inner dimension in a round.
const UNROLL: u64 = 4;
/// Slot of the elements that a layer adds.
const S_SKIP: u64 = UNROLL * (1 + FILTERS);

/// Activations: channels of square maps.
#[derive(Clone, Copy, Debug)]
pub struct Maps {
    array: usize,
    /// Channels.
    pub channels: u64,
    /// Rows and columns.
    pub side: u64,
}

/// One convolution, one kernel.
#[derive(Clone, Debug)]
struct Layer {
    name: &'static str,
    from: Maps,
    to: Maps,
    weights: usize,
    kernel: u64,
    stride: u64,
    pad: u64,
    /// Maps added before negative values are cut off.
    skip: Option<Maps>,
}

/// Shape of a convolution.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Filters.
    pub filters: u64,
    /// Rows and columns of a filter.
    pub kernel: u64,
    /// Places from one application to the next.
    pub stride: u64,
    /// Zeros around the maps.
    pub pad: u64,
}

/// Convolutions, one kernel each, of a batch of one image.
#[derive(Clone, Debug)]
pub struct Layers {
    base: Base,
    seed: u64,
    layers: Vec<Layer>,
}

/// Parameters of a program that is one convolution: channels, filters, rows of the image, rows of a filter, stride.
pub const fn parameters(defaults: [&'static str; 5]) -> [ParamSpec; 8] {
    let [channels, filters, image, kernel, stride] = defaults;
    [
        size("channels", channels, 4096, "channels", "Channels of the image."),
        size(
            "filters",
            filters,
            4096,
            "filters",
            "Filters, which are channels of the result; rounded up to a multiple of 4 by idle work.",
        ),
        size("image", image, 1024, "places", "Rows and columns of the image."),
        size("kernel", kernel, 15, "places", "Rows and columns of a filter."),
        size("stride", stride, 8, "places", "Places from one application of a filter to the next."),
        LANES,
        SEED,
        WARMUP,
    ]
}

impl Layers {
    /// No layers yet.
    pub fn new(name: &'static str, params: &Params) -> Self {
        Self { base: Base::new(name, params), seed: params.integer("seed"), layers: vec![] }
    }

    /// The program of one convolution with zeros around half a filter wide.
    pub fn single(name: &'static str, params: &Params) -> Self {
        let [channels, filters, image, kernel, stride] =
            ["channels", "filters", "image", "kernel", "stride"].map(|name| params.integer(name));
        let mut layers = Self::new(name, params);
        let input = layers.image(channels, image);
        layers.convolve("conv", input, Shape { filters, kernel, stride, pad: kernel / 2 }, None);
        layers
    }

    /// Adds input maps.
    pub fn image(&mut self, channels: u64, side: u64) -> Maps {
        let init = data::units(self.seed, 0, (channels * side * side) as usize);
        Maps { array: self.base.input("image", data::f32_bytes(&init)), channels, side }
    }

    /// Adds a convolution of `from`, plus `skip`, negative values cut off.
    pub fn convolve(&mut self, name: &'static str, from: Maps, shape: Shape, skip: Option<Maps>) -> Maps {
        let Shape { filters, kernel, stride, pad } = shape;
        let number = self.layers.len();
        let taps = from.channels * kernel * kernel;
        // Weights of both signs, of a size that keeps the sums of a chain of layers near 1.
        let scale = 4.0 / taps as f32;
        let weights: Vec<f32> = data::units(self.seed, 1 + number as u64, (filters * taps) as usize)
            .into_iter()
            .map(|u| (u - 0.75) * scale)
            .collect();
        let weights = self.base.input(&format!("weights{number}"), data::f32_bytes(&weights));
        let side = (from.side + 2 * pad).saturating_sub(kernel) / stride + 1;
        let array = self.base.zeros(&format!("maps{number}"), filters * side * side);
        let to = Maps { array, channels: filters, side };
        self.layers.push(Layer { name, from, to, weights, kernel, stride, pad, skip });
        to
    }
}

impl Layer {
    fn taps(&self) -> u64 {
        self.from.channels * self.kernel * self.kernel
    }

    /// Element of the input under a tap at a place of the result; `None` in the zeros around.
    fn under(&self, place: u64, tap: u64) -> Option<u64> {
        let (channel, within) = (tap / (self.kernel * self.kernel), tap % (self.kernel * self.kernel));
        let row = (place / self.to.side * self.stride + within / self.kernel).checked_sub(self.pad)?;
        let column = (place % self.to.side * self.stride + within % self.kernel).checked_sub(self.pad)?;
        let side = self.from.side;
        (row < side && column < side).then_some((channel * side + row) * side + column)
    }

    fn places(&self) -> u64 {
        self.to.side * self.to.side
    }
}

/// What a layer stores.
fn activate(sum: f32, skip: f32) -> f32 {
    (sum + skip).max(0.0)
}

impl Kernels for Layers {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let layer = self.layers.get(index)?;
        let threads = layer.places() * layer.to.channels.div_ceil(FILTERS);
        Some(Launch::new(layer.name, index as u32, threads, GROUP).registers(FILTERS))
    }

    fn round(&self, t: &Thread, sums: &mut [u64], io: &mut Round) -> Flow {
        let layer = &self.layers[t.phase as usize];
        let (place, first) = (t.id % layer.places(), t.id / layer.places() * FILTERS);
        let filters = FILTERS.min(layer.to.channels - first);
        let taps = layer.taps();
        if t.round > 0 {
            let from = (t.round - 1) * UNROLL;
            for tap in from..taps.min(from + UNROLL) {
                let slot = (tap - from) * (1 + FILTERS);
                let x = if layer.under(place, tap).is_some() { t.float(slot) } else { 0.0 };
                for f in 0..filters {
                    let sum = f32::from_bits(sums[f as usize] as u32) + x * t.float(slot + 1 + f);
                    sums[f as usize] = u64::from(sum.to_bits());
                }
            }
            io.alu(UNROLL * FILTERS);
        }
        let from = t.round * UNROLL;
        let result = |f: u64| (first + f) * layer.places() + place;
        if from >= taps {
            for f in 0..filters {
                let skip = if layer.skip.is_some() { t.float(S_SKIP + f) } else { 0.0 };
                let sum = f32::from_bits(sums[f as usize] as u32);
                io.put(f, self.base.at(layer.to.array, result(f)), activate(sum, skip));
            }
            return Flow::End;
        }
        if let Some(skip) = layer.skip.filter(|_| t.round == 0) {
            (0..filters).for_each(|f| io.read(S_SKIP + f, self.base.at(skip.array, result(f))));
        }
        for tap in from..taps.min(from + UNROLL) {
            let slot = (tap - from) * (1 + FILTERS);
            if let Some(x) = layer.under(place, tap) {
                io.read(slot, self.base.at(layer.from.array, x));
            }
            for f in 0..filters {
                io.read(slot + 1 + f, self.base.at(layer.weights, (first + f) * taps + tap));
            }
        }
        Flow::Next
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let mut now: Vec<Vec<f32>> = (0..self.base.count()).map(|i| self.base.first(i)).collect();
        for layer in &self.layers {
            let taps = layer.taps();
            let result = |i: u64| {
                let (filter, place) = (i / layer.places(), i % layer.places());
                let weights = &now[layer.weights][(filter * taps) as usize..];
                let x = |tap| layer.under(place, tap).map_or(0.0, |x| now[layer.from.array][x as usize]);
                let sum = (0..taps).fold(0.0, |sum, tap| sum + x(tap) * weights[tap as usize]);
                activate(sum, layer.skip.map_or(0.0, |skip| now[skip.array][i as usize]))
            };
            now[layer.to.array] = (0..layer.to.channels * layer.places()).map(result).collect();
            self.base.check(layer.to.array, &now[layer.to.array], memory)?;
        }
        Ok(())
    }
}
