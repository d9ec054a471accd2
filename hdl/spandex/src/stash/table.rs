//! The stash's transition tables, as data (cu-and-consistency.md section 8; forwards: spandex.md section 5).

use super::banks::WordState;
use crate::tu_gpu::table::column;
use crate::word_l1::{L1Kind, table};
use weft_rtl::prelude::*;

/// What a forward does to words of one status: as in an L1 with DeNovo coherence, without ownership with data.
pub fn forwards() -> Table {
    table::forwards(L1Kind::Stash)
}

/// What asks something of words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Access {
    /// Load.
    Ld,
    /// Store of whole words.
    St,
    /// The oldest entry of the store buffer asks for ownership.
    Drain,
}

/// How the words are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum Words {
    /// Some are there: a load's have values, a store's are owned or pending.
    Here,
    /// They are missing.
    Missing,
    /// They are on their way to a load that this one can join.
    Coming,
    /// Something of them must end first.
    Busy,
}

/// What an operation does.
pub fn operations() -> Table {
    use Access::*;
    use Words::*;
    type Line = (&'static str, Access, Words, &'static [&'static str], &'static str);
    let lines: &[Line] = &[
        ("Ld.here", Ld, Here, &["hit"], "V, O or P: answer, without translation."),
        ("Ld.missing", Ld, Missing, &["read"], "ReqV of the mapped words of the line that are I."),
        ("Ld.coming", Ld, Coming, &["join"], "Wait in the read that brings them."),
        (
            "Ld.busy",
            Ld,
            Busy,
            &["wait"],
            "Wait: a word is written back, was lost while it was asked for, or is in a read that no load can join.",
        ),
        ("St.here", St, Here, &["store"], "O or P: in place, without translation."),
        (
            "St.missing",
            St,
            Missing,
            &["buffer"],
            "P: the word is written, and in the store buffer until it is owned.",
        ),
        (
            "St.busy",
            St,
            Busy,
            &["wait"],
            "Wait: no entry of the buffer is free, or another mapping has one of the line.",
        ),
        ("drain.missing", Drain, Missing, &["ask"], "ReqO of the words."),
        ("drain.busy", Drain, Busy, &["wait"], "Wait: words are read, or written back."),
    ];
    let row = |(id, access, words, actions, text): &Line| Row {
        id: format!("spandex.stash.{id}"),
        when: vec![vec![access.encoding()], vec![words.encoding()]],
        actions: actions.to_vec(),
        text: (*text).into(),
    };
    Table {
        name: "stash_operations",
        columns: vec![
            column::<Access>("access", &["Ld", "St", "drain"]),
            column::<Words>("words", &["here", "missing", "coming", "busy"]),
        ],
        rows: lines.iter().map(row).collect(),
    }
}

/// Who needs words out of the way that a mapping holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 2)]
pub enum By {
    /// A load that another mapping's word misses.
    Ld,
    /// A store that another mapping's word misses.
    St,
    /// A new mapping of the space, or of the entry.
    Map,
}

/// What is done with words of a line that one mapping holds, for a load or store of the same global words by another mapping, or because the mapping ends. The first state that occurs counts, in the order O, P, V, I.
pub fn vacate() -> Table {
    use By::*;
    use WordState::*;
    type Line = (&'static str, &'static [By], &'static [WordState], &'static [&'static str], &'static str);
    let lines: &[Line] = &[
        (
            "alias.O",
            &[Ld, St],
            &[O],
            &["flush"],
            "The owned words of the other mapping are written back first (ReqWB).",
        ),
        (
            "alias.P",
            &[Ld, St],
            &[P],
            &["wait"],
            "Wait until the pending words of the other mapping are owned.",
        ),
        ("alias.V", &[St], &[V], &["drop"], "The copies of the other mapping become I."),
        ("alias.pass", &[Ld], &[V, I], &[], "Nothing is in the way."),
        ("alias.none", &[St], &[I], &[], "Nothing is in the way."),
        ("map.O", &[Map], &[O], &["flush"], "The owned words of the line are written back (ReqWB)."),
        ("map.P", &[Map], &[P], &["wait"], "Wait until the pending words are owned."),
        ("map.pass", &[Map], &[V, I], &[], "The line has nothing left to write back."),
    ];
    let row = |(id, by, states, actions, text): &Line| Row {
        id: format!("spandex.stash.{id}"),
        when: vec![by.iter().map(|b| b.encoding()).collect(), states.iter().map(|s| s.encoding()).collect()],
        actions: actions.to_vec(),
        text: (*text).into(),
    };
    Table {
        name: "stash_vacate",
        columns: vec![
            column::<By>("for", &["Ld", "St", "map"]),
            column::<WordState>("words", &["I", "V", "O", "P"]),
        ],
        rows: lines.iter().map(row).collect(),
    }
}
