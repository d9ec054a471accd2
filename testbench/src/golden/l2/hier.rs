//! Untimed model of one line at its GPU home (hmg.md section 5): states as of a remote-homed line, and a list that is replayed in order, as at home.

use super::held_table::GPU_HOME_HELD;
use super::hier_table::{GPU_HOME, GpuDo, GpuEvent, GpuRow, GpuState};
use super::table::Legality;
use super::{Illegal, REPLAY_MAX};

/// What a step did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuStep {
    /// Row taken.
    pub row: &'static GpuRow,
    /// The request was not taken: the row says so, the list is full, or dirty bytes go first. State is unchanged.
    pub waits: bool,
    /// Requests that a fill replays, in order.
    pub replayed: Vec<GpuEvent>,
}

impl GpuStep {
    /// True if the step does this; nothing is done by a step that waits.
    pub fn does(&self, what: GpuDo) -> bool {
        !self.waits && self.row.does.contains(&what)
    }
}

/// A line of another GPU at the GPM that serves it in this GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuLine {
    state: GpuState,
    list: Vec<GpuEvent>,
}

impl Default for GpuLine {
    fn default() -> Self {
        GpuLine { state: GpuState::I, list: Vec::new() }
    }
}

impl GpuLine {
    /// State of the line.
    pub fn state(&self) -> GpuState {
        self.state
    }

    /// Requests waiting for the fill, in order.
    pub fn list(&self) -> &[GpuEvent] {
        &self.list
    }

    /// True while an MSHR is held for the read.
    pub fn pending(&self) -> bool {
        !matches!(self.state, GpuState::I | GpuState::V | GpuState::D | GpuState::W)
    }

    /// One event. Refuses pairs that the table excludes.
    pub fn step(&mut self, event: GpuEvent) -> Result<GpuStep, Illegal> {
        let row = gpu_row(self.state, event);
        if row.legality != Legality::Legal {
            return Err(Illegal { id: row.id, legality: row.legality });
        }
        let appends = row.does.contains(&GpuDo::Append);
        let first = row.does.contains(&GpuDo::DirtyFirst);
        if first || row.does.contains(&GpuDo::Wait) || (appends && self.list.len() == REPLAY_MAX) {
            return Ok(GpuStep { row, waits: true, replayed: Vec::new() });
        }
        if appends {
            self.list.push(event);
        }
        let replays = row.does.contains(&GpuDo::Replay);
        let replayed = if replays { std::mem::take(&mut self.list) } else { Vec::new() };
        self.state = row.next;
        Ok(GpuStep { row, waits: false, replayed })
    }

    /// Software coherence drops the copy, and the copy on its way (section 8).
    pub fn forget(&mut self) {
        self.state = match self.state {
            GpuState::V => GpuState::I,
            GpuState::D => GpuState::W,
            GpuState::P => GpuState::PX,
            GpuState::PA => GpuState::PAX,
            state => state,
        };
    }
}

/// The row of a pair; the table lists all of them.
pub fn gpu_row(state: GpuState, event: GpuEvent) -> &'static GpuRow {
    let row = GPU_HOME.iter().chain(&GPU_HOME_HELD).find(|r| r.state == state && r.event == event);
    row.unwrap_or_else(|| panic!("the table of GPU homes lacks {state:?} {event:?}"))
}
