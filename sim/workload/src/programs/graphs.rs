//! Parameters and data of the programs that work on a graph.

use super::WorkloadError;
use super::params::{Legal, ParamSpec, Params};
use crate::data;
use crate::graph::{self, Csr, Graph, Origin};

/// A vertex or distance that does not exist.
pub const NONE: u32 = u32::MAX;

/// Parameter `source`.
pub const SOURCE: ParamSpec = ParamSpec {
    name: "source",
    default: "power",
    legal: Legal::Choice(&["power", "karate", "uniform"]),
    unit: "",
    about: "Graph when no file is given: two real ones that come with the program, or a uniform random one.",
};

/// Parameter `nodes`.
pub const NODES: ParamSpec = ParamSpec {
    name: "nodes",
    default: "4096",
    legal: Legal::Integer { min: 1, max: 1 << 24 },
    unit: "vertices",
    about: "Vertices of the uniform random graph.",
};

/// Parameter `edges`.
pub const EDGES: ParamSpec = ParamSpec {
    name: "edges",
    default: "32768",
    legal: Legal::Integer { min: 1, max: 1 << 27 },
    unit: "edges",
    about: "Directed edges of the uniform random graph.",
};

/// Parameter `weight_scale` of the programs that compute with weights.
pub const WEIGHT_SCALE: ParamSpec = ParamSpec {
    name: "weight_scale",
    default: "1",
    legal: Legal::Real { min: 1e-9, max: 1e9 },
    unit: "",
    about: "Each weight of the graph is multiplied by this and rounded to a whole number; at 1 all must be whole.",
};

/// The graph given, or the one that the parameters name.
pub fn chosen(params: &Params, graph: Option<&Graph>) -> Graph {
    let uniform = || uniform(params.integer("nodes") as u32, params.integer("edges"), params.integer("seed"));
    graph.cloned().unwrap_or_else(|| graph::bundled(params.text("source")).unwrap_or_else(uniform))
}

/// A directed graph whose edges join vertices drawn independently and uniformly.
fn uniform(nodes: u32, edges: u64, seed: u64) -> Graph {
    let draw = |stream, i| (data::mix(seed, stream, i) % u64::from(nodes)) as u32;
    let arcs: Vec<(u32, u32)> = (0..edges).map(|i| (draw(0, i), draw(1, i))).collect();
    let mut graph = Graph::directed(nodes, &arcs, None);
    graph.set_name("uniform");
    graph.set_origin(Origin { format: "random, made by nodes, edges and seed".into(), ..Origin::default() });
    graph
}

/// The list, with one element if it is empty: no array is.
pub fn padded(list: &[u32]) -> Vec<u32> {
    if list.is_empty() { vec![0] } else { list.to_vec() }
}

/// The weights of `arcs`, which are those of `graph`, as whole numbers of 0 to `most`; `None` if it has
/// none.
///
/// # Errors
/// The first weight of the file that is none, and becomes none by `weight_scale`.
pub fn whole_weights(
    params: &Params,
    graph: &Graph,
    arcs: &Csr,
    most: u32,
) -> Result<Option<Vec<u32>>, WorkloadError> {
    let Some(weights) = arcs.weights() else { return Ok(None) };
    let scale = params.real("weight_scale");
    if let Some((place, weight, slip)) = graph.first_weight(|weight| whole(weight, scale, most).err()) {
        let (problem, remedy) = slip.words(params.workload(), weight, scale, most);
        return Err(WorkloadError::Weight { place, weight, problem, remedy });
    }
    // All are whole, so that none is left out.
    Ok(Some(weights.iter().filter_map(|weight| whole(*weight, scale, most).ok()).collect()))
}

/// Why a weight is no whole number of a range.
#[derive(Clone, Copy)]
enum Slip {
    Fraction,
    Negative,
    Large,
    Vanishes,
}

/// A weight as a whole number of 0 to `most`, rounded only if it is scaled.
fn whole(weight: f64, scale: f64, most: u32) -> Result<u32, Slip> {
    let scaled = weight * scale;
    match scaled.round() {
        _ if scale == 1.0 && weight.fract() != 0.0 => Err(Slip::Fraction),
        number if number < 0.0 || weight < 0.0 => Err(Slip::Negative),
        number if number > f64::from(most) => Err(Slip::Large),
        number if number == 0.0 && weight != 0.0 => Err(Slip::Vanishes),
        number => Ok(number as u32),
    }
}

impl Slip {
    /// Problem and remedy.
    fn words(self, workload: &str, weight: f64, scale: f64, most: u32) -> (String, String) {
        let scaled = |factor: f64| {
            format!(
                "multiply all weights by the parameter weight_scale, which also rounds them, as in --param \
                 weight_scale={factor}"
            )
        };
        let becomes = match scale == 1.0 {
            true => "is".to_owned(),
            false => format!("times weight_scale = {scale} is"),
        };
        match self {
            Slip::Fraction => (
                format!("is no whole number, and {workload} takes whole numbers of 0 to {most}"),
                scaled(1000.0),
            ),
            Slip::Negative => (
                format!("is negative, and {workload} takes whole numbers of 0 to {most}"),
                "give a graph without negative weights".to_owned(),
            ),
            Slip::Large => (
                format!("{becomes} above {most}, the largest that {workload} takes"),
                scaled(10f64.powf((f64::from(most) / weight).log10().floor())),
            ),
            Slip::Vanishes => (
                format!("{becomes} rounded to 0, and would be lost"),
                scaled(10f64.powf((1.0 / weight).log10().ceil())),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scaled_weights_are_rounded() {
        let whole = |weight, scale| whole(weight, scale, 1000).ok();
        assert_eq!([0.0, 7.0, 1000.0].map(|w| whole(w, 1.0)), [Some(0), Some(7), Some(1000)]);
        assert_eq!([0.5, -1.0, 1001.0, f64::MAX].map(|w| whole(w, 1.0)), [None; 4]);
        assert_eq!([0.9, 0.0004, -0.9, 1.1].map(|w| whole(w, 1000.0)), [Some(900), None, None, None]);
        assert_eq!(whole(1000.5, 0.5), Some(500));
    }
}
