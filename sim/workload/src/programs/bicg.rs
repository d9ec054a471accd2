//! BICG (PolyBench): q = A p and s = A^T r, two kernels.

use super::matvec::Walk;
use super::matvecs::{MatVecs, PARAMS};
use super::params::Params;
use super::{WorkloadError, WorkloadInfo};
use crate::program::Program;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "bicg",
    about: "q = A p with one thread per row, then s = A^T r with one per column (PolyBench BICG).",
    params: PARAMS,
    published: &[("rows", "4096"), ("columns", "4096"), ("group", "256"), ("accum", "stores")],
    takes_graph: false,
    make,
};

fn make(params: &Params, _: Option<&crate::graph::Graph>) -> Result<Box<dyn Program>, WorkloadError> {
    let mut products = MatVecs::new(INFO.name, params);
    let (p, r) = (products.input("p", Walk::Row), products.input("r", Walk::Column));
    let (q, s) = (products.result("q", Walk::Row), products.result("s", Walk::Column));
    let products = products.multiply("bicg_rows", Walk::Row, p, q);
    Ok(Box::new(products.multiply("bicg_columns", Walk::Column, r, s)))
}
