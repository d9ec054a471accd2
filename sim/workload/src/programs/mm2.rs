//! MM2 (PolyBench 2mm): `tmp = a A B; D = tmp C + b D`.

use super::params::Params;
use super::product::{Chain, Product, SQUARE};
use super::simt::Simt;
use super::{WorkloadError, WorkloadInfo};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "mm2",
    about: "tmp = a A B; D = tmp C + b D, two kernels, one thread per element (PolyBench 2mm).",
    params: SQUARE,
    published: &[("n", "2560")],
    takes_graph: false,
    make: |params, _| Simt::from_params(new, params),
};

fn new(params: &Params) -> Result<Chain, WorkloadError> {
    let n = params.integer("n");
    let mut chain = Chain::new(INFO.name, params);
    let [a, b, c] = ["A", "B", "C"].map(|name| chain.input(name, n, n, true));
    let d = chain.input("D", n, n, false);
    let tmp = chain.result("tmp", n, n);
    Ok(chain
        .multiply(Product { target: tmp, left: a, right: b, alpha: 1.25, beta: 0.0, name: "mm2_first" })
        .multiply(Product { target: d, left: tmp, right: c, alpha: 1.0, beta: 0.75, name: "mm2_second" }))
}
