//! Event logs: read whole, then asked as `weft why` and `weft report` ask.

use super::{gunzip, gzip};
use crate::{Form, Part, Target, scratch};
use serde_json::json;
use weft_events::header::SCHEMA;
use weft_events::hops::{Hops, channel_of};
use weft_events::life::{because, busiest, chain, of_line};
use weft_events::{Header, Log, Record, Step};

/// Bytes of memory that a log may take here.
const MEMORY: u64 = 1 << 20;

/// What a reader may allocate whatever the size of the file: the limit, in arrays that grow by doubling, and
/// what hops say of it.
const CONSTANT: u64 = 8 * MEMORY;

/// A model, an L1, a crossbar and a bank.
fn header() -> Option<Header> {
    let field =
        |name: &str, width: u32, names: Option<u32>| json!({ "name": name, "width": width, "names": names });
    let request = json!([
        field("op", 1, Some(0)),
        field("line", 40, None),
        field("id", 4, None),
        field("mask", 128, None)
    ]);
    let answer = json!([field("op", 1, Some(0)), field("id", 4, None)]);
    let channel = |from: u32,
                   from_port: &str,
                   to: u32,
                   to_port: &str,
                   fields: &serde_json::Value,
                   line: Option<u32>| {
        json!({ "from": from, "from_port": from_port, "to": to, "to_port": to_port, "fields": fields, "line": line })
    };
    let value = json!({
        "fabric": "small", "workload": "hand", "seed": null, "setup": {"params": {"root": 3}}, "config": {"protocol": "none"},
        "line": 128, "group": 4, "from": 0, "to": u64::MAX, "scope": [], "interval": 500,
        "actors": [
            {"name": "l1", "block": 0}, {"name": "xbar", "block": 1}, {"name": "bank", "block": 1},
            {"name": "g0_cu0", "block": null},
        ],
        "blocks": [
            {"module": "l1", "rows": [{"id": "l1.I.load", "text": "a miss"}, {"id": "rec.race.twice", "text": "a race"}]},
            {"module": "other", "rows": []},
        ],
        "channels": [
            channel(3, "g0_cu0_req", 0, "cu_req", &request, Some(1)),
            channel(0, "cu_rsp", 3, "g0_cu0_rsp", &answer, None),
            channel(0, "req", 1, "in0", &request, Some(1)),
            channel(1, "out0", 2, "req", &request, Some(1)),
            channel(2, "rsp", 1, "in1", &answer, None),
            channel(1, "out1", 0, "rsp", &answer, None),
            channel(2, "inv", 0, "probe", &json!([field("line", 40, None), field("grp", 1, None)]), Some(0)),
        ],
        "enums": [[["RD", 0], ["WR", 1]]],
        "meters": [{"actor": 1, "name": "bytes", "per_cycle": 32}],
        "arrays": [{"name": "rank", "element": 4, "offset": 0, "at": 0x1000, "bytes": 0x200}],
    });
    serde_json::from_value(value).ok()
}

/// A load that misses, and an invalidation.
fn records() -> Vec<Record> {
    let message = |channel, line, limbs: &[u64]| Record::Message { channel, line, limbs: limbs.to_vec() };
    vec![
        Record::Cycle(10),
        message(0, Some(0x20), &[0, 0x20, 5, 1, 0]),
        Record::Cycle(2),
        Record::Row { actor: 0, row: 0, line: Some(0x20), cycles: 1 },
        message(2, Some(0x20), &[0, 0x20, 1, 1, 0]),
        Record::Cycle(2),
        message(3, Some(0x20), &[0, 0x20, 1, 1, 0]),
        Record::Cycle(16),
        message(4, None, &[0, 1]),
        message(5, None, &[0, 1]),
        Record::Row { actor: 0, row: 1, line: None, cycles: 7 },
        message(1, None, &[0, 5]),
        message(6, Some(0x20), &[0x20, 1]),
        Record::Bytes { meter: 0, start: 0, bytes: 640 },
    ]
}

fn joined(name: &[u8], head: &[u8], records: &[u8]) -> Vec<u8> {
    [name, b"\n", head, b"\n", records].concat()
}

fn seeds() -> Vec<Vec<u8>> {
    let head = header().and_then(|header| serde_json::to_vec(&header).ok()).unwrap_or_default();
    let mut all = records();
    let step = Step { name: "kernel".into(), start: 3, end: 50 };
    let records = all.iter().filter(|record| !matches!(record, Record::End { .. })).count() as u64;
    all.push(Record::End { cycle: 60, records, steps: vec![step] });
    let bytes =
        all.iter().flat_map(|record| postcard::to_stdvec(record).unwrap_or_default()).collect::<Vec<u8>>();
    vec![gzip(&joined(SCHEMA.as_bytes(), &head, &bytes))]
}

fn open(input: &[u8]) -> Option<Vec<Part>> {
    let bytes = gunzip(input)?;
    let mut lines = bytes.splitn(3, |byte| *byte == b'\n');
    let (name, head, records) = (lines.next()?, lines.next()?, lines.next()?);
    Some(vec![Part::text(name), Part::text(head), Part::fields(records)])
}

/// Puts a log together; its end counts the records that there are.
fn close(parts: &[Part]) -> Vec<u8> {
    let mut rest = parts[2].bytes.as_slice();
    let mut out = Vec::new();
    let mut count = 0_u64;
    while let Ok((record, behind)) = postcard::take_from_bytes::<Record>(rest) {
        match record {
            Record::End { cycle, steps, .. } => {
                let end = Record::End { cycle, records: count, steps };
                out.extend(postcard::to_stdvec(&end).unwrap_or_default());
            }
            _ => out.extend_from_slice(&rest[..rest.len() - behind.len()]),
        }
        count += 1;
        rest = behind;
    }
    out.extend_from_slice(rest);
    gzip(&joined(&parts[0].bytes, &parts[1].bytes, &out))
}

/// What the commands ask of a log: the busiest lines, their lives, and why each moment was.
fn ask(log: &Log) {
    let hops = Hops::new(log);
    for (line, _) in busiest(&hops).into_iter().take(4) {
        let life = of_line(log, &hops, line);
        for number in 0..life.len().min(8) {
            because(log, &life, number);
            chain(log, &life, number);
        }
        log.header.contents(line);
        log.header.address(line);
    }
    for (number, event) in (0..).zip(&log.events).take(64) {
        channel_of(log, number);
        match &event.what {
            weft_events::What::Message { channel, limbs, .. } => {
                log.header.operation(*channel, log.fields(limbs));
                log.header.details(*channel, log.fields(limbs));
            }
            weft_events::What::Row { actor, row, .. } => {
                log.row(*actor, *row);
            }
        }
    }
}

fn read(input: &[u8]) -> Result<(), String> {
    scratch::file("run.events", input, |path| {
        let log = Log::read_within(path, MEMORY).map_err(|error| error.to_string())?;
        ask(&log);
        Ok(())
    })
}

pub(super) fn targets() -> Vec<Target> {
    vec![Target {
        name: "event-log",
        about: "event logs, and what `weft why` and `weft report` ask of them",
        seeds,
        words: "null  4294967295  []  {}  \"line\"  \"group\"  \"interval\"",
        form: Form::Parts { open, close },
        constant: CONSTANT,
        read,
    }]
}
