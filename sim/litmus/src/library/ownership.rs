//! Tests of lines that move: words of several threads, each with one owner, which a layout may put into one
//! line; a read of a line that is still under way when another wave of its CU acquires.
//!
//! | test | what it needs |
//! | --- | --- |
//! | `own-fill` | a line that comes in does not cover what was stored to it meanwhile |
//! | `own-update` | nor what an atomic has changed |
//! | `own-add` | an atomic comes after the buffered stores to its word |
//! | `own-store` | a store comes after the one before it |
//! | `own-extra` | nor what was stored and drained before it is whole, if it came beside what was asked for |
//! | `own-evict` | what was taken by atomics outlives its cache's replacements |
//! | `MPbeside` | an acquire drops a line, too, that comes in after it for who asked before |
//!
//! What a machine needs to show a fault by them (caches of a few lines, an owner far away) is said by the
//! command, not here.

use super::{raced, stated, text};

/// Threads of a test of [`OWN`].
const THREADS: usize = 3;

/// Name, what each thread does and what it must not find; `@` is the number of the thread, whose words are
/// its own.
const OWN: &[(&str, &str, &str)] = &[
    ("own-fill", "r1 = R.D x@ ; W.D y@ 1 ; r2 = R.D y@ ; F.rel ; r3 = R.D y@", "@:r2=0 \\/ @:r3=0"),
    ("own-update", "r1 = R.D x@ ; ADD.C y@ 1 ; r3 = R.D y@ ; W.D x@ 1", "@:r3=0"),
    ("own-add", "W.D x@ 5 ; r1 = ADD.C x@ 1 ; r2 = R.D x@", "@:r1=0 \\/ @:r2=5"),
    ("own-store", "W.D x@ 1 ; W.D x@ 2 ; r1 = R.D x@", "@:r1=1 \\/ x@=1"),
];

/// Name, locations, threads, condition, race.
type Shared = (&'static str, &'static str, &'static [&'static str], &'static str, &'static str);

const SHARED: &[Shared] = &[
    (
        "own-evict",
        "a b c d",
        &["ADD.C a 1 ; ADD.C b 1 ; ADD.C c 1 ; ADD.C d 1", "ADD.C c 1 ; ADD.C a 1 ; ADD.C d 1 ; ADD.C b 1"],
        "a != 2 \\/ b != 2 \\/ c != 2 \\/ d != 2",
        "none",
    ),
    // With two CUs threads 0, 2, 4 and 6 share one, and with four cores the others have one each: their
    // words are for what the reads of the line still wait when it has the rest already.
    (
        "MPbeside",
        "x u v w y",
        &[
            "f = R.P y ; if f == 0 f = R.P y ; if f == 0 f = R.P y ; if f == 1 r1 = R.D x",
            "W.D x 1 ; W.P y 1",
            "r1 = R.D u",
            "W.D u 1",
            "r1 = R.D v",
            "W.D v 1",
            "r1 = R.D w",
            "W.D w 1",
        ],
        "0:f=1 /\\ 0:r1=0",
        "data",
    ),
    // The same places. Thread 0 has a store in its buffer that a release of a neighbour drains while a read
    // of the line waits for what thread 7 owns; what came beside another word of that read is older than
    // the store.
    (
        "own-extra",
        "x y u v w g",
        &[
            "W.D y 1 ; r1 = R.D w ; r2 = R.D x ; if r1 != 7 r3 = R.D y",
            "W.D u 1",
            "W.P g 1",
            "W.D v 1",
            "W.P g 2",
            "W.D v 2",
            "W.P g 3",
            "W.D w 1",
        ],
        "0:r3=0",
        "data",
    ),
];

/// Name and text of each.
pub(super) fn texts() -> Vec<(String, String)> {
    let rest = |race: &str| format!("{}{}", stated("FFF"), raced(race));
    let of_own = |(name, code, wrong): &(&str, &str, &str)| {
        let numbered = |what: &str, n: usize| what.replace('@', &n.to_string());
        let threads: Vec<String> = (0..THREADS).map(|n| format!(": {}", numbered(code, n))).collect();
        let wrong: Vec<String> = (0..THREADS).map(|n| numbered(wrong, n)).collect();
        let locs: Vec<String> = (0..THREADS).map(|n| format!("x{n} y{n}")).collect();
        (name.to_string(), text(name, &locs.join(" "), &threads, &wrong.join(" \\/ "), &rest("none")))
    };
    let of_shared = |(name, locs, threads, wrong, race): &Shared| {
        let threads: Vec<String> = threads.iter().map(|code| format!(": {code}")).collect();
        (name.to_string(), text(name, locs, &threads, wrong, &rest(race)))
    };
    OWN.iter().map(of_own).chain(SHARED.iter().map(of_shared)).collect()
}
