//! ATAX (PolyBench): y = A^T (A x), two kernels.

use super::matvec::Walk;
use super::matvecs::{MatVecs, PARAMS};
use super::params::Params;
use super::{WorkloadError, WorkloadInfo};
use crate::program::Program;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "atax",
    about: "y = A^T (A x) in two kernels, one thread per row, then one per column (PolyBench ATAX).",
    params: PARAMS,
    published: &[("rows", "8192"), ("columns", "4096"), ("group", "256")],
    takes_graph: false,
    make,
};

fn make(params: &Params, _: Option<&crate::graph::Graph>) -> Result<Box<dyn Program>, WorkloadError> {
    let mut products = MatVecs::new(INFO.name, params);
    let x = products.input("x", Walk::Row);
    let tmp = products.result("tmp", Walk::Row);
    let y = products.result("y", Walk::Column);
    let products = products.multiply("atax_rows", Walk::Row, x, tmp);
    Ok(Box::new(products.multiply("atax_columns", Walk::Column, tmp, y)))
}
