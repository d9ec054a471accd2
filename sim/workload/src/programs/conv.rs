//! Single convolution layers of three networks.

use super::WorkloadInfo;
use super::layers::{Layers, parameters};
use super::simt::Simt;

macro_rules! layer {
    ($entry:ident, $name:literal, $about:literal, $default:expr, $published:expr) => {
        /// Registry entry.
        pub const $entry: WorkloadInfo = WorkloadInfo {
            name: $name,
            about: $about,
            params: &parameters($default),
            published: &$published,
            takes_graph: false,
            make: |params, _| Ok(Simt::boxed(Layers::single($name, params))),
        };
    };
}

layer!(
    ALEXNET,
    "alexnet",
    "Second convolution of AlexNet, 5 x 5 filters, one image: weights read by all, activations by bands with halos.",
    ["8", "32", "27", "5", "1"],
    [("channels", "96"), ("filters", "256")]
);

layer!(
    GOOGLENET,
    "googlenet",
    "Second convolution of GoogLeNet, 3 x 3 filters, one image.",
    ["16", "48", "28", "3", "1"],
    [("channels", "64"), ("filters", "192"), ("image", "56")]
);

layer!(
    OVERFEAT,
    "overfeat",
    "First convolution of OverFeat, 11 x 11 filters four places apart, one image.",
    ["3", "16", "115", "11", "4"],
    [("filters", "96"), ("image", "231")]
);
