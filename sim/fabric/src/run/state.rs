//! The state of a whole run as bytes: the hardware and every model beside it.

use super::FabricError;
use super::fences::FencesState;
use super::model::FabricModel;
use super::observe::ObserverState;
use super::outside::Outside;
use super::processor::ProcessorState;
use super::seat::SeatState;
use super::snapshot::SnapshotError;
use crate::memory::Memory;
use crate::placement::PageTable;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use weft_engine::Sim;

/// Everything that changes while a program runs. What follows from the configuration and the program (ports, arrays, pages
/// that are placed from the start) is built anew.
#[derive(Serialize, Deserialize)]
struct State {
    sim: Vec<u8>,
    seats: Vec<SeatState>,
    /// [`crate::family::Surroundings::save`].
    around: Vec<u8>,
    processor: ProcessorState,
    fences: Vec<FencesState>,
    /// Where pages lie and what those hold that are nowhere, if that changes.
    pages: Option<(Arc<PageTable>, Memory)>,
    outside: Option<Vec<u8>>,
    observer: ObserverState,
}

/// The state of a simulation and its models.
pub(super) fn save(sim: &Sim, model: &FabricModel) -> Result<Vec<u8>, FabricError> {
    let state = State {
        sim: sim.save(),
        seats: model.seats.iter().map(|seat| seat.state()).collect::<Result<_, _>>()?,
        around: model.around.save(),
        processor: model.processor.state(),
        fences: model.fences.iter().map(|node| node.state()).collect(),
        pages: model.moves_pages().then(|| (model.table.clone(), model.host.clone())),
        outside: model.outside.as_ref().map(Outside::save),
        observer: model.observer.state(),
    };
    Ok(postcard::to_stdvec(&state).expect("plain data is always encoded"))
}

/// Puts a state back that [`save`] gave for the same hardware, configuration and program.
pub(super) fn load(sim: &mut Sim, model: &mut FabricModel, bytes: &[u8]) -> Result<(), FabricError> {
    let state: State = postcard::from_bytes(bytes).map_err(|_| SnapshotError::State)?;
    let placed =
        state.pages.is_some() == model.moves_pages() && state.outside.is_some() == model.outside.is_some();
    let same = placed && (state.seats.len(), state.fences.len()) == (model.seats.len(), model.fences.len());
    if !same {
        return Err(SnapshotError::State.into());
    }
    sim.load(&state.sim)?;
    for (seat, saved) in model.seats.iter_mut().zip(state.seats) {
        seat.resume(saved)?;
    }
    if let Some(pages) = state.pages {
        (model.table, model.host) = pages;
    }
    model.fences.iter_mut().zip(state.fences).for_each(|(node, saved)| node.resume(saved));
    let outside = match (&mut model.outside, &state.outside) {
        (Some(outside), Some(saved)) => outside.resume(saved),
        _ => true,
    };
    let rest = outside && model.processor.resume(state.processor) && model.observer.resume(&state.observer);
    if rest && model.around.resume(&state.around) { Ok(()) } else { Err(SnapshotError::State.into()) }
}
