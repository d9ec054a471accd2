//! Litmus tests of all formats.

use super::{text, texts, utf8};
use crate::Target;
use weft_litmus::library;
use weft_litmus::model::Model;
use weft_litmus::read::read;

macro_rules! public {
    ($($path:literal),* $(,)?) => { texts(&[$(include_str!(concat!("../../../litmus/tests/public/", $path))),*]) };
}

/// One test of the library in so many is a seed.
const SOME: usize = 12;

fn litmus(input: &[u8]) -> Result<(), String> {
    read(utf8(input)?).map(|_| ()).map_err(|error| error.to_string())
}

fn own() -> Vec<Vec<u8>> {
    library::texts().into_iter().step_by(SOME).map(|(_, text)| text.into_bytes()).collect()
}

fn c() -> Vec<Vec<u8>> {
    public!(
        "c11/RWC-sc-acq-sc-sc-sc.litmus",
        "c11/mp-c11-rel-acq.litmus",
        "c11/mp_fences.litmus",
        "opencl/ISA2.litmus",
        "opencl/MP_ra_wg.litmus",
        "opencl/IRIW_sc_dev.litmus",
    )
}

fn tables() -> Vec<Vec<u8>> {
    public!(
        "ptx/Atom-SB.litmus",
        "ptx/SL-cas-minus.litmus",
        "ptx/Ticketlock-diff-gpu.litmus",
        "ptx/Cause-base-strong.litmus",
        "aarch64/MP+rel+acq.litmus",
        "aarch64/2+2W+dmb.sys.litmus",
        "aarch64/CoRW1.litmus",
        "lisa/mp-mit-scopes+fcta+fgpu.litmus",
        "lisa/mp-mit-scopes.litmus",
    )
}

/// What a reader may allocate whatever the size of the file: words of 64 KiB of text, the most that a test
/// may have.
const CONSTANT: u64 = 1 << 22;

pub(super) fn targets() -> Vec<Target> {
    let mut all = tests();
    all.iter_mut().for_each(|target| target.constant = CONSTANT);
    all.push(text(
        "litmus-model",
        "names of memory models",
        || texts(&["drf0", "drf1+scopes", "sc", "drfrlx", "rc11", "ptx", "opencl", "armv8", "scoped-rmo"]),
        "+scopes  drf1  sc",
        |input| utf8(input)?.parse::<Model>().map(|_| ()).map_err(|error| error.to_string()),
    ));
    all
}

fn tests() -> Vec<Target> {
    vec![
        text(
            "litmus-own",
            "litmus tests in the form of this project",
            own,
            "locs  T0  T1:  forbidden  allowed  exists  ~exists  forall  expect drf0  \
            race drf1  name  if  R.P  W.Q  ADD.P.acq  EXCH.Q  CAS.P  F.ar.sys  F.acq.gpu  \
            @cu0  gpu1  .rem  {  }  ;  r1  ==  !=  /\\  \\/  ~  barrier",
            litmus,
        ),
        text(
            "litmus-c",
            "litmus tests in C11 and OpenCL",
            c,
            "atomic_load_explicit  atomic_store_explicit  atomic_fetch_add_explicit  \
            atomic_compare_exchange_strong_explicit  atomic_thread_fence  \
            memory_order_seq_cst  memory_order_acq_rel  memory_scope_device  atomic_int*  \
            int  if  else  while  barrier  exists  forall  ~exists  P3  (  )  *  ==  /\\  \
            \\/  0x",
            litmus,
        ),
        text(
            "litmus-table",
            "litmus tests of PTX, AArch64, LISA and Bell",
            tables,
            "ld.acquire.gpu  st.release.sys  atom.relaxed.cta.cas  fence.sc.sys  LDAR  STLR  \
            LDXR  CBNZ  DMB SY  MOV  EOR  w[]  r[acq]  f[cta]  scopes:  cta 0  gpu 1  \
            exists  forall  ~exists  |  ;  LC00:",
            litmus,
        ),
    ]
}
