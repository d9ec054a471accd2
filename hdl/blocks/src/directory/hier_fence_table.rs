//! Transition tables of the hierarchical fence unit (hmg.md sections 6 and 8), as data: one per engine. A row that changes the state drives the state
//! register; each row taken is counted, and an event without a row fails an assertion.

use super::hier_fence_params::FenceScheme;
use weft_rtl::prelude::*;

/// State of an engine that carries out releases and acquires of one scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ScopeState {
    /// Nothing in flight.
    Idle,
    /// The own banks complete what the scope's homes in this GPU must have.
    Drain,
    /// The own banks write back dirty lines.
    Flush,
    /// All GPMs of this GPU complete what they have passed on to other GPUs.
    Far,
    /// Requests for markers leave.
    Send,
    /// Acknowledgements of markers come in.
    Wait,
    /// The own banks drop copies.
    Drop,
    /// Other GPMs drop copies.
    DropWait,
    /// The end is reported.
    Done,
}

/// What happens to such an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ScopeEvent {
    /// A release or acquire of this scope arrives.
    Token,
    /// Where GPMs join: another GPM asks the leader for a release.
    Join,
    /// A batch of releases begins.
    Release,
    /// A batch of acquires begins.
    Acquire,
    /// The own banks have drained.
    Drained,
    /// The own banks have flushed.
    Flushed,
    /// The own banks have dropped.
    Dropped,
    /// All requests have left.
    Sent,
    /// An acknowledgement of another node, or the own one.
    Ack,
    /// All acknowledgements are in.
    AllAcks,
    /// All are in and other GPMs have joined meanwhile.
    Again,
    /// The end has been reported.
    Reported,
}

/// State of the engine that sends this home's markers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum MarkState {
    /// No marker.
    Idle,
    /// Tokens are with the banks.
    Order,
    /// The marker leaves.
    Out,
}

/// What happens to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum MarkEvent {
    /// A request for a marker, of another node or the own fence.
    Request,
    /// A marker begins for all of a scope that wait.
    Begin,
    /// All banks have given the token back.
    Ordered,
    /// The marker has left.
    Left,
}

/// State of the engines that have the banks do something for other GPMs: drain towards other GPUs, or drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ServeState {
    /// Nobody is served.
    Idle,
    /// The banks are at it, for all requesters that had waited.
    Busy,
}

/// What happens to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
pub enum ServeEvent {
    /// A request arrives.
    Request,
    /// All that wait are served together.
    Begin,
    /// The banks have answered; each requester gets its acknowledgement.
    Finished,
}

/// A row of one engine's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineRow {
    /// Ledger identifier.
    pub id: String,
    /// State before, by encoding.
    pub state: u64,
    /// Event, by encoding.
    pub event: u64,
    /// State after, by encoding.
    pub next: u64,
    /// One sentence.
    pub text: &'static str,
}

/// The table of one engine.
#[derive(Clone, Debug)]
pub struct EngineTable {
    /// Name of the engine: `gpu`, `sys` (`join` in a GPM that has the leader ask), `mark`, `far`, `drop`,
    /// `relay`.
    pub engine: &'static str,
    /// Rows.
    pub rows: Vec<EngineRow>,
    states: Vec<(&'static str, u64)>,
    events: Vec<(&'static str, u64)>,
}

impl EngineTable {
    fn new<S: HwEnum + Copy, E: HwEnum + Copy>(
        engine: &'static str,
        states: &[(S, &'static str)],
        events: &[(E, &'static str)],
    ) -> EngineTable {
        EngineTable {
            engine,
            rows: Vec::new(),
            states: states.iter().map(|(s, name)| (*name, s.encoding())).collect(),
            events: events.iter().map(|(e, name)| (*name, e.encoding())).collect(),
        }
    }

    /// Appends a row; `variant` tells rows apart that one state and event have in different schemes.
    fn row<S: HwEnum, E: HwEnum>(
        &mut self,
        (state, event, next): (S, E, S),
        variant: &str,
        text: &'static str,
    ) {
        let (state, event, next) = (state.encoding(), event.encoding(), next.encoding());
        let name = |list: &[(&'static str, u64)], code: u64| {
            list.iter().find(|(_, c)| *c == code).map_or("", |(name, _)| *name)
        };
        let (s, e) = (name(&self.states, state), name(&self.events, event));
        let id = format!("hfence.{}.{s}.{e}{variant}", self.engine);
        self.rows.push(EngineRow { id, state, event, next, text });
    }

    /// The same as a table of the language, whose action is the next state.
    pub fn table(&self) -> Table {
        let name = |code: u64| self.states.iter().find(|(_, c)| *c == code).map_or("", |(name, _)| *name);
        let row = |r: &EngineRow| Row {
            id: r.id.clone(),
            when: vec![vec![r.state], vec![r.event]],
            actions: vec![name(r.next)],
            text: r.text.to_string(),
        };
        Table {
            name: "hier_fence_table",
            columns: vec![
                Column { name: "state", values: self.states.clone() },
                Column { name: "event", values: self.events.clone() },
            ],
            rows: self.rows.iter().map(row).collect(),
        }
    }
}

/// The engine of GPU scope.
pub fn gpu_table(scheme: FenceScheme) -> EngineTable {
    use ScopeEvent::*;
    use ScopeState::*;
    let mut t = scope_table("gpu");
    if scheme.markers() {
        tokens(&mut t, &[Idle, Drain, Send, Wait, Done]);
        t.row((Idle, Release, Drain), "", "the own banks flip the epoch and drain");
        t.row((Idle, Acquire, Done), "", "L2s are coherent: nothing to do");
        t.row((Drain, Drained, Send), "", "GPU homes have all writes: ask the GPMs for markers");
        marking(&mut t, "the M homes of the GPU have acknowledged: the release is complete");
    } else {
        tokens(&mut t, &[Idle, Drain, Drop, Done]);
        t.row((Idle, Release, Drain), "", "the own banks flip the epoch and drain");
        t.row((Idle, Acquire, Drop), "_sw", "the own banks drop copies");
        t.row((Drain, Drained, Done), "_sw", "the homes of the scope have all writes");
        t.row((Drop, Dropped, Done), "", "nothing old is found any more");
    }
    t.row((Done, Reported, Idle), "", "the last of the batch is reported");
    t
}

/// The engine of system scope.
pub fn sys_table(scheme: FenceScheme) -> EngineTable {
    use ScopeEvent::*;
    use ScopeState::*;
    let mut t = scope_table("sys");
    match scheme {
        FenceScheme::Hmg { flush } => sys_with_markers(&mut t, flush, true),
        FenceScheme::Joined { flush } => {
            sys_with_markers(&mut t, flush, true);
            joining(&mut t, flush);
        }
        FenceScheme::Flat { flush } => sys_with_markers(&mut t, flush, false),
        FenceScheme::Drain { flush } => sys_with_acks(&mut t, flush),
        FenceScheme::SwHierarchical => sys_of_software(&mut t, true),
        FenceScheme::SwFlat => sys_of_software(&mut t, false),
    }
    t.row((Done, Reported, Idle), "", "the last of the batch is reported");
    t
}

/// Rows with markers; `far`: GPU homes have passed writes on, so all GPMs of the GPU drain before.
fn sys_with_markers(t: &mut EngineTable, flush: bool, far: bool) {
    use ScopeEvent::*;
    use ScopeState::*;
    let states = [Idle, Drain, Flush, Far, Send, Wait, Done];
    let here = states.into_iter().filter(|s| (flush || *s != Flush) && (far || *s != Far));
    tokens(t, &here.collect::<Vec<_>>());
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
    marking(t, "all N*M homes have acknowledged: the release is complete");
}

/// What is new in a leader: other GPMs join.
fn joining(t: &mut EngineTable, flush: bool) {
    use ScopeEvent::*;
    use ScopeState::*;
    for state in [Idle, Drain, Flush, Send, Wait, Done].into_iter().filter(|s| flush || *s != Flush) {
        t.row((state, Join, state), "", "noted for the next batch of releases");
    }
    t.row((Far, Join, Far), "", "noted: another far drain takes it into this batch");
    t.row((Far, Again, Far), "", "GPMs have joined: all GPMs of the GPU drain towards other GPUs once more");
}

/// The engine of system scope of a GPM that has its GPU's leader ask.
pub fn join_table(flush: bool) -> EngineTable {
    use ScopeEvent::*;
    use ScopeState::*;
    let mut t = scope_table("join");
    let here = [Idle, Drain, Flush, Send, Wait, Done].into_iter().filter(|s| flush || *s != Flush);
    tokens(&mut t, &here.collect::<Vec<_>>());
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
    t.row((Done, Reported, Idle), "", "the last of the batch is reported");
    t
}

/// The engine that asks the own GPU's homes for markers on behalf of GPUs.
pub fn relay_table() -> EngineTable {
    use ServeEvent::*;
    use ServeState::*;
    let mut t = serve_states("relay");
    t.row((Idle, Request, Idle), "", "noted");
    t.row((Busy, Request, Busy), "", "noted for the next time");
    t.row((Idle, Begin, Busy), "", "the homes are asked, for all GPUs that wait");
    t.row((Busy, Finished, Idle), "", "all homes have been asked");
    t
}

/// Rows where invalidations are acknowledged: an answered store has left no old copy.
fn sys_with_acks(t: &mut EngineTable, flush: bool) {
    use ScopeEvent::*;
    use ScopeState::*;
    let here = [Idle, Drain, Flush, Done].into_iter().filter(|s| flush || *s != Flush);
    tokens(t, &here.collect::<Vec<_>>());
    t.row((Idle, Release, Drain), "", "the own banks flip the epoch and drain");
    t.row((Idle, Acquire, Done), "", "L2s are coherent: nothing to do");
    if flush {
        t.row((Drain, Drained, Flush), "_flush", "the own banks write back dirty lines");
        t.row((Flush, Flushed, Done), "_drain", "all homes have all writes, and no old copy is left");
    } else {
        t.row((Drain, Drained, Done), "_flat", "all homes have all writes");
    }
}

/// Rows without markers; `hierarchical`: there are GPU homes.
fn sys_of_software(t: &mut EngineTable, hierarchical: bool) {
    use ScopeEvent::*;
    use ScopeState::*;
    let drop = "own banks drop all copies, other GPMs those of other GPUs' lines";
    if !hierarchical {
        tokens(t, &[Idle, Drain, Drop, Done]);
        t.row((Idle, Release, Drain), "", "the own banks flip the epoch and drain");
        t.row((Drain, Drained, Done), "_flat", "all homes have all writes");
        t.row((Idle, Acquire, Drop), "_sw", drop);
        t.row((Drop, Dropped, Done), "_flat", "nothing old is found any more");
        return;
    }
    tokens(t, &[Idle, Drain, Far, Drop, DropWait, Done]);
    t.row((Idle, Release, Drain), "", "the own banks flip the epoch and drain");
    t.row((Drain, Drained, Far), "", "all GPMs of the GPU drain towards other GPUs");
    t.row((Far, Ack, Far), "", "counted");
    t.row((Far, AllAcks, Done), "_sw", "system homes have all writes");
    t.row((Idle, Acquire, Drop), "_sw", drop);
    t.row((Drop, Ack, Drop), "", "counted");
    t.row((Drop, Dropped, DropWait), "", "the own banks are done");
    t.row((DropWait, Ack, DropWait), "", "counted");
    t.row((DropWait, AllAcks, Done), "", "all GPMs of the GPU have dropped");
}

fn scope_table(engine: &'static str) -> EngineTable {
    use ScopeEvent::*;
    use ScopeState::*;
    let states = [
        (Idle, "IDLE"),
        (Drain, "DRAIN"),
        (Flush, "FLUSH"),
        (Far, "FAR"),
        (Send, "SEND"),
        (Wait, "WAIT"),
        (Drop, "DROP"),
        (DropWait, "DROP_WAIT"),
        (Done, "DONE"),
    ];
    let events = [
        (Token, "token"),
        (Join, "join"),
        (Release, "release"),
        (Acquire, "acquire"),
        (Drained, "drained"),
        (Flushed, "flushed"),
        (Dropped, "dropped"),
        (Sent, "sent"),
        (Ack, "ack"),
        (AllAcks, "all_acks"),
        (Again, "again"),
        (Reported, "reported"),
    ];
    EngineTable::new(engine, &states, &events)
}

fn tokens(t: &mut EngineTable, states: &[ScopeState]) {
    for state in states {
        let text = if *state == ScopeState::Idle {
            "noted; its fence begins in the next cycle"
        } else {
            "batched into the next fence of its kind"
        };
        t.row((*state, ScopeEvent::Token, *state), "", text);
    }
}

fn marking(t: &mut EngineTable, complete: &'static str) {
    use ScopeEvent::*;
    use ScopeState::*;
    t.row((Send, Ack, Send), "", "counted while still sending");
    t.row((Send, Sent, Wait), "", "all requests have left");
    t.row((Wait, Ack, Wait), "", "counted");
    t.row((Wait, AllAcks, Done), "", complete);
}

/// The engine that sends this home's markers.
pub fn mark_table() -> EngineTable {
    use MarkEvent::*;
    use MarkState::*;
    let states = [(Idle, "IDLE"), (Order, "ORDER"), (Out, "OUT")];
    let events = [(Request, "request"), (Begin, "begin"), (Ordered, "ordered"), (Left, "left")];
    let mut t = EngineTable::new("mark", &states, &events);
    for (state, _) in states {
        t.row((state, Request, state), "", "noted");
    }
    t.row((Idle, Begin, Order), "", "a token goes to every bank, for all of a scope that wait");
    t.row((Order, Ordered, Out), "", "the Invs of all writes under way are ahead");
    t.row((Out, Left, Idle), "", "the egress has the marker");
    t
}

/// The engines `far` (drains towards other GPUs) and `drop` (copies of other GPUs' lines).
pub fn serve_table(engine: &'static str) -> EngineTable {
    use ServeEvent::*;
    use ServeState::*;
    let mut t = serve_states(engine);
    t.row((Idle, Request, Idle), "", "noted");
    t.row((Busy, Request, Busy), "", "noted for the next time");
    t.row((Idle, Begin, Busy), "", "the banks begin, for all that wait");
    t.row((Busy, Finished, Idle), "", "every requester served is answered");
    t
}

fn serve_states(engine: &'static str) -> EngineTable {
    use ServeEvent::*;
    use ServeState::*;
    let states = [(Idle, "IDLE"), (Busy, "BUSY")];
    let events = [(Request, "request"), (Begin, "begin"), (Finished, "finished")];
    EngineTable::new(engine, &states, &events)
}

/// All tables of a scheme.
pub fn tables(scheme: FenceScheme) -> Vec<EngineTable> {
    let mut list = vec![sys_table(scheme)];
    if scheme.gpu_scope() {
        list.insert(0, gpu_table(scheme));
    }
    if scheme.markers() {
        list.push(mark_table());
    }
    if scheme.far_drains() {
        list.push(serve_table("far"));
    }
    if scheme.far_drops() {
        list.push(serve_table("drop"));
    }
    if let FenceScheme::Joined { flush } = scheme {
        list.extend([join_table(flush), relay_table()]);
    }
    list
}

/// Drives an engine's state register and observes its rows.
pub(super) fn follow<S: HwEnum, E: HwEnum>(table: &EngineTable, state: &Reg<Enum<S>>, fired: &[(E, Bool)]) {
    let now = state.get().bits();
    for (event, happens) in fired {
        let code = event.encoding();
        let mut known = Vec::new();
        for row in table.rows.iter().filter(|r| r.event == code) {
            let here = now.eq(row.state);
            if row.next != row.state {
                when(*happens & here, || state.set(lit(row.next, now.width()).as_enum::<S>()));
            }
            cover(&row.id, *happens & here, row.text);
            known.push(here);
        }
        let name = table.events.iter().find(|(_, c)| *c == code).map_or("", |(name, _)| *name);
        let listed = known.into_iter().reduce(|a, b| a | b).unwrap_or(bool_lit(false));
        assert_always(
            &format!("{}_{name}_listed", table.engine),
            !*happens | listed,
            "every pair of state and event that occurs has a row in the table",
        );
    }
}
