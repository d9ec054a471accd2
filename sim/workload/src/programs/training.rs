//! Training of two image networks (rec.md section 10, DNN): forward pass, backward pass, update of the weights. Convolutions are unfolding and
//! a matrix product; there are no biases and no normalisation.

use super::common::{LANES, SEED};
use super::params::{Legal, ParamSpec, Params, size};
use super::simt::Simt;
use super::tape::{Filter, Maps, Matrix, Place, Rule, Tape};
use super::{WorkloadError, WorkloadInfo};

const PARAMS: &[ParamSpec] = &[
    size("batch", "1", 256, "images", "Images of a batch."),
    ParamSpec {
        name: "image",
        default: "32",
        legal: Legal::Integer { min: 32, max: 256 },
        unit: "places",
        about: "Rows and columns of an image, a multiple of 32.",
    },
    size("scale", "64", 64, "", "Divides all numbers of channels."),
    size("classes", "10", 1000, "classes", "Classes of the images."),
    size("steps", "1", 100, "batches", "Training steps, each on the same batch."),
    ParamSpec {
        name: "rate",
        default: "0.01",
        legal: Legal::Real { min: 1e-6, max: 1.0 },
        unit: "",
        about: "Step of the weights against the gradient.",
    },
    LANES,
    SEED,
];

/// Registry entry.
pub const VGG16: WorkloadInfo = WorkloadInfo {
    name: "vgg16",
    about: "Training of VGG16: thirteen 3 x 3 convolutions and three full layers, forward, backward and update.",
    params: PARAMS,
    published: &[("batch", "32"), ("image", "64"), ("scale", "1"), ("classes", "200")],
    takes_graph: false,
    make: |params, _| Simt::from_params(vgg16, params),
};

/// Registry entry.
pub const RESNET18: WorkloadInfo = WorkloadInfo {
    name: "resnet18",
    about: "Training of ResNet18: eight residual blocks of two 3 x 3 convolutions, forward, backward and update.",
    params: PARAMS,
    published: &[("batch", "32"), ("image", "64"), ("scale", "1"), ("classes", "200")],
    takes_graph: false,
    make: |params, _| Simt::from_params(resnet18, params),
};

/// A layer that has been applied, with what its derivative needs.
#[derive(Clone, Copy, Debug)]
enum Applied {
    Convolution { from: Maps, to: Maps, filter: Filter, weights: Place, unfolded: Place },
    Rectified { result: Place, length: u64 },
    Pooled { from: Maps },
    Mean { from: Maps },
    Flattened { from: Maps },
    Full { from: Place, inputs: u64, outputs: u64, weights: Place },
}

/// A network as it grows, one training step at a time.
struct Net {
    tape: Tape,
    classes: u64,
    scale: u64,
    rate: f32,
    image: Maps,
    labels: Place,
    /// Weights in order of their layers, made in the first step.
    weights: Vec<Place>,
    used: usize,
    outputs: Place,
}

/// What a residual block did: two convolutions, the way around them, and the cut of their sum.
struct Block {
    main: Vec<Applied>,
    around: Vec<Applied>,
    cut: Vec<Applied>,
}

impl Net {
    fn new(name: &'static str, params: &Params) -> Result<Net, WorkloadError> {
        let side = params.integer("image");
        if !side.is_multiple_of(32) {
            return Err(WorkloadError::Illegal {
                workload: name,
                name: "image".into(),
                value: side.to_string(),
                legal: "a multiple of 32 in 32..256".into(),
            });
        }
        let mut tape = Tape::new(name, params);
        let image = tape.images(3, side);
        let classes = params.integer("classes");
        let labels = tape.labels(classes);
        Ok(Net {
            tape,
            classes,
            scale: params.integer("scale"),
            rate: params.real("rate") as f32,
            image,
            labels,
            weights: vec![],
            used: 0,
            outputs: labels,
        })
    }

    fn channels(&self, published: u64) -> u64 {
        (published / self.scale).max(1)
    }

    fn weights(&mut self, rows: u64, inner: u64) -> Place {
        if self.used == self.weights.len() {
            let fresh = self.tape.weights(rows, inner);
            self.weights.push(fresh);
        }
        self.used += 1;
        self.weights[self.used - 1]
    }

    fn length(&self, maps: Maps) -> u64 {
        maps.channels * self.tape.batch * maps.side * maps.side
    }

    fn convolve(&mut self, from: Maps, channels: u64, filter: Filter, done: &mut Vec<Applied>) -> Maps {
        let side = (from.side + 2 * filter.pad - filter.side) / filter.stride + 1;
        let (taps, columns) = (from.channels * filter.side * filter.side, self.tape.batch * side * side);
        let weights = self.weights(channels, taps);
        let rule = Rule::Unfold { from, filter, to_side: side };
        let unfolded = self.tape.compute("unfold", taps * columns, rule);
        let (left, right) = (Matrix::new(weights, taps), Matrix::new(unfolded, columns));
        let rule = Rule::Product { left, right, inner: taps, columns };
        let array = self.tape.compute("convolve", channels * columns, rule);
        let to = Maps { array, channels, side };
        done.push(Applied::Convolution { from, to, filter, weights, unfolded });
        to
    }

    fn rectify(&mut self, from: Place, length: u64, done: &mut Vec<Applied>) -> Place {
        let result = self.tape.compute("rectify", length, Rule::Rectify { from });
        done.push(Applied::Rectified { result, length });
        result
    }

    fn rectified(&mut self, from: Maps, done: &mut Vec<Applied>) -> Maps {
        Maps { array: self.rectify(from.array, self.length(from), done), ..from }
    }

    fn pool(&mut self, from: Maps, done: &mut Vec<Applied>) -> Maps {
        let to = Maps { side: from.side / 2, ..from };
        let array = self.tape.compute("pool", self.length(to), Rule::MaxPool { from });
        done.push(Applied::Pooled { from });
        Maps { array, ..to }
    }

    fn full(&mut self, from: Place, inputs: u64, outputs: u64, done: &mut Vec<Applied>) -> Place {
        let (weights, batch) = (self.weights(outputs, inputs), self.tape.batch);
        let (left, right) = (Matrix::new(weights, inputs), Matrix::new(from, batch));
        let rule = Rule::Product { left, right, inner: inputs, columns: batch };
        done.push(Applied::Full { from, inputs, outputs, weights });
        self.tape.compute("full", outputs * batch, rule)
    }

    fn loss(&mut self, outputs: Place) -> Place {
        self.outputs = outputs;
        let (labels, classes) = (self.labels, self.classes);
        let rule = Rule::Loss { from: outputs, labels, classes };
        self.tape.compute("loss", classes * self.tape.batch, rule)
    }

    /// Carries a derivative back through layers, last first, and changes their weights.
    fn back(&mut self, mut slope: Place, done: &[Applied]) -> Place {
        for layer in done.iter().rev() {
            slope = self.back_through(slope, *layer);
        }
        slope
    }

    fn back_through(&mut self, slope: Place, layer: Applied) -> Place {
        let batch = self.tape.batch;
        match layer {
            Applied::Convolution { from, to, filter, weights, unfolded } => {
                let (taps, columns) = (from.channels * filter.side * filter.side, batch * to.side * to.side);
                let back = Matrix::new(slope, columns);
                let of_weights = Rule::Product {
                    left: back,
                    right: Matrix::new(unfolded, columns).transposed(),
                    inner: columns,
                    columns: taps,
                };
                let of_input = Rule::Product {
                    left: Matrix::new(weights, taps).transposed(),
                    right: back,
                    inner: to.channels,
                    columns,
                };
                let gradient = self.tape.compute("gradient", to.channels * taps, of_weights);
                // Nobody asks for the derivative of the images.
                let input = if from.array == self.image.array {
                    slope
                } else {
                    let spread = self.tape.compute("spread", taps * columns, of_input);
                    let rule = Rule::Fold { from: spread, maps: from, filter, to_side: to.side };
                    self.tape.compute("fold", self.length(from), rule)
                };
                self.update(weights, to.channels * taps, gradient);
                input
            }
            Applied::Rectified { result, length } => {
                self.tape.compute("rectify_back", length, Rule::RectifyBack { from: slope, result })
            }
            Applied::Pooled { from } => {
                let rule = Rule::MaxPoolBack { from: slope, maps: from };
                self.tape.compute("pool_back", self.length(from), rule)
            }
            Applied::Mean { from } => {
                let rule = Rule::MeanPoolBack { from: slope, places: from.side * from.side };
                self.tape.compute("mean_back", self.length(from), rule)
            }
            Applied::Flattened { from } => {
                let rule = Rule::FlattenBack { from: slope, maps: from };
                self.tape.compute("flatten_back", self.length(from), rule)
            }
            Applied::Full { from, inputs, outputs, weights } => {
                let back = Matrix::new(slope, batch);
                let right = Matrix::new(from, batch).transposed();
                let rule = Rule::Product { left: back, right, inner: batch, columns: inputs };
                let gradient = self.tape.compute("gradient", outputs * inputs, rule);
                let left = Matrix::new(weights, inputs).transposed();
                let rule = Rule::Product { left, right: back, inner: outputs, columns: batch };
                let input = self.tape.compute("full_back", inputs * batch, rule);
                self.update(weights, outputs * inputs, gradient);
                input
            }
        }
    }

    fn update(&mut self, weights: Place, length: u64, gradient: Place) {
        self.tape.change("update", weights, length, Rule::Update { gradient, rate: self.rate });
    }
}

const THREE: Filter = Filter { side: 3, stride: 1, pad: 1 };

fn steps(params: &Params) -> u64 {
    params.integer("steps")
}

fn vgg16(params: &Params) -> Result<Tape, WorkloadError> {
    let mut net = Net::new(VGG16.name, params)?;
    (0..steps(params)).for_each(|_| net.vgg16_step());
    Ok(net.tape)
}

fn resnet18(params: &Params) -> Result<Tape, WorkloadError> {
    let mut net = Net::new(RESNET18.name, params)?;
    (0..steps(params)).for_each(|_| net.resnet18_step());
    Ok(net.tape)
}

impl Net {
    fn vgg16_step(&mut self) {
        self.used = 0;
        let (mut maps, mut done) = (self.image, Vec::new());
        for (channels, layers) in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)] {
            for _ in 0..layers {
                let sums = self.convolve(maps, self.channels(channels), THREE, &mut done);
                maps = self.rectified(sums, &mut done);
            }
            maps = self.pool(maps, &mut done);
        }
        let mut inputs = maps.channels * maps.side * maps.side;
        let length = inputs * self.tape.batch;
        let mut values = self.tape.compute("flatten", length, Rule::Flatten { from: maps });
        done.push(Applied::Flattened { from: maps });
        let wide = self.channels(4096);
        for _ in 0..2 {
            let sums = self.full(values, inputs, wide, &mut done);
            values = self.rectify(sums, wide * self.tape.batch, &mut done);
            inputs = wide;
        }
        let outputs = self.full(values, inputs, self.classes, &mut done);
        let slope = self.loss(outputs);
        self.back(slope, &done);
    }

    fn resnet18_step(&mut self) {
        self.used = 0;
        let mut first = Vec::new();
        let sums = self.convolve(self.image, self.channels(64), THREE, &mut first);
        let mut maps = self.rectified(sums, &mut first);
        let mut blocks = Vec::new();
        for (channels, stride) in
            [(64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)]
        {
            let (next, block) = self.block(maps, self.channels(channels), stride);
            maps = next;
            blocks.push(block);
        }
        let mut last = vec![Applied::Mean { from: maps }];
        let length = maps.channels * self.tape.batch;
        let values = self.tape.compute("mean", length, Rule::MeanPool { from: maps });
        let outputs = self.full(values, maps.channels, self.classes, &mut last);
        let loss = self.loss(outputs);
        let mut slope = self.back(loss, &last);
        for block in blocks.iter().rev() {
            slope = self.block_back(slope, block);
        }
        self.back(slope, &first);
    }

    fn block(&mut self, from: Maps, channels: u64, stride: u64) -> (Maps, Block) {
        let mut block = Block { main: vec![], around: vec![], cut: vec![] };
        let inner = self.convolve(from, channels, Filter { stride, ..THREE }, &mut block.main);
        let inner = self.rectified(inner, &mut block.main);
        let left = self.convolve(inner, channels, THREE, &mut block.main);
        let right = if stride == 1 && channels == from.channels {
            from
        } else {
            self.convolve(from, channels, Filter { side: 1, stride, pad: 0 }, &mut block.around)
        };
        let length = self.length(left);
        let sum = self.tape.compute("join", length, Rule::Add { left: left.array, right: right.array });
        let array = self.rectify(sum, length, &mut block.cut);
        (Maps { array, ..left }, block)
    }

    fn block_back(&mut self, slope: Place, block: &Block) -> Place {
        let slope = self.back(slope, &block.cut);
        let (left, right) = (self.back(slope, &block.main), self.back(slope, &block.around));
        let Some(Applied::Convolution { from, .. }) = block.main.first() else {
            unreachable!("a block begins with a convolution")
        };
        let length = self.length(*from);
        self.tape.compute("join_back", length, Rule::Add { left, right })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn net(info: &WorkloadInfo, step: fn(&mut Net), steps: usize) -> Net {
        let given = [("batch", "2"), ("scale", "32"), ("classes", "4"), ("rate", "0.0001")];
        let given: BTreeMap<String, String> =
            given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let params = Params::resolve(info.name, info.params, &given).expect("legal");
        let mut net = Net::new(info.name, &params).expect("legal");
        (0..steps).for_each(|_| step(&mut net));
        net
    }

    /// A small step changes the loss by minus the rate times the gradient's square: so every part of the gradient is right.
    #[test]
    fn the_loss_falls_as_the_gradient_says() {
        for (info, step) in
            [(&VGG16, Net::vgg16_step as fn(&mut Net)), (&RESNET18, Net::resnet18_step as fn(&mut Net))]
        {
            let (one, two) = (net(info, step, 1), net(info, step, 2));
            let entropy = |net: &Net| net.tape.entropy(net.outputs, net.labels, net.classes);
            let square: f32 = one
                .weights
                .iter()
                .map(|weights| {
                    let (before, after) = (one.tape.first(*weights), one.tape.result(*weights));
                    let change = before.iter().zip(&after).map(|(b, a)| ((b - a) / one.rate).powi(2));
                    change.sum::<f32>()
                })
                .sum();
            let (foreseen, found) = (one.rate * square, entropy(&one) - entropy(&two));
            assert!(foreseen > 0.0002, "{}: {foreseen}", info.name);
            assert!((found / foreseen - 1.0).abs() < 0.05, "{}: {found} for {foreseen}", info.name);
        }
    }
}
