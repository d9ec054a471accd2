//! A program: y = a x + y, a thread for each element.

use weft_workload::programs::{Legal, ParamSpec, Params};
use weft_workload::{
    Access, Addrs, Array, Frame, HostStep, Kernel, Layout, LoadedValues, Op, Program, Values,
    VerifyError, WorkloadInfo, data, full_mask,
};

/// The program as commands list it.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "saxpy",
    about: "y = a x + y, one thread per element",
    params: &[
        whole("length", "4096", 1 << 24, "elements", "elements of x and y"),
        whole(
            "lanes",
            "64",
            64,
            "lanes",
            "lanes of a wave; the fabric's, where it has fewer",
        ),
    ],
    published: &[],
    takes_graph: false,
    make: |params, _| Ok(Box::new(Saxpy::new(params)) as Box<dyn Program>),
};

const fn whole(
    name: &'static str,
    default: &'static str,
    max: u64,
    unit: &'static str,
    about: &'static str,
) -> ParamSpec {
    ParamSpec {
        name,
        default,
        legal: Legal::Integer { min: 1, max },
        unit,
        about,
    }
}

/// Waves of a work-group.
const WAVES: u32 = 4;
const A: f32 = 2.5;
const X: usize = 0;
const Y: usize = 1;

/// The program; what changes while it runs is in frames and in the simulated memory.
struct Saxpy {
    length: u64,
    lanes: u32,
    layout: Layout,
}

impl Saxpy {
    fn new(params: &Params) -> Saxpy {
        let (length, lanes) = (params.integer("length"), params.integer("lanes") as u32);
        let mut layout = Layout::new();
        for (stream, name, read_only) in [(0, "x", true), (1, "y", false)] {
            let values = data::units(1, stream, length as usize);
            layout.add(name, 4, length, read_only, data::f32_bytes(&values));
        }
        Saxpy {
            length,
            lanes,
            layout,
        }
    }

    /// First contents of an array.
    fn first(&self, array: usize) -> Vec<f32> {
        data::f32_values(&self.layout.arrays()[array].init)
    }
}

impl Program for Saxpy {
    fn name(&self) -> &str {
        INFO.name
    }

    fn lanes(&self) -> u32 {
        self.lanes
    }

    fn arrays(&self) -> &[Array] {
        self.layout.arrays()
    }

    fn host_step(&self, index: usize, _: &dyn Fn(u64, usize) -> Vec<u8>) -> Option<HostStep> {
        let group = u64::from(self.lanes * WAVES);
        (index == 0).then(|| {
            HostStep::Launch(Kernel {
                id: 0,
                name: "saxpy".into(),
                blocks: self.length.div_ceil(group) as u32,
                cpus: 0,
                waves_per_block: WAVES,
                lds_bytes: 0,
                args: vec![],
                co_resident: false,
            })
        })
    }

    fn start(&self, kernel: &Kernel, block: u32, wave: u32) -> Frame {
        Frame {
            kernel: kernel.id,
            block,
            wave,
            pc: 0,
            vars: vec![],
        }
    }

    fn step(&self, frame: &mut Frame, values: &LoadedValues) -> Vec<Op> {
        let first = u64::from((frame.block * WAVES + frame.wave) * self.lanes);
        let mask = full_mask(self.length.saturating_sub(first).min(u64::from(self.lanes)) as u32);
        if mask == 0 {
            return vec![Op::End];
        }
        let words = |array: usize| Addrs::Strided {
            base: self.layout.arrays()[array].at(first),
            stride: 4,
        };
        if frame.pc == 0 {
            frame.pc = 1;
            let load = |token, array| Op::Load {
                token,
                access: Access::data(4, words(array), mask),
            };
            return vec![load(0, X), load(1, Y), Op::Await { tokens: vec![0, 1] }];
        }
        let float = |token, lane| f32::from_bits(values.lane(token, lane) as u32);
        let sum = |lane| u64::from((A * float(0, lane) + float(1, lane)).to_bits());
        let sums = (0..self.lanes).map(sum).collect();
        vec![
            Op::Store {
                access: Access::data(4, words(Y), mask),
                values: Values::Lanes(sums),
            },
            Op::End,
        ]
    }

    fn verify(&self, memory: &dyn Fn(u64, usize) -> Vec<u8>) -> Result<(), VerifyError> {
        let y = &self.layout.arrays()[Y];
        let found = data::f32_values(&memory(y.addr, y.bytes() as usize));
        let expected: Vec<f32> = self
            .first(X)
            .iter()
            .zip(self.first(Y))
            .map(|(x, y)| A * x + y)
            .collect();
        let differ = |at: &usize| found[*at].to_bits() != expected[*at].to_bits();
        let wrong: Vec<usize> = (0..expected.len()).filter(differ).collect();
        let Some(at) = wrong.first().copied() else {
            return Ok(());
        };
        Err(VerifyError {
            program: INFO.name.into(),
            array: y.name.clone(),
            index: at as u64,
            found: found[at].to_string(),
            expected: expected[at].to_string(),
            wrong: wrong.len() as u64,
            total: expected.len() as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn memory_that_nobody_wrote_is_no_result() {
        let params =
            Params::resolve(INFO.name, INFO.params, &BTreeMap::new()).expect("defaults are legal");
        let program = Saxpy::new(&params);
        let y = &program.arrays()[Y];
        let untouched =
            |addr: u64, bytes: usize| y.init[(addr - y.addr) as usize..][..bytes].to_vec();
        let error = program.verify(&untouched).expect_err("y has not changed");
        assert_eq!((error.index, error.total), (0, 4096));
    }
}
