//! ResNet: residual blocks of two convolutions.

use super::common::{LANES, SEED};
use super::layers::{Layers, Shape};
use super::params::{Params, size};
use super::simt::Simt;
use super::warm::WARMUP;
use super::{WorkloadError, WorkloadInfo};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "resnet",
    about: "Residual blocks of two 3 x 3 convolutions, the block's input added to the second; each kernel reads what \
            other work-groups wrote in the one before.",
    params: &[
        size("blocks", "3", 64, "blocks", "Residual blocks."),
        size("channels", "16", 1024, "channels", "Channels of all maps."),
        size("image", "20", 256, "places", "Rows and columns of all maps."),
        LANES,
        SEED,
        WARMUP,
    ],
    published: &[("blocks", "16"), ("channels", "64"), ("image", "56")],
    takes_graph: false,
    make: |params, _| Simt::from_params(new, params),
};

fn new(params: &Params) -> Result<Layers, WorkloadError> {
    let mut layers = Layers::new(INFO.name, params);
    let mut maps = layers.image(params.integer("channels"), params.integer("image"));
    let shape = Shape { filters: maps.channels, kernel: 3, stride: 1, pad: 1 };
    for _ in 0..params.integer("blocks") {
        let inner = layers.convolve("resnet_first", maps, shape, None);
        maps = layers.convolve("resnet_second", inner, shape, Some(maps));
    }
    Ok(layers)
}
