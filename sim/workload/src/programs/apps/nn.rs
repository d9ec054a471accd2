//! NN (Rodinia nn): distances of records from one place.

use super::super::common::{LANES, SEED};
use super::super::params::{Legal, ParamSpec, Params};
use super::super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::super::{WorkloadError, WorkloadInfo};
use super::GROUP;
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "nn",
    about: "Distance of each record of latitude and longitude from one place; the host looks for the nearest ones (Rodinia nn).",
    params: &[
        ParamSpec {
            name: "records",
            default: "40000",
            legal: Legal::Integer { min: 1, max: 1 << 26 },
            unit: "records",
            about: "Records.",
        },
        LANES,
        SEED,
    ],
    published: &[("records", "171056")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Nn::new, params),
};

/// Latitude and longitude of each record.
const RECORDS: usize = 0;
const DISTANCE: usize = 1;
/// The place.
const LATITUDE: f32 = 0.75;
const LONGITUDE: f32 = 1.125;

/// The search.
#[derive(Clone, Debug)]
pub struct Nn {
    base: Base,
    records: u64,
}

impl Nn {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let records = params.integer("records");
        let places = data::units(params.integer("seed"), 0, 2 * records as usize);
        let mut base = Base::new(INFO.name, params);
        base.input("records", data::f32_bytes(&places));
        base.zeros("distance", records);
        Ok(Self { base, records })
    }
}

fn distance(latitude: f32, longitude: f32) -> f32 {
    let (down, across) = (LATITUDE - latitude, LONGITUDE - longitude);
    (down * down + across * across).sqrt()
}

impl Kernels for Nn {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        (index == 0).then(|| Launch::new("euclid", 0, self.records, GROUP))
    }

    /// A record's two words are loaded one by one, as a structure without a declared alignment is.
    fn round(&self, t: &Thread, _: &mut [u64], io: &mut Round) -> Flow {
        if t.round == 0 {
            io.read(0, self.base.at(RECORDS, 2 * t.id));
            io.read(1, self.base.at(RECORDS, 2 * t.id + 1));
            return Flow::Next;
        }
        io.alu(4);
        io.sfu(1);
        io.put(0, self.base.at(DISTANCE, t.id), distance(t.float(0), t.float(1)));
        Flow::End
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let places = self.base.first::<f32>(RECORDS);
        let expected: Vec<f32> = places.chunks_exact(2).map(|p| distance(p[0], p[1])).collect();
        self.base.check(DISTANCE, &expected, memory)
    }
}
