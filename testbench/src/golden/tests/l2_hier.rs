//! hmg.md section 5, sentence by sentence, on the line models.

use crate::golden::l2::hier::{GpuLine, gpu_row};
use crate::golden::l2::hier_table::{FORCED, GPU_HOME, GpuDo, GpuEvent, GpuState};
use crate::golden::l2::table::{Legality, ReqDo, ReqEvent, ReqState};
use crate::golden::l2::{ReqLine, req_row};
use std::collections::BTreeSet;

#[test]
fn the_table_lists_every_pair_once() {
    let pairs: BTreeSet<_> = GPU_HOME.iter().map(|r| (r.state, r.event)).collect();
    assert_eq!((pairs.len(), GPU_HOME.len()), (54, 54));
    for row in &GPU_HOME {
        assert!(row.id.starts_with(&format!("l2gpu.{:?}.", row.state)), "{}", row.id);
    }
    for (row, state) in FORCED.iter().zip([ReqState::I, ReqState::V, ReqState::P, ReqState::PX]) {
        assert_eq!(row.id, format!("l2req.{state:?}.load_forced"));
        assert_eq!(req_row(state, ReqEvent::LoadForced), row);
    }
}

#[test]
fn a_forced_load_never_hits_and_never_joins_an_older_miss() {
    let mut line = ReqLine::default();
    line.step(ReqEvent::StoreFull).unwrap();
    let forced = line.step(ReqEvent::LoadForced).unwrap();
    assert!(forced.does(ReqDo::Drop) && forced.does(ReqDo::SendRdReq) && !forced.does(ReqDo::AnswerHit));
    assert!(line.step(ReqEvent::LoadForced).unwrap().waits, "nor the miss of another forced load");
    assert!(!line.step(ReqEvent::Load).unwrap().waits, "a younger load without scope may join");
    assert_eq!(line.step(ReqEvent::RdRsp).unwrap().answered, 2);
    assert_eq!(line.state(), ReqState::V, "the response refreshes the copy");
    for row in GPU_HOME.iter().filter(|r| r.event == GpuEvent::LoadForced) {
        assert!(!row.does.contains(&GpuDo::Answer), "{}", row.id);
        assert_eq!(row.does.contains(&GpuDo::Append), row.does.contains(&GpuDo::SendRdReq), "{}", row.id);
    }
}

#[test]
fn atomics_fetch_the_line_and_are_replayed_in_order() {
    use GpuEvent::*;
    let mut line = GpuLine::default();
    assert!(line.step(Load).unwrap().does(GpuDo::SendRdReq));
    for request in [AtomicGpu, Load, AtomicGpu] {
        let step = line.step(request).unwrap();
        assert!(step.does(GpuDo::Append) && !step.does(GpuDo::SendRdReq));
    }
    for younger in [StoreFull, StorePartial, AtomicSys, LoadForced] {
        assert!(line.step(younger).unwrap().waits, "{younger:?} must not pass the atomics");
    }
    assert!(line.step(Inv).unwrap().does(GpuDo::Forward));
    assert!(line.step(AtomicGpu).unwrap().waits, "poisoned: a request may follow an acquire");
    let fill = line.step(RdRsp).unwrap();
    assert_eq!(fill.replayed, [Load, AtomicGpu, Load, AtomicGpu]);
    assert_eq!((fill.does(GpuDo::Install), line.state()), (false, GpuState::I));
}

#[test]
fn every_store_reaches_the_system_home_and_every_inv_is_forwarded() {
    for row in GPU_HOME.iter().filter(|r| r.legality == Legality::Legal) {
        let does = |what| row.does.contains(&what);
        let goes = !does(GpuDo::Wait);
        let store = matches!(row.event, GpuEvent::StoreFull | GpuEvent::StorePartial);
        assert_eq!(does(GpuDo::PassWrReq), store && goes, "{}", row.id);
        assert_eq!(does(GpuDo::PassAtomReq), row.event == GpuEvent::AtomicSys && goes, "{}", row.id);
        assert_eq!(does(GpuDo::Forward), row.event == GpuEvent::Inv, "{}", row.id);
        assert!(
            !row.event.is_request()
                || row.next != GpuState::I
                || row.state == GpuState::I
                || does(GpuDo::Drop)
        );
    }
    assert_eq!(gpu_row(GpuState::I, GpuEvent::StoreFull).next, GpuState::V);
}

#[test]
fn dropping_poisons_what_is_on_its_way() {
    for (before, after) in [
        (vec![], GpuState::I),
        (vec![GpuEvent::StoreFull], GpuState::I),
        (vec![GpuEvent::Load], GpuState::PX),
        (vec![GpuEvent::AtomicGpu], GpuState::PAX),
    ] {
        let mut line = GpuLine::default();
        before.iter().for_each(|e| drop(line.step(*e).unwrap()));
        line.forget();
        assert_eq!(line.state(), after);
    }
}
