//! Recordings: read to their end, then judged as `weft check` does.

use crate::{Form, Part, Target};
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use std::io::{Cursor, Read, Write};
use std::path::Path;
use weft_judge::{JudgeError, Model, judge};
use weft_recording::{Access, Fence, Head, Kind, Reader, Record, Thread, Writer};
use weft_workload::AmoKind;
use weft_workload::op::{Class, Scope, Sem};

/// What a reader may allocate whatever the size of the file: a section, unpacked to the most that it may have.
const CONSTANT: u64 = 1 << 24;

/// Before the head: magic, version, length and checksum of the head.
const FIXED: usize = 20;

/// Most bytes of a section that are taken apart.
const MOST: u64 = 1 << 20;

fn access(thread: u32, index: u32, kind: Kind, class: Class, addr: u64, value: u32, cycle: u64) -> Record {
    let bytes = value.to_le_bytes().to_vec();
    let (read, written) = match kind {
        Kind::Load => (bytes, Vec::new()),
        Kind::Store => (Vec::new(), bytes),
        Kind::Amo(_) => (0_u32.to_le_bytes().to_vec(), bytes),
    };
    Record::Access(Box::new(Access {
        thread,
        index,
        kind,
        class,
        sem: if class == Class::P { Sem::AcquireRelease } else { Sem::Relaxed },
        scope: Scope::Sys,
        remote: false,
        wanted: true,
        acked: true,
        size: 4,
        addr: addr & !63,
        mask: 0xf << (addr & 63),
        read,
        written,
        taken: cycle,
        done: cycle + 20,
        data: Vec::new(),
        awaited: index.checked_sub(1).into_iter().collect(),
    }))
}

/// Two threads that pass a message, and a lock.
fn records() -> Vec<Record> {
    let thread = |n| Record::Thread(Thread { node: n, cu: 0, block: n, wave: 0 });
    let fence = Fence {
        thread: 0,
        index: 1,
        sem: Sem::Release,
        scope: Scope::Sys,
        taken: 130,
        done: 150,
        awaited: vec![0],
    };
    vec![
        Record::Memory { addr: 0x1000, bytes: vec![0; 64] },
        Record::Kernel { name: "k".into(), cycle: 100 },
        thread(0),
        thread(1),
        access(0, 0, Kind::Store, Class::D, 0x1000, 1, 110),
        Record::Fence(fence),
        access(0, 2, Kind::Store, Class::P, 0x1040, 1, 160),
        access(1, 0, Kind::Load, Class::P, 0x1040, 1, 200),
        access(1, 1, Kind::Load, Class::D, 0x1000, 1, 230),
        access(1, 2, Kind::Amo(AmoKind::Add), Class::P, 0x1044, 7, 260),
        Record::Barrier { block: 1, cycle: 300 },
        Record::Boundary { cycle: 320 },
        Record::Kernel { name: "l".into(), cycle: 400 },
        thread(0),
        access(0, 0, Kind::Load, Class::Q, 0x1040, 1, 410),
        Record::Boundary { cycle: 450 },
        Record::End { cycle: 460, failure: None },
    ]
}

fn seed(model: &str, scopes: bool) -> Option<Vec<u8>> {
    let head = Head {
        fabric: "f".into(),
        workload: "w".into(),
        command: vec!["run".into(), "f".into()],
        model: model.into(),
        scopes,
        data_coherent: !scopes,
        line: 64,
        gpms: 1,
        ..Head::default()
    };
    let mut writer = Writer::new(Vec::new(), &head).ok()?;
    records().into_iter().try_for_each(|record| writer.write(record)).ok()?;
    writer.finish().ok()
}

fn seeds() -> Vec<Vec<u8>> {
    [("drf1", false), ("drfrlx", true), ("sc", false)].into_iter().filter_map(|(m, s)| seed(m, s)).collect()
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize)
}

/// Magic and version, the head, then each section.
fn open(input: &[u8]) -> Option<Vec<Part>> {
    let length = number(input, 12)?;
    let head = input.get(FIXED..FIXED.checked_add(length)?)?;
    let mut parts = vec![Part::fields(&input[..12]), Part::text(head)];
    let mut at = FIXED + length;
    loop {
        let (raw, packed) = (number(input, at)?, number(input, at + 4)?);
        if (raw, packed) == (0, 0) {
            return Some(parts);
        }
        let bytes = input.get(at + 12..(at + 12).checked_add(packed)?)?;
        let mut raw = Vec::new();
        DeflateDecoder::new(bytes).take(MOST).read_to_end(&mut raw).ok()?;
        parts.push(Part::fields(raw));
        at += 12 + packed;
    }
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn records_in(mut bytes: &[u8]) -> u64 {
    let mut count = 0;
    while let Ok((_, behind)) = postcard::take_from_bytes::<Record>(bytes) {
        (bytes, count) = (behind, count + 1);
    }
    count
}

/// Lengths, checksums and the number of records are those of the parts.
fn close(parts: &[Part]) -> Vec<u8> {
    let mut out = parts[0].bytes.clone();
    let head = &parts[1].bytes;
    out.extend((head.len() as u32).to_le_bytes());
    out.extend(crc(head).to_le_bytes());
    out.extend_from_slice(head);
    for section in &parts[2..] {
        let raw = &section.bytes;
        let mut packed = DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        let packed = packed.write_all(raw).and_then(|()| packed.finish()).unwrap_or_default();
        for number in [raw.len() as u32, packed.len() as u32, crc(&packed)] {
            out.extend(number.to_le_bytes());
        }
        out.extend(packed);
    }
    out.extend([0; 8]);
    out.extend(parts[2..].iter().map(|part| records_in(&part.bytes)).sum::<u64>().to_le_bytes());
    out
}

fn read(input: &[u8]) -> Result<(), String> {
    let path = Path::new("run.weftrec");
    let mut reader =
        Reader::new(Box::new(Cursor::new(input.to_vec())), path).map_err(|error| error.to_string())?;
    let model = Model::of(reader.head()).ok_or("it is of a model that is not known")?;
    judge(&mut reader, model).map(|_| ()).map_err(|error: JudgeError| error.to_string())
}

pub(super) fn targets() -> Vec<Target> {
    vec![Target {
        name: "recording",
        about: "recorded executions (.weftrec), read and judged as `weft check` does",
        seeds,
        words: "drf0  drf1  drfrlx  sc  true  false  4294967295",
        form: Form::Parts { open, close },
        constant: CONSTANT,
        read,
    }]
}
