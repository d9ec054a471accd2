//! MM3 (PolyBench 3mm): `E = A B; F = C D; G = E F`.

use super::params::Params;
use super::product::{Chain, Product, SQUARE};
use super::simt::Simt;
use super::{WorkloadError, WorkloadInfo};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "mm3",
    about: "E = A B; F = C D; G = E F, three kernels, one thread per element (PolyBench 3mm).",
    params: SQUARE,
    published: &[("n", "1536")],
    takes_graph: false,
    make: |params, _| Simt::from_params(new, params),
};

fn new(params: &Params) -> Result<Chain, WorkloadError> {
    let n = params.integer("n");
    let mut chain = Chain::new(INFO.name, params);
    let [a, b, c, d] = ["A", "B", "C", "D"].map(|name| chain.input(name, n, n, true));
    let [e, f, g] = ["E", "F", "G"].map(|name| chain.result(name, n, n));
    let (alpha, beta, column_bands) = (1.0, 0.0, false);
    let step = |target, left, right, name| Product { target, left, right, alpha, beta, name, column_bands };
    Ok(chain.multiply(step(e, a, b, "mm3_first")).multiply(step(f, c, d, "mm3_second")).multiply(step(
        g,
        e,
        f,
        "mm3_third",
    )))
}
