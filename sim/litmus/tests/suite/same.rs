//! What must come out the same: one computation in every format, and a model's ends whether or not incoherent
//! executions are left out beforehand.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use weft_litmus::execution::for_each;
use weft_litmus::model::Model;
use weft_litmus::paths::Bounds;
use weft_litmus::read::read;

/// A computation on three registers: `to = a OP b`, or only where the register `when` is not 0.
struct Step {
    op: usize,
    to: usize,
    a: usize,
    b: i64,
    when: Option<usize>,
}

/// Names in PTX, AArch64 and C.
const OPS: [(&str, &str, &str); 5] =
    [("add", "ADD", "+"), ("sub", "SUB", "-"), ("and", "AND", "&"), ("or", "ORR", "|"), ("xor", "EOR", "^")];

fn steps(rng: &mut SmallRng) -> Vec<Step> {
    let step = |rng: &mut SmallRng| Step {
        op: rng.random_range(0..OPS.len()),
        to: rng.random_range(0..3),
        a: rng.random_range(0..3),
        b: rng.random_range(0..20),
        when: rng.random_bool(0.4).then(|| rng.random_range(0..3)),
    };
    (0..rng.random_range(1..8)).map(|_| step(rng)).collect()
}

fn computed(steps: &[Step]) -> [i64; 3] {
    let mut regs = [1, 2, 3];
    for step in steps {
        if step.when.is_some_and(|when| regs[when] == 0) {
            continue;
        }
        let a = regs[step.a];
        regs[step.to] = match OPS[step.op].2 {
            "+" => a + step.b,
            "-" => a - step.b,
            "&" => a & step.b,
            "|" => a | step.b,
            _ => a ^ step.b,
        };
    }
    regs
}

fn ptx(steps: &[Step], end: &str) -> String {
    let mut rows = String::from(" mov r0, 1 ;\n mov r1, 2 ;\n mov r2, 3 ;\n");
    for (n, Step { op, to, a, b, when }) in steps.iter().enumerate() {
        if let Some(when) = when {
            rows += &format!(" beq r{when}, 0, L{n} ;\n");
        }
        rows += &format!(" {} r{to}, r{a}, {b} ;\n L{n}: ;\n", OPS[*op].0);
    }
    format!("PTX a\n{{}}\n P0 ;\n{rows}{end}")
}

fn aarch64(steps: &[Step], end: &str) -> String {
    let mut rows = String::new();
    for (n, Step { op, to, a, b, when }) in steps.iter().enumerate() {
        match when {
            // By a choice as well as by branches.
            Some(when) if n % 2 == 0 => {
                rows += &format!(
                    " {} W9,W{a},#{b} ;\n CMP W{when},#0 ;\n CSEL W{to},W{to},W9,EQ ;\n",
                    OPS[*op].1
                );
            }
            Some(when) => {
                rows += &format!(" CBZ W{when},L{n} ;\n {} W{to},W{a},#{b} ;\n L{n}: ;\n", OPS[*op].1);
            }
            None => rows += &format!(" {} W{to},W{a},#{b} ;\n", OPS[*op].1),
        }
    }
    format!("AArch64 a\n{{ 0:X0=1; 0:X1=2; uint64_t 0:X2=3; }}\n P0 ;\n{rows}{}", end.replace(":r", ":X"))
}

fn c(steps: &[Step], end: &str) -> String {
    let mut code = String::from("  int r0 = 1, r1 = 2, r2 = 3;\n");
    for (n, Step { op, to, a, b, when }) in steps.iter().enumerate() {
        let set = format!("r{to} = r{a} {} {b};", OPS[*op].2);
        code += &match when {
            Some(when) if n % 2 == 0 => format!("  if (!r{when}) {{ }} else {{ {set} }}\n"),
            Some(when) => format!("  if (r{when} && 1 != 0) {set}\n"),
            None => format!("  {set}\n"),
        };
    }
    format!("C a\n{{}}\nP0 () {{\n{code}}}\n{end}")
}

#[test]
fn a_computation_is_the_same_in_every_format() {
    let mut rng = SmallRng::seed_from_u64(11);
    for _ in 0..300 {
        let steps = steps(&mut rng);
        let [a, b, c_] = computed(&steps);
        let end = format!("forall (0:r0={a} /\\ 0:r1={b} /\\ 0:r2={c_})");
        for text in [ptx(&steps, &end), aarch64(&steps, &end), c(&steps, &end)] {
            let test = read(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let model = Model::of(test.dialect).expect("a model of the format");
            let ends = model.ends(&test, Bounds::default()).expect("small");
            assert!(!ends.is_empty() && test.broken_by(&ends).is_none(), "{text}\n{ends:?}");
        }
    }
}

/// Two threads of accesses to two words, plain and atomic ones.
fn accesses(rng: &mut SmallRng) -> String {
    let mut text = String::from("weft-litmus 1\nlocs x y\n");
    for thread in 0..2 {
        let mut code = Vec::new();
        for n in 0..rng.random_range(2..=4) {
            let (class, loc) = (["D", "P", "N"][rng.random_range(0..3)], ["x", "y"][rng.random_range(0..2)]);
            code.push(match rng.random_range(0..5) {
                0 | 1 => format!("r{n} = R.{class} {loc}"),
                2 if class != "D" => format!("r{n} = ADD.{class} {loc} 1"),
                3 if class != "D" => format!("r{n} = CAS.{class} {loc} 1 2"),
                _ => format!("W.{class} {loc} {}", rng.random_range(1..=2)),
            });
        }
        text += &format!("T{thread} : {}\n", code.join(" ; "));
    }
    text + "exists (x=0)\n"
}

#[test]
fn incoherent_executions_are_left_out_rightly() {
    let mut rng = SmallRng::seed_from_u64(5);
    let models: Vec<Model> = [
        "ptx",
        "armv8",
        "rc11",
        "rc11-scopes",
        "opencl",
        "scoped-rmo",
        "sc",
        "drf0",
        "drf1",
        "drfrlx+scopes",
    ]
    .iter()
    .map(|name| name.parse().expect("a model"))
    .collect();
    for _ in 0..60 {
        let text = accesses(&mut rng);
        let test = read(&text).expect("a test");
        let mut all = vec![BTreeSet::new(); models.len()];
        for_each(&test, Bounds::default(), &mut |x| {
            for (model, ends) in models.iter().zip(&mut all) {
                if model.allows(x) {
                    ends.insert(x.end.clone());
                }
            }
        })
        .expect("small");
        for (model, all) in models.iter().zip(&all) {
            let found = model.ends(&test, Bounds::default()).expect("small");
            assert!(found.is_subset(all), "{model}:\n{text}");
            assert!(all.is_subset(&found), "{model} has lost an end:\n{text}");
        }
    }
}
