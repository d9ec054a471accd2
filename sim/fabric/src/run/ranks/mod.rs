//! A run that several processes share.
//!
//! ```text
//!  rank 0   | host, kernels' ends, checks | window: its parts | gathers reports | window: its parts | gathers state |
//!  rank 1   | waits                       | window: its parts | reports         | window: its parts | gives state   |
//! ```
//!
//! Rank 0 has the whole run: the host's program, checks, waveforms, files. The other ranks have parts of the
//! simulation, with their compute units, fences and memory channels, in windows ([`super::window`]), which is
//! where the time goes. While a window lasts, parts send each other a letter per cycle; at its end ranks report
//! what rank 0 needs in order to begin the next one. Whatever needs the whole fabric - the end of a kernel, a
//! step of the host, a check that looks at caches, a waveform - is done by rank 0 alone, to which the others
//! give the state of their parts before it, and from which they take it after.

mod cost;
mod head;
mod state;
mod worker;

use super::course::Course;
use super::processor::Errand;
use super::{dispatch::Blocks, groups::Left, observe::PartNotes};
use crate::memory::Memory;
use crate::placement::PageTable;
use crate::ranks::Link;
use cost::Costs;
pub(in crate::run) use cost::Lap;
pub use cost::RankCost;
use serde::{Deserialize, Serialize};
use state::{Agreed, PartState};
use std::ops::Range;
use std::sync::Arc;
use weft_engine::{Failure, Sim};

/// What a rank keeps because there are others.
pub(super) struct Ranks {
    pub link: Arc<dyn Link>,
    /// Parts of a rank.
    each: usize,
    /// The cycle in which rank 0 took over all parts.
    since: u64,
    /// Ranks have their parts; else rank 0 has all.
    apart: bool,
    /// What memory held when ranks last agreed.
    memory: Memory,
    agreed: Agreed,
    pub costs: Costs,
}

/// The other ranks, if there are any. A copy of a run is made to be replayed, which one process does alone.
#[derive(Default)]
pub(super) struct Company(pub Option<Ranks>);

impl Clone for Company {
    fn clone(&self) -> Company {
        Company(None)
    }
}

/// What rank 0 tells another one.
#[derive(Serialize, Deserialize)]
enum Call {
    /// The state of its parts, and what else it needs.
    Take(Box<Taken>),
    /// A window of these cycles begins, in which nodes do this; checks hear of the ports or not.
    Window { cycles: Range<u64>, errand: Errand, checked: bool },
    /// Its parts go on in the window, which may end earlier than was said.
    Stretch { until: u64 },
    /// Pages that were touched first, each by a compute unit, and what pages hold that have a place now.
    Place { touched: Vec<(usize, u64)>, fresh: Vec<(u64, Vec<u8>)> },
    /// It gives the state of its parts.
    Give,
    /// The run is over.
    Over,
}

/// What a rank takes over.
#[derive(Serialize, Deserialize)]
struct Taken {
    cycle: u64,
    parts: Vec<PartState>,
    /// Where pages lie, if that changes.
    table: Option<Arc<PageTable>>,
    /// Bytes of memory that differ from what the rank knows.
    memory: Vec<(u64, Vec<u8>)>,
    /// [`super::processor::ProcessorState`].
    processor: Vec<u8>,
}

/// What a rank gives.
#[derive(Serialize, Deserialize)]
struct Given {
    parts: Vec<PartState>,
    memory: Vec<(u64, Vec<u8>)>,
}

/// How a part has come through a stretch of a window.
#[derive(Serialize, Deserialize)]
struct Report {
    part: usize,
    cycle: u64,
    failed: Vec<(u32, Failure)>,
    course: Course,
    /// Of its compute units, if it has any.
    left: Option<Left>,
    /// By node.
    blocks: Vec<Blocks>,
    notes: PartNotes,
}

/// Cycles that rank 0 does alone of what is mostly over soon, such as the end of a kernel. To give all parts away
/// and to take them back takes about as long.
const SOON: u64 = 256;

/// On rank 0: a run is over, and the other ranks need wait no longer.
pub fn dismiss(link: &dyn Link) {
    let over = postcard::to_stdvec(&Call::Over).expect("plain data is always encoded");
    (1..link.ranks()).for_each(|rank| link.send(rank, &over));
}

impl Ranks {
    /// The others, of a run that has just been made; a rank has `each` parts. `memory`: what it holds.
    pub fn new(link: Arc<dyn Link>, each: usize, sim: &mut Sim, memory: Memory) -> Ranks {
        let (own, head) = (link.rank(), link.rank() == 0);
        // Rank 0 and another one agree on what that one has.
        sim.parts().filter(|part| (part.number() / each == own) != head).for_each(|part| part.agree());
        Ranks { link, each, since: 0, apart: false, memory, agreed: Agreed::new(), costs: Costs::default() }
    }

    /// The rank that has a part.
    pub fn owner(&self, part: usize) -> usize {
        part / self.each
    }

    pub fn is_own(&self, part: usize) -> bool {
        self.owner(part) == self.link.rank()
    }

    /// Ranks have their parts.
    pub fn are_apart(&self) -> bool {
        self.apart
    }

    /// It pays to give them theirs; work-groups run or not.
    pub fn may_part(&self, now: u64, runs: bool) -> bool {
        runs || now >= self.since + SOON
    }

    /// Sends something to another rank; its bytes.
    fn send(&self, to: usize, what: &impl Serialize) -> u64 {
        let bytes = postcard::to_stdvec(what).expect("plain data is always encoded");
        self.link.send(to, &bytes);
        bytes.len() as u64
    }

    /// What another rank sends, and its bytes.
    fn receive<T: for<'a> Deserialize<'a>>(&self, from: usize) -> (T, u64) {
        let bytes = self.link.receive(from);
        (postcard::from_bytes(&bytes).expect("ranks are of the same build"), bytes.len() as u64)
    }

    fn others(&self) -> Range<usize> {
        1..self.link.ranks()
    }

    fn call_all(&self, call: &Call) {
        for rank in self.others() {
            self.send(rank, call);
        }
    }
}
