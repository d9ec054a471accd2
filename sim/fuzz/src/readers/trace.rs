//! Traces: text, binary, packed, of Accel-Sim; and the program that a trace becomes.

use super::{gunzip, gzip, text, texts, wtrb};
use crate::{Form, Part, Target, scratch};
use weft_workload::trace::program::TraceProgram;
use weft_workload::trace::text as own;
use weft_workload::trace::{Gaps, ReadOptions, Trace, TraceStep, binary, read_with};

/// Bytes that files and copies of a trace may have here.
const LIMIT: u64 = 1 << 20;

/// What a reader may allocate whatever the size of the file: pages of copies up to the limit, the longest
/// line, what unpacks.
const CONSTANT: u64 = 4 * LIMIT;

const TEXTS: [&str; 4] = [
    "weft-trace 1\nlanes 4\ncopy 0x1000 256\nkernel k grid 2,1,1 block 8,1,1 lds 64\nblock 0,0,0\nwave 0\nL %1 4 0x1000+4\n\
     C %2 4 alu %1\nS 4 0x1100+4 =%2\nE\nblock 1,0,0\nwave 1\nS 4 [0x1000,0x1010] =# m=5\nW %1\nE\n",
    "weft-trace 1\nlanes 64\nkernel k0 grid 8,1,1 block 384,1,1 lds 0\nblock 3,0,0\nwave 1\nS 8 0x2028+0 =# m=40000\nE\n\
     block 4,0,0\nwave 4\nA %2 max 4 0x2008+0 =# m=20000000000000 k=N\nF ar sys\nE\n",
    "weft-trace 1\nlanes 2\nkernel c grid 4,1,1 block 2,1,1 lds 16 cpus 2\nblock 0,0,0\nwave 0\nS 4 0x40+0 =7 m=1 k=P a=rel s=gpu h=ReqO+data,line\n\
     E\nblock 3,0,0\nwave 0\nX %1 4 0x0+4\nY 4 0x8+4 =%1\nB\nA %3 cas 8 0x80-8 =9 k=P a=ar r=1 c=3 h=ReqWT\nE\n",
    "weft-trace 1 ; a comment\nlanes 32\nkernel a grid 1,1,1 block 32,1,1 lds 0\nblock 0,0,0\nwave 0\nC 12 sfu\nC %1 1 mem\nF acq cu\nE\n\
     kernel b grid 1,1,1 block 1,1,1 lds 0\n",
];

const WORDS: &str = "kernel  grid  block  lds  cpus  wave  copy  lanes  L  S  A  C  F  B  W  X  Y  E  \
    k=Q  a=acq  s=cta  r=1  h=ReqS,line  m=ffffffff  =#  alu  add  cas  acq  rel  ar";

/// A trace is also made a program, whose pages and arrays are those that the trace touches.
fn program(trace: Result<Trace, impl ToString>) -> Result<(), String> {
    let trace = trace.map_err(|error| error.to_string())?;
    let bytes = |step: &TraceStep| if let TraceStep::Copy { bytes, .. } = step { *bytes } else { 0 };
    // Whoever reads a trace by its path is kept to the limit.
    match trace.steps.iter().map(bytes).try_fold(0_u64, u64::checked_add) {
        Some(copied) if copied <= LIMIT => {}
        _ => return Err("its copies bring more than the limit".into()),
    }
    TraceProgram::new("fuzzed", trace).map(|_| ()).map_err(|error| error.to_string())
}

/// Traces as the binary format writes them.
fn binaries() -> Vec<Vec<u8>> {
    let read = |text: &&str| own::read(text.as_bytes(), "seed").ok().map(|trace| binary::write(&trace));
    TEXTS.iter().filter_map(read).collect()
}

fn packed(input: &[u8]) -> Result<(), String> {
    scratch::file("t.wtrb.gz", input, |path| {
        let options = ReadOptions { limit: LIMIT, ..ReadOptions::default() };
        program(read_with(path, &options).map(|(trace, _)| trace))
    })
}

/// Between the list and the kernel's file.
const CUT: &[u8] = b"\n=== kernel-1.traceg\n";

const KERNEL: &str = "-kernel name = k\n-grid dim = (2,1,1)\n-block dim = (32,1,1)\n-shmem = 64\n-nregs = 8\n-binary version = 80\n\
    -shmem base_addr = 0x7fb139000000\n-local mem base_addr = 0x7fb137000000\n-accelsim tracer version = 5\n\n\
    #BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 6\n\
    0000 ffffffff 1 R1 S2R 0 0\n0010 ffffffff 1 R4 LDG.E.64 1 R2 8 1 0x7f0000001000 8 0\n\
    0020 0000ffff 0 STG.E 2 R2 R4 4 1 0x7f0000002000 4 0\n0030 ffffffff 1 R8 LDS 1 R2 4 1 0x10 4 0\n\
    0040 ffffffff 0 RED.E.ADD.STRONG.GPU 2 R2 R3 4 1 0x7f0000003000 4 0\n0050 ffffffff 0 EXIT 0 0\n#END_TB\n\
    #BEGIN_TB\nthread block = 1,0,0\nwarp = 0\ninsts = 4\n\
    0000 ffffffff 0 LDGSTS.E.64 2 R2 R4 8 1 0x7f0000000000 8 0\n0000 ffffffff 0 LDGSTS.E.64 2 R2 R4 8 1 0x7fb139000100 8 0\n\
    0010 00000003 1 R1 LD.E 1 R2 4 0 0x7fb137000000 0x7f0000000040\n0020 0000000f 1 R1 ATOMG.E.CAS 1 R2 4 2 0x7f0000000000 4 8 16\n#END_TB\n";

fn accel_sim(input: &[u8]) -> Result<(), String> {
    let at = input.windows(CUT.len()).position(|window| window == CUT);
    let (list, kernel) = at.map_or((input, &[][..]), |at| (&input[..at], &input[at + CUT.len()..]));
    scratch::files(&[("kernelslist.g", list), ("kernel-1.traceg", kernel)], |folder| {
        let skip = kernel.len() % 2 == 0;
        let gaps = if skip { Gaps::Skip } else { Gaps::Refuse };
        let options = ReadOptions { unknown: gaps, missing: gaps, limit: LIMIT };
        program(read_with(folder, &options).map(|(trace, _)| trace))
    })
}

fn accel_sim_seeds() -> Vec<Vec<u8>> {
    let lists =
        ["MemcpyHtoD,0x7f0000000000,4096\nkernel-1.traceg", "kernel-1.traceg\ncudaFree,1\nkernel-1.traceg\n"];
    lists.iter().map(|list| [list.as_bytes(), CUT, KERNEL.as_bytes()].concat()).collect()
}

pub(super) fn targets() -> Vec<Target> {
    let accel = "MemcpyHtoD  kernel-1.traceg  LDG.E.128  STL  LDSM.16.M88.4  SYNCS  ARRIVES  \
    DEPBAR  LDGDEPBAR  BAR.SYNC  MEMBAR.SC.GPU  CCTL.IVALL  UBLKCP  R255  \
    #BEGIN_TB  #END_TB  insts =   warp =   -kernel name =";
    let with = |target: Target| Target { constant: CONSTANT, ..target };
    vec![
        with(text(
            "trace-text",
            "traces as text (.wtrace), and their programs",
            || texts(&TEXTS),
            WORDS,
            |input| program(own::read(input, "t.wtrace")),
        )),
        with(Target {
            form: Form::Parts { open: wtrb::open, close: wtrb::close },
            ..text("trace-binary", "binary traces (.wtrb), and their programs", binaries, "", |input| {
                program(binary::read(input, "t.wtrb"))
            })
        }),
        with(Target {
            form: Form::Parts {
                open: |input| wtrb::open(&gunzip(input)?),
                close: |parts| gzip(&wtrb::close(parts)),
            },
            ..text(
                "trace-packed",
                "packed traces by their path (.wtrb.gz)",
                || binaries().iter().map(|bytes| gzip(bytes)).collect(),
                "",
                packed,
            )
        }),
        with(Target {
            form: Form::Parts {
                open: |input| Some(vec![Part::text(input)]),
                close: |parts| parts[0].bytes.clone(),
            },
            ..text(
                "trace-accel-sim",
                "folders of Accel-Sim traces, and their programs",
                accel_sim_seeds,
                accel,
                accel_sim,
            )
        }),
    ]
}
