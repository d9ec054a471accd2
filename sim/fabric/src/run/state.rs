//! The state of a whole run as bytes: the hardware and every model beside it.

use super::FabricError;
use super::fences::FencesState;
use super::model::FabricModel;
use super::observe::ObserverState;
use super::oracle::Oracle;
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
    dram: Vec<u8>,
    ideal: Option<Vec<u8>>,
    processor: ProcessorState,
    fences: Vec<FencesState>,
    /// Where pages lie and what those hold that are nowhere, with placement by touch.
    pages: Option<(Arc<PageTable>, Memory)>,
    /// Values, if nothing keeps the caches coherent.
    oracle: Option<Oracle>,
    observer: ObserverState,
}

/// The state of a simulation and its models.
pub(super) fn save(sim: &Sim, model: &FabricModel) -> Result<Vec<u8>, FabricError> {
    let state = State {
        sim: sim.save(),
        seats: model.seats.iter().map(|seat| seat.state()).collect::<Result<_, _>>()?,
        dram: model.dram.save(),
        ideal: model.ideal.as_ref().map(|ideal| ideal.save()),
        processor: model.processor.state(),
        fences: model.fences.iter().map(|node| node.state()).collect(),
        pages: model.table.on_touch().then(|| (model.table.clone(), model.host.clone())),
        oracle: model.oracle.clone(),
        observer: model.observer.state(),
    };
    Ok(postcard::to_stdvec(&state).expect("plain data is always encoded"))
}

/// Puts a state back that [`save`] gave for the same hardware, configuration and program.
pub(super) fn load(sim: &mut Sim, model: &mut FabricModel, bytes: &[u8]) -> Result<(), FabricError> {
    let state: State = postcard::from_bytes(bytes).map_err(|_| SnapshotError::State)?;
    let placed =
        state.pages.is_some() == model.table.on_touch() && state.oracle.is_some() == model.oracle.is_some();
    let same = placed && (state.seats.len(), state.fences.len()) == (model.seats.len(), model.fences.len());
    if !same || state.ideal.is_some() != model.ideal.is_some() {
        return Err(SnapshotError::State.into());
    }
    sim.load(&state.sim)?;
    for (seat, saved) in model.seats.iter_mut().zip(state.seats) {
        seat.resume(saved)?;
    }
    model.oracle = state.oracle;
    if let Some(pages) = state.pages {
        (model.table, model.host) = pages;
    }
    model.fences.iter_mut().zip(state.fences).for_each(|(node, saved)| node.resume(saved));
    let dram = model.dram.load(&state.dram).is_ok();
    let ideal = match (&mut model.ideal, &state.ideal) {
        (Some(ideal), Some(bytes)) => ideal.load(bytes),
        _ => true,
    };
    let rest = model.processor.resume(state.processor) && model.observer.resume(state.observer);
    if dram && ideal && rest { Ok(()) } else { Err(SnapshotError::State.into()) }
}
