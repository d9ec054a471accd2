//! Transition tables of the hierarchical fence unit (hmg.md sections 6 and 8): one per engine. The rows drive the engine's state register. A table is called
//! like its engine: `gpu`, `sys` (`join` in a GPM that has the leader ask), `mark`, `far`, `drop`, `relay`.

use super::params::FenceScheme;
use weft_rtl::prelude::*;

/// State of an engine that carries out releases and acquires of one scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ScopeState {
    /// Nothing in flight.
    #[hw(label = "IDLE")]
    Idle,
    /// The own banks complete what the scope's homes in this GPU must have.
    #[hw(label = "DRAIN")]
    Drain,
    /// The own banks write back dirty lines.
    #[hw(label = "FLUSH")]
    Flush,
    /// All GPMs of this GPU complete what they have passed on to other GPUs.
    #[hw(label = "FAR")]
    Far,
    /// Requests for markers leave.
    #[hw(label = "SEND")]
    Send,
    /// Acknowledgements of markers come in.
    #[hw(label = "WAIT")]
    Wait,
    /// The own banks drop copies.
    #[hw(label = "DROP")]
    Drop,
    /// Other GPMs drop copies.
    #[hw(label = "DROP_WAIT")]
    DropWait,
    /// The end is reported.
    #[hw(label = "DONE")]
    Done,
}

/// What happens to such an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ScopeEvent {
    /// A release or acquire of this scope arrives.
    #[hw(label = "token")]
    Token,
    /// Where GPMs join: another GPM asks the leader for a release.
    #[hw(label = "join")]
    Join,
    /// A batch of releases begins.
    #[hw(label = "release")]
    Release,
    /// A batch of acquires begins.
    #[hw(label = "acquire")]
    Acquire,
    /// The own banks have drained.
    #[hw(label = "drained")]
    Drained,
    /// The own banks have flushed.
    #[hw(label = "flushed")]
    Flushed,
    /// The own banks have dropped.
    #[hw(label = "dropped")]
    Dropped,
    /// All requests have left.
    #[hw(label = "sent")]
    Sent,
    /// An acknowledgement of another node, or the own one.
    #[hw(label = "ack")]
    Ack,
    /// All acknowledgements are in.
    #[hw(label = "all_acks")]
    AllAcks,
    /// All are in and other GPMs have joined meanwhile.
    #[hw(label = "again")]
    Again,
    /// The end has been reported.
    #[hw(label = "reported")]
    Reported,
}

/// State of the engine that sends this home's markers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum MarkState {
    /// No marker.
    #[hw(label = "IDLE")]
    Idle,
    /// Tokens are with the banks.
    #[hw(label = "ORDER")]
    Order,
    /// The marker leaves.
    #[hw(label = "OUT")]
    Out,
}

/// What happens to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum MarkEvent {
    /// A request for a marker, of another node or the own fence.
    #[hw(label = "request")]
    Request,
    /// A marker begins for all of a scope that wait.
    #[hw(label = "begin")]
    Begin,
    /// All banks have given the token back.
    #[hw(label = "ordered")]
    Ordered,
    /// The marker has left.
    #[hw(label = "left")]
    Left,
}

/// State of the engines that have the banks do something for other GPMs: drain towards other GPUs, or drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ServeState {
    /// Nobody is served.
    #[hw(label = "IDLE")]
    Idle,
    /// The banks are at it, for all requesters that had waited.
    #[hw(label = "BUSY")]
    Busy,
}

/// What happens to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ServeEvent {
    /// A request arrives.
    #[hw(label = "request")]
    Request,
    /// All that wait are served together.
    #[hw(label = "begin")]
    Begin,
    /// The banks have answered; each requester gets its acknowledgement.
    #[hw(label = "finished")]
    Finished,
}

/// The table of an engine that carries out releases and acquires of one scope.
pub type ScopeTable = Transitions<(ScopeState, ScopeEvent), ScopeState, NoAction>;

/// The table of an engine that has something done for others.
pub type ServeTable = Transitions<(ServeState, ServeEvent), ServeState, NoAction>;

/// A table of an engine of one scope as it grows.
struct Rows {
    table: ScopeTable,
    /// The states that the engine has with its scheme.
    phases: Vec<ScopeState>,
}

impl Rows {
    /// The table of an engine, with the rows of tokens.
    fn new(engine: &'static str, phases: Vec<ScopeState>) -> Rows {
        let table = Transitions::new(engine, format!("hfence.{engine}."), &["state", "event"]);
        let mut rows = Rows { table, phases };
        for state in rows.phases.clone() {
            let text = if state == ScopeState::Idle {
                "noted; its fence begins in the next cycle"
            } else {
                "batched into the next fence of its kind"
            };
            rows.row((state, ScopeEvent::Token, state), "", text);
        }
        rows
    }

    /// Appends a row; `variant` tells rows apart that one state and event have in different schemes.
    #[track_caller]
    fn row(
        &mut self,
        (state, event, next): (ScopeState, ScopeEvent, ScopeState),
        variant: &str,
        text: &'static str,
    ) {
        let id = format!("{}.{}{variant}", state.label(), event.label());
        let next: &[ScopeState] = if next == state { &[] } else { &[next] };
        self.table.row(Some(&id), (&[state], &[event]), next, &[], text);
    }

    /// Rows of the states that ask for markers.
    fn marking(&mut self, complete: &'static str) {
        use ScopeEvent::*;
        use ScopeState::*;
        self.row((Send, Ack, Send), "", "counted while still sending");
        self.row((Send, Sent, Wait), "", "all requests have left");
        self.row((Wait, Ack, Wait), "", "counted");
        self.row((Wait, AllAcks, Done), "", complete);
    }

    /// The row of the end, and what never happens.
    fn end(mut self) -> ScopeTable {
        use ScopeEvent::*;
        use ScopeState::*;
        self.row((Done, Reported, Idle), "", "the last of the batch is reported");
        let has = |state: &ScopeState| self.phases.contains(state);
        let absent: Vec<ScopeState> = ScopeState::VARIANTS.iter().copied().filter(|s| !has(s)).collect();
        if !absent.is_empty() {
            self.table.never((&absent, &[]), "the scheme has no such phase");
        }
        for (event, why) in [
            (Join, "GPMs join the engine of system scope of a leader only"),
            (Release, "a batch begins when the engine is idle"),
            (Acquire, "a batch begins when the engine is idle"),
            (Drained, "the banks are told to drain in DRAIN"),
            (Flushed, "the banks are told to flush in FLUSH"),
            (Dropped, "the banks are told to drop in DROP"),
            (Sent, "requests for markers leave in SEND"),
            (Ack, "nobody has been asked for anything, or all have acknowledged"),
            (AllAcks, "what is awaited is complete in the states that await it"),
            (Again, "only a leader's far drain is repeated, for GPMs that have joined"),
            (Reported, "an end is reported in DONE"),
        ] {
            let code = event.encoding();
            let rows = self.table.rows();
            let taken = |s: &ScopeState| {
                rows.iter().any(|row| row.when[0].contains(&s.encoding()) && row.when[1].contains(&code))
            };
            let others: Vec<ScopeState> =
                ScopeState::VARIANTS.iter().copied().filter(|s| !taken(s)).collect();
            if !others.is_empty() {
                self.table.never((&others, &[event]), why);
            }
        }
        self.table
    }
}

/// The engine of GPU scope.
pub fn gpu_table(scheme: FenceScheme) -> ScopeTable {
    use ScopeEvent::*;
    use ScopeState::*;
    let phases =
        if scheme.markers() { vec![Idle, Drain, Send, Wait, Done] } else { vec![Idle, Drain, Drop, Done] };
    let mut t = Rows::new("gpu", phases);
    t.row((Idle, Release, Drain), "", "the own banks flip the epoch and drain");
    if scheme.markers() {
        t.row((Idle, Acquire, Done), "", "L2s are coherent: nothing to do");
        t.row((Drain, Drained, Send), "", "GPU homes have all writes: ask the GPMs for markers");
        t.marking("the M homes of the GPU have acknowledged: the release is complete");
    } else {
        t.row((Idle, Acquire, Drop), "_sw", "the own banks drop copies");
        t.row((Drain, Drained, Done), "_sw", "the homes of the scope have all writes");
        t.row((Drop, Dropped, Done), "", "nothing old is found any more");
    }
    t.end()
}

/// The engine of system scope.
pub fn sys_table(scheme: FenceScheme) -> ScopeTable {
    match scheme {
        FenceScheme::Hmg { flush } => sys_with_markers(flush, true).end(),
        FenceScheme::Joined { flush } => joining(sys_with_markers(flush, true), flush).end(),
        FenceScheme::Flat { flush } => sys_with_markers(flush, false).end(),
        FenceScheme::Drain { flush } => sys_with_acks(flush).end(),
        FenceScheme::SwHierarchical => sys_of_software_with_homes().end(),
        FenceScheme::SwFlat => sys_of_software().end(),
    }
}

/// Rows with markers; `far`: GPU homes have passed writes on, so all GPMs of the GPU drain before.
fn sys_with_markers(flush: bool, far: bool) -> Rows {
    use ScopeEvent::*;
    use ScopeState::*;
    let states = [Idle, Drain, Flush, Far, Send, Wait, Done];
    let here = states.into_iter().filter(|s| (flush || *s != Flush) && (far || *s != Far));
    let mut t = Rows::new("sys", here.collect());
    t.row((Idle, Release, Drain), "", "the own banks flip the epoch and drain");
    t.row((Idle, Acquire, Done), "", "L2s are coherent: nothing to do");
    let (next, variant, text) = if far {
        (Far, "", "all GPMs of the GPU drain towards other GPUs")
    } else {
        (Send, "_direct", "all homes have all writes: ask all nodes for markers")
    };
    if flush {
        t.row((Drain, Drained, Flush), "_flush", "the own banks write back dirty lines");
        t.row((Flush, Flushed, next), variant, text);
    } else {
        t.row((Drain, Drained, next), variant, text);
    }
    if far {
        t.row((Far, Ack, Far), "", "counted");
        t.row((Far, AllAcks, Send), "", "system homes have all writes: ask all nodes for markers");
    }
    t.marking("all N*M homes have acknowledged: the release is complete");
    t
}

/// What is new in a leader: other GPMs join.
fn joining(mut t: Rows, flush: bool) -> Rows {
    use ScopeEvent::*;
    use ScopeState::*;
    for state in [Idle, Drain, Flush, Send, Wait, Done].into_iter().filter(|s| flush || *s != Flush) {
        t.row((state, Join, state), "", "noted for the next batch of releases");
    }
    t.row((Far, Join, Far), "", "noted: another far drain takes it into this batch");
    t.row((Far, Again, Far), "", "GPMs have joined: all GPMs of the GPU drain towards other GPUs once more");
    t
}

/// The engine of system scope of a GPM that has its GPU's leader ask.
pub fn join_table(flush: bool) -> ScopeTable {
    use ScopeEvent::*;
    use ScopeState::*;
    let here = [Idle, Drain, Flush, Send, Wait, Done].into_iter().filter(|s| flush || *s != Flush);
    let mut t = Rows::new("join", here.collect());
    t.row((Idle, Release, Drain), "", "the own banks flip the epoch and drain");
    t.row((Idle, Acquire, Done), "", "L2s are coherent: nothing to do");
    if flush {
        t.row((Drain, Drained, Flush), "_flush", "the own banks write back dirty lines");
        t.row((Flush, Flushed, Send), "", "GPU homes have all writes: ask the leader");
    } else {
        t.row((Drain, Drained, Send), "", "GPU homes have all writes: ask the leader");
    }
    t.row((Send, Sent, Wait), "", "the request has left");
    t.row((Wait, Ack, Wait), "", "counted");
    t.row((Wait, AllAcks, Done), "", "the leader's release is complete, and it covers this one");
    t.end()
}

/// Rows where invalidations are acknowledged: an answered store has left no old copy.
fn sys_with_acks(flush: bool) -> Rows {
    use ScopeEvent::*;
    use ScopeState::*;
    let here = [Idle, Drain, Flush, Done].into_iter().filter(|s| flush || *s != Flush);
    let mut t = Rows::new("sys", here.collect());
    t.row((Idle, Release, Drain), "", "the own banks flip the epoch and drain");
    t.row((Idle, Acquire, Done), "", "L2s are coherent: nothing to do");
    if flush {
        t.row((Drain, Drained, Flush), "_flush", "the own banks write back dirty lines");
        t.row((Flush, Flushed, Done), "_drain", "all homes have all writes, and no old copy is left");
    } else {
        t.row((Drain, Drained, Done), "_flat", "all homes have all writes");
    }
    t
}

/// What an acquire of system scope begins where software drops copies.
const DROPS: &str = "own banks drop all copies, other GPMs those of other GPUs' lines";

/// Rows without markers, where there are no GPU homes.
fn sys_of_software() -> Rows {
    use ScopeEvent::*;
    use ScopeState::*;
    let mut t = Rows::new("sys", vec![Idle, Drain, Drop, Done]);
    t.row((Idle, Release, Drain), "", "the own banks flip the epoch and drain");
    t.row((Drain, Drained, Done), "_flat", "all homes have all writes");
    t.row((Idle, Acquire, Drop), "_sw", DROPS);
    t.row((Drop, Dropped, Done), "_flat", "nothing old is found any more");
    t
}

/// The same where there are.
fn sys_of_software_with_homes() -> Rows {
    use ScopeEvent::*;
    use ScopeState::*;
    let mut t = Rows::new("sys", vec![Idle, Drain, Far, Drop, DropWait, Done]);
    t.row((Idle, Release, Drain), "", "the own banks flip the epoch and drain");
    t.row((Drain, Drained, Far), "", "all GPMs of the GPU drain towards other GPUs");
    t.row((Far, Ack, Far), "", "counted");
    t.row((Far, AllAcks, Done), "_sw", "system homes have all writes");
    t.row((Idle, Acquire, Drop), "_sw", DROPS);
    t.row((Drop, Ack, Drop), "", "counted");
    t.row((Drop, Dropped, DropWait), "", "the own banks are done");
    t.row((DropWait, Ack, DropWait), "", "counted");
    t.row((DropWait, AllAcks, Done), "", "all GPMs of the GPU have dropped");
    t
}

transitions! {
    /// The engine that sends this home's markers.
    pub fn mark_table() {
        name "mark", rows "hfence.mark.";
        on "state": MarkState, "event": MarkEvent;
        next MarkState;

        (Idle, Request)           "noted";
        (Order, Request)          "noted";
        (Out, Request)            "noted";
        (Idle, Begin) -> Order    "a token goes to every bank, for all of a scope that wait";
        (Order, Ordered) -> Out   "the Invs of all writes under way are ahead";
        (Out, Left) -> Idle       "the egress has the marker";
        never (Order | Out, Begin)    "one marker is under way at a time";
        never (Idle | Out, Ordered)   "the banks give tokens back that they were sent in ORDER";
        never (Idle | Order, Left)    "a marker leaves when all banks have given the token back";
    }
}

transitions! {
    /// The engines `far` (drains towards other GPUs) and `drop` (copies of other GPUs' lines).
    pub fn serve_table(engine: &'static str) {
        name engine, rows format!("hfence.{engine}.");
        on "state": ServeState, "event": ServeEvent;
        next ServeState;

        (Idle, Request)          "noted";
        (Busy, Request)          "noted for the next time";
        (Idle, Begin) -> Busy    "the banks begin, for all that wait";
        (Busy, Finished) -> Idle "every requester served is answered";
        never (Busy, Begin)      "who asks while some are served waits for the next time";
        never (Idle, Finished)   "the banks answer what they were told when the engine began";
    }
}

transitions! {
    /// The engine that asks the own GPU's homes for markers on behalf of GPUs.
    pub fn relay_table() {
        name "relay", rows "hfence.relay.";
        on "state": ServeState, "event": ServeEvent;
        next ServeState;

        (Idle, Request)          "noted";
        (Busy, Request)          "noted for the next time";
        (Idle, Begin) -> Busy    "the homes are asked, for all GPUs that wait";
        (Busy, Finished) -> Idle "all homes have been asked";
        never (Busy, Begin)      "who asks while homes are being asked waits for the next time";
        never (Idle, Finished)   "homes are asked when the engine has begun";
    }
}

/// The tables of the own engines with a scheme: of GPU scope, of system scope, and that of a GPM that has its leader ask.
pub fn scope_tables(scheme: FenceScheme) -> Vec<ScopeTable> {
    let mut list = vec![sys_table(scheme)];
    if scheme.gpu_scope() {
        list.insert(0, gpu_table(scheme));
    }
    if let FenceScheme::Joined { flush } = scheme {
        list.push(join_table(flush));
    }
    list
}

/// The tables of the engines that serve others with a scheme.
pub fn serve_tables(scheme: FenceScheme) -> Vec<ServeTable> {
    let mut list = Vec::new();
    if scheme.far_drains() {
        list.push(serve_table("far"));
    }
    if scheme.far_drops() {
        list.push(serve_table("drop"));
    }
    if let FenceScheme::Joined { .. } = scheme {
        list.push(relay_table());
    }
    list
}

/// What an engine of one scope goes through; its states are all reached, but those that its scheme has not.
pub(super) fn check(table: &ScopeTable) {
    let kept = |state: &ScopeState| table.rows().iter().any(|row| row.when[0].contains(&state.encoding()));
    let absent: Vec<ScopeState> = ScopeState::VARIANTS.iter().copied().filter(|s| !kept(s)).collect();
    Machine::new("state of an engine", ScopeState::Idle).with(table).check(&absent);
}
