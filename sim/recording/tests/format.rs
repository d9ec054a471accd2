//! The format of recordings: what is written is read; files that end early or have other bytes are told, with the place.

use proptest::prelude::*;
use std::path::Path;
use weft_recording::{Access, Fence, Head, Kind, Reader, Record, RecordingError, Thread, Writer};
use weft_workload::AmoKind;
use weft_workload::op::{Class, Scope, Sem};

fn head() -> Head {
    let command = ["run", "f", "--workload", "w"].map(String::from).to_vec();
    Head { fabric: "f".into(), workload: "w".into(), command, line: 64, gpms: 1, ..Head::default() }
}

fn written(records: &[Record]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &head()).expect("written");
    records.iter().for_each(|record| writer.write(record.clone()).expect("written"));
    writer.finish().expect("written")
}

fn read(bytes: &[u8]) -> Result<Vec<Record>, RecordingError> {
    let mut reader = Reader::new(Box::new(std::io::Cursor::new(bytes.to_vec())), Path::new("some.weftrec"))?;
    assert_eq!(*reader.head(), head());
    let mut out = Vec::new();
    while let Some(record) = reader.next_record()? {
        out.push(record);
    }
    assert_eq!(reader.next_record()?, None, "nothing follows the end");
    Ok(out)
}

fn access() -> impl Strategy<Value = Access> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..8);
    let kind = prop_oneof![Just(Kind::Load), Just(Kind::Store), Just(Kind::Amo(AmoKind::Cas))];
    let class = prop_oneof![Just(Class::D), Just(Class::P), Just(Class::Q)];
    let sem = prop_oneof![Just(Sem::Relaxed), Just(Sem::AcquireRelease)];
    let scope = prop_oneof![Just(Scope::Cu), Just(Scope::Gpu), Just(Scope::Sys)];
    let numbers = || prop::collection::vec(any::<u32>(), 0..3);
    let who = (0..4u32, any::<u32>(), kind, class, sem, scope, any::<bool>(), any::<bool>());
    let what = (any::<u64>(), any::<u128>(), bytes(), bytes(), any::<u64>(), any::<u64>());
    let after = (numbers(), numbers(), any::<bool>());
    (who, what, after).prop_map(|(who, what, (data, awaited, acked))| {
        let (thread, index, kind, class, sem, scope, remote, wanted) = who;
        let (addr, mask, read, written, taken, done) = what;
        Access {
            thread,
            index,
            kind,
            class,
            sem,
            scope,
            remote,
            wanted,
            acked,
            size: 4,
            addr,
            mask,
            read,
            written,
            taken,
            done,
            data,
            awaited,
        }
    })
}

fn record() -> impl Strategy<Value = Record> {
    let fence =
        (0..4u32, any::<u32>(), any::<u64>(), any::<u64>()).prop_map(|(thread, index, taken, done)| Fence {
            thread,
            index,
            sem: Sem::Release,
            scope: Scope::Gpu,
            taken,
            done,
            awaited: vec![index],
        });
    prop_oneof![
        (any::<u64>(), prop::collection::vec(any::<u8>(), 0..32))
            .prop_map(|(addr, bytes)| Record::Memory { addr, bytes }),
        any::<u64>().prop_map(|cycle| Record::Kernel { name: "k".into(), cycle }),
        any::<u32>().prop_map(|n| Record::Thread(Thread { node: n, cu: n / 3, block: n / 5, wave: n / 7 })),
        (any::<u32>(), any::<u64>()).prop_map(|(block, cycle)| Record::Barrier { block, cycle }),
        access().prop_map(|access| Record::Access(Box::new(access))),
        access().prop_map(|access| Record::Open(Box::new(access))),
        fence.prop_map(Record::Fence),
        any::<u64>().prop_map(|cycle| Record::Boundary { cycle }),
        any::<u64>().prop_map(|cycle| Record::End { cycle, failure: Some("why".into()) }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read(records in prop::collection::vec(record(), 0..40)) {
        prop_assert_eq!(read(&written(&records)).expect("whole"), records);
    }

    #[test]
    fn every_other_byte_is_told(records in prop::collection::vec(record(), 1..8), place in any::<prop::sample::Index>(), flip in 1..=255u8) {
        let mut bytes = written(&records);
        let at = place.index(bytes.len());
        bytes[at] ^= flip;
        prop_assert!(read(&bytes).is_err(), "byte {} of {} is another one", at, bytes.len());
    }

    #[test]
    fn every_early_end_is_told(records in prop::collection::vec(record(), 1..8), place in any::<prop::sample::Index>()) {
        let bytes = written(&records);
        prop_assert!(read(&bytes[..place.index(bytes.len())]).is_err());
    }
}

/// Enough for several sections.
fn many() -> Vec<Record> {
    let memory = |n: u64| Record::Memory {
        addr: n * 4096,
        bytes: (0..4096u64).map(|k| (n.wrapping_mul(0x9e37) ^ (k * k) >> 3) as u8).collect(),
    };
    (0..300).map(memory).collect()
}

#[test]
fn errors_name_file_and_place() {
    let bytes = written(&many());
    assert_eq!(read(&bytes).expect("whole"), many());
    let text = |bytes: &[u8]| read(bytes).expect_err("damaged").to_string();
    assert_eq!(
        text(b"hello"),
        "some.weftrec is no recording; give a file that weft run --record has written"
    );
    let mut other = bytes.clone();
    other[8] = 9;
    assert!(
        text(&other).contains("has format version 9 and this program reads version 1"),
        "{}",
        text(&other)
    );
    let head = 20 + u32::from_le_bytes(bytes[12..16].try_into().expect("4 bytes")) as usize;
    let first = 12 + u32::from_le_bytes(bytes[head + 4..head + 8].try_into().expect("4 bytes")) as usize;
    let mut second = bytes.clone();
    second[head + first + 40] ^= 1;
    assert_eq!(
        text(&second),
        format!(
            "the recording some.weftrec is truncated or damaged at byte {}: the checksum of a section does not fit; record the run anew",
            head + first
        )
    );
    assert!(text(&bytes[..head + first + 40]).contains("it ends before its end"));
    assert!(text(&bytes[..15]).contains("it ends in its first bytes"));
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(
        text(&longer).contains(&format!("at byte {}: something follows its end", bytes.len())),
        "{}",
        text(&longer)
    );
    let missing = Reader::open(Path::new("/nowhere/x.weftrec")).err().expect("no such file").to_string();
    assert!(missing.starts_with("cannot read the recording /nowhere/x.weftrec:"), "{missing}");
}

#[test]
fn accesses_that_follow_each_other_are_short() {
    let line = |n: u32| {
        Record::Access(Box::new(Access {
            thread: n % 8,
            index: n / 8,
            kind: Kind::Load,
            class: Class::D,
            sem: Sem::Relaxed,
            scope: Scope::Sys,
            remote: false,
            wanted: true,
            acked: false,
            size: 4,
            addr: 0x10000 + u64::from(n) * 64,
            mask: u128::from(u64::MAX),
            read: vec![7; 64],
            written: Vec::new(),
            taken: 1000 + u64::from(n),
            done: 1040 + u64::from(n),
            data: Vec::new(),
            awaited: Vec::new(),
        }))
    };
    let records: Vec<Record> = (0..10_000).map(line).collect();
    let bytes = written(&records).len();
    assert!(bytes < 10 * records.len(), "{bytes} bytes for {} accesses", records.len());
}
