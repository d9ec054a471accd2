//! Transition tables as data: rows of names and actions, as a reader would write them; and the numbered form that the search runs on.

use std::collections::HashMap;
use std::rc::Rc;

/// What must hold, beside state and event, for a row to apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Write-throughs are first sent on to the owner.
    WtFwd,
    /// They are not.
    NoWtFwd,
    /// Requests may be sent directly to a device.
    Opred,
    /// Data is modelled.
    Values,
    /// The LLC may fetch and evict the line.
    Evict,
    /// Device: no ownership-removing forward is recorded.
    NoDg,
    /// Device: one is recorded, answered or not.
    Dg,
    /// Device: one is recorded and answered.
    Answered,
    /// Device: this message is recorded and waits for its answer.
    Owes(&'static str),
    /// Device: no fwd ReqV is delayed.
    Free,
    /// Device: one is.
    Taken,
    /// Device: with this message every acknowledgement is there.
    AllAcks,
    /// Device: not yet every one.
    SomeAcks,
    /// LLC: the sender is the owner.
    ByOwner,
    /// LLC: the sender is not the owner.
    ByOther,
    /// LLC: some device owns the line.
    Owned,
    /// LLC: none does.
    NotOwned,
    /// LLC: a device other than the sender is recorded as sharer.
    Others,
    /// LLC: none is.
    NoOthers,
    /// The acknowledgement is the last one.
    LastAck,
    /// It is not.
    OneAck,
}

/// Whom a message goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// Device: the LLC.
    Llc,
    /// Device: whom the received message names as requestor.
    Req,
    /// Device: any other device, or with `opred-owner` the one that owns the line in the LLC.
    Target,
    /// Device: the requestor of the delayed fwd ReqV, if there is one.
    Delayed,
    /// Device: the requestor of the recorded removal.
    Remover,
    /// LLC: the sender.
    Src,
    /// LLC: the sender, with the number of sharers beside it as acknowledgements to come.
    SrcCounted,
    /// LLC: the owner, on behalf of the sender and with the sender's data.
    Owner,
    /// LLC: every sharer; the LLC awaits their acknowledgements.
    Sharers,
    /// LLC: every sharer but the sender; the LLC awaits their acknowledgements.
    Others,
    /// LLC: every sharer but the sender; the sender awaits their acknowledgements.
    OthersForSrc,
}

/// What else a row does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Device: delays the received fwd ReqV.
    Delay,
    /// Device: records the received removal, which waits for its answer.
    Record,
    /// Device: records that a removal was answered (`dg`).
    MarkDg,
    /// Device: one acknowledgement has come.
    Ack,
    /// Device: so many acknowledgements as the message says have to come.
    AwaitAcks,
    /// LLC: keeps the request, to carry it out later.
    Latch,
    /// LLC: the sender's acknowledgement has come.
    AckSrc,
    /// LLC: the sender is the owner.
    Own,
    /// LLC: nobody is the owner.
    Disown,
    /// LLC: the sender is a sharer.
    Share,
    /// LLC: the requestor of the kept request is a sharer; nothing is kept any more.
    ShareKept,
    /// LLC: there are no sharers.
    Unshare,
    /// LLC: the request stays in the network; nothing else happens.
    Stall,
    /// Device: a read begins.
    Ask,
    /// Device: the read's data comes.
    Load,
    /// Device: a store begins, with any value.
    Issue,
    /// Device: the store is complete.
    Done,
    /// Device: data comes together with ownership.
    Take,
    /// Device: a store or read-modify-write in the own copy; it inverts the data.
    Hit,
    /// Device: another device's store in the own copy.
    Write,
    /// Device: ownership is handed over or given back.
    Yield,
    /// LLC: writes the sender's data.
    WriteLlc,
    /// LLC: the sender's store overtakes whatever the owner holds.
    Overtake,
    /// LLC: the sender will own the line together with the data.
    Grant,
    /// LLC: reads and inverts the data.
    RmwLlc,
    /// LLC: stores the owner's data.
    TakeData,
}

/// What a row does, in this order; messages carry the data that is there at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act<Name = &'static str> {
    /// Sends a message.
    Send(To, Name),
    /// LLC: carries out the kept request as if it came now, in this state and without sharers.
    Commit(Name),
    /// Something else.
    Do(Verb),
}

/// One row: in one of these states, on one of these events, under these conditions: actions and next state (`=` keeps it).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// States, separated by commas.
    pub at: &'static str,
    /// Events: messages or what happens by itself, separated by commas.
    pub on: &'static str,
    /// Conditions, all of which hold.
    pub when: Vec<When>,
    /// Actions.
    pub then: Vec<Act>,
    /// Next state.
    pub to: &'static str,
}

/// Writes a row.
pub fn row(at: &'static str, on: &'static str, when: &[When], then: &[Act], to: &'static str) -> Row {
    Row { at, on, when: when.to_vec(), then: then.to_vec(), to }
}

/// A message of a protocol.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Name.
    pub name: &'static str,
    /// Carries data.
    pub data: bool,
    /// Names whom to answer.
    pub names: bool,
    /// Takes ownership away: at most one per ownership.
    pub removes: bool,
}

/// A protocol: its names and its two tables.
#[derive(Clone, Debug)]
pub struct Protocol {
    /// Name.
    pub name: &'static str,
    /// Messages.
    pub messages: Vec<Message>,
    /// What happens at a device by itself.
    pub core: &'static [&'static str],
    /// What happens at the LLC by itself.
    pub own: &'static [&'static str],
    /// States of a device, the first one at the beginning.
    pub device_states: &'static [&'static str],
    /// Stable ones.
    pub stable: &'static [&'static str],
    /// Those with ownership.
    pub owning: &'static [&'static str],
    /// Those with a copy that reads may use as long as it is there, but not write.
    pub shared: &'static [&'static str],
    /// Those with data of their own.
    pub valued: &'static [&'static str],
    /// Those with a store that is issued and not complete.
    pub storing: &'static [&'static str],
    /// States of the LLC, the first one at the beginning.
    pub llc_states: &'static [&'static str],
    /// Those in which the line is not blocked.
    pub open: &'static [&'static str],
    /// The one in which a device owns the line.
    pub owned: &'static str,
    /// The one with sharers.
    pub sharing: &'static str,
    /// At no instant may two devices own the line, or one own and another share it.
    pub strict: bool,
    /// Rows of a device.
    pub device: Vec<Row>,
    /// Rows of the LLC.
    pub llc: Vec<Row>,
}

/// A row with names as numbers.
#[derive(Clone, Debug)]
pub struct Step {
    /// Number of the row: the device's first, then the LLC's.
    pub row: usize,
    /// Conditions.
    pub when: Vec<When>,
    /// Message that has to be recorded and wait for its answer, if one has to.
    pub owes: Option<u8>,
    /// Actions.
    pub then: Vec<Act<u8>>,
    /// A write is done.
    pub writes: bool,
    /// Next state, if another one.
    pub to: Option<u8>,
}

/// What may happen in each state on each event.
#[derive(Clone, Debug)]
pub struct Side {
    names: HashMap<&'static str, u8>,
    events: usize,
    steps: Vec<Vec<Rc<Step>>>,
}

impl Side {
    /// Rows of a state and an event.
    pub fn steps(&self, state: u8, event: u8) -> &[Rc<Step>] {
        &self.steps[usize::from(state) * self.events + usize::from(event)]
    }
    /// Number of a state.
    ///
    /// # Panics
    /// If there is none of the name: the protocol's table is wrong.
    pub fn number(&self, name: &str) -> u8 {
        *self.names.get(name).unwrap_or_else(|| panic!("there is no state {name}"))
    }
    /// Which of the states are in a list, one bit each.
    pub fn set(&self, names: &[&str]) -> u32 {
        names.iter().fold(0, |set, name| set | 1 << self.number(name))
    }
}

/// Both tables of a protocol with names as numbers, under a set of options.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Events: messages from 1, then what happens by itself.
    pub events: HashMap<&'static str, u8>,
    /// Devices.
    pub device: Side,
    /// LLC.
    pub llc: Side,
}

/// Names of a list with commas.
pub fn split(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(", ")
}

impl Tables {
    /// Numbers the names; leaves out rows whose options, as `on` says, are not chosen.
    ///
    /// # Panics
    /// If a row names a state or event that the protocol has not.
    pub fn new(protocol: &Protocol, on: &dyn Fn(When) -> Option<bool>) -> Tables {
        let messages = protocol.messages.iter().map(|message| message.name);
        let all = messages.chain(protocol.core.iter().copied()).chain(protocol.own.iter().copied());
        let events: HashMap<_, _> = all.zip(1..).collect();
        let device = side(&protocol.device, protocol.device_states, &events, 0, on);
        let llc = side(&protocol.llc, protocol.llc_states, &events, protocol.device.len(), on);
        Tables { events, device, llc }
    }
    /// Number of an event.
    ///
    /// # Panics
    /// If there is none of the name: the protocol's table is wrong.
    pub fn event(&self, name: &str) -> u8 {
        number_of(&self.events, name)
    }
}

fn number_of(events: &HashMap<&'static str, u8>, name: &str) -> u8 {
    *events.get(name).unwrap_or_else(|| panic!("there is no event {name}"))
}

fn side(
    rows: &[Row],
    states: &'static [&'static str],
    events: &HashMap<&'static str, u8>,
    first: usize,
    on: &dyn Fn(When) -> Option<bool>,
) -> Side {
    let names = states.iter().copied().zip(0..).collect();
    let mut side = Side { names, events: events.len() + 1, steps: Vec::new() };
    side.steps.resize(states.len() * side.events, Vec::new());
    for (number, row) in rows.iter().enumerate() {
        if row.when.iter().any(|when| on(*when) == Some(false)) {
            continue;
        }
        let event = |name: &str| number_of(events, name);
        let (mut when, mut owes) = (Vec::new(), None);
        for condition in &row.when {
            match condition {
                When::Owes(name) => owes = Some(event(name)),
                other if on(*other).is_none() => when.push(*other),
                _ => {}
            }
        }
        let then = row.then.iter().map(|act| match act {
            Act::Send(to, name) => Act::Send(*to, event(name)),
            Act::Commit(state) => Act::Commit(side.number(state)),
            Act::Do(verb) => Act::Do(*verb),
        });
        let to = (row.to != "=").then(|| side.number(row.to));
        let writes = row.then.iter().any(|act| matches!(act, Act::Do(Verb::Done | Verb::Hit)));
        let step = Rc::new(Step { row: first + number, when, owes, then: then.collect(), writes, to });
        for state in split(row.at) {
            for name in split(row.on) {
                let at = usize::from(side.number(state)) * side.events + usize::from(event(name));
                side.steps[at].push(step.clone());
            }
        }
    }
    side
}

impl Row {
    /// The row as a line of text.
    pub fn text(&self) -> String {
        let list = |items: Vec<String>| {
            if items.is_empty() { "-".to_string() } else { items.join(", ") }
        };
        let when = list(self.when.iter().map(|when| format!("{when:?}")).collect());
        let act = |act: &Act| match act {
            Act::Send(to, name) => format!("{name} to {to:?}"),
            Act::Commit(state) => format!("Commit in {state}"),
            Act::Do(verb) => format!("{verb:?}"),
        };
        let then = list(self.then.iter().map(act).collect());
        let to = if self.to == "=" { "" } else { self.to };
        format!("{} | {} | {when} | {then} | {to}", self.at, self.on).replace('"', "")
    }
}
