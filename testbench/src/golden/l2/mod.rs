//! Untimed models of one line in an L2 bank (rec.md section 6): the requester's copy and the home's.
//!
//! Both step through the tables of [`table`]; they hold only what the tables leave open: the number of merged
//! loads, and the replay list.

pub mod held_table;
pub mod hier;
pub mod hier_table;
pub mod table;

use held_table::REQUESTER_HELD;
use hier_table::FORCED;
use table::{
    HOME, HomeDo, HomeEvent, HomeRow, HomeState, Legality, REQUESTER, ReqDo, ReqEvent, ReqRow, ReqState,
};

/// Loads that one MSHR answers, the opening one included; the next waits (section 6.1).
pub const MERGE_MAX: u32 = 8;

/// Requests in one replay list, the opening one included; the next holds its class queue (section 6.2).
pub const REPLAY_MAX: usize = 8;

/// An event that the specification excludes in this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{id} must not happen: the specification marks this pair of state and event as {legality:?}")]
pub struct Illegal {
    /// Row of the table.
    pub id: &'static str,
    /// Error or never offered.
    pub legality: Legality,
}

/// What a step of the requester side did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReqStep {
    /// Row taken.
    pub row: &'static ReqRow,
    /// The event was not taken: a load on a poisoned line or on a full merge list, or dirty bytes go first. State is unchanged.
    pub waits: bool,
    /// Loads answered by this step.
    pub answered: u32,
}

impl ReqStep {
    /// True if the step does this; nothing is done by a step that waits.
    pub fn does(&self, what: ReqDo) -> bool {
        !self.waits && self.row.does.contains(&what)
    }
}

/// A remote-homed line in the requester's L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReqLine {
    state: ReqState,
    merged: u32,
}

impl Default for ReqLine {
    fn default() -> Self {
        ReqLine { state: ReqState::I, merged: 0 }
    }
}

impl ReqLine {
    /// State of the line.
    pub fn state(&self) -> ReqState {
        self.state
    }

    /// Loads waiting in the MSHR.
    pub fn merged(&self) -> u32 {
        self.merged
    }

    /// True while an MSHR is held for the read.
    pub fn pending(&self) -> bool {
        matches!(self.state, ReqState::P | ReqState::PX)
    }

    /// One event. Refuses pairs that the table excludes.
    pub fn step(&mut self, event: ReqEvent) -> Result<ReqStep, Illegal> {
        let row = req_row(self.state, event);
        if row.legality != Legality::Legal {
            return Err(Illegal { id: row.id, legality: row.legality });
        }
        let merges = row.does.contains(&ReqDo::Merge);
        let first = row.does.contains(&ReqDo::DirtyFirst);
        if first || row.does.contains(&ReqDo::Wait) || (merges && self.merged == MERGE_MAX) {
            return Ok(ReqStep { row, waits: true, answered: 0 });
        }
        let mut answered = 0;
        if merges {
            self.merged += 1;
        }
        if row.does.contains(&ReqDo::AnswerHit) {
            answered = 1;
        }
        if row.does.contains(&ReqDo::AnswerMerged) {
            answered = std::mem::take(&mut self.merged);
        }
        self.state = row.next;
        Ok(ReqStep { row, waits: false, answered })
    }

    /// Software coherence drops the copy, and the copy on its way (hmg.md section 8).
    pub fn forget(&mut self) {
        self.state = match self.state {
            ReqState::V => ReqState::I,
            ReqState::D => ReqState::W,
            ReqState::P => ReqState::PX,
            state => state,
        };
    }

    /// Inv and RdRsp for this line at the queue heads in the same cycle: Inv first, so the fill is not installed.
    pub fn step_inv_with_rdrsp(&mut self) -> Result<[ReqStep; 2], Illegal> {
        Ok([self.step(ReqEvent::Inv)?, self.step(ReqEvent::RdRsp)?])
    }
}

/// What a step of the home side did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeStep {
    /// Row taken.
    pub row: &'static HomeRow,
    /// The request was not taken because the replay list is full. State is unchanged.
    pub waits: bool,
    /// Everything done, in order, with the request it is done for; a fill lists the replayed requests' actions.
    pub done: Vec<(HomeEvent, HomeDo)>,
}

/// A locally homed line in its home L2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeLine {
    state: HomeState,
    replay: Vec<HomeEvent>,
}

impl Default for HomeLine {
    fn default() -> Self {
        HomeLine { state: HomeState::I, replay: Vec::new() }
    }
}

impl HomeLine {
    /// State of the line.
    pub fn state(&self) -> HomeState {
        self.state
    }

    /// Requests waiting for the fetch, in order.
    pub fn replay(&self) -> &[HomeEvent] {
        &self.replay
    }

    /// Software coherence drops all lines (hmg.md section 8): a clean one goes, a dirty one or one on its
    /// way stays.
    pub fn forget(&mut self) {
        if self.state == HomeState::V {
            self.state = HomeState::I;
        }
    }

    /// One event. The directory operation of a request ([`HomeEvent::dir_op`]) is issued by the step that takes it, not
    /// again at its replay. Refuses pairs that the table excludes.
    pub fn step(&mut self, event: HomeEvent) -> Result<HomeStep, Illegal> {
        let row = home_row(self.state, event);
        if row.legality != Legality::Legal {
            return Err(Illegal { id: row.id, legality: row.legality });
        }
        let queues = row.does.contains(&HomeDo::Fetch) || row.does.contains(&HomeDo::Append);
        if queues && self.replay.len() == REPLAY_MAX {
            return Ok(HomeStep { row, waits: true, done: Vec::new() });
        }
        if queues {
            self.replay.push(event);
        }
        self.state = row.next;
        let mut done: Vec<_> = row.does.iter().map(|d| (event, *d)).collect();
        if event == HomeEvent::Fill {
            for request in std::mem::take(&mut self.replay) {
                let replayed = home_row(self.state, request);
                done.extend(replayed.does.iter().map(|d| (request, *d)));
                self.state = replayed.next;
            }
        }
        Ok(HomeStep { row, waits: false, done })
    }
}

/// The requester-side row of a pair; the table lists all of them.
pub fn req_row(state: ReqState, event: ReqEvent) -> &'static ReqRow {
    let row =
        REQUESTER.iter().chain(&FORCED).chain(&REQUESTER_HELD).find(|r| r.state == state && r.event == event);
    row.unwrap_or_else(|| panic!("the requester table lacks {state:?} {event:?}"))
}

/// The home-side row of a pair; the table lists all of them.
pub fn home_row(state: HomeState, event: HomeEvent) -> &'static HomeRow {
    let row = HOME.iter().find(|r| r.state == state && r.event == event);
    row.unwrap_or_else(|| panic!("the home table lacks {state:?} {event:?}"))
}
