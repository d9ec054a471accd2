//! The state of a part of the simulation, with what goes on there, from one rank to another.

use crate::run::dispatch::Blocks;
use crate::run::fences::FencesState;
use crate::run::model::FabricModel;
use crate::run::seat::{Seat, SeatState};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use siphasher::sip128::{Hash128, Hasher128, SipHasher13};
use std::hash::Hasher;
use std::ops::Range;
use weft_engine::{Part, Sim};

/// All that changes in a part while windows are gone through, between two of them.
#[derive(Serialize, Deserialize)]
pub(super) struct PartState {
    pub part: usize,
    /// [`Part::changes`].
    #[serde(with = "serde_bytes")]
    hardware: Vec<u8>,
    /// Of its compute units, in order: [`SeatState`] as bytes, if it is another than ranks have agreed on.
    seats: Vec<Option<ByteBuf>>,
    ended: Vec<bool>,
    /// Of its nodes, in order.
    fences: Vec<FencesState>,
    blocks: Vec<Blocks>,
    /// Of its memory channels.
    lanes: Vec<Vec<u8>>,
}

/// Why a state can be written down.
const PLAIN: &str = "plain data is always encoded";

/// States of compute units on which ranks have agreed, by number.
pub(super) type Agreed = Vec<Hash128>;

fn digest(bytes: &[u8]) -> Hash128 {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    hasher.finish128()
}

impl FabricModel {
    /// Compute units and nodes of a part.
    pub(super) fn units_of(&self, part: usize) -> (Range<usize>, Range<usize>) {
        let seats =
            self.groups.iter().find(|group| group.part == part).map_or(0..0, |group| group.seats.clone());
        let nodes = seats.start / self.processor.cus..seats.end / self.processor.cus;
        (seats, nodes)
    }

    /// The state of these parts, on which ranks then agree.
    pub(super) fn states(
        &mut self,
        sim: &mut Sim,
        agreed: &mut Agreed,
        which: &dyn Fn(usize) -> bool,
    ) -> Vec<PartState> {
        agreed.resize(self.seats.len(), Hash128::default());
        let lanes = self.around.by_part().lanes;
        let mut lanes: Vec<(usize, Vec<Vec<u8>>)> =
            lanes.into_iter().filter(|(part, _)| which(*part)).map(|(part, l)| (part, l.states())).collect();
        let mut state = |part: &mut Part| {
            let (seats, nodes) = self.units_of(part.number());
            let (blocks, ended) = self.processor.of_nodes(nodes.clone());
            let seat = |(seat, agreed): (&Seat, &mut Hash128)| {
                let state = seat.state().expect(PLAIN);
                let bytes = postcard::to_stdvec(&state).expect(PLAIN);
                let digest = digest(&bytes);
                (std::mem::replace(agreed, digest) != digest).then(|| ByteBuf::from(bytes))
            };
            let saved = self.seats[seats.clone()].iter().zip(&mut agreed[seats]).map(seat).collect();
            PartState {
                part: part.number(),
                hardware: part.changes(),
                seats: saved,
                ended,
                fences: self.fences[nodes].iter().map(|fences| fences.state()).collect(),
                blocks,
                lanes: lanes
                    .iter_mut()
                    .find(|(number, _)| *number == part.number())
                    .map_or(Vec::new(), |(_, states)| std::mem::take(states)),
            }
        };
        sim.parts().filter(|part| which(part.number())).map(&mut state).collect()
    }

    /// Parts are as another rank says.
    ///
    /// # Panics
    /// When it has another fabric, or another program.
    pub(super) fn take_states(&mut self, sim: &mut Sim, agreed: &mut Agreed, states: Vec<PartState>) {
        agreed.resize(self.seats.len(), Hash128::default());
        let mut parts: Vec<&mut Part> = sim.parts().collect();
        for state in states {
            let (seats, nodes) = self.units_of(state.part);
            parts[state.part].change(&state.hardware);
            let own = self.seats[seats.clone()].iter_mut().zip(&mut agreed[seats]);
            for ((seat, agreed), saved) in own.zip(&state.seats) {
                if let Some(bytes) = saved {
                    let state: SeatState = postcard::from_bytes(bytes).expect("ranks are of the same build");
                    seat.resume(state).expect("ranks have the same compute units");
                    *agreed = digest(bytes);
                }
            }
            for (fences, saved) in self.fences[nodes.clone()].iter_mut().zip(state.fences) {
                fences.resume(saved);
            }
            self.processor.set_nodes(nodes, (&state.blocks, &state.ended));
            let lanes = self.around.by_part().lanes.into_iter().find(|(part, _)| *part == state.part);
            let resumed = lanes.is_none_or(|(_, lanes)| lanes.resume(&state.lanes));
            assert!(resumed, "ranks have the same memory channels");
        }
    }

    /// Bytes of memory change, in the program's memory behind the channels.
    pub(super) fn take_memory(&mut self, changes: &[(u64, Vec<u8>)]) {
        let memory = self.around.by_part().memory;
        let mut memory = memory.lock();
        changes.iter().for_each(|(at, bytes)| memory.write(*at, bytes));
    }
}
