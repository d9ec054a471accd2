//! Tables that commands and tests leave and read again: campaigns, digests, planted faults.

use super::{said, text, texts, utf8};
use weft_conformance::planted;
use weft_digest::Table;
use weft_fuzz::{Target, record, scratch};
use weft_stress::record::Record;

fn stress(input: &[u8]) -> Result<(), String> {
    scratch::file("record.csv", input, |path| {
        let record = Record::read(path).map_err(said)?;
        record.rows().iter().for_each(|row| assert_eq!(row.counts().rounds, row.rounds));
        Ok(())
    })
}

fn digests(input: &[u8]) -> Result<(), String> {
    scratch::file("blocks.csv", input, |path| {
        let form = Table::new(2, &["block", "parameters", "verilog", "bits"], Vec::new());
        let table = form.committed(path).map_err(said)?;
        table.moved(&form, true);
        form.over(&table).moved(&table, false);
        Ok(())
    })
}

fn faults(input: &[u8]) -> Result<(), String> {
    let rows = planted::read("fuzzed", utf8(input)?).map_err(said)?;
    rows.iter().for_each(|row| row.protocols.iter().for_each(|protocol| drop(row.args(protocol, true, 1))));
    Ok(())
}

fn campaigns(input: &[u8]) -> Result<(), String> {
    scratch::file("fuzz.csv", input, |path| record::read(path).map(|_| ()).map_err(said))
}

/// What a reader of tables may allocate whatever the size of the file: a place of eight bytes for each comma of a
/// line, several times, for a line of 64 KiB.
const CONSTANT: u64 = 1 << 22;

pub(super) fn targets() -> Vec<Target> {
    let mut all = tables();
    all.iter_mut().for_each(|target| target.constant = CONSTANT);
    all
}

fn tables() -> Vec<Target> {
    vec![
        text(
            "stress-record",
            "tables of `weft stress`",
            || {
                texts(&[
                    "fabric,keys,seed,hardware,groups,rounds,operations,judged,cycles\nrec-4gpu-small,,1,00ff,2,16,100,90,5000\n\
                     rec-4gpu-small,\"gpus=2 fixed\",2,00fe,1,8,10,9,18446744073709551615\n",
                ])
            },
            ",  \"  \"\"  fabric",
            stress,
        ),
        text(
            "digest-table",
            "committed digests",
            || {
                texts(&[
                    "block,parameters,verilog,bits\nfifo,depth=1 width=1,dee2,7\nfifo,\"depth=3, width=65\",2ed1,268\n",
                ])
            },
            ",  \"  block",
            digests,
        ),
        text(
            "planted",
            "lists of planted faults",
            || {
                texts(&[
                    include_str!("../../../conformance/src/planted/rdma.csv"),
                    include_str!("../../../conformance/src/planted/flat.csv"),
                    include_str!("../../../conformance/src/planted/tsm.csv"),
                ])
            },
            "@all  @directories  @owners  @modules  none  litmus  run  -  ,  0",
            faults,
        ),
        text(
            "fuzz-record",
            "tables of `weft fuzz`",
            || {
                texts(&["target,seed,inputs,accepted,refused,kinds,faults,constant,ratio,peak,slowest_ms\n\
                     set,1,1000,300,700,21,0,262144,0.5,7000,1\nparam,1,1000,300,700,21,0,262144,,,1\n"])
            },
            ",  \"  nan  1e999",
            campaigns,
        ),
    ]
}
