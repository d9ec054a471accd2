//! Logical time along a wave: it does not go back (sequential consistency), nor across fences (release consistency), and a line's versions are seen in order.

use serde::{Deserialize, Serialize};

/// Lines of which a wave's last versions are kept.
const LINES: usize = 32;

/// What a wave has seen of a line.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Seen {
    line: u64,
    /// The newest version, and the first and the last operation that saw it.
    version: u64,
    first: u32,
    last: u32,
    /// The last operation that saw an older one.
    below: Option<u32>,
}

/// Where a wave has got to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Along {
    /// What is ordered before binds at or before this.
    floor: u64,
    /// The last operation answered, and the greatest time so far.
    operation: u32,
    greatest: u64,
    /// The last used first.
    lines: Vec<Seen>,
    /// When it was last heard of.
    pub last: u64,
}

impl Along {
    /// An access of the wave's operation binds at `time`; `sequential`: operations are ordered. Gives the time before which it must not.
    pub fn passes(&mut self, operation: u32, time: u64, sequential: bool) -> Result<(), u64> {
        if sequential && operation > self.operation {
            (self.floor, self.operation) = (self.greatest, operation);
        }
        self.greatest = self.greatest.max(time);
        if time < self.floor { Err(self.floor) } else { Ok(()) }
    }

    /// A fence is complete, all operations before it are too: what follows is ordered after them. Gives the time at which it must be complete.
    pub fn fence(&mut self) -> u64 {
        self.floor = self.greatest;
        self.floor
    }

    /// An operation sees a version of a line, or makes it; gives the version of which it should have seen no older or newer one.
    pub fn sees(&mut self, line: u64, operation: u32, version: u64) -> Result<(), u64> {
        let known = self.lines.iter().position(|seen| seen.line == line);
        let Some(at) = known else {
            self.lines.insert(0, Seen { line, version, first: operation, last: operation, below: None });
            self.lines.truncate(LINES);
            return Ok(());
        };
        self.lines[..=at].rotate_right(1);
        let seen = &mut self.lines[0];
        if version < seen.version {
            seen.below = seen.below.max(Some(operation));
            return if operation > seen.first { Err(seen.version) } else { Ok(()) };
        }
        let old = seen.version;
        if version > old {
            (seen.below, seen.version) = (seen.below.max(Some(seen.last)), version);
            (seen.first, seen.last) = (operation, operation);
        }
        (seen.first, seen.last) = (seen.first.min(operation), seen.last.max(operation));
        if seen.below.is_none_or(|below| operation >= below) { Ok(()) } else { Err(old) }
    }
}
