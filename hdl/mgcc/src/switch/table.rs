//! Transition table of a message on the links of a switch, as data. Many messages move in one cycle, so the rows are not decoded but observed.

use weft_rtl::prelude::*;

/// A link of a switch, or one network of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkSpec {
    /// The word in names of registers and rows.
    pub word: &'static str,
    /// A message needs a credit to begin; else room at the receiver.
    pub first: bool,
    /// Several senders use it.
    pub shared: bool,
}

/// The links of `tsm-switch`, in the order in which messages pass them: from a bank, to the UMC, from the UMC, to a bank.
pub const LINKS: [LinkSpec; 4] = [
    LinkSpec { word: "bank_req", first: true, shared: false },
    LinkSpec { word: "umc_req", first: false, shared: true },
    LinkSpec { word: "umc_rsp", first: true, shared: true },
    LinkSpec { word: "bank_rsp", first: false, shared: false },
];

/// A GPU's state at a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum LinkState {
    /// None of its messages is on the link.
    Free,
    /// One has begun and not ended.
    Flying,
}

/// What happens to a GPU's message at a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum LinkEvent {
    /// It begins and ends in this cycle.
    Whole,
    /// It begins.
    Begin,
    /// It goes on.
    Carry,
    /// It ends.
    End,
    /// It waits for a credit.
    NoCredit,
    /// It waits for the receiver.
    Held,
    /// It waits because others use the link.
    Crowded,
}

impl LinkEvent {
    const ALL: [(LinkEvent, &'static str); 7] = [
        (LinkEvent::Whole, "whole"),
        (LinkEvent::Begin, "begin"),
        (LinkEvent::Carry, "carry"),
        (LinkEvent::End, "end"),
        (LinkEvent::NoCredit, "no_credit"),
        (LinkEvent::Held, "held"),
        (LinkEvent::Crowded, "crowded"),
    ];

    fn occurs(self, link: &LinkSpec) -> bool {
        match self {
            LinkEvent::NoCredit => link.first,
            LinkEvent::Held => !link.first,
            LinkEvent::Crowded => link.shared,
            _ => true,
        }
    }

    fn row(self) -> (LinkState, &'static str, &'static str) {
        use LinkState::*;
        match self {
            LinkEvent::Whole => (Free, "FREE", "It is through: to the buffer, or to the receiver."),
            LinkEvent::Begin => (Free, "FLYING", "The rest follows in the next cycles."),
            LinkEvent::Carry => (Flying, "FLYING", "There is more of it than a cycle carries."),
            LinkEvent::End => (Flying, "FREE", "It is through; what is left of the cycle is the next one's."),
            LinkEvent::NoCredit => (Free, "FREE", "No place of the buffer is known to be free."),
            LinkEvent::Held => (Free, "FREE", "The receiver still has the message before."),
            LinkEvent::Crowded => (Free, "FREE", "All bytes of this cycle are used."),
        }
    }
}

/// The table of `tsm-switch`; the action is the next state.
pub fn table() -> Table {
    link_table("switch_table", "mgcc.switch", &LINKS)
}

/// The table of a switch with these links; rows are called `PREFIX.LINK.STATE.event`.
pub(crate) fn link_table(name: &'static str, prefix: &str, links: &[LinkSpec]) -> Table {
    let mut rows = Vec::new();
    for (code, link) in (0..).zip(links) {
        for (event, word) in LinkEvent::ALL.iter().filter(|(event, _)| event.occurs(link)) {
            let (state, next, text) = event.row();
            let name = if state == LinkState::Free { "FREE" } else { "FLYING" };
            rows.push(Row {
                id: format!("{prefix}.{}.{name}.{word}", link.word),
                when: vec![vec![code], vec![state.encoding()], vec![event.encoding()]],
                actions: vec![next],
                text: text.to_string(),
            });
        }
    }
    let links = (0..).zip(links).map(|(code, link)| (link.word, code)).collect();
    let events = LinkEvent::ALL.map(|(event, word)| (word, event.encoding())).to_vec();
    Table {
        name,
        columns: vec![
            Column { name: "link", values: links },
            Column {
                name: "state",
                values: vec![("FREE", LinkState::Free.encoding()), ("FLYING", LinkState::Flying.encoding())],
            },
            Column { name: "event", values: events },
        ],
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_do_not_overlap_and_every_link_state_and_event_occurs() {
        let table = table();
        assert_eq!(table.overlaps(), []);
        for (column, count) in [(0, 4), (1, 2), (2, 7)] {
            let named = (0..count).filter(|v| table.rows.iter().any(|r| r.when[column] == [*v]));
            assert_eq!(named.count() as u64, count);
        }
    }
}
