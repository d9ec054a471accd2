//! Relay of a GPU's fences in the hierarchical fence unit of its leading GPM, with `fence = joined` (hmg.md
//! section 6): requests of GPUs for markers, passed on to the homes of the own GPU, and the homes'
//! acknowledgements joined into one for each GPU.
//!
//! ```text
//!  the own engine ------------> held until another GPU asks or marks --+
//!                                                                      +-> waits -> Begin: serving = all that wait
//!  req_in, of other leaders -------------------------------------------+      |
//!                                       one request to each other GPM, which names all of serving, and the own home's marker
//!  rsp_in, of the homes, and the own home --> counter {GPU}: M --> the own engine, or an acknowledgement to that GPU's leader
//! ```
//! Homes of the own GPU are asked for the own release when another GPU asks too, or when a marker of another
//! GPU comes: that is what follows from the own request to it, so it comes, and other GPUs' homes need
//! longer than the own ones. So GPUs that release together share markers, and a release that is alone loses
//! nothing. Requests of other GPUs are never held, so no two leaders wait for each other. Requests for a
//! release of all nodes wait beside those (`relay_common`) until all GPUs have asked.

use super::incoming::Incoming;
use super::params::HierFenceParams;
use super::table::{ServeEvent, ServeState, relay_table};
use weft_rtl::prelude::*;

/// The relay's registers.
pub(super) struct Relay {
    state: Reg<Enum<ServeState>>,
    /// GPUs that wait, those that wait for a release of all nodes, and those for which the homes are being
    /// asked.
    waits: Reg<Bits>,
    common: Reg<Bits>,
    pub serving: Reg<Bits>,
    /// GPMs of the own GPU that have not been asked.
    pub to_ask: Reg<Bits>,
    /// The own GPU waits and is not to be served yet.
    held: Option<Reg<Bool>>,
}

impl Relay {
    /// That of a leading GPM.
    pub fn new(p: &HierFenceParams) -> Option<Relay> {
        p.leads().then(|| Relay {
            state: reg::<Enum<ServeState>>("relay_state", ()),
            waits: reg::<Bits>("relay_waits", p.sys.gpus),
            common: reg::<Bits>("relay_common", p.sys.gpus),
            serving: reg::<Bits>("relay_serving", p.sys.gpus),
            to_ask: reg::<Bits>("relay_to_ask", p.gpm_slots()),
            held: (p.sys.gpus > 1).then(|| reg::<Bool>("relay_held", ())),
        })
    }

    /// GPUs that wait and may be served.
    fn may(&self, p: &HierFenceParams) -> Bits {
        let held = self.held.as_ref().map_or(bool_lit(false), |held| held.get());
        let all = self.common.get().all().repeat(p.sys.gpus);
        (self.waits.get() & !(p.own_gpu() & held.repeat(p.sys.gpus))) | all
    }

    /// GPUs for which the homes of this one begin to be asked, the own home among them.
    pub fn begins(&self, p: &HierFenceParams) -> Bits {
        self.may(p) & self.state.get().is(ServeState::Idle).repeat(p.sys.gpus)
    }

    /// New requests come, of others or of the `own` engine, which are perhaps for a release of all nodes
    /// (`common`), and the homes may begin to be asked.
    pub fn step(&self, p: &HierFenceParams, i: &Incoming, own: Bool, common: Bool) {
        let (waits, own_gpu, served) = (self.waits.get(), p.own_gpu(), self.begins(p));
        let begins = served.any().named("relay_begins");
        let alone = own & !common;
        let new = i.relays | (own_gpu & alone.repeat(p.sys.gpus));
        let new_common = i.common_relays | (own_gpu & (own & common).repeat(p.sys.gpus));
        let gathered = self.common.get();
        when(begins | new.any(), || self.waits.set((waits & !served) | new));
        when(begins | new_common.any(), || self.common.set((gathered & !served) | new_common));
        when(begins, || {
            self.serving.set(served);
            self.to_ask.set(p.gpm_mask(&p.near()));
        });
        if let Some(held) = &self.held {
            let released = i.relays.any() | i.foreign;
            let others = (waits & !own_gpu) | i.relays;
            when(alone, || held.set(others.none())).elsewhen(released, || held.set(false));
            cover(
                "hmg.race.own_homes_wait_for_another_gpu",
                held.get() & i.relays.any(),
                "another GPU asks while the own homes are not asked yet: they are asked for both",
            );
        }
        cover(
            "hmg.race.relay_serves_several",
            served.popcount().gt(1),
            "the homes of a GPU are asked for several GPUs at once",
        );
        cover(
            "hmg.race.relay_gathers_all",
            begins & gathered.all(),
            "all GPUs have asked for a release of all nodes: their homes share one marker",
        );
        assert_always(
            "relay_asked_once",
            ((waits | gathered) & (new | new_common)).none(),
            "a GPU has one release of system scope in flight",
        );
        let left = (self.state.get().is(ServeState::Busy) & self.to_ask.get().none()).named("relay_left");
        relay_table().drive(
            &self.state,
            &[
                (ServeEvent::Request, (new | new_common).any()),
                (ServeEvent::Begin, begins),
                (ServeEvent::Finished, left),
            ],
        );
    }
}
