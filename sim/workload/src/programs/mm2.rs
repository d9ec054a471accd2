//! MM2 (PolyBench 2mm): `tmp = a A B; D = tmp C + b D`.

use super::common::{LANES, SEED};
use super::matvec::ACCUM;
use super::params::{Legal, ParamSpec, Params, size};
use super::product::{Chain, Product, SQUARE};
use super::simt::Simt;
use super::{WorkloadError, WorkloadInfo};

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "mm2",
    about: "tmp = a A B; D = tmp C + b D, two kernels, one thread per element (PolyBench 2mm).",
    params: &[
        SQUARE[0],
        ParamSpec {
            name: "k2",
            default: "row_bands",
            legal: Legal::Choice(&["row_bands", "column_bands"]),
            unit: "",
            about: "Part of D that a GPU computes in the second kernel: with column_bands it reads rows of tmp that other GPUs wrote.",
        },
        size("repeat", "1", 1024, "times", "Times that the two kernels run, one after the other."),
        ACCUM,
        LANES,
        SEED,
    ],
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
    let column_bands = params.text("k2") == "column_bands";
    let first = Product {
        target: tmp,
        left: a,
        right: b,
        alpha: 1.25,
        beta: 0.0,
        name: "mm2_first",
        column_bands: false,
    };
    let second =
        Product { target: d, left: tmp, right: c, alpha: 1.0, beta: 0.75, name: "mm2_second", column_bands };
    Ok((0..params.integer("repeat")).fold(chain, |chain, _| chain.multiply(first).multiply(second)))
}
