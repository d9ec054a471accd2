//! Transition table of a TSU operation (mgcc.md section 6).

use crate::msg::TsmOp;
use weft_rtl::prelude::*;

/// Whether a line has an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum Held {
    /// It has none.
    #[hw(label = "none")]
    None,
    /// It has one.
    #[hw(label = "there")]
    There,
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum TsuAct {
    /// Grant a read.
    Read,
    /// Grant a write or atomic.
    Write,
    /// Make an entry, in place of one if all ways are taken.
    Alloc,
    /// Grant nothing: the epoch is exhausted.
    Refuse,
    /// Drop the entry.
    Drop,
}

transitions! {
    /// An operation, whether its line has an entry, and whether it is special: a write that does not fit the epoch, a note that names the entry's last grant.
    pub fn table() {
        name "tsu_table", rows "mgcc.tsu.";
        on "event": TsmOp, "entry": Held, "special": Is;
        next Held;
        does TsuAct;

        "read.hit"   (Rd, There, No)       [Read]          "Extend the lease; the last write's stamp stays.";
        "read.miss"  (Rd, None, No) -> There [Read, Alloc]
            "Make an entry that starts at the floors; the one replaced raises them.";
        "write.hit"  (Wr | Amo, There, No) [Write]         "Jump past every lease given on the line.";
        "write.miss" (Wr | Amo, None, No) -> There [Write, Alloc]
            "Jump past the floor, which bounds every lease that may have been given.";
        "write.ovf"  (Wr | Amo, _, Yes)    [Refuse]
            "No stamp is left in this epoch: nothing changes, ask for a roll.";
        "note.last"  (Evict, There, Yes) -> None [Drop]
            "Nobody was granted the line after the evictor: drop the entry, raise the floors.";
        "note.hit"   (Evict, There, No)                    "Somebody was, or the note is of an older epoch.";
        "note.miss"  (Evict, None, No)                     "The entry has left already.";
        never (Rd, _, Yes)        "a saturated read still covers its time, so that none overflows";
        never (Evict, None, Yes)  "a note can name the last grant only of an entry that is there";
    }
}

/// What moves a line's entry; others of its set replace it, and a sweep drops it.
pub fn machine() -> Machine<Held> {
    Machine::new("entry of a line", Held::None).with(&table()).also(&[Held::There], Held::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        assert_eq!(table().faults(), []);
    }
}
