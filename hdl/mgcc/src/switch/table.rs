//! Transition table of a message on the links of a switch. Many messages move in one cycle, so the rows are not decoded but observed.

use weft_rtl::prelude::*;

/// A link of a switch, or one network of it; its label is the word in names of registers and rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkSpec<L> {
    /// Which one.
    pub link: L,
    /// A message needs a credit to begin; else room at the receiver.
    pub first: bool,
    /// Several senders use it.
    pub shared: bool,
}

impl<L: HwEnum> LinkSpec<L> {
    /// The word in names of registers and rows.
    pub fn word(&self) -> &'static str {
        self.link.label()
    }
}

/// The links of `tsm-switch`, in the order in which messages pass them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum TsmLink {
    /// From a bank.
    #[hw(label = "bank_req")]
    BankReq,
    /// To the UMC.
    #[hw(label = "umc_req")]
    UmcReq,
    /// From the UMC.
    #[hw(label = "umc_rsp")]
    UmcRsp,
    /// To a bank.
    #[hw(label = "bank_rsp")]
    BankRsp,
}

/// What the links of `tsm-switch` are like.
pub const LINKS: [LinkSpec<TsmLink>; 4] = [
    LinkSpec { link: TsmLink::BankReq, first: true, shared: false },
    LinkSpec { link: TsmLink::UmcReq, first: false, shared: true },
    LinkSpec { link: TsmLink::UmcRsp, first: true, shared: true },
    LinkSpec { link: TsmLink::BankRsp, first: false, shared: false },
];

/// A GPU's state at a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum LinkState {
    /// None of its messages is on the link.
    #[hw(label = "FREE")]
    Free,
    /// One has begun and not ended.
    #[hw(label = "FLYING")]
    Flying,
}

/// What happens to a GPU's message at a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub enum LinkEvent {
    /// It begins and ends in this cycle.
    #[hw(label = "whole")]
    Whole,
    /// It begins.
    #[hw(label = "begin")]
    Begin,
    /// It goes on.
    #[hw(label = "carry")]
    Carry,
    /// It ends.
    #[hw(label = "end")]
    End,
    /// It waits for a credit.
    #[hw(label = "no_credit")]
    NoCredit,
    /// It waits for the receiver.
    #[hw(label = "held")]
    Held,
    /// It waits because others use the link.
    #[hw(label = "crowded")]
    Crowded,
}

/// The table of `tsm-switch`.
pub fn table() -> LinkTable<TsmLink> {
    link_table("switch_table", "mgcc.switch.", &LINKS)
}

/// Messages on links.
pub type LinkTable<L> = Transitions<(L, LinkState, LinkEvent), LinkState, NoAction>;

/// What moves a message on a link of `tsm-switch`.
pub fn machine() -> Machine<LinkState> {
    Machine::new("message on a link", LinkState::Free).with(&table())
}

/// The table of a switch with these links.
pub(crate) fn link_table<L: HwEnum>(name: &'static str, prefix: &str, links: &[LinkSpec<L>]) -> LinkTable<L> {
    use LinkEvent::*;
    use LinkState::*;
    let mut table = Transitions::new(name, prefix, &["link", "state", "event"]);
    for LinkSpec { link, first, shared } in links {
        let link = std::slice::from_ref(link);
        let mut row = |state: LinkState, event: LinkEvent, next: &[LinkState], text: &str| {
            let (state, event) = ([state], [event]);
            table.row(None, (link, &state[..], &event[..]), next, &[], text);
        };
        row(Free, Whole, &[], "It is through: to the buffer, or to the receiver.");
        row(Free, Begin, &[Flying], "The rest follows in the next cycles.");
        row(Flying, Carry, &[], "There is more of it than a cycle carries.");
        row(Flying, End, &[Free], "It is through; what is left of the cycle is the next one's.");
        if *first {
            row(Free, NoCredit, &[], "No place of the buffer is known to be free.");
        } else {
            row(Free, Held, &[], "The receiver still has the message before.");
        }
        if *shared {
            row(Free, Crowded, &[], "All bytes of this cycle are used.");
        }
        let mut never = |event: LinkEvent, text: &str| {
            let event = [event];
            table.never((link, &[Free][..], &event[..]), text);
        };
        if *first {
            never(Held, "what this link leads to has a place for each credit");
        } else {
            never(NoCredit, "a message begins here when its receiver has room");
        }
        if !*shared {
            never(Crowded, "the link has one sender, whose messages follow one another");
        }
    }
    table.never((&[][..], &[Free][..], &[Carry, End][..]), "none of the GPU's messages has begun");
    let begins = [Whole, Begin, NoCredit, Held, Crowded];
    table.never((&[][..], &[Flying][..], &begins[..]), "a GPU's next message begins when this one has ended");
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        assert_eq!(table().faults(), []);
    }
}
