//! Tests of Weft's own: shapes in every class, mixed classes, use cases of relaxed atomics, scopes (cu-and-consistency.md section 6).
//!
//! Each states its verdicts under drf0, drf1 and drfrlx (or drf0 with scopes), and the races of its program. In the tables a `*` stands for a class.

mod ownership;
mod releases;
mod remote;

use crate::read::{ReadError, read};
use crate::test::Test;

/// Name, locations, threads, condition.
type Shape = (&'static str, &'static str, &'static [&'static str], &'static str);

/// Shapes that sequential consistency forbids.
const FORBIDDEN: &[Shape] = &[
    ("MP", "x y", &["W.* x 1 ; W.* y 1", "r1 = R.* y ; r2 = R.* x"], "1:r1=1 /\\ 1:r2=0"),
    ("SB", "x y", &["W.* x 1 ; r1 = R.* y", "W.* y 1 ; r2 = R.* x"], "0:r1=0 /\\ 1:r2=0"),
    ("LB", "x y", &["r1 = R.* x ; W.* y 1", "r2 = R.* y ; W.* x 1"], "0:r1=1 /\\ 1:r2=1"),
    ("2+2W", "x y", &["W.* x 1 ; W.* y 2", "W.* y 1 ; W.* x 2"], "x=1 /\\ y=1"),
    ("R", "x y", &["W.* x 1 ; W.* y 1", "W.* y 2 ; r1 = R.* x"], "y=2 /\\ 1:r1=0"),
    ("S", "x y", &["W.* x 2 ; W.* y 1", "r1 = R.* y ; W.* x 1"], "1:r1=1 /\\ x=2"),
    (
        "WRC",
        "x y",
        &["W.* x 1", "r1 = R.* x ; W.* y 1", "r2 = R.* y ; r3 = R.* x"],
        "1:r1=1 /\\ 2:r2=1 /\\ 2:r3=0",
    ),
    (
        "ISA2",
        "x y z",
        &["W.* x 1 ; W.* y 1", "r1 = R.* y ; W.* z 1", "r2 = R.* z ; r3 = R.* x"],
        "1:r1=1 /\\ 2:r2=1 /\\ 2:r3=0",
    ),
    (
        "IRIW",
        "x y",
        &["W.* x 1", "W.* y 1", "r1 = R.* x ; r2 = R.* y", "r3 = R.* y ; r4 = R.* x"],
        "2:r1=1 /\\ 2:r2=0 /\\ 3:r3=1 /\\ 3:r4=0",
    ),
];

/// Shapes that dependences forbid under every model.
const DEPENDENT: &[Shape] = &[
    (
        "LB+data",
        "x y",
        &[
            "r1 = R.* x ; r2 = r1 ^ r1 ; r2 = r2 + 1 ; W.* y r2",
            "r1 = R.* y ; r2 = r1 ^ r1 ; r2 = r2 + 1 ; W.* x r2",
        ],
        "0:r1=1 /\\ 1:r1=1",
    ),
    (
        "LB+ctrl",
        "x y",
        &["r1 = R.* x ; if r1 == 1 W.* y 1", "r1 = R.* y ; if r1 == 1 W.* x 1"],
        "0:r1=1 /\\ 1:r1=1",
    ),
];

/// Shapes of one location.
const COHERENCE: &[Shape] = &[
    ("CoRR", "x", &["W.* x 1", "r1 = R.* x ; r2 = R.* x"], "1:r1=1 /\\ 1:r2=0"),
    ("CoWW", "x", &["W.* x 1 ; W.* x 2"], "x=1"),
    ("CoWR", "x", &["W.* x 1 ; r1 = R.* x", "W.* x 2"], "0:r1=2 /\\ x=1"),
    ("CoRW", "x", &["r1 = R.* x ; W.* x 1", "W.* x 2"], "0:r1=2 /\\ x=2"),
];

/// Name, locations, threads, condition, verdicts, race under drfrlx (and under drf1 if it differs).
type Mixed = (&'static str, &'static str, &'static [&'static str], &'static str, &'static str, &'static str);

const MPG: &str = "1:r1=1 /\\ 1:r2=0";

/// Classes mixed.
const MIXED: &[Mixed] = &[
    ("MPg.DU", "x y", &["W.D x 1 ; W.U y 1", "r1 = R.U y ; if r1 == 1 r2 = R.D x"], MPG, "FAA", "data"),
    ("MPg.DN", "x y", &["W.D x 1 ; W.N y 1", "r1 = R.N y ; if r1 == 1 r2 = R.D x"], MPG, "FAA", "data"),
    ("MPg.UU", "x y", &["W.U x 1 ; W.U y 1", "r1 = R.U y ; if r1 == 1 r2 = R.U x"], MPG, "FFF", "none"),
    (
        "MPg.NU",
        "x y",
        &["W.N x 1 ; W.U y 1", "r1 = R.U y ; if r1 == 1 r2 = R.N x"],
        MPG,
        "FFA",
        "non-ordering none",
    ),
    (
        "MPg.NN",
        "x y",
        &["W.N x 1 ; W.N y 1", "r1 = R.N y ; if r1 == 1 r2 = R.N x"],
        MPG,
        "FFA",
        "non-ordering none",
    ),
    (
        "MPg.CU",
        "x y",
        &["W.C x 1 ; W.U y 1", "r1 = R.U y ; if r1 == 1 r2 = R.C x"],
        MPG,
        "FFA",
        "commutative none",
    ),
    (
        "MPg.SU",
        "x y",
        &["W.S x 1 ; W.U y 1", "r1 = R.U y ; if r1 == 1 r2 = R.S x"],
        MPG,
        "FFA",
        "speculative none",
    ),
    ("MPg.QU", "x y", &["W.Q x 1 ; W.U y 1", "r1 = R.U y ; if r1 == 1 r2 = R.Q x"], MPG, "FFA", "none"),
    ("MPg.PN", "x y", &["W.P x 1 ; W.N y 1", "r1 = R.N y ; if r1 == 1 r2 = R.P x"], MPG, "FFF", "none"),
    ("SB.UP", "x y", &["W.U x 1 ; r1 = R.P y", "W.P y 1 ; r2 = R.U x"], "0:r1=0 /\\ 1:r2=0", "FFF", "none"),
    (
        "SB.D+rmw",
        "x y z",
        &["W.D x 1 ; ADD.P z 1 ; r1 = R.D y", "W.D y 1 ; ADD.P z 1 ; r2 = R.D x"],
        "0:r1=0 /\\ 1:r2=0",
        "FFF",
        "data",
    ),
    (
        "SB.D+fences",
        "x y",
        &["W.D x 1 ; F.ar ; r1 = R.D y", "W.D y 1 ; F.ar ; r2 = R.D x"],
        "0:r1=0 /\\ 1:r2=0",
        "FFF",
        "data",
    ),
    (
        "MPg.DN+fences",
        "x y",
        &["W.D x 1 ; F.rel ; W.N y 1", "r1 = R.N y ; if r1 == 1 { F.acq ; r2 = R.D x }"],
        MPG,
        "FFF",
        "none",
    ),
    (
        "ISA2g.P",
        "x y z",
        &["W.D x 1 ; W.P y 1", "r1 = R.P y ; if r1 == 1 W.P z 1", "r2 = R.P z ; if r2 == 1 r3 = R.D x"],
        "1:r1=1 /\\ 2:r2=1 /\\ 2:r3=0",
        "FFF",
        "none",
    ),
    (
        "ISA2g.U",
        "x y z",
        &["W.D x 1 ; W.P y 1", "r1 = R.P y ; if r1 == 1 W.U z 1", "r2 = R.U z ; if r2 == 1 r3 = R.D x"],
        "1:r1=1 /\\ 2:r2=1 /\\ 2:r3=0",
        "FAA",
        "data",
    ),
    (
        "IRIW.PU",
        "x y",
        &["W.P x 1", "W.P y 1", "r1 = R.U x ; r2 = R.U y", "r3 = R.U y ; r4 = R.U x"],
        "2:r1=1 /\\ 2:r2=0 /\\ 3:r3=1 /\\ 3:r4=0",
        "FFF",
        "none",
    ),
    (
        "IRIW.PN",
        "x y",
        &["W.P x 1", "W.P y 1", "r1 = R.N x ; r2 = R.N y", "r3 = R.N y ; r4 = R.N x"],
        "2:r1=1 /\\ 2:r2=0 /\\ 3:r3=1 /\\ 3:r4=0",
        "FFA",
        "non-ordering none",
    ),
];

const MUTEX: &str = "0:r0=0 /\\ 1:r0=0 /\\ d=1";
const QUEUE: &str = "1:r0=1 /\\ 1:r2=0";
const COUNTED: &str = "2:a=1 /\\ 2:b=1 /\\ 2:r != 2";
const OPPOSITE: &str = "2:r0=1 /\\ 2:r1=0 /\\ 3:r2=1 /\\ 3:r3=0";
const TORN: &str = "(1:r3=1 /\\ 1:r4=0) \\/ (1:r3=0 /\\ 1:r4=1)";

/// Use cases of relaxed atomics, and programs that misuse them; `*` and `+` are classes given with the name.
const CASES: &[(&str, &str, &[&str], &str)] = &[
    (
        "mutex",
        "l d",
        &[
            "r0 = CAS.* l 0 1 ; if r0 == 0 { r1 = R.D d ; r2 = r1 + 1 ; W.D d r2 ; W.+ l 0 }",
            "r0 = CAS.* l 0 1 ; if r0 == 0 { r1 = R.D d ; r2 = r1 + 1 ; W.D d r2 ; W.+ l 0 }",
        ],
        MUTEX,
    ),
    (
        "queue",
        "d occ",
        &[
            "W.D d 1 ; W.P occ 1",
            "r0 = R.* occ ; if r0 == 1 { r1 = R.P occ ; if r1 == 1 r2 = R.D d } ; if r1 == 0 r2 = 1",
        ],
        QUEUE,
    ),
    ("queue-unchecked", "d occ", &["W.D d 1 ; W.P occ 1", "r0 = R.* occ ; if r0 == 1 r2 = R.D d"], QUEUE),
    (
        "events",
        "c f g",
        &[
            "ADD.* c 1 ; W.P f 1",
            "ADD.* c 1 ; W.P g 1",
            "a = R.P f ; b = R.P g ; if a == 1 { if b == 1 r = R.+ c }",
        ],
        COUNTED,
    ),
    (
        "events-plain",
        "c f g",
        &[
            "r = R.D c ; r = r + 1 ; W.D c r ; W.P f 1",
            "r = R.D c ; r = r + 1 ; W.D c r ; W.P g 1",
            "a = R.P f ; b = R.P g ; if a == 1 { if b == 1 r = R.D c }",
        ],
        COUNTED,
    ),
    (
        "events-old",
        "c f g",
        &[
            "o = ADD.* c 1 ; W.P f 1",
            "o = ADD.* c 1 ; W.P g 1",
            "a = R.P f ; b = R.P g ; if a == 1 { if b == 1 r = R.D c }",
        ],
        "0:o=0 /\\ 1:o=0",
    ),
    ("events-early", "c", &["ADD.* c 1", "ADD.* c 1", "r = R.* c"], "2:r != 2"),
    (
        "events-exch",
        "c f g",
        &[
            "ADD.* c 1 ; W.P f 1",
            "EXCH.* c 5 ; W.P g 1",
            "a = R.P f ; b = R.P g ; if a == 1 { if b == 1 r = R.D c }",
        ],
        "2:a=1 /\\ 2:b=1 /\\ 2:r=6",
    ),
    (
        "flags",
        "dirty stop done",
        &["W.* dirty 1 ; r = R.* stop ; W.P done 1", "W.* stop 1 ; j = R.P done ; if j == 1 d = R.* dirty"],
        "1:j=1 /\\ 1:d=0",
    ),
    (
        "flags-unjoined",
        "dirty stop",
        &["W.* dirty 1 ; r = R.* stop", "W.* stop 1 ; d = R.* dirty"],
        "0:r=0 /\\ 1:d=0",
    ),
    (
        "split-counter",
        "x y",
        &["ADD.* x 1", "ADD.* y 1", "r0 = R.* x ; r1 = R.* y", "r2 = R.* y ; r3 = R.* x"],
        OPPOSITE,
    ),
    (
        "references",
        "c m n",
        &[
            "INC.* c 10 ; r0 = DEC.+ c 10 ; if r0 == 1 W.D m 1",
            "INC.* c 10 ; r0 = DEC.+ c 10 ; if r0 == 1 W.D n 1",
        ],
        "c != 0",
    ),
    (
        "references-shared",
        "c m",
        &[
            "INC.* c 10 ; r0 = DEC.* c 10 ; if r0 == 1 W.D m 1",
            "INC.* c 10 ; r0 = DEC.* c 10 ; if r0 == 1 W.D m 2",
        ],
        "c != 0",
    ),
    (
        "seqlock",
        "seq a b",
        &[
            "o = CAS.+ seq 0 1 ; if o == 0 { W.* a 1 ; W.* b 1 ; W.P seq 2 }",
            "s = R.P seq ; r1 = R.* a ; r2 = R.* b ; t = ADD.P seq 0 ; if s != 1 { if s == t { r3 = r1 ; r4 = r2 } }",
        ],
        TORN,
    ),
    (
        "seqlock-first",
        "seq a b",
        &[
            "o = CAS.P seq 0 1 ; if o == 0 { W.* a 1 ; W.* b 1 ; W.P seq 2 }",
            "s = R.+ seq ; r1 = R.* a ; r2 = R.* b ; t = ADD.P seq 0 ; if s != 1 { if s == t { r3 = r1 ; r4 = r2 } }",
        ],
        TORN,
    ),
];

/// Use case, classes of `*` and `+`, verdicts, races.
const LABELS: &[(&str, &str, &str, &str)] = &[
    ("mutex", "PP", "FFF", "none"),
    ("mutex", "UP", "FAA", "data"),
    ("mutex", "PU", "FAA", "data"),
    ("queue", "U", "FFF", "none"),
    ("queue", "N", "FFF", "none"),
    ("queue", "D", "FFF", "data"),
    ("queue-unchecked", "U", "FAA", "data"),
    ("queue-unchecked", "P", "FFF", "none"),
    ("events", "CC", "FFF", "none"),
    ("events", "CD", "FFF", "none"),
    ("events-plain", "", "AAA", "data"),
    ("events-old", "C", "FFF", "commutative none"),
    ("events-early", "C", "AAA", "commutative none"),
    ("events-exch", "C", "AAA", "commutative none"),
    ("flags", "N", "FFF", "none"),
    ("flags", "U", "FFF", "none"),
    ("flags-unjoined", "N", "FFA", "non-ordering none"),
    ("split-counter", "Q", "FFA", "none"),
    ("split-counter", "N", "FFA", "non-ordering none"),
    ("split-counter", "U", "FFF", "none"),
    ("references", "Q", "FFF", "none"),
    ("references", "C", "FFF", "commutative none"),
    ("references", "CP", "FFF", "commutative none"),
    ("references", "P", "FFF", "none"),
    ("references-shared", "Q", "FFF", "data"),
    ("seqlock", "SP", "FFF", "none"),
    ("seqlock", "NP", "FFF", "non-ordering none"),
    ("seqlock", "DP", "FFF", "data"),
    ("seqlock-first", "SU", "FFA", "speculative none"),
    ("seqlock", "SU", "FFF", "speculative none"),
];

/// Name, threads with their places, condition, whether it is allowed under drf0 with scopes, race.
const SCOPED: &[(&str, &[(&str, &str)], &str, bool, &str)] = &[
    (
        "MPs.cu-same",
        &[("@cu0 gpu0", "W.D x 1 ; W.P.cu y 1"), ("@cu0 gpu0", "r1 = R.P.cu y ; if r1 == 1 r2 = R.D x")],
        MPG,
        false,
        "none",
    ),
    (
        "MPs.cu-other",
        &[("@cu0 gpu0", "W.D x 1 ; W.P.cu y 1"), ("@cu1 gpu0", "r1 = R.P.cu y ; if r1 == 1 r2 = R.D x")],
        MPG,
        true,
        "heterogeneous",
    ),
    (
        "MPs.gpu-same",
        &[("@cu0 gpu0", "W.D x 1 ; W.P.gpu y 1"), ("@cu1 gpu0", "r1 = R.P.gpu y ; if r1 == 1 r2 = R.D x")],
        MPG,
        false,
        "none",
    ),
    (
        "MPs.gpu-other",
        &[("@cu0 gpu0", "W.D x 1 ; W.P.gpu y 1"), ("@cu0 gpu1", "r1 = R.P.gpu y ; if r1 == 1 r2 = R.D x")],
        MPG,
        true,
        "heterogeneous",
    ),
    (
        "MPs.sys",
        &[("@cu0 gpu0", "W.D x 1 ; W.P.sys y 1"), ("@cu0 gpu1", "r1 = R.P.sys y ; if r1 == 1 r2 = R.D x")],
        MPG,
        false,
        "none",
    ),
    (
        "MPs.sys-cu",
        &[("@cu0 gpu0", "W.D x 1 ; W.P.sys y 1"), ("@cu1 gpu0", "r1 = R.P.cu y ; if r1 == 1 r2 = R.D x")],
        MPG,
        true,
        "heterogeneous",
    ),
    (
        "ISA2s.cu-gpu",
        &[
            ("@cu0 gpu0", "W.D x 1 ; W.P.cu y 1"),
            ("@cu0 gpu0", "r1 = R.P.cu y ; if r1 == 1 W.P.gpu z 1"),
            ("@cu1 gpu0", "r2 = R.P.gpu z ; if r2 == 1 r3 = R.D x"),
        ],
        "1:r1=1 /\\ 2:r2=1 /\\ 2:r3=0",
        false,
        "none",
    ),
    (
        "ISA2s.gpu-cu",
        &[
            ("@cu0 gpu0", "W.D x 1 ; W.P.gpu y 1"),
            ("@cu1 gpu0", "r1 = R.P.gpu y ; if r1 == 1 W.P.cu z 1"),
            ("@cu1 gpu0", "r2 = R.P.cu z ; if r2 == 1 r3 = R.D x"),
        ],
        "1:r1=1 /\\ 2:r2=1 /\\ 2:r3=0",
        false,
        "none",
    ),
    (
        "IRIWs.gpu-same",
        &[
            ("@cu0 gpu0", "W.P.gpu x 1"),
            ("@cu1 gpu0", "W.P.gpu y 1"),
            ("@cu2 gpu0", "r1 = R.P.gpu x ; r2 = R.P.gpu y"),
            ("@cu3 gpu0", "r3 = R.P.gpu y ; r4 = R.P.gpu x"),
        ],
        "2:r1=1 /\\ 2:r2=0 /\\ 3:r3=1 /\\ 3:r4=0",
        false,
        "none",
    ),
    (
        "IRIWs.sys",
        &[
            ("@cu0 gpu0", "W.P.sys x 1"),
            ("@cu1 gpu1", "W.P.sys y 1"),
            ("@cu2 gpu0", "r1 = R.P.sys x ; r2 = R.P.sys y"),
            ("@cu3 gpu1", "r3 = R.P.sys y ; r4 = R.P.sys x"),
        ],
        "2:r1=1 /\\ 2:r2=0 /\\ 3:r3=1 /\\ 3:r4=0",
        false,
        "none",
    ),
    (
        "IRIWs.gpu-other",
        &[
            ("@cu0 gpu0", "W.P.gpu x 1"),
            ("@cu1 gpu1", "W.P.gpu y 1"),
            ("@cu2 gpu0", "r1 = R.P.gpu x ; r2 = R.P.gpu y"),
            ("@cu3 gpu1", "r3 = R.P.gpu y ; r4 = R.P.gpu x"),
        ],
        "2:r1=1 /\\ 2:r2=0 /\\ 3:r3=1 /\\ 3:r4=0",
        true,
        "none",
    ),
    (
        "SBs.cu-same",
        &[("@cu0 gpu0", "W.P.cu x 1 ; r1 = R.P.cu y"), ("@cu0 gpu0", "W.P.cu y 1 ; r2 = R.P.cu x")],
        "0:r1=0 /\\ 1:r2=0",
        false,
        "none",
    ),
    (
        "SBs.cu-other",
        &[("@cu0 gpu0", "W.P.cu x 1 ; r1 = R.P.cu y"), ("@cu1 gpu0", "W.P.cu y 1 ; r2 = R.P.cu x")],
        "0:r1=0 /\\ 1:r2=0",
        true,
        "none",
    ),
    (
        "pops.cu-gpu",
        &[
            (
                "@cu0 gpu0",
                "r0 = CAS.P.cu l 0 1 ; if r0 == 0 { r1 = R.D d ; r2 = r1 + 1 ; W.D d r2 ; W.P.cu l 0 }",
            ),
            (
                "@cu1 gpu0",
                "r0 = CAS.P.gpu l 0 1 ; if r0 == 0 { r1 = R.D d ; r2 = r1 + 1 ; W.D d r2 ; W.P.gpu l 0 }",
            ),
        ],
        MUTEX,
        true,
        "heterogeneous",
    ),
];

/// Models that the unscoped tests state verdicts of.
const MODELS: [&str; 3] = ["drf0", "drf1", "drfrlx"];

fn stated(verdicts: &str) -> String {
    let word = |c| if c == 'A' { "allowed" } else { "forbidden" };
    MODELS.iter().zip(verdicts.chars()).map(|(model, v)| format!("expect {model} {}\n", word(v))).collect()
}

fn raced(races: &str) -> String {
    let mut words = races.split(' ');
    let rlx = words.next().unwrap_or("none");
    format!("race drfrlx {rlx}\nrace drf1 {}\n", words.next().unwrap_or(rlx))
}

fn text(name: &str, locs: &str, threads: &[String], condition: &str, rest: &str) -> String {
    let threads: String = threads.iter().enumerate().map(|(n, code)| format!("T{n} {code}\n")).collect();
    format!("weft-litmus 1\nname {name}\nlocs {locs}\n{threads}exists ({condition})\n{rest}")
}

/// The library as text, name by name.
pub fn texts() -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut add = |name: String,
                   locs: &str,
                   threads: &[&str],
                   of: &dyn Fn(&str) -> String,
                   condition: &str,
                   rest: &str| {
        let threads: Vec<String> = threads.iter().map(|code| format!(": {}", of(code))).collect();
        let text = text(&name, locs, &threads, condition, rest);
        all.push((name, text));
    };
    for class in ["D", "P", "U", "C", "N", "S", "Q"] {
        let of = |code: &str| code.replace('*', class);
        let strong = match class {
            "D" => "AAA",
            "P" | "U" => "FFF",
            _ => "FFA",
        };
        for (shapes, verdicts) in [(FORBIDDEN, strong), (DEPENDENT, "FFF"), (COHERENCE, "FFF")] {
            for (name, locs, threads, condition) in shapes {
                add(format!("{name}.{class}"), locs, threads, &of, condition, &stated(verdicts));
            }
        }
        if class != "D" {
            add(format!("lost.{class}"), "x", &["ADD.* x 1", "ADD.* x 1"], &of, "x=1", &stated("FFF"));
        }
        let paired = format!("{}{}", stated("FFF"), raced("none"));
        let guarded = ["W.* x 1 ; W.P y 1", "r1 = R.P y ; if r1 == 1 r2 = R.* x"];
        add(format!("MPg.{class}P"), "x y", &guarded, &of, MPG, &paired);
    }
    for (name, locs, threads, condition, verdicts, races) in MIXED {
        let rest = format!("{}{}", stated(verdicts), raced(races));
        add(name.to_string(), locs, threads, &str::to_string, condition, &rest);
    }
    for (case, classes, verdicts, races) in LABELS {
        let Some((_, locs, threads, condition)) = CASES.iter().find(|(name, ..)| name == case) else {
            continue;
        };
        let mut letters = classes.chars();
        let (first, second) = (letters.next().unwrap_or('D'), letters.next());
        let of = |code: &str| {
            // `r1 + 1` keeps its sign: a class follows a dot.
            code.replace(".*", &format!(".{first}")).replace(".+", &format!(".{}", second.unwrap_or(first)))
        };
        let name = if classes.is_empty() { case.to_string() } else { format!("{case}.{classes}") };
        add(name, locs, threads, &of, condition, &format!("{}{}", stated(verdicts), raced(races)));
    }
    for (name, threads, condition, allowed, race) in SCOPED {
        let threads: Vec<String> = threads.iter().map(|(place, code)| format!("{place}: {code}")).collect();
        let word = if *allowed { "allowed" } else { "forbidden" };
        let rest = format!("expect drf0+scopes {word}\nrace drf0+scopes {race}\n");
        let locs = if name.starts_with("pops") { "l d" } else { "x y z" };
        all.push((name.to_string(), text(name, locs, &threads, condition, &rest)));
    }
    all.extend(remote::texts());
    all.extend(releases::texts());
    all.extend(ownership::texts());
    all
}

/// The library, read.
///
/// # Errors
/// A text of it that cannot be read.
pub fn library() -> Result<Vec<Test>, ReadError> {
    texts().iter().map(|(_, text)| read(text)).collect()
}
