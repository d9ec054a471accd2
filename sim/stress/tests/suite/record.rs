//! The table of what was checked.

use weft_stress::record::{Record, Subject};
use weft_stress::round::Counts;

fn subject(seed: u64) -> Subject {
    let (fabric, keys, hardware) = ("rec-4gpu-small".into(), "protocol=rec waves=2".into(), "00ff".into());
    Subject { fabric, keys, seed, hardware }
}

#[test]
fn rows_add_up_and_are_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("stress.csv");
    assert_eq!(Record::read(&path).expect("nothing yet"), Record::default());
    let mut record = Record::default();
    let some = Counts { rounds: 8, operations: 1000, judged: 900, cycles: 5000 };
    record.add(&subject(2), 1, some);
    record.add(&subject(1), 3, some);
    record.add(&subject(2), 2, some);
    record.write(&path).expect("written");
    let back = Record::read(&path).expect("what was written");
    assert_eq!(back, record);
    let row = back.of(&subject(2)).expect("a row");
    assert_eq!((row.groups, row.rounds, row.operations, row.judged, row.cycles), (3, 16, 2000, 1800, 10000));
    assert_eq!(back.rows().iter().map(|row| row.seed).collect::<Vec<u64>>(), [1, 2]);
    assert!(back.of(&subject(3)).is_none());
}

#[test]
fn what_is_no_record_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("other.csv");
    std::fs::write(&path, "fabric,seed\nrec,one\n").expect("written");
    let told = Record::read(&path).expect_err("no record").to_string();
    assert!(
        told.contains("other.csv is no record of a campaign") && told.contains("remove this one"),
        "{told}"
    );
}
