//! Sharer downgrade (hmg.md section 4, optional): when the last clean line of a group leaves this slice, the next home is told.
//!
//! ```text
//! Idle -candidate-> Scan -> Look (stage 1; once per line of the group) -last, leaf-> Idle, Down sent
//!                                                  -last, GPU home-> Ask (directory) -empty-> Send -> Leave (stage 1) -> Idle, Down sent
//! ```
//!
//! Candidates are the groups of evicted lines, and at a GPU home those whose last recorded sharer has sent a Down. A scan ends without a message when a line
//! of the group is valid or waits in an MSHR, and when a request for the group passes stage 1 meanwhile: that request could record this node again, or,
//! at a GPU home, a GPM of this GPU. So every request that the Down could hurt is behind it on the network. A candidate that finds no room is forgotten: the next
//! home then keeps a sharer that has no copy, which is harmless.

use super::dirops::DirOps;
use super::mshr::Match;
use super::params::L2Params;
use super::tags::Lookup;
use crate::common::fifo::Fifo;
use weft_rtl::prelude::*;

/// Candidates that may wait.
const CANDIDATES: u32 = 4;

/// State of a downgrade.
#[derive(Clone, Copy, PartialEq, Eq, Debug, HwEnum)]
#[hw(width = 3)]
pub(super) enum DownState {
    Idle,
    /// A lookup asks to enter the pipeline.
    Scan,
    /// It is in stage 1.
    Look,
    /// The directory of this GPU home is asked whether a GPM is recorded.
    Ask,
    /// The message asks to enter the pipeline.
    Send,
    /// It is in stage 1.
    Leave,
}

/// What stage 1 does with an operation of a downgrade.
pub(super) struct DownStep {
    /// The message goes to the node that serves the line in this GPU.
    pub to_leaf: Bool,
    /// The message goes to the system home in another GPU.
    pub to_home: Bool,
}

/// The downgrade under way.
pub(super) struct Down {
    state: Reg<Enum<DownState>>,
    candidates: Fifo<Bits>,
    /// Group under way.
    group: Reg<Bits>,
    /// Line of the group that is looked up, from the last to the first; none where a group is one line.
    sub: Option<Reg<Bits>>,
    /// A request for the group has passed stage 1.
    spoiled: Reg<Bool>,
    /// Number of the question to the directory.
    asked: Reg<Bits>,
    /// A line of the group in this set of parameters was evicted.
    evicted: Wire<Bool>,
    evicted_group: Wire<Bits>,
    p: L2Params,
}

impl Down {
    /// Declares the registers.
    pub fn new(p: &L2Params) -> Down {
        let (low, line_bits) = (p.group.trailing_zeros(), p.sys.line_bits());
        let group_bits = line_bits - low;
        Down {
            state: reg::<Enum<DownState>>("down_state", ()),
            candidates: Fifo::new("down_candidates", CANDIDATES, &group_bits),
            group: reg::<Bits>("down_group", group_bits),
            sub: (low > 0).then(|| reg::<Bits>("down_sub", low)),
            spoiled: reg::<Bool>("down_spoiled", ()),
            asked: reg::<Bits>("down_asked", p.sys.dir_id_bits()),
            evicted: wire_or::<Bool>("down_evicted", (), false),
            evicted_group: wire_zero::<Bits>("down_evicted_group", group_bits),
            p: p.clone(),
        }
    }

    fn is(&self, state: DownState) -> Bool {
        self.state.get().is(state)
    }

    /// The line to look up, or in the end that of the message: the first of the group.
    pub fn line(&self) -> Bits {
        match &self.sub {
            Some(sub) => cat(&[self.group.get(), sub.get()]),
            None => self.group.get(),
        }
    }

    /// The last lookup.
    fn last(&self) -> Bool {
        self.sub.as_ref().map_or(bool_lit(true), |sub| sub.get().none())
    }

    /// An operation asks to enter the pipeline, with room for what it may send: `leaf` and `home` on the two request networks, `directory` for a question.
    pub fn asks(&self, leaf: Bool, home: Bool, directory: Bool) -> Bool {
        let here = self.p.gpu_homed(self.line());
        let scan = self.is(DownState::Scan) & (!self.last() | mux(here, directory, leaf));
        (scan | (self.is(DownState::Send) & home)) & !self.spoiled.get()
    }

    /// It has entered.
    pub fn granted(&self) {
        self.state.set(mux(self.is(DownState::Scan), enum_lit(DownState::Look), enum_lit(DownState::Leave)));
    }

    /// A clean line that may have been the last of its group is evicted.
    pub fn evicts(&self, line: Bits) {
        let low = self.p.group.trailing_zeros();
        self.evicted.set(true);
        self.evicted_group.set(line.slice(low, line.width() - low));
    }

    /// A request passes stage 1.
    pub fn passes(&self, line: Bits) {
        let low = self.p.group.trailing_zeros();
        let same = line.slice(low, line.width() - low).eq(self.group.get());
        when(same & !self.is(DownState::Idle), || self.spoiled.set(true));
    }

    /// The operation in stage 1; `valid` while there is one of a downgrade.
    pub fn look(&self, valid: Bool, look: &Lookup, found: &Match, ops: &DirOps) -> DownStep {
        let clear = !self.spoiled.get();
        let gone = clear & !look.hit & !found.hit;
        let (here, last) = (self.p.gpu_homed(self.line()), self.last());
        let looks = valid & self.is(DownState::Look);
        let asks = looks & gone & last & here;
        when(looks, || {
            self.state.set(mux(
                gone & !last,
                enum_lit(DownState::Scan),
                mux(asks, enum_lit(DownState::Ask), enum_lit(DownState::Idle)),
            ));
            self.sub.iter().for_each(|sub| sub.set(sub.get() - 1));
        });
        when(asks, || {
            // The line of the message stays the first one.
            self.sub.iter().for_each(|sub| sub.set(sub.get()));
            self.asked.set(ops.ask(self.line()));
        });
        let leaves = valid & self.is(DownState::Leave);
        when(leaves, || self.state.set(DownState::Idle));
        cover(
            "hmg.race.down_finds_line",
            looks & clear & (look.hit | found.hit),
            "A line of the group of an evicted line is valid or awaited: no Down is sent.",
        );
        cover(
            "hmg.race.down_spoiled",
            self.spoiled.get() & !self.is(DownState::Idle),
            "A request for the group passes while its lines are looked up or the directory is asked: no Down is sent.",
        );
        let step = DownStep { to_leaf: looks & gone & last & !here, to_home: leaves & clear };
        cover(
            "hmg.race.down_sent",
            step.to_leaf,
            "The last clean line of a group has left a leaf: Down to the GPU home.",
        );
        cover(
            "hmg.race.down_passed_on",
            step.to_home,
            "No line of a group and no sharer is left at a GPU home: Down to the system home.",
        );
        step
    }

    /// Moves what is not done in stage 1; called once, behind it. `answer`: an answer of the directory, with its number and whether nothing is recorded; `told`: it
    /// is that to a Down of a GPM for this group.
    pub fn connect(&self, answer: (Bool, Bits, Bool), told: (Bool, Bits)) {
        let (answers, id, empty) = answer;
        let (told, group) = told;
        let ours = answers & self.is(DownState::Ask) & id.eq(self.asked.get());
        when(ours, || {
            let goes = empty & !self.spoiled.get();
            self.state.set(mux(goes, enum_lit(DownState::Send), enum_lit(DownState::Idle)));
        });
        when((self.is(DownState::Scan) | self.is(DownState::Send)) & self.spoiled.get(), || {
            self.state.set(DownState::Idle);
        });
        let (full, evicted) = (self.candidates.full, self.evicted.get());
        when((evicted | told) & !full, || {
            self.candidates.push(&mux(evicted, self.evicted_group.get(), group));
        });
        when(self.is(DownState::Idle) & self.candidates.valid, || {
            self.candidates.pop();
            self.group.set(self.candidates.head);
            self.sub.iter().for_each(|sub| sub.set(lit(u64::from(self.p.group - 1), sub.get().width())));
            self.spoiled.set(false);
            self.state.set(DownState::Scan);
        });
        cover(
            "hmg.race.down_not_empty",
            ours & !empty,
            "A GPU home has no line of a group, but its directory has a sharer: no Down is sent.",
        );
        cover(
            "hmg.race.down_by_last_sharer",
            told & !full & !evicted,
            "The Down of the last recorded GPM makes a GPU home look whether it holds a line of the group.",
        );
        let lost = (evicted & full) | (told & (full | evicted));
        count("l2_down_forgotten", lost, "Groups that are not looked at because others wait.");
    }
}
