//! Programs that run on Weft's fabrics: real algorithms whose values flow through the simulated memory, and the readers
//! of the graphs they work on.
//!
//! A [`Program`] is immutable and shared; all that changes while it runs is a [`Frame`] for each wave, which a snapshot
//! can hold. A program never knows the hardware: it says which [`Op`]s a wave wants, not when they happen or where data
//! lies in a cache.

pub mod compressed;
pub mod data;
pub mod graph;
pub mod ideal;
pub mod mapping;
pub mod op;
pub mod program;
pub mod programs;
pub mod trace;

pub use graph::{Graph, GraphError, GraphFacts};
pub use mapping::{LocalMemory, MapKind, Mapping};
pub use op::{
    Access, Addrs, AmoKind, Class, Hint, LaneMask, LdsAccess, Op, Request, Scope, Sem, Token, Unit, Values,
};
pub use program::{
    Array, Frame, HostStep, Kernel, Layout, LoadedValues, PAGE_BYTES, Place, Program, VerifyError, full_mask,
};
pub use programs::{
    Built, Legal, Offer, ParamSpec, Params, WorkloadError, WorkloadInfo, build, default_of, offer,
    parameters, prepare, supply, workloads,
};
