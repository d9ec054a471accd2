//! All interleavings of two L1s and a bank of the sRSP family on the RTL, and faults that an exploration must
//! find (srsp.md sections 5 to 9).

use weft_explore::net::Timing;
use weft_explore::search::{Explored, Limits};
use weft_fabric::config::FabricConfig;
use weft_srsp_explore::{Config, Op, System, build, explore, report, smallest, walks};

fn fabric(sets: &[&str]) -> FabricConfig {
    let mut fabric = smallest();
    sets.iter().for_each(|pair| fabric.set(pair).expect("a legal key"));
    fabric.validate().expect("legal keys");
    fabric
}

fn ops(lists: &[&str]) -> Vec<Vec<Op>> {
    let list = |text: &&str| text.split(',').map(|op| op.parse().expect("an operation")).collect();
    lists.iter().map(list).collect()
}

fn config(sets: &[&str], lists: &[&str], budgets: &[usize]) -> Config {
    let gpu = fabric(sets).srsp().expect("a fabric of this family");
    Config { alphabets: ops(lists), budgets: budgets.to_vec(), lines: 2, ..Config::of(gpu) }
}

fn run(config: &Config, live: bool) -> (System, Explored) {
    let mut system = build(config).expect("legal parameters");
    let found = explore(&mut system, Limits { live, ..Limits::default() }, &mut |_| {});
    (system, found)
}

/// Everything is visited without a violation, and from everywhere to the end; the states.
fn holds(name: &str, config: &Config) -> usize {
    let (mut system, found) = run(config, true);
    if let Some(violation) = &found.violation {
        panic!("{name}: {}", report::counterexample(&mut system, violation));
    }
    assert!(found.complete && found.finished > 0);
    println!("{name}\n{}", report::table(&system, &found, true));
    found.states
}

/// The first violation of CUs that issue their lists in order, as a story; after no more than so many
/// actions.
fn finds(sets: &[&str], lists: &[&str], change: impl Fn(Config) -> Config, most: usize) -> String {
    let budgets: Vec<usize> = lists.iter().map(|list| list.split(',').count()).chain([0]).collect();
    let config = change(Config { in_order: true, ..config(sets, lists, &budgets) });
    let (mut system, found) = run(&config, false);
    let violation = found.violation.unwrap_or_else(|| panic!("{sets:?}: nothing is found"));
    let story = report::counterexample(&mut system, &violation);
    assert!(violation.path.len() <= most, "{sets:?}: {} actions\n{story}", violation.path.len());
    println!("{sets:?}: {} actions: {}", violation.path.len(), violation.text);
    story
}

/// Names of the family's protocols.
fn protocols() -> Vec<&'static str> {
    let fabric = smallest();
    let pairs = fabric.pairs("protocol", "inject");
    pairs.into_iter().map(|(protocol, _)| protocol).collect()
}

/// Remote operations as those of the GPU's scope where there are none.
fn lists_for(protocol: &str, lists: &[&str]) -> Vec<String> {
    let scopes = ["global", "scope", "steal"].contains(&protocol);
    let each = |list: &&str| {
        list.split(',')
            .map(|op| match op.split_once("_rem_").filter(|_| scopes) {
                Some((access, rest)) => format!("{access}_{}", rest.replace(' ', "_cmp ")),
                None if scopes => op.replace("_wg", "_cmp"),
                None => op.to_string(),
            })
            .collect::<Vec<_>>()
            .join(",")
    };
    lists.iter().map(each).collect()
}

/// Every protocol, and the other order of bRSP.
fn every_protocol(lists: &[&str], budgets: &[usize], change: impl Fn(Config) -> Config) {
    let all = protocols().into_iter().map(|protocol| (protocol, "line")).chain([("brsp", "token")]);
    for (protocol, order) in all {
        let lists = lists_for(protocol, lists);
        let lists: Vec<&str> = lists.iter().map(String::as_str).collect();
        let keys = [format!("protocol={protocol}"), format!("broadcast_order={order}")];
        let config = config(&keys.each_ref().map(String::as_str), &lists, budgets);
        holds(&format!("{protocol} {order}"), &change(config));
    }
}

#[test]
fn every_protocol_with_an_operation_each() {
    every_protocol(&["LD Y,ST Y,rmw_ar_wg X", "LD Y,ST Y,rmw_rem_ar X"], &[1, 1], |config| config);
}

#[test]
fn srsp_promotes_a_release_of_work_group_scope() {
    let config = config(&["protocol=srsp"], &["ST Y,st_rel_wg X", "LD Y,ld_rem_acq X"], &[2, 2]);
    assert!(holds("srsp", &config) > 50_000);
}

#[test]
fn srsp_promotes_an_acquire_of_work_group_scope() {
    let config = config(&["protocol=srsp"], &["LD Y,ld_acq_wg X", "ST Y,st_rem_rel X"], &[2, 2]);
    assert!(holds("srsp", &config) > 50_000);
}

#[test]
fn remote_operations_that_fail_and_data_in_their_line() {
    for protocol in ["srsp", "brsp"] {
        let one =
            config(&[&format!("protocol={protocol}")], &["LD X,ST X,rmw_ar_wg X", "cas_rem_ar X"], &[2, 1]);
        holds(protocol, &Config { lines: 1, ..one });
    }
}

/// What an assertion looks at may rest on a guess that no step has refuted yet: the way there is tried again.
#[test]
fn two_banks_whose_first_violation_is_a_wrong_guess() {
    let sets = ["protocol=srsp", "banks=2", "l2_sfifo=4"];
    holds("two banks", &config(&sets, &["ST Y,rmw_ar_wg X", "rmw_rem_ar X,LD Y"], &[2, 2]));
}

#[test]
fn long_every_protocol_promotes_releases_and_acquires() {
    every_protocol(&["ST Y,st_rel_wg X", "LD Y,ld_rem_acq X"], &[2, 3], |config| config);
    every_protocol(&["LD Y,ld_acq_wg X", "ST Y,st_rem_rel X"], &[3, 2], |config| config);
}

#[test]
fn long_every_protocol_with_two_operations_each() {
    every_protocol(&["LD Y,ST Y,rmw_ar_wg X", "LD Y,ST Y,rmw_rem_ar X"], &[2, 2], |config| config);
}

#[test]
fn blocks_clocked_at_any_moment() {
    let one = config(&["protocol=srsp"], &["rmw_ar_wg X", "rmw_rem_ar X"], &[1, 1]);
    holds("srsp", &Config { timing: Timing::Free, ..one });
}

#[test]
fn random_walks_of_two_waves() {
    for protocol in ["srsp", "hlrc", "denovo-b"] {
        let lists = ["LD Y,ST Y,rmw_ar_wg X", "LD Y,ST Y,ld_acq_wg X", "LD Y,ST Y,rmw_rem_ar X"];
        let one = config(&[&format!("protocol={protocol}")], &lists, &[3]);
        let mut system = build(&Config { waves: 2, ..one }).expect("legal parameters");
        let found = walks(&mut system, 40);
        if let Some(violation) = &found.violation {
            panic!("{protocol}: {}", report::counterexample(&mut system, violation));
        }
        assert_eq!(found.finished, 40);
    }
}

/// What a fault needs beside the smallest GPU: keys, a list of each wave, lines, waves of a CU; words of the
/// story, and the most actions.
type Planted = (&'static [&'static str], &'static [&'static str], usize, usize, &'static str, usize);

const OWED: &[&str] = &["LD Y,ld_acq_wg X", "ST Y,st_rem_rel X"];
const STOLEN: &[&str] = &["ST Y,st_rel_wg X", "ld_rem_acq X,LD Y"];
const BOTH: &[&str] = &["rmw_ar_wg X", "rmw_rem_ar X"];
const PASSED: &[&str] = &["ST Y,st_rel_cmp X", "LD Y,ld_acq_cmp X,LD Y"];
const OVERFLOWN: &[&str] = &["ST Y,st_rel_wg X,st_rel_wg Z,st_rel_wg Z", "ld_rem_acq X,LD Y"];
const FULL: &[&str] = &["LD Y,ld_acq_wg X", "ST Y,st_rem_rel X,st_rem_rel Z"];
const BESIDE: &[&str] = &["ld_rem_acq X", "ST Y"];
const GAINED: &[&str] = &["ST Y,rmw_ar_wg X", "LD Y,rmw_acq_wg X,LD Y"];

/// Where an old value is found, or an assertion fails.
const OLD: &str = "the initial value";

const SCOPED: &[Planted] = &[
    (&["protocol=srsp", "inject=pa-dropped"], OWED, 2, 1, "of line Y its L1 has the initial value", 90),
    (&["protocol=srsp", "inject=flush-short"], STOLEN, 2, 1, "srsp_l1_flushed_gone", 70),
    (&["protocol=srsp", "inject=early-pack"], STOLEN, 2, 1, "assertion", 60),
    (&["protocol=srsp", "inject=no-miss-fence"], OVERFLOWN, 3, 1, OLD, 110),
    (&["protocol=srsp", "inject=no-replay"], BOTH, 2, 1, "assertion", 60),
    (&["protocol=srsp", "inject=no-noinst"], FULL, 3, 1, "of line Y its L1 has the initial value", 140),
    (&["protocol=srsp", "inject=open-gate"], BESIDE, 2, 2, "assertion", 70),
    (&["protocol=srsp", "inject=early-unlock"], OWED, 2, 1, "of line Y its L1 has the initial value", 90),
    (&["protocol=srsp", "inject=early-release"], PASSED, 2, 1, "is dirty in its L1", 50),
    (&["protocol=srsp", "inject=keeps-copies"], PASSED, 2, 1, "of line Y its L1 has the initial value", 90),
    (&["protocol=brsp", "inject=no-noinst"], OWED, 2, 1, "of line Y its L1 has the initial value", 100),
    (&["protocol=brsp", "broadcast_order=token", "inject=open-lock"], BOTH, 2, 1, OLD, 100),
];

const REGISTERING: &[Planted] = &[
    (&["protocol=hlrc", "inject=flush-after-ack"], GAINED, 2, 1, OLD, 90),
    (&["protocol=hlrc", "inject=no-gain-inv"], GAINED, 2, 1, "of line Y its L1 has the initial value", 100),
    (&["protocol=hlrc", "banks=2", "l2_sfifo=4", "l1_mshrs=2", "inject=no-noinst"], GAINED, 2, 1, OLD, 90),
    (&["protocol=denovo-b", "inject=early-release"], PASSED, 2, 1, OLD, 100),
    (
        &["protocol=denovo-b", "inject=keeps-copies"],
        PASSED,
        2,
        1,
        "of line Y its L1 has the initial value",
        100,
    ),
    (
        &["protocol=denovo-b", "inject=grant-overwrites"],
        PASSED,
        2,
        1,
        "of line Y its L1 has the initial value",
        60,
    ),
    (&["protocol=denovo-b", "inject=read-takes"], PASSED, 2, 1, "assertion", 100),
    (&["protocol=denovo-b", "inject=lost-mask"], PASSED, 2, 1, OLD, 100),
    (&["protocol=denovo-b", "inject=old-read"], PASSED, 2, 1, OLD, 110),
];

fn all_found(list: &[Planted]) {
    for (sets, lists, lines, waves, words, most) in list {
        let change = |config| Config { lines: *lines, waves: *waves, ..config };
        let story = finds(sets, lists, change, *most);
        assert!(story.contains(words), "{sets:?}: {story}");
    }
}

#[test]
fn faults_of_scoped_l1s_are_found() {
    all_found(SCOPED);
}

#[test]
fn faults_of_registering_l1s_are_found() {
    all_found(REGISTERING);
}

#[test]
fn every_fault_of_the_family_is_tried() {
    let harmless = ["none", "told-again"];
    let tried: Vec<&str> = SCOPED.iter().chain(REGISTERING).flat_map(|planted| planted.0).copied().collect();
    for fault in smallest().pairs("inject", "protocol").into_iter().map(|(fault, _)| fault) {
        let key = format!("inject={fault}");
        assert!(harmless.contains(&fault) || tried.contains(&key.as_str()), "{fault} is not tried");
    }
}

#[test]
fn being_told_again_does_no_harm() {
    let config = config(&["protocol=denovo-b", "inject=told-again"], PASSED, &[2, 3]);
    holds("told-again", &Config { in_order: true, ..config });
}

#[test]
fn what_cannot_be_explored_is_refused() {
    let refused = |config: &Config| build(config).err().expect("it is refused").to_string();
    let remote = config(&["protocol=scope"], BOTH, &[1]);
    assert!(refused(&remote).contains("rmw_rem_ar X: the L1s of this protocol have no remote operations"));
    let waves = Config { waves: 3, ..config(&["protocol=srsp"], BOTH, &[1]) };
    assert!(refused(&waves).contains("6 waves") && refused(&waves).contains("1..4"));
    for (op, good) in
        [("st_acq_wg X", false), ("ld_rem_rlx X", false), ("LD Q", false), ("cas_rem_ar_cmp X", true)]
    {
        assert_eq!(op.parse::<Op>().is_ok(), good, "{op}");
    }
}
