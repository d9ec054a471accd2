//! Logs written and read back; damaged ones; messages followed through a small system.

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use weft_events::hops::Hops;
use weft_events::life::{self, Kind};
use weft_events::{Actor, Array, Block, Channel, Field, Header, Log, Meter, Record, Row, Step, What, Writer};
use weft_output::Output;

/// Channels of the small system.
const CU_REQ: u32 = 0;
const CU_RSP: u32 = 1;
const REQ: u32 = 2;
const PASSED: u32 = 3;
const RSP: u32 = 4;
const PASSED_RSP: u32 = 5;

fn field(name: &str, width: u32, names: Option<u32>) -> Field {
    Field { name: name.into(), width, names }
}

/// A model, an L1, a crossbar and a bank.
fn header() -> Header {
    let actor = |name: &str, block| Actor { name: name.into(), block };
    let request = vec![
        field("op", 1, Some(0)),
        field("line", 40, None),
        field("id", 4, None),
        field("mask", 128, None),
    ];
    let answer = vec![field("op", 1, Some(0)), field("id", 4, None)];
    let group = vec![field("line", 40, None), field("grp", 1, None)];
    let channel = |from, from_port: &str, to, to_port: &str, fields: &Vec<Field>| Channel {
        from,
        from_port: from_port.into(),
        to,
        to_port: to_port.into(),
        fields: fields.clone(),
        line: (fields.len() > 2).then_some(1),
    };
    let row = |id: &str| Row { id: id.into(), text: format!("what {id} means") };
    Header {
        fabric: "small".into(),
        workload: "hand".into(),
        seed: None,
        setup: serde_json::json!({"params": {"root": 3}}),
        config: serde_json::json!({"protocol": "none"}),
        line: 128,
        group: 4,
        from: 0,
        to: u64::MAX,
        scope: Vec::new(),
        interval: 500,
        actors: vec![
            actor("l1", Some(0)),
            actor("xbar", Some(1)),
            actor("bank", Some(1)),
            actor("g0_cu0", None),
        ],
        blocks: vec![
            Block { module: "l1".into(), rows: vec![row("l1.I.load"), row("rec.race.twice")] },
            Block { module: "other".into(), rows: Vec::new() },
        ],
        channels: vec![
            channel(3, "g0_cu0_req", 0, "cu_req", &request),
            channel(0, "cu_rsp", 3, "g0_cu0_rsp", &answer),
            channel(0, "req", 1, "in0", &request),
            channel(1, "out0", 2, "req", &request),
            channel(2, "rsp", 1, "in1", &answer),
            channel(1, "out1", 0, "rsp", &answer),
            Channel { line: Some(0), ..channel(2, "inv", 0, "probe", &group) },
        ],
        enums: vec![vec![("RD".into(), 0), ("WR".into(), 1)]],
        meters: vec![Meter { actor: 1, name: "bytes".into(), per_cycle: Some(32) }],
        arrays: vec![Array { name: "rank".into(), element: 4, offset: 0, at: 0x1000, bytes: 0x200 }],
    }
}

/// Number of the channel of invalidations.
const INV: u32 = 6;

fn message(channel: u32, line: Option<u64>, limbs: &[u64]) -> Record {
    Record::Message { channel, line, limbs: limbs.to_vec() }
}

/// A load of line 0x20 that misses, in hand-made cycles, beside one of another line.
fn load() -> Vec<(u64, Record)> {
    vec![
        (10, message(CU_REQ, Some(0x20), &[0, 0x20, 5, 1, 0])),
        (12, Record::Row { actor: 0, row: 0, line: Some(0x20), cycles: 1 }),
        (12, message(REQ, Some(0x20), &[0, 0x20, 1, 1, 0])),
        (13, message(REQ, Some(0x21), &[0, 0x21, 2, 1, 0])),
        (14, message(PASSED, Some(0x20), &[0, 0x20, 1, 1, 0])),
        (15, message(PASSED, Some(0x21), &[0, 0x21, 2, 1, 0])),
        (30, message(RSP, None, &[0, 2])),
        (31, message(RSP, None, &[0, 1])),
        (31, Record::Row { actor: 0, row: 1, line: None, cycles: 7 }),
        (33, message(PASSED_RSP, None, &[0, 2])),
        (34, message(PASSED_RSP, None, &[0, 1])),
        (36, message(CU_RSP, None, &[0, 5])),
        (40, Record::Bytes { meter: 0, start: 0, bytes: 640 }),
    ]
}

fn write(folder: &TempDir, records: &[(u64, Record)]) -> PathBuf {
    write_with(folder, &header(), records)
}

fn write_with(folder: &TempDir, header: &Header, records: &[(u64, Record)]) -> PathBuf {
    let path = folder.path().join("log");
    let file = Output::create(&path).expect("a file");
    let mut writer = Writer::create(file, header).expect("written");
    for (cycle, record) in records {
        writer.advance(*cycle).expect("written");
        writer.add(record).expect("written");
    }
    let step = Step { name: "kernel".into(), start: 3, end: 50 };
    writer.finish(60, vec![step]).expect("written");
    path
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn what_is_written_is_read() {
    let folder = folder();
    let log = Log::read(&write(&folder, &load())).expect("sound");
    assert_eq!(log.header, header());
    assert_eq!((log.events.len(), log.end, log.steps.len()), (12, 60, 1));
    assert_eq!(log.sent.iter().map(|s| (s.meter, s.start, s.bytes)).collect::<Vec<_>>(), [(0, 0, 640)]);
    let What::Message { limbs, .. } = &log.events[0].what else { panic!("a message") };
    assert_eq!((log.events[0].cycle, log.fields(limbs)), (10, &[0, 0x20, 5, 1, 0][..]));
    assert_eq!(log.header.operation(CU_REQ, log.fields(limbs)), "RD");
    assert_eq!(log.header.details(CU_REQ, log.fields(limbs)), "id 5, mask 0x1");
    assert_eq!(log.header.contents(0x20).as_deref(), Some("rank[0..=31]"));
    assert_eq!(log.header.contents(0x24), None);
}

#[test]
fn a_request_is_followed_to_its_answer() {
    let folder = folder();
    let log = Log::read(&write(&folder, &load())).expect("sound");
    let hops = Hops::new(&log);
    // Numbers as in `load`, without the record of bytes.
    assert_eq!((hops.after[2], hops.before[4]), (Some(4), Some(2)), "the crossbar passes the request on");
    assert_eq!((hops.after[7], hops.request[10], hops.answer[2]), (Some(10), Some(2), Some(10)));
    assert_eq!((hops.request[9], hops.answer[3]), (Some(3), Some(9)), "answers come in another order");
    assert_eq!((hops.request[11], hops.answer[0]), (Some(0), Some(11)), "of the model and the L1");
    assert_eq!(hops.line[7], Some(0x20), "what names no line has that of its request");
    assert_eq!(hops.line[8], None);

    let moments = life::of_line(&log, &hops, 0x20);
    let told: Vec<(u64, Kind, &str)> = moments.iter().map(|m| (m.cycle, m.kind, m.what.as_str())).collect();
    use Kind::{Message, Row};
    let wanted = [
        (10, Message, "RD"),
        (12, Row, "l1.I.load"),
        (12, Message, "RD"),
        (31, Message, "RD"),
        (36, Message, "RD"),
    ];
    assert_eq!(told, wanted);
    let asks = &moments[2];
    assert_eq!((asks.from, asks.to, asks.via.as_slice(), asks.arrives), (0, Some(2), &[1][..], 14));
    assert_eq!((asks.answered, asks.asked, moments[3].asked), (Some(34), None, Some(12)));
    assert_eq!(life::busiest(&hops)[0], (0x20, 7));
}

#[test]
fn posted_stores_of_one_number_are_answered_in_their_order() {
    let folder = folder();
    let store = |cycle, channel, line: u64| (cycle, message(channel, Some(line), &[1, line, 7, 1, 0]));
    let answer = |cycle, channel, op| (cycle, message(channel, None, &[op, 7]));
    let log = Log::read(&write(
        &folder,
        &[
            store(10, REQ, 0x30),
            store(11, REQ, 0x31),
            store(12, PASSED, 0x30),
            store(13, PASSED, 0x31),
            // A load of the same number is no store.
            (14, message(REQ, Some(0x32), &[0, 0x32, 7, 1, 0])),
            (15, message(PASSED, Some(0x32), &[0, 0x32, 7, 1, 0])),
            answer(20, RSP, 1),
            answer(21, PASSED_RSP, 1),
            answer(22, RSP, 0),
            answer(23, PASSED_RSP, 0),
            answer(24, RSP, 1),
            answer(25, PASSED_RSP, 1),
        ],
    ))
    .expect("sound");
    let hops = Hops::new(&log);
    assert_eq!([7, 9, 11].map(|answer| hops.request[answer]), [Some(0), Some(4), Some(1)]);
    assert_eq!(hops.line[10], Some(0x31), "an answer without a line has that of its request");
}

#[test]
fn answers_that_fit_requests_of_two_channels_are_nobodys() {
    let folder = folder();
    let mut header = header();
    // A second way from the L1 to the crossbar, and both requests under one number.
    header.channels.push(Channel {
        from_port: "req_far".into(),
        to_port: "in5".into(),
        ..header.channels[REQ as usize].clone()
    });
    let records = [
        (10, message(REQ, Some(0x30), &[0, 0x30, 7, 1, 0])),
        (11, message(INV + 1, Some(0x31), &[0, 0x31, 7, 1, 0])),
        (20, message(PASSED_RSP, None, &[0, 7])),
    ];
    let log = Log::read(&write_with(&folder, &header, &records)).expect("sound");
    assert_eq!(Hops::new(&log).request, [None, None, None]);
}

#[test]
fn a_message_about_a_group_is_of_all_its_lines() {
    let folder = folder();
    let records = [(5, message(INV, Some(0x20), &[0x20, 1])), (6, message(INV, Some(0x22), &[0x22, 0]))];
    let log = Log::read(&write(&folder, &records)).expect("sound");
    let hops = Hops::new(&log);
    let cycles = |line| life::of_line(&log, &hops, line).iter().map(|m| m.cycle).collect::<Vec<_>>();
    assert_eq!((cycles(0x20), cycles(0x22), cycles(0x24)), (vec![5], vec![5, 6], vec![]));
    assert!(life::of_line(&log, &hops, 0x20)[0].takes_away());
}

#[test]
fn a_moment_is_led_back_to_who_asked() {
    let folder = folder();
    let log = Log::read(&write(&folder, &load())).expect("sound");
    let moments = life::of_line(&log, &Hops::new(&log), 0x20);
    // The answer to the model, the bank's answer, the L1's request, the model's load: a row of the same cycle came too late to be a reason.
    assert_eq!(life::chain(&log, &moments, 4), [4, 3, 2, 0]);
    assert_eq!(life::chain(&log, &moments, 1), [1, 0]);
}

#[test]
fn a_message_is_led_back_to_the_one_of_its_own_bytes() {
    let folder = folder();
    let store = |cycle, channel: u32, mask: u64| {
        (cycle, message(channel, Some(0x20), &[1, 0x20, u64::from(channel), mask, 0]))
    };
    let row = |cycle| (cycle, Record::Row { actor: 0, row: 0, line: Some(0x20), cycles: 1 });
    let records = [
        store(10, CU_REQ, 1),
        store(11, CU_REQ, 2),
        row(11),
        row(12),
        // Later than the row of the second store.
        store(14, REQ, 1),
        store(15, REQ, 2),
    ];
    let log = Log::read(&write(&folder, &records)).expect("sound");
    let moments = life::of_line(&log, &Hops::new(&log), 0x20);
    let told: Vec<(u64, Kind)> = moments.iter().map(|m| (m.cycle, m.kind)).collect();
    use Kind::{Message, Row};
    assert_eq!(told, [(10, Message), (11, Message), (11, Row), (12, Row), (14, Message), (15, Message)]);
    assert_eq!(life::chain(&log, &moments, 4), [4, 2, 0]);
    assert_eq!(life::chain(&log, &moments, 5), [5, 3, 1]);
}

fn unpacked(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(std::fs::File::open(path).expect("there")).read_to_end(&mut bytes).expect("sound");
    bytes
}

fn packed(path: &Path, bytes: &[u8]) {
    let mut out = GzEncoder::new(std::fs::File::create(path).expect("a file"), Compression::fast());
    out.write_all(bytes).expect("written");
    out.finish().expect("written");
}

/// What reading says of a file with these contents inside.
fn complaint(change: impl FnOnce(&mut Vec<u8>)) -> String {
    let folder = folder();
    let path = write(&folder, &load());
    let mut bytes = unpacked(&path);
    change(&mut bytes);
    packed(&path, &bytes);
    let text = Log::read(&path).expect_err("damaged").to_string();
    text.replace(&path.display().to_string(), "FILE")
}

#[test]
fn a_damaged_log_says_where_and_how() {
    let cut = complaint(|bytes| bytes.truncate(bytes.len() - 20));
    assert!(cut.starts_with("the event log FILE is damaged after record 2"), "{cut}");
    let head = complaint(|bytes| bytes.truncate(100));
    assert_eq!(head, "the event log FILE is damaged in its head: it ends there; record it anew");
    let more = complaint(|bytes| bytes.extend([1, 2, 3]));
    assert_eq!(
        more,
        "the event log FILE is damaged after record 24 in cycle 40: 3 bytes follow its end; record it anew"
    );
    let version = complaint(|bytes| bytes[12] = b'9');
    assert_eq!(
        version,
        "the event log FILE has format weft-events-9 and this program reads weft-events-1; record it anew"
    );
    let other = complaint(|bytes| bytes[0] = b'x');
    assert_eq!(other, "FILE is no event log; give a file that weft run --events has written");
}

#[test]
fn a_file_cut_short_says_how_far_it_is_good() {
    let folder = folder();
    let path = write(&folder, &load());
    let bytes = std::fs::read(&path).expect("there");
    std::fs::write(&path, &bytes[..bytes.len() - 12]).expect("written");
    let text = Log::read(&path).expect_err("cut").to_string();
    assert!(text.contains("is damaged") && text.contains("it cannot be unpacked further"), "{text}");
    std::fs::write(&path, b"run,status\n1,ok\n").expect("written");
    assert!(
        Log::read(&path)
            .expect_err("a table")
            .to_string()
            .ends_with("is no event log; give a file that weft run --events has written")
    );
}

/// A file as a run writes it, up to its last record, and then something else, packed.
fn followed(path: &Path, more: &mut dyn Iterator<Item = Vec<u8>>) {
    let bytes = unpacked(path);
    let mut out = GzEncoder::new(std::fs::File::create(path).expect("a file"), Compression::fast());
    let head = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').nth(1).map_or(0, |(at, _)| at + 1);
    out.write_all(&bytes[..head]).expect("written");
    more.for_each(|piece| out.write_all(&piece).expect("written"));
    out.finish().expect("written");
}

#[test]
fn a_small_file_of_much_is_refused_with_little_memory() {
    let folder = folder();
    let path = write(&folder, &load());
    let zeros = || (0..40).map(|_| vec![0; 1 << 20]);
    // Zeros are steps of no cycles.
    followed(&path, &mut zeros());
    let text = Log::read(&path).expect_err("zeros").to_string();
    assert!(text.contains("after record 0 in cycle 0: a step of no cycles"), "{text}");
    let mut out = GzEncoder::new(std::fs::File::create(&path).expect("a file"), Compression::fast());
    zeros().for_each(|piece| out.write_all(&piece).expect("written"));
    out.finish().expect("written");
    let text = Log::read(&path).expect_err("zeros").to_string();
    assert!(text.contains("is no event log"), "{text}");
    // A record that tells of more fields than the file has.
    write(&folder, &load());
    let endless = postcard::to_stdvec(&message(REQ, None, &[1; 3])).expect("encoded");
    let mut endless = endless[..endless.len() - 4].to_vec();
    endless.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    followed(&path, &mut std::iter::once(endless).chain(zeros()));
    let text = Log::read(&path).expect_err("endless").to_string();
    assert!(text.contains("after record 0 in cycle 0: this is no record"), "{text}");
}

#[test]
fn a_log_takes_no_more_memory_than_is_allowed() {
    let folder = folder();
    let path = write(&folder, &load());
    assert!(Log::read_within(&path, 1 << 20).is_ok());
    let row = postcard::to_stdvec(&Record::Row { actor: 0, row: 1, line: None, cycles: 1 }).expect("encoded");
    followed(&path, &mut (0..100).map(|_| row.repeat(10_000)));
    let text = Log::read_within(&path, 16 << 20).expect_err("too much").to_string();
    let rest = "takes more than 16 MB of memory; allow more with --log-memory, or record less of the run";
    assert!(text.contains(rest), "{text}");
}

proptest! {
    /// Whatever is in the file, reading it ends with a log or a sentence.
    #[test]
    fn no_damage_is_a_panic(at in 0usize..4000, value in any::<u8>(), head in any::<bool>()) {
        let folder = folder();
        let path = write(&folder, &load());
        let mut bytes = unpacked(&path);
        let records = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').nth(1).map_or(0, |(at, _)| at + 1);
        let range = if head { 0..records } else { records..bytes.len() };
        let at = range.start + at % range.len();
        bytes[at] = value;
        packed(&path, &bytes);
        if let Ok(log) = Log::read(&path) {
            let hops = Hops::new(&log);
            life::of_line(&log, &hops, 0x20);
        }
    }
}
