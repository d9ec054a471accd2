//! What the programs compute has the properties that their algorithms promise, whatever the host's copy of them says.

use std::collections::BTreeMap;

use weft_workload::ideal::{FlatMemory, Order, run};
use weft_workload::program::{Array, Program};
use weft_workload::{Graph, HostStep, Offer, build, offer, prepare};

struct Done {
    program: Box<dyn Program>,
    first: FlatMemory,
    last: FlatMemory,
}

impl Done {
    fn new(name: &str, list: &[(&str, &str)]) -> Self {
        Self::on(name, list, None)
    }

    fn on(name: &str, list: &[(&str, &str)], graph: Option<&Graph>) -> Self {
        let settings: BTreeMap<String, String> =
            list.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let program = build(name, &settings, graph).unwrap_or_else(|e| panic!("{e}"));
        let last = run(&*program, Order::Forward).unwrap_or_else(|e| panic!("{name}: {e}")).memory;
        Self { first: FlatMemory::load(&*program), program, last }
    }

    fn array(&self, name: &str) -> &Array {
        self.program.arrays().iter().find(|a| a.name == name).unwrap_or_else(|| panic!("array {name}"))
    }

    fn words(&self, memory: &FlatMemory, name: &str) -> Vec<u32> {
        let array = self.array(name);
        (0..array.length).map(|i| memory.word(array.at(i), 4) as u32).collect()
    }

    fn before(&self, name: &str) -> Vec<f64> {
        self.words(&self.first, name).into_iter().map(|w| f64::from(f32::from_bits(w))).collect()
    }

    fn after(&self, name: &str) -> Vec<f64> {
        self.words(&self.last, name).into_iter().map(|w| f64::from(f32::from_bits(w))).collect()
    }
}

/// Element (i, j) of the product of two square matrices given by functions.
fn product(n: usize, a: impl Fn(usize, usize) -> f64, b: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    (0..n * n).map(|x| (0..n).map(|k| a(x / n, k) * b(k, x % n)).sum()).collect()
}

fn near(found: &[f64], expected: &[f64], limit: f64) {
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= limit * e.abs().max(1.0), "element {i}: {f}, expected {e}");
    }
}

#[test]
fn factors_multiply_to_the_matrix() {
    let done = Done::new("lu", &[("n", "20")]);
    let (n, a, f) = (20, done.before("A"), done.after("A"));
    let lower = |i: usize, j: usize| if i >= j { f[i * n + j] } else { 0.0 };
    let upper = |i: usize, j: usize| match i.cmp(&j) {
        std::cmp::Ordering::Less => f[i * n + j],
        std::cmp::Ordering::Equal => 1.0,
        std::cmp::Ordering::Greater => 0.0,
    };
    near(&product(n, lower, upper), &a, 1e-4);

    let done = Done::new("cusolver", &[("tiles", "3"), ("gpus", "2"), ("cus", "3")]);
    let (n, a, l) = (48, done.before("A"), done.after("L"));
    near(&product(n, |i, k| l[i * n + k], |k, j| l[j * n + k]), &a, 1e-4);
}

#[test]
fn products_are_those_of_matrices() {
    let done = Done::new("mm3", &[("n", "9")]);
    let [a, b, c, d] = ["A", "B", "C", "D"].map(|name| done.before(name));
    let of = |m: &[f64], w: &[f64]| product(9, |i, k| m[i * 9 + k], |k, j| w[k * 9 + j]);
    near(&done.after("G"), &of(&of(&a, &b), &of(&c, &d)), 1e-4);
}

#[test]
fn distances_in_the_karate_club_are_the_known_ones() {
    let done = Done::new("bfs", &[("source", "karate")]);
    let distance = done.words(&done.last, "distance");
    // networkx 3, single_source_shortest_path_length(karate_club_graph(), 0)
    assert_eq!((distance[0], distance[1], distance[33], distance[16], distance[26]), (0, 1, 2, 2, 3));
    assert_eq!(distance.iter().filter(|&&d| d == 1).count(), 16);
    assert_eq!(distance.iter().max(), Some(&3));
}

#[test]
fn the_forest_spans() {
    for gpus in ["1", "4"] {
        let done = Done::new("mst", &[("source", "power"), ("gpus", gpus)]);
        let tree = done.words(&done.last, "tree");
        // The power grid is connected.
        assert_eq!(tree.iter().sum::<u32>(), 4940);
        let component = done.words(&done.last, "component");
        assert!(component.iter().all(|c| *c == component[0]));
    }
}

#[test]
fn arcs_of_a_directed_graph_are_edges_of_the_forest() {
    // All arcs lead from the greater to the lesser number.
    let graph =
        Graph::directed(4, &[(1, 0), (2, 1), (2, 0), (3, 3), (3, 2)], Some(&[7.0, 1.0, 2.0, 0.0, 9.0]));
    let done = Done::on("mst", &[("gpus", "2")], Some(&graph));
    let (tree, weight) = (done.words(&done.last, "tree"), done.words(&done.first, "weight"));
    assert_eq!(tree.iter().zip(&weight).map(|(in_tree, w)| in_tree * w).sum::<u32>(), 1 + 2 + 9);
    assert_eq!((tree.len(), done.words(&done.last, "component")), (4, vec![1; 4]));
}

#[test]
fn scaled_weights_give_the_lightest_forest_and_the_shortest_paths() {
    let graph = Graph::undirected(3, &[(0, 1), (1, 2), (0, 2)], Some(&[0.5, 0.25, 0.9]));
    let done = Done::on("mst", &[("weight_scale", "1000"), ("gpus", "1")], Some(&graph));
    assert_eq!(done.words(&done.first, "weight"), [500, 900, 250]);
    assert_eq!(done.words(&done.last, "tree"), [1, 0, 1]);
    let done = Done::on("sssp", &[("weight_scale", "100"), ("queues", "1")], Some(&graph));
    assert_eq!(done.words(&done.last, "distance"), [0, 50, 75]);
    let refused = |scale: &str| {
        let list = BTreeMap::from([("weight_scale".to_string(), scale.to_string())]);
        build("sssp", &list, Some(&graph)).map(|_| ()).expect_err("refused").to_string()
    };
    assert!(
        refused("1").starts_with("the graph : weight 0.5 is no whole number, and sssp takes"),
        "{}",
        refused("1")
    );
    assert!(
        refused("1e9").contains("times weight_scale = 1000000000 is above 99999998"),
        "{}",
        refused("1e9")
    );
}

#[test]
fn a_distance_that_passes_infinity_is_refused_and_a_detour_that_does_is_not() {
    let far = 60_000_000.0;
    let sssp = |arcs: &[(u32, u32)], weights: &[f64], rounds: &str| {
        let rounds = BTreeMap::from([("rounds".to_string(), rounds.to_string())]);
        let graph = Graph::directed(4, arcs, Some(weights));
        prepare("sssp", &rounds, Some(&graph)).map(|_| ()).map_err(|e| e.to_string())
    };
    let refused = sssp(&[(0, 1), (1, 2)], &[far, far], "16").expect_err("too far");
    assert!(refused.contains("the distance from 1 to 3 is 120000000, and sssp takes 99999999"), "{refused}");
    // One round does not go so far, and a shorter way makes the long one harmless.
    assert_eq!(sssp(&[(0, 1), (1, 2)], &[far, far], "1"), Ok(()));
    let ways = [(0, 1), (1, 2), (0, 3), (3, 2)];
    assert_eq!(sssp(&ways, &[far, far, 10.0, 99_999_988.0], "16"), Ok(()));
    assert!(sssp(&ways, &[far, far, 10.0, 99_999_989.0], "16").is_err());
}

#[test]
fn what_makes_no_difference_is_not_among_what_was_used() {
    let used = |name: &str, list: &[(&str, &str)], graph: Option<&Graph>| -> Vec<String> {
        let settings = list.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let built = prepare(name, &settings, graph).unwrap_or_else(|e| panic!("{e}"));
        let of_graphs = ["source", "nodes", "edges", "seed", "weight_scale"];
        of_graphs.iter().filter(|name| built.used.contains(**name)).map(|name| name.to_string()).collect()
    };
    let plain = Graph::undirected(2, &[(0, 1)], None);
    let weighted = Graph::undirected(2, &[(0, 1)], Some(&[1.0]));
    assert_eq!(used("bfs", &[], None), ["source"]);
    assert_eq!(
        used("bfs", &[("source", "uniform"), ("nodes", "9"), ("edges", "9")], None),
        ["source", "nodes", "edges", "seed"]
    );
    assert!(used("bfs", &[], Some(&plain)).is_empty());
    for program in ["mst", "sssp"] {
        assert_eq!(used(program, &[], Some(&plain)), ["seed"], "{program} draws weights");
        assert_eq!(used(program, &[], Some(&weighted)), ["weight_scale"], "{program}");
    }
}

#[test]
fn known_alignments_and_paths() {
    let done = Done::new("nw", &[("tiles", "2"), ("penalty", "0")]);
    let score = done.words(&done.last, "score");
    let row: Vec<i32> = score[33 * 32..].iter().map(|&s| s as i32).collect();
    assert!(row.windows(2).all(|w| w[1] >= w[0]), "without gap costs a longer prefix never scores less");

    let done = Done::new("pathfinder", &[("columns", "1"), ("rows", "9")]);
    let cost = done.words(&done.last, "cost");
    assert_eq!(done.words(&done.last, "even")[0], cost.iter().sum::<u32>(), "one column has one path");
}

#[test]
fn solvers_converge() {
    let rest = |cycles: &str| {
        let done = Done::new("hpgmg", &[("levels", "3"), ("cycles", cycles)]);
        done.after("r0").iter().map(|r| r * r).sum::<f64>().sqrt()
    };
    let (first, third) = (rest("1"), rest("3"));
    assert!(third < first / 4.0, "the residual falls from {first} to {third} only");

    let done = Done::new("nekbone", &[("elements", "2"), ("points", "3"), ("iterations", "40")]);
    let scalar = done.after("scalar");
    assert!(scalar[80] < 1e-3 * scalar[0], "the residual falls from {} to {} only", scalar[0], scalar[80]);
}

#[test]
fn forces_balance_and_move() {
    for (name, extra) in [("comd", ("cells", "3")), ("namd", ("atoms", "8"))] {
        let done = Done::new(name, &[extra]);
        let velocity = done.after("velocity");
        let speed = velocity.iter().map(|v| v.abs()).sum::<f64>();
        assert!(speed > 0.0, "{name}: nothing moves");
        let axis = velocity.len() / 3;
        for part in velocity.chunks(axis) {
            // Places without atoms are pushed, too, but push none: comd's sum is that of its atoms only.
            let sum = part.iter().sum::<f64>().abs();
            assert!(name == "comd" || sum < 1e-4 * speed, "{name}: momentum {sum} of {speed}");
        }
    }
    let done = Done::new("minicontact", &[("elements", "8")]);
    let (old, new) = (done.words(&done.first, "node"), done.words(&done.last, "node"));
    let moved = old.iter().zip(&new).filter(|(o, n)| o != n).count();
    assert!(moved > 20, "{moved} coordinates moved");
}

#[test]
fn averages_stay_between_the_extremes() {
    let done = Done::new("miniamr", &[("roots", "3")]);
    let cells = done.after("cells");
    assert!(cells.iter().filter(|c| **c != 0.0).all(|c| (0.5..1.5).contains(c)));
    let blocks = |index| match done.program.host_step(index, &|_, count| vec![0; count]) {
        Some(HostStep::Launch(kernel)) => (kernel.name, kernel.blocks),
        other => panic!("{other:?}"),
    };
    assert_eq!((blocks(1).0.as_str(), blocks(4).0.as_str()), ("amr_update", "amr_refine"));
    assert_ne!(blocks(1).1, blocks(6).1, "the mesh changes");

    let done = Done::new("snap", &[("cells", "4"), ("octants", "8")]);
    assert!(done.after("flux").iter().all(|f| *f > 0.0));
}

#[test]
fn layers_keep_their_signals_alive() {
    let done = Done::new("resnet", &[("blocks", "3"), ("channels", "8"), ("image", "10")]);
    let maps = done.after("maps5");
    let alive = maps.iter().filter(|v| **v > 0.0).count();
    assert!(alive > maps.len() / 4, "{alive} of {} activations", maps.len());
    for (name, array) in
        [("lstm", "hidden"), ("rnn-fw", "hidden"), ("rnn-dgrad", "delta"), ("rnn-wgrad", "gradient")]
    {
        let done = Done::new(name, &[("hidden", "12"), ("batch", "4"), ("steps", "4")]);
        let values = done.after(array);
        assert!(values[..48].iter().all(|v| v.is_finite() && *v != 0.0), "{name}");
    }
}

#[test]
fn a_program_is_offered_the_machine() {
    let mut given = BTreeMap::from([("cus".to_owned(), "3".to_owned())]);
    let machine = Offer { gpus: 2, gpms: 2, cus: 8, lanes: 64, cores: 0, line: 128 };
    offer("cusolver", &mut given, machine);
    assert_eq!((given["gpus"].as_str(), given["cus"].as_str()), ("2", "3"));
    let program = build("cusolver", &given, None).unwrap_or_else(|e| panic!("{e}"));
    let Some(HostStep::Launch(kernel)) = program.host_step(0, &|_, n| vec![0; n]) else { panic!("a launch") };
    assert_eq!((kernel.blocks, kernel.co_resident), (6, true));
    offer("bfs", &mut given, machine);
    assert_eq!(given.len(), 2);
    let mut given = BTreeMap::new();
    offer("spm-l", &mut given, machine);
    let expected = [("cus", "8"), ("gpms", "2"), ("gpus", "2"), ("line", "128")];
    assert!(given.iter().map(|(key, value)| (key.as_str(), value.as_str())).eq(expected), "{given:?}");
}

/// Neighbours of each vertex, as the program has them.
fn neighbours(done: &Done) -> Vec<Vec<usize>> {
    let (row, col) = (done.words(&done.first, "row"), done.words(&done.first, "col"));
    row.windows(2).map(|w| col[w[0] as usize..w[1] as usize].iter().map(|u| *u as usize).collect()).collect()
}

#[test]
fn a_colouring_is_proper_and_a_set_independent_and_maximal() {
    let list = [("queues", "7"), ("rounds", "64")];
    let done = Done::new("clr", &list);
    let colours = done.words(&done.last, "colour");
    let rows = neighbours(&done);
    assert!(colours.iter().all(|c| *c < 64), "everything is coloured");
    assert!((0..rows.len()).all(|v| rows[v].iter().all(|u| colours[*u] != colours[v])));

    let done = Done::new("mis", &list);
    let states = done.words(&done.last, "state");
    let rows = neighbours(&done);
    for v in 0..rows.len() {
        let inside = rows[v].iter().filter(|u| states[**u] == 1).count();
        assert!(if states[v] == 1 { inside == 0 } else { states[v] == 2 && inside > 0 }, "vertex {v}");
    }
}

#[test]
fn paths_are_as_short_as_every_arc_allows() {
    let done = Done::new("sssp", &[("queues", "7"), ("rounds", "999")]);
    let distance = done.words(&done.last, "distance");
    let weight = done.words(&done.first, "weight");
    let mut arcs = weight.iter();
    for (v, row) in neighbours(&done).iter().enumerate() {
        let best = row.iter().zip(&mut arcs).map(|(u, w)| distance[*u] + w).min();
        let expected = if v == 0 { Some(0) } else { best };
        assert_eq!(Some(distance[v]), expected, "vertex {v}: the graph is connected");
    }
}

#[test]
fn tasks_are_stolen_where_stealing_is_on_and_only_there() {
    for (sync, steals) in
        [("baseline", false), ("scope", false), ("steal", true), ("remote", true), ("atomic", true)]
    {
        for hint in ["on", "off"] {
            let list = [("queues", "7"), ("sync", sync), ("hint", hint), ("rounds", "2"), ("waves", "1")];
            let done = Done::new("prk", &list);
            let tally = done.words(&done.last, "queue_tally");
            let of = |which| tally.iter().skip(which).step_by(4).sum::<u32>();
            let tasks = done.array("queue_done").length as u32;
            assert_eq!(of(0) + of(1), 2 * tasks, "{sync}: each kernel executes each task");
            assert_eq!(of(1) > 0, steals, "{sync}: {} tasks stolen", of(1));
        }
    }
}

/// A task of fewer vertices than a work-group has lanes leaves some idle, one of more is worked through in turns.
#[test]
fn a_task_has_any_number_of_vertices() {
    for (program, name) in [("clr", "colour"), ("mis", "state"), ("prk", "rank"), ("sssp", "distance")] {
        let run = |task: &'static str| {
            let list = [("queues", "3"), ("rounds", "2"), ("waves", "1"), ("lanes", "16"), ("task", task)];
            Done::new(program, &list)
        };
        let result = |done: &Done| done.words(&done.last, name);
        let usual = run("0");
        let same = result(&usual);
        let vertices = same.len();
        assert_eq!(usual.array("queue_done").length as usize, vertices.div_ceil(16), "{program}");
        for (task, size) in [("1", 1), ("5", 5), ("16", 16), ("33", 33), ("65536", 65536)] {
            let done = run(task);
            let tasks = done.array("queue_done").length as usize;
            assert_eq!(tasks, vertices.div_ceil(size), "{program}, tasks of {task}");
            assert_eq!(result(&done), same, "{program}, tasks of {task}");
        }
    }
}

#[test]
fn pushed_ranks_are_those_that_are_pulled() {
    let ranks = |way| {
        let list = [("source", "karate"), ("queues", "3"), ("waves", "1"), ("rounds", "4"), ("way", way)];
        let done = Done::new("prk", &list);
        let ranks: Vec<f32> = done.words(&done.last, "rank").into_iter().map(f32::from_bits).collect();
        ranks
    };
    let (pulled, pushed) = (ranks("pull"), ranks("push"));
    assert_eq!(pulled.len(), 34);
    for (a, b) in pulled.iter().zip(&pushed) {
        assert!((a - b).abs() < 1e-5 * a, "{a} pulled, {b} pushed");
    }
}
