//! Section 6, sentence by sentence, on the line models.

use crate::golden::dir_table::DirOp;
use crate::golden::l2::table::{
    HOME, HomeDo, HomeEvent, HomeState, Legality, REQUESTER, ReqDo, ReqEvent, ReqState,
};
use crate::golden::l2::{HomeLine, Illegal, MERGE_MAX, REPLAY_MAX, ReqLine, home_row, req_row};
use std::collections::BTreeSet;

#[test]
fn tables_list_every_pair_once() {
    let pairs: BTreeSet<_> = REQUESTER.iter().map(|r| (r.state, r.event)).collect();
    assert_eq!(pairs.len(), REQUESTER.len());
    assert_eq!(REQUESTER.len(), 4 * 7);
    let pairs: BTreeSet<_> = HOME.iter().map(|r| (r.state, r.event)).collect();
    assert_eq!(pairs.len(), HOME.len());
    assert_eq!(HOME.len(), 4 * 11);
    for row in &REQUESTER {
        assert!(row.id.starts_with(&format!("l2req.{:?}.", row.state)), "{}", row.id);
    }
    for row in &HOME {
        assert!(row.id.starts_with(&format!("l2home.{:?}.", row.state)), "{}", row.id);
    }
}

#[test]
fn merge_limit_of_8_then_wait() {
    let mut line = ReqLine::default();
    for i in 0..MERGE_MAX {
        let step = line.step(ReqEvent::Load).unwrap();
        assert_eq!((step.waits, step.does(ReqDo::SendRdReq)), (false, i == 0));
    }
    let ninth = line.step(ReqEvent::Load).unwrap();
    assert!(ninth.waits && !ninth.does(ReqDo::Merge));
    let fill = line.step(ReqEvent::RdRsp).unwrap();
    assert_eq!((fill.answered, line.state(), line.merged()), (8, ReqState::V, 0));
}

#[test]
fn poisoned_fill_answers_but_is_not_installed() {
    for poison in [ReqEvent::Inv, ReqEvent::StoreFull, ReqEvent::StorePartial, ReqEvent::Atomic] {
        let mut line = ReqLine::default();
        line.step(ReqEvent::Load).unwrap();
        line.step(ReqEvent::Load).unwrap();
        line.step(poison).unwrap();
        assert_eq!(line.state(), ReqState::PX);
        let load = line.step(ReqEvent::Load).unwrap();
        assert!(load.waits, "a load in PX may follow an acquire");
        let fill = line.step(ReqEvent::RdRsp).unwrap();
        assert_eq!((fill.answered, fill.does(ReqDo::Install)), (2, false));
        assert!(line.step(ReqEvent::Load).unwrap().does(ReqDo::SendRdReq), "freed: the load asks anew");
    }
}

#[test]
fn inv_and_rdrsp_in_one_cycle_leave_nothing() {
    let mut line = ReqLine::default();
    line.step(ReqEvent::Load).unwrap();
    let [inv, fill] = line.step_inv_with_rdrsp().unwrap();
    assert_eq!((inv.row.id, fill.row.id), ("l2req.P.Inv", "l2req.PX.RdRsp"));
    assert_eq!((fill.answered, line.state()), (1, ReqState::I));
}

#[test]
fn errors_and_empty_cells_are_refused_without_change() {
    let mut line = ReqLine::default();
    let error = Illegal { id: "l2req.I.RdRsp", legality: Legality::Error };
    assert_eq!(line.step(ReqEvent::RdRsp), Err(error));
    assert_eq!(line, ReqLine::default());
    assert_eq!(
        error.to_string(),
        "l2req.I.RdRsp must not happen: the specification marks this pair of state and event as Error"
    );
    let mut home = HomeLine::default();
    for event in [HomeEvent::Fill, HomeEvent::Victim, HomeEvent::Inv] {
        assert!(home.step(event).is_err());
    }
    home.step(HomeEvent::Load).unwrap();
    assert_eq!(home.step(HomeEvent::Victim).unwrap_err().legality, Legality::Never);
}

#[test]
fn directory_ops_of_home_events() {
    use HomeEvent as E;
    for event in [E::StoreFull, E::StorePartial, E::Atomic] {
        assert_eq!(event.dir_op(true), Some(DirOp::WrLoc));
    }
    assert_eq!((E::RdReq.dir_op(true), E::RdReq.dir_op(false)), (Some(DirOp::RdRem), None));
    for event in [E::WrReqFull, E::WrReqPartial] {
        assert_eq!((event.dir_op(true), event.dir_op(false)), (Some(DirOp::WrRem), Some(DirOp::WrLoc)));
    }
    assert_eq!(E::AtomReq.dir_op(true), Some(DirOp::AtomRem));
    for event in [E::Load, E::Fill, E::Victim, E::Inv] {
        assert_eq!(event.dir_op(true), None);
    }
    assert!(E::WrReqFull.ack_needs_directory() && !E::RdReq.ack_needs_directory());
}

#[test]
fn replay_runs_in_order_and_ends_dirty_after_a_write() {
    let mut line = HomeLine::default();
    let list =
        [HomeEvent::RdReq, HomeEvent::Load, HomeEvent::WrReqPartial, HomeEvent::AtomReq, HomeEvent::RdReq];
    for event in list {
        let step = line.step(event).unwrap();
        assert_eq!(
            step.done[0].1,
            if event == list[0] && line.replay().len() == 1 { HomeDo::Fetch } else { HomeDo::Append }
        );
    }
    let fill = line.step(HomeEvent::Fill).unwrap();
    let expected = [
        (HomeEvent::Fill, HomeDo::Replay),
        (HomeEvent::RdReq, HomeDo::SendRdRsp),
        (HomeEvent::Load, HomeDo::AnswerLoad),
        (HomeEvent::WrReqPartial, HomeDo::Update),
        (HomeEvent::WrReqPartial, HomeDo::SendWrAck),
        (HomeEvent::AtomReq, HomeDo::Update),
        (HomeEvent::AtomReq, HomeDo::SendAtomRsp),
        (HomeEvent::RdReq, HomeDo::SendRdRsp),
    ];
    assert_eq!(fill.done, expected);
    assert_eq!((line.state(), line.replay().len()), (HomeState::D, 0));
    assert_eq!(line.step(HomeEvent::Victim).unwrap().done, [(HomeEvent::Victim, HomeDo::WriteBack)]);
    assert_eq!(line.state(), HomeState::I);
}

#[test]
fn replay_of_reads_ends_clean_and_is_dropped_silently() {
    let mut line = HomeLine::default();
    line.step(HomeEvent::RdReq).unwrap();
    line.step(HomeEvent::Load).unwrap();
    line.step(HomeEvent::Fill).unwrap();
    assert_eq!(line.state(), HomeState::V);
    assert_eq!(line.step(HomeEvent::Victim).unwrap().done, [(HomeEvent::Victim, HomeDo::Drop)]);
}

#[test]
fn replay_list_holds_8() {
    let mut line = HomeLine::default();
    for _ in 0..REPLAY_MAX {
        assert!(!line.step(HomeEvent::RdReq).unwrap().waits);
    }
    let ninth = line.step(HomeEvent::StoreFull).unwrap();
    assert!(ninth.waits && ninth.done.is_empty());
    assert_eq!(line.replay().len(), 8);
}

#[test]
fn remote_copies_are_never_dirty_and_writes_reach_the_home() {
    for row in REQUESTER.iter().filter(|r| r.legality == Legality::Legal) {
        let stores = matches!(row.event, ReqEvent::StoreFull | ReqEvent::StorePartial);
        assert_eq!(row.does.contains(&ReqDo::SendWrReq), stores, "{}", row.id);
        assert_eq!(row.does.contains(&ReqDo::SendAtomReq), row.event == ReqEvent::Atomic, "{}", row.id);
    }
    assert_eq!(req_row(ReqState::V, ReqEvent::Atomic).next, ReqState::I);
    // Every write at home ends dirty, or waits in a replay list for the fetch.
    for row in HOME.iter().filter(|r| r.legality == Legality::Legal && r.event.writes()) {
        assert!(matches!(row.next, HomeState::D | HomeState::F), "{}", row.id);
    }
    assert_eq!(home_row(HomeState::I, HomeEvent::WrReqFull).next, HomeState::D);
}
