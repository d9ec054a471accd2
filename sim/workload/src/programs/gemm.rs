//! GEMM (PolyBench): `C = a A B + b C`.

use super::common::{LANES, SEED};
use super::matvec::ACCUM;
use super::params::{Legal, ParamSpec, Params};
use super::product::{Chain, Product};
use super::simt::Simt;
use super::{WorkloadError, WorkloadInfo};

const fn dimension(name: &'static str, default: &'static str, about: &'static str) -> ParamSpec {
    ParamSpec { name, default, legal: Legal::Integer { min: 1, max: 16384 }, unit: "elements", about }
}

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "gemm",
    about: "C = a A B + b C, one thread per element in work-groups of 32 x 8 (PolyBench gemm).",
    params: &[
        dimension("m", "160", "Rows of A and C."),
        dimension("n", "160", "Columns of B and C."),
        dimension("k", "80", "Columns of A and rows of B."),
        ACCUM,
        LANES,
        SEED,
    ],
    published: &[("m", "4096"), ("n", "4096"), ("k", "2048")],
    takes_graph: false,
    make: |params, _| Simt::from_params(new, params),
};

fn new(params: &Params) -> Result<Chain, WorkloadError> {
    let [m, n, k] = ["m", "n", "k"].map(|name| params.integer(name));
    let mut chain = Chain::new(INFO.name, params);
    let left = chain.input("A", m, k, true);
    let right = chain.input("B", k, n, true);
    let target = chain.input("C", m, n, false);
    let (alpha, beta) = (1.25, 0.75);
    Ok(chain.multiply(Product { target, left, right, alpha, beta, name: "gemm", column_bands: false }))
}
