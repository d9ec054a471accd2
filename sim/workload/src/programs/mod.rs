//! The built-in programs (`rec.md` section 10, `hmg.md` section 11, `mgcc.md` section 15, `spandex.md` section 10, `cu-and-consistency.md` section 7) and their registry.
//!
//! Default sizes are scaled so that the small fabric (`rec.md` section 9, 1/32 of the published one) finishes in
//! seconds; [`WorkloadInfo::published`] holds the settings that meet the published footprints.

mod aes;
mod apps;
mod atax;
mod bfs;
mod bicg;
mod c2d;
mod comd;
mod common;
mod conv;
mod cpu_gpu;
mod cusolver;
mod dnn_step;
mod fir;
mod gemm;
mod gemv;
mod graphs;
mod hpgmg;
mod implicit;
mod j2d;
mod layers;
mod lstm;
mod lu;
mod machine;
mod matvec;
mod matvecs;
mod mesh;
mod miniamr;
mod minicontact;
mod mm;
mod mm2;
mod mm3;
mod mst;
mod mt;
mod namd;
mod nekbone;
mod nw;
mod pagerank;
mod params;
mod particles;
mod pathfinder;
mod product;
mod recurrent;
mod relaxed;
mod relu;
mod resnet;
mod rnn;
mod round;
mod sc;
mod simt;
mod snap;
mod steal;
mod stencil;
mod sync;
mod tape;
mod training;
mod transpose;
mod warm;
mod xtreme;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

pub use fir::Fir;
pub use gemv::Gemv;
pub use pagerank::PageRank;
pub use params::{Legal, ParamSpec, Params, WorkloadError};
pub use stencil::Stencil;
pub use transpose::Transpose;
pub use warm::WARM_UP;

use serde::Serialize;
use weft_lists::Further;

use crate::graph::Graph;
use crate::program::Program;

/// A program that has a name.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct WorkloadInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// One sentence: what it computes and where it comes from.
    pub about: &'static str,
    /// Its parameters.
    pub params: &'static [ParamSpec],
    /// Parameters of the published footprint, where they differ from the defaults.
    pub published: &'static [(&'static str, &'static str)],
    /// Whether it works on a graph.
    pub takes_graph: bool,
    /// Builds it from its parameters, on a graph if it takes one.
    #[serde(skip)]
    pub make: fn(&Params, Option<&Graph>) -> Result<Box<dyn Program>, WorkloadError>,
}

/// Programs of others.
static FURTHER: Further<WorkloadInfo> = Further::new();

/// Installs programs from outside this crate; before any program is asked for, and once.
///
/// # Panics
/// When programs have been asked for or installed already.
pub fn install(programs: Vec<WorkloadInfo>) {
    FURTHER.install(programs);
}

/// All programs: built in, by name, then those of others.
pub fn workloads() -> &'static [WorkloadInfo] {
    static ALL: LazyLock<Vec<WorkloadInfo>> =
        LazyLock::new(|| BUILT_IN.iter().chain(FURTHER.all()).copied().collect());
    &ALL
}

/// The built-in programs, by name.
pub const BUILT_IN: &[WorkloadInfo] = &[
    aes::INFO,
    conv::ALEXNET,
    atax::INFO,
    apps::backprop::INFO,
    cpu_gpu::bc::INFO,
    cpu_gpu::bc::RELAXED,
    bfs::INFO,
    bicg::INFO,
    c2d::INFO,
    steal::clr::INFO,
    comd::INFO,
    sc::CONV,
    cusolver::INFO,
    dnn_step::INFO,
    sync::mutex::FAM_G,
    sync::mutex::FAM_L,
    fir::INFO,
    relaxed::flags::INFO,
    cpu_gpu::reuse::FLEX_ODWTD,
    cpu_gpu::reuse::FLEX_OWT,
    cpu_gpu::flex_vs::INFO,
    gemm::INFO,
    gemv::INFO,
    conv::GOOGLENET,
    relaxed::hist::HIST,
    relaxed::hist::HISTG,
    relaxed::hist::HISTG_NO,
    apps::hotspot::INFO,
    hpgmg::INFO,
    cpu_gpu::hsti::INFO,
    implicit::INFO,
    cpu_gpu::indirection::INFO,
    j2d::INFO,
    apps::lava::INFO,
    steal::lock::INFO,
    lstm::INFO,
    lu::INFO,
    apps::lud::INFO,
    miniamr::INFO,
    minicontact::INFO,
    steal::mis::INFO,
    mm::INFO,
    mm::REMOTE,
    mm2::INFO,
    mm3::INFO,
    mst::INFO,
    mt::INFO,
    namd::INFO,
    nekbone::INFO,
    apps::nn::INFO,
    nw::INFO,
    conv::OVERFEAT,
    pagerank::INFO,
    pathfinder::INFO,
    cpu_gpu::pr::INFO,
    relaxed::pr_push::INFO,
    steal::prk::INFO,
    relaxed::reference::INFO,
    relu::INFO,
    resnet::INFO,
    training::RESNET18,
    cpu_gpu::reuse::REUSE_O,
    cpu_gpu::reuse_s::INFO,
    rnn::DGRAD,
    rnn::FW,
    rnn::WGRAD,
    cpu_gpu::rsct::INFO,
    sc::INFO,
    relaxed::seqlock::INFO,
    apps::sgemm::INFO,
    sync::mutex::SLM_G,
    sync::mutex::SLM_L,
    snap::INFO,
    relaxed::split::INFO,
    sync::mutex::SPM_G,
    sync::mutex::SPM_L,
    sync::mutex::SPMBO_G,
    sync::mutex::SPMBO_L,
    apps::srad::INFO,
    sync::semaphore::SS_L,
    sync::semaphore::SSBO_L,
    steal::sssp::INFO,
    stencil::INFO,
    apps::stencil3d::INFO,
    sync::tree::TB_LG,
    sync::tree::TBEX_LG,
    cpu_gpu::torn::INFO,
    cpu_gpu::tqh::INFO,
    transpose::INFO,
    cpu_gpu::trns::INFO,
    sync::uts::INFO,
    training::VGG16,
    relaxed::queue::INFO,
    xtreme::XTREME1,
    xtreme::XTREME2,
    xtreme::XTREME3,
];

fn find(name: &str) -> Result<&'static WorkloadInfo, WorkloadError> {
    workloads().iter().find(|info| info.name == name).ok_or_else(|| {
        let known = workloads().iter().map(|info| info.name);
        let remedy = weft_names::remedy(name, known, "`weft list workloads` shows all");
        WorkloadError::Unknown { name: name.to_owned(), remedy }
    })
}

/// All parameters of a program: the given ones, and the others' defaults.
///
/// # Errors
/// No such program or parameter, or a value outside its range.
pub fn parameters(
    name: &str,
    given: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, WorkloadError> {
    let info = find(name)?;
    Ok(Params::resolve(info.name, info.params, given)?.texts())
}

/// What a program may want to know of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// GPUs.
    pub gpus: u32,
    /// GPMs of each.
    pub gpms: u32,
    /// CUs of each GPU.
    pub cus: u32,
    /// Lanes of a CU's wave.
    pub lanes: u32,
    /// CPU cores.
    pub cores: u32,
    /// Bytes of a cache line.
    pub line: u32,
}

/// Fills in what a program wants to know of the machine, unless it is given: its counts, its line, and how many work queues keep
/// all CUs busy. Lanes and CPU threads are the program's own defaults where the machine has as many, else the machine's. The
/// result names what was filled in.
pub fn offer(name: &str, params: &mut BTreeMap<String, String>, machine: Offer) -> Vec<&'static str> {
    let Offer { gpus, gpms, cus, lanes, cores, line } = machine;
    let all =
        [("gpus", gpus), ("gpms", gpms), ("cus", cus), ("line", line), ("queues", gpus.saturating_mul(cus))];
    let most = [("lanes", lanes), ("cpu_threads", cores)].into_iter().filter(|(key, most)| {
        default_of(name, key)
            .and_then(|default| default.parse().ok())
            .is_some_and(|default: u32| default > *most)
    });
    let all = all.into_iter().chain(most);
    all.filter(|(key, value)| supply(name, params, key, &value.to_string())).map(|(key, _)| key).collect()
}

/// Fills in one parameter, if the program has it and it is not given; whether it was.
pub fn supply(name: &str, params: &mut BTreeMap<String, String>, key: &str, value: &str) -> bool {
    if default_of(name, key).is_none() || params.contains_key(key) {
        return false;
    }
    params.insert(key.to_owned(), value.to_owned());
    true
}

/// The default of a program's parameter; nothing where there is no such program or parameter.
pub fn default_of(name: &str, key: &str) -> Option<&'static str> {
    let mut specs = workloads().iter().filter(|info| info.name == name).flat_map(|info| info.params);
    specs.find(|spec| spec.name == key).map(|spec| spec.default)
}

/// A program, and what it was built from.
pub struct Built {
    /// The program.
    pub program: Box<dyn Program>,
    /// All its parameters.
    pub params: BTreeMap<String, String>,
    /// Names of those that made a difference: with a graph from a file, those of a random one do not.
    pub used: BTreeSet<String>,
    /// The graph that it works on, if it takes one: given, or named by its parameters.
    pub graph: Option<Graph>,
}

/// Builds a program with the given parameters, defaults for the rest, on the given graph if it takes one.
///
/// # Errors
/// As [`prepare`].
pub fn build(
    name: &str,
    params: &BTreeMap<String, String>,
    graph: Option<&Graph>,
) -> Result<Box<dyn Program>, WorkloadError> {
    prepare(name, params, graph).map(|built| built.program)
}

/// As [`build`], and says what was used.
///
/// # Errors
/// No such program or parameter, a value outside its range, a graph that the program does not take or whose
/// weights it cannot.
pub fn prepare(
    name: &str,
    params: &BTreeMap<String, String>,
    graph: Option<&Graph>,
) -> Result<Built, WorkloadError> {
    let info = find(name)?;
    if graph.is_some() && !info.takes_graph {
        return Err(WorkloadError::GraphUnused { workload: info.name });
    }
    let params = Params::resolve(info.name, info.params, params)?;
    let graph = info.takes_graph.then(|| graphs::chosen(&params, graph));
    let program = (info.make)(&params, graph.as_ref())?;
    let warms = params.has(warm::WARMUP.name) && params.integer(warm::WARMUP.name) > 0;
    let program = if warms { Box::new(warm::Warm(program)) } else { program };
    Ok(Built { program, params: params.texts(), used: params.used(), graph })
}
