//! Import of Accel-Sim traces: every instruction with addresses by its row, lanes by their windows, lists
//! and blocks that are not whole.

use std::path::Path;
use weft_workload::op::{AmoKind, Class, Scope};
use weft_workload::trace::accel_sim::{Does, Import, MEMORY, Space, read, read_with};
use weft_workload::trace::op::{TraceOp, TraceValue};
use weft_workload::trace::{Accesses, Gaps, ReadOptions, TraceError, TraceKernel, read_with as read_any};

const SHARED: u64 = 0x7fb1_3900_0000;
const LOCAL: u64 = 0x7fb1_3700_0000;

/// A kernel's header: grid, threads of a block, then more lines.
fn header(grid: u32, threads: u32, version: u32) -> String {
    format!(
        "-kernel name = k\n-grid dim = ({grid},1,1)\n-block dim = ({threads},1,1)\n-shmem = 0\n-binary version = {version}\n\
         -shmem base_addr = {SHARED:#x}\n-local mem base_addr = {LOCAL:#x}\n-accelsim tracer version = 5\n\n"
    )
}

fn warp(number: u32, lines: &[&str]) -> String {
    format!("warp = {number}\ninsts = {}\n{}\n", lines.len(), lines.join("\n"))
}

fn block(number: u32, warps: &[String]) -> String {
    format!("#BEGIN_TB\nthread block = {number},0,0\n{}#END_TB\n", warps.concat())
}

fn folder(list: &str, kernel: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("kernelslist.g"), list).expect("written");
    std::fs::write(folder.path().join("kernel-1.traceg"), kernel).expect("written");
    folder
}

/// One warp of one block.
fn import_with(lines: &[&str], options: &ReadOptions) -> Result<Import, TraceError> {
    let kernel = header(1, 32, 80) + &block(0, &[warp(0, lines)]);
    read_with(folder("kernel-1.traceg\n", &kernel).path(), options)
}

fn import(lines: &[&str]) -> Import {
    import_with(lines, &ReadOptions::default()).expect("a trace")
}

fn skip() -> ReadOptions {
    ReadOptions { unknown: Gaps::Skip, missing: Gaps::Skip, ..ReadOptions::default() }
}

fn kernel(import: &Import) -> &TraceKernel {
    import.trace.kernels().next().expect("a kernel")
}

fn ops(import: &Import) -> Vec<TraceOp> {
    kernel(import).all_ops().collect()
}

fn accesses(import: &Import) -> Accesses {
    weft_workload::trace::Counts::of(kernel(import)).accesses
}

fn sum(a: Accesses) -> u64 {
    a.loads + a.stores + a.atomics + a.local_loads + a.local_stores + a.scratchpad_loads + a.scratchpad_stores
}

#[test]
fn every_instruction_with_addresses_does_what_its_row_says() {
    let one = Accesses::default();
    for (name, does) in MEMORY {
        let line = format!("0000 ffffffff 1 R4 {name}.E 1 R2 4 1 0x1000 16 0");
        let expected = match does {
            Does::Load(Space::Global | Space::Generic) => Accesses { loads: 1, ..one },
            Does::Store(Space::Global | Space::Generic) | Does::StoreRelease => Accesses { stores: 1, ..one },
            Does::Atomic(Space::Global | Space::Generic) | Does::Reduction(_) | Does::Release => {
                Accesses { atomics: 1, ..one }
            }
            Does::Load(Space::Local) => Accesses { local_loads: 1, ..one },
            Does::Store(Space::Local) => Accesses { local_stores: 1, ..one },
            Does::Load(Space::Scratchpad) | Does::LoadMatrix => Accesses { scratchpad_loads: 1, ..one },
            Does::Store(Space::Scratchpad) | Does::StoreMatrix => Accesses { scratchpad_stores: 1, ..one },
            Does::Atomic(Space::Scratchpad) => Accesses { scratchpad_loads: 1, scratchpad_stores: 1, ..one },
            Does::Copy => Accesses { loads: 1, scratchpad_stores: 1, ..one },
            Does::Constant | Does::Hint => one,
            Does::Atomic(Space::Local) => panic!("{name}: there is no such instruction"),
            Does::Untold(_) => {
                let error = import_with(&[&line], &ReadOptions::default()).expect_err(name).to_string();
                assert!(error.contains(name) && error.contains("--unknown-opcodes skip"), "{error}");
                let import = import_with(&[&line], &skip()).expect(name);
                assert_eq!((import.left_out.get(*name), sum(accesses(&import))), (Some(&1), 0), "{name}");
                continue;
            }
        };
        let import = import(&[&line]);
        assert_eq!(accesses(&import), expected, "{name}");
        assert!(import.unknown.is_empty() && import.left_out.is_empty(), "{name}: {import:?}");
    }
    let mut names: Vec<_> = MEMORY.iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), MEMORY.len(), "an instruction has one row");
}

#[test]
fn reductions_do_not_wait_for_one_another() {
    let reds = |name: &str| {
        let line = format!("0000 ffffffff 0 {name}.E.ADD.STRONG.GPU 2 R2 R3 4 1 0x1000 4 0");
        ops(&import(&[&line, &line]))
    };
    assert_eq!(reds("REDG"), reds("RED"));
    let [TraceOp::Amo { token: first, access, kind, .. }, TraceOp::Amo { token: second, .. }, TraceOp::End] =
        &reds("REDG")[..]
    else {
        panic!("two atomics: {:?}", reds("REDG"));
    };
    assert_ne!(first, second);
    assert_eq!((access.class, access.scope, *kind), (Class::N, Scope::Gpu, AmoKind::Add));
}

#[test]
fn unknown_instructions_with_addresses_are_refused_or_counted() {
    let lines = ["0000 ffffffff 0 NOP 0 0 0", "0010 ffffffff 1 R1 FROB.E.X 1 R2 4 1 0x1000 4 0"];
    let error = import_with(&lines, &ReadOptions::default()).expect_err("refused").to_string();
    assert!(error.contains("kernel-1.traceg, line 15: ") && error.contains("FROB"), "{error}");
    let import = import_with(&lines, &skip()).expect("taken");
    assert_eq!(import.left_out.get("FROB"), Some(&1));
    // Without addresses it is arithmetic; predicated off it is nothing.
    let import = self::import(&["0000 ffffffff 1 R1 FROB 0 0 0", "0010 00000000 1 R1 FROB 0 4 1 0x0 0 0"]);
    assert_eq!((import.unknown.get("FROB"), import.left_out.len()), (Some(&1), 0));
    // An access whose address the trace lacks.
    let error =
        import_with(&["0000 ffffffff 1 R1 LDG.E 1 R2 0 0"], &ReadOptions::default()).expect_err("refused");
    assert!(error.to_string().contains("LDG cannot be followed: its line has no address"), "{error}");
}

#[test]
fn a_copy_to_the_scratchpad_is_a_load_and_a_store_when_it_is_there() {
    let global = "0010 ffffffff 0 LDGSTS.E.64 2 R2 R4 8 1 0x7f0000000000 8 0";
    let shared = "0010 ffffffff 0 LDGSTS.E.64 2 R2 R4 8 1 0x100 8 0";
    let alone = import(&[global]);
    assert_eq!((accesses(&alone).loads, accesses(&alone).scratchpad_stores), (1, 1));
    let assumed = |import: &Import| import.notes.iter().any(|note| note.starts_with("LDGSTS without"));
    assert!(assumed(&alone), "its place in the scratchpad is said to be assumed: {:?}", alone.notes);
    // The tracer writes a line for each side; groups complete in order.
    let (other_global, other_shared) = (global.replace("0010", "0030"), shared.replace("0010", "0030"));
    let (close, wait) = ("0020 ffffffff 0 LDGDEPBAR 0 0 0", "0050 ffffffff 0 DEPBAR.LE 0 0 1");
    let lines = [shared, global, close, &other_shared, &other_global, close, wait];
    let import = import(&lines);
    let ops = ops(&import);
    let at =
        |what: fn(&TraceOp) -> bool| ops.iter().enumerate().filter(move |(_, op)| what(op)).map(|(n, _)| n);
    let loads: Vec<usize> = at(|op| matches!(op, TraceOp::Load { .. })).collect();
    let stores: Vec<usize> = at(|op| matches!(op, TraceOp::LdsStore { .. })).collect();
    assert_eq!((loads.len(), stores.len()), (2, 2), "{ops:?}");
    assert!(loads[1] < stores[0] && !assumed(&import), "{ops:?}");
    let TraceOp::Load { token, .. } = &ops[loads[0]] else { panic!("a load") };
    let TraceOp::LdsStore { access, value } = &ops[stores[0]] else { panic!("a store") };
    assert_eq!((access.addrs.at(3), *value), (0x118, TraceValue::Token(*token)));
    let TraceOp::Compute { needs, .. } = &ops[stores[0] - 1] else { panic!("the store waits for the data") };
    assert_eq!(needs, &[*token]);
    assert_eq!(kernel(&import).lds, 0x200, "as much scratchpad as it uses");
}

#[test]
fn generic_accesses_go_where_each_lane_points() {
    let at = |base: u64| format!("0000 ffffffff 1 R1 LD.E 1 R2 4 1 {base:#x} 4 0");
    let one = Accesses::default();
    for (base, expected) in [
        (SHARED + 0x40, Accesses { scratchpad_loads: 1, ..one }),
        (LOCAL + 0x40, Accesses { local_loads: 1, ..one }),
        (0x7fb0_0000_0000, Accesses { loads: 1, ..one }),
        // Lanes 0 to 15 in the last bytes of the window, the others behind it.
        (SHARED + (1 << 24) - 64, Accesses { loads: 1, scratchpad_loads: 1, ..one }),
    ] {
        assert_eq!(accesses(&import(&[&at(base)])), expected, "{base:#x}");
    }
    let ops = ops(&import(&[&at(SHARED + (1 << 24) - 64)]));
    let masks: Vec<u64> = ops
        .iter()
        .filter_map(|op| match op {
            TraceOp::Load { access, .. } | TraceOp::LdsLoad { access, .. } => Some(access.mask),
            _ => None,
        })
        .collect();
    assert_eq!(masks, [0xffff, 0xffff_0000]);
    // The same as the instructions that name the memory.
    let same = |line: &str| ops_of(line);
    assert_eq!(same(&at(SHARED + 0x40)), same("0000 ffffffff 1 R1 LDS 1 R2 4 1 0x40 4 0"));
    assert_eq!(same(&at(LOCAL + 0x40)), same("0000 ffffffff 1 R1 LDL 1 R2 4 1 0x40 4 0"));
    let windowless =
        header(1, 32, 80).replace(&format!("{SHARED:#x}"), "0x0").replace(&format!("{LOCAL:#x}"), "0x0");
    let text = windowless + &block(0, &[warp(0, &[&at(SHARED)])]);
    let import = read(folder("kernel-1.traceg\n", &text).path()).expect("a trace");
    assert_eq!((accesses(&import).loads, import.notes.len()), (1, 1), "{:?}", import.notes);
}

fn ops_of(line: &str) -> Vec<TraceOp> {
    ops(&import(&[line]))
}

#[test]
fn an_access_of_any_width_is_split() {
    for (opcode, width, loads) in [
        ("LDG.E.U8", 1, 1),
        ("LDG.E.64", 8, 1),
        ("LDG.E.96", 12, 4),
        ("LDG.E.128", 16, 2),
        ("LDG.E.256", 32, 4),
    ] {
        let line = format!("0000 ffffffff 1 R4 {opcode} 1 R2 {width} 1 0x1000 {width} 0");
        let import = import(&[&line]);
        assert_eq!(accesses(&import).loads, loads, "{opcode}");
        assert_eq!(
            weft_workload::trace::Counts::of(kernel(&import)).touched_bytes,
            (32 * width).max(64),
            "{opcode}"
        );
    }
    // What the tracer takes for 4 bytes.
    let narrow = ops_of("0000 ffffffff 1 R4 LDG.E.S8 1 R2 4 1 0x1001 1 0");
    assert!(matches!(&narrow[0], TraceOp::Load { access, .. } if access.size == 1), "{narrow:?}");
    // A reader of the last register of a wide result waits for all of it.
    let wide = ["0000 ffffffff 1 R4 LDG.E.128 1 R2 16 1 0x1000 16 0", "0010 ffffffff 1 R9 FADD 2 R7 R7 0 0"];
    let ops = ops(&import(&wide));
    let TraceOp::Compute { needs, .. } = &ops[2] else { panic!("{ops:?}") };
    assert_eq!(needs.len(), 2, "{ops:?}");
    // Rows of four matrices are in the addresses of all lanes, those of one in the first eight.
    for (opcode, bytes) in [("LDSM.16.M88.4", 512), ("LDSM.16.MT88.2", 256), ("LDSM.16.M88", 128)] {
        let import = self::import(&[&format!("0000 ffffffff 1 R4 {opcode} 1 R2 2 1 0x0 16 0")]);
        assert_eq!(kernel(&import).lds, bytes, "{opcode}");
    }
}

const WHOLE: &str = "MemcpyHtoD,0x00007fb0fc400000,4096\n";

fn small() -> String {
    header(1, 32, 80) + &block(0, &[warp(0, &["0000 ffffffff 0 EXIT 0 0 0"])])
}

#[test]
fn a_list_may_hold_other_calls_and_must_hold_kernels() {
    let list = format!(
        "# made by hand\n\n{WHOLE}cudaMalloc,0x10,64\nkernel-1.traceg\nMemcpyDtoH,0x10,64\nMemcpyDtoH,0x10,64\n\
         ncclAllReduce(0x10, 4)\ncudaDeviceSynchronize 0\n"
    );
    let import = read(folder(&list, &small()).path()).expect("a trace");
    let skipped: Vec<(&str, u64)> =
        import.skipped.iter().map(|(call, count)| (call.as_str(), *count)).collect();
    assert_eq!(
        skipped,
        [("MemcpyDtoH", 2), ("cudaDeviceSynchronize", 1), ("cudaMalloc", 1), ("ncclAllReduce", 1)]
    );
    assert_eq!(import.trace.steps.len(), 2);
    for (list, problem) in [
        (WHOLE, "kernelslist.g: the list names no kernel"),
        ("", "kernelslist.g: the list names no kernel"),
        ("kernel-1.trace\n", "kernelslist.g, line 1: kernel-1.trace is not grouped by blocks"),
        ("MemcpyHtoD 0x10 64\n", "where MemcpyHtoD,ADDRESS,BYTES"),
        ("kernel-1\n", "where MemcpyHtoD,ADDRESS,BYTES"),
        ("kernel-1.traceg\n?!\n", "line 2: \"?!\" where"),
        ("MemcpyHtoD,0x10,x\n", "\"x\" where a number"),
    ] {
        let error = read(folder(list, &small()).path()).expect_err(problem).to_string();
        assert!(error.contains(problem), "{list:?}: {error}");
    }
    let folder = folder("kernel-1.traceg\n", &small());
    let by_list =
        read_any(&folder.path().join("kernelslist.g"), &ReadOptions::default()).expect("named by its list");
    assert_eq!(by_list.1.kernels, 1);
}

#[test]
fn a_trace_that_is_not_whole_is_refused_or_said() {
    let exit = ["0000 ffffffff 0 EXIT 0 0 0"];
    let (two, one) = ([warp(0, &exit), warp(1, &exit)], [warp(1, &exit)]);
    let cases = [
        (
            block(0, &two) + &block(2, &two),
            "2 of the grid's 3 blocks and 4 of its 6 warps",
            "warp 0 of block 1,0,0",
            (2, 4),
        ),
        (
            block(0, &two) + &block(1, &one) + &block(2, &two),
            "3 of the grid's 3 blocks and 5 of its 6 warps",
            "warp 0 of block 1,0,0",
            (3, 5),
        ),
    ];
    for (blocks, there, absent, counts) in cases {
        let folder = folder("kernel-1.traceg\n", &(header(3, 64, 80) + &blocks));
        let error = read(folder.path()).expect_err("not whole").to_string();
        assert!(
            error.contains(there) && error.contains(absent) && error.contains("--missing-blocks accept"),
            "{error}"
        );
        let (_, read) = read_any(folder.path(), &skip()).expect("taken");
        assert_eq!((read.blocks, read.waves, read.grid_blocks, read.grid_waves), (counts.0, counts.1, 3, 6));
        assert!(read.sentence().contains(&format!("{} of 6 waves", counts.1)), "{}", read.sentence());
    }
    let more = header(1, 32, 80) + &block(0, &[warp(0, &exit)]) + &block(1, &[warp(0, &exit)]);
    let error = read(folder("kernel-1.traceg\n", &more).path()).expect_err("more blocks").to_string();
    assert!(error.contains("is none of the grid"), "{error}");
}

#[test]
fn clusters_and_later_tracers_are_read() {
    let lines = [
        "0000 ffffffff 1 R1 HGMMA.64x64x16.F32 2 R2 R3 1 0 0 0 NoVal",
        "0010 ffffffff 1 UR4 UMOV 0 0 0 0 NoVal",
        "0020 ffffffff 1 R4 LDG.E 1 R2 4 1 0x1000 4 0 0 NoVal",
    ];
    let text = header(1, 32, 90).replace("version = 5", "version = 6") + &block(0, &[warp(0, &lines)]);
    let text =
        text.replace("warp = 0", "cluster id = 0,0,0\ncluster cta = 0,0,0\ncluster rank = 0\nwarp = 0");
    let import = read(folder("kernel-1.traceg\n", &text).path()).expect("a trace");
    assert_eq!((accesses(&import).loads, import.instructions), (1, 3));
    // The scratchpads of a cluster stand one behind the other.
    let far = format!("0000 ffffffff 1 R1 LD.E 1 R2 4 1 {:#x} 4 0", SHARED + (3 << 24));
    for (version, scratchpad) in [(80, 0), (90, 1)] {
        let text = header(1, 32, version) + &block(0, &[warp(0, &[&far])]);
        let import = read(folder("kernel-1.traceg\n", &text).path()).expect("a trace");
        assert_eq!(accesses(&import).scratchpad_loads, scratchpad, "sm_{version}");
    }
}

#[test]
fn what_a_header_says_takes_no_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.wtrace");
    let write = |text: &str| std::fs::write(&path, text).expect("written");
    // 2^26 waves, of which one does something.
    write("weft-trace 1\nkernel K grid 67108864,1,1 block 32,1,1 lds 0\nblock 67108863,0,0\nwave 0\nE\n");
    let (trace, read) = read_any(&path, &ReadOptions::default()).expect("a trace");
    assert_eq!((read.waves, read.grid_waves), (1, 1 << 26));
    let back = weft_workload::trace::binary::write(&trace);
    assert_eq!(weft_workload::trace::binary::read(&back, "a.wtrb").expect("a trace"), trace);
    let refused = |options: &ReadOptions| read_any(&path, options).expect_err("refused").to_string();
    write("weft-trace 1\nkernel K grid 268435456,1,1 block 65536,1,1 lds 0\n");
    assert!(refused(&ReadOptions::default()).contains("empty or too large"));
    write("weft-trace 1\ncopy 0 5000000000\nkernel K grid 1,1,1 block 32,1,1 lds 0\n");
    assert!(
        refused(&ReadOptions::default())
            .contains("copies bring 5000000000 bytes, more than 4294967296; --input-limit")
    );
    write("weft-trace 1\ncopy 0 64\n");
    assert!(refused(&ReadOptions::default()).contains("the trace has no kernel"));
    write("weft-trace 1\nkernel K grid 1,1,1 block 32,1,1 lds 0\n");
    assert!(refused(&ReadOptions { limit: 20, ..skip() }).contains("it holds more than 20 bytes"));
    assert!(read_any(&path, &ReadOptions { limit: 59, ..skip() }).is_ok());
}

/// So many zeros as a packer makes little of.
fn zeros(path: &Path, count: u64, head: &[u8]) {
    use std::io::{Read, Write};
    let file = std::fs::File::create(path).expect("a file");
    let mut from = head.chain(std::io::repeat(0).take(count));
    if path.extension().is_some_and(|ending| ending == "xz") {
        let mut out = xz2::write::XzEncoder::new(file, 0);
        std::io::copy(&mut from, &mut out).expect("packed");
        out.finish().expect("packed").flush().expect("written");
    } else {
        let mut out = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        std::io::copy(&mut from, &mut out).expect("packed");
        out.finish().expect("packed").flush().expect("written");
    }
}

#[test]
fn zeros_are_not_unpacked_to_their_end() {
    let folder = folder("kernel-1.traceg\n", "");
    std::fs::remove_file(folder.path().join("kernel-1.traceg")).expect("removed");
    let lists: [(&str, &[u8], &str); 6] = [
        ("a.wtrace.gz", b"", "line 1: the line is longer than 1048576 bytes"),
        ("a.wtrace.xz", b"weft-trace 1\n", "line 2: the line is longer than 1048576 bytes"),
        ("a.wtrb.gz", b"", "byte 0: the file does not begin with WTRB"),
        ("b.wtrb.gz", b"WTRB\x01\x00\x20\x00\xff\xff\xff\xff", "4294967295 steps; at most 1048576"),
        ("kernel-1.traceg.gz", b"", "kernel-1.traceg.gz, line 1: the line is longer"),
        (
            "c.wtrb.gz",
            b"WTRB\x01\x00\x20\x00\x01\x00\x00\x00\x01\x01\x00\x00\x00k\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00",
            "4294967296 bytes of code, where the waves have 0",
        ),
    ];
    for (name, head, problem) in lists {
        let path = folder.path().join(name);
        zeros(&path, 64 << 20, head);
        let of = if name.starts_with("kernel") { folder.path() } else { &path };
        let error = read_any(of, &ReadOptions::default()).expect_err(name).to_string();
        assert!(error.contains(problem), "{name}: {error}");
    }
}
