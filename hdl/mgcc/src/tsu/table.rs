//! Transition table of a TSU operation (mgcc.md section 6), as data.

use crate::msg::TsmOp;
use weft_rtl::prelude::*;

/// The rows of the table: event ([`TsmOp`]), whether the line has an entry, and whether the operation is special: a write that does not fit the epoch, a
/// note that names the entry's last grant.
pub fn table() -> Table {
    let (rd, wr, amo, note) = (TsmOp::Rd as u64, TsmOp::Wr as u64, TsmOp::Amo as u64, TsmOp::Evict as u64);
    let row =
        |id: &str, events: &[u64], found: &[u64], special: &[u64], actions: &[&'static str], text: &str| {
            Row {
                id: format!("mgcc.tsu.{id}"),
                when: vec![events.to_vec(), found.to_vec(), special.to_vec()],
                actions: actions.to_vec(),
                text: text.to_string(),
            }
        };
    let write = &[wr, amo];
    Table {
        name: "tsu_table",
        columns: vec![
            Column { name: "event", values: vec![("Rd", rd), ("Wr", wr), ("Amo", amo), ("EvictNote", note)] },
            Column { name: "entry", values: vec![("none", 0), ("there", 1)] },
            Column { name: "special", values: vec![("no", 0), ("yes", 1)] },
        ],
        rows: vec![
            row("read.hit", &[rd], &[1], &[0], &["read"], "Extend the lease; the last write's stamp stays."),
            row(
                "read.miss",
                &[rd],
                &[0],
                &[0],
                &["read", "alloc"],
                "Make an entry that starts at the floors; the one replaced raises them.",
            ),
            row("write.hit", write, &[1], &[0], &["write"], "Jump past every lease given on the line."),
            row(
                "write.miss",
                write,
                &[0],
                &[0],
                &["write", "alloc"],
                "Jump past the floor, which bounds every lease that may have been given.",
            ),
            row(
                "write.ovf",
                write,
                &[],
                &[1],
                &["refuse"],
                "No stamp is left in this epoch: nothing changes, ask for a roll.",
            ),
            row(
                "note.last",
                &[note],
                &[1],
                &[1],
                &["drop"],
                "Nobody was granted the line after the evictor: drop the entry, raise the floors.",
            ),
            row(
                "note.hit",
                &[note],
                &[1],
                &[0],
                &["ignore"],
                "Somebody was, or the note is of an older epoch.",
            ),
            row("note.miss", &[note], &[0], &[0], &["ignore"], "The entry has left already."),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_that_can_occur_has_exactly_one_row() {
        let table = table();
        assert_eq!(table.overlaps(), []);
        for (event, found, special) in (0..16).map(|i| (i / 4, i / 2 % 2, i % 2)) {
            let fits = |(pattern, value): (&Vec<u64>, u64)| pattern.is_empty() || pattern.contains(&value);
            let hits = |r: &&Row| r.when.iter().zip([event, found, special]).all(fits);
            let rows = table.rows.iter().filter(hits).count();
            // Reads are never special, and a note can only name the last grant of an entry that is there.
            let impossible = special == 1 && (event == 0 || (event == 3 && found == 0));
            assert_eq!(rows, usize::from(!impossible), "event {event}, entry {found}, special {special}");
        }
    }
}
