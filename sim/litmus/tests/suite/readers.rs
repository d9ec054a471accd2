//! Readers refuse what they cannot read, at its line and in one sentence, whatever the text is.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::path::{Path, PathBuf};
use weft_litmus::library::texts;
use weft_litmus::read::read;

/// A condition on a register that nothing writes would say nothing; one that the braces give a value says
/// something.
#[test]
fn a_register_that_nothing_writes_is_refused_in_every_format() {
    let texts = [
        ("PTX a\n{ x=0; }\n P0 ;\n st.weak x, r7 ;\n", "exists (0:r7=0)", 5),
        ("AArch64 a\n{ 0:X1=x; }\n P0 ;\n STR W7,[X1] ;\n", "exists (0:X7=0)", 5),
        ("AArch64 a\n{ uint64_t 0:X7; 0:X1=x; }\n P0 ;\n STR W0,[X1] ;\n", "filter (0:X7=0) exists true", 5),
        ("Bell a\n{ x=0; }\n P0 ;\n r[] r0 x ;\n", "~exists (x=0 /\\ 0:r7=0)", 5),
        ("C a\n{ x=0; }\nP0 (int* x) {\n  int r7; *x = 1; }\n", "forall (0:r7=0)", 5),
        ("OPENCL a\n{ x=0; }\nP0@wg 0, dev 0 (global int* x) {\n  *x = 1; }\n", "exists (0:x=0)", 5),
        ("weft-litmus 1\nlocs x\nT0 : W.D x r7\n", "exists (0:r7=0)", 4),
    ];
    for (text, condition, line) in texts {
        let text = format!("{text}{}\n", condition.replacen(" exists", "\nexists", 1));
        let error = read(&text).expect_err(&text);
        assert!(error.line == line && error.problem.contains("that nothing writes"), "{text}: {error}");
    }
    let given = "PTX a\n{ x=0; 0:r7=0; }\n P0 ;\n st.weak x, r7 ;\nexists (0:r7=0)\n";
    assert!(read(given).is_ok());
}

const WRONG: &[(&str, usize, &str)] = &[
    ("", 1, "is no format of litmus tests"),
    ("VHDL x\n{}\n", 1, "\"VHDL\" is no format"),
    ("PTX a\n{ x=0;\n", 2, "braces of the initial values are not closed"),
    ("PTX a\n{ x=0; }\n P0 ;\n ld.weak r0, x ;\n", 4, "there is no condition"),
    ("PTX a\n{ x=0; }\n P0 ;\n ld.strong r0, x ;\nexists (0:r0=0)\n", 4, "is no instruction that is read"),
    ("PTX a\n{ x=0; }\n P0 ;\n ld.weak r0 ;\nexists (0:r0=0)\n", 4, "has 1 operands; 2 are needed"),
    ("PTX a\n{ x=0; }\n P0 ;\n goto L1 ;\nexists (x=0)\n", 4, "a label that it does not have"),
    ("PTX a\n{ x=0; }\n P0@sm 1 ;\n ld.weak r0, x ;\nexists (x=0)\n", 3, "places no thread"),
    ("PTX a\n{ x=0; }\n P0 ;\n ld.weak r0, x ;\nexists (1:r0=0)\n", 5, "names thread 1"),
    ("PTX a\n{ x=0; }\n P0 ;\n ld.weak r0, x ;\nexists (z=0)\n", 5, "z is neither a location"),
    ("PTX a\n{ x; }\n P0 ;\n ld.weak r0, x ;\nexists (x=0)\n", 2, "gives nothing a value"),
    (
        "AArch64 a\n{ 0:X1=x; }\n P0 ;\n LDP W0,W2,[X1] ;\nexists (0:X0=0)\n",
        4,
        "is no instruction that is read",
    ),
    ("Bell a\n{ x=0; }\n P0 | P1 ;\n r[] r0 x | f[warp] ;\nexists (0:r0=0)\n", 4, "is no instruction"),
    (
        "Bell a\n{ x=0; }\n P0 | P1 ;\n r[] r0 x | f[cta] ;\nscopes: (gpu P0)\nexists (0:r0=0)\n",
        5,
        "does not place P1",
    ),
    ("C a\n{ [x] = 0; }\nP0 (int* x) {\n  *x = 1\n}\nexists (x=1)\n", 5, "stands where \";\" is expected"),
    ("C a\n{ [x] = 0; }\nP0 (int* x) { *x = r; }\nexists (x=1)\n", 3, "\"r\" is neither a variable"),
    ("C a\n{ [x] = 0; }\nP0 (int* x) { x = 1; }\nexists (x=1)\n", 3, "begins no statement"),
    ("C a\n{}\nP0 (int* x) { int r = *(x + 1); }\nexists (0:r=1)\n", 3, "x is no array"),
    ("C a\n{ int x[2]; }\nP0 (int* x) { int r = x[2]; }\nexists (0:r=1)\n", 3, "x has no element 2"),
    ("C a\n{}\nP0 (int* x) { int r = *x + *x; }\nexists (0:r=1)\n", 3, "both sides of + access memory"),
    ("C a\n{}\nP0 (int* x) { for (;;) {} }\nexists (x=1)\n", 3, "for is not read"),
    (
        "C a\n{}\nP0 (int* x, int* e) { int r = atomic_compare_exchange_weak(x, e, 1); }\nexists (x=1)\n",
        3,
        "may fail without a reason",
    ),
    ("C a\n{}\nP0 (int* x) { *x = 1; }\n", 3, "there is no condition"),
    ("C a\n{}\nP0 (int* x) { *x = 1; }\nx = 1\n", 4, "neither a thread nor a condition"),
    ("C a\n{ x = 0; x = 1; }\nP0 (int* x) { *x = 1; }\nexists (x=1)\n", 2, "two initial values"),
    (
        "OPENCL a\n{}\nP0@wg 0, dev 0 (global int* x) { barrier(ALL); }\nexists (x=1)\n",
        3,
        "is no kind of memory",
    ),
    (
        "OPENCL a\n{}\nP0@wg -1, dev 0 (global int* x) { *x = 1; }\nexists (x=1)\n",
        3,
        "-1 numbers no work-group",
    ),
    (
        "OPENCL a\n{}\nP0@wg 0, dev 0 (global atomic_int* x) {\n  atomic_store_explicit(x, 1, memory_order_relaxed, memory_scope_work_item);\n}\nexists (x=1)\n",
        4,
        "is no scope",
    ),
    ("PTX a\n{ y @ global aliases x; }\n P0 ;\n ld.weak r0, x ;\nexists (x=0)\n", 2, "is no alias"),
    ("PTX a\n{ y @ generic aliases x; }\n P0 ;\n ld.weak r0, x ;\nexists (x=0)\n", 2, "aliases x, which"),
    ("PTX a\n{}\n P0 ;\n fence.proxy.generic ;\nexists true\n", 4, "is no instruction that is read"),
    ("PTX a\n{}\n P0 ;\n bar.sync 0, 64 ;\nexists true\n", 4, "counts threads of whole warps"),
    ("PTX a\n{}\n P0 ;\n bar.cta.sync r1 ;\nexists true\n", 4, "is no barrier"),
    (
        "AArch64 a\n{ 0:X1=x; }\n P0 ;\n LDR W0,[X1] ;\n LDRB W2,[X1] ;\nexists (0:X0=0)\n",
        5,
        "x is accessed as 4 and as 1 bytes",
    ),
    ("AArch64 a\n{ 0:X1=x; }\n P0 ;\n LDR W0,[X1,#4] ;\nexists (0:X0=0)\n", 4, "is a part of a location"),
    ("AArch64 a\n{ int x[2]; }\n P0 ;\n NOP ;\nexists (x=0)\n", 2, "is an array or a pointer"),
    ("AArch64 a\n{ 0:X1=3x; }\n P0 ;\n NOP ;\nexists true\n", 2, "is neither a number nor a location"),
    (
        "C a\n{ [x] = 0; }\nP0 (int* x) { atomic_nothing(x); }\nexists (x=1)\n",
        3,
        "is no function that is read",
    ),
    ("weft-litmus 2\n", 1, "version \"2\" is not known"),
    ("weft-litmus 1\nlocs x\nT0 : W.Z x 1\nexists (x=1)\n", 3, "\"Z\" is no class"),
    ("weft-litmus 1\nlocs x\nT0 : W.D y 1\nexists (x=1)\n", 3, "\"y\" is no location"),
    ("weft-litmus 1\nlocs x\nT1 : W.D x 1\nexists (x=1)\n", 3, "thread T0 is expected"),
    ("weft-litmus 1\nlocs x\nT0 : if r0 = 1 W.D x 1\nexists (x=1)\n", 3, "compares nothing"),
    ("weft-litmus 1\nlocs x\nT0 : W.D.acq x 1\nexists (x=1)\n", 3, "says nothing of this access"),
    ("weft-litmus 1\nlocs x\nT0 : W.P.rem x 1\nexists (x=1)\n", 3, "write P.gpu.rem"),
    ("weft-litmus 1\nlocs x\nT0 : W.N.gpu.rem x 1\nexists (x=1)\n", 3, "is no remote operation"),
    ("weft-litmus 1\nlocs x\nT0 : W.D x 1\nexpect drf0 perhaps\nexists (x=1)\n", 4, "is no verdict"),
    ("weft-litmus 1\nlocs x\nT0 : W.D x 1\nexists (x=1\n", 4, "ends too early"),
];

#[test]
fn what_cannot_be_read_is_told_with_its_line() {
    for (text, line, problem) in WRONG {
        let error = read(text).expect_err(text);
        assert!(error.line == *line && error.problem.contains(problem), "{text:?}: {error}");
    }
}

fn public() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/public");
    let mut files: Vec<PathBuf> = Vec::new();
    for sub in ["aarch64", "c11", "lisa", "opencl", "ptx"] {
        let entries = std::fs::read_dir(folder.join(sub)).expect("a folder of tests");
        files.extend(entries.map(|entry| entry.expect("a file").path()));
    }
    files.sort();
    files.iter().map(|file| std::fs::read_to_string(file).expect("a test")).collect()
}

#[test]
fn damaged_tests_are_read_or_refused() {
    let mut rng = SmallRng::seed_from_u64(7);
    let (mut read_, mut refused) = (0, 0);
    for text in public().into_iter().chain(texts().into_iter().map(|(_, text)| text)) {
        for _ in 0..40 {
            let mut chars: Vec<char> = text.chars().collect();
            for _ in 0..rng.random_range(1..4) {
                let at = rng.random_range(0..chars.len());
                match rng.random_range(0..4) {
                    0 => chars.truncate(at.max(1)),
                    1 => drop(chars.remove(at)),
                    2 => chars.insert(
                        at,
                        ['{', '}', ';', '|', ':', '(', '\u{e4}', '9', '-', '\n'][rng.random_range(0..10)],
                    ),
                    _ => {
                        chars[at] =
                            ['=', 'P', 'r', '[', '.', ',', ' ', '0', '@', '~'][rng.random_range(0..10)]
                    }
                }
                if chars.is_empty() {
                    chars.push('P');
                }
            }
            match read(&chars.into_iter().collect::<String>()) {
                Ok(_) => read_ += 1,
                Err(error) => {
                    refused += 1;
                    assert!(error.line > 0 && !error.problem.is_empty());
                }
            }
        }
    }
    assert!(read_ > 100 && refused > 1000, "{read_} read, {refused} refused");
}
