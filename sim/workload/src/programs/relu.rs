//! Rectified linear unit (DNNMark): y = max(x, 0), a stream.

use super::common::{LANES, SEED};
use super::params::{Params, size};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "relu",
    about: "y = max(x, 0), one thread per element in work-groups of 256 (DNNMark ReLU, forward).",
    params: &[size("length", "262144", 1 << 28, "elements", "Elements of x."), LANES, SEED],
    published: &[("length", "8388608")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Relu::new, params),
};

const GROUP: u32 = 256;
const X: usize = 0;
const Y: usize = 1;

/// The stream.
#[derive(Clone, Debug)]
pub struct Relu {
    base: Base,
    length: u64,
}

impl Relu {
    /// Builds the program; `params` as in its registry entry. Half of the elements are negative.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let (length, seed) = (params.integer("length"), params.integer("seed"));
        let x: Vec<f32> = (0..length).map(|i| data::unit(seed, 0, i) - 1.0).collect();
        let mut base = Base::new(INFO.name, params);
        base.input("x", data::f32_bytes(&x));
        base.zeros("y", length);
        base.split();
        Ok(Self { base, length })
    }
}

impl Kernels for Relu {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        (index == 0).then(|| Launch::new("relu", 0, self.length, GROUP))
    }

    fn round(&self, t: &Thread, _: &mut [u64], io: &mut Round) -> Flow {
        if t.round == 0 {
            io.read(0, self.base.at(X, t.id));
            return Flow::Next;
        }
        io.alu(1);
        io.put(0, self.base.at(Y, t.id), t.float(0).max(0.0));
        Flow::End
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let x = self.base.first::<f32>(X);
        self.base.check(Y, &x.iter().map(|x| x.max(0.0)).collect::<Vec<_>>(), memory)
    }
}
