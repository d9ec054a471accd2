//! A built-in program for a fabric: parameters that nobody gave follow the machine, and what does not fit is refused before
//! anything runs.

use crate::config::{CtaSchedule, FabricConfig};
use crate::cu::CuParams;
use crate::family::Shape;
use crate::run::{FabricError, NoRoom, check_program, count_of};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thiserror::Error;
use weft_workload::graph::Graph;
use weft_workload::{Built, Program, WorkloadError};

/// A program that fits.
#[derive(Clone)]
pub struct Fitted {
    /// The program.
    pub program: Arc<dyn Program>,
    /// All its parameters.
    pub params: BTreeMap<String, String>,
    /// Those that nobody gave and that the fabric decided.
    pub followed: Vec<&'static str>,
    /// Names of those that make a difference.
    pub used: BTreeSet<String>,
    /// The graph that it works on, if it takes one.
    pub graph: Option<Graph>,
}

/// A parameter that follows the fabric, which has no value that the program takes.
#[derive(Debug, Error)]
#[error(
    "{workload} cannot run on {fabric}, which has {value} {what}: it needs {name} = {legal}; take another fabric, or give --param {name}=VALUE"
)]
pub struct Lack {
    /// The program.
    pub workload: String,
    /// The fabric.
    pub fabric: String,
    /// The parameter.
    pub name: String,
    /// What the fabric has of it.
    pub value: String,
    /// What that counts.
    pub what: &'static str,
    /// What the program takes.
    pub legal: String,
}

/// Why a program cannot run on a fabric.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum FitError {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error(transparent)]
    Lacks(Box<Lack>),
    #[error("{workload} does not fit on {fabric}: {cause}")]
    NoRoom { workload: String, fabric: String, cause: NoRoom },
    #[error(transparent)]
    Fabric(#[from] FabricError),
}

/// What a parameter that follows the fabric counts there.
const COUNTED: [(&str, &str); 7] = [
    ("gpus", "GPUs"),
    ("gpms", "GPMs in a GPU"),
    ("cus", "CUs in a GPU"),
    ("lanes", "lanes in a wave"),
    ("cpu_threads", "CPU cores"),
    ("queues", "CUs"),
    ("line", "bytes in a line"),
];

impl FabricConfig {
    /// What [`FabricConfig::fit`] looks at: compute units, CPU cores first, and how many there are.
    pub fn machine(&self) -> (Shape, CuParams, CtaSchedule, Option<&'static str>) {
        let hardware = self.hardware();
        let shape = hardware.shape();
        let unit = hardware.compute_unit(shape.cores_each(), self.common.cu());
        (shape, unit, self.common.cta_schedule, hardware.sync())
    }

    /// The built-in program `workload` with the parameters `given`, on `graph` if it takes one. What is not given follows the fabric
    /// where the program wants to know of it, also how many work-groups wait for one another.
    ///
    /// # Errors
    /// No such program or parameter, an illegal value, a graph that the program does not take; a program that does not fit.
    pub fn fit(
        &self,
        workload: &str,
        given: &BTreeMap<String, String>,
        graph: Option<&Graph>,
    ) -> Result<Fitted, FitError> {
        let mut params = given.clone();
        let mut followed = self.offer(workload, &mut params);
        loop {
            let built = weft_workload::prepare(workload, &params, graph);
            let built = built.map_err(|e| self.lacks(e, &params, &followed))?;
            let program: Arc<dyn Program> = built.program.into();
            let cause = match check_program(self, &program) {
                Ok(()) => {
                    let Built { params, used, graph, .. } = built;
                    return Ok(Fitted { program, params, followed, used, graph });
                }
                Err(FabricError::NoRoom(cause)) => cause,
                Err(other) => return Err(other.into()),
            };
            // Fewer work-groups, as long as that is what does not fit and nobody said how many.
            let (count, all) = match &cause {
                NoRoom::Resident { all, parameter, .. } => (*parameter, *all),
                _ => (count_of(workload), 0),
            };
            let now = params.get(count).map(String::as_str).or(weft_workload::default_of(workload, count));
            let fewer = now.and_then(|now| now.parse().ok()).is_some_and(|now: u32| all > 0 && all < now);
            if !fewer || given.contains_key(count) {
                let (workload, fabric) = (workload.to_owned(), self.name.clone());
                return Err(FitError::NoRoom { workload, fabric, cause });
            }
            params.insert(count.to_owned(), all.to_string());
            if !followed.contains(&count) {
                followed.push(count);
            }
        }
    }

    /// The error of a value that comes from the fabric.
    fn lacks(
        &self,
        error: WorkloadError,
        params: &BTreeMap<String, String>,
        followed: &[&'static str],
    ) -> FitError {
        let WorkloadError::Illegal { workload, name, legal, .. } = &error else { return error.into() };
        let counted = COUNTED.iter().find(|(key, _)| key == name && followed.contains(key));
        let Some((what, value)) = counted.map(|(_, what)| *what).zip(params.get(name)) else {
            return error.into();
        };
        FitError::Lacks(Box::new(Lack {
            workload: workload.to_string(),
            fabric: self.name.clone(),
            name: name.clone(),
            value: value.clone(),
            what,
            legal: legal.clone(),
        }))
    }
}
