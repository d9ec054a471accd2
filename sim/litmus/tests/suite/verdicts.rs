//! Small tests of what the formats have beside loads and stores, each with the verdict that the
//! architecture's documents give it.

use weft_litmus::model::Model;
use weft_litmus::paths::Bounds;
use weft_litmus::read::read;

/// Name, model, text, verdict.
type Small = (&'static str, &'static str, &'static str, &'static str);

fn check(tests: &[Small]) {
    let mut wrong = Vec::new();
    for (name, model, text, verdict) in tests {
        let test = read(text).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        let model: Model = model.parse().expect("a model");
        let found = model.verdict(&test, Bounds::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        if found.name() != *verdict {
            wrong.push(format!("{name} under {model}: {found}, {verdict} expected\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// PTX ISA, "Memory Consistency Model": a barrier of a CTA synchronises the threads that meet there.
#[test]
fn ptx_barriers() {
    check(&[
        (
            "a barrier publishes",
            "ptx",
            "PTX a\n{}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n st.weak x, 1 | bar.cta.sync 0 ;\n bar.cta.sync 0 | ld.weak r0, x ;\nforall (1:r0 == 1)",
            "always",
        ),
        (
            "barriers of two CTAs do not meet",
            "ptx",
            "PTX a\n{}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.weak x, 1 | bar.cta.sync 0 ;\n bar.cta.sync 0 | ld.weak r0, x ;\nexists (1:r0 == 0)",
            "allowed",
        ),
        (
            "who only arrives is not ordered behind the others",
            "ptx",
            "PTX a\n{}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n st.weak x, 1 | bar.cta.arrive 0 ;\n bar.cta.sync 0 | ld.weak r0, x ;\nexists (1:r0 == 0)",
            "allowed",
        ),
        (
            "who waits is ordered behind who arrives",
            "ptx",
            "PTX a\n{}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n st.weak x, 1 | bar.cta.sync 0 ;\n bar.cta.arrive 0 | ld.weak r0, x ;\nexists (1:r0 == 0)",
            "forbidden",
        ),
        (
            "two barriers in opposite order are never passed",
            "ptx",
            "PTX a\n{}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n bar.cta.sync 0 | bar.cta.sync 1 ;\n bar.cta.sync 1 | bar.cta.sync 0 ;\nexists true",
            "forbidden",
        ),
        (
            "one barrier taken twice keeps its turns apart",
            "ptx",
            "PTX a\n{}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n bar.cta.sync 0 | bar.cta.sync 0 ;\n st.weak x, 1 | bar.cta.sync 0 ;\n bar.cta.sync 0 | ld.weak r0, x ;\nexists (1:r0 == 0)",
            "forbidden",
        ),
        (
            "numbers that differ do not meet",
            "ptx",
            "PTX a\n{}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n mov r2, 7 | bar.cta.sync 0, 8 ;\n st.weak x, 1 | ld.weak r0, x ;\n bar.cta.sync 0, r2 | ;\nexists (1:r0 == 0)",
            "allowed",
        ),
        (
            "a thread that another waits for in vain",
            "ptx",
            "PTX a\n{}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n bar.cta.sync 0, 0, 3 | bar.cta.sync 0, 0, 3 ;\nexists true",
            "forbidden",
        ),
        (
            "of three threads two are enough",
            "ptx",
            "PTX a\n{}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 | P2@cta 0,gpu 0 ;\n st.weak x, 1 | bar.cta.sync 0, 0, 2 | bar.cta.sync 0, 0, 2 ;\n bar.cta.sync 0, 0, 2 | ld.weak r0, x | ;\nexists (1:r0 == 0)",
            "allowed",
        ),
        (
            "who comes last is behind the others",
            "ptx",
            "PTX a\n{}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 | P2@cta 0,gpu 0 ;\n st.weak x, 1 | bar.cta.sync 0, 0, 2 | st.weak y, 1 ;\n bar.cta.sync 0, 0, 2 | ld.weak r0, x | bar.cta.sync 0, 0, 2 ;\n | ld.weak r1, y | ;\nexists (1:r0 == 0 /\\ 1:r1 == 0)",
            "forbidden",
        ),
    ]);
}

/// PTX ISA, "Proxies": what the generic proxy has written is found through another one behind a fence of that
/// one only.
#[test]
fn ptx_proxies() {
    check(&[
        (
            "a texture load beside a store",
            "ptx",
            "PTX a\n{ x = 0; t @ texture aliases x; }\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\n tld.weak r0, t ;\nforall (0:r0 == 1)",
            "allowed",
        ),
        (
            "a texture load behind its fence",
            "ptx",
            "PTX a\n{ x = 0; t @ texture aliases x; }\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\n fence.proxy.texture ;\n tld.weak r0, t ;\nforall (0:r0 == 1)",
            "always",
        ),
        (
            "the fence of another proxy",
            "ptx",
            "PTX a\n{ x = 0; t @ texture aliases x; }\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\n fence.proxy.surface ;\n tld.weak r0, t ;\nexists (0:r0 == 0)",
            "allowed",
        ),
        (
            "surface accesses among themselves",
            "ptx",
            "PTX a\n{ x = 0; s @ surface aliases x; }\n P0@cta 0,gpu 0 ;\n sust.weak s, 1 ;\n suld.weak r0, s ;\nforall (0:r0 == 1)",
            "always",
        ),
        (
            "from a surface to a texture takes both fences",
            "ptx",
            "PTX a\n{ x = 0; s @ surface aliases x; t @ texture aliases x; }\n P0@cta 0,gpu 0 ;\n sust.weak s, 1 ;\n fence.proxy.surface ;\n fence.proxy.texture ;\n tld.weak r0, t ;\nforall (0:r0 == 1)",
            "always",
        ),
        (
            "both fences in the wrong order",
            "ptx",
            "PTX a\n{ x = 0; s @ surface aliases x; t @ texture aliases x; }\n P0@cta 0,gpu 0 ;\n sust.weak s, 1 ;\n fence.proxy.texture ;\n fence.proxy.surface ;\n tld.weak r0, t ;\nexists (0:r0 == 0)",
            "allowed",
        ),
        (
            "a proxy fence in another CTA",
            "ptx",
            "PTX a\n{ x = 0; f = 0; c @ constant aliases x; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.weak x, 1 | ld.acquire.gpu r0, f ;\n fence.proxy.constant | cold.weak r1, c ;\n st.release.gpu f, 1 | ;\nexists (1:r0 == 1 /\\ 1:r1 == 0)",
            "allowed",
        ),
        (
            "a proxy fence where the load is",
            "ptx",
            "PTX a\n{ x = 0; f = 0; c @ constant aliases x; }\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.weak x, 1 | ld.acquire.gpu r0, f ;\n st.release.gpu f, 1 | fence.proxy.constant ;\n | cold.weak r1, c ;\nexists (1:r0 == 1 /\\ 1:r1 == 0)",
            "forbidden",
        ),
        (
            "another virtual address",
            "ptx",
            "PTX a\n{ x = 0; y @ generic aliases x; }\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\n ld.weak r0, y ;\nexists (0:r0 == 0)",
            "allowed",
        ),
        (
            "another virtual address behind the fence for it",
            "ptx",
            "PTX a\n{ x = 0; y @ generic aliases x; }\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\n fence.proxy.alias ;\n ld.weak r0, y ;\nexists (0:r0 == 0)",
            "forbidden",
        ),
    ]);
}

/// Addresses of a message and of its flag.
const MP: &str = "0:X1=x; 0:X3=y; 1:X1=x; 1:X3=y;";

/// Arm ARM, B2.3: instruction barriers and exclusives.
#[test]
fn aarch64_barriers_and_exclusives() {
    let mp = MP;
    let texts = [
        (
            "a decision alone orders no reads",
            format!("AArch64 a\n{{ {mp} }}\n P0 | P1 ;\n MOV W0,#1 | LDR W0,[X3] ;\n STR W0,[X1] | CBNZ W0,L ;\n DMB ST | L: ;\n STR W0,[X3] | LDR W2,[X1] ;\nexists (1:X0=1 /\\ 1:X2=0)"),
            "allowed",
        ),
        (
            "a decision and an ISB order them",
            format!("AArch64 a\n{{ {mp} }}\n P0 | P1 ;\n MOV W0,#1 | LDR W0,[X3] ;\n STR W0,[X1] | CBNZ W0,L ;\n DSB ST | L: ;\n STR W0,[X3] | ISB ;\n | LDR W2,[X1] ;\nexists (1:X0=1 /\\ 1:X2=0)"),
            "forbidden",
        ),
        (
            "two increments by exclusives that both succeed",
            "AArch64 a\n{ 0:X1=x; 1:X1=x; }\n P0 | P1 ;\n LDXR W0,[X1] | LDXR W0,[X1] ;\n ADD W2,W0,#1 | ADD W2,W0,#1 ;\n STXR W3,W2,[X1] | STXR W3,W2,[X1] ;\nfilter (0:X3=0 /\\ 1:X3=0)\nforall (x=2)".to_string(),
            "always",
        ),
        (
            "an exclusive may fail",
            "AArch64 a\n{ 0:X1=x; }\n P0 ;\n LDXR W0,[X1] ;\n STXR W3,W2,[X1] ;\nexists (0:X3=1)".to_string(),
            "allowed",
        ),
        (
            "an exclusive store without its load fails",
            "AArch64 a\n{ 0:X1=x; }\n P0 ;\n STXR W3,W2,[X1] ;\nforall (0:X3=1)".to_string(),
            "always",
        ),
        (
            "LDAXR and STLXR order like LDAR and STLR",
            format!("AArch64 a\n{{ {mp} }}\n P0 | P1 ;\n MOV W0,#1 | LDAXR W0,[X3] ;\n STR W0,[X1] | LDR W2,[X1] ;\n LDXR W4,[X3] | ;\n STLXR W5,W0,[X3] | ;\nexists (1:X0=1 /\\ 1:X2=0)"),
            "forbidden",
        ),
    ];
    let tests: Vec<Small> = texts
        .iter()
        .map(|(name, text, verdict)| (*name, "armv8", text.as_str(), *verdict))
        .map(leak)
        .collect();
    check(&tests);
}

/// Arm ARM, B2.3: atomics in one instruction, choices, sizes of accesses.
#[test]
fn aarch64_atomics_and_values() {
    let mp = MP;
    let texts = [
        (
            "CAS stores only over what it expects",
            "AArch64 a\n{ x=1; 0:X1=x; 0:X2=5; 1:X1=x; 1:X3=1; 1:X2=7; }\n P0 | P1 ;\n CAS W3,W2,[X1] | CAS W3,W2,[X1] ;\nforall (x=7 /\\ (0:X3=1 \\/ 0:X3=7) /\\ 1:X3=1)".to_string(),
            "always",
        ),
        (
            "LDADD counts",
            "AArch64 a\n{ 0:X1=x; 0:X2=1; 1:X1=x; 1:X2=1; }\n P0 | P1 ;\n LDADD W2,W0,[X1] | STADD W2,[X1] ;\nforall (x=2)".to_string(),
            "always",
        ),
        (
            "atomics of 64 bits and of bytes",
            "AArch64 a\n{ 0:X1=x; 0:X3=y; x=0xffffffff; y=0xff; 0:X2=1; }\n P0 ;\n LDADD X2,X4,[X1] ;\n LDADDB W2,W5,[X3] ;\nforall (x=0x100000000 /\\ y=0 /\\ 0:X4=0xffffffff /\\ 0:X5=0xff)".to_string(),
            "always",
        ),
        (
            "a store of one's own between the halves of an exclusive pair",
            "AArch64 a\n{ 0:X1=x; 0:X2=1; 0:X4=2; }\n P0 ;\n LDXR W0,[X1] ;\n STR W2,[X1] ;\n STXR W3,W4,[X1] ;\nexists (0:X3=0 /\\ x=2)".to_string(),
            "allowed",
        ),
        (
            "SWPA acquires",
            format!("AArch64 a\n{{ {mp} }}\n P0 | P1 ;\n MOV W0,#1 | SWPA W5,W0,[X3] ;\n STR W0,[X1] | LDR W2,[X1] ;\n STLR W0,[X3] | ;\nexists (1:X0=1 /\\ 1:X2=0)"),
            "forbidden",
        ),
        (
            "SWPA into the zero register does not",
            format!("AArch64 a\n{{ {mp} }}\n P0 | P1 ;\n MOV W0,#1 | MOV W5,#2 ;\n STR W0,[X1] | SWPA W5,WZR,[X3] ;\n STLR W0,[X3] | LDR W2,[X1] ;\nexists (y=2 /\\ 1:X2=0)"),
            "allowed",
        ),
        (
            "an atomic that acquires and releases is a barrier",
            "AArch64 a\n{ 0:X1=x; 0:X3=y; 0:X5=z; 1:X1=x; 1:X3=y; 1:X5=z; }\n P0 | P1 ;\n MOV W0,#1 | MOV W0,#1 ;\n STR W0,[X1] | STR W0,[X3] ;\n SWPAL W0,W6,[X5] | SWPAL W0,W6,[X5] ;\n LDR W2,[X3] | LDR W2,[X1] ;\nexists (0:X2=0 /\\ 1:X2=0)".to_string(),
            "forbidden",
        ),
        (
            "LDAR stays behind an earlier STLR",
            "AArch64 a\n{ 0:X1=x; 0:X3=y; 1:X1=x; 1:X3=y; }\n P0 | P1 ;\n MOV W0,#1 | MOV W0,#1 ;\n STLR W0,[X1] | STLR W0,[X3] ;\n LDAR W2,[X3] | LDAR W2,[X1] ;\nexists (0:X2=0 /\\ 1:X2=0)".to_string(),
            "forbidden",
        ),
        (
            "LDAPR may pass it",
            "AArch64 a\n{ 0:X1=x; 0:X3=y; 1:X1=x; 1:X3=y; }\n P0 | P1 ;\n MOV W0,#1 | MOV W0,#1 ;\n STLR W0,[X1] | STLR W0,[X3] ;\n LDAPR W2,[X3] | LDAPR W2,[X1] ;\nexists (0:X2=0 /\\ 1:X2=0)".to_string(),
            "allowed",
        ),
        (
            "an address by choice orders no read",
            format!("AArch64 a\n{{ {mp} }}\n P0 | P1 ;\n MOV W0,#1 | LDR W0,[X3] ;\n STR W0,[X1] | CMP W0,#1 ;\n STLR W0,[X3] | CSEL W4,WZR,WZR,EQ ;\n | LDR W2,[X1,W4,SXTW] ;\nexists (1:X0=1 /\\ 1:X2=0)"),
            "allowed",
        ),
        (
            "a value by choice orders the store of it",
            "AArch64 a\n{ 0:X1=x; 0:X3=y; 1:X1=x; 1:X3=y; 1:X7=1; 1:X8=1; }\n P0 | P1 ;\n LDR W0,[X1] | LDR W0,[X3] ;\n MOV W2,#1 | CMP W0,#1 ;\n STLR W2,[X3] | CSEL W4,W7,W8,EQ ;\n | STR W4,[X1] ;\nexists (0:X0=1 /\\ 1:X0=1)".to_string(),
            "forbidden",
        ),
        (
            "bytes and halves of a word that nothing else accesses",
            "AArch64 a\n{ uint64_t x; 0:X1=x; 0:X3=y; 0:X2=0x1ff; }\n P0 ;\n STRB W2,[X1] ;\n LDRB W4,[X1] ;\n STRH W2,[X3] ;\n LDRH W5,[X3] ;\nforall (0:X4=0xff /\\ 0:X5=0x1ff)".to_string(),
            "always",
        ),
        (
            "a pointer in memory",
            "AArch64 a\n{ x=y; y=3; 0:X1=x; }\n P0 ;\n LDR X2,[X1] ;\n LDR W3,[X2] ; (* what x points to *)\nlocations [0:X3; x;]\nforall (0:X3=3 /\\ 0:X2=y)".to_string(),
            "always",
        ),
    ];
    let tests: Vec<Small> = texts
        .iter()
        .map(|(name, text, verdict)| (*name, "armv8", text.as_str(), *verdict))
        .map(leak)
        .collect();
    check(&tests);
}

/// Text that was put together lives as long as the table.
fn leak((name, model, text, verdict): (&'static str, &'static str, &str, &'static str)) -> Small {
    (name, model, Box::leak(text.to_string().into_boxed_str()), verdict)
}

/// C11, 7.17, and RC11.
#[test]
fn c11() {
    check(&[
        (
            "compare and exchange",
            "rc11",
            "C a\n{ int x = 1; int e = 1; int f = 5; }\nP0 (atomic_int* x, int* e, int* f) {\n  int ok = atomic_compare_exchange_strong(x, e, 7);\n  int no = atomic_compare_exchange_strong(x, f, 9);\n}\nforall (x=7 /\\ e=1 /\\ f=7 /\\ 0:ok=1 /\\ 0:no=0)",
            "always",
        ),
        (
            "one of two wins",
            "rc11",
            "C a\n{}\nP0 (atomic_int* x, int* e) {\n  int r = atomic_compare_exchange_strong_explicit(x, e, 1, memory_order_relaxed, memory_order_relaxed);\n}\nP1 (atomic_int* x, int* d) {\n  int r = atomic_compare_exchange_strong_explicit(x, d, 2, memory_order_relaxed, memory_order_relaxed);\n}\nexists (0:r=1 /\\ 1:r=1)",
            "forbidden",
        ),
        (
            "a comparison that fails has the order of its failure",
            "rc11",
            "C a\n{}\nP0 (atomic_int* x, int* y) {\n  *y = 1;\n  atomic_store_explicit(x, 1, memory_order_release);\n}\nP1 (atomic_int* x, int* y, int* e) {\n  int ok = atomic_compare_exchange_strong_explicit(x, e, 2, memory_order_acquire, memory_order_relaxed);\n  int r = *y;\n}\nexists (1:ok=0 /\\ 1:r=0)",
            "allowed",
        ),
        (
            "and acquires if that says so",
            "rc11",
            "C a\n{}\nP0 (atomic_int* x, int* y) {\n  *y = 1;\n  atomic_store_explicit(x, 1, memory_order_release);\n}\nP1 (atomic_int* x, int* y, int* e) {\n  int ok = atomic_compare_exchange_strong_explicit(x, e, 2, memory_order_relaxed, memory_order_acquire);\n  int r = *y;\n}\nexists (1:ok=0 /\\ 1:r=0)",
            "forbidden",
        ),
        (
            "without an order it is sequentially consistent",
            "rc11",
            "C a\n{}\nP0 (atomic_int* x, atomic_int* y) {\n  atomic_store(x, 1);\n  int r = atomic_load(y);\n}\nP1 (atomic_int* x, atomic_int* y) {\n  atomic_store(y, 1);\n  int r = atomic_load(x);\n}\n~exists (0:r=0 /\\ 1:r=0)",
            "forbidden",
        ),
        (
            "waiting in a loop",
            "rc11",
            "C a\n{}\nP0 (atomic_int* f, int* x) {\n  *x = 1;\n  atomic_store_explicit(f, 1, memory_order_release);\n}\nP1 (atomic_int* f, int* x) {\n  while (atomic_load_explicit(f, memory_order_acquire) == 0) {}\n  int r = *x;\n}\nforall (1:r=1)",
            "always",
        ),
        (
            "branches and conditions",
            "rc11",
            "C a\n{ x = 3; int y[2] = {4, 5}; }\nP0 (int* x, int* y) {\n  int a = 0, b;\n  if (*x == 3 && a == 0) { a = y[1]; } else { a = 9; }\n  if (*x == 2 || !a) b = 1; else b = *(y + 0) - 1;\n  do { a = a + 1; } while (a < 7);\n  *x = b << 1;\n}\nforall (0:a=7 /\\ 0:b=3 /\\ x=6)",
            "always",
        ),
    ]);
}

const LB: &str = "OPENCL a\n{}\nP0@wg 0, dev 0 (global atomic_int* x, global atomic_int* y) {\n  int r = atomic_load_explicit(x, memory_order_relaxed);\n  atomic_store_explicit(y, 1, memory_order_relaxed);\n}\nP1@wg 1, dev 0 (global atomic_int* x, global atomic_int* y) {\n  int r = atomic_load_explicit(y, memory_order_relaxed);\n  atomic_store_explicit(x, 1, memory_order_relaxed);\n}\nexists (0:r=1 /\\ 1:r=1)";

/// `x` by way of `y`, whose order and scope each side has.
fn passing(store: &str, load: &str) -> String {
    format!(
        "OPENCL a\n{{}}\nP0@wg 0, dev 0 (global int* x, global atomic_int* y) {{\n  *x = 1;\n  atomic_store_explicit(y, 1, {store});\n}}\nP1@wg 0, dev 0 (global int* x, global atomic_int* y) {{\n  int r = atomic_load_explicit(y, {load});\n  int s = 1;\n  if (r) {{ s = *x; }}\n}}\nexists (1:r=1 /\\ 1:s=0)"
    )
}

/// `x` across a barrier that orders a kind of memory.
fn across(flags: &str) -> String {
    format!(
        "OPENCL a\n{{}}\nP0@wg 0, dev 0 (global atomic_int* x) {{\n  atomic_store_explicit(x, 1, memory_order_relaxed);\n  barrier({flags});\n}}\nP1@wg 0, dev 0 (global atomic_int* x) {{\n  barrier({flags});\n  int r = atomic_load_explicit(x, memory_order_relaxed);\n}}\nexists (1:r=0)"
    )
}

/// Batty, Donaldson and Wickerson, POPL 2016; and RC11 with scopes where it differs.
#[test]
fn opencl_by_two_models() {
    let device =
        passing("memory_order_release, memory_scope_device", "memory_order_acquire, memory_scope_device");
    let mixed =
        passing("memory_order_release, memory_scope_work_group", "memory_order_acquire, memory_scope_device");
    let relaxed = passing("memory_order_relaxed", "memory_order_acquire");
    let [global, local, both] =
        ["CLK_GLOBAL_MEM_FENCE", "CLK_LOCAL_MEM_FENCE", "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE"]
            .map(across);
    let tests = [
        ("load buffering", "opencl", LB, "allowed"),
        ("load buffering", "rc11-scopes", LB, "forbidden"),
        ("scopes that are the same", "opencl", &device, "forbidden"),
        ("scopes that differ, though each holds the other", "opencl", &mixed, "allowed"),
        ("scopes that differ, though each holds the other", "rc11-scopes", &mixed, "forbidden"),
        // A read of an ordinary object finds what happens before it.
        ("a race that nobody may see", "opencl", &relaxed, "allowed"),
        ("a barrier for global memory", "opencl", &global, "forbidden"),
        ("a barrier for local memory", "opencl", &local, "allowed"),
        ("a barrier for both", "opencl", &both, "forbidden"),
        ("a barrier for global memory", "rc11-scopes", &global, "forbidden"),
        ("a barrier for local memory", "rc11-scopes", &local, "allowed"),
    ];
    check(&tests.map(leak));
}

/// Only ends that the filter lets through count; a condition may be of numbers alone.
#[test]
fn conditions() {
    let sb = |end: &str| {
        format!(
            "PTX a\n{{ x=0; y=0; }}\n P0 | P1 ;\n st.weak x, 1 | st.weak y, 1 ; (* crosswise *)\n ld.weak r0, y | ld.weak r0, x ;\n{end}"
        )
    };
    let tests = [
        (sb("exists (0:r0=0 /\\ 1:r0=0)"), "allowed"),
        (sb("filter (0:r0=1)\nexists (0:r0=0 /\\ 1:r0=0)"), "forbidden"),
        (sb("locations [x; y;\n 0:r0;]\nfilter\n(0:r0=1)\nforall (0:r0=1)"), "always"),
        (sb("exists 0==0"), "allowed"),
        (sb("exists 0==1"), "forbidden"),
        (sb("forall true"), "always"),
        (sb("exists false"), "forbidden"),
        (sb("exists not (P0: r0 = 0 \\/ P1 :r0 = 1)"), "allowed"),
    ];
    let tests: Vec<Small> = tests.iter().map(|(text, verdict)| leak(("sb", "ptx", text, verdict))).collect();
    check(&tests);
}
