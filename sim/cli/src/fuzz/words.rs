//! Files and words that commands read: stimulus, requests, records of mutants, what reports are made of,
//! sizes.

use super::{SMALL, said, text, texts, utf8};
use crate::cmd::mutate::catcher::Catcher;
use crate::cmd::mutate::record::Record;
use crate::cmd::why::LogMemory;
use crate::cmd::{host, sim, stress};
use crate::graph;
use crate::report::{Input, Limits, page};
use anyhow::Error;
use std::collections::BTreeMap;
use weft_fuzz::{Target, scratch};
use weft_host::Interface;
use weft_rtl::bv::Bv;
use weft_rtl::ir::LeafType;
use weft_rtl::netlist::{NetId, NetPort};

/// What a page takes without any input: its frame and scripts, put together.
const PAGE: u64 = 1 << 21;

/// A block whose ports have fields and names of states.
const BLOCK: &str = "tu-mesi";

thread_local! {
    static INTERFACE: Option<Interface> =
        weft_catalog::build(BLOCK, &BTreeMap::new()).ok().and_then(|module| Interface::of(&module).ok());
}

fn stimulus(input: &[u8]) -> Result<(), String> {
    let port = |name: &str, width| NetPort { name: name.into(), width, ty: LeafType::Bits, node: NetId(0) };
    let inputs = [port("a", 4), port("b", 100), port("valid", 1), port("wide", 64)];
    sim::parse(utf8(input)?, &inputs).map(|_| ()).map_err(Error::msg).map_err(said)
}

fn requests(input: &[u8]) -> Result<(), String> {
    INTERFACE.with(|interface| {
        let interface = interface.as_ref().ok_or("the block has no interface")?;
        host::parse(utf8(input)?, interface).map(|_| ()).map_err(Error::msg).map_err(said)
    })
}

/// Each channel into the block with a value for each field, inputs and outputs.
fn request_seeds() -> Vec<Vec<u8>> {
    INTERFACE.with(|interface| {
        let entries = interface.as_ref().map(|interface| interface.entries.as_slice()).unwrap_or_default();
        let line = |entry: &weft_host::Entry| {
            let fields =
                || entry.leaves.iter().map(|leaf| format!("{}=1", leaf.name)).collect::<Vec<_>>().join(" ");
            match entry.kind {
                weft_host::Kind::Into => Some(format!("{} {} # a request", entry.name, fields())),
                weft_host::Kind::Set => Some(format!("{}=0x0", entry.name)),
                weft_host::Kind::Get => Some(format!("{}?", entry.name)),
                weft_host::Kind::OutOf => None,
            }
        };
        vec![entries.iter().filter_map(line).collect::<Vec<_>>().join("\n").into_bytes()]
    })
}

fn mutants(input: &[u8]) -> Result<(), String> {
    scratch::file("mutants.jsonl", input, |path| {
        let catchers =
            Catcher::parse_all(&["suite=scripts/test".into()]).map_err(|failure| failure.to_string())?;
        let record =
            Record::open(Some(path), "fifo", 2000, &catchers).map_err(|failure| failure.to_string())?;
        drop(record.row("fifo@a.rs:1#0:negated"));
        Ok(())
    })
}

fn report(input: &[u8]) -> Result<(), String> {
    scratch::file("input", input, |path| {
        let input = Input::read(path, &LogMemory::new(1)).map_err(said)?;
        let limits = Limits { lines: 2, moments: 20, wanted: Vec::new(), at: u64::MAX };
        page(&[("input".into(), input)], &limits).map(|_| ()).map_err(said)
    })
}

/// Counts and sizes of options, one a line.
fn sizes(input: &[u8]) -> Result<(), String> {
    for line in utf8(input)?.lines() {
        match line.split_once(' ') {
            Some(("bytes", text)) => drop(graph::bytes(text).map_err(said)?),
            Some(("operations", text)) => drop(stress::whole(text)?.to_string()),
            Some(("hex", text)) => drop(Bv::from_hex(text, 70).ok_or("it is no hexadecimal number")?),
            Some(("shard", text)) => drop(text.parse::<crate::sweep::shard::Shard>()?.takes(1).to_string()),
            _ => return Err("expected bytes, operations, hex or shard, and a word".into()),
        }
    }
    Ok(())
}

const RUN: &str = r#"{"schema": "weft-run-2", "weft": "0.1.0", "fabric": "rec-4gpu-small", "workload": "stencil", "seed": null,
"config": {"protocol": "rec", "gpus": 4}, "params": {"n": "32"}, "params_given": ["n"], "params_unused": [], "graph": {"name": "karate", "file": null, "digest": "00ff"},
"cycles": 5000, "verified": true, "stale": false, "wall_seconds": 0.5, "metrics": {"loads": 5, "bytes": {"req": 7, "rsp": 9}, "ratio": 0.25},
"kernels": [{"name": "k", "start": 10, "end": 4000}], "stalls": {"memory": 7}, "counters": {"l1.hits": {"value": 3, "about": "hits"}, "l1.misses": 4},
"covers": {"rec.race.twice": 2}, "summary": ["ran"], "changed": []}
"#;

const TABLE: &str = "run,status,workload,cycles,kernels,verified,error,check\n1,ok,stencil,1234,2,true,,\n2,failed,fir,,,,\"it was, too long\",\n";

const MUTANTS: &str = r#"{"block":"fifo","cycles":2000,"catchers":{"suite":"scripts/test"}}
{"mutant":"fifo@a.rs:1#0:negated","kind":"negated","place":"line 1","verdict":"different","about":"out in 7","assertion":"","caught":{"suite":"caught"}}
{"mutant":"fifo@a.rs:2#1:stuck0.1","kind":"stuck0","place":"line 2","verdict":"equivalent","about":"","assertion":"full","caught":{}}
"#;

pub(super) fn targets() -> Vec<Target> {
    vec![
        text(
            "stimulus",
            "stimulus files of `weft sim`",
            || {
                texts(&[
                    "a=3 b=0x10 # first\n\n+5\na=1 valid=1 +2\nwide=18446744073709551615\n",
                    "b=0xfffffffffffffffffffffffff +100000000\n",
                ])
            },
            "a=  b=0x  +  #  valid=1  wide=0x",
            stimulus,
        ),
        Target {
            constant: 4 * SMALL,
            ..text("requests", "request files of `weft host`", request_seeds, "=  ?  0x  #", requests)
        },
        text(
            "mutants",
            "records of `weft mutate` (JSON lines)",
            || texts(&[MUTANTS]),
            "\"caught\"  \"timeout\"  null  {}",
            mutants,
        ),
        Target {
            constant: PAGE,
            ..text(
                "report",
                "what `weft report` takes, runs (JSON) and tables of sweeps, and its page",
                || texts(&[RUN, TABLE]),
                "null  []  {}  -1  \"schema\"  \"weft-run-1\"  <script>  </script>  @DATA@  ,  \"  \
                1e999",
                report,
            )
        },
        text(
            "sizes",
            "counts and sizes of options, one a line",
            || texts(&["bytes 64K\nbytes 2g\noperations 1e9\noperations 50000\nhex ff0\nshard 2/7\n"]),
            "K  M  G  e  E  _  /  bytes   operations   hex   shard",
            sizes,
        ),
    ]
}
