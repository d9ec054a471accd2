//! Tests of what releases and acquires wait for: old copies held by who reads, many stores before a flag, a flag that is asked for again and again.
//!
//! A message of one store and one flag seldom tells a release that waits too briefly: the store needs no longer than the flag.
//! It does where the data's last way is the longer one, through a home that has to drop the reader's copy, or behind stores
//! that were before it, and where the reader looks at the moment between. So it begins with copies, and asks for the flag
//! many times.
//!
//! | test | what it needs |
//! | --- | --- |
//! | `MPheld` | the reader's copies are dropped before the flag can be seen |
//! | `MPstores` | the last of many stores is done before the flag can be seen |
//! | `ISA2held` | so is a store of another thread that the releaser has seen |
//! | `MPread` | a relaxed load stays behind the paired one before it |
//! | `MPcopy` | so it does where it could hit an old copy |
//! | `MPjam` | so it does where the paired one waits behind stores on its way |

use super::{raced, stated, text};

/// Asks for `flag` up to `times` times, until it is not 0: the last answer is in register `f`.
fn polled(load: &str, flag: &str, times: usize) -> String {
    let once = format!("f = {load} {flag}");
    (1..times).fold(once.clone(), |rest, _| format!("{once} ; if f == 0 {{ {rest} }}"))
}

/// Locations `x0 x1 ...`.
fn places(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("x{n}")).collect()
}

/// A load of each location into a register of its own.
fn loads(register: &str, locs: &[String]) -> String {
    let one = |(n, loc): (usize, &String)| format!("{register}{n} = R.D {loc}");
    locs.iter().enumerate().map(one).collect::<Vec<_>>().join(" ; ")
}

/// A 1 to each location.
fn stores(locs: &[String]) -> String {
    locs.iter().map(|loc| format!("W.D {loc} 1")).collect::<Vec<_>>().join(" ; ")
}

/// Thread `thread` has seen the flag and an old value in one of so many registers.
fn stale(thread: usize, registers: usize) -> String {
    let old: Vec<String> = (0..registers).map(|n| format!("{thread}:r{n}=0")).collect();
    format!("{thread}:f=1 /\\ ({})", old.join(" \\/ "))
}

/// Words after a name and after its paired accesses, where its threads are, and what is stated of it.
struct Reach {
    name: &'static str,
    scope: &'static str,
    places: [&'static str; 3],
    stated: fn(&str) -> String,
}

/// Of all classes' models, without scopes.
fn everywhere(race: &str) -> String {
    format!("{}{}", stated("FFF"), raced(race))
}

/// Of the model with scopes.
fn within(race: &str) -> String {
    format!("expect drf0+scopes forbidden\nrace drf0+scopes {race}\n")
}

const REACHES: [Reach; 2] = [
    Reach { name: "DP", scope: "", places: ["", "", ""], stated: everywhere },
    Reach { name: "gpu", scope: ".gpu", places: ["@cu0 gpu0", "@cu1 gpu0", "@cu2 gpu0"], stated: within },
];

/// Stores, and of these the copies that a reader holds.
const HELD: (usize, usize) = (4, 2);
/// Stores of `MPstores`.
const MANY: usize = 24;
/// Stores before the flag of `MPjam`.
const JAM: usize = 20;

/// Name and text of each.
pub(super) fn texts() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for reach in &REACHES {
        let mut add = |name: &str, locs: &str, threads: &[String], condition: &str, race: &str| {
            let name = format!("{name}.{}", reach.name);
            let at = |(code, place): (&String, &&str)| format!("{place}: {code}");
            let threads: Vec<String> = threads.iter().zip(&reach.places).map(at).collect();
            let text = text(&name, locs, &threads, condition, &(reach.stated)(race));
            all.push((name, text));
        };
        let (load, store) = (format!("R.P{}", reach.scope), format!("W.P{}", reach.scope));
        let (locs, held) = (places(HELD.0), &places(HELD.0)[HELD.0 - HELD.1..]);
        let look = format!("if f == 1 {{ {} }}", loads("r", held));
        // The writer loads twice, one after the other: when it stores, the reader has its copies and asks for the flag.
        let wait = "w = r0 + r1";
        let (one, two) = (loads("r", held), loads("r", &locs[..HELD.1]));
        let writer = format!("{one} ; {wait} ; {two} ; {wait} ; {} ; {store} y 1", stores(&locs));
        let reader = format!("{} ; {} ; {look}", loads("h", held), polled(&load, "y", 24));
        add("MPheld", &format!("{} y", locs.join(" ")), &[writer, reader], &stale(1, HELD.1), "data");

        let locs = places(MANY);
        let writer = format!("{} ; {store} y 1", stores(&locs));
        let look = format!("if f == 1 {{ {} }}", loads("r", &locs[MANY - 1..]));
        let reader = format!("{} ; {look}", polled(&load, "y", 8));
        add("MPstores", &format!("{} y", locs.join(" ")), &[writer, reader], &stale(1, 1), "none");

        let first = format!("W.D x 1 ; {store} y 1");
        let second = format!("{} ; if f == 1 {store} z 1", polled(&load, "y", 6));
        let third = format!("h = R.D x ; {} ; if f == 1 r0 = R.D x", polled(&load, "z", 8));
        let seen = format!("1:f=1 /\\ {}", stale(2, 1));
        add("ISA2held", "x y z", &[first, second, third], &seen, "data");
    }
    for class in ["U", "N"] {
        let mut add = |name: &str, locs: &str, threads: [String; 2], race: &str| {
            let name = format!("{name}.P{class}");
            let text = text(&name, locs, &threads, "1:r1=1 /\\ 1:r2=0", race);
            all.push((name, text));
        };
        let look = format!("r1 = R.P y ; r2 = R.{class} x");
        let (alone, besides) =
            if class == "N" { ("non-ordering none", "race drfrlx non-ordering\n") } else { ("none", "") };
        add("MPread", "x y", [": W.P x 1 ; W.P y 1".into(), format!(": {look}")], &everywhere(alone));
        // The reader takes its copy, and then its time, which it spends on loads of its own.
        let own = |n: usize| format!("h{n} = R.D x{n} ; w = h{n} + h{n}");
        let reader = format!(": h = R.D x ; w = h + h ; {} ; {} ; {look}", own(0), own(1));
        add("MPcopy", "x y x0 x1", [": W.P x 1 ; W.P y 1".into(), reader], &(everywhere("data") + besides));
        // The flag lies by what its reader writes, and so waits in the same queues; the data lies elsewhere.
        let (locs, writer) = (places(JAM), ": h0 = R.D x0 ; ADD.U x 1 ; ADD.U y 1");
        // Its stores leave together when it has its own copies, at about the time of the other thread's atomics.
        let reader = format!(": h0 = R.D x0 ; h1 = R.D y ; w = h0 + h1 ; {} ; {look}", stores(&locs));
        add(
            "MPjam",
            &format!("x y {}", locs.join(" ")),
            [writer.into(), reader],
            &(everywhere("data") + besides),
        );
    }
    all
}
