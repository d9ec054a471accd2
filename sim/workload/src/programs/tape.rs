//! Training as a tape of kernels, each of one thread per element of its result: what unfolding (im2col), matrix products, element by element
//! functions and their derivatives are made of.

use super::params::Params;
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Thread};
use crate::data;
use crate::program::VerifyError;

/// Threads of a work-group (rec.md section 10).
const GROUP: u32 = 256;
/// Terms of a sum that a thread loads before it waits.
const UNROLL: u64 = 8;
/// Slot of the element beside the sum.
const S_BESIDE: u64 = 2 * UNROLL;

/// An array of the tape.
pub type Place = usize;

/// Maps of a batch, element (channel, image, row, column), the last fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maps {
    /// Values.
    pub array: Place,
    /// Channels.
    pub channels: u64,
    /// Rows and columns.
    pub side: u64,
}

/// Filters of a convolution without bias.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    /// Rows and columns.
    pub side: u64,
    /// Places from one application to the next.
    pub stride: u64,
    /// Zeros around the maps.
    pub pad: u64,
}

/// A matrix, row by row, or its transpose.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    /// Values.
    pub array: Place,
    /// Elements from a row to the next.
    pub row: u64,
    /// Elements from a column to the next.
    pub column: u64,
}

impl Matrix {
    /// A matrix of so many columns.
    pub fn new(array: Place, columns: u64) -> Matrix {
        Matrix { array, row: columns, column: 1 }
    }
    /// Its transpose.
    pub fn transposed(self) -> Matrix {
        Matrix { row: self.column, column: self.row, ..self }
    }
    fn at(self, row: u64, column: u64) -> (Place, u64) {
        (self.array, row * self.row + column * self.column)
    }
}

/// What one kernel computes.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// Element (tap, image, place) of the unfolded maps: the value under the tap.
    Unfold { from: Maps, filter: Filter, to_side: u64 },
    /// The sum of what was unfolded from each value.
    Fold { from: Place, maps: Maps, filter: Filter, to_side: u64 },
    /// Element (row, column) of a product of matrices.
    Product { left: Matrix, right: Matrix, inner: u64, columns: u64 },
    /// Negative values cut off.
    Rectify { from: Place },
    /// The derivative, where the result was positive.
    RectifyBack { from: Place, result: Place },
    /// The greatest of each 2 x 2 places.
    MaxPool { from: Maps },
    /// The derivative goes to the first of the greatest.
    MaxPoolBack { from: Place, maps: Maps },
    /// Mean over the places of a map, one for each channel and image.
    MeanPool { from: Maps },
    /// Its derivative.
    MeanPoolBack { from: Place, places: u64 },
    /// (channel, image, place) to (channel, place, image).
    Flatten { from: Maps },
    /// Back again.
    FlattenBack { from: Place, maps: Maps },
    /// Sum of two.
    Add { left: Place, right: Place },
    /// Softmax less one at the label, over the batch: the derivative of the cross entropy. Element (class, image).
    Loss { from: Place, labels: Place, classes: u64 },
    /// Weights less rate times gradient.
    Update { gradient: Place, rate: f32 },
}

/// A kernel of the tape.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    name: &'static str,
    to: Place,
    length: u64,
    rule: Rule,
}

/// State of a sum as it grows.
#[derive(Clone, Copy)]
struct Sum {
    value: f32,
    /// Term of the greatest value.
    first: u64,
}

/// A tape: arrays, and kernels in order.
#[derive(Clone, Debug)]
pub struct Tape {
    base: Base,
    seed: u64,
    /// Images of a batch.
    pub batch: u64,
    kernels: Vec<Kernel>,
}

impl Tape {
    /// An empty tape; takes `seed` and `batch` of the program's parameters.
    pub fn new(name: &'static str, params: &Params) -> Tape {
        let (seed, batch) = (params.integer("seed"), params.integer("batch"));
        Tape { base: Base::new(name, params), seed, batch, kernels: vec![] }
    }

    /// Adds images to learn from.
    pub fn images(&mut self, channels: u64, side: u64) -> Maps {
        let count = (channels * self.batch * side * side) as usize;
        let array = self.base.input("images", data::f32_bytes(&data::units(self.seed, 0, count)));
        Maps { array, channels, side }
    }

    /// Adds a class for each image.
    pub fn labels(&mut self, classes: u64) -> Place {
        let label = |image| (data::mix(self.seed, 1, image) % classes) as u32;
        let labels: Vec<u32> = (0..self.batch).map(label).collect();
        self.base.input("labels", data::u32_bytes(&labels))
    }

    /// Adds weights of both signs, of a size that keeps sums of `inner` terms near those of the inputs.
    pub fn weights(&mut self, rows: u64, inner: u64) -> Place {
        let stream = 2 + self.base.count() as u64;
        let scale = 2.0 * (6.0 / inner as f32).sqrt();
        let init: Vec<f32> = data::units(self.seed, stream, (rows * inner) as usize)
            .into_iter()
            .map(|u| (u - 1.0) * scale)
            .collect();
        let name = format!("weights{}", self.base.count());
        self.base.add(&name, rows * inner, false, data::f32_bytes(&init))
    }

    /// Adds a kernel with a result of its own.
    pub fn compute(&mut self, name: &'static str, length: u64, rule: Rule) -> Place {
        let to = self.base.zeros(&format!("{name}{}", self.kernels.len()), length);
        self.kernels.push(Kernel { name, to, length, rule });
        to
    }

    /// Adds a kernel that changes an array in place.
    pub fn change(&mut self, name: &'static str, to: Place, length: u64, rule: Rule) {
        self.kernels.push(Kernel { name, to, length, rule });
    }

    /// Values of an array after all kernels, computed by the host.
    fn host(&self) -> Vec<Vec<f32>> {
        let mut now: Vec<Vec<f32>> = (0..self.base.count()).map(|i| self.base.first(i)).collect();
        for kernel in &self.kernels {
            let load = |(array, index): (Place, u64)| now[array][index as usize];
            let element = |i| {
                let beside = kernel.beside(i).map_or(0.0, load);
                let terms = kernel.terms(i);
                let sum = (0..terms).fold(kernel.begin(), |sum, t| {
                    let [x, y] = kernel.term(i, t, self.batch);
                    kernel.add(sum, t, x.map_or(0.0, load), y.map_or(0.0, load), beside)
                });
                kernel.finish(i, sum, beside, self.batch)
            };
            now[kernel.to] = (0..kernel.length).map(element).collect();
        }
        now
    }
}

impl Kernel {
    /// Terms of element `i`'s sum.
    fn terms(&self, _: u64) -> u64 {
        match self.rule {
            Rule::Product { inner, .. } => inner,
            Rule::Fold { filter, .. } => filter.side * filter.side,
            Rule::MaxPool { .. } | Rule::MaxPoolBack { .. } => 4,
            Rule::MeanPool { from } => from.side * from.side,
            Rule::Add { .. } => 2,
            Rule::Loss { classes, .. } => classes,
            _ => 1,
        }
    }

    /// Element that is read beside the sum.
    fn beside(&self, i: u64) -> Option<(Place, u64)> {
        match self.rule {
            Rule::RectifyBack { result, .. } => Some((result, i)),
            Rule::MaxPoolBack { from, maps } => Some((from, pooled(maps.side, i))),
            Rule::Loss { from, .. } => Some((from, i)),
            Rule::Update { .. } => Some((self.to, i)),
            _ => None,
        }
    }

    /// What term `t` of element `i` multiplies; nothing counts as zero.
    fn term(&self, i: u64, t: u64, batch: u64) -> [Option<(Place, u64)>; 2] {
        let one = |array, index| [Some((array, index)), None];
        match self.rule {
            Rule::Unfold { from, filter, to_side } => {
                [under(from, filter, to_side, batch, i).map(|x| (from.array, x)), None]
            }
            Rule::Fold { from, maps, filter, to_side } => {
                [over(maps, filter, to_side, batch, i, t).map(|x| (from, x)), None]
            }
            Rule::Product { left, right, columns, .. } => {
                [Some(left.at(i / columns, t)), Some(right.at(t, i % columns))]
            }
            Rule::Rectify { from } | Rule::RectifyBack { from, .. } => one(from, i),
            Rule::MaxPool { from } => one(from.array, window(from.side, i, t)),
            Rule::MaxPoolBack { maps, .. } => one(maps.array, window(maps.side, pooled(maps.side, i), t)),
            Rule::MeanPool { from } => one(from.array, i * from.side * from.side + t),
            Rule::MeanPoolBack { from, places } => one(from, i / places),
            Rule::Flatten { from } => {
                let places = from.side * from.side;
                let (row, image) = (i / batch, i % batch);
                one(from.array, (row / places * batch + image) * places + row % places)
            }
            Rule::FlattenBack { from, maps } => {
                let places = maps.side * maps.side;
                let (channel, image, place) = (i / places / batch, i / places % batch, i % places);
                one(from, (channel * places + place) * batch + image)
            }
            Rule::Add { left, right } => one(if t == 0 { left } else { right }, i),
            Rule::Loss { from, labels, .. } => {
                [Some((from, t * batch + i % batch)), Some((labels, i % batch))]
            }
            Rule::Update { gradient, .. } => one(gradient, i),
        }
    }

    fn begin(&self) -> Sum {
        let value = match self.rule {
            Rule::MaxPool { .. } | Rule::MaxPoolBack { .. } => f32::NEG_INFINITY,
            _ => 0.0,
        };
        Sum { value, first: 0 }
    }

    fn add(&self, sum: Sum, t: u64, x: f32, y: f32, beside: f32) -> Sum {
        match self.rule {
            Rule::MaxPool { .. } | Rule::MaxPoolBack { .. } if x > sum.value => Sum { value: x, first: t },
            Rule::MaxPool { .. } | Rule::MaxPoolBack { .. } => sum,
            Rule::Product { .. } => Sum { value: sum.value + x * y, ..sum },
            // A label is an index; the sum remembers it.
            Rule::Loss { .. } => Sum { value: sum.value + (x - beside).exp(), first: u64::from(y.to_bits()) },
            _ => Sum { value: sum.value + x, ..sum },
        }
    }

    fn finish(&self, i: u64, sum: Sum, beside: f32, batch: u64) -> f32 {
        match self.rule {
            Rule::Rectify { .. } => sum.value.max(0.0),
            Rule::RectifyBack { .. } => {
                if beside > 0.0 {
                    sum.value
                } else {
                    0.0
                }
            }
            Rule::MaxPoolBack { maps, .. } => {
                if sum.first == corner(maps.side, i) {
                    beside
                } else {
                    0.0
                }
            }
            Rule::MeanPool { from } => sum.value / (from.side * from.side) as f32,
            Rule::MeanPoolBack { places, .. } => sum.value / places as f32,
            Rule::Loss { .. } => {
                let hit = if sum.first == i / batch { 1.0 } else { 0.0 };
                (1.0 / sum.value - hit) / batch as f32
            }
            Rule::Update { rate, .. } => beside - rate * sum.value,
            _ => sum.value,
        }
    }
}

/// Value of the maps under element `i` of what is unfolded from them; none in the zeros around.
fn under(from: Maps, filter: Filter, to_side: u64, batch: u64, i: u64) -> Option<u64> {
    let (taps, places) = (filter.side * filter.side, to_side * to_side);
    let (tap, image, place) = (i / places / batch, i / places % batch, i % places);
    let (channel, within) = (tap / taps, tap % taps);
    let row = (place / to_side * filter.stride + within / filter.side).checked_sub(filter.pad)?;
    let column = (place % to_side * filter.stride + within % filter.side).checked_sub(filter.pad)?;
    let inside = row < from.side && column < from.side;
    inside.then_some(((channel * batch + image) * from.side + row) * from.side + column)
}

/// Element of what is unfolded that lies over value `i` of the maps under tap `t` of its channel.
fn over(maps: Maps, filter: Filter, to_side: u64, batch: u64, i: u64, t: u64) -> Option<u64> {
    let (side, places) = (maps.side, to_side * to_side);
    let (channel, image) = (i / side / side / batch, i / side / side % batch);
    let back = |at: u64, tap: u64| {
        let from = (at + filter.pad).checked_sub(tap)?;
        (from % filter.stride == 0 && from / filter.stride < to_side).then_some(from / filter.stride)
    };
    let row = back(i / side % side, t / filter.side)?;
    let column = back(i % side, t % filter.side)?;
    let tap = channel * filter.side * filter.side + t;
    Some((tap * batch + image) * places + row * to_side + column)
}

/// Element of the halved maps over element `i`.
fn pooled(side: u64, i: u64) -> u64 {
    let (map, row, column) = (i / side / side, i / side % side, i % side);
    (map * (side / 2) + row / 2) * (side / 2) + column / 2
}

/// Place `t` of the four under element `i` of the halved maps.
fn window(side: u64, i: u64, t: u64) -> u64 {
    let half = side / 2;
    let (map, row, column) = (i / half / half, i / half % half, i % half);
    (map * side + 2 * row + t / 2) * side + 2 * column + t % 2
}

/// Which of the four an element is.
fn corner(side: u64, i: u64) -> u64 {
    i / side % side % 2 * 2 + i % side % 2
}

impl Kernels for Tape {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        let kernel = self.kernels.get(index)?;
        Some(Launch::new(kernel.name, index as u32, kernel.length, GROUP).registers(2))
    }

    fn round(&self, t: &Thread, registers: &mut [u64], io: &mut Round) -> Flow {
        let kernel = &self.kernels[t.phase as usize];
        let (terms, batch) = (kernel.terms(t.id), self.batch);
        let mut sum = Sum { value: f32::from_bits(registers[0] as u32), first: registers[1] };
        if t.round == 0 {
            sum = kernel.begin();
            if let Some((array, index)) = kernel.beside(t.id) {
                io.load(S_BESIDE, self.base.at(array, index));
            }
        } else {
            let (from, beside) = ((t.round - 1) * UNROLL, t.float(S_BESIDE));
            for term in from..terms.min(from + UNROLL) {
                let [x, y] = kernel.term(t.id, term, batch);
                let value = |is: bool, slot| if is { t.float(slot) } else { 0.0 };
                let slot = 2 * (term - from);
                sum = kernel.add(sum, term, value(x.is_some(), slot), value(y.is_some(), slot + 1), beside);
            }
            io.alu(UNROLL.min(terms - from));
        }
        (registers[0], registers[1]) = (u64::from(sum.value.to_bits()), sum.first);
        let from = t.round * UNROLL;
        if from >= terms {
            let beside = if kernel.beside(t.id).is_some() { t.float(S_BESIDE) } else { 0.0 };
            io.put(0, self.base.at(kernel.to, t.id), kernel.finish(t.id, sum, beside, batch));
            return Flow::End;
        }
        for term in from..terms.min(from + UNROLL) {
            for (side, at) in kernel.term(t.id, term, batch).into_iter().enumerate() {
                if let Some((array, index)) = at {
                    io.read(2 * (term - from) + side as u64, self.base.at(array, index));
                }
            }
        }
        Flow::Next
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let host = self.host();
        let mut results: Vec<Place> = self.kernels.iter().map(|k| k.to).collect();
        results.sort_unstable();
        results.dedup();
        results.into_iter().try_for_each(|array| self.base.check(array, &host[array], memory))
    }
}

#[cfg(test)]
impl Tape {
    /// Values of an array after all kernels.
    pub fn result(&self, array: Place) -> Vec<f32> {
        self.host()[array].clone()
    }

    /// Cross entropy of the batch: how little the outputs say of the labels.
    pub fn entropy(&self, outputs: Place, labels: Place, classes: u64) -> f32 {
        let host = self.host();
        let label = |image: u64| u64::from(host[labels][image as usize].to_bits());
        let value = |class: u64, image: u64| host[outputs][(class * self.batch + image) as usize];
        let of = |image| {
            let sum: f32 = (0..classes).map(|class| value(class, image).exp()).sum();
            sum.ln() - value(label(image), image)
        };
        (0..self.batch).map(of).sum::<f32>() / self.batch as f32
    }

    /// First values of an array.
    pub fn first(&self, array: Place) -> Vec<f32> {
        self.base.first(array)
    }
}
